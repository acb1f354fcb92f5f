package catalog

// Edge is a row: somebody verifies what somebody else shows. It holds when what
// is shown verifies against the verifier's trust anchors.
type Edge struct {
	ID       string // lower-kebab, unique, never changes
	Part     Part
	Verifier string // who verifies, for people, such as "kubelet"
	Claim    string // what is true when it holds, for people
	// Trust is where the verifier's trust anchors are. A pattern, or a file on
	// nodes, is one edge for each place that fits.
	Trust Ref
	// Shown is where what is shown comes from, as far as an object says it: the
	// leaf, and its chain.
	Shown Ref
	// Name is the server name that what is shown must be for.
	Name Name
	// Reads says when the verifier reads its trust anchors.
	Reads Reads
	// Lost is what fails when it does not hold, for people.
	Lost string
	// Mend is the command or the step that mends it; "{}" stands for the program,
	// NODE for a node.
	Mend string
	In   Range
	Evidence
}

// Part of a cluster: how edges are grouped for people.
type Part string

// The parts, in the order in which people need them.
const (
	PartAPIInt       Part = "api-int"
	PartControlPlane Part = "control plane"
	PartNodes        Part = "nodes"
	PartServices     Part = "services"
	PartAccess       Part = "access"
)

// Parts returns all parts, in their order.
func Parts() []Part {
	return []Part{PartAPIInt, PartControlPlane, PartNodes, PartServices, PartAccess}
}

// Name says which server name a certificate must be valid for: one of the
// constants, or the name itself.
type Name string

// The names that depend on the cluster.
const (
	// NameClient: a client certificate; it is for no server.
	NameClient Name = ""
	// NameInKubeconfig: the server, or tls-server-name, of the kubeconfig in which
	// the trust anchors are.
	NameInKubeconfig Name = "(the kubeconfig's server)"
	// NameInternal: the host of Infrastructure's status.apiServerInternalURI, which
	// is api-int where a cluster has a load balancer.
	NameInternal Name = "(api-int)"
	// NameAny: a server certificate, whatever its name: who connects does not know
	// better, or the name is not known here.
	NameAny Name = "(any)"
)

// Reads says when a verifier reads its trust anchors, and so when a change of them
// counts.
type Reads string

// When trust anchors are read.
const (
	ReadsAtStart    Reads = "at its start"
	ReadsOnChange   Reads = "when the file changes"
	ReadsEachTime   Reads = "each time"
	ReadsByRollout  Reads = "by a rollout of its static pods"
	ReadsAtNewNodes Reads = "when a node is added"
)

// Edges returns every row about who verifies whom.
func Edges() []Edge {
	var out []Edge
	for _, rows := range [][]Edge{apiIntEdges(), controlPlaneEdges(), nodeEdges(), kubeadmEdges()} {
		out = append(out, rows...)
	}
	return out
}

