package rotate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// rotated are facts long after the load balancer's signer was replaced: its bundle has
// the one from before, and one that has expired.
type rotated struct {
	*remediatetest.Fixture
	ended *pkitest.Authority
	row   catalog.Rotation
}

func newRotated() rotated {
	f := rotated{Fixture: remediatetest.NewFixture("master-0"), ended: pkitest.NewCA("loadbalancer-serving-signer@1", remediatetest.TestNow.Add(-90*time.Hour), remediatetest.TestNow.Add(-time.Hour))}
	for _, r := range catalog.Rotations() {
		if r.Signer == catalog.LoadBalancerSigner() || r.Signer.Name == catalog.LoadBalancerSigner().Name {
			f.row = r
		}
	}
	f.row.Signer.Key, f.row.Bundle.Key = catalog.LoadBalancerSigner().Key, catalog.LoadBalancerCA().Key
	f.Embed("master-0", remediatetest.BootstrapFile, f.ConfigMap)
	f.Embed("master-0", remediatetest.KubeletFile, f.ConfigMap)
	f.Reads = []inspect.Read{{What: "secrets"}, {What: "configmaps"}}
	f.Object(catalog.LoadBalancerCA(), f.bundle())
	f.Serve(f.Young.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-3*time.Hour), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost)))
	return f
}

func (f rotated) bundle() []byte {
	return pkitest.Bundle(f.ended.CertPEM, f.Old.CertPEM, f.Young.CertPEM)
}

func (f rotated) judge(accepted ...string) ([]OldCA, error) {
	f.Sort()
	return OldTrust(inspect.NewFacts(f.Snapshot, remediatetest.TestNow, time.Hour), f.row, accepted)
}

func TestOldTrustThatNobodyNeeds(t *testing.T) {
	t.Parallel()
	f := newRotated()
	cas, err := f.judge()
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, ca := range cas {
		kept = append(kept, ca.Keep)
	}
	if !slices.Equal(kept, []string{"", "", "the current signer"}) {
		t.Errorf("kept %q", kept)
	}
}

func TestOldTrustThatIsNeeded(t *testing.T) {
	t.Parallel()
	leaf := func(f rotated) pkitest.Pair {
		return f.Old.Issue("still", remediatetest.TestNow.Add(-3*time.Hour), remediatetest.TestNow.Add(time.Hour), pkitest.DNS("still"))
	}
	for name, c := range map[string]struct {
		change func(rotated)
		want   string
	}{
		"a Secret": {func(f rotated) {
			f.Object(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-a", Name: "b", Key: "tls.crt"}, leaf(f).CertPEM)
		}, "Secret/openshift-a/b[tls.crt] holds CN=still"},
		"a file on a node": {func(f rotated) {
			f.Bundles = append(f.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: "master-0", Path: "/etc/x.crt"}, Content: f.Sc.Scan(leaf(f).CertPEM)[0].Content})
		}, "node/master-0:/etc/x.crt holds CN=still"},
		"a server": {func(f rotated) {
			f.Snapshot.Served = append(f.Snapshot.Served, inspect.Served{Node: "master-0", Address: "10.0.0.1:6443", Server: catalog.ListenerAPIServer, Chain: f.Sc.Scan(leaf(f).CertPEM)[0].Content.Certs})
		}, "10.0.0.1:6443 presents a certificate of it"},
		"the server in a node's kubeconfig": {func(f rotated) {
			f.Snapshot.Served = append(f.Snapshot.Served, inspect.Served{Node: "worker-0", Address: "10.0.0.1:6443", Chain: f.Sc.Scan(leaf(f).CertPEM)[0].Content.Certs})
		}, "10.0.0.1:6443, asked from worker-0, presents a certificate of it"},
		"a Secret that is valid in a moment": {func(f rotated) {
			f.Object(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-a", Name: "b", Key: "tls.crt"}, f.Old.Issue("still", remediatetest.TestNow.Add(30*time.Second), remediatetest.TestNow.Add(time.Hour), pkitest.DNS("still")).CertPEM)
		}, "Secret/openshift-a/b[tls.crt] holds CN=still"},
		"a leaf that was just signed": {func(f rotated) {
			f.Serve(f.Young.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-20*time.Minute), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost)))
		}, "only 20m0s ago"},
	} {
		f := newRotated()
		c.change(f)
		cas, err := f.judge()
		if err != nil || !strings.Contains(cas[1].Keep, c.want) {
			t.Errorf("%s: %q, %v", name, cas[1].Keep, err)
		}
		if cas, err := f.judge(JustSigned); name == "a leaf that was just signed" && (err != nil || cas[1].Keep != "") {
			t.Errorf("%s, accepted: %q, %v", name, cas[1].Keep, err)
		}
		if err == nil && cas[0].Keep != "" {
			t.Errorf("%s: one that ended stays: %s", name, cas[0].Keep)
		}
	}
}

