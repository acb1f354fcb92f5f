package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// HeartbeatAge is how old a heartbeat may be while its node counts as alive: kubelets
// renew a Lease of 40 s each 10 s (kubernetes/kubernetes
// pkg/kubelet/apis/config/v1beta1/defaults.go, NodeLeaseDurationSeconds;
// pkg/kubelet/kubelet.go, nodeLeaseRenewIntervalFraction), and kube-controller-manager calls
// a node without a heartbeat Unknown after 40 s, from 1.32 on 50 s
// (pkg/controller/nodelifecycle/config/v1alpha1/defaults.go, NodeMonitorGracePeriod).
const HeartbeatAge = 50 * time.Second

// leaseMost is how long a Lease may say that it lasts: a kubelet writes it itself, and
// kube-controller-manager does not look at it.
const leaseMost = 5 * time.Minute

// Lease is how a heartbeat was read: of the Lease that a kubelet renews, all but its
// renewTime. The zero value: it was not read.
type Lease struct {
	Duration time.Duration // leaseDurationSeconds; zero: it does not say
	// Asked is when it was read, by the API server's Date and not by this machine's clock;
	// zero: unknown.
	Asked time.Time
	// Advanced: its renewTime was seen to advance between two readings.
	Advanced bool
	Absent   bool   // there is none
	Unread   string // why it could not be read
}

// NodeHealth is what is known of whether a node works. Ready alone is no proof: after a
// power-off Nodes stay Ready=True, since OpenShift's network-node-identity webhook can't
// run and rejects updates of their status.
type NodeHealth struct {
	// Alive is Yes where its heartbeat was seen, No where it was looked for and is not
	// there, Unknown where its Lease, or the time of the reading, is unknown.
	Alive catalog.Tristate
	Ready string // the condition; empty: not read
	why   string // of Alive
	// silent is how old its heartbeat is, in words; empty: it is none, or not too old.
	silent string
}

// NodeHealthOf judges a node by its condition Ready, and by when its Lease was last renewed by
// its own clock, which is ahead of the API server's by so much as far as that is known.
func NodeHealthOf(ready string, renewed time.Time, l Lease, ahead time.Duration) NodeHealth {
	life := NodeHealth{Ready: ready}
	age, most := l.Asked.Sub(renewed.Add(-ahead)), max(HeartbeatAge, min(l.Duration, leaseMost)*5/4)
	switch {
	case l.Advanced:
		life.Alive = catalog.Yes
	case l.Unread != "":
		life.why = "heartbeat not read: " + l.Unread
	case l.Absent:
		life.Alive, life.why = catalog.No, "no heartbeat (there is no Lease)"
	case renewed.IsZero() && l != (Lease{}):
		life.Alive, life.why = catalog.No, "no heartbeat (the Lease was never renewed)"
	case renewed.IsZero():
		life.why = "heartbeat not read"
	case l.Asked.IsZero():
		life.why = "heartbeat of unknown age: when the Lease was read is unknown"
	case age < -most:
		life.why = fmt.Sprintf("heartbeat of unknown age: the Lease is %s ahead of the API server's time", inWords(-age))
	case age > most:
		life.silent = inWords(age)
		life.Alive, life.why = catalog.No, fmt.Sprintf("no heartbeat for %s (Lease)", life.silent)
	default:
		life.Alive = catalog.Yes
	}
	return life
}

func inWords(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 2*day:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d/day))
}

// Unhealthy reports whether a node is known not to work: without a heartbeat, or not Ready.
func (l NodeHealth) Unhealthy() bool {
	return l.Alive == catalog.No || l.Ready != "" && l.Ready != "True"
}

// Healthy is Yes where a node is Ready and its heartbeat was seen, and No where it is Unhealthy.
func (l NodeHealth) Healthy() catalog.Tristate {
	switch {
	case l.Unhealthy():
		return catalog.No
	case l.Alive == catalog.Yes && l.Ready == "True":
		return catalog.Yes
	}
	return catalog.Unknown
}

// Words are for programs: "yes", "no" or "unknown", and why it is not yes. Both are empty
// where the API was not asked.
func (l NodeHealth) Words() (alive, heartbeat string) {
	if l.Ready == "" && l.Alive == catalog.Unknown {
		return "", ""
	}
	return l.Alive.String(), l.why
}

// Heartbeat says of a node that is not certain to be alive why, for people; empty: it is.
func (l NodeHealth) Heartbeat() string { return l.why }

