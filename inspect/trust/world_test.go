package trust_test

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

var noon = time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

func from(days float64) time.Time { return noon.Add(time.Duration(days * float64(day))) }

// world is a snapshot in the making: one node, and objects.
type world struct {
	sc *pki.Scanner
	s  inspect.Snapshot
}

func newWorld(v catalog.Versions) *world {
	w := &world{sc: pki.NewScanner()}
	w.s.Cluster = inspect.Cluster{Versions: v, Internal: "https://api-int.example.com:6443"}
	w.s.Nodes = []inspect.Node{{Name: "n1", Via: "ssh"}}
	if v.NotOpenShift {
		w.s.Cluster.Kubeadm = catalog.Yes
	}
	return w
}

// put adds what a place holds. In a family's name the star becomes "n1".
func (w *world) put(r catalog.Ref, pem ...[]byte) {
	at := pki.Location{Kind: pki.Kind(r.Kind), Namespace: strings.ReplaceAll(r.Namespace, "*", "team"), Name: strings.ReplaceAll(r.Name, "*", "n1"), Key: r.Key}
	var object *inspect.Object
	if r.Kind == catalog.File {
		at = pki.Location{Kind: pki.KindFile, Node: "n1", Path: r.Name, Field: r.Key}
		w.s.Nodes[0].Files = append(w.s.Nodes[0].Files, inspect.NodeFile{Path: r.Name})
	} else {
		object = &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}
	}
	for _, f := range w.sc.Scan(pkitest.Bundle(pem...)) {
		w.s.Bundles = append(w.s.Bundles, inspect.Bundle{At: at, Object: object, Content: f.Content})
	}
}

// kubeconfig adds one on the node, with this CA and server.
func (w *world) kubeconfig(path, server string, ca ...[]byte) {
	const field = "clusters[0].cluster.certificate-authority-data"
	at := pki.Location{Kind: pki.KindFile, Node: "n1", Path: path, Field: field}
	for _, f := range w.sc.Scan(pkitest.Bundle(ca...)) {
		w.s.Bundles = append(w.s.Bundles, inspect.Bundle{At: at, Content: f.Content})
	}
	w.s.Nodes[0].Files = append(w.s.Nodes[0].Files, inspect.NodeFile{Path: path})
	w.s.Nodes[0].Kubeconfigs = append(w.s.Nodes[0].Kubeconfigs, inspect.Kubeconfig{
		Path: path, Current: "local", Clusters: []inspect.KubeconfigCluster{{Name: "local", Server: server, CAData: true, Field: field}},
	})
}

// show makes what is presented on an edge be this.
func (w *world) show(e catalog.Edge, pem []byte) {
	r := e.Presented
	if r.Name == "" {
		r.Namespace, r.Name = "team", "served"
	}
	w.put(r, pem)
	if e.Selector.Annotation != "" {
		w.s.Bundles[len(w.s.Bundles)-1].Object.Annotations = map[string]string{e.Selector.Annotation: "svc"}
	}
}

// trust makes an edge's trust anchors hold these.
func (w *world) trust(e catalog.Edge, ca ...[]byte) {
	if e.ServerName == catalog.NameInKubeconfig {
		w.kubeconfig(e.Trust.Name, "https://api-int.example.com:6443", ca...)
		return
	}
	w.put(e.Trust, ca...)
}

// stage makes an edge's fixture: what is presented, and these trust anchors; and whatever
// it takes for its verifier to be there.
func (w *world) stage(e catalog.Edge, ca *pkitest.Authority, trusted ...[]byte) {
	if len(e.Platforms) > 0 {
		w.s.Cluster.Platform, w.s.Cluster.OwnAddresses = e.Platforms[0], catalog.Yes
	}
	if e.OnlyIfExists != (catalog.Ref{}) {
		w.put(e.OnlyIfExists, ca.CertPEM)
	}
	if e.OnlyWithout != (catalog.Ref{}) {
		w.whole("secrets")
	}
	if e.OnNodesWith != "" {
		w.s.Nodes[0].Files = append(w.s.Nodes[0].Files, inspect.NodeFile{Path: e.OnNodesWith})
	}
	switch e.Verify {
	case catalog.VerifyAggregate:
		w.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "openshift-config-managed", Name: "kube-apiserver-server-ca", Key: "ca-bundle.crt"}, ca.CertPEM)
		w.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "openshift-kube-scheduler", Name: "serviceaccount-ca", Key: "ca-bundle.crt"}, trusted...)
		w.whole("configmaps")
	case catalog.VerifyNodeCopies:
		w.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "openshift-config-managed", Name: "kube-apiserver-client-ca", Key: "ca-bundle.crt"}, ca.CertPEM)
		w.put(catalog.Ref{Kind: catalog.File, Name: "/etc/kubernetes/kubelet-ca.crt"}, trusted...)
	case catalog.VerifyServiceCertificate:
		w.put(catalog.Ref{Kind: catalog.Secret, Namespace: "team", Name: "served", Key: "tls.crt"}, ca.Issue("served", from(-1), from(29), pkitest.DNS("svc.team.svc")).CertPEM)
		w.s.Bundles[len(w.s.Bundles)-1].Object.Annotations = map[string]string{catalog.AnnotationServiceName: "svc"}
		w.call(e, trusted...)
		w.signer(catalog.Edge{Selector: catalog.ServiceCASecret()}, ca)
	case catalog.VerifyDelivered:
		source, target := e.Presented, e.Trust
		if source.Kind != catalog.ConfigMap && source.Kind != catalog.File { // a field that names one
			source = catalog.Ref{Kind: catalog.ConfigMap, Namespace: "openshift-config", Name: "named", Key: "registry.example.com..5000"}
			w.s.References = []inspect.Reference{{From: pki.Location{Kind: pki.Kind(e.Presented.Kind), Name: "cluster", Field: e.Presented.Key}, To: pki.Location{Kind: catalog.ConfigMap, Namespace: source.Namespace, Name: source.Name}}}
		}
		target.Name = strings.Replace(target.Name, "*", "registry.example.com:5000", 1)
		w.put(source, ca.CertPEM)
		w.put(target, trusted...)
	default:
		w.show(e, leafFor(e, ca, -1, 59).CertPEM)
		w.trust(e, trusted...)
		w.signer(e, ca)
	}
}

