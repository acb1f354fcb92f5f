package catalog

import "github.com/kubectl-certrot/kubectl-certrot/inspect/pki"

// Edge is a row: a client verifies what a server presents, or a server what a client
// presents. It holds when that verifies against the verifier's trust anchors.
type Edge struct {
	ID       string // lower-kebab, unique, never changes
	Part     Part
	Verifier string // who verifies, for people, such as "kubelet"
	Claim    string // what is true when it holds, for people
	// Trust is where the verifier's trust anchors are. A pattern, or a file on
	// nodes, is one edge for each place that fits.
	Trust Ref
	// Optional: where there are no trust anchors, there is no such verifier; of a
	// Server: nodes that have no such file have none. Without
	// it, no certificate verifies with trust anchors that are not there, which is worse than wrong ones.
	Optional bool
	// Presented is where what is presented comes from, as far as an object says it: the
	// leaf, and its chain. The Key of a file is the end of a field's name in it. With Selector, any object of the Kind that carries it.
	Presented Ref
	Selector  ObjectSelector
	// CustomPresented is an administrator's, which is presented in place of Presented where it is there.
	CustomPresented Ref
	// OnlyIfExists is an object that is there wherever this verifier is; zero: it is
	// everywhere.
	OnlyIfExists Ref
	// Platforms, where there are any, are those (Infrastructure's
	// status.platformStatus.type) on which there is this verifier, and only in
	// clusters that keep the addresses of their API themselves.
	Platforms []string
	// Verify is how it is judged.
	Verify VerifyMode
	// ServerName is the server name that what is presented must be for.
	ServerName ServerName
	// Reload says when the verifier reads its trust anchors, and Reader how: which of the
	// certificates that stand there it loads.
	Reload ReloadPolicy
	Reader pki.Reader
	// MayBeOutdated: these verifiers may keep in memory what they have read at their start, and none
	// of them is asked since when it runs.
	MayBeOutdated bool
	// Impact is what fails when it does not hold, for people.
	Impact string
	// Remediation is the command or the step that repairs it; "{}" stands for the program,
	// NODE for a node.
	Remediation string
	Ahead       string // the same as long as it still passes; empty: Remediation
	In          Range
	Evidence
}

// VerifyMode says how an edge is judged.
type VerifyMode string

// How edges are judged.
const (
	VerifyChain      VerifyMode = ""                   // what is presented is verified with the trust anchors
	VerifyAggregate  VerifyMode = "what it is made of" // each target of Aggregates holds all of its parts
	VerifyNodeCopies VerifyMode = "its object"         // each file of NodeCopies that is a bundle holds all of its object
	// VerifyServiceCertificate: of what names a Service and, beside it, a CA bundle, of the Trust's
	// Kind: that verifies what the Service has to present.
	VerifyServiceCertificate VerifyMode = "the Service's certificate"
	// VerifyDelivered: the Trust holds all that is in Presented: a place, or a field of the
	// configuration that names a ConfigMap.
	VerifyDelivered VerifyMode = "what has to arrive there"
)

// Part of a cluster: how edges are grouped for people.
type Part string

// The parts, in the order in which people need them.
const (
	PartAPIInt       Part = "api-int"
	PartControlPlane Part = "control plane"
	PartNodes        Part = "nodes"
	PartServices     Part = "services"
	PartAccess       Part = "access"
	PartBundles      Part = "bundles"
)

// Parts returns all parts, in their order.
func Parts() []Part {
	return []Part{PartAPIInt, PartControlPlane, PartNodes, PartServices, PartAccess, PartBundles}
}

// ServerName says which server name a certificate must be valid for: one of the
// constants, or the name itself.
type ServerName string

