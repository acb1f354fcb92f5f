package trust_test

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestKubeletsAndMonitoring: kubelets have to trust who scrapes them; a cluster without monitoring has
// no such claim, and none of what is unknown.
func TestKubeletsAndMonitoring(t *testing.T) {
	t.Parallel()
	ca, other := pkitest.NewCA("csr-signer", from(-10), from(900)), pkitest.NewCA("another", from(-10), from(900))
	for _, id := range []string{"kubelet-prometheus-client", "kubelet-metrics-server-client"} {
		e := edge(t, id)
		for title, c := range map[string]struct {
			given func(w *world)
			want  []assess.Status
		}{
			"trusted":     {func(w *world) { w.stage(e, ca, ca.CertPEM) }, []assess.Status{assess.Pass}},
			"not trusted": {func(w *world) { w.stage(e, ca, other.CertPEM) }, []assess.Status{assess.Fail}},
			"monitoring is there, its Secrets were not read": {func(w *world) {
				w.trust(e, ca.CertPEM)
				w.put(e.OnlyIfExists, ca.CertPEM)
			}, []assess.Status{assess.Unknown}},
			"there is no monitoring": {func(w *world) {
				w.trust(e, ca.CertPEM)
				w.whole("secrets", "configmaps")
			}, nil},
			"there is no monitoring, and Secrets were not read": {func(w *world) {
				w.trust(e, ca.CertPEM)
				w.whole("configmaps")
			}, nil},
			"nothing but the node's file was read": {func(w *world) { w.trust(e, ca.CertPEM) }, nil},
			"no node's file was read": {func(w *world) {
				w.show(e, ca.Issue("prometheus", from(-1), from(29)).CertPEM)
				w.put(e.OnlyIfExists, ca.CertPEM)
			}, nil},
		} {
			w := newWorld(versions(e))
			c.given(w)
			got := w.judge(id)
			if len(got) != len(c.want) || len(got) > 0 && got[0].Status != c.want[0] {
				t.Errorf("%s, %s: %+v", id, title, got)
			}
		}
	}
}

// TestNothingOfMonitoringWasRead: who reads the control plane alone, as rotate does, hears nothing of the
// metrics API, which a cluster may be without.
func TestNothingOfMonitoringWasRead(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("aggregator", from(-10), from(900))
	for _, id := range []string{"prometheus-adapter-front-proxy", "metrics-server-front-proxy"} {
		e := edge(t, id)
		w := newWorld(versions(e))
		w.show(e, leafFor(e, ca, -1, 29).CertPEM)
		if got := w.judge(id); len(got) > 0 {
			t.Errorf("%s: %+v", id, got)
		}
	}
}

// TestManagedStubs: new machines read the managed stub where there is no other, as on bare metal.
func TestManagedStubs(t *testing.T) {
	t.Parallel()
	ca, other := pkitest.NewCA("root-ca", from(-10), from(900)), pkitest.NewCA("machine-config-server-ca", from(-10), from(900))
	for _, id := range []string{"new-worker-managed-config-server", "new-master-managed-config-server"} {
		e := edge(t, id)
		for title, c := range map[string]struct {
			signs *pkitest.Authority
			given func(w *world)
			want  []assess.Status
		}{
			"trusted":                     {ca, func(w *world) { w.whole("secrets") }, []assess.Status{assess.Pass}},
			"the server's was made by oc": {other, func(w *world) { w.whole("secrets") }, []assess.Status{assess.Fail}},
			"the installer's is there":    {other, func(w *world) { w.whole("secrets"); w.put(e.OnlyWithout, other.CertPEM) }, nil},
			"whether it is was not read":  {other, func(*world) {}, []assess.Status{assess.Unknown}},
		} {
			w := newWorld(versions(e))
			w.show(e, leafFor(e, c.signs, -1, 59).CertPEM)
			w.trust(e, ca.CertPEM)
			w.signer(e, c.signs)
			c.given(w)
			got := w.judge(id)
			if len(got) != len(c.want) || len(got) > 0 && (got[0].Status != c.want[0] || c.want[0] == assess.Unknown && !strings.Contains(got[0].Reason, e.OnlyWithout.String())) {
				t.Errorf("%s, %s: %+v", id, title, got)
			}
		}
	}
}
