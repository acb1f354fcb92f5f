package trust

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// ClientRefusals is what logs of servers say of one client.
type ClientRefusals struct {
	Client string         // its address
	Owner  string         // for people: "worker-1, or a pod on it"
	Reason string         // the alert that it sent, such as "bad certificate"
	Count  int            // of handshakes
	Last   time.Time      // zero: the logs do not say
	Logs   []pki.Location // that say so
	// Wait is how long the logs still have to be without one until it is known that a restart ended
	// them; 0: that is not what is unknown.
	Wait time.Duration

	last time.Time // the same, by our clock
}

// refusedLately is how long before the end of a log a client's last refusal counts.
// Who does not trust a server tries again, kubelets every few seconds; who stopped was
// repaired, or is gone.
const refusedLately = 15 * time.Minute

// silentFor is how long a node's clients have to be silent, since all on it was repaired, to
// be taken for repaired: kubelets try again every few seconds, and a container that fails is
// started again within five minutes (kubernetes/kubernetes pkg/kubelet, MaxContainerBackOff).
const silentFor = 6 * time.Minute

// quietAfterRestart is how long after the last restart on a node nothing there has refused a
// server. A kubelet without trust refuses several times a second.
const quietAfterRestart = 30 * time.Second

// startRounding is by how much a start may be later than it is told, and a line of a log later
// than what it is about.
const startRounding = 2 * time.Second

// logStale is how long before now a log's last line may be. API servers write all the time.
const logStale = time.Hour

// refused judges what servers say of their clients: evidence of clients that can't be
// asked. A claim for each client that refuses a server; and one where none does, if the
// server would say so.
func (j *judge) refused(row catalog.ServerLog, edges []Claim) []Claim {
	var logs, stale, cut []pki.Location // cut: of these, clients were left out
	var seen []*ClientRefusals
	type client struct{ address, reason string }
	index := map[client]*ClientRefusals{}
	heard := map[string]time.Time{}  // by node: to when
	newest := map[string]time.Time{} // by node: the logs of containers that are gone end earlier
	for _, l := range j.f.Snapshot.ServerLogs {
		if l.Row == row.ID && l.At.Node != "" && l.To.After(newest[l.At.Node]) {
			newest[l.At.Node] = l.To
		}
	}
	for _, l := range j.f.Snapshot.ServerLogs {
		if l.Row != row.ID || l.At.Node != "" && (l.To.Before(newest[l.At.Node]) || !j.f.MayBeMaster(l.At.Node)) {
			continue // both servers run on control plane nodes: root on a worker can write such a log, too
		}
		end := l.To
		if row.Quiet {
			end = j.f.Now
		}
		if end.IsZero() || j.f.Now.Sub(end) > logStale {
			stale = append(stale, l.At)
			continue
		}
		logs = append(logs, l.At)
		if l.LeftOut {
			cut = append(cut, l.At)
		}
		heard[l.At.Node] = j.toLocalClock(l.At.Node, end)
		for _, r := range l.Refused {
			if !r.Last.IsZero() && end.Sub(r.Last) > refusedLately {
				continue
			}
			key := client{r.Client, r.Reason}
			s := index[key]
			if s == nil {
				s = &ClientRefusals{Client: r.Client, Reason: r.Reason}
				index[key] = s
				seen = append(seen, s)
			}
			s.Count += r.Count
			s.Logs = append(s.Logs, l.At)
			if r.Last.After(s.Last) {
				s.Last, s.last = r.Last, j.toLocalClock(l.At.Node, r.Last)
			}
		}
	}
	switch {
	case len(logs)+len(stale) == 0:
		return nil
	case len(logs) == 0: // of a container that is gone: the next one writes another log
		return []Claim{{Assessment: assess.Assessment{Status: assess.Unknown, Reason: fmt.Sprintf("the logs that were read end more than %s before now, or have no times", logStale)}, Edge: row.Edge, Logs: stale}}
	case len(seen) == 0 && len(cut) > 0:
		return []Claim{leftOut(row, cut)}
	case len(seen) == 0 && row.Level != "": // nor does it log that a client does, unless it is told to
		return nil
	case len(seen) == 0:
		return append([]Claim{{Edge: row.Edge, Assessment: assess.Assessment{Status: assess.Pass}, Logs: logs}}, j.unheard(row, heard)...)
	}
	var out []Claim
	until := j.logsReadUntil(heard)
	of := claimsByNode(edges)
	for _, s := range seen {
		if j.over() {
			break
		}
		c := Claim{Assessment: assess.Assessment{Status: assess.Fail, Reason: fmt.Sprintf("clients break off the handshake: %q, says the log of %s", s.Reason, row.Server)}, Edge: row.Edge, Refusals: s, Logs: s.Logs}
		var known bool
		if c.Node, s.Owner, known = j.clientOwner(row, s.Client); !known {
			// Any client may call from outside with any CA: no part of the cluster is broken.
			c.Status = assess.Unknown
			c.Reason = fmt.Sprintf("an unknown client breaks off the handshake: %q, says the log of %s", s.Reason, row.Server)
			c.Assessment.Evidence = "it is no known node or pod of this cluster, or a load balancer hides it"
		}
		since, trusts := j.trustsNow(row, of.trusting[c.Node], c.Node)
		its := trusts && j.proven(c.Node, s.Client)
		if its && !s.Last.IsZero() && s.last.Before(since) && until.Sub(since) >= silentFor {
			continue // it was fixed after the last time, and has not refused since then
		}
		started, wait, ok := j.restartedSince(of, c.Node, s, until)
		ok = ok && its && !since.IsZero() && until.After(since)
		if ok && wait <= 0 {
			c.Status, c.Edge.Remediation = assess.Pass, ""
			c.Assessment.Evidence = ""
			c.Reason = fmt.Sprintf("the last refusal was %s; %s; none since, and the handshake works now", moment(s.last.Round(time.Second)), strings.Join(started, ", "))
			out = append(out, c)
			continue
		}
		if trusts {
			c.Status = assess.Unknown
			c.Reason = "it broke off the handshake a short while ago, and trusts the certificate presented now"
			c.Assessment.Evidence = fmt.Sprintf("%q, says the log of %s: it was fixed since then, or a pod on it broke off", s.Reason, row.Server)
		}
		if ok {
			c.Reason = fmt.Sprintf("the last refusal was %s; %s; whether that ended them is known after %s without one", moment(s.last.Round(time.Second)), strings.Join(started, ", "), quietAfterRestart)
			s.Wait = wait.Truncate(time.Second) + time.Second
			c.Edge.Remediation = fmt.Sprintf("run verify again in %s", s.Wait)
			out = append(out, c)
			continue
		}
		switch {
		case c.Node == "":
			c.Edge.Remediation = ""
		case c.Edge.Remediation != "":
			c.Edge.Remediation = j.f.Hints().UnreadNodes(c.Edge.Remediation)
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(b.Refusals.Count, a.Refusals.Count), cmp.Compare(a.Refusals.Client, b.Refusals.Client))
	})
	if len(cut) > 0 {
		out = append(out, leftOut(row, cut))
	}
	return out
}

