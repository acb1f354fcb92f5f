package csr

import (
	"crypto/x509"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// A short name may be another Node's whole name, and an address that a node answers at may
// be a Service's external one.
func TestAKubeletGetsNoNameOfAnotherNodeAndNoExternalIP(t *testing.T) {
	t.Parallel()
	const node, external = "worker-1.b.example.com", "192.0.2.50"
	for name, peer := range map[string]string{"worker-1": "worker-1", "WORKER-1": "worker-1.a.example.com"} {
		o := newOrigins(node)
		var service corev1.Service
		service.Name, service.Namespace, service.Spec.ExternalIPs = "vip", "tenant", []string{external}
		o.excludeService(&service)
		o.addOwn(external, "ssh reached the node there")
		n := RequestedNode{Name: node, Versions: catalog.Versions{Cluster: "4.18.1"}, origins: o, object: &corev1.Node{}}
		for _, a := range []string{name, node, external} {
			n.object.Status.Addresses = append(n.object.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: a})
		}
		n.object.Status.Addresses = append(n.object.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: external})
		if err := n.ownsNames(&x509.CertificateRequest{DNSNames: []string{name}}); err != nil {
			t.Errorf("without another node: %v", err)
		}
		n.peers = newPeerHosts()
		n.peers.add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: peer}})
		if err := n.ownsNames(&x509.CertificateRequest{DNSNames: []string{name}}); err == nil {
			t.Errorf("%s gets %s, which is a name of Node %s", node, name, peer)
		}
		if err := n.ownsNames(&x509.CertificateRequest{DNSNames: []string{node}}); err != nil {
			t.Errorf("its own name: %v", err)
		}
		if err := n.ownsNames(&x509.CertificateRequest{IPAddresses: []net.IP{net.ParseIP(external)}}); err == nil {
			t.Error("it gets the external IP of a Service")
		}
	}
}

// TestATenantsExternalIPIsNoReasonAgainstAMachines: where tenants may choose external IPs, one of them keeps no node
// from a certificate for what its Machine has; addresses that a controller gave a Service are no node's.
func TestATenantsExternalIPIsNoReasonAgainstAMachines(t *testing.T) {
	t.Parallel()
	const at = "192.0.2.50"
	tenants := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "a"}, Spec: corev1.ServiceSpec{ExternalIPs: []string{"::ffff:" + at}}}
	given := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "b"}, Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: at}}}}}
	for name, c := range map[string]struct {
		service corev1.Service
		prove   func(*origins)
		refused bool
	}{
		"its Machine has it":                      {tenants, func(o *origins) { o.addOwned(at, "its Machine") }, false},
		"ssh reached it":                          {tenants, func(o *origins) { o.addOwn(at, "ssh") }, true},
		"its Machine has a load balancer's":       {given, func(o *origins) { o.addOwned(at, "its Machine") }, true},
		"its Machine has another, ssh reached it": {tenants, func(o *origins) { o.addOwned("192.0.2.51", "its Machine"); o.addOwn(at, "ssh") }, true},
	} {
		o := newOrigins("worker-1")
		o.excludeService(&c.service)
		c.prove(o)
		if err := o.refuse(&x509.CertificateRequest{IPAddresses: []net.IP{net.ParseIP(at)}}); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
