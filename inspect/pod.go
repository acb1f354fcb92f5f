package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Pod is what the API server says of a pod. It tells nothing of certificates, only who may
// have read which of them. A Snapshot has few of them: see ClusterStatus.
type Pod struct {
	Namespace, Name, UID string
	Node                 string // empty: none yet
	OwnerKind, OwnerName string // its controller; empty: no one's
	// Accepted is when the kubelet took it, and Started when the oldest of its
	// containers that run now did; zero: not told. Both by the node's clock.
	Accepted, Started time.Time
	Phase             string // "Running"
	Ready             bool
	Restarts          int // of all its containers
	// Deleting: someone wants it gone, and its kubelet has not said that it is.
	Deleting bool
}

// Process runs on a node. Its Command is what it calls itself: a
// tenant's process may take the name.
type Process struct {
	Command string    // as the catalog calls it
	Started time.Time // whole seconds, more or less
	// Namespace, Pod and PodUID are those of the pod in which it runs, by its control groups
	// and the kubelet's directories; Host: it runs in none. Neither: not read.
	Namespace, Pod, PodUID string
	Host                   bool
}

// Platform reports whether a process is what the catalog means by its Command: one in a pod
// of the DaemonSet. Unknown: whose it is was not read.
func (p Process) Platform() catalog.Tristate {
	namespace, daemonSet := catalog.DaemonSetOf(p.Command)
	switch {
	case p.Pod == "" && !p.Host && daemonSet != "":
		return catalog.Unknown
	case p.Pod != "" && p.Namespace == namespace && strings.HasPrefix(p.Pod, daemonSet+"-") && daemonSet != "":
		return catalog.Yes
	}
	return catalog.No
}

// Running tells of the oldest process of this Command (see catalog.StartupReader) when it
// started, and when it will have read its files at the latest. runs is No where none is
// known, and Unknown where that process may be a tenant's: the platform's may be younger, or
// not run.
func (n *Node) Running(command string) (started, loaded time.Time, runs catalog.Tristate) {
	if command == "kubelet" {
		if runs = catalog.Yes; n.Kubelet.Started.IsZero() {
			runs = catalog.No
		}
		return n.Kubelet.Started, n.Kubelet.loaded(), runs
	}
	runs = catalog.No
	for _, p := range n.Processes {
		its := p.Platform()
		if p.Command != command || its == catalog.No {
			continue
		}
		if runs == catalog.No || p.Started.Before(started) || its == catalog.Yes && p.Started.Equal(started) {
			started, runs = p.Started, its
		}
	}
	return started, started.Add(2 * time.Second), runs // of times in whole seconds
}

// ProcessesCut are the nodes of which not each process was looked at that could have been: gaps say so.
func (s *Snapshot) ProcessesCut() map[string]bool {
	cut := map[string]bool{}
	for _, g := range s.Gaps {
		if node, ok := strings.CutPrefix(g.What, nodeWriter); ok && g.Where == "" && strings.HasPrefix(strings.TrimPrefix(g.Reason, "“"), "processes of services: ") {
			cut[node] = true
		}
	}
	return cut
}

// Rollout is how far the CAs of kube-apiserver have come that kube-controller-manager
// trusts itself, and publishes into every namespace as kube-root-ca.crt. A master that
// has an older revision publishes its older CAs as soon as it leads.
type Rollout struct {
	// Operator: static pods are rolled out by an operator that says how far it is.
	// Without it there are no Masters, and Source and Latest tell nothing.
	Operator bool
	Source   []*pki.Cert // serviceaccount-ca, of which the next revision is made
	Latest   int         // revision that is to run on all masters
	Masters  []Revision  // by name
	RootCAs  []RootCA    // by namespace
	// Scheduler is the same of kube-scheduler, without which no pod is put on a node; nil:
	// no operator tells of it.
	Scheduler *Revisions
}

// Revisions is how far the serviceaccount-ca of a static pod has come: see Rollout.
type Revisions struct {
	Source  []*pki.Cert
	Latest  int
	Masters []Revision
}

