package cause

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/check"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

func finding(id string, severity assess.Severity, at ...pki.Location) Finding {
	f := Finding{Assessment: assess.Assessment{ID: id, Status: assess.StatusOf(severity), Severity: severity, Reason: "the reason of " + id}, At: at}
	if strings.HasPrefix(id, "api") || strings.HasPrefix(id, "node-file") || strings.HasPrefix(id, "kubelet-api-int") {
		f.Remediation = assess.Advise("oc certrot fix-api-int does it")
	}
	return f
}

func file(node, path string) pki.Location {
	return pki.Location{Kind: pki.KindFile, Node: node, Path: path}
}

func secret(namespace, name string) pki.Location {
	return pki.Location{Kind: "Secret", Namespace: namespace, Name: name, Key: "tls.crt"}
}

const (
	kubeconfig = "/var/lib/kubelet/kubeconfig"
	clientCA   = "/etc/kubernetes/kubelet-ca.crt"
)

func TestFindingsOfOneCauseAreOneProblem(t *testing.T) {
	t.Parallel()
	problems := Fold(inspect.LiveHints("oc certrot"), []Finding{
		finding("api-ca-delivered", assess.Critical, secret("openshift-kube-apiserver-operator", "loadbalancer-serving-signer")),
		finding("certificate-expired", assess.Critical, secret("shop", "old")),
		finding("node-file-current", assess.Critical, file("worker-1", kubeconfig), file("worker-2", kubeconfig)),
		finding("node-file-current", assess.Warning, file("worker-1", clientCA)),
		finding("api-trusted", assess.Critical, file("worker-2", kubeconfig)),
		finding("api-trusted", assess.Critical, file("worker-9", kubeconfig)),
	})
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%s%v%v%v%v", p.ID, p.Findings, p.Nodes, p.Objects, p.Named))
	}
	want := []string{
		"api-int-ca-not-delivered[0 2 4][worker-1 worker-2][openshift-kube-apiserver-operator/loadbalancer-serving-signer]true",
		"[5][worker-9][]false", // it may have another cause there
		"[1][][shop/old]false", // a tenant's
		"[3][worker-1][]false", // another file
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if p := problems[0]; p.Remediation.Command != "oc certrot fix-api-int --dry-run=client" || p.Reason != "kubelets do not trust api-int" {
		t.Errorf("the cause says %+v", p.Assessment)
	}
	if p := problems[1]; p.Reason != "the reason of api-trusted" {
		t.Errorf("a finding of no proven cause says %q", p.Reason)
	}
}

