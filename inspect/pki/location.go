package pki

// Kind is the kind of place: an API kind, or File.
type Kind string

// KindFile is a file: on a node (Location.Node), or a local one.
const KindFile Kind = "File"

// Location is the identity of a place that holds certificates. It is
// comparable, and String and ParseLocation are inverse to each other.
//
//	Secret/openshift-kube-apiserver/internal-loadbalancer-serving-certkey[tls.crt]
//	ConfigMap/kube-public/cluster-info[kubeconfig]#clusters[0].cluster.certificate-authority-data
//	APIService/v1beta1.metrics.k8s.io#spec.caBundle
//	node/worker-3:/var/lib/kubelet/kubeconfig#clusters[0].cluster.certificate-authority-data
//	file:./ca.pem
//
// A location is valid if it is that of a file (Kind KindFile, Path, and Node or
// none) or that of an object (any other Kind, and no Node and Path), with a
// Field or none. Where a name holds what is syntax here, it is written as %XX.
// A Key, or a key in a Field, that does not read like a name may be a token: it is
// its index among the keys (PlainKey, KeyIndex).
type Location struct {
	Kind      Kind
	Node      string // of a file on a node
	Namespace string // empty for cluster-scoped kinds
	Name      string // of the object; empty for files
	Key       string // of a Secret or ConfigMap
	Path      string // of a file
	Field     string // inside the object or document
}
