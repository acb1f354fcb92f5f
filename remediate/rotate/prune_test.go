package rotate

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// bundled is a cluster in which nothing happens but the removal of CAs from one bundle.
type bundled struct {
	Cluster
	removal error // what the API server says when it tries it
	lease   error // what is said before the plan is asked for
	applied error // how it went
	before  bool  // it failed before anything was changed
	now     Reading
	unread  error // why that can't be read
	asked   int
	plan    *remediate.Plan
}

func (c *bundled) Removal(_ context.Context, of catalog.Ref, judged []OldCA) (a PruneBundle, err error) {
	c.asked++
	a.Object = of
	for _, j := range judged {
		if j.Keep == "" {
			a.Removes = append(a.Removes, j.Cert)
		}
	}
	a.Before, a.After = "as it was", "as it is to be"
	return a, c.removal
}

func (c *bundled) Apply(ctx context.Context, plan func(context.Context) (*remediate.Plan, error)) (changed bool, err error) {
	if c.lease != nil {
		return false, c.lease
	}
	if c.plan, err = plan(ctx); err != nil {
		return false, err
	}
	return !c.before, c.applied
}

func (c *bundled) Read(context.Context, func(*inspect.Snapshot) bool) (Reading, error) {
	return c.now, c.unread
}

// reading is that of a cluster whose load balancer's signer was replaced long ago.
func (f rotated) reading(t *testing.T, version string) Reading {
	t.Helper()
	f.Cluster.Versions.Cluster, f.Cluster.Internal = version, "https://"+remediatetest.APIIntHost+":6443"
	f.Sort()
	return NewReading(t.Context(), inspect.NewFacts(f.Snapshot, remediatetest.TestNow, time.Hour))
}

// outcomeAndText is an error as people get it, its outcome before it and its next step behind it.
func outcomeAndText(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%d: %s > %s", e.Outcome, e.Error(), e.Next)
}

