package catalog

import (
	"slices"
	"time"
)

// Server is a row: a process listens on an address, and is asked by a TLS handshake
// what it presents. The Edge is the claim that it presents what the places hold; its
// Presented and ServerName are those of each of Certs.
type Server struct {
	Edge
	Listener Listener
	Certs    []ServedCert
	// Direct: who verifies what it presents connects to this very address, so that what
	// a handshake saw there goes before what the place holds.
	Direct bool
}

// Listener names where a server listens.
type Listener struct {
	Name        string // "kubelet"; empty: the server of a kubelet's kubeconfig
	MastersOnly bool   // on masters only; else on every node
	// Port on the node's address: a number, or PortInternal. Empty: it is asked at
	// the address that a kubeconfig has. What the server's pod, the Node or a kubeconfig
	// says of it goes before a number.
	Port string
}

// PortInternal is the port of Infrastructure's status.apiServerInternalURI.
const PortInternal = "(api-int's)"

// The listeners that are asked at addresses of kubeconfigs.
const (
	ListenerNodeKubeconfig = ""       // what nodes reach by their kubelets' kubeconfigs
	ListenerUserKubeconfig = "access" // what the user's kubeconfig has

	ListenerAPIServer = "kube-apiserver" // of each master, by its own address

	ListenerEtcd     = "etcd"
	ListenerEtcdPeer = "etcd peer"
)

// ServedCert is what a server presents to a client that asks for a name.
type ServedCert struct {
	Name ServerName
	From Ref // the place that holds it
	// Custom are places of an administrator's, one of which may be presented in
	// its place.
	Custom       []Ref
	CustomReload ReloadPolicy // of Custom, where that differs; for people
	Reload       ReloadPolicy // when the server reads the place
	// ReloadWithin is how long after a change that may take; zero: it never does so by itself.
	ReloadWithin time.Duration
	Remediation  string // where that differs from the Edge's
}

// The names of kube-apiserver, beside those in edge.go.
const (
	// NameExternal: the host of Infrastructure's status.apiServerURL.
	NameExternal       ServerName = "(api)"
	nameServiceNetwork ServerName = "kubernetes.default.svc"
	nameLocalhost      ServerName = "localhost"
	nameRecovery       ServerName = "localhost-recovery"
)

func allServers() []Server {
	named := Evidence{Verified, "openshift/cluster-kube-apiserver-operator pkg/operator/configobservation/apiserver/observe_apiserver.go @ 0190df7c7, " +
		"bindata/assets/config/defaultconfig.yaml (servingInfo.bindAddress) @ 02bf68752"}
	const restart = "first {} verify api-int: who does not trust what the Secret holds loses its last way in with a restart. Where the file on NODE is the old one, see the log of kube-apiserver-cert-syncer there; else restart that kube-apiserver alone: " +
		"crictl stop $(crictl ps -q --name '^kube-apiserver$')"
	return append([]Server{
		{
			Edge: Edge{
				ID: "masters-show-secrets", Part: PartControlPlane, Verifier: "clients of kube-apiserver", Statement: "each control plane node presents, for each name, the certificate in its Secret",
				Impact:      "nothing yet, while the old certificate is valid and its CA is trusted; then clients that reach that control plane node",
				Remediation: restart, In: Range{Component: kas}, Evidence: named,
			},
			Listener: Listener{Name: ListenerAPIServer, MastersOnly: true, Port: PortInternal}, Certs: apiServerCerts(),
		},
		{
			Edge: Edge{
				ID: "api-int-shows-secret", Part: PartAPIInt, Verifier: "kubelets", Statement: "api-int presents the certificate in its Secret to nodes",
				Impact:      "nothing yet, while the old certificate is valid and its CA is trusted; then nodes that reach that control plane node",
				Remediation: "find the control plane node that presents it behind api-int, among those asked by their own address", In: Range{Component: kas}, Evidence: named,
			},
			Listener: Listener{Name: ListenerNodeKubeconfig}, Certs: apiServerCerts(),
		},
		{
			Edge: Edge{
				ID: "access-shows-secret", Part: PartAccess, Verifier: "administrators", Statement: "the API's address in your kubeconfig presents the certificates in its Secrets",
				Impact:      "nothing yet, while the old certificate is valid and its CA is trusted; then clients that use that address",
				Remediation: "find the control plane node that presents it behind that address, among those asked by their own address", In: Range{Component: kas}, Evidence: named,
			},
			Listener: Listener{Name: ListenerUserKubeconfig}, Certs: apiServerCerts(),
		},
		configServer("config-servers-show-secret", "it reads its certificate when it starts: ", ServedCert{Reload: ReloadAtStart}, Range{Component: mco, To: Minor{4, 18}},
			"pkg/server/api.go (SecurePort, ListenAndServeTLS; certwatcher from 4.14 on, which is not started) @ release-4.12 1d4cfffaa to release-4.18 f313997e0"),
		// The kubelet brings the changed Secret to the pod within two minutes.
		configServer("config-servers-show-changed-secret", "it reads a changed certificate without a restart; where it does not: ", ServedCert{Reload: ReloadOnChange, ReloadWithin: 5 * time.Minute}, since(mco, Minor{4, 19}),
			"pkg/server/api.go (SecurePort, certWatcher.Start) @ release-4.19 1a6905d98 to release-4.22 9027c94cd"),
		{
			Edge: Edge{
				ID: "kubelets-show-file", Part: PartNodes, Verifier: "kube-apiserver", Statement: "each kubelet presents the certificate in its file",
				Impact:      "logs, exec and port-forward of the node, once the old certificate expires",
				Remediation: "on the node: systemctl restart kubelet; pods keep running", In: Range{Component: kas},
				Evidence: Evidence{Verified, "kubernetes/kubernetes pkg/kubelet/certificate/kubelet.go v1.35.4; openshift/cluster-kube-apiserver-operator bindata/assets/config/defaultconfig.yaml (kubelet-preferred-address-types: InternalIP) @ 02bf68752"},
			},
			Listener: Listener{Name: "kubelet", Port: "10250"}, Direct: true,
			Certs: []ServedCert{{Name: NameAny, From: file("/var/lib/kubelet/pki/kubelet-server-current.pem"), Reload: ReloadByRenewal, ReloadWithin: time.Minute}},
		},
	}, kubeadmServers()...)
}