// Brief says in two or three words how a node is; empty: nothing of it was read.
func (l NodeHealth) Brief() string {
	switch {
	case l.Alive == catalog.No && l.silent != "":
		return "no heartbeat " + l.silent
	case l.Alive == catalog.No:
		return "no heartbeat"
	case l.Ready != "True" && l.Ready != "":
		return "NotReady"
	case l.Ready == "True" && l.Alive == catalog.Yes:
		return "Ready"
	case l.Ready == "True":
		return "Ready, heartbeat unknown"
	}
	return ""
}

// WhyUnhealthy says of a node that is lost how, after its name or "which".
func (l NodeHealth) WhyUnhealthy() string {
	notReady := l.Ready != "" && l.Ready != "True"
	switch {
	case l.Alive == catalog.No && notReady:
		return "is not Ready (" + l.why + ")"
	case l.Alive == catalog.No:
		return "has " + l.why
	}
	return "is not Ready"
}

// String says what is wrong, or unknown; empty: the node works.
func (l NodeHealth) String() string {
	switch {
	case l.Alive == catalog.No && l.Ready != "True" && l.Ready != "":
		return l.why + ", Ready is " + l.Ready
	case l.Alive == catalog.No:
		return l.why
	case l.Ready != "True" && l.Ready != "":
		return "NotReady (Ready is " + l.Ready + ")"
	case l.Alive == catalog.Unknown && l.Ready == "True":
		return l.why + "; Ready is True, which alone proves nothing"
	}
	return l.why
}

// NodeHealth judges a node of the snapshot. A file from before it said when Leases were read is
// from one moment: the time of the snapshot is theirs.
func (s *Snapshot) NodeHealth(n *Node) NodeHealth {
	var ahead time.Duration
	lease := n.Lease
	least, most, ok := s.Cluster.Clock.Ahead()
	nodeLeast, nodeMost, known := n.Clock.Ahead()
	if ok && known {
		ahead = (nodeLeast+nodeMost)/2 - (least+most)/2
	}
	if lease == (Lease{}) && !s.Taken.IsZero() && !n.Heartbeat.IsZero() {
		lease.Asked = s.Taken.Add((least + most) / 2)
	}
	return NodeHealthOf(n.Ready, n.Heartbeat, lease, ahead)
}

// LacksClient reports whether a node's kubelet is known to have no client certificate: none is on its
// disk, and a node without a heartbeat proves that it works by no other credentials.
func (f *Facts) LacksClient(n *Node) bool {
	if n.Via == "" || f.FirstInFile(n, KubeletClient) != nil || n.File(KubeletClient) != nil || f.Snapshot.NodeHealth(n).Alive != catalog.No {
		return false
	}
	if slices.ContainsFunc(f.GapsOf(n.Name), func(g Gap) bool { return g.hides(KubeletClient) }) {
		return false
	}
	for _, h := range f.InFile(n.Name, cmp.Or(n.Kubelet.Kubeconfig, KubeletSetupOf(f.Snapshot, n).Kubeconfig)) {
		if h.Use == UseIdentity {
			return false // it is in the kubeconfig itself
		}
	}
	return f.byNode.joining[n.Name] || f.byNode.clients // else such files may not have been looked for
}

// ClientRenewal is between which times a node's kubelet renews its client certificate, and so reconnects;
// zero where that is unknown, or overdue. A kubelet that says so does not renew its own.
func (f *Facts) ClientRenewal(n *Node) (from, to time.Time) {
	h := f.FirstInFile(n, KubeletClient)
	if h == nil || h.Leaf() == nil || n.Kubelet.RotateCertificates != nil && !*n.Kubelet.RotateCertificates {
		return from, to
	}
	if r := RenewalOf(h, f.Snapshot.Cluster.Versions); r.Automatic == catalog.Yes && r.Due.After(f.Now) {
		return r.From, r.Due
	}
	return from, to
}

// APIIntIssued is when the certificate that api-int presents was issued; zero: it was not read.
func (f *Facts) APIIntIssued() time.Time {
	if f.Snapshot.Cluster.Versions.NotOpenShift {
		return time.Time{}
	}
	if h := f.At(catalog.InternalLoadBalancerServing()); h != nil && h.Leaf() != nil {
		return h.Leaf().NotBefore
	}
	for _, v := range f.Snapshot.Served {
		if v.toKubeconfig() && len(v.Chain) > 0 {
			return v.Chain[0].NotBefore
		}
	}
	return time.Time{}
}