// Revision is what a static pod on one master runs.
type Revision struct {
	Node            string
	Current, Target int // Target is 0 while nothing is being rolled out
	Failed          string
	CA              []*pki.Cert // serviceaccount-ca of the Current revision; nil: unknown
	Ready           string      // the node's condition: "True", "False", "Unknown"; empty: unknown
	Silent          string      // "no heartbeat for 14m (Lease)"; empty: its heartbeat was seen, or not looked for
	Installer       string      // phase of the pod that brings the Target; empty: there is none
}

// RootCA is kube-root-ca.crt of one namespace.
type RootCA struct {
	Namespace string
	CA        []*pki.Cert // nil: there is none
	// Created is since when it is there, and Written when its CAs were last changed, by
	// the API server's clock; zero: not told.
	Created, Written time.Time
}

// RootCA returns that of a namespace.
func (r Rollout) RootCA(namespace string) (RootCA, bool) {
	for _, c := range r.RootCAs {
		if c.Namespace == namespace {
			return c, true
		}
	}
	return RootCA{}, false
}

// Missing says where these CAs have not come yet, for people; nothing: they are
// everywhere.
func (r Rollout) Missing(ca []*pki.Cert) []string {
	var out []string
	if n := len(MissingCerts(r.Source, ca)); r.Operator && n > 0 {
		out = append(out, fmt.Sprintf("serviceaccount-ca, of which kube-controller-manager's next revision is made, lacks %s", cas(n)))
	}
	for _, m := range r.Masters {
		if text := m.behind(r.Latest, ca); text != "" {
			out = append(out, text)
		}
	}
	if s := r.Scheduler; s != nil {
		if n := len(MissingCerts(s.Source, ca)); n > 0 {
			out = append(out, fmt.Sprintf("serviceaccount-ca, of which kube-scheduler's next revision is made, lacks %s", cas(n)))
		}
		for _, m := range s.Masters {
			if text := m.behind(s.Latest, ca); text != "" {
				out = append(out, "kube-scheduler: "+text)
			}
		}
	}
	var lack []string
	for _, c := range r.RootCAs {
		if len(MissingCerts(c.CA, ca)) > 0 {
			lack = append(lack, c.Namespace)
		}
	}
	if len(lack) > 0 {
		out = append(out, "kube-root-ca.crt lacks the CA in "+strings.Join(lack, ", "))
	}
	return out
}

// NodeDown reports whether the master is known not to work: no installer pod runs there.
func (m Revision) NodeDown() bool { return m.Silent != "" || m.Ready != "" && m.Ready != "True" }

func (m Revision) behind(latest int, ca []*pki.Cert) string {
	text := ""
	switch n := len(MissingCerts(m.CA, ca)); {
	case m.CA == nil:
		text = fmt.Sprintf("%s runs revision %d, whose serviceaccount-ca is not there any more", m.Node, m.Current)
	case n > 0:
		text = fmt.Sprintf("%s runs revision %d, whose serviceaccount-ca lacks %s", m.Node, m.Current, cas(n))
	default:
		return ""
	}
	if m.Current < latest {
		text += fmt.Sprintf("; the latest is %d", latest)
	}
	if m.Target > m.Current {
		text += fmt.Sprintf(", %d is being installed", m.Target)
	}
	if m.Installer != "" {
		text += " (installer pod " + m.Installer + ")"
	}
	switch {
	case m.Silent != "":
		text += "; the node: " + m.Silent
	case m.NodeDown():
		text += "; the node is not Ready"
	}
	if m.Failed != "" {
		text += "; it failed: " + m.Failed
	}
	return text
}

func cas(n int) string {
	if n == 1 {
		return "a CA"
	}
	return fmt.Sprintf("%d CAs", n)
}

// MissingCerts returns those of want that are not among have.
func MissingCerts(have, want []*pki.Cert) []*pki.Cert {
	var out []*pki.Cert
	for _, c := range want {
		if !slices.ContainsFunc(have, func(h *pki.Cert) bool { return h.Fingerprint == c.Fingerprint }) {
			out = append(out, c)
		}
	}
	return out
}
