package csr

import (
	"crypto/x509"
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWhichNamesAKubeletGets: a part of why not; empty: it gets them.
func TestWhichNamesAKubeletGets(t *testing.T) {
	t.Parallel()
	known := func(node string) *origins {
		o := newOrigins(node)
		o.addOwn("192.0.2.7", "ssh reached the node there")
		o.addOwn("2001:db8::7", "Machine m has it")
		o.addOwn("worker-0.example.com", "Machine m has it")
		o.exclude("API.example.com.", "a name of the API")
		o.excludeServer("https://192.0.2.7x.example.com:6443", "the server of a kubeconfig")
		o.excludeServer("https://[2001:db8::100]:6443", "the server of a kubeconfig")
		o.excludeAPI("https://K8S-lb.corp.example:6443", "a name of the API")
		o.excludeAPI("https://192.0.2.102:6443", "a name of the API")
		o.exclude("192.0.2.100", "an address of the API")
		o.exclude("::ffff:192.0.2.101", "an address of Service default/lb")
		o.addOwned("worker-0.shop", "Machine m has it")
		for _, name := range []string{"db", "worker-0"} {
			o.excludeService(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}})
		}
		o.excludeNetwork("172.30.0.0/16", "the network of Services")
		o.excludeNetwork("fd02::/112", "the network of Services")
		return o
	}
	unread := func(node string) *origins {
		o := known(node)
		o.unread = []string{"list services: forbidden"}
		return o
	}
	bare := func(node string) *origins {
		o := newOrigins(node)
		o.lacking = []string{"ssh did not reach it", "Machines: forbidden"}
		return o
	}
	claimed := func(node string) *origins { // a source that would prove what is reserved
		o := newOrigins(node)
		for _, host := range []string{"kubernetes.default.svc", "localhost", "127.0.0.1", "::1", "fe80::1%eth0", "0.0.0.0", "224.0.0.1", "*.example.com", "172.30.0.1"} {
			o.addOwn(host, "a certificate that was signed earlier")
		}
		o.excludeNetwork("172.30.0.0/16", "the network of Services")
		return o
	}
	for _, c := range []struct {
		name string
		from func(string) *origins
		node string
		dns  string // split at spaces
		ips  string
		why  string
	}{
		{"its name and its address", known, "worker-0", "worker-0", "192.0.2.7", ""},
		{"both families, short and qualified, in any case", known, "worker-0", "Worker-0 WORKER-0.example.com", "192.0.2.7 2001:db8::7", ""},
		{"an IPv4 address in IPv6", known, "worker-0", "worker-0", "::ffff:192.0.2.7", ""},
		{"an IPv6 address in another form", known, "worker-0", "worker-0", "2001:0DB8:0:0::0007", ""},
		{"a qualified Node by its first label", known, "worker-0.example.com", "worker-0 worker-0.example.com", "192.0.2.7", ""},
		{"an address alone", known, "worker-0", "", "192.0.2.7", ""},
		{"its name alone needs no proof of an address", bare, "worker-0", "worker-0", "", ""},

		{"a wildcard", known, "worker-0", "worker-0 *.example.com", "192.0.2.7", "a wildcard"},
		{"a wildcard of its own domain that a certificate has", claimed, "worker-0", "*.example.com", "", "a wildcard"},
		{"another name", known, "worker-0", "worker-1", "", "known only from its kubelet"},
		{"a longer name", known, "worker-0", "worker-0.example.org", "", "known only from its kubelet"},
		{"a name with a dot at its end", known, "worker-0", "worker-0.", "", "no plain DNS name"},
		{"a name with a byte of zero", known, "worker-0", "worker-0\x00", "", "no plain DNS name"},
		{"a name beyond ASCII", known, "worker-0", "wörker-0", "", "no plain DNS name"},
		{"an address as a name", known, "worker-0", "192.0.2.7", "", "no plain DNS name"},
		{"an address as a name, of a Node that is called so", known, "192.0.2.7", "192.0.2.7", "", "no plain DNS name"},
		{"the address of a Node that is called so", bare, "192.0.2.9", "", "192.0.2.9", "known only from its kubelet"},
		{"no name at all", known, "worker-0", "", "", ""}, // for owns to refuse

		{"the API's name", known, "worker-0", "api.EXAMPLE.com", "", "a name of the API"},
		{"the API's name, by a Node that is called so", known, "api.example.com", "api.example.com", "", "a name of the API"},
		{"the API's address", known, "worker-0", "", "192.0.2.100", "an address of the API"},
		{"the server of a kubeconfig", known, "worker-0", "", "2001:db8::100", "the server of a kubeconfig"},
		{"kubernetes", known, "kubernetes.evil", "kubernetes", "", "API server inside the cluster"},
		{"kubernetes.default", known, "kubernetes.default", "kubernetes.default", "", "API server inside the cluster"},
		{"openshift.default.svc", known, "worker-0", "openshift.default.svc", "", "a name of Services"},
		{"kubernetes.default.svc that a certificate has", claimed, "worker-0", "kubernetes.default.svc", "", "a name of Services"},
		{"a Service with the cluster's domain", known, "worker-0", "x.y.svc.cluster.local", "", "a name of Services"},
		{"a Service with another domain", known, "worker-0", "x.y.svc.k8s.example", "", "a name of Services"},
		{"a pod's name", known, "worker-0", "10-0-0-1.default.pod.cluster.local", "", "a name of Services"},
		{"the cluster's domain", known, "cluster.local", "cluster.local", "", "a name of Services"},
		{"the cluster's domain, in any case", claimed, "worker-0", "Cluster.Local", "", "a name of Services"},
		{"api, by a Node that begins so", known, "api.example.org", "api", "", "how clients call the API"},
		{"api-int, by a Node that begins so", bare, "api-int.example.org", "API-INT", "", "how clients call the API"},
		{"api, by a Node that is called so", bare, "api", "api", "", "how clients call the API"},
		{"kubernetes, by a Node that is called so", bare, "kubernetes", "kubernetes", "", "API server inside the cluster"},
		{"the first label of the API's name, by a Node that begins so", known, "k8s-lb.example.org", "k8s-lb", "", "the first label of a name of the API"},
		{"a Node's whole name that begins like the API's", known, "k8s-lb.example.org", "k8s-lb.example.org", "", ""},
		{"the first number of the API's address is no label", known, "192.example.org", "192", "", ""},
		{"a Service, short", known, "worker-0", "DB.shop", "", "a name of Service shop/db"},
		{"a node that a tenant's Service is called as", known, "db.shop", "db.shop", "", ""},
		{"a Machine's name that a tenant's Service is called as", known, "worker-0", "worker-0.shop", "", ""},
		{"a node's name as that of a Service, longer", known, "db.shop", "db.shop.svc", "", "a name of Services"},
		{"the address of a Service", known, "worker-0", "", "172.30.0.1", "the network of Services"},
		{"the address of a Service that a certificate has", claimed, "worker-0", "", "172.30.0.1", "the network of Services"},
		{"the address of a Service, in IPv6", known, "worker-0", "", "fd02::1", "the network of Services"},
		{"the address of a load balancer, by its other form", known, "worker-0", "", "192.0.2.101", "Service default/lb"},

		{"localhost", claimed, "worker-0", "localhost", "", "the machine itself"},
		{"localhost, by a Node that begins so", known, "localhost.localdomain", "localhost", "", "the machine itself"},
		{"localhost as a Node", known, "localhost.localdomain", "localhost.localdomain", "", "the machine itself"},
		{"below localhost", known, "worker-0", "a.localhost", "", "the machine itself"},
		{"loopback", claimed, "worker-0", "", "127.0.0.1", "loopback"},
		{"loopback in IPv6", claimed, "worker-0", "", "::1", "loopback"},
		{"loopback, mapped", claimed, "worker-0", "", "::ffff:127.0.0.1", "loopback"},
		{"link-local", claimed, "worker-0", "", "fe80::1", "link-local"},
		{"link-local in IPv4", known, "worker-0", "", "169.254.169.254", "link-local"},
		{"unspecified", claimed, "worker-0", "", "0.0.0.0", "unspecified"},
		{"unspecified in IPv6", known, "worker-0", "", "::", "unspecified"},
		{"multicast", claimed, "worker-0", "", "224.0.0.1", "multicast"},
		{"broadcast", known, "worker-0", "", "255.255.255.255", "broadcast"},
		{"an address that only the kubelet says", known, "worker-0", "worker-0", "192.0.2.8", "known only from its kubelet"},
		{"an address, and why nothing else knows it", bare, "worker-0", "worker-0", "192.0.2.7", "ssh did not reach it; Machines: forbidden"},
		{"what others have is not read", unread, "worker-0", "worker-0", "192.0.2.7", "list services: forbidden"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			asks := &x509.CertificateRequest{DNSNames: strings.Fields(c.dns)}
			for _, ip := range strings.Fields(c.ips) {
				asks.IPAddresses = append(asks.IPAddresses, net.ParseIP(ip))
			}
			o := c.from(c.node)
			switch err := o.refuse(asks); {
			case c.why == "" && err != nil, c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)):
				t.Errorf("got %v, want %q", err, c.why)
			case err == nil:
				for _, p := range o.proofs(asks) {
					if strings.HasSuffix(p, ": ") {
						t.Errorf("%q does not say from where", p)
					}
				}
			}
		})
	}
}
