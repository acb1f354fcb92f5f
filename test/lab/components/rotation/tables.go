package main

import (
	"time"

	"github.com/openshift/library-go/pkg/operator/certrotation"
	"github.com/openshift/library-go/pkg/operator/resourcesynccontroller"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Namespaces of the two operators, of what they operate, and between them.
const (
	apiserverOperator  = "openshift-kube-apiserver-operator"
	apiserver          = "openshift-kube-apiserver"
	controllerOperator = "openshift-kube-controller-manager-operator"
	controllerManager  = "openshift-kube-controller-manager"
	scheduler          = "openshift-kube-scheduler"
	managedConfig      = "openshift-config-managed"
	userConfig         = "openshift-config"
)

func namespaces() []string {
	return []string{apiserverOperator, apiserver, controllerOperator, controllerManager, scheduler, managedConfig, userConfig}
}

const (
	day   = 24 * time.Hour
	month = 30 * day
	year  = 365 * day
	// Ten years, of which the operator waits for eight.
	forever, foreverRefresh = 10 * year, 8 * year
)

type place = resourcesynccontroller.ResourceLocation

// lifetime is how long something is valid, and when it is renewed at the latest.
type lifetime struct{ validity, refresh time.Duration }

// family is a signer, and the bundle that it is trusted by.
type family struct {
	signer   place
	lifetime lifetime
	bundle   place
}

// rotator is what one CertRotationController keeps: a target, and the family that
// it is of. Controllers may share one.
type rotator struct {
	name     string
	family   family
	target   place
	lifetime lifetime
	creator  certrotation.TargetCertCreator
}

// rotators are those of pkg/operator/certrotationcontroller/certrotationcontroller.go
// in openshift/cluster-kube-apiserver-operator@c813e820bb94, with its day of a release:
// on the way to one it makes a day a sixtieth of that.
func rotators() []rotator {
	own := func(signer string, l lifetime, bundle string) family {
		return family{place{Namespace: apiserverOperator, Name: signer}, l, place{Namespace: apiserverOperator, Name: bundle}}
	}
	long := lifetime{forever, foreverRefresh}
	short := lifetime{month, month / 2}
	loadBalancer := own("loadbalancer-serving-signer", long, "loadbalancer-serving-ca")
	localhost := own("localhost-serving-signer", long, "localhost-serving-ca")
	recovery := own("localhost-recovery-serving-signer", long, "localhost-recovery-serving-ca")
	service := own("service-network-serving-signer", long, "service-network-serving-ca")
	kubelet := own("kube-apiserver-to-kubelet-signer", lifetime{year, 292 * day}, "kube-apiserver-to-kubelet-client-ca")
	controlPlane := own("kube-control-plane-signer", lifetime{2 * month, month}, "kube-control-plane-signer-ca")
	nodeAdmin := own("node-system-admin-signer", lifetime{3 * year, 3 * 292 * day}, "node-system-admin-ca")
	aggregator := own("aggregator-client-signer", short, "")
	aggregator.bundle = place{Namespace: managedConfig, Name: "kube-apiserver-aggregator-client-ca"}
	return []rotator{
		{"AggregatorProxyClientCert", aggregator, place{Namespace: apiserver, Name: "aggregator-client"}, short, client("system:openshift-aggregator")},
		{"KubeAPIServerToKubeletClientCert", kubelet, place{Namespace: apiserver, Name: "kubelet-client"}, short, client("system:kube-apiserver", "kube-master")},
		{"LocalhostServing", localhost, place{Namespace: apiserver, Name: "localhost-serving-cert-certkey"}, short, serving("localhost", "127.0.0.1")},
		{"ServiceNetworkServing", service, place{Namespace: apiserver, Name: "service-network-serving-certkey"}, short, serving(
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
			"openshift", "openshift.default", "openshift.default.svc", "openshift.default.svc.cluster.local",
			"172.30.0.1")},
		{"ExternalLoadBalancerServing", loadBalancer, place{Namespace: apiserver, Name: "external-loadbalancer-serving-certkey"}, short, serving("api.lab.test")},
		{"InternalLoadBalancerServing", loadBalancer, place{Namespace: apiserver, Name: "internal-loadbalancer-serving-certkey"}, short, serving("api-int.lab.test")},
		{"LocalhostRecoveryServing", recovery, place{Namespace: apiserver, Name: "localhost-recovery-serving-certkey"}, long, serving("localhost-recovery")},
		{"KubeControllerManagerClient", controlPlane, place{Namespace: managedConfig, Name: "kube-controller-manager-client-cert-key"}, short, client("system:kube-controller-manager")},
		{"KubeSchedulerClient", controlPlane, place{Namespace: managedConfig, Name: "kube-scheduler-client-cert-key"}, short, client("system:kube-scheduler")},
		{"ControlPlaneNodeAdminClient", controlPlane, place{Namespace: apiserver, Name: "control-plane-node-admin-client-cert-key"}, short, client("system:control-plane-node-admin", "system:masters")},
		{"CheckEndpointsClient", controlPlane, place{Namespace: apiserver, Name: "check-endpoints-client-cert-key"}, short, client("system:serviceaccount:openshift-kube-apiserver:check-endpoints")},
		{"NodeSystemAdminClient", nodeAdmin, place{Namespace: apiserverOperator, Name: "node-system-admin-client"}, lifetime{2 * year, month}, client("system:admin", "system:masters")},
	}
}

func client(name string, groups ...string) certrotation.TargetCertCreator {
	return &certrotation.ClientRotation{UserInfo: &user.DefaultInfo{Name: name, Groups: groups}}
}

func serving(hosts ...string) certrotation.TargetCertCreator {
	return &certrotation.ServingRotation{Hostnames: func() []string { return hosts }}
}

// aggregate is a bundle that is put together from others; parts that aren't there
// are left out.
type aggregate struct {
	into  place
	owner string
	parts []place
}

// aggregates are those of pkg/operator/targetconfigcontroller/targetconfigcontroller.go
// in openshift/cluster-kube-apiserver-operator@c813e820bb94 and
// openshift/cluster-kube-controller-manager-operator@4e72164b8bc5, and of
// openshift/cluster-kube-scheduler-operator.
func aggregates() []aggregate {
	return []aggregate{
		{place{Namespace: apiserver, Name: "client-ca"}, "kube-apiserver", []place{
			{Namespace: userConfig, Name: "admin-kubeconfig-client-ca"},
			{Namespace: managedConfig, Name: "csr-controller-ca"},
			{Namespace: apiserverOperator, Name: "kube-apiserver-to-kubelet-client-ca"},
			{Namespace: apiserverOperator, Name: "kube-control-plane-signer-ca"},
			{Namespace: apiserver, Name: "user-client-ca"},
			{Namespace: managedConfig, Name: "kubelet-bootstrap-kubeconfig"},
			{Namespace: apiserverOperator, Name: "node-system-admin-ca"},
		}},
		{place{Namespace: apiserver, Name: "kube-apiserver-server-ca"}, "kube-apiserver", []place{
			{Namespace: apiserverOperator, Name: "loadbalancer-serving-ca"},
			{Namespace: apiserverOperator, Name: "localhost-serving-ca"},
			{Namespace: apiserverOperator, Name: "service-network-serving-ca"},
			{Namespace: apiserverOperator, Name: "localhost-recovery-serving-ca"},
		}},
		{place{Namespace: controllerManager, Name: "serviceaccount-ca"}, "kube-controller-manager", []place{
			{Namespace: managedConfig, Name: "kube-apiserver-server-ca"},
			{Namespace: managedConfig, Name: "default-ingress-cert"},
		}},
		{place{Namespace: scheduler, Name: "serviceaccount-ca"}, "kube-scheduler", []place{
			{Namespace: managedConfig, Name: "kube-apiserver-server-ca"},
			{Namespace: managedConfig, Name: "default-ingress-cert"},
		}},
		{place{Namespace: controllerOperator, Name: "csr-controller-ca"}, "kube-controller-manager", []place{
			{Namespace: controllerOperator, Name: "csr-signer-ca"},
			{Namespace: controllerOperator, Name: "csr-controller-signer-ca"},
		}},
	}
}

// duplicate is something that is copied from one place to another.
type duplicate struct{ to, from place }

// copiedConfigMaps and copiedSecrets are those of the operators'
// pkg/operator/resourcesynccontroller that the lab has the sources of. The scheduler's
// is of its own operator's.
func copiedConfigMaps() []duplicate {
	return []duplicate{
		{place{Namespace: apiserver, Name: "aggregator-client-ca"}, place{Namespace: managedConfig, Name: "kube-apiserver-aggregator-client-ca"}},
		{place{Namespace: apiserver, Name: "kubelet-serving-ca"}, place{Namespace: managedConfig, Name: "csr-controller-ca"}},
		{place{Namespace: managedConfig, Name: "kube-apiserver-client-ca"}, place{Namespace: apiserver, Name: "client-ca"}},
		{place{Namespace: managedConfig, Name: "kubelet-serving-ca"}, place{Namespace: apiserver, Name: "kubelet-serving-ca"}},
		{place{Namespace: managedConfig, Name: "kube-apiserver-server-ca"}, place{Namespace: apiserver, Name: "kube-apiserver-server-ca"}},
		{place{Namespace: managedConfig, Name: "csr-controller-ca"}, place{Namespace: controllerOperator, Name: "csr-controller-ca"}},
	}
}

func copiedSecrets() []duplicate {
	return []duplicate{
		{place{Namespace: controllerManager, Name: "kube-controller-manager-client-cert-key"}, place{Namespace: managedConfig, Name: "kube-controller-manager-client-cert-key"}},
		{place{Namespace: scheduler, Name: "kube-scheduler-client-cert-key"}, place{Namespace: managedConfig, Name: "kube-scheduler-client-cert-key"}},
	}
}
