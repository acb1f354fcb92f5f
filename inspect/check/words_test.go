package check

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestEachFindingSaysItsPartsApart: the reason is one short clause that names what it is about,
// what a user must act on has an impact, and evidence has the certificates.
func TestEachFindingSaysItsPartsApart(t *testing.T) {
	t.Parallel()
	const longest = 70 // with usual names
	for _, c := range verdictCases() {
		for _, f := range findings(c.given, t, c.check) {
			told := c.check + "/" + c.name + ": " + f.Reason
			usual := strings.NewReplacer(catalog.LoadBalancerSigner().Name+"@1716400000", "signer", "api-int.example.com:6443", "api:6443").Replace(f.Reason)
			for _, at := range f.At {
				for _, long := range []string{subject(f.At), place(at), onNodes([]pki.Location{at}), at.Name, pathText(at.Path)} {
					if len(long) > len("shop/shop-tls") {
						usual = strings.ReplaceAll(usual, long, "shop/shop-tls")
					}
				}
			}
			if n := utf8.RuneCountInString(usual); n > longest {
				t.Errorf("%s: %d characters with usual names, %q", told, n, usual)
			}
			if strings.Contains(f.Reason, catalog.LoadBalancerSigner().Namespace+"_") || strings.Contains(f.Reason, ";") || !foreign.Prints(f.Line()) {
				t.Errorf("%s: is no short clause", told)
			}
			if f.Severity > assess.Info && f.Impact == "" {
				t.Errorf("%s: nothing is said of what fails", told)
			}
			if len(f.Certs) > 0 && !strings.Contains(f.Evidence, f.Certs[0].Short()) {
				t.Errorf("%s: %s is not in its evidence: %s", told, f.Certs[0].Short(), f.Evidence)
			}
			if f.Severity > assess.Info && f.Remediation.Text == "" {
				t.Errorf("%s: has no next step", told)
			}
		}
	}
}

// TestTheNextCAOfAWebhook: the next step says whose CA goes into caBundle, or what writes it.
func TestTheNextCAOfAWebhook(t *testing.T) {
	t.Parallel()
	const hook = "ValidatingWebhookConfiguration"
	const look = "kubectl get validatingwebhookconfiguration hook -o yaml"
	ended := pkitest.NewCA("hook-ca", inspecttest.DaysFromNoon(-100), inspecttest.DaysFromNoon(-1))
	called := func() *inspecttest.Fixture { return inspecttest.NewFixture("").Calls(hook, "shop/hook", ended) }
	for then, f := range map[string]*inspecttest.Fixture{
		"put the CA of clientConfig's server there, unless an operator does":                                                                inspecttest.NewFixture("").Object(inspect.Object{Kind: hook, Name: "hook"}, map[string][]byte{"webhooks[0].clientConfig.caBundle": ended.CertPEM}),
		"put the CA of Service shop/hook there, unless an operator does":                                                                    called(),
		"look whether service-ca is well, which writes caBundle: oc get clusteroperator service-ca":                                         called().Annotated(catalog.AnnotationInjectCABundle),
		"look whether cert-manager's cainjector runs, which writes caBundle: kubectl get pods -A -l app.kubernetes.io/component=cainjector": called().Annotated(catalog.AnnotationInjectCAFrom),
		"put the CA of clientConfig's server there, unless an operator does ":                                                               inspecttest.NewFixture("").Calls(hook, "shop;reboot/hook", ended),
	} {
		found := findings(f, t, "certificate-expired")
		if len(found) != 1 {
			t.Fatalf("%s: %d findings", then, len(found))
		}
		r := found[0].Remediation
		if got := r.Then + ": " + r.ThenRun; r.Command != look || strings.TrimSuffix(got, ": ") != strings.TrimSpace(then) || r.Text != look+"; then "+strings.TrimSuffix(got, ": ") {
			t.Errorf("got  %s; %s\nwant %s\ntext %s", r.Command, got, then, r.Text)
		}
	}
}