// nodeClaims are claims by the node that they are about, and by that on which their trust anchors are.
type nodeClaims struct{ about, trusting map[string][]*Claim }

func claimsByNode(claims []Claim) nodeClaims {
	by := nodeClaims{map[string][]*Claim{}, map[string][]*Claim{}}
	for i := range claims {
		c := &claims[i]
		by.about[c.Node] = append(by.about[c.Node], c)
		if len(c.Trust) > 0 {
			by.trusting[c.Trust[0].Node] = append(by.trusting[c.Trust[0].Node], c)
		}
	}
	return by
}

// leftOut is the claim about the clients that a log names and that were not kept.
func leftOut(row catalog.ServerLog, logs []pki.Location) Claim {
	c := Claim{Edge: row.Edge, Logs: logs, Assessment: assess.Assessment{Status: assess.Unknown, Reason: fmt.Sprintf("the log of %s names more clients than are kept: some that refused earlier were left out", row.Server)}}
	c.Edge.Remediation = `look for "TLS handshake error" in the log itself`
	return c
}

// trustsNow reports whether a node was read, and all on it that was judged trusts what
// kube-apiserver presents, where a log is that server's; and since when it may, by our clock:
// the last write of what it trusts, the last start of who reads that only then, and since
// when there is what is presented. Zero: unknown.
func (j *judge) trustsNow(row catalog.ServerLog, edges []*Claim, node string) (since time.Time, trusts bool) {
	n, ok := j.f.Node(node)
	if !ok || row.Container != catalog.ListenerAPIServer {
		return time.Time{}, false
	}
	known, issued := true, time.Time{}
	later := func(t time.Time) {
		known = known && !t.IsZero()
		if t.After(since) {
			since = t
		}
	}
	for _, c := range edges {
		if c.Edge.ServerName != catalog.NameInKubeconfig && c.ProcessStarted.IsZero() {
			continue
		}
		switch {
		case c.Status == assess.Unknown && !c.NextUnknown && !c.ProcessStarted.IsZero():
			known = false // what is in memory
			continue
		case c.Status != assess.Pass && !c.NextUnknown:
			return time.Time{}, false
		}
		trusts = true
		later(written(n, c.Trust[0]))
		if len(c.Chain) > 0 && c.Chain[0].NotBefore.After(issued) {
			issued = c.Chain[0].NotBefore
		}
	}
	if !trusts || n.Kubelet.Started.IsZero() {
		return time.Time{}, trusts
	}
	_, loaded, _ := n.Running("kubelet")
	later(loaded)
	for _, p := range n.Processes {
		if p.Platform() != catalog.No {
			later(p.Started)
		}
	}
	if !known {
		return time.Time{}, trusts
	}
	if since = j.toLocalClock(node, since); issued.After(since) {
		since = issued
	}
	return since, trusts
}