// The names that depend on the cluster.
const (
	// NameClient: a client certificate; it is for no server.
	NameClient ServerName = ""
	// NameInKubeconfig: the server, or tls-server-name, of the kubeconfig in which
	// the trust anchors are.
	NameInKubeconfig ServerName = "(the kubeconfig's server)"
	// NameInternal: the host of Infrastructure's status.apiServerInternalURI, which
	// is api-int where a cluster has a load balancer.
	NameInternal ServerName = "(api-int)"
	// NameAny: a server certificate, whatever its name: who connects does not know
	// better, or the name is not known here.
	NameAny ServerName = "(any)"
)

// ReloadPolicy says when a verifier reads its trust anchors, and so when a change of them
// counts.
type ReloadPolicy string

// When trust anchors are read.
const (
	ReloadAtStart    ReloadPolicy = "at its start"
	ReloadOnChange   ReloadPolicy = "when the file changes"
	ReloadEachTime   ReloadPolicy = "each time"
	ReloadByRollout  ReloadPolicy = "by a rollout of its static pods"
	ReloadByNewNodes ReloadPolicy = "when a node is added"
)

// Edges returns every row about who verifies whom.
func Edges() []Edge {
	var out []Edge
	for _, rows := range [][]Edge{
		apiIntEdges(), networkEdges(), onPremEdges(), controlPlaneEdges(), localhostEdges(), serviceCallEdges(), nodeEdges(), serviceEdges(), registryEdges(), outsideEdges(), accessEdges(), bundleEdges(), kubeadmEdges(),
	} {
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
			ID: "kubelet-api-int", Part: PartAPIInt, Verifier: "kubelet", Claim: "kubelets trust api-int's serving certificate",
			Trust: file("/var/lib/kubelet/kubeconfig"), Presented: InternalLoadBalancerServing(), ServerName: NameInKubeconfig, Reload: ReloadAtStart, Reader: pki.ReaderGo,
			Remediation: "{} fix-api-int --nodes NODE",
			Ahead:       "{} pretrust --nodes NODE",
			Impact:      "the node: it is NotReady at its next reconnect or restart, and nothing new starts on it",
			In:          Range{Component: mco}, Evidence: kubelet,
		},
		{
			ID: "kubelet-bootstrap-api-int", Part: PartAPIInt, Verifier: "kubelet, when it has no valid client certificate", Claim: "kubelets that must join again trust api-int's serving certificate",
			Trust: file("/etc/kubernetes/kubeconfig"), Presented: InternalLoadBalancerServing(), ServerName: NameInKubeconfig, Reload: ReloadAtStart, Reader: pki.ReaderGo,
			Remediation: "{} fix-api-int --nodes NODE",
			Ahead:       "{} pretrust --nodes NODE",
			Impact:      "the node, once its client certificate is missing or has expired; the kubelet's own kubeconfig is made from this file",
			In:          Range{Component: mco}, Evidence: kubelet,
		},
		{
			ID: "controller-manager-api-int", Part: PartAPIInt, Verifier: "kube-controller-manager", Claim: "kube-controller-manager trusts api-int's serving certificate",
			Trust: bundle(kcmTarget, "serviceaccount-ca"), Presented: InternalLoadBalancerServing(), ServerName: NameInternal, Reload: ReloadByRollout, Reader: pki.ReaderGo,
			Impact: "controllers: no certificate request is approved or signed, and kube-root-ca.crt stays as it is",
			In:     Range{Component: kcm}, Evidence: published,
		},
		{
			ID: "scheduler-api-int", Part: PartAPIInt, Verifier: "kube-scheduler", Claim: "kube-scheduler trusts api-int's serving certificate",
			Trust: bundle(schedulerTarget, "serviceaccount-ca"), Presented: InternalLoadBalancerServing(), ServerName: NameInternal, Reload: ReloadByRollout, Reader: pki.ReaderGo,
			Impact: "new pods are not placed",
			In:     Range{Component: scheduler}, Evidence: Evidence{Verified, schedulerRepo + "bindata/assets and pkg/operator/targetconfigcontroller"},
		},
		{
			ID: "published-server-ca-api-int", Part: PartAPIInt, Verifier: "whoever is given the cluster's CA", Claim: "the CA that the cluster publishes verifies api-int's serving certificate",
			Trust: APIServerCA(), Presented: InternalLoadBalancerServing(), ServerName: NameInternal, Reload: ReloadEachTime, Reader: pki.ReaderUnknown,
			Impact: "the server side itself is not consistent: fix kube-apiserver-operator before anything else",
			In:     Range{Component: kas}, Evidence: kasRotation(),
		},
		{
			ID: "pods-kubernetes-service", Part: PartAPIInt, Verifier: "pods", Claim: "pods trust kubernetes.default's serving certificate",
			Trust: rootCA(), Presented: secret(kasTarget, "service-network-serving-certkey"), ServerName: "kubernetes.default.svc", Reload: ReloadOnChange, Reader: pki.ReaderUnknown, MayBeOutdated: true, // client-go before v0.36 reads its CA file once
			Impact: "pods that call the API server, most operators among them",
			In:     Range{Component: kcm}, Evidence: published,
		},
		{
			ID: "machine-config-daemon-api-int", Part: PartAPIInt, Verifier: "machine-config-daemon", Claim: "the machine-config-daemon trusts api-int's serving certificate",
			Trust: rootCAOf(mcoTarget), Presented: InternalLoadBalancerServing(), ServerName: NameInternal, Reload: ReloadAtStart, Reader: pki.ReaderGoAll,
			Impact: "the nodes' configuration, and from 4.16 on the delivery of CAs to them",
			In:     Range{Component: mco}, Evidence: Evidence{Verified, mcoRepo + "cmd/machine-config-daemon/start.go @ release-4.12 to 4.22"},
		},
		{
			ID: "new-node-api-int", Part: PartAPIInt, Verifier: "the kubelet of a node that is added", Claim: "a node added now trusts api-int's serving certificate",
			Trust: Ref{Kind: Secret, Namespace: mcoTarget, Name: "node-bootstrapper-token", Key: "ca.crt"}, Presented: InternalLoadBalancerServing(), ServerName: NameInternal, Reload: ReloadByNewNodes, Reader: pki.ReaderGo,
			Impact: "nodes that are added: they never join",
			In:     Range{Component: mco, To: Minor{4, 15}}, Evidence: Evidence{Verified, mcoRepo + "pkg/server/cluster_server.go @ release-4.12 to 4.15"},
		},
		{
			ID: "new-node-kubeconfig-data-api-int", Part: PartAPIInt, Verifier: "the kubelet of a node that is added", Claim: "a node added now trusts api-int's serving certificate",
			Trust: bundle(mcoTarget, "kubeconfig-data"), Presented: InternalLoadBalancerServing(), ServerName: NameInternal, Reload: ReloadByNewNodes, Reader: pki.ReaderGo,
			Impact: "nodes that are added: they never join",
			In:     since(mco, Minor{4, 16}), Evidence: Evidence{Verified, mcoRepo + "pkg/server/cluster_server.go @ release-4.16 to 4.22"},
		},
	}
}

