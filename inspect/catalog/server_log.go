package catalog

import "path"

// ServerLog is a row: a TLS server that writes into its log which clients broke off a
// handshake, and why. It says of clients that are not read whether they trust what is
// presented to them. Its Edge has no trust anchors and no certificate: they are the clients' and
// the server's own.
type ServerLog struct {
	Edge
	Server    string // for people, such as "kube-apiserver"
	Namespace string // of its pods
	Pod       string // beginning of their names
	Container string
	// Quiet: it may write nothing for hours, so that the end of its log says nothing.
	Quiet bool
	// Level is how it has to be configured to write that, for people: else it is
	// silent, whatever refuses it. Empty: it always writes it.
	Level string
	// Balanced: where a cluster keeps the addresses of its API itself, a client with a
	// master's address may be any client that comes by the balancer on that master.
	Balanced bool
}

// Path is the pattern for its logs on nodes, those of containers that are gone
// included as long as the kubelet keeps them.
func (l ServerLog) Path() string {
	return "/var/log/pods/" + l.Namespace + "_" + l.Pod + "*_*/" + l.Container + "/*.log"
}

// ServerLogOf returns the row for a path on a node, or in a must-gather; the zero row
// where there is none.
func ServerLogOf(name string) ServerLog {
	for _, l := range ServerLogs() {
		if ok, err := path.Match(l.Path(), name); ok && err == nil {
			return l
		}
	}
	return ServerLog{}
}

// ServerLogs returns every row about logs of servers. What net/http writes is
// "http: TLS handshake error from ADDRESS: remote error: tls: REASON": the alert that
// the client sent, by its name in crypto/tls.
func ServerLogs() []ServerLog {
	format := "; net/http server.go and crypto/tls alert.go, go1.26"
	fromFive := "; k8s.io/apiserver pkg/server/secure_serving.go tlsHandshakeErrorWriter (klog verbosity 5) v0.25.0 and v0.35.4"
	apiServer := func(id, namespace, level, remediation string, part Part, in Range, e Evidence) ServerLog {
		e.Source += format + fromFive
		return ServerLog{Server: "kube-apiserver", Namespace: namespace, Pod: "kube-apiserver-", Container: "kube-apiserver", Level: level, Edge: Edge{
			ID: id, Part: part, Verifier: "clients of kube-apiserver", Statement: "no client refuses the certificate that kube-apiserver presents",
			Impact:      "these clients: they can't reach the API",
			Remediation: remediation + " --nodes NODE, to see whose trust anchors there lack what",
			In:          in, Evidence: e,
		}}
	}
	openShift := apiServer("apiserver-refused", kasTarget, "logLevel Trace", "{} verify api-int", PartAPIInt, Range{Component: kas}, Evidence{Verified, "openshift/cluster-kube-apiserver-operator bindata/assets/kube-apiserver/pod.yaml @ c813e820b, pkg/operator/targetconfigcontroller/targetconfigcontroller.go (Trace: -v=6) @ release-4.12 0217c88fb, release-5.0 440392249"})
	openShift.Balanced = true
	openShift.Evidence.Source += "; HAProxy on control plane nodes passes on TCP by its own address: " + mcoRepo + "templates/master/00-master/on-prem/files/haproxy-haproxy.yaml @ release-4.12 1d4cfffaa, release-5.0 d20efd9b9"
	return []ServerLog{
		openShift,
		apiServer("kubeadm-apiserver-refused", "kube-system", "--v=5", "{} verify nodes control-plane", PartControlPlane, Range{Component: Kubernetes}, Evidence{Field, "kubernetes/kubernetes cmd/kubeadm/app/phases/controlplane/manifests.go v1.35.4"}),
		{Server: "machine-config-server", Namespace: mcoTarget, Pod: "machine-config-server-", Container: "machine-config-server", Quiet: true, Edge: Edge{
			ID: "config-server-refused", Part: PartNodes, Verifier: "new machines", Statement: "no client refuses the certificate that the machine config server presents",
			Impact: "these machines: they never get their configuration",
			In:     Range{Component: mco}, Evidence: Evidence{Verified, mcoRepo + "manifests/machineconfigserver/daemonset.yaml and pkg/server/api.go @ release-4.12 to 4.22" + format},
		}},
	}
}
