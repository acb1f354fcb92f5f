package pki

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"
)

// Names of the lab's API server, and where it listens inside the lab.
const (
	ExternalHost = "api.lab.test"
	InternalHost = "api-int.lab.test"
	RecoveryHost = "localhost-recovery"
	NodeName     = "cp-0"
	Address      = "10.99.0.1"
	// PastBalancer is the control plane's address at which no balancer listens.
	PastBalancer = "10.99.0.2"
	// ServiceAddress is the first address of the service network, the
	// Service default/kubernetes.
	ServiceAddress = "172.30.0.1"
)

// LoadBalancerSigner signs what is served behind load balancers, and InternalServing
// is what it signs for InternalHost: the two that the api-int incident is about.
const (
	LoadBalancerSigner = "loadbalancer-serving-signer"
	InternalServing    = "internal-loadbalancer-serving-certkey"
)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// signer is one CA of the lab.
type signer struct {
	name     string
	cn       string
	validity time.Duration
	parent   string // empty: self-signed
}

// leaf is one serving or client certificate of the lab.
type leaf struct {
	name     string
	signer   string
	subject  subject
	hosts    []string // DNS names and IP addresses; none for a pure client
	usages   []x509.ExtKeyUsage
	validity time.Duration
}

type subject struct {
	cn     string
	groups []string
}

// signers are named by OpenShift's Secrets. The common names are those of a
// cluster whose first, installer-made generation is still in use, save for the
// signers that operators mint themselves: those end in @<time>.
func signers(now time.Time) []signer {
	const op, kcmOp = "openshift-kube-apiserver-operator", "openshift-kube-controller-manager-operator"
	minted := func(ns, name string) string { return mintedName(ns, name, now) }
	return []signer{
		{name: "loadbalancer-serving-signer", cn: "kube-apiserver-lb-signer", validity: 10 * year},
		{name: "localhost-serving-signer", cn: "kube-apiserver-localhost-signer", validity: 10 * year},
		{name: "service-network-serving-signer", cn: "kube-apiserver-service-network-signer", validity: 10 * year},
		{name: "localhost-recovery-serving-signer", cn: minted(op, "localhost-recovery-serving-signer"), validity: 10 * year},
		{name: "kube-control-plane-signer", cn: "kube-control-plane-signer", validity: year},
		{name: "kube-apiserver-to-kubelet-signer", cn: "kube-apiserver-to-kubelet-signer", validity: year},
		// The installer's own lives for a day only; this is the operator's first.
		{name: "aggregator-client-signer", cn: minted(op, "aggregator-client-signer"), validity: 30 * day},
		{name: "node-system-admin-signer", cn: minted(op, "node-system-admin-signer"), validity: year},
		{name: "admin-kubeconfig-signer", cn: "admin-kubeconfig-signer", validity: 10 * year},
		{name: "csr-signer-signer", cn: minted(kcmOp, "csr-signer-signer"), validity: 60 * day},
		{name: "csr-signer", cn: fmt.Sprintf("kube-csr-signer_@%d", now.Unix()), validity: 30 * day, parent: "csr-signer-signer"},
		{name: "etcd-signer", cn: minted("openshift-etcd", "etcd-signer"), validity: 5 * year},
		// The installer's, for the machine config server. Nodes have it on disk; its
		// key is nowhere in a cluster.
		{name: "root-ca", cn: "root-ca", validity: 10 * year},
	}
}

// mintedName is the common name of a signer that an operator mints.
func mintedName(namespace, name string, now time.Time) string {
	return fmt.Sprintf("%s_%s@%d", namespace, name, now.Unix())
}