// SilentBefore reports whether a node has no heartbeat, and had its last one before a time by the API
// server's clock: what happened then did not take it down.
func (s *Snapshot) SilentBefore(n *Node, then time.Time) bool {
	return !then.IsZero() && !n.Heartbeat.IsZero() && s.NodeHealth(n).Alive == catalog.No && n.Heartbeat.Add(HeartbeatAge).Before(then)
}

// Health judges a node by what the API says of it.
func (n NodeState) Health() NodeHealth { return NodeHealthOf(n.Ready, n.Heartbeat, n.Lease, 0) }

// NodeCounts are how many nodes of the cluster are known, and of how many of them something is true.
type NodeCounts struct {
	controlPlane, workers, all [2]int // true, known
	lacks                      bool   // see LacksControlPlane
}

// CountNodes counts nodes by their role, those that were left out among them: of these nothing is true.
func (s *Snapshot) CountNodes(is func(*Node) bool) NodeCounts {
	c := NodeCounts{lacks: s.LacksControlPlane()}
	count := func(n *Node, is bool) {
		of := []*[2]int{&c.all}
		switch n.Role {
		case catalog.RoleMaster, catalog.RoleArbiter:
			of = append(of, &c.controlPlane)
		case "":
		default:
			of = append(of, &c.workers)
		}
		for _, k := range of {
			k[1]++
			if is {
				k[0]++
			}
		}
	}
	for i := range s.Nodes {
		count(&s.Nodes[i], is(&s.Nodes[i]))
	}
	for _, n := range s.LeftOut() {
		count(&n, false)
	}
	return c
}

// String is such as "1 of 3 control plane, 2 of 5 workers"; empty: no node is known.
func (c NodeCounts) String() string {
	workers := "workers"
	if c.workers[1] == 1 {
		workers = "worker"
	}
	var parts []string
	for _, k := range []struct {
		n    [2]int
		word string
	}{{c.controlPlane, " control plane"}, {c.workers, " " + workers}} {
		if k.n[1] > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d%s", k.n[0], k.n[1], k.word))
		}
	}
	switch {
	case c.all[1] == 0:
		return ""
	case c.controlPlane[1]+c.workers[1] < c.all[1]: // the role of some is unknown
		parts = []string{fmt.Sprintf("%d of %d", c.all[0], c.all[1])}
	}
	if c.lacks && c.workers[1] == c.all[1] {
		parts = append(parts, "no control plane")
	}
	return strings.Join(parts, ", ")
}

// RepairOrder are all nodes of the cluster, as far as they are known, in the order in which a
// repair of all of them takes them: control plane nodes, then nodes that do not work, then others.
func (s *Snapshot) RepairOrder() []string {
	nodes := s.AllNodes()
	rank := func(n *Node) int {
		switch {
		case n.Role == catalog.RoleMaster || n.Role == catalog.RoleArbiter:
			return 0
		case s.NodeHealth(n).Unhealthy():
			return 1
		}
		return 2
	}
	slices.SortStableFunc(nodes, func(a, b Node) int { return cmp.Compare(rank(&a), rank(&b)) })
	names := make([]string, len(nodes))
	for i := range nodes {
		names[i] = nodes[i].Name
	}
	return names
}

// InOrder are nodes in an order of all nodes, and whether they are all of these: then a command
// names none.
func InOrder(names, order []string) (ordered []string, all bool) {
	ordered = slices.Clone(names)
	at := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(ordered, func(a, b string) int { return cmp.Compare(at(a), at(b)) })
	all = len(names) > 1 && !slices.ContainsFunc(order, func(name string) bool { return !slices.Contains(names, name) })
	return ordered, all
}

// mostNamed is how many nodes are in a command; with more of them, it is for all.
const mostNamed = 3

// RepairOf previews the repair of nodes: those of a part of the cluster by name, and with the requests of
// kubelets that have no client certificate. fit: each name may stand in a command that is copied.
func (f *Facts) RepairOf(nodes []string) (command string, fit bool) {
	flags := ""
	for _, name := range nodes {
		if n, ok := f.Node(name); ok && f.LacksClient(n) && KubeletSetupOf(f.Snapshot, n).HasOperators {
			flags = " --approve-csrs"
		}
	}
	nodes, all := InOrder(nodes, f.Snapshot.RepairOrder())
	if all || len(nodes) > mostNamed {
		return f.Hints().Next("{} fix-api-int" + flags + " --dry-run=client"), true
	}
	return f.Hints().Next("{} fix-api-int --nodes %s"+flags+" --dry-run=client", foreign.Commas(nodes)), foreign.Fit(foreign.Commas(nodes))
}