func apiIntEdges() []Edge {
	kubelet := Evidence{Verified, "kubernetes/kubernetes cmd/kubelet/app/server.go buildKubeletClientConfig and pkg/kubelet/certificate/bootstrap/bootstrap.go v1.35.4; " +
		mcoRepo + "templates/{master,worker}/01-*-kubelet/_base/units/kubelet.service.yaml @ release-4.12 to 4.22"}
	published := Evidence{Verified, kcmRepo + "bindata/assets/config/defaultconfig.yaml @ 4e72164b8; kubernetes/kubernetes pkg/controller/certificates/rootcacertpublisher/publisher.go"}
	return []Edge{
		{
			ID: "kubelet-api-int", Part: PartAPIInt, Verifier: "kubelet", Claim: "kubelets trust what api-int shows them",
			Trust: file("/var/lib/kubelet/kubeconfig"), Shown: InternalLoadBalancerServing(), Name: NameInKubeconfig, Reads: ReadsAtStart,
			Mend: "{} fix-api-int --nodes NODE",
			Lost: "the node: it is NotReady at its next reconnect or restart, and nothing new starts on it",
			In:   Range{Component: mco}, Evidence: kubelet,
		},
		{
			ID: "kubelet-bootstrap-api-int", Part: PartAPIInt, Verifier: "kubelet, when it has no valid client certificate", Claim: "kubelets that must join anew trust what api-int shows them",
			Trust: file("/etc/kubernetes/kubeconfig"), Shown: InternalLoadBalancerServing(), Name: NameInKubeconfig, Reads: ReadsAtStart,
			Mend: "{} fix-api-int --nodes NODE",
			Lost: "the node, once its client certificate is lost or has expired; the kubelet's own kubeconfig is made from this file",
			In:   Range{Component: mco}, Evidence: kubelet,
		},
		{
			ID: "controller-manager-api-int", Part: PartAPIInt, Verifier: "kube-controller-manager", Claim: "kube-controller-manager trusts what api-int shows it",
			Trust: bundle(kcmTarget, "serviceaccount-ca"), Shown: InternalLoadBalancerServing(), Name: NameInternal, Reads: ReadsByRollout,
			Lost: "controllers: no certificate request is approved or signed, and kube-root-ca.crt stays as it is",
			In:   Range{Component: kcm}, Evidence: published,
		},
		{
			ID: "scheduler-api-int", Part: PartAPIInt, Verifier: "kube-scheduler", Claim: "kube-scheduler trusts what api-int shows it",
			Trust: bundle(schedulerTarget, "serviceaccount-ca"), Shown: InternalLoadBalancerServing(), Name: NameInternal, Reads: ReadsByRollout,
			Lost: "new pods are not placed",
			In:   Range{Component: scheduler}, Evidence: Evidence{Verified, schedulerRepo + "bindata/assets and pkg/operator/targetconfigcontroller"},
		},
		{
			ID: "published-server-ca-api-int", Part: PartAPIInt, Verifier: "whoever is given the cluster's CA", Claim: "the CA that the cluster publishes verifies what api-int shows",
			Trust: APIServerCA(), Shown: InternalLoadBalancerServing(), Name: NameInternal, Reads: ReadsEachTime,
			Lost: "the server side itself is not consistent: mend kube-apiserver-operator before anything else",
			In:   Range{Component: kas}, Evidence: kasRotation(),
		},
		{
			ID: "pods-kubernetes-service", Part: PartAPIInt, Verifier: "pods", Claim: "pods trust what kubernetes.default shows them",
			Trust: rootCA(), Shown: secret(kasTarget, "service-network-serving-certkey"), Name: "kubernetes.default.svc", Reads: ReadsOnChange,
			Lost: "pods that call the API server, most operators among them",
			In:   Range{Component: kcm}, Evidence: published,
		},
		{
			ID: "pods-api-int", Part: PartAPIInt, Verifier: "pods of the host network (multus, ovnkube-node, whereabouts, machine-config-daemon)", Claim: "pods that call api-int trust what it shows them",
			Trust: rootCA(), Shown: InternalLoadBalancerServing(), Name: NameInternal, Reads: ReadsAtStart,
			Lost: "network and machine configuration of the nodes, for those that read their CA from kube-root-ca.crt",
			In:   Range{Component: kcm}, Evidence: published,
		},
	}
}