func leaves() []leaf {
	server := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	client := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	service := []string{"kubernetes", "openshift"}
	for _, s := range []string{"kubernetes.default", "openshift.default"} {
		service = append(service, s, s+".svc", s+".svc.cluster.local")
	}
	etcdHosts := []string{"localhost", "etcd.openshift-etcd.svc", "etcd.openshift-etcd.svc.cluster.local", "127.0.0.1", Address}
	return []leaf{
		{"external-loadbalancer-serving-certkey", "loadbalancer-serving-signer", subject{cn: ExternalHost}, []string{ExternalHost}, server, 30 * day},
		{"internal-loadbalancer-serving-certkey", "loadbalancer-serving-signer", subject{cn: InternalHost}, []string{InternalHost}, server, 30 * day},
		{"localhost-serving-cert-certkey", "localhost-serving-signer", subject{cn: "localhost"}, []string{"localhost", "127.0.0.1"}, server, 30 * day},
		{"service-network-serving-certkey", "service-network-serving-signer", subject{cn: ServiceAddress}, append(service, ServiceAddress), server, 30 * day},
		{"localhost-recovery-serving-certkey", "localhost-recovery-serving-signer", subject{cn: RecoveryHost}, []string{RecoveryHost}, server, 10 * year},

		{"kubelet-client", "kube-apiserver-to-kubelet-signer", subject{"system:kube-apiserver", []string{"kube-master"}}, nil, client, 30 * day},
		{"aggregator-client", "aggregator-client-signer", subject{cn: "system:openshift-aggregator"}, nil, client, 30 * day},
		{"kube-controller-manager-client-cert-key", "kube-control-plane-signer", subject{cn: "system:kube-controller-manager"}, nil, client, 30 * day},
		{"kube-scheduler-client-cert-key", "kube-control-plane-signer", subject{cn: "system:kube-scheduler"}, nil, client, 30 * day},
		{"control-plane-node-admin-client-cert-key", "kube-control-plane-signer", subject{"system:control-plane-node-admin", []string{"system:masters"}}, nil, client, 30 * day},
		{"check-endpoints-client-cert-key", "kube-control-plane-signer", subject{cn: "system:serviceaccount:openshift-kube-apiserver:check-endpoints"}, nil, client, 30 * day},
		{"node-system-admin-client", "node-system-admin-signer", subject{"system:admin", []string{"system:masters"}}, nil, client, 120 * day},
		{Admin, "admin-kubeconfig-signer", subject{"system:admin", []string{"system:masters"}}, nil, client, 10 * year},

		{"etcd-serving-" + NodeName, "etcd-signer", subject{cn: "system:etcd-server:etcd-client"}, etcdHosts, both, 3 * year},
		{"etcd-peer-" + NodeName, "etcd-signer", subject{cn: "system:etcd-peer:etcd-client"}, etcdHosts, both, 3 * year},
		{"etcd-client", "etcd-signer", subject{cn: "etcd-client"}, nil, client, 3 * year},
	}
}

// Admin is the leaf of the cluster administrator's kubeconfigs. OpenShift keeps
// it nowhere in the cluster: only its CA.
const Admin = "admin-kubeconfig"

// bundle is a CA bundle and the signers in it.
type bundle struct {
	name    string
	signers []string
}

// BundlesWith are the names of the bundles that a signer is in.
func BundlesWith(signer string) []string {
	var names []string
	for _, b := range bundles() {
		if slices.Contains(b.signers, signer) {
			names = append(names, b.name)
		}
	}
	return names
}

func bundles() []bundle {
	serving := []string{"loadbalancer-serving-signer", "localhost-serving-signer", "service-network-serving-signer", "localhost-recovery-serving-signer"}
	csr := []string{"csr-signer", "csr-signer-signer"}
	clients := append([]string{"admin-kubeconfig-signer"}, csr...)
	clients = append(clients, "kube-apiserver-to-kubelet-signer", "kube-control-plane-signer", "node-system-admin-signer")
	return []bundle{
		{"loadbalancer-serving-ca", serving[0:1]},
		{"localhost-serving-ca", serving[1:2]},
		{"service-network-serving-ca", serving[2:3]},
		{"localhost-recovery-serving-ca", serving[3:4]},
		{"kube-apiserver-server-ca", serving},
		// OpenShift adds the router's CA here; the lab has no router.
		{"serviceaccount-ca", serving},
		{"kube-apiserver-to-kubelet-client-ca", []string{"kube-apiserver-to-kubelet-signer"}},
		{"kube-control-plane-signer-ca", []string{"kube-control-plane-signer"}},
		{"node-system-admin-ca", []string{"node-system-admin-signer"}},
		{"admin-kubeconfig-client-ca", []string{"admin-kubeconfig-signer"}},
		{"aggregator-client-ca", []string{"aggregator-client-signer"}},
		{"csr-signer-ca", csr[0:1]},
		{"csr-controller-signer-ca", csr[1:2]},
		{"csr-controller-ca", csr},
		{"kubelet-serving-ca", csr},
		{"client-ca", clients},
		{"etcd-ca-bundle", []string{"etcd-signer"}},
	}
}