// configServer is the row of the machine config servers, by when they read their certificate.
func configServer(id, remediation string, reads ServedCert, in Range, source string) Server {
	reads.Name, reads.From = NameInternal, secret(mcoTarget, "machine-config-server-tls")
	return Server{
		Edge: Edge{
			ID: id, Part: PartNodes, Verifier: "Ignition on a new machine", Statement: "each machine config server presents the certificate in its Secret",
			Impact:      "nodes that are added, once their Ignition trusts the new CA alone, or once the old certificate expires",
			Remediation: remediation + "oc -n openshift-machine-config-operator delete pod -l k8s-app=machine-config-server --field-selector spec.nodeName=NODE",
			In:          in, Evidence: Evidence{Verified, mcoRepo + source},
		},
		Listener: Listener{Name: "machine-config-server", MastersOnly: true, Port: "22623"}, Direct: true,
		Certs: []ServedCert{reads},
	}
}

// apiServerCerts are what kube-apiserver presents. The cert-syncer writes a changed
// Secret to the master's files within seconds, and kube-apiserver looks at those each
// minute; the recovery certificate alone is part of a revision.
func apiServerCerts() []ServedCert {
	const soon = 5 * time.Minute
	return []ServedCert{
		{Name: NameInternal, From: InternalLoadBalancerServing(), Reload: ReloadOnChange, ReloadWithin: soon},
		{Name: NameExternal, From: secret(kasTarget, "external-loadbalancer-serving-certkey"), Custom: NamedCertificates(), Reload: ReloadOnChange, ReloadWithin: soon},
		{Name: nameServiceNetwork, From: secret(kasTarget, "service-network-serving-certkey"), Reload: ReloadOnChange, ReloadWithin: soon},
		{Name: nameLocalhost, From: secret(kasTarget, "localhost-serving-cert-certkey"), Reload: ReloadOnChange, ReloadWithin: soon},
		{Name: nameRecovery, From: secret(kasTarget, "localhost-recovery-serving-certkey"), Reload: ReloadByRollout, ReloadWithin: time.Hour,
			Remediation: "it comes with a new revision of kube-apiserver; how far that is: oc get kubeapiserver cluster -o jsonpath='{.status.nodeStatuses}'"},
	}
}

// IsExternalServingCert reports whether a Secret's certificate is presented for the name by which
// people reach the API from outside of the cluster, by kubeconfigs of their own. No client in
// the cluster verifies it.
func IsExternalServingCert(at Ref) bool {
	return slices.ContainsFunc(apiServerCerts(), func(s ServedCert) bool { return s.Name == NameExternal && s.From == at })
}

// NamedCertificates are where kube-apiserver has the certificates that an
// administrator gave it, for names of their own.
func NamedCertificates() []Ref {
	return []Ref{secret(kasTarget, "user-serving-cert-*")}
}

// CustomAPIIntEdge is the claim that no administrator's certificate is presented for
// api-int, which is not supported.
func CustomAPIIntEdge() Edge {
	return Edge{
		ID: "api-int-own-certificate", Part: PartAPIInt, Verifier: "kubelets", Statement: "api-int presents its own certificate, and none of an administrator's",
		ServerName:  NameInternal,
		Impact:      "clients that trust the cluster's own CA for api-int: kubelets, kube-controller-manager, the network; and new CAs are of no use to them",
		Remediation: "oc edit apiserver cluster: give each of spec.servingCerts.namedCertificates its names, without api-int",
		In:          Range{Component: kas}, Evidence: Evidence{Verified, "docs.okd.io/4.20/security/certificates/api-server.html (Do not provide a named certificate for the internal load balancer)"},
	}
}
