package trust_test

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// signedBy makes this authority one that signs what is at a place, as far as the catalog knows any;
// false: it knows none.
func (w *world) signedBy(at catalog.Ref, ca *pkitest.Authority) bool {
	places := map[catalog.Ref]bool{}
	for _, e := range catalog.Edges() {
		places[e.Trust] = e.Presented == at && e.Trust.Kind != catalog.File || places[e.Trust]
	}
	for _, r := range catalog.Rotations() {
		for _, t := range r.Targets {
			places[r.Signer] = t == at || places[r.Signer]
		}
	}
	known := false
	for place, signs := range places {
		if signs {
			w.put(place, ca.CertPEM)
			known = true
		}
	}
	return known
}

// TestEveryServer: each passes where it presents what its place holds, and fails where it presents the
// one from before, if a CA that signs for it is known.
func TestEveryServer(t *testing.T) {
	t.Parallel()
	for _, row := range catalog.Servers() {
		v := versions(row.Edge)
		if to := row.In.To; v.NotOpenShift && to != (catalog.Minor{}) {
			v.Kubernetes = "v" + to.String() + ".3"
		}
		for _, show := range row.Certs {
			ca := pkitest.NewCA("the CA", from(-100), from(900))
			staged := func() (w *world, name string, known bool) {
				w = newWorld(v)
				w.s.Cluster.External = "https://api.example.com:6443"
				name, _ = inspect.ServerName(show.Name, w.s.Cluster)
				return w, name, w.signedBy(show.From, ca)
			}
			_, name, known := staged()
			before, after := ca.Issue("leaf", from(-20), from(10)), ca.Issue("leaf", from(-5), from(25))
			stale := assess.Fail
			if selfSigned := show.From.Name == "/var/lib/kubelet/pki/kubelet.crt"; known == selfSigned {
				t.Errorf("%s: a CA signs %s: %t", row.ID, show.From, known)
			} else if selfSigned {
				stale = assess.Unknown
			}
			for _, c := range []struct {
				what string
				pem  []byte
				want assess.Status
			}{{"what is there", after.CertPEM, assess.Pass}, {"the one from before", before.CertPEM, stale}} {
				w, _, _ := staged()
				w.put(show.From, after.CertPEM)
				of, address := "n1", "10.0.0.5:"+strings.Trim(row.Listener.Port, "()")
				if row.Listener.Port == "" {
					of, address = "", "api-int.example.com:6443"
				}
				w.served(row.Listener.Name, of, address, name, c.pem)
				if got := one(t, w.judge(row.ID)); got.Status != c.want || got.Server != address {
					t.Errorf("%s, %s for %q: %s at %s, want %s: %s", row.ID, c.what, name, got.Status, got.Server, c.want, got.Because())
				}
			}
		}
	}
}