// TestAKubeletWithoutACertificateIsItsOwnProblem: with what else its node lacks, and apart from nodes that lack
// only that.
func TestAKubeletWithoutACertificateIsItsOwnProblem(t *testing.T) {
	t.Parallel()
	none := finding("kubelet-current", assess.Critical, file("worker-2", "/var/lib/kubelet/pki/kubelet-client-current.pem"))
	none.Remediation = assess.FixedCommand("oc certrot fix-api-int --nodes worker-2 --approve-csrs --dry-run=client")
	problems := Fold(inspect.LiveHints("oc certrot"), []Finding{
		finding("certificate-expired", assess.Critical, secret("openshift-x", "old")),
		finding("node-file-current", assess.Critical, file("worker-1", kubeconfig)),
		finding("node-file-current", assess.Critical, file("worker-2", kubeconfig)),
		finding("api-trusted", assess.Critical, file("worker-1", kubeconfig)),
		finding("api-trusted", assess.Critical, file("worker-2", kubeconfig)),
		none,
	})
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%s%v%v%s", p.ID, p.Findings, p.Nodes, p.Remediation.Command))
	}
	want := []string{
		"api-int-ca-not-delivered[1 3][worker-1]oc certrot fix-api-int --nodes worker-1 --dry-run=client",
		"kubelet-client-certificate-missing[2 4 5][worker-2]oc certrot fix-api-int --nodes worker-2 --approve-csrs --dry-run=client",
		"[0][]", // whose impact the finding alone knows
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestASymptomAloneIsNoCause: what another cause may have is not told as this one.
func TestASymptomAloneIsNoCause(t *testing.T) {
	t.Parallel()
	for _, f := range []Finding{
		finding("api-trusted", assess.Critical, file("worker-1", kubeconfig)),
		finding("multus-api-int", assess.Critical, file("worker-1", kubeconfig)),
		finding("kubelet-api-int", assess.Critical, file("worker-1", kubeconfig)), // an edge that lacks no CA: expired
		finding("node-file-current", assess.Critical, file("worker-1", kubeconfig), file("worker-1", clientCA)),
	} {
		if p := Fold(inspect.Hints{}, []Finding{f}); len(p) != 1 || p[0].ID != "" {
			t.Errorf("%s: %+v", f.ID, p)
		}
	}
}

// TestAnExpiredCertificateIsOneProblem: of all its clients, whatever they trust, and before what they lack.
func TestAnExpiredCertificateIsOneProblem(t *testing.T) {
	t.Parallel()
	claim := func(id, node, ca string, expired bool) Finding {
		return Finding{Assessment: assess.Assessment{ID: id, Status: assess.Fail, Severity: assess.Critical, Reason: "x509", Remediation: assess.FixedCommand("oc certrot inspect --expired")}, Node: node, MissingCA: ca, Expired: expired}
	}
	const next = "oc get clusteroperator kube-apiserver -o yaml"
	problems := Fold(inspect.LiveHints("oc certrot"), []Finding{claim("kubelet-api-int", "worker-1", "aa", true), claim("kubelet-api-int", "worker-2", "", true), claim("scheduler-api-int", "", "", true)})
	if len(problems) != 1 || problems[0].ID != "api-int-certificate-expired" || !problems[0].Named || problems[0].Remediation.Command != next {
		t.Errorf("%+v", problems)
	}
	service := Fold(inspect.LiveHints("oc certrot"), []Finding{claim("pods-kubernetes-service", "", "", true)})
	if len(service) != 1 || service[0].ID != "" {
		t.Errorf("kubernetes.default presents another certificate than api-int: %+v", service)
	}
}

// TestAnExpiredCertificateIsRepairedFirst: of api-int, before the kubelets that lack its CA, whichever was found first.
func TestAnExpiredCertificateIsRepairedFirst(t *testing.T) {
	t.Parallel()
	expired := finding("certificate-expired", assess.Critical, secret("openshift-kube-apiserver", "internal-loadbalancer-serving-certkey"), file("master-0", "/etc/kubernetes/tls.crt"))
	other := finding("certificate-expired", assess.Critical, secret("openshift-kube-apiserver", "kubelet-client"))
	copied := finding("certificate-expired", assess.Critical, secret("shop", "internal-loadbalancer-serving-certkey"))
	lacks := finding("node-file-current", assess.Critical, file("worker-1", kubeconfig))
	for _, all := range [][]Finding{{lacks, other, copied, expired}, {expired, copied, other, lacks}} {
		problems := Fold(inspect.LiveHints("oc certrot"), all)
		if len(problems) != 4 {
			t.Fatalf("%+v", problems)
		}
		at := slices.IndexFunc(problems, func(p Problem) bool { return p.ID == "api-int-certificate-expired" })
		if at < 0 {
			t.Fatalf("%+v", problems)
		}
		if p := problems[at]; len(p.Names()) > 0 || !slices.Equal(p.Nodes, []string{"master-0"}) || p.Remediation.Command != "oc get clusteroperator kube-apiserver -o yaml" {
			t.Errorf("%+v", p)
		}
		after := problems[slices.IndexFunc(problems, func(p Problem) bool { return p.ID == "api-int-ca-not-delivered" })]
		if want := "first repair the problem above; after that: oc certrot fix-api-int --nodes worker-1 --dry-run=client"; after.Remediation != assess.Advise(want) {
			t.Errorf("%+v", after.Remediation)
		}
		if slices.IndexFunc(problems, func(p Problem) bool { return p.ID == after.ID }) < at {
			t.Errorf("the repair that does not help stands first: %+v", problems)
		}
	}
	if p := Fold(inspect.LiveHints("oc certrot"), []Finding{lacks, other})[0]; p.Remediation.Command != "oc certrot fix-api-int --nodes worker-1 --dry-run=client" {
		t.Errorf("%+v", p.Remediation)
	}
}

func TestVerifiersThatLackDifferentCAsAreDifferentProblems(t *testing.T) {
	t.Parallel()
	claim := func(node, ca string) Finding {
		return Finding{Assessment: assess.Assessment{ID: "kubelet-api-int", Status: assess.Fail, Severity: assess.Critical, Remediation: assess.Advise("oc certrot fix-api-int")}, Node: node, MissingCA: ca}
	}
	problems := Fold(inspect.Hints{}, []Finding{claim("worker-1", "aa"), claim("worker-2", "bb"), claim("worker-3", "aa")})
	if len(problems) != 2 || !slices.Equal(problems[0].Nodes, []string{"worker-1", "worker-3"}) {
		t.Errorf("%+v", problems)
	}
}

// TestWhatWillFailIsAnotherProblem: as long as nothing is signed by the new CA, pretrust delivers it.
func TestWhatWillFailIsAnotherProblem(t *testing.T) {
	t.Parallel()
	early := finding("node-file-current", assess.Warning, file("worker-1", kubeconfig))
	early.Remediation = assess.Advise("oc certrot pretrust does it")
	problems := Fold(inspect.LiveHints("oc certrot"), []Finding{early})
	if len(problems) != 1 || problems[0].ID != "api-int-ca-not-delivered-yet" || problems[0].Remediation.Command != "oc certrot pretrust --dry-run=client" {
		t.Errorf("%+v", problems)
	}
	other := early // its own next step says that it has another reason
	other.Remediation = assess.Advise("read api-int's certificate, too")
	if p := Fold(inspect.Hints{}, []Finding{other}); p[0].Named || p[0].Reason != other.Reason || p[0].Remediation != other.Remediation {
		t.Errorf("%+v", p)
	}
}

// TestATenantSpeaksForNoProblemOfThePlatform: not by its title, its next step, or its place in the
// order, however many objects a tenant makes and whatever they are called.
func TestATenantSpeaksForNoProblemOfThePlatform(t *testing.T) {
	t.Parallel()
	expired := func(namespace, name string) Finding {
		f := finding("certificate-expired", assess.Critical, secret(namespace, name))
		f.Reason, f.Remediation = namespace+"/"+name+" expired", assess.Advise("look: kubectl -n "+namespace+" describe secret "+name)
		return f
	}
	var all []Finding
	for _, name := range []string{"x1", "x2", "e", "s", "d", "r", "kubectl"} {
		all = append(all, expired("aaa", name))
	}
	all = append(all, expired("openshift-ingress", "router-certs"))
	problems := Fold(inspect.Hints{}, all)
	if p := problems[0]; p.Reason != "openshift-ingress/router-certs expired" || len(p.Findings) != 1 {
		t.Errorf("the platform's problem: %+v", p)
	}
	if len(problems) > 3 { // one of them may be called as a word of the text
		t.Errorf("%d problems: %+v", len(problems), problems)
	}
	tenant := Finding{Assessment: assess.Assessment{ID: "pods", Status: assess.Fail, Severity: assess.Critical, Impact: "pods of namespace aaa"}, At: []pki.Location{secret("aaa", "x")}}
	platform := Finding{Assessment: assess.Assessment{ID: "pods", Status: assess.Fail, Severity: assess.Critical, Impact: "all operators"}, At: []pki.Location{secret("openshift-x", "x")}}
	if p := Fold(inspect.Hints{}, []Finding{tenant, platform}); len(p) != 2 || p[0].Impact != "all operators" {
		t.Errorf("%+v", p)
	}
}

// TestEachFindingOfAProblemIsAmongItsNames: an object beside a node, too, the worst first.
func TestEachFindingOfAProblemIsAmongItsNames(t *testing.T) {
	t.Parallel()
	problems := Fold(inspect.Hints{}, []Finding{
		finding("certificate-expiring", assess.Warning, file("master-0", clientCA)),
		finding("certificate-expiring", assess.Critical, secret("openshift-ingress", "router-certs")),
	})
	if got := problems[0].Names(); !slices.Equal(got, []string{"openshift-ingress/router-certs", "master-0"}) {
		t.Errorf("got %q", got)
	}
}

// TestAlikeFindingsAreOneProblem: one check on 300 nodes with the same next step.
func TestAlikeFindingsAreOneProblem(t *testing.T) {
	t.Parallel()
	var all []Finding
	for i := range 300 {
		node := fmt.Sprintf("worker-%d", i)
		f := finding("clock-skew", assess.Warning, file(node, ""))
		f.Remediation = assess.Advise("look at " + node)
		all = append(all, f)
	}
	other := finding("clock-skew", assess.Warning, file("worker-x", ""))
	other.Remediation = assess.Advise("something else")
	problems := Fold(inspect.Hints{}, append(all, other))
	if len(problems) != 2 || len(problems[0].Nodes) != 300 {
		t.Errorf("%d problems, the first one of %d nodes", len(problems), len(problems[0].Nodes))
	}
}

// TestEachFindingIsInOneProblemThatNamesIt, whatever was found.
func TestEachFindingIsInOneProblemThatNamesIt(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	ids := []string{"clock-skew"}
	for _, c := range catalog.Causes() {
		for _, s := range c.Symptoms {
			ids = append(ids, s.ID)
		}
	}
	for range 2000 {
		var all []Finding
		for range r.IntN(12) {
			f := finding(ids[r.IntN(len(ids))], assess.Severity(1+r.IntN(3)))
			for range r.IntN(4) {
				at := file(fmt.Sprintf("node-%d", r.IntN(3)), []string{kubeconfig, clientCA}[r.IntN(2)])
				if r.IntN(3) == 0 {
					at = secret("a", fmt.Sprint(r.IntN(3)))
				}
				f.At = append(f.At, at)
			}
			f.MissingCA = []string{"", "aa", "bb"}[r.IntN(3)]
			all = append(all, f)
		}
		in := map[int]int{}
		worst := assess.Severity(9)
		for _, p := range Fold(inspect.Hints{}, all) {
			if p.Severity > worst {
				t.Fatalf("%s stands behind %s", p.Severity, worst)
			}
			worst = p.Severity
			for _, i := range p.Findings {
				in[i]++
				f := &all[i]
				if f.Severity > p.Severity {
					t.Fatalf("a problem is less severe than its finding: %+v", p)
				}
				for _, name := range f.nodes() {
					if !slices.Contains(p.Nodes, name) {
						t.Fatalf("%s is not named by %+v", name, p)
					}
				}
				for _, name := range f.objects() {
					if !slices.Contains(p.Objects, name) {
						t.Fatalf("%s is not named by %+v", name, p)
					}
				}
			}
		}
		for i := range all {
			if in[i] != 1 {
				t.Fatalf("finding %d is in %d problems", i, in[i])
			}
		}
	}
}

// TestSymptomsExist: rows name checks and trust edges that there are, each once.
func TestSymptomsExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, c := range check.Checks() {
		known[c.ID] = true
	}
	for _, e := range catalog.Edges() {
		known[e.ID] = true
	}
	seen := map[string]bool{}
	behind := map[string]bool{} // symptoms of a cause that another finding has to prove first
	for _, c := range catalog.Causes() {
		proves := false
		for _, s := range c.Symptoms {
			of := s.ID
			if s.Expired {
				of += ", expired"
			}
			if s.SameNodes && !behind[of] && c.ID == catalog.CauseClientCertificate {
				behind[of] = true
				if !known[s.ID] {
					t.Errorf("cause %s: no check or trust edge is called %s", c.ID, s.ID)
				}
				continue
			}
			if !known[s.ID] || seen[of] || seen[of+" "+string(c.When)] {
				t.Errorf("cause %s: no check or trust edge is called %s, or it is in two rows", c.ID, s.ID)
			}
			if seen[of+" "+string(c.When)] = true; c.When == "" {
				seen[of] = true
			}
			proves = proves || s.Proves
		}
		if !proves || seen[c.ID] || c.Source == "" {
			t.Errorf("cause %s is proven by nothing, has the name of a symptom, or no source", c.ID)
		}
	}
}

