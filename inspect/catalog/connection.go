package catalog

import "time"

// Connection is a row: a verifier that holds a connection with kube-apiserver, and
// so verifies what that presents only when it reconnects.
type Connection struct {
	Edges []string // IDs of the edges about it
	// Every is how long it waits between two requests at most; zero: unknown.
	Every time.Duration
	// Client is its own client certificate, whose renewal makes it reconnect: client-go looks at its
	// files every 5 minutes. Zero: it has none in files, or its renewal has no such effect. Where
	// kube-controller-manager's is renewed, its controllers' connections stay, as they have tokens.
	Client Ref
	Evidence
}

// connections returns every row about who holds a connection.
func connections() []Connection {
	one := Evidence{Field, "kubernetes/client-go: one HTTP/2 connection for all requests of a client, its watches among them"}
	closed := func(source string) Evidence {
		return Evidence{Verified, "kubernetes/client-go transport/cert_rotation.go (loadClientCert: CloseAll) and transport.go (ReloadTLSFiles) @ release-1.25 and release-1.35; " + source}
	}
	return []Connection{
		{
			// A lease of 40 s, renewed at a quarter of that.
			Edges: []string{"kubelet-api-int", "kubelet-memory-api-int", "kubeadm-kubelet-api"}, Every: 10 * time.Second, Client: file("/var/lib/kubelet/pki/kubelet-client-current.pem"),
			Evidence: Evidence{Verified, "kubernetes/kubernetes pkg/kubelet/kubelet.go (nodeLeaseRenewIntervalFraction) and pkg/kubelet/certificate/transport.go @ 00ef64f0b (addCertRotation)"},
		},
		{
			Edges:    []string{"controller-manager-api-int", "machine-config-daemon-api-int", "machine-config-daemon-reloaded-api-int", "pods-kubernetes-service", "kubeadm-controller-manager-api", "kubeadm-scheduler-api", "kubeadm-pods-kubernetes-service"},
			Evidence: one,
		},
		{
			Edges: []string{"scheduler-api-int"}, Client: secret(schedulerTarget, "kube-scheduler-client-cert-key"),
			Evidence: closed(schedulerRepo + "bindata/assets/kube-scheduler/kubeconfig-cm.yaml @ " + schedulerRead),
		},
		{
			Edges: []string{"machine-config-daemon-node-writer-api-int", "machine-config-daemon-memory-api-int"}, Client: file("/var/lib/kubelet/pki/kubelet-client-current.pem"),
			Evidence: closed(nodeWriter().Source),
		},
		{
			Edges: []string{"multus-api-int", "multus-memory-api-int"}, Client: file("/etc/cni/multus/certs/multus-client-current.pem"),
			Evidence: closed("openshift/multus-cni pkg/k8sclient/kubeconfig.go (PerNodeK8sClient) @ release-4.14 to 4.22"),
		},
		{
			Edges: []string{"ovnkube-node-service-account-api-int", "ovnkube-node-api-int", "ovnkube-node-memory-api-int"}, Client: file("/var/lib/ovn-ic/etc/ovnkube-node-certs/ovnkube-client-current.pem"),
			Evidence: closed(networkRepo + "bindata/network/ovn-kubernetes/common/008-script-lib.yaml (cert-dir) @ release-4.14 to 4.22"),
		},
	}
}

// ConnectionOf returns the row about an edge's verifier; false where it holds no
// connection.
func ConnectionOf(edge string) (Connection, bool) {
	for _, c := range connections() {
		for _, id := range c.Edges {
			if id == edge {
				return c, true
			}
		}
	}
	return Connection{}, false
}

// Goaway is a row: how often kube-apiserver asks clients to reconnect, while it
// runs on.
type Goaway struct {
	// Topology is the value of Infrastructure's status.controlPlaneTopology for which
	// the row holds; empty: for those that have no row of their own.
	Topology string
	// Chance is that of a single HTTP/2 request to end its connection; zero: it never
	// does.
	Chance float64
	Doc    string // what people must know beyond the number; mostly empty
	In     Range
	Evidence
}