func TestSubjectsAreNamed(t *testing.T) {
	t.Parallel()
	secret := pki.Location{Kind: "Secret", Namespace: "shop", Name: "shop-tls", Key: "tls.crt"}
	copied := pki.Location{Kind: "ConfigMap", Namespace: "a", Name: "copy", Key: "ca.pem"}
	hook := pki.Location{Kind: "ValidatingWebhookConfiguration", Name: "policy", Field: "webhooks[0].clientConfig.caBundle"}
	other := hook
	other.Field = "webhooks[1].clientConfig.caBundle"
	on := func(node string, paths ...string) (at []pki.Location) {
		for _, path := range paths {
			at = append(at, pki.Location{Kind: pki.KindFile, Node: node, Path: path, Field: "clusters[0].cluster.certificate-authority-data"})
		}
		return at
	}
	own := catalog.KubeletKubeconfigs()
	var many []pki.Location
	for _, node := range []string{"worker-1", "worker-2", "worker-3"} {
		many = append(many, on(node, own...)...)
	}
	for want, at := range map[string][]pki.Location{
		"shop/shop-tls":                                            {secret},
		"shop/shop-tls (+1 place)":                                 {copied, secret},
		"a/copy[ca.pem]":                                           {copied},
		"ValidatingWebhookConfiguration/policy":                    {hook, other},
		"worker-1":                                                 on("worker-1", ""),
		"worker-1: /etc/kubernetes/kubeconfig":                     on("worker-1", own[0]),
		"worker-1: both kubeconfigs of the kubelet":                on("worker-1", own...),
		"worker-1, worker-2: both kubeconfigs of the kubelet":      many[:4],
		"worker-1, worker-2: /etc/kubernetes/kubeconfig (+1 file)": many[:3],
		"worker-1 (+2 nodes): both kubeconfigs of the kubelet":     many,
		"shop/shop-tls (+6 places)":                                append([]pki.Location{secret}, many...),
		"file:./ca.pem":                                            {{Kind: pki.KindFile, Path: "./ca.pem"}},
	} {
		if got := subject(at); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, hostile := range []string{"a\nb", "a\x1b[2J", "a\u202eb", "\xff"} {
		for _, at := range []pki.Location{{Kind: "Secret", Namespace: hostile, Name: hostile, Key: hostile}, {Kind: pki.KindFile, Node: hostile, Path: "/" + hostile}, {Kind: pki.KindFile, Path: hostile}} {
			if got := subject([]pki.Location{at}); !foreign.Prints(got) {
				t.Errorf("%q does not print", got)
			}
		}
		if got := shortName(hostile + strings.Repeat("x", 500)); !foreign.Prints(got) || len(got) > 200 {
			t.Errorf("%q", got)
		}
	}
}

// TestAFindingOfSomePlacesNamesNoOther: a plan solves it on one node, and a filter chooses a
// namespace.
func TestAFindingOfSomePlacesNamesNoOther(t *testing.T) {
	t.Parallel()
	told := 0
	for _, c := range verdictCases() {
		for _, f := range findings(c.given, t, c.check) {
			for _, at := range f.At {
				some := Only(f, []pki.Location{at})
				if len(f.At) > 1 && some.Subject != at.String() {
					t.Errorf("%s/%s is about %s, want %s", c.check, c.name, some.Subject, at)
				}
				for _, other := range f.At {
					if inspect.ObjectAt(other) == inspect.ObjectAt(at) || f.ID == "api-ca-delivered" || f.ID == "ca-names" || f.ID == "mco-reports-agree" || f.ID == "called-trusted" || f.ID == "csr-answered" {
						continue // one finding about both
					}
					told++
					if strings.Contains(some.Reason, place(other)) || strings.Contains(some.Reason, " (+") || other.Node != "" && other.Node != at.Node && strings.Contains(some.Reason+some.Impact+some.Remediation.Command, other.Node) {
						t.Errorf("%s/%s: of %s: %s; %s; %s", c.check, c.name, at, some.Reason, some.Impact, some.Remediation.Command)
					}
				}
			}
		}
	}
	if told < 20 {
		t.Errorf("%d were looked at", told)
	}
}

// TestNoPrivateKeyIsPrinted: describe prints all that a Route or a MachineConfig holds, and a
// Secret's names only.
func TestNoPrivateKeyIsPrinted(t *testing.T) {
	t.Parallel()
	for kind, verb := range map[pki.Kind]string{"Secret": "describe", "Route": "get", "MachineConfig": "get"} {
		r := advise("look", pki.Location{Kind: kind, Namespace: "shop", Name: "a"})
		if want := "kubectl -n shop " + verb + " " + strings.ToLower(string(kind)) + " a"; r.Command != want {
			t.Errorf("got %q, want %q", r.Command, want)
		}
	}
}