// restartedSince tells when those on a node who could have refused a server were started:
// its kubelet, and clients that read their trust anchors only at startup. ok is false unless
// it is known of all of them that this was after what they trust was written, the last refusal
// came before the last of these starts, by the clocks of the node and of the server, and a
// handshake from the node is seen to work. wait is how long the logs still have to be without one.
func (j *judge) restartedSince(of nodeClaims, node string, s *ClientRefusals, until time.Time) (started []string, wait time.Duration, ok bool) {
	n, read := j.f.Node(node)
	if !read || s.Last.IsZero() {
		return nil, 0, false
	}
	doubt, known := doubtOf(n.Clock)
	for _, l := range s.Logs {
		server, there := j.f.Node(l.Node)
		if !there {
			return nil, 0, false
		}
		more, told := doubtOf(server.Clock)
		doubt, known = doubt+more, known && told
	}
	works, claimed := false, map[string]bool{}
	var wrote, last time.Time
	for _, c := range of.about[node] {
		works = works || c.Server != "" && c.Status == assess.Pass
		claimed[c.Edge.ID] = true
	}
	for _, c := range of.trusting[node] {
		if t := written(n, c.Trust[0]); t.After(wrote) {
			wrote = t
		}
	}
	for _, row := range catalog.StartupReaders() {
		if !claimed[row.EdgeID] {
			continue
		}
		at, _, runs := n.Running(row.Command)
		if runs == catalog.No && n.AllProcesses && row.Command != "kubelet" {
			continue // it does not run, as multus before its pod is there, or another network plugin's
		}
		if runs != catalog.Yes || !at.After(wrote) {
			return nil, 0, false
		}
		if at = j.toLocalClock(node, at); at.After(last) {
			last = at
		}
		started = append(started, fmt.Sprintf("%s was restarted %s", row.Verifier, moment(at.Round(time.Second))))
	}
	// The previous process refuses until the moment that it exits.
	quiet := last.Add(startRounding + doubt)
	wait = quietAfterRestart - until.Sub(quiet)
	return started, wait, known && works && len(started) > 0 && !s.last.After(quiet)
}

// mostDoubt is by how much more a node's clock tells nothing: it jumped while it was read, or the
// node lies, and certrot would wait for as long as the node likes.
const mostDoubt = time.Minute

// doubtOf is by how much a clock's difference to ours may be another one than is taken.
func doubtOf(c inspect.Clock) (time.Duration, bool) {
	least, most, ok := c.Ahead()
	return most - least, ok && !c.After.Before(c.Before) && most-least <= mostDoubt
}

// logsReadUntil is to when the logs of all masters were read, by our clock; zero where one of
// them was not, or may not be known: who is silent there may be led to another one.
func (j *judge) logsReadUntil(heard map[string]time.Time) time.Time {
	masters, all := j.f.Masters()
	var until time.Time
	for _, m := range masters {
		if heard[m].IsZero() || !all {
			return time.Time{}
		}
		if until.IsZero() || heard[m].Before(until) {
			until = heard[m]
		}
	}
	return until
}

// toLocalClock is a node's time by our clock, as far as the node's was read.
func (j *judge) toLocalClock(node string, at time.Time) time.Time {
	if n, ok := j.f.Node(node); ok {
		return at.Add(j.f.Now.Sub(n.Time(j.f.Now)))
	}
	return at
}

// proven reports whether a client's address is a node's for sure. Kubelets write the addresses of
// their Nodes: one that a worker adds may be a load balancer's, or a pod's on another node.
func (j *judge) proven(node, address string) bool {
	n, ok := j.f.Node(node)
	if !ok || n.Role == catalog.RoleMaster {
		return ok
	}
	at, err := netip.ParseAddr(n.Reached)
	client, bad := netip.ParseAddr(address)
	return err == nil && bad == nil && at.Unmap() == client.Unmap()
}

// mostContesting is how many nodes are named that claim one address.
const mostContesting = 4

// clientOwner tells who has an address: the node, in words, and whether it is of the cluster.
func (j *judge) clientOwner(row catalog.ServerLog, address string) (node, words string, known bool) {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return "", "", false
	}
	if a.IsLoopback() {
		return "", "a client on the server's own node", true
	}
	if n, ok := j.f.NodeAt(address); ok {
		if row.Balanced && n.Role == catalog.RoleMaster && j.f.Snapshot.Cluster.OwnAddresses == catalog.Yes {
			return "", n.Name + ", a pod on it, or a client that reaches the load balancer there", false
		}
		return n.Name, n.Name + ", or a pod on it", true
	}
	if several := j.f.ContestedAt(address); len(several) > 0 {
		more := ""
		if n := len(several) - mostContesting; n > 0 {
			several, more = several[:mostContesting], fmt.Sprintf(" and %d more", n)
		}
		return "", "one of " + strings.Join(several, ", ") + more + ", whose Nodes all name that address", true
	}
	for _, n := range j.podNetworks() {
		if n.Contains(a) {
			return "", "a pod on " + n.node, true
		}
	}
	return "", "", false
}