// goaways returns every row about kube-apiserver's goaway-chance.
func goaways() []Goaway {
	const repo = "openshift/cluster-kube-apiserver-operator "
	observed := repo + "pkg/operator/configobservation/apiserver/observe_goaway_chance.go @ "
	never := Evidence{Verified, repo + "bindata/assets/config/defaultconfig.yaml @ release-4.12 0217c88fb to release-4.17 84e19b214"}
	in418, in419 := between(kas, Minor{4, 18}, Minor{4, 18}), between(kas, Minor{4, 19}, Minor{4, 19})
	merged418, merged419 := Change{Lacks: 23, Has: 24, Merged: "2025-09-03"}, Change{Lacks: 9, Has: 12, Merged: "2025-08-28"}
	const hosted = "annotation hypershift.openshift.io/kube-apiserver-goaway-chance may set another"
	const hypershift, oneReplica = "openshift/hypershift control-plane-operator/controllers/hostedcontrolplane/", "0 where the hosted control plane has a single replica; " + hosted
	hosts418, hosts419 := Change{Lacks: 25, Has: 27, Merged: "2025-10-08"}, Change{Lacks: 10, Has: 12, Merged: "2025-09-03"}
	byHost := func(merge string) Evidence {
		return Evidence{Derived, hypershift + "kas/params.go @ " + merge + "; v2/kas, which an annotation asks for, keeps 0; " + offered}
	}
	came418 := Evidence{Derived, observed + "release-4.18 e9bc90906; 7de8bb461, merged as b6ad4b065; " + offered}
	came419 := Evidence{Derived, observed + "release-4.19 1b4840343; ed836a1f5, merged as 80c1fc3d8; " + offered}
	return []Goaway{
		{In: Range{Component: kas, To: Minor{4, 17}}, Evidence: never},
		{In: in418.before(merged418), Evidence: came418},
		{Chance: 0.001, In: in418.since(merged418), Evidence: came418},
		{In: in419.before(merged419), Evidence: came419},
		{Chance: 0.001, In: in419.since(merged419), Evidence: came419},
		{Chance: 0.001, In: since(kas, Minor{4, 20}), Evidence: Evidence{Verified, observed + "release-4.20 e9accf887 to release-4.23 440392249"}},
		{Topology: "External", Doc: hosted, In: in418.before(hosts418), Evidence: byHost("release-4.18: a128ce867b")},
		{Topology: "External", Chance: 0.001, Doc: oneReplica, In: in418.since(hosts418), Evidence: byHost("release-4.18: a128ce867b")},
		{Topology: "External", Doc: hosted, In: in419.before(hosts419), Evidence: byHost("release-4.19: edfa49d739")},
		{Topology: "External", Chance: 0.001, Doc: oneReplica, In: in419.since(hosts419), Evidence: byHost("release-4.19: edfa49d739")},
		{Topology: "External", Chance: 0.001, Doc: oneReplica, In: since(kas, Minor{4, 20}), Evidence: Evidence{Verified, hypershift + "v2/kas/params.go @ release-4.20 to release-4.22, since d219178f74 (2025-08-27)"}},
		{Topology: "SingleReplica", In: since(kas, Minor{4, 18}), Evidence: Evidence{Verified, observed + "release-4.18 e9bc90906 to release-4.23 440392249"}},
	}
}

// GoawayOf returns the row that holds for a topology and v. Unknown: the version, or
// the topology that decides, is unknown.
func GoawayOf(topology string, v Versions) (Goaway, Tristate) {
	if topology != "" {
		if own, answer := goawayFor(topology, v); answer != No {
			return own, answer
		}
		return goawayFor("", v)
	}
	for _, g := range goaways() {
		if g.Topology != "" && g.In.Holds(v) != No {
			return Goaway{}, Unknown
		}
	}
	return goawayFor("", v)
}

// goawayFor asks the rows of one topology alone: those of another one, whose patch may be
// undecided, say nothing about it.
func goawayFor(topology string, v Versions) (Goaway, Tristate) {
	answer := No
	for _, g := range goaways() {
		if g.Topology != topology {
			continue
		}
		switch g.In.Holds(v) {
		case Yes:
			return g, Yes
		case Unknown:
			answer = Unknown
		}
	}
	return Goaway{}, answer
}