// TestEdgesOfAPIIntAreSymptoms: who verifies api-int fails with its certificate, and who does so with a
// kubelet's kubeconfig with that kubelet. Other trust anchors are repaired in another way.
func TestEdgesOfAPIIntAreSymptoms(t *testing.T) {
	t.Parallel()
	for _, e := range catalog.Edges() {
		if e.Part != catalog.PartAPIInt {
			continue
		}
		expires := e.ID != "pods-kubernetes-service" // its name has a certificate of its own
		lacksCA := e.Trust.Kind == catalog.File && slices.Contains(catalog.KubeletKubeconfigs(), e.Trust.Name)
		for id, want := range map[string]bool{"api-int-certificate-expired": expires, "api-int-ca-not-delivered": lacksCA, "api-int-ca-not-delivered-yet": lacksCA} {
			i := slices.IndexFunc(catalog.Causes(), func(c catalog.Cause) bool { return c.ID == id })
			got := slices.ContainsFunc(catalog.Causes()[i].Symptoms, func(s catalog.Symptom) bool { return s.ID == e.ID && (s.Expired || s.MissingCA) })
			if got != want {
				t.Errorf("%s is a symptom of %s: %t, want %t", e.ID, id, got, want)
			}
		}
	}
}

func BenchmarkFold(b *testing.B) {
	var all []Finding
	for i := range 10000 {
		all = append(all, finding("node-file-current", assess.Critical, file(fmt.Sprintf("worker-%d", i), kubeconfig)))
	}
	for b.Loop() {
		Fold(inspect.Hints{}, all)
	}
}