// rootCAOf is kube-root-ca.crt in one namespace.
func rootCAOf(namespace string) Ref {
	r := rootCA()
	r.Namespace = namespace
	return r
}

// networkEdges are of what runs on nodes, by kubeconfigs there. All are optional:
// which of them runs is the administrator's choice of a network. The namespaces of
// those that are not there are not there either, and each namespace has its copy of
// kube-root-ca.crt.
func networkEdges() []Edge {
	inNetwork := func(path string) Ref { return file("/etc/kubernetes/cni/net.d/" + path) }
	multus := Evidence{Verified, networkRepo + "bindata/network/multus/multus.yaml @ 2a6a57fef and release-4.12 to 4.15"}
	ovn := Evidence{Verified, networkRepo + "bindata/network/ovn-kubernetes/common/008-script-lib.yaml @ 2a6a57fef and release-4.15"}
	kubelets := file("/var/lib/kubelet/kubeconfig")
	return []Edge{
		{
			ID: "multus-thin-api-int", Part: PartAPIInt, Verifier: "multus, thin", Claim: "multus trusts api-int's serving certificate",
			Trust: inNetwork("multus.d/multus.kubeconfig"), Optional: true, Presented: InternalLoadBalancerServing(), ServerName: NameInKubeconfig, Reload: ReloadEachTime, Reader: pki.ReaderGo,
			Impact: "the network of new pods on the node",
			In:     Range{Component: network, To: Minor{4, 13}}, Evidence: multus,
		},
		{
			ID: "multus-api-int", Part: PartAPIInt, Verifier: "multus, thick", Claim: "multus, once restarted, trusts api-int's serving certificate",
			Trust: kubelets, Optional: true, OnlyIfExists: rootCAOf("openshift-multus"), Presented: InternalLoadBalancerServing(), ServerName: NameInKubeconfig, Reload: ReloadAtStart, Reader: pki.ReaderGo,
			Remediation: "{} fix-api-int --nodes NODE, and only then restart the node's multus pod",
			Ahead:       "{} pretrust --nodes NODE",
			Impact:      "the network of new pods on the node; a restart before the file is right takes down the node's network",
			In:          since(network, Minor{4, 14}), Evidence: multus,
		},
		{
			ID: "ovnkube-node-api-int", Part: PartAPIInt, Verifier: "ovnkube-node", Claim: "ovnkube-node, once restarted, trusts api-int's serving certificate",
			Trust: kubelets, Optional: true, OnlyIfExists: rootCAOf(ovnTarget), Presented: InternalLoadBalancerServing(), ServerName: NameInKubeconfig, Reload: ReloadAtStart, Reader: pki.ReaderGo,
			Remediation: "{} fix-api-int --nodes NODE, and only then restart the node's ovnkube-node pod",
			Ahead:       "{} pretrust --nodes NODE",
			Impact:      "the network of new pods on the node",
			In:          since(network, Minor{4, 14}), Evidence: ovn,
		},
		{
			ID: "machine-config-daemon-node-writer-api-int", Part: PartAPIInt, Verifier: "machine-config-daemon's NodeWriter", Claim: "machine-config-daemon's NodeWriter, once restarted, trusts api-int's serving certificate",
			Trust: kubelets, Optional: true, OnlyIfExists: rootCAOf(mcoTarget), Presented: InternalLoadBalancerServing(), ServerName: NameInKubeconfig, Reload: ReloadAtStart, Reader: pki.ReaderGo,
			Remediation: "{} fix-api-int --nodes NODE, and only then restart the node's machine-config-daemon pod",
			Ahead:       "{} pretrust --nodes NODE",
			Impact:      "what machine-config-daemon writes to its Node: the state of an update; the pool is Degraded or stands still",
			In:          Range{Component: mco}, Evidence: nodeWriter(),
		},
		{
			ID: "whereabouts-api-int", Part: PartAPIInt, Verifier: "whereabouts", Claim: "whereabouts trusts api-int's serving certificate",
			Trust: inNetwork("whereabouts.d/whereabouts.kubeconfig"), Optional: true, Presented: InternalLoadBalancerServing(), ServerName: NameInKubeconfig, Reload: ReloadEachTime, Reader: pki.ReaderGo,
			Impact: "addresses of new pods' additional networks",
			In:     Range{Component: network}, Evidence: multus,
		},
	}
}