// signs reports whether a rotation is about what is presented on an edge.
func signs(r catalog.Rotation, e catalog.Edge) bool {
	if r.Selector != (catalog.ObjectSelector{}) {
		return e.Selector == r.Selector
	}
	return slices.ContainsFunc(r.Targets, func(t catalog.Ref) bool {
		same, err := path.Match(t.Name, e.Presented.Name)
		return t == e.Presented || t.Kind == catalog.File && err == nil && same
	})
}

// signer makes this authority the one that signs what is presented on an edge next, where the
// catalog knows of one.
func (w *world) signer(e catalog.Edge, ca *pkitest.Authority) {
	for _, r := range catalog.Rotations() {
		if r.In.Holds(w.s.Cluster.Versions) == catalog.Yes && signs(r, e) {
			if r.Signer != e.Trust {
				w.put(r.Signer, ca.CertPEM)
			}
			if r.Signer.Kind == catalog.File {
				w.key(r.Signer)
			}
			return
		}
	}
}

// call adds an object that names the Service team/svc and these CAs, put there by
// service-ca.
func (w *world) call(e catalog.Edge, ca ...[]byte) {
	at := pki.Location{Kind: pki.Kind(e.Trust.Kind), Name: "caller", Field: "spec.caBundle"}
	object := &inspect.Object{Kind: at.Kind, Name: at.Name, Annotations: map[string]string{catalog.AnnotationInjectCABundle: "true"}}
	for _, f := range w.sc.Scan(pkitest.Bundle(ca...)) {
		w.s.Bundles = append(w.s.Bundles, inspect.Bundle{At: at, Object: object, Content: f.Content})
	}
	w.s.References = append(w.s.References, inspect.Reference{From: at, To: pki.Location{Kind: "Service", Namespace: "team", Name: "svc"}})
}

func (w *world) judge(id string) []trust.Claim {
	w.s.Sort()
	slices.SortFunc(w.s.Nodes[0].Files, func(a, b inspect.NodeFile) int { return strings.Compare(a.Path, b.Path) })
	var out []trust.Claim
	for _, c := range trust.Judge(context.Background(), inspect.NewFacts(w.s, noon, 30*day)) {
		if c.Edge.ID == id {
			out = append(out, c)
		}
	}
	return out
}

// versions in which an edge holds.
func versions(e catalog.Edge) catalog.Versions {
	if e.In.Component == catalog.Kubernetes {
		return catalog.Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}
	}
	for _, m := range []catalog.Minor{e.In.From, e.In.To, {Major: 4, Minor: 15}} {
		if m != (catalog.Minor{}) {
			return catalog.Versions{Cluster: m.String() + ".3"}
		}
	}
	return catalog.Versions{}
}

// leafFor makes what is presented on an edge.
func leafFor(e catalog.Edge, ca *pkitest.Authority, begin, end float64) pkitest.Pair {
	name := string(e.ServerName)
	if strings.HasPrefix(name, "(") || name == "" {
		name = "api-int.example.com"
	}
	return ca.Issue("leaf of "+e.ID, from(begin), from(end), pkitest.DNS(name))
}

// key puts a signer's key beside it on the node.
func (w *world) key(signer catalog.Ref) {
	w.s.Nodes[0].Files = append(w.s.Nodes[0].Files, inspect.NodeFile{Path: strings.TrimSuffix(signer.Name, ".crt") + ".key", Secret: true})
}

// whole says that all objects of these kinds were read.
func (w *world) whole(kinds ...string) {
	for _, k := range kinds {
		w.s.Reads = append(w.s.Reads, inspect.Read{What: k})
	}
}