// TestSelectPruning: only a signer whose CAs are in a bundle of its own has old ones to remove.
func TestSelectPruning(t *testing.T) {
	t.Parallel()
	r := Runner{Hints: inspect.LiveHints("certrot")}
	for name, c := range map[string]struct {
		version, name, want string
	}{
		"a signer":                   {"4.15.1", catalog.LoadBalancerSigner().Name, "<nil>"},
		"what it signs":              {"4.15.1", catalog.InternalLoadBalancerServing().Name, fmt.Sprintf("%d: refused, nothing was changed: openshift-kube-apiserver/internal-loadbalancer-serving-certkey: it is signed by loadbalancer-serving-signer, and no signer: it has no CAs > certrot rotate prune loadbalancer-serving-signer", Refused)},
		"a version without a review": {"4.99.0", catalog.LoadBalancerSigner().Name, fmt.Sprintf("%d: refused, nothing was changed: unreviewed-version: %s > use a release of certrot that reviewed this version\nto accept the risk: --accept-risk=unreviewed-version", Refused, catalog.Versions{Cluster: "4.99.0"}.WhyUnreviewed())},
		"a name that means nothing":  {"4.15.1", "none", fmt.Sprintf("%d: ", Unread)},
	} {
		p, err := r.SelectPruning(newRotated().reading(t, c.version), c.name)
		if got := outcomeAndText(err); got != c.want && (c.name != "none" || came(err) != Unread) {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
		if err == nil && p.Of.At != catalog.LoadBalancerSigner() {
			t.Errorf("%s: %s", name, p.Of.At)
		}
	}
}

// TestPlanPruning: the API server tries it only where it is asked to, and what it refuses has an outcome.
func TestPlanPruning(t *testing.T) {
	t.Parallel()
	const at = "openshift-kube-apiserver-operator"
	for name, c := range map[string]struct {
		try     bool
		removal error
		unread  bool
		asked   int
		want    string
	}{
		"judged":              {false, io.ErrUnexpectedEOF, false, 0, "<nil>"},
		"tried":               {true, nil, false, 1, "<nil>"},
		"written meanwhile":   {true, remediate.ErrChanged, false, 1, fmt.Sprintf("%d: nothing was changed: %v > another client writes it at this moment: look, and run it again", Refused, remediate.ErrChanged)},
		"not allowed":         {true, errors.New("forbidden"), false, 1, fmt.Sprintf("%d: nothing was changed: forbidden > kubectl auth can-i patch configmaps -n %s", Unread, at)},
		"not everything read": {true, nil, true, 0, fmt.Sprintf("%d: refused, nothing was changed: %s: ", Refused, AllRead)},
	} {
		cluster := &bundled{removal: c.removal}
		r := Runner{Cluster: cluster, Hints: inspect.LiveHints("certrot"), Try: c.try, Risks: []string{preflight.UnreviewedVersion}}
		f := newRotated()
		if c.unread {
			f.Nodes[0].Via = ""
		}
		p, err := r.SelectPruning(f.reading(t, "4.15.1"), catalog.LoadBalancerSigner().Name)
		if err != nil {
			t.Fatal(err)
		}
		err = r.PlanPruning(t.Context(), &p)
		if got := outcomeAndText(err); got != c.want && !(c.unread && len(got) > len(c.want) && got[:len(c.want)] == c.want) || cluster.asked != c.asked {
			t.Errorf("%s: asked %d times: %s\nwant %s", name, cluster.asked, got, c.want)
		}
		if err == nil && (p.Removed() != 2 || len(p.CAs) != 3 || c.try != (len(p.Action.Removes) == 2)) {
			t.Errorf("%s: %d of %d are removed: %+v", name, p.Removed(), len(p.CAs), p.Action)
		}
	}
}

// TestPrune: how the removal went has an outcome, and says how to put the bundle back once it may be written.
func TestPrune(t *testing.T) {
	t.Parallel()
	held := &Error{Outcome: Refused, Err: errors.New("another run has the Lease"), Next: "wait for it", Unchanged: true}
	for name, c := range map[string]struct {
		lease, applied error
		before         bool
		want           string
	}{
		"done":               {nil, nil, false, "<nil>"},
		"another run":        {held, nil, true, fmt.Sprintf("%d: refused, nothing was changed: another run has the Lease > wait for it", Refused)},
		"written meanwhile":  {nil, remediate.ErrChanged, true, fmt.Sprintf("%d: nothing was changed: %v > another client writes it: look at it, and run this again", Stopped, remediate.ErrChanged)},
		"no disk for it":     {nil, errors.New("keep it: no space left"), true, fmt.Sprintf("%d: nothing was changed: keep it: no space left > oc -n openshift-kube-apiserver-operator get configmap loadbalancer-serving-ca -o yaml", Stopped)},
		"put back by others": {nil, errors.New("CN=x was put back"), false, fmt.Sprintf("%d: CN=x was put back > oc -n openshift-kube-apiserver-operator get configmap loadbalancer-serving-ca -o yaml; the bundle as it was: kubectl patch it", Stopped)},
	} {
		cluster := &bundled{lease: c.lease, applied: c.applied, before: c.before, now: newRotated().reading(t, "4.15.1")}
		r := Runner{Cluster: cluster, Hints: inspect.LiveHints("certrot"), Try: true}
		p, err := r.SelectPruning(cluster.now, catalog.LoadBalancerSigner().Name)
		if err == nil {
			err = r.PlanPruning(t.Context(), &p)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Undo = "kubectl patch it"
		if got := outcomeAndText(r.Prune(t.Context(), p)); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
		if planned := cluster.plan != nil; planned != (c.lease == nil) || planned && len(cluster.plan.Nodes()) != 1 {
			t.Errorf("%s: the plan is %+v", name, cluster.plan)
		}
	}
}

// TestPruneIsJudgedAgain: the question may have been on the screen for an hour, and what decided then decides once more.
func TestPruneIsJudgedAgain(t *testing.T) {
	t.Parallel()
	hour := func(n int) time.Time { return remediatetest.TestNow.Add(time.Duration(n) * time.Hour) }
	served := func(f rotated, by *pkitest.Authority) {
		f.Serve(by.Issue(remediatetest.APIIntHost, hour(-1), hour(900), pkitest.DNS(remediatetest.APIIntHost)))
	}
	const changed = "refused, nothing was changed: what can be removed from ConfigMap/openshift-kube-apiserver-operator/loadbalancer-serving-ca[ca-bundle.crt] changed after it was displayed: "
	for name, c := range map[string]struct {
		asked, now func(f rotated)
		unread     error
		want       string // empty: it is removed
	}{
		"as it was":                                   {want: ""},
		"a server fell back to the previous CA":       {now: func(f rotated) { served(f, f.Old) }, want: changed + "CN=kube-apiserver-lb-signer"},
		"no server presents the previous CA any more": {asked: func(f rotated) { served(f, f.Old) }, want: changed + "CN=kube-apiserver-lb-signer"},
		"a node can't be read any more":               {now: func(f rotated) { f.Nodes[0].Via = "" }, want: "refused, nothing was changed: " + AllRead},
		"it can't be read":                            {unread: io.ErrUnexpectedEOF, want: "nothing was changed: unexpected EOF"},
	} {
		cluster := &bundled{unread: c.unread}
		r := Runner{Cluster: cluster, Hints: inspect.LiveHints("certrot"), Try: true}
		f := newRotated()
		if c.asked != nil {
			c.asked(f)
		}
		p, err := r.SelectPruning(f.reading(t, "4.15.1"), catalog.LoadBalancerSigner().Name)
		if err == nil {
			err = r.PlanPruning(t.Context(), &p)
		}
		if err != nil {
			t.Fatal(err)
		}
		f = newRotated()
		if c.now != nil {
			c.now(f)
		}
		cluster.now = f.reading(t, "4.15.1")
		err = r.Prune(t.Context(), p)
		if c.want == "" && err == nil && cluster.plan != nil {
			continue
		}
		if c.want == "" || err == nil || cluster.plan != nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: planned %t: %s\nwant %s", name, cluster.plan != nil, outcomeAndText(err), c.want)
		}
	}
}

// TestWhatOneHasStopsNoPrune: what tenants have, or one worker alone in its files, is a note of a removal, and so is what
// was accepted by its name. What several workers have refuses it.
func TestWhatOneHasStopsNoPrune(t *testing.T) {
	t.Parallel()
	hour := func(n int) time.Time { return remediatetest.TestNow.Add(time.Duration(n) * time.Hour) }
	stray := pkitest.NewCA("stray", hour(-20), hour(900)).CertPEM
	forged := func(of *pkitest.Authority) []byte {
		by := pkitest.NewCA(of.Cert.Subject.CommonName, hour(-20), hour(900), pkitest.KeyName("forger"), pkitest.Template(func(c *x509.Certificate) { c.SubjectKeyId = of.Cert.SubjectKeyId }))
		return by.Issue("shop", hour(-2), hour(900), pkitest.DNS("shop"), pkitest.Template(func(c *x509.Certificate) { c.SignatureAlgorithm = x509.ECDSAWithSHA1 })).CertPEM
	}
	signed := func(by *pkitest.Authority) []byte {
		return by.Issue("shop", hour(-3), hour(9), pkitest.DNS("shop")).CertPEM
	}
	const tenants = "checks find something new in what only tenants write, which refuses no plan: serving-chain: shop/copy: the chain lacks CA "
	for name, c := range map[string]struct {
		leaf    func(f rotated) []byte
		at      []string // workers; none: a tenant's Secret
		accept  []string
		note    string // empty: none
		refused string // empty: it is not
	}{
		"a tenant, forged, of the CA that has expired": {func(f rotated) []byte { return forged(f.ended) }, nil, nil, "", ""},
		"a tenant, forged, of the previous CA":         {func(f rotated) []byte { return forged(f.Old) }, nil, nil, "", ""},
		"a worker, forged, of the CA that has expired": {func(f rotated) []byte { return forged(f.ended) }, []string{"worker-1"}, nil, "", ""},
		"a tenant, of the CA that has expired":         {func(f rotated) []byte { return signed(f.ended) }, nil, nil, tenants + "loadbalancer-serving-signer@1. Look at it: kubectl certrot inspect --all", ""},
		"a tenant, of the previous CA, accepted":       {func(f rotated) []byte { return signed(f.Old) }, nil, []string{TenantsHold}, tenants + "kube-apiserver-lb-signer", ""},
		"a worker, of the CA that has expired":         {func(f rotated) []byte { return signed(f.ended) }, []string{"worker-1"}, nil, "in what only root on worker-1 writes, which refuses no plan: serving-chain: worker-1: /var/lib/kubelet/pki/kubelet-server-current.pem: the chain lacks", ""},
		"two workers, of the CA that has expired":      {func(f rotated) []byte { return signed(f.ended) }, []string{"worker-1", "worker-2"}, nil, "", "the plan would bring a new problem: serving-chain: worker-1"},
	} {
		f := newRotated()
		for _, node := range c.at {
			f.AddNode(node)
			f.Embed(node, remediatetest.BootstrapFile, f.ConfigMap)
			f.Embed(node, remediatetest.KubeletFile, f.ConfigMap)
			n, _ := f.Snapshot.Node(node)
			n.Role = catalog.RoleWorker
			f.Pem(node, "/var/lib/kubelet/pki/kubelet-server-current.pem", pkitest.Bundle(c.leaf(f), stray))
		}
		if len(c.at) == 0 {
			f.Object(catalog.Ref{Kind: catalog.Secret, Namespace: "shop", Name: "copy", Key: "tls.crt"}, pkitest.Bundle(c.leaf(f), stray))
			f.Bundles[len(f.Bundles)-1].Object.Type = "kubernetes.io/tls"
		}
		r := Runner{Hints: inspect.LiveHints("certrot"), Risks: c.accept}
		p, err := r.SelectPruning(f.reading(t, "4.15.1"), catalog.LoadBalancerSigner().Name)
		if err == nil {
			err = r.PlanPruning(t.Context(), &p)
		}
		if c.refused != "" {
			var why *remediate.Refusal
			if !errors.As(err, &why) || why.Name != remediate.PlanProven || !strings.Contains(why.Reason, c.refused) || came(err) != Refused {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		notes := strings.Join(p.Notes.Texts(), "\n")
		if err != nil || p.Removed() != 2 || c.note == "" != (notes == "") || !strings.Contains(notes, c.note) {
			t.Errorf("%s: %d removed, notes %q: %v", name, p.Removed(), notes, err)
		}
	}
}
