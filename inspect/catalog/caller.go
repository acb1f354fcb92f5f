package catalog

import "time"

// Caller is a row: masters call servers and present a client certificate to them, and whether
// these accept it is seen by a request that is made with it, where it lies. The Edge is the
// claim that they do; its Presented is what the file is a copy of.
type Caller struct {
	Edge
	ListenerName     string // the server to which it is presented: the Listener's name of a Server
	Certificate, Key string // files on masters
	// CA is the file by which the server is verified before it is asked; '*' stands for
	// the number of a revision, of which the highest counts.
	CA   string
	Path string // what is asked for by HTTP: it needs a client that is known, and changes nothing
	// ReloadWithin is how long the server takes to read a file of CAs that has changed.
	ReloadWithin time.Duration
}

// Callers returns every row about which clients servers accept.
func Callers() []Caller {
	const resources = "/etc/kubernetes/static-pod-resources/"
	return []Caller{
		{
			Edge: Edge{
				ID: "kubelets-accept", Part: PartControlPlane, Verifier: "kubelet, for client certificates", Statement: "kubelets accept requests with kube-apiserver's client certificate",
				Presented: secret(kasTarget, "kubelet-client"), ServerName: NameClient, Reload: ReloadOnChange,
				Impact:      proxiedByAPI,
				Remediation: "on NODE: where /etc/kubernetes/kubelet-ca.crt holds the CA, which {} verify control-plane tells, systemctl restart kubelet: pods keep running",
				In:          Range{Component: kas},
				Evidence: Evidence{Verified, "openshift/cluster-kube-apiserver-operator bindata/assets/config/defaultconfig.yaml (kubelet-client-certificate, kubelet-certificate-authority) @ c813e820b, release-4.12 0217c88fb to release-4.23 440392249, the same in all of them; " +
					"kubernetes/kubernetes pkg/kubelet/server/auth.go, staging/src/k8s.io/apiserver/pkg/server/dynamiccertificates/dynamic_cafile_content.go v1.35.4"},
			},
			ListenerName: "kubelet", Certificate: resources + "kube-apiserver-certs/secrets/kubelet-client/tls.crt", Key: resources + "kube-apiserver-certs/secrets/kubelet-client/tls.key",
			CA: resources + "kube-apiserver-pod-*/configmaps/kubelet-serving-ca/ca-bundle.crt", Path: "/healthz", ReloadWithin: 2 * time.Minute,
		},
	}
}
