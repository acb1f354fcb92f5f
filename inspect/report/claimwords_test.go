package report

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// claims are all that the catalog has.
func claims() (out []string) {
	for _, e := range catalog.Edges() {
		out = append(out, e.Statement)
	}
	for _, s := range catalog.Servers() {
		out = append(out, s.Statement)
	}
	for _, p := range catalog.StartupReaders() {
		out = append(out, p.Statement)
	}
	for _, l := range catalog.ServerLogs() {
		out = append(out, l.Statement)
	}
	for _, c := range catalog.Callers() {
		out = append(out, c.Statement)
	}
	return append(out, catalog.CustomAPIIntEdge().Statement)
}

// TestWhatFailsIsNotSaidAsIfItPassed: of each claim of the catalog, beside a mark that may be overlooked.
func TestWhatFailsIsNotSaidAsIfItPassed(t *testing.T) {
	for _, claim := range claims() {
		for status, not := range map[assess.Status][]string{
			assess.Fail: {" not ", "clients refuse "}, assess.Warn: {" will not ", "clients will refuse "}, assess.Unknown: {"whether "},
		} {
			said := Said(claim, status)
			if !strings.Contains(said, not[0]) && !strings.HasPrefix(said, not[len(not)-1]) || strings.HasPrefix(said, "not so") || strings.Contains(said, "\u00a0") {
				t.Errorf("%s: %q is said as %q", status, claim, said)
			}
		}
		if said := Said(claim, assess.Pass); said != claim {
			t.Errorf("pass: %q is said as %q", claim, said)
		}
	}
}

func TestClaimsAreTurnedAround(t *testing.T) {
	for claim, want := range map[string][2]string{
		"kubelets trust api-int's serving certificate":                                   {"kubelets do not trust api-int's serving certificate", "kubelets will not trust api-int's serving certificate"},
		"multus, once restarted, trusts api-int's serving certificate":                   {"multus, once restarted, does not trust api-int's serving certificate", "multus, once restarted, will not trust api-int's serving certificate"},
		"the CA that the cluster publishes verifies api-int's serving certificate":       {"the CA that the cluster publishes does not verify api-int's serving certificate", "the CA that the cluster publishes will not verify api-int's serving certificate"},
		"the system's trust store on nodes holds the administrator's additional CAs":     {"the system's trust store on nodes does not hold the administrator's additional CAs", "the system's trust store on nodes will not hold the administrator's additional CAs"},
		"nodes have the CAs of the administrator's registries":                           {"nodes do not have the CAs of the administrator's registries", "nodes will not have the CAs of the administrator's registries"},
		"running kubelets have loaded the CA of api-int's serving certificate":           {"running kubelets have not loaded the CA of api-int's serving certificate", "running kubelets will not have loaded the CA of api-int's serving certificate"},
		"multus has loaded the CA of api-int's serving certificate":                      {"multus has not loaded the CA of api-int's serving certificate", "multus will not have loaded the CA of api-int's serving certificate"},
		"each etcd presents the certificate in its file":                                 {"an etcd does not present the certificate in its file", "an etcd will not present the certificate in its file"},
		"each control plane node presents, for each name, the certificate in its Secret": {"a control plane node does not present, for each name, the certificate in its Secret", "a control plane node will not present, for each name, the certificate in its Secret"},
		"api-int presents its own certificate, and none of an administrator's":           {"api-int does not present its own certificate", "api-int will not present its own certificate"},
		"no client refuses the certificate that kube-apiserver presents":                 {"clients refuse the certificate that kube-apiserver presents", "clients will refuse the certificate that kube-apiserver presents"},
		"kubelets accept requests with kube-apiserver's client certificate":              {"kubelets do not accept requests with kube-apiserver's client certificate", "kubelets will not accept requests with kube-apiserver's client certificate"},
		"a claim of a later version":                                                     {"not so: a claim of a later version", "not so: a claim of a later version"},
	} {
		if got := [2]string{Said(claim, assess.Fail), Said(claim, assess.Warn)}; got != want {
			t.Errorf("%q is said as %q, want %q", claim, got, want)
		}
	}
}