func controlPlaneEdges() []Edge {
	flags := Evidence{Verified, "openshift/cluster-kube-apiserver-operator bindata/assets/config/defaultconfig.yaml @ c813e820b"}
	return []Edge{
		{
			ID: "kubelet-client-ca", Part: PartControlPlane, Verifier: "kubelet, of its clients", Claim: "kubelets recognise kube-apiserver",
			Trust: file("/etc/kubernetes/kubelet-ca.crt"), Shown: secret(kasTarget, "kubelet-client"), Name: NameClient, Reads: ReadsOnChange,
			Lost: "logs, exec, port-forward and metrics of the node",
			In:   Range{Component: mco}, Evidence: Evidence{Verified, mcoRepo + "templates/{master,worker}/01-*-kubelet/_base/files/kubelet.yaml (clientCAFile)"},
		},
		{
			ID: "apiserver-kubelet-serving", Part: PartControlPlane, Verifier: "kube-apiserver", Claim: "kube-apiserver trusts what kubelets serve",
			Trust: bundle(kasTarget, "kubelet-serving-ca"), Shown: file("/var/lib/kubelet/pki/kubelet-server-current.pem"), Name: NameAny, Reads: ReadsOnChange,
			Lost: "logs, exec and port-forward of the node",
			In:   Range{Component: kas}, Evidence: flags,
		},
		{
			ID: "apiserver-etcd", Part: PartControlPlane, Verifier: "kube-apiserver", Claim: "kube-apiserver trusts what etcd serves",
			Trust: bundle(kasTarget, "etcd-serving-ca"), Shown: secret("openshift-etcd", "etcd-serving-*"), Name: NameAny, Reads: ReadsByRollout,
			Lost: "the API server",
			In:   Range{Component: kas}, Evidence: flags,
		},
		{
			ID: "etcd-apiserver", Part: PartControlPlane, Verifier: "etcd", Claim: "etcd recognises kube-apiserver",
			Trust: bundle("openshift-etcd", "etcd-ca-bundle"), Shown: secret(kasTarget, "etcd-client"), Name: NameClient, Reads: ReadsByRollout,
			Lost: "the API server",
			In:   Range{Component: etcd}, Evidence: Evidence{Verified, "openshift/cluster-etcd-operator bindata/etcd/pod.gotpl.yaml @ b4786ae33"},
		},
		{
			ID: "aggregated-front-proxy", Part: PartControlPlane, Verifier: "aggregated API servers", Claim: "aggregated API servers recognise kube-apiserver",
			Trust: bundle(managed, "kube-apiserver-aggregator-client-ca"), Shown: secret(kasTarget, "aggregator-client"), Name: NameClient, Reads: ReadsOnChange,
			Lost: "OpenShift's own APIs: routes, projects, images, log in",
			In:   Range{Component: kas}, Evidence: flags,
		},
		{
			ID: "apiserver-controller-manager", Part: PartControlPlane, Verifier: "kube-apiserver", Claim: "kube-apiserver recognises kube-controller-manager",
			Trust: bundle(kasTarget, "client-ca"), Shown: secret(managed, "kube-controller-manager-client-cert-key"), Name: NameClient, Reads: ReadsOnChange,
			Lost: "controllers", In: Range{Component: kas}, Evidence: flags,
		},
		{
			ID: "apiserver-scheduler", Part: PartControlPlane, Verifier: "kube-apiserver", Claim: "kube-apiserver recognises kube-scheduler",
			Trust: bundle(kasTarget, "client-ca"), Shown: secret(managed, "kube-scheduler-client-cert-key"), Name: NameClient, Reads: ReadsOnChange,
			Lost: "new pods are not placed", In: Range{Component: kas}, Evidence: flags,
		},
	}
}

func nodeEdges() []Edge {
	flags := Evidence{Verified, "openshift/cluster-kube-apiserver-operator bindata/assets/config/defaultconfig.yaml @ c813e820b"}
	return []Edge{
		{
			ID: "apiserver-kubelet-client", Part: PartNodes, Verifier: "kube-apiserver", Claim: "kube-apiserver recognises kubelets",
			Trust: bundle(kasTarget, "client-ca"), Shown: file("/var/lib/kubelet/pki/kubelet-client-current.pem"), Name: NameClient, Reads: ReadsOnChange,
			Lost: "the node: its kubelet may do nothing",
			In:   Range{Component: kas}, Evidence: flags,
		},
	}
}

func kubeadmEdges() []Edge {
	src := Evidence{Field, "kubernetes.io/docs/setup/best-practices/certificates"}
	plain := Range{Component: Kubernetes}
	return []Edge{
		{
			ID: "kubeadm-kubelet-api", Part: PartNodes, Verifier: "kubelet", Claim: "kubelets trust what the API server shows them",
			Trust: file("/etc/kubernetes/kubelet.conf"), Shown: file("/etc/kubernetes/pki/apiserver.crt"), Name: NameInKubeconfig, Reads: ReadsAtStart,
			Lost: "the node", In: plain, Evidence: src,
		},
		{
			ID: "kubeadm-pods-kubernetes-service", Part: PartServices, Verifier: "pods", Claim: "pods trust what kubernetes.default shows them",
			Trust: rootCA(), Shown: file("/etc/kubernetes/pki/apiserver.crt"), Name: "kubernetes.default.svc", Reads: ReadsOnChange,
			Lost: "pods that call the API server", In: plain, Evidence: src,
		},
	}
}
