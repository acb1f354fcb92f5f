package catalog

import (
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Edge is a row: a client verifies what a server presents, or a server what a client
// presents. It holds when that verifies against the verifier's trust anchors.
type Edge struct {
	ID        string // lower-kebab, unique, never changes
	Part      Part
	Verifier  string // who verifies, for people, such as "kubelet"
	Statement string // what is true when it holds, for people
	// Trust is where the verifier's trust anchors are. A pattern, or a file on
	// nodes, is one edge for each place that fits.
	Trust Ref
	// Optional: where there are no trust anchors, there is no such verifier; of a
	// Server: nodes that have no such file have none. Without
	// it, no certificate verifies with trust anchors that are not there, which is worse than wrong ones.
	Optional bool
	// OnNodesWith is a file on the nodes on which the verifier runs, where its Trust lies on others, too. Nodes
	// on which the Trust is the same are one place then. Empty: it runs wherever the Trust lies.
	OnNodesWith string
	// Presented is where what is presented comes from, as far as an object says it: the
	// leaf, and its chain. The Key of a file is the end of a field's name in it. With Selector, any object of the Kind that carries it.
	Presented Ref
	Selector  ObjectSelector
	// CustomPresented is an administrator's, which is presented in place of Presented where it is there.
	CustomPresented Ref
	// OnlyIfExists is an object that is there wherever this verifier is; zero: it is
	// everywhere.
	OnlyIfExists Ref
	// Beside is what else decides where there is this verifier, for people: it is not read, and so not judged.
	Beside string
	// OnlyWithout is where else the verifier's trust anchors may be: where that is there, it does not
	// read the Trust.
	OnlyWithout Ref
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
	Ahead       string // Remediation as long as the edge still passes; empty: Remediation
	// RestartedPods is the row of NodeDaemonSets that is restarted after the Remediation, and never before it;
	// empty: none.
	RestartedPods string
	In            Range
	Evidence
}

// PodsRestartedFor is the row of the pods that are restarted once an edge is repaired.
func PodsRestartedFor(e Edge) (NodeDaemonSet, bool) {
	rows := NodeDaemonSets()
	i := slices.IndexFunc(rows, func(p NodeDaemonSet) bool { return e.RestartedPods != "" && p.ID == e.RestartedPods })
	if i < 0 {
		return NodeDaemonSet{}, false
	}
	return rows[i], true
}

// Steps are what repairs an edge, in order; "{}" stands for the program, NODE for a node.
func (e Edge) Steps() []string {
	steps := []string{e.Remediation}
	if p, ok := PodsRestartedFor(e); ok {
		steps = append(steps, "only once the node is repaired, restart its "+p.DaemonSet+" pod (fix-api-int without --nodes does so itself):", p.DeletePodCommand())
	}
	return steps
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
	// NameAny: a server certificate, whatever its name: the client knows none, or it is
	// unknown here.
	NameAny ServerName = "(any)"
)

// ReloadPolicy says when a verifier reads its trust anchors, and so when a change of them
// counts.
type ReloadPolicy string

// When trust anchors are read.
const (
	ReloadAtStart   ReloadPolicy = "at its start"
	ReloadOnChange  ReloadPolicy = "when the file changes"
	ReloadEachTime  ReloadPolicy = "each time"
	ReloadByRollout ReloadPolicy = "by a rollout of its static pods"
	// ReloadByDeployment: its operator rolls the Deployment out for each change of them.
	ReloadByDeployment ReloadPolicy = "by a rollout of its Deployment"
	// ReloadByReload: it does not watch them, and reads them with its own configuration.
	ReloadByReload ReloadPolicy = "when it reloads its configuration"
	// ReloadByProgram: the verifiers are many programs, and some read it at their start alone.
	ReloadByProgram  ReloadPolicy = "as each program reads it"
	ReloadByNewNodes ReloadPolicy = "when a node is added"
	// ReloadByRenewal: it writes the file itself. What another writes there, it reads at its start.
	ReloadByRenewal ReloadPolicy = "when the kubelet renews it"
)

func allEdges() []Edge {
	var out []Edge
	for _, rows := range [][]Edge{
		apiIntEdges(), networkEdges(), onPremEdges(), controlPlaneEdges(), localhostEdges(), serviceCallEdges(), nodeEdges(), newMachineEdges(), metricsEdges(), serviceEdges(), registryEdges(), routeEdges(),
		openShiftAPIEdges(), oauthAPIEdges(), anchorEdges(), proxyEdges(), registryCAEdges(), accessEdges(), bundleEdges(), kubeadmEdges(),
	} {
		out = append(out, rows...)
	}
	return out
}
