// Package inspect holds the facts about a cluster's certificates: a Snapshot of what was
// read, and Facts, which is a Snapshot with a time and with what the catalog knows of each
// place. The same Snapshot comes from a live cluster or a saved file, and the time is always
// an argument.
//
// It does no IO (inspect/collect reads, plugin prints), holds no OpenShift knowledge of its
// own (inspect/catalog does) and never sees a private key. Packages beside it judge the
// facts: check by place, trust by pairs of client and server. report makes documents.
package inspect

import (
	"cmp"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Snapshot is what was read: facts, and what could not be read. It is a value:
// checks never change it.
type Snapshot struct {
	Cluster  Cluster
	Taken    time.Time
	Bundles  []Bundle
	Requests []SigningRequest
	Nodes    []Node // by name
	// OtherNodes are the nodes that no one asked to read, by name: what the API says of
	// them, so that their addresses are known.
	OtherNodes []Node
	Served     []Served
	// Reported is what a controller says of certificates; References is what one
	// object names of others.
	Reported   []Reported
	References []Reference
	Exposed    []Exposed
	ServerLogs []ServerLog
	Reads      []Read
	Gaps       []Gap
	// Listed are the namespaces of which all objects of a kind were read, where not all
	// of the cluster were.
	Listed []Listed
	// Access is the user's own way in; nil: not read.
	Access *Access
	// Status is what is asked before something is changed; nil: not read.
	Status *ClusterStatus
	// Hints write the next steps that these facts lead to.
	Hints Hints
}

// Cluster is what identifies the cluster and decides which catalog rows hold.
type Cluster struct {
	ID       string // that it gave itself: ClusterVersion.spec.clusterID; empty: not read, or no OpenShift
	Server   string // the API's URL as the kubeconfig has it
	Context  string // of the kubeconfig
	Versions catalog.Versions
	Topology string // Infrastructure.status.controlPlaneTopology
	Platform string // Infrastructure.status.platformStatus.type
	Internal string // URL of api-int: Infrastructure.status.apiServerInternalURI
	External string // URL of api: Infrastructure.status.apiServerURL
	// OwnAddresses says whether the cluster keeps the addresses of its API itself, as
	// it may on some platforms: there are apiServerInternalIPs in
	// Infrastructure.status.platformStatus.
	OwnAddresses catalog.Tristate
	// Kubeadm says whether kubeadm left its ConfigMap in it (kube-system/kubeadm-config);
	// see Snapshot.MadeByKubeadm.
	Kubeadm catalog.Tristate
	// Created is when the cluster was born (ClusterVersion's or kube-system's
	// creation); zero when unknown.
	Created time.Time
	// InitialVersion is the version with which ClusterVersion's history begins; empty: not
	// read. The history is pruned: the cluster may be older.
	InitialVersion string
	// Clock is the API server's against ours; zero when it did not say.
	Clock Clock
	// Unauthenticated says why another server than the API server may have told these
	// facts, such as no TLS; empty: it was authenticated, or not asked.
	Unauthenticated string
	// Synthetic says, where not empty, that these facts were made up, and why.
	Synthetic string
	// Read is when these facts were, and Opened when the file was that has them; zero: no file.
	Read, Opened time.Time
}

// Object is the API object that holds a Bundle: only what checks and filters
// ask for. Annotations are limited to those that speak of certificates.
type Object struct {
	Kind            pki.Kind
	Namespace, Name string
	Type            string // of a Secret
	Signer          string // of a CertificateSigningRequest
	Created         time.Time
	Labels          map[string]string
	Annotations     map[string]string
	// MoreLabels: it has others that are not in Labels, as they were too many.
	MoreLabels bool
}

// Bundle is what one place holds. Content is shared between places whose bytes
// are the same.
type Bundle struct {
	At      pki.Location
	Object  *Object // nil for files
	Content *pki.Content
	// FailurePolicy is what the API server does where it cannot call the webhook whose caBundle this is.
	FailurePolicy FailurePolicy
}

// FailurePolicy is that of a webhook (k8s.io/api/admissionregistration/v1 types.go, FailurePolicyType); zero: nothing
// says it. It is one byte: a large cluster has a million bundles.
type FailurePolicy uint8

// The failure policies.
const (
	PolicyFail   FailurePolicy = iota + 1 // what it was to judge is rejected
	PolicyIgnore                          // what it was to judge is taken unjudged
)

// MarshalText writes the API's word.
func (p FailurePolicy) MarshalText() ([]byte, error) {
	switch p {
	case PolicyFail:
		return []byte("Fail"), nil
	case PolicyIgnore:
		return []byte("Ignore"), nil
	}
	return nil, nil
}

// UnmarshalText reads the API's word; any other says nothing.
func (p *FailurePolicy) UnmarshalText(text []byte) error {
	switch string(text) {
	case "Fail":
		*p = PolicyFail
	case "Ignore":
		*p = PolicyIgnore
	default:
		*p = 0
	}
	return nil
}

// Condition of a SigningRequest.
type Condition string

// The conditions of a CertificateSigningRequest, derived from its status.
const (
	Pending  Condition = "Pending"  // no one decided
	Approved Condition = "Approved" // decided, certificate not issued yet
	Issued   Condition = "Issued"
	Denied   Condition = "Denied"
	Failed   Condition = "Failed"
)

// SigningRequest is a CertificateSigningRequest. The certificate that was
// issued, if any, is a Bundle of its own at status.certificate.
type SigningRequest struct {
	Object    *Object
	Signer    string // spec.signerName
	Requester string // spec.username
	Condition Condition
	Since     time.Time // of the condition; the creation while pending
	Reason    string    // of a denial or failure
	Request   *pki.Request
	Bad       string // why spec.request could not be read; empty when it could
}

// Served is what a TLS server showed to someone who connected to it.
type Served struct {
	Node    string      // from where; empty: from the user's own machine
	Address string      // host:port, as it was dialled
	Name    string      // the server name that was asked for; empty: none
	Chain   []*pki.Cert // as it was presented, the leaf first
	// Server is the name of a catalog.Listener; empty: the server in a kubelet's
	// kubeconfig, whoever answers there.
	Server  string
	Of      string // the node on which the server listens, where Address is its own
	Problem string // why nothing was presented; else empty
}

// Reported is what a controller says, in the status of an object, of a certificate
// that is somewhere else. Times are zero where it does not say them.
type Reported struct {
	At              pki.Location // MachineConfigPool/worker#status.certExpirys[0]
	Bundle          string       // in which it is: KubeAPIServerServingCAData, or a registry's file
	Subject, Signer string       // Signer: the certificate's issuer
	NotBefore       time.Time
	NotAfter        time.Time
}

// Reference is a field that names another object: the cluster's configuration
// names certificates, and a MachineConfigPool the MachineConfigs that it uses.
type Reference struct {
	From   pki.Location // the field
	To     pki.Location // the object, and the key that counts; no Key: any
	Target Target
}

// Exposed is a log in which someone printed a kubeconfig with its token or key: on
// a node, or in a must-gather. Of the lines nothing is kept but their number.
type Exposed struct {
	At           pki.Location
	Mode         fs.FileMode // of the file on a node
	Tokens, Keys int         // lines that hold one
	First, Last  time.Time   // when the first and the last of them were written; zero: the log does not say
}

// ServerLog is what a TLS server's log says of clients that broke off a handshake
// because of the certificate that was presented. Times are the server's; zero where the
// log does not say them.
type ServerLog struct {
	At       pki.Location // on a node, or in a must-gather
	Row      string       // ID of the catalog's ServerLog
	From, To time.Time    // of what was read
	Refused  []Refused
	LeftOut  bool // there were more clients: those that refused last are in Refused
}

// Refused is a client, and the reason that it gave.
type Refused struct {
	Client      string // its address
	Reason      string // TLS's name of the alert, such as "bad certificate"
	Count       int
	First, Last time.Time
}

// Target is what is known of the object that a Reference names.
type Target string

// What may be known. It says nothing of what the object holds.
const (
	TargetUnknown Target = ""
	TargetThere   Target = "there"
	TargetAbsent  Target = "absent" // it was looked for where it must be
)

// Read says what was read completely, or skipped for a reason that leaves
// nothing open.
type Read struct {
	What    string // "secrets", "configmaps", "kubeconfig", "file"
	Where   string // namespace or path; empty: the whole cluster
	Objects int
	Skipped bool   // not read, and nothing is open for it; Note says why, and what goes without
	Note    string // such as "not served by this cluster"; empty mostly
	Next    string // how it is read all the same; empty mostly
}

// Listed is a namespace of which all objects of a kind were read.
type Listed struct {
	Kind      pki.Kind
	Namespace string
}

// Gap is something in scope that could not be read: UNKNOWN, never fine.
type Gap struct {
	What   string // "secrets", "node/worker-3"
	Where  string // namespace or path; empty: the whole cluster
	Reason string // what was tried, and what it answered
	Next   string // what the reader can do about it
}

// Merge puts snapshots together, in order. The cluster is the first one that
// has a server or a version; of files that know no server, what they tell of it
// together. The time is the newest.
func Merge(parts ...Snapshot) Snapshot {
	if len(parts) == 1 {
		return parts[0]
	}
	var m Snapshot
	bundles := 0
	for _, p := range parts {
		bundles += len(p.Bundles)
	}
	m.Bundles = make([]Bundle, 0, bundles)
	for _, p := range parts {
		doubt := cmp.Or(m.Cluster.Unauthenticated, p.Cluster.Unauthenticated)
		switch {
		case m.Cluster.Server == "" && p.Cluster.Server == "" && m.Cluster.Synthetic == "" && p.Cluster.Synthetic == "":
			m.Cluster = m.Cluster.and(p.Cluster)
		case m.Cluster.Server == "" && m.Cluster.Versions.Empty():
			m.Cluster = p.Cluster
		}
		m.Cluster.Unauthenticated = doubt
		if p.Taken.After(m.Taken) {
			m.Taken = p.Taken
		}
		m.Bundles = append(m.Bundles, p.Bundles...)
		m.Requests = append(m.Requests, p.Requests...)
		m.Nodes = append(m.Nodes, p.Nodes...)
		m.OtherNodes = append(m.OtherNodes, p.OtherNodes...)
		m.Served = append(m.Served, p.Served...)
		m.Reported = append(m.Reported, p.Reported...)
		m.References = append(m.References, p.References...)
		m.Exposed = append(m.Exposed, p.Exposed...)
		m.ServerLogs = append(m.ServerLogs, p.ServerLogs...)
		m.Reads = append(m.Reads, p.Reads...)
		m.Gaps = append(m.Gaps, p.Gaps...)
		m.Listed = append(m.Listed, p.Listed...)
		if m.Access == nil {
			m.Access = p.Access
		}
		if m.Status == nil {
			m.Status = p.Status
		}
	}
	return m
}

// and adds what more tells of the same cluster.
func (c Cluster) and(more Cluster) Cluster {
	operators := maps.Clone(more.Versions.Operators)
	if operators == nil {
		operators = c.Versions.Operators
	} else {
		maps.Copy(operators, c.Versions.Operators)
	}
	c.Versions = catalog.Versions{
		Cluster: cmp.Or(c.Versions.Cluster, more.Versions.Cluster), Kubernetes: cmp.Or(c.Versions.Kubernetes, more.Versions.Kubernetes),
		Operators: operators, NotOpenShift: c.Versions.NotOpenShift || more.Versions.NotOpenShift,
	}
	c.ID, c.Context = cmp.Or(c.ID, more.ID), cmp.Or(c.Context, more.Context)
	c.Topology, c.Platform, c.Internal = cmp.Or(c.Topology, more.Topology), cmp.Or(c.Platform, more.Platform), cmp.Or(c.Internal, more.Internal)
	c.InitialVersion = cmp.Or(c.InitialVersion, more.InitialVersion)
	c.External = cmp.Or(c.External, more.External)
	c.OwnAddresses, c.Kubeadm = cmp.Or(c.OwnAddresses, more.OwnAddresses), cmp.Or(c.Kubeadm, more.Kubeadm)
	if c.Created.IsZero() || !more.Created.IsZero() && more.Created.Before(c.Created) {
		c.Created = more.Created
	}
	return c
}

// Sort puts facts in the order of their locations, so that two readings of the
// same cluster are the same value. Of facts at the same location (two
// snapshots of one cluster) the order of reading is kept.
func (s *Snapshot) Sort() {
	slices.SortStableFunc(s.Bundles, func(a, b Bundle) int { return pki.Compare(a.At, b.At) })
	slices.SortStableFunc(s.Requests, func(a, b SigningRequest) int { return cmp.Compare(a.Object.Name, b.Object.Name) })
	slices.SortStableFunc(s.Nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(s.OtherNodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(s.Served, func(a, b Served) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Address, b.Address), cmp.Compare(a.Name, b.Name))
	})
	slices.SortStableFunc(s.Reported, func(a, b Reported) int { return pki.Compare(a.At, b.At) })
	slices.SortStableFunc(s.References, func(a, b Reference) int { return pki.Compare(a.From, b.From) })
	slices.SortStableFunc(s.Exposed, func(a, b Exposed) int { return pki.Compare(a.At, b.At) })
	slices.SortStableFunc(s.ServerLogs, func(a, b ServerLog) int { return pki.Compare(a.At, b.At) })
}

// ID names the object, such as "Secret/ns/name".
func (o *Object) ID() string { return o.At().String() }

// At is the object's own place.
func (o *Object) At() pki.Location {
	return pki.Location{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}
