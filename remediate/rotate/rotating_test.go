package rotate

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// rotating is a cluster with one signer, its bundles and what it signs.
type rotating struct {
	sc       *pki.Scanner
	s        inspect.Snapshot
	m        *inspect.ControlPlaneStatus
	signer   string
	old, new *pkitest.Authority
	at       time.Time
}

// rotation is the row of the signer.
func (r *rotating) rotation() catalog.Rotation {
	all := catalog.Rotations()
	return all[slices.IndexFunc(all, func(x catalog.Rotation) bool { return x.Signer.Name == r.signer })]
}

// put adds what a place holds, in place of what it held.
func (r *rotating) put(ref catalog.Ref, secretType string, pem ...[]byte) {
	at := pki.Location{Kind: pki.Kind(ref.Kind), Namespace: strings.ReplaceAll(ref.Namespace, "*", "team"), Name: ref.Name, Key: ref.Key}
	if ref.Kind == catalog.ControllerConfig {
		at.Key, at.Field = "", ref.Key
	}
	r.take(ref)
	for _, f := range r.sc.Scan(pkitest.Bundle(pem...)) {
		o := &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name, Type: secretType, Annotations: map[string]string{
			catalog.AnnotationNotBefore: f.Content.Certs[0].NotBefore.Format(time.RFC3339),
			catalog.AnnotationNotAfter:  f.Content.Certs[0].NotAfter.Format(time.RFC3339),
		}}
		r.s.Bundles = append(r.s.Bundles, inspect.Bundle{At: at, Object: o, Content: f.Content})
	}
}

func (r *rotating) take(ref catalog.Ref) {
	r.s.Bundles = slices.DeleteFunc(r.s.Bundles, func(b inspect.Bundle) bool { return b.At.Name == ref.Name && string(b.At.Kind) == ref.Kind })
}

func (r *rotating) annotate(name, key, value string) {
	for i := range r.s.Bundles {
		if o := r.s.Bundles[i].Object; o.Name == name && value == "" {
			delete(o.Annotations, key)
		} else if o.Name == name {
			o.Annotations[key] = value
		}
	}
}

// carried are the bundles into which the signer's own goes.
func (r *rotating) carried() []catalog.Ref {
	var out []catalog.Ref
	for _, a := range catalog.DownstreamAggregates(r.rotation().Bundle, r.s.Cluster.Versions) {
		if a.Selector == (catalog.ObjectSelector{}) && a.Target.Kind != catalog.Secret {
			out = append(out, a.Target)
		}
	}
	return out
}

// newRotating is well, and at rest: everything is signed by the old signer, and
// trusts it alone.
func newRotating(signer, version string) *rotating {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := &rotating{sc: pki.NewScanner(), signer: signer, at: at}
	r.old = pkitest.NewCA(signer, at.AddDate(0, -2, 0), at.AddDate(5, 0, 0))
	r.new = pkitest.NewCA("openshift-kube-apiserver-operator_"+signer+"@1", at.Add(-time.Hour), at.AddDate(5, 0, 0), pkitest.KeyName("new"))
	r.s.Cluster = inspect.Cluster{Server: "https://api", Topology: "HighlyAvailable", Versions: catalog.Versions{Cluster: version}}
	for _, what := range []string{"secrets", "configmaps", "controllerconfigs"} {
		r.s.Reads = append(r.s.Reads, inspect.Read{What: what})
	}
	row := r.rotation()
	r.put(row.Signer, "kubernetes.io/tls", r.old.CertPEM)
	for _, at := range append([]catalog.Ref{row.Bundle}, r.carried()...) {
		r.put(at, "", r.old.CertPEM)
	}
	for _, target := range row.Targets {
		r.put(target, "kubernetes.io/tls", r.old.Issue("leaf "+target.Name, at.AddDate(0, 0, -5), at.AddDate(0, 0, 25)).CertPEM)
	}
	r.m = &inspect.ControlPlaneStatus{
		Update:     inspect.Update{Progressing: "False"},
		Operators:  []inspect.OperatorState{{Name: "kube-apiserver", Available: "True", Progressing: "False", Degraded: "False"}},
		StaticPods: []inspect.StaticPods{{Resource: "kubeapiservers", Latest: 7, Masters: []inspect.StaticPodState{{Node: "master-0", Current: 7}}}},
		Pools:      []inspect.Pool{{Name: "worker", Current: "rendered-1", Desired: "rendered-1", Machines: 1, Updated: 1, Updating: "False", Degraded: "False"}},
		Nodes: []inspect.NodeState{
			{Name: "master-0", Ready: "True", Master: true, Heartbeat: at, Lease: inspect.Lease{Asked: at}},
			{Name: "worker-0", Ready: "True", Heartbeat: at, Lease: inspect.Lease{Asked: at}},
		},
	}
	return r
}

func (r *rotating) preflight(t *testing.T, name string) Preflight {
	t.Helper()
	r.s.Sort()
	f := inspect.NewFacts(r.s, r.at, 0)
	of, err := FindRotatable(rotatables(f), name)
	if err != nil {
		t.Fatal(err)
	}
	return Preflight{Chain: Chain{Facts: f, Claims: trust.Judge(context.Background(), f), Of: of, ControlPlane: r.m}, Now: r.at}
}

const (
	toKubelet    = "kube-apiserver-to-kubelet-signer"
	loadBalancer = "loadbalancer-serving-signer"
	aggregator   = "aggregator-client-signer"
)

// kubeconfig puts this CA into the caller's own, in place of the one that it had.
func (r *rotating) kubeconfig(ca []byte) {
	r.take(catalog.Ref{Kind: string(pki.KindFile)})
	at := pki.Location{Kind: pki.KindFile, Path: "/home/admin/kubeconfig", Field: `clusters["c"].cluster.certificate-authority-data`}
	r.s.Bundles = append(r.s.Bundles, inspect.Bundle{At: at, Content: r.sc.Scan(ca)[0].Content})
}

// answerOf says a status as the lists of what stops do.
func answerOf(v preflight.Verdict) string {
	return map[assess.Status]string{assess.Pass: "yes", assess.Fail: "no", assess.Unknown: "unknown"}[v.Status]
}