func TestOldTrustThatIsNotKnown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change     func(*rotated)
		want, says string
	}{
		"no signer": {func(f *rotated) { f.row.Signer.Name = "other" }, oldTrustRead, "other[tls.crt] is not there"},
		"no bundle": {func(f *rotated) { f.row.Bundle.Name = "other" }, oldTrustRead, "other[ca-bundle.crt] was not read"},
		"a bundle without it": {func(f *rotated) {
			f.forget(catalog.LoadBalancerCA())
			f.Object(catalog.LoadBalancerCA(), f.Old.CertPEM)
		}, oldTrustRead, "the current signer"},
		"secrets of one place":     {func(f *rotated) { f.Reads[0].Where = "a" }, AllRead, "not all secrets"},
		"a kind that forbidden":    {func(f *rotated) { f.Gaps = []inspect.Gap{{What: "routes", Reason: "forbidden"}} }, AllRead, "routes: forbidden"},
		"no nodes":                 {func(f *rotated) { f.Nodes = nil }, AllRead, "no node was read"},
		"a node that was left out": {func(f *rotated) { f.OtherNodes = []inspect.Node{{Name: "worker-1"}} }, AllRead, "node worker-1 was left out"},
		"a clock that is wrong": {func(f *rotated) {
			f.Cluster.Clock = inspect.Clock{Sent: remediatetest.TestNow, Before: remediatetest.TestNow.Add(-2 * time.Hour), After: remediatetest.TestNow.Add(-2 * time.Hour), Received: remediatetest.TestNow}
		}, clocks, "behind this machine's"},
		"a file without control plane nodes": {func(f *rotated) {
			f.Nodes[0].Name, f.Nodes[0].Role, f.Cluster.Versions.Cluster = "worker-0", catalog.RoleWorker, "4.15.1"
			f.Advise(inspect.FileHints("x"))
		}, AllRead, "the file has no control plane node"},
		"a node that is away": {func(f *rotated) { f.Nodes[0].Via = "" }, AllRead, "node master-0 was not read"},
	} {
		f := newRotated()
		c.change(&f)
		_, err := f.judge()
		var r *remediate.Refusal
		if _, err := f.judge(AllRead, JustSigned); (err == nil) != (c.want == AllRead) {
			t.Errorf("%s, accepted: %v", name, err)
		}
		if !errors.As(err, &r) || r.Name != c.want || !strings.Contains(r.Reason, c.says) || r.Next == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOldTrustOfClients: a client that trusts the old CA alone is repaired before that is removed.
func TestOldTrustOfClients(t *testing.T) {
	t.Parallel()
	f := newRotated()
	f.Cluster.Versions.Cluster, f.Cluster.Internal = "4.15.1", "https://"+remediatetest.APIIntHost+":6443"
	judge := func(accepted ...string) ([]OldCA, error) {
		f.Sort()
		r := NewReading(t.Context(), inspect.NewFacts(f.Snapshot, remediatetest.TestNow, time.Hour))
		of, err := r.Find(catalog.LoadBalancerSigner().Name)
		if err != nil {
			t.Fatal(err)
		}
		return r.OldTrust(of, accepted)
	}
	if cas, err := judge(); err != nil || cas[1].Keep != "" {
		t.Fatalf("clients that trust the current signer: %+v, %v", cas, err)
	}
	f.Snapshot.Bundles = slices.DeleteFunc(f.Snapshot.Bundles, func(b inspect.Bundle) bool { return b.At.Node != "" })
	f.Embed("master-0", remediatetest.KubeletFile, f.Old.CertPEM)
	var r *remediate.Refusal
	if _, err := judge(); !errors.As(err, &r) || r.Name != SignerTrusted || !r.Risk || !strings.Contains(r.Reason, "kubelet on master-0") || !strings.Contains(r.Next, "fix-api-int") {
		t.Errorf("a kubelet that trusts only the old CA: %v", err)
	}
	if cas, err := judge(SignerTrusted); err != nil || cas[1].Keep != "" {
		t.Errorf("accepted: %+v, %v", cas, err)
	}
}

// TestOldTrustOfTwins: of two CAs with one name and one key, one stays as long as there is
// a certificate of it.
func TestOldTrustOfTwins(t *testing.T) {
	t.Parallel()
	f := newRotated()
	twin := pkitest.NewCA("kube-apiserver-lb-signer", remediatetest.TestNow.Add(-25*time.Hour), remediatetest.TestNow.Add(24*time.Hour), pkitest.KeyName("kube-apiserver-lb-signer from "+remediatetest.TestNow.Add(-24*time.Hour).Format(time.RFC3339Nano)))
	if pki.LoadedPEM(f.Sc, twin.CertPEM)[0].SPKI != pki.LoadedPEM(f.Sc, f.Old.CertPEM)[0].SPKI {
		t.Fatal("they have two keys")
	}
	f.forget(catalog.LoadBalancerCA())
	f.Object(catalog.LoadBalancerCA(), pkitest.Bundle(f.Old.CertPEM, twin.CertPEM, f.Young.CertPEM))
	f.Object(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-a", Name: "b", Key: "tls.crt"}, f.Old.Issue("still", remediatetest.TestNow.Add(-3*time.Hour), remediatetest.TestNow.Add(time.Hour), pkitest.DNS("still")).CertPEM)
	cas, err := f.judge()
	if err != nil || cas[0].Keep != "" || !strings.Contains(cas[1].Keep, "Secret/openshift-a/b[tls.crt] holds CN=still") {
		t.Errorf("%+v, %v", cas, err)
	}
}

// TestATwinThatEndsVouchesForNothing: the one that lasts is needed as long as what it signed.
func TestATwinThatEndsVouchesForNothing(t *testing.T) {
	t.Parallel()
	key := pkitest.KeyName("kube-apiserver-lb-signer from " + remediatetest.TestNow.Add(-24*time.Hour).Format(time.RFC3339Nano))
	for name, c := range map[string]struct {
		twin, leaf time.Duration // from now
		kept       bool
	}{
		"it ends before the leaf":              {time.Minute, 20 * time.Hour, true},
		"it lasts as long as the leaf":         {21 * time.Hour, 20 * time.Hour, false},
		"it lasts as long as what it replaces": {2000 * 24 * time.Hour, 3000 * 24 * time.Hour, false},
	} {
		f := newRotated()
		twin := pkitest.NewCA("kube-apiserver-lb-signer", remediatetest.TestNow.Add(-25*time.Hour), remediatetest.TestNow.Add(c.twin), key)
		f.forget(catalog.LoadBalancerCA())
		f.Object(catalog.LoadBalancerCA(), pkitest.Bundle(f.Old.CertPEM, twin.CertPEM, f.Young.CertPEM))
		f.Object(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-a", Name: "b", Key: "tls.crt"}, f.Old.Issue("still", remediatetest.TestNow.Add(-3*time.Hour), remediatetest.TestNow.Add(c.leaf), pkitest.DNS("still")).CertPEM)
		if cas, err := f.judge(); err != nil || (cas[0].Keep != "") != c.kept {
			t.Errorf("%s: %+v, %v", name, cas[0].Keep, err)
		}
	}
}

// TestTenantsAloneDoNotKeepALeakedCA: who has its key signs a certificate, and puts it into a namespace
// of their own; a certificate of the platform's from before may be copied there.
func TestTenantsAloneDoNotKeepALeakedCA(t *testing.T) {
	t.Parallel()
	f := newRotated()
	leaf := f.Old.Issue("tenant", remediatetest.TestNow.Add(-3*time.Hour), remediatetest.TestNow.AddDate(9, 0, 0), pkitest.DNS("tenant")).CertPEM
	f.Object(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "shop", Name: "notes", Key: "x"}, leaf)
	const held = "ConfigMap/shop/notes[x] holds CN=tenant (sha256 "
	cas, err := f.judge(AllRead, JustSigned)
	if err != nil || !strings.HasPrefix(cas[1].Keep, held) || !strings.HasSuffix(cas[1].Keep, "--accept-risk=tenants-hold") || len(cas[1].Tenants) > 0 {
		t.Errorf("%+v, %v", cas[1], err)
	}
	if cas, err = f.judge(TenantsHold); err != nil || cas[1].Keep != "" || len(cas[1].Tenants) != 1 || !strings.HasPrefix(cas[1].Tenants[0], held) {
		t.Errorf("accepted: %+v, %v", cas[1], err)
	}
	f.Object(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-a", Name: "b", Key: "tls.crt"}, leaf)
	if cas, err = f.judge(TenantsHold); err != nil || !strings.HasPrefix(cas[1].Keep, "Secret/openshift-a/b[tls.crt] holds CN=tenant") || len(cas[1].Tenants) > 0 {
		t.Errorf("the platform holds it, too: %+v, %v", cas[1], err)
	}
}

// TestOfWhatTenantsHoldAFewAreNamed: the removal breaks each of them.
func TestOfWhatTenantsHoldAFewAreNamed(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][]string{
		1: {"ConfigMap/shop-0/notes[x] holds CN=tenant-0"},
		3: {"ConfigMap/shop-0/notes[x] holds CN=tenant-0", "ConfigMap/shop-1/notes[x] holds CN=tenant-1", "ConfigMap/shop-2/notes[x] holds CN=tenant-2"},
		6: {"ConfigMap/shop-0/notes[x] holds CN=tenant-0", "ConfigMap/shop-1/notes[x] holds CN=tenant-1", "ConfigMap/shop-2/notes[x] holds CN=tenant-2", "and 3 more certificates of it in namespaces of tenants"},
		4: {"ConfigMap/shop-0/notes[x] holds CN=tenant-0", "ConfigMap/shop-1/notes[x] holds CN=tenant-1", "ConfigMap/shop-2/notes[x] holds CN=tenant-2", "and 1 more certificate of it in namespaces of tenants"},
	} {
		f := newRotated()
		for i := range n {
			leaf := f.Old.Issue(fmt.Sprintf("tenant-%d", i), remediatetest.TestNow.Add(-3*time.Hour), remediatetest.TestNow.AddDate(9, 0, 0), pkitest.DNS("tenant")).CertPEM
			f.Object(catalog.Ref{Kind: catalog.ConfigMap, Namespace: fmt.Sprintf("shop-%d", i), Name: "notes", Key: "x"}, leaf)
		}
		cas, err := f.judge(TenantsHold, AllRead, JustSigned)
		if err != nil || len(cas[1].Tenants) != len(want) || cas[1].Keep != "" {
			t.Fatalf("%d: %+v, %v", n, cas[1], err)
		}
		kept, err := f.judge(AllRead, JustSigned)
		for i, w := range want {
			if err != nil || !strings.HasPrefix(cas[1].Tenants[i], w) || !strings.Contains(kept[1].Keep, w) {
				t.Errorf("%d: %q, %q, %v, want %s", n, cas[1].Tenants[i], kept[1].Keep, err, w)
			}
		}
	}
}

// TestAPruneThatBreaksAnEdgeIsRefusedByTheProof: whatever is said of each CA, a client that verifies what a server
// presents by a CA that is removed refuses it.
func TestAPruneThatBreaksAnEdgeIsRefusedByTheProof(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by    func(f rotated) *pkitest.Authority // who signed what api-int presents
		edge  string                             // that breaks; empty: none does
		reads bool                               // all ConfigMaps were read
	}{
		"the previous CA":                      {func(f rotated) *pkitest.Authority { return f.Old }, "published-server-ca-api-int fails", true},
		"the current signer":                   {func(f rotated) *pkitest.Authority { return f.Young }, "", true},
		"the previous CA, and not all is read": {func(f rotated) *pkitest.Authority { return f.Old }, "", false}, // another part of the bundle may have the CA
	} {
		f := newRotated()
		f.Cluster.Versions.Cluster, f.Cluster.Internal = "4.15.1", "https://"+remediatetest.APIIntHost+":6443"
		if !c.reads {
			f.Reads = nil
		}
		f.forget(catalog.APIServerCA())
		f.Object(catalog.APIServerCA(), f.bundle())
		union := catalog.APIServerCA()
		union.Namespace = "openshift-kube-apiserver"
		f.Object(union, f.bundle())
		f.Serve(c.by(f).Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-3*time.Hour), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost)))
		f.Sort()
		r := NewReading(t.Context(), inspect.NewFacts(f.Snapshot, remediatetest.TestNow, time.Hour))
		removal, _ := pruneOf(f.row.Bundle, []OldCA{{Cert: pki.LoadedPEM(f.Sc, f.Old.CertPEM)[0]}})
		p, err := PlanOf(removal, r)
		var refused *Error
		var why *remediate.Refusal
		switch {
		case c.edge == "" && (err != nil || !p.Waves[0].Changes()):
			t.Errorf("%s: %v", name, err)
		case c.edge != "" && (!errors.As(err, &refused) || refused.Outcome != Refused || !errors.As(err, &why) || why.Name != remediate.PlanProven || why.Risk || why.Next == "" || !strings.Contains(why.Reason, "would break a trust edge: "+c.edge)):
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (f *rotated) forget(ref catalog.Ref) {
	f.Bundles = slices.DeleteFunc(f.Bundles, func(b inspect.Bundle) bool { return b.At.Name == ref.Name })
}

func TestPruneBundle(t *testing.T) {
	t.Parallel()
	f := newRotated()
	judged, err := f.judge()
	if err != nil {
		t.Fatal(err)
	}
	of := f.row.Bundle
	object := func(text []byte) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name, ResourceVersion: "7"}, Data: map[string]string{of.Key: string(text)}}
	}
	value := func(api *remediatetest.FakeAPI) string {
		m, err := api.CoreV1().ConfigMaps(of.Namespace).Get(t.Context(), of.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return m.Data[of.Key]
	}

	// Another CA came since it was judged.
	api := remediatetest.NewFakeAPI(object(append(f.bundle(), f.Localhost.CertPEM...)))
	if _, err := NewPruneBundle(t.Context(), api.Env.Kube, of, judged); !errors.Is(err, remediate.ErrChanged) {
		t.Errorf("a bundle that changed: %v", err)
	}

	api = remediatetest.NewFakeAPI(object(f.bundle()))
	a := PruneBundle{ConfigMapValue: action.ConfigMapValue{Object: of, Version: "7", Before: string(f.bundle()), After: string(f.Young.CertPEM)}, Removes: []*pki.Cert{judged[0].Cert, judged[1].Cert}}
	change, err := a.Diff(f.Snapshot, remediatetest.TestNow)
	if err != nil || !strings.Contains(change.Summary, "remove from ConfigMap/openshift-kube-apiserver-operator/loadbalancer-serving-ca[ca-bundle.crt]: CN=loadbalancer-serving-signer@1 (sha256 ") {
		t.Fatalf("%+v, %v", change, err)
	}
	if err := a.Apply(t.Context(), api.Env, change); err == nil || value(api) != string(f.bundle()) {
		t.Errorf("with no place to keep it: %v", err)
	}
	a.Keep = func([]byte) error { return errors.New("disk full") }
	if err := a.Apply(t.Context(), api.Env, change); err == nil || value(api) != string(f.bundle()) {
		t.Errorf("with a full disk: %v", err)
	}
	// Another client wrote it after it was displayed.
	api = remediatetest.NewFakeAPI(object(f.bundle()))
	remediatetest.HonorConditions(api, func(a clienttesting.Action) { t.Errorf("written: %v", a) })
	stale := a
	stale.Version, stale.Keep = "6", func([]byte) error { return nil }
	if err := stale.Apply(t.Context(), api.Env, change); !errors.Is(err, remediate.ErrChanged) {
		t.Errorf("another version: %v", err)
	}
	api = remediatetest.NewFakeAPI(object(f.bundle()))
	var kept []byte
	a.Keep = func(text []byte) error { kept = text; return nil }
	if err := a.Apply(t.Context(), api.Env, change); err != nil || value(api) != string(f.Young.CertPEM) {
		t.Fatalf("%v, %s", err, value(api))
	}
	var manifest struct{ Data map[string]string }
	if err := yaml.Unmarshal(kept, &manifest); err != nil || len(pki.LoadedPEM(pki.NewScanner(), []byte(manifest.Data[of.Key]))) != 3 {
		t.Errorf("%v: kept:\n%s", err, kept)
	}
	if err := a.Verify(t.Context(), api.Env, change); err != nil {
		t.Error(err)
	}
	if err := remediatetest.PutBack(t.Context(), api.Env.Kube, of.Namespace, of.Name, kept); err != nil || value(api) != string(f.bundle()) {
		t.Errorf("put back: %v", err)
	}
	var bad *remediate.BadEffectError
	if err := a.Verify(t.Context(), api.Env, change); !errors.As(err, &bad) {
		t.Errorf("put back by somebody: %v", err)
	}
}