// nodeWriter is about the second client of machine-config-daemon, beside that of its
// service account.
func nodeWriter() Evidence {
	return Evidence{Verified, mcoRepo + "pkg/daemon/writer.go @ release-4.11 to 4.22 (nodeWriterKubeconfigPath, read once by newNodeWriter); k8s.io/client-go transport reads CAData once; OCPBUGS-76338"}
}

func controlPlaneEdges() []Edge {
	flags := Evidence{Verified, "openshift/cluster-kube-apiserver-operator bindata/assets/config/defaultconfig.yaml @ c813e820b"}
	kubeconfigs := Evidence{Verified, "openshift/cluster-kube-apiserver-operator bindata/assets/kube-apiserver/{check-endpoints,control-plane-node}-kubeconfig-cm.yaml @ release-4.12 0217c88fb to release-4.23 440392249"}
	requests := Evidence{Verified, kcmRepo + "pkg/operator/targetconfigcontroller/targetconfigcontroller.go @ 4e72164b8 (ManageCSRCABundle, ManageCSRIntermediateCABundle); " + flags.Source}
	return []Edge{
		{
			ID: "kubelet-client-ca", Part: PartControlPlane, Verifier: "kubelet, of its clients", Claim: "kubelets trust kube-apiserver's client certificate",
			Trust: file("/etc/kubernetes/kubelet-ca.crt"), Presented: secret(kasTarget, "kubelet-client"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "logs, exec, port-forward and metrics of the node",
			In:     Range{Component: mco}, Evidence: Evidence{Verified, mcoRepo + "templates/{master,worker}/01-*-kubelet/_base/files/kubelet.yaml (clientCAFile)"},
		},
		{
			ID: "apiserver-kubelet-serving", Part: PartControlPlane, Verifier: "kube-apiserver", Claim: "kube-apiserver trusts what kubelets serve",
			Trust: bundle(kasTarget, "kubelet-serving-ca"), Presented: file("/var/lib/kubelet/pki/kubelet-server-current.pem"), ServerName: NameAny, Reload: ReloadByRollout, Reader: pki.ReaderGo,
			Impact: "logs, exec and port-forward of the node",
			In:     Range{Component: kas}, Evidence: flags,
		},
		{
			ID: "apiserver-etcd", Part: PartControlPlane, Verifier: "kube-apiserver", Claim: "kube-apiserver trusts what etcd serves",
			Trust: bundle(kasTarget, "etcd-serving-ca"), Presented: secret("openshift-etcd", "etcd-serving-*"), ServerName: NameAny, Reload: ReloadByRollout, Reader: pki.ReaderUnknown,
			Impact: "the API server",
			In:     Range{Component: kas}, Evidence: flags,
		},
		{
			ID: "etcd-peers", Part: PartControlPlane, Verifier: "etcd", Claim: "etcd's members trust each other",
			Trust: bundle("openshift-etcd", "etcd-ca-bundle"), Presented: secret("openshift-etcd", "etcd-peer-*"), ServerName: NameAny, Reload: ReloadByRollout, Reader: pki.ReaderUnknown,
			Impact: "the quorum of etcd, and with it the API",
			In:     Range{Component: etcd}, Evidence: Evidence{Verified, "openshift/cluster-etcd-operator bindata/etcd/pod.gotpl.yaml @ b4786ae33"},
		},
		{
			ID: "extension-front-proxy", Part: PartControlPlane, Verifier: "extension API servers", Claim: "extension API servers trust kube-apiserver's front proxy certificate",
			Trust: extensionAuthentication("requestheader-client-ca-file"), Presented: secret(kasTarget, "aggregator-client"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "aggregated APIs, metrics among them",
			In:     Range{Component: kas}, Evidence: Evidence{Field, "kubernetes/kubernetes pkg/controlplane/controller/clusterauthenticationtrust/cluster_authentication_trust_controller.go"},
		},
		{
			ID: "etcd-apiserver", Part: PartControlPlane, Verifier: "etcd", Claim: "etcd trusts kube-apiserver's client certificate",
			Trust: bundle("openshift-etcd", "etcd-ca-bundle"), Presented: secret(kasTarget, "etcd-client"), ServerName: NameClient, Reload: ReloadByRollout, Reader: pki.ReaderUnknown,
			Impact: "the API server",
			In:     Range{Component: etcd}, Evidence: Evidence{Verified, "openshift/cluster-etcd-operator bindata/etcd/pod.gotpl.yaml @ b4786ae33"},
		},
		{
			ID: "aggregated-front-proxy", Part: PartControlPlane, Verifier: "aggregated API servers", Claim: "aggregated API servers trust kube-apiserver's front proxy certificate",
			Trust: bundle(managed, "kube-apiserver-aggregator-client-ca"), Presented: secret(kasTarget, "aggregator-client"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "OpenShift's own APIs: routes, projects, images, log in",
			In:     Range{Component: kas}, Evidence: flags,
		},
		{
			ID: "apiserver-controller-manager", Part: PartControlPlane, Verifier: "kube-apiserver", Claim: "kube-apiserver trusts kube-controller-manager's client certificate",
			Trust: bundle(kasTarget, "client-ca"), Presented: secret(managed, "kube-controller-manager-client-cert-key"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "controllers", In: Range{Component: kas}, Evidence: flags,
		},
		{
			ID: "apiserver-scheduler", Part: PartControlPlane, Verifier: "kube-apiserver", Claim: "kube-apiserver trusts kube-scheduler's client certificate",
			Trust: bundle(kasTarget, "client-ca"), Presented: secret(managed, "kube-scheduler-client-cert-key"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "new pods are not placed", In: Range{Component: kas}, Evidence: flags,
		},
		{
			ID: "apiserver-check-endpoints", Part: PartControlPlane, Verifier: "kube-apiserver", Claim: "kube-apiserver trusts the client certificate of the endpoint checks beside it",
			Trust: bundle(kasTarget, "client-ca"), Presented: secret(kasTarget, "check-endpoints-client-cert-key"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "the checks of connections between masters (podnetworkconnectivitychecks)", In: Range{Component: kas}, Evidence: kubeconfigs,
		},
		{
			ID: "apiserver-control-plane-node", Part: PartControlPlane, Verifier: "kube-apiserver", Claim: "kube-apiserver trusts the administrative client certificate of control plane nodes",
			Trust: bundle(kasTarget, "client-ca"), Presented: secret(kasTarget, "control-plane-node-admin-client-cert-key"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "whatever on masters uses the kubeconfig in the ConfigMap control-plane-node-kubeconfig", In: Range{Component: kas}, Evidence: kubeconfigs,
		},
		// What the signer of kubelets' certificates is trusted by, before and after it signs one.
		{
			ID: "apiserver-csr-signer", Part: PartControlPlane, Verifier: "kube-apiserver, of client certificates made by request", Claim: "kube-apiserver trusts client certificates that the signer of requests signs",
			Trust: bundle(kasTarget, "client-ca"), Presented: secret(kcmOperator, "csr-signer"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "nodes, one after the other: a kubelet may do nothing once its certificate is renewed", In: Range{Component: kas}, Evidence: requests,
		},
		{
			ID: "apiserver-csr-signer-serving", Part: PartControlPlane, Verifier: "kube-apiserver, of serving certificates made by request", Claim: "kube-apiserver trusts kubelets whose certificate the signer of requests signs",
			Trust: bundle(kasTarget, "kubelet-serving-ca"), Presented: secret(kcmOperator, "csr-signer"), ServerName: NameAny, Reload: ReloadByRollout, Reader: pki.ReaderGo,
			Impact: "logs, exec and port-forward of nodes, one after the other: once a kubelet's certificate is renewed", In: Range{Component: kas}, Evidence: requests,
		},
	}
}

// serviceEdges are those of what runs on the cluster, and of new machines. Stubs of
// new machines are optional: who makes machines by hand, or has no Machine API, may
// have deleted them.
func serviceEdges() []Edge {
	userData := func(name string) Ref {
		return Ref{Kind: Secret, Namespace: "openshift-machine-api", Name: name, Key: "userData"}
	}
	server := func(id, pool string) Edge {
		return Edge{
			ID: id, Part: PartNodes, Verifier: "Ignition on a new " + pool, Claim: "a new " + pool + " trusts the machine config server",
			Trust: userData(pool + "-user-data"), Optional: true, Presented: secret(mcoTarget, "machine-config-server-tls"), ServerName: NameAny, Reload: ReloadByNewNodes, Reader: pki.ReaderUnknown,
			Impact: "nodes that are added: they never get their configuration",
			In:     Range{Component: mco}, Evidence: Evidence{Verified, mcoRepo + "pkg/server and pkg/controller/certrotation @ release-4.12 to 4.22"},
		}
	}
	return []Edge{
		server("new-worker-config-server", "worker"),
		server("new-master-config-server", "master"),
		{
			ID: "service-ca", Part: PartServices, Verifier: "whoever calls Services by TLS", Claim: "the published service CA verifies what Services show",
			Trust: Ref{Kind: ConfigMap, Namespace: "*", Name: "openshift-service-ca.crt", Key: "service-ca.crt"}, Presented: Ref{Kind: Secret, Key: "tls.crt"}, Selector: ObjectSelector{Annotation: AnnotationServiceName},
			ServerName: NameAny, Reload: ReloadOnChange, Reader: pki.ReaderUnknown,
			Impact: "calls between the cluster's own components: metrics, webhooks, the image registry",
			In:     Range{Component: "service-ca"}, Evidence: Evidence{Verified, "openshift/service-ca-operator pkg/controller @ 6391e070d"},
		},
		{
			// Up to 4.11 the Secret holds what all IngressControllers present, one key for each
			// domain, and which of them is the cluster's is not read.
			ID: "published-ingress", Part: PartServices, Verifier: "console, OAuth server and pods that call routes", Claim: "the published ingress CA verifies the default certificate of routes",
			Trust: bundle(managed, "default-ingress-cert"), Presented: Ref{Kind: Secret, Namespace: managed, Name: "router-certs"}, ServerName: NameAny, Reload: ReloadOnChange, Reader: pki.ReaderUnknown,
			Impact: "log in, and the console",
			In:     since(ingress, Minor{4, 12}), Evidence: Evidence{Verified, ingressRepo + "pkg/operator/controller/certificate-publisher @ acca9642a and release-4.12"},
		},
	}
}

func nodeEdges() []Edge {
	flags := Evidence{Verified, "openshift/cluster-kube-apiserver-operator bindata/assets/config/defaultconfig.yaml @ c813e820b"}
	scrapes := Evidence{Verified, monitoringRepo + "assets/control-plane/service-monitor-kubelet.yaml (tlsConfig.caFile) @ release-4.12 16c55ea0b to release-4.22 5e1f02a52; " +
		"prometheus/common config/http_config.go (tlsRoundTripper, updateRootCA) @ v0.37.0 49b36038a, v0.53.0 e54e4df4b and v0.67.0 603559577"}
	return []Edge{
		{
			ID: "apiserver-kubelet-client", Part: PartNodes, Verifier: "kube-apiserver", Claim: "kube-apiserver trusts kubelets' client certificates",
			Trust: bundle(kasTarget, "client-ca"), Presented: file("/var/lib/kubelet/pki/kubelet-client-current.pem"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "the node: its kubelet may do nothing",
			In:     Range{Component: kas}, Evidence: flags,
		},
		{
			// A cluster may be without monitoring, as OpenShift Local is.
			ID: "prometheus-kubelet-serving", Part: PartNodes, Verifier: "Prometheus", Claim: "Prometheus trusts kubelets' serving certificates",
			Trust: bundle(monitoringTarget, "kubelet-serving-ca-bundle"), Optional: true, Presented: file("/var/lib/kubelet/pki/kubelet-server-current.pem"), ServerName: NameAny, Reload: ReloadOnChange, Reader: pki.ReaderGo,
			Impact: "metrics of the node and of its pods: alerts and dashboards go without them",
			In:     since(monitoring, Minor{4, 12}), Evidence: scrapes,
		},
	}
}

// extensionAuthentication is a key of what kube-apiserver publishes of the CAs that
// it trusts.
func extensionAuthentication(key string) Ref {
	return Ref{Kind: ConfigMap, Namespace: "kube-system", Name: "extension-apiserver-authentication", Key: key}
}
