package catalog

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// FlowStep is one step of how a new CA comes to all who verify with it: who does
// what, and where that is written.
type FlowStep struct {
	Stage  string // one of the constants
	Actor  string // who does it
	To     string // the place that it is done to, or the static pods that get it
	Action string
	// Node is what it does to each node, beside what is written there; empty: nothing is
	// done to nodes. Pools says that a pool which is paused holds it up.
	Node  NodeEffect
	Pools bool
	// Rollout: static pods restart, on one control plane node after another.
	Rollout bool
	// Undelivered is why no operator of this version brings it there; empty: one does.
	Undelivered string
	// Reads is when the Actor loads what it verifies with; empty: it does something else.
	Reads ReloadPolicy
	// Object is what is rotated or written, where an object is.
	Object Ref
	// LabTest is the test that saw it in the lab, with OpenShift's own code; empty: none did.
	LabTest string
	Evidence
}

// The stages of a flow, in their order.
const (
	FlowNow        = "now"        // what is rotated at once
	FlowBundle     = "bundle"     // where the signer's certificate is published
	FlowAggregates = "aggregates" // what is made of that
	FlowMasters    = "masters"    // static pods
	FlowNodes      = "nodes"      // files on nodes
	FlowTrust      = "trust"      // who verifies
	FlowLeaf       = "leaf"       // what the signer signs
)

// flow collects the steps of a Flow.
type flow struct {
	v        Versions
	steps    []FlowStep
	reached  []Ref // the places that have the new certificate so far
	deferred []Ref // the places on the way to a file of nodes: deliver adds their steps
}

func (f *flow) add(stage, actor string, to Ref, action string, e Evidence) {
	f.steps = append(f.steps, FlowStep{Stage: stage, Actor: actor, To: to.String(), Action: action, Object: to, LabTest: labTestOf(actor, to), Evidence: e})
}

// propagate adds the objects that copy what is in a place, and the static pods that read it.
func (f *flow) propagate(from Ref) {
	stage, first := FlowAggregates, len(f.reached) == 0
	if from.Kind == Secret {
		stage = FlowLeaf
	}
	f.reached = append(f.reached, from)
	f.staticPods(from)
	for _, a := range DownstreamAggregates(from, f.v) {
		if a.Selector != (ObjectSelector{}) || slices.Contains(f.deferred, a.Target) || slices.Contains(f.reached, a.Target) {
			continue
		}
		var parts []string
		for _, p := range a.Parts {
			if slices.Contains(f.reached, p) {
				parts = append(parts, p.String())
			}
		}
		f.reached = append(f.reached, a.Target)
		action := "takes it over from " + strings.Join(parts, " and ")
		if first && a.In.Holds(f.v) == Unknown {
			action += ", in some versions: the one that runs was not read"
		}
		f.add(stage, writerOf(a.Target, f.v), a.Target, action, a.Evidence)
		f.staticPods(a.Target)
	}
}

// staticPods adds how static pods get what is in an object of theirs.
func (f *flow) staticPods(of Ref) {
	row, known := staticPodInputOf(of, f.v)
	switch {
	case known != Yes:
	case row.AtStart:
		f.steps = append(f.steps, FlowStep{
			Stage: FlowMasters, Actor: "the cert-syncer on each control plane node", To: "static pods of " + row.Component, Evidence: row.Evidence,
			Action: "writes " + of.Name + " into their files, which are read when they next start: there is no new revision",
		})
	case row.Rollout:
		f.steps = append(f.steps, FlowStep{
			Stage: FlowMasters, Actor: row.Component + "-operator", To: "static pods of " + row.Component, Rollout: true, Evidence: row.Evidence,
			Action: "makes a new revision, since " + of.Name + " is part of one, and puts it on one control plane node after another: " + row.Component + " restarts there; a node that is not Ready blocks it" + otherwise(row.Doc),
		})
	default:
		f.steps = append(f.steps, FlowStep{
			Stage: FlowMasters, Actor: "the cert-syncer on each control plane node", To: "static pods of " + row.Component, Evidence: row.Evidence,
			Action: "writes " + of.Name + " into their files, which are reloaded without a restart: there is no new revision",
		})
	}
}

func otherwise(doc string) string {
	if doc == "" {
		return ""
	}
	return "; " + doc
}

// deliver adds how it comes to a file on nodes.
func (f *flow) deliver(d Delivery) {
	if !d.Delivered {
		f.add(FlowNodes, noComponent, d.To, "updates it in this version: "+d.Doc, d.Evidence)
		f.steps[len(f.steps)-1].Undelivered = d.Doc
	}
	for _, h := range d.Hops {
		to := h.To
		if to == (Ref{}) {
			to = d.To
		}
		f.add(FlowNodes, h.Actor, to, h.Action, d.Evidence)
	}
	if d.Effect != "" {
		f.steps = append(f.steps, FlowStep{Stage: FlowNodes, Actor: "each node", To: d.To.String(), Action: "effect: " + d.Effect, Node: d.Node, Pools: d.Pools, Object: d.To, Evidence: d.Evidence})
	}
}

// clients adds when those who verify load what they trust.
func (f *flow) clients(r Rotation, of Ref) {
	for _, e := range r.ClientEdges(f.v) {
		if of == r.Signer || e.Presented == of {
			f.add(FlowTrust, e.Verifier, e.Trust, "reads it "+string(e.Reload), e.Evidence)
			s := &f.steps[len(f.steps)-1]
			s.Reads = e.Reload
			if !testedBy(e.Verifier, e.Trust) { // that it was written there says nothing of who reads it
				s.LabTest = ""
			}
		}
	}
}

// reissueAge says when what is signed is signed again, as a rule.
func reissueAge(target Ref, v Versions) string {
	life, known := LifetimeOf(target, v)
	if known != Yes || life.Refresh == 0 {
		return ""
	}
	return ": " + inDays(life.Refresh) + " old, and not before its signer is " + inDays(life.Refresh/10) + " old"
}

func inDays(d time.Duration) string {
	if d%day == 0 {
		return fmt.Sprintf("%d days", d/day)
	}
	return fmt.Sprintf("%.0f hours", d.Hours())
}

// writerOf is who writes a place.
func writerOf(at Ref, v Versions) string {
	p, ok := Lookup(at.Kind, at.Namespace, at.Name, at.Key, v)
	switch {
	case ok && p.Writer != "":
		return p.Writer
	case ok && p.Owner != "":
		return p.Owner
	}
	return "its owner"
}

// labTest is a row: a test in which a step of a rotation was seen in the lab, with
// library-go's controllers, Kubernetes' kube-controller-manager or a kubelet.
type labTest struct {
	Actor  string // who was seen at it; empty: any
	Object Ref    // without Key
	Test   string // file and function
}

// labTests returns every row about what was seen.
func labTests() []labTest {
	const rotate, incident = "test/e2e/rotate_whole_test.go TestRotate", "test/lab/incident_test.go TestIncident"
	onSecret := func(namespace, name, test string) labTest {
		return labTest{Object: Ref{Kind: Secret, Namespace: namespace, Name: name}, Test: test}
	}
	onConfigMap := func(namespace, name, test string) labTest {
		return labTest{Object: Ref{Kind: ConfigMap, Namespace: namespace, Name: name}, Test: test}
	}
	return []labTest{
		onSecret(kasOperator, "kube-apiserver-to-kubelet-signer", rotate),
		onConfigMap(kasOperator, "kube-apiserver-to-kubelet-client-ca", rotate),
		onConfigMap(kasTarget, "client-ca", rotate),
		onConfigMap(managed, "kube-apiserver-client-ca", rotate),
		onSecret(kasOperator, "loadbalancer-serving-signer", incident),
		onConfigMap(kasOperator, "loadbalancer-serving-ca", incident),
		onConfigMap(kasTarget, "kube-apiserver-server-ca", incident),
		onConfigMap(managed, "kube-apiserver-server-ca", incident),
		onConfigMap(kcmTarget, "serviceaccount-ca", incident),
		onConfigMap("*", "kube-root-ca.crt", incident),
		onSecret(kasTarget, "internal-loadbalancer-serving-certkey", incident),
		{Actor: "kubelet", Object: KubeletKubeconfigCA(), Test: rotate},
	}
}

// testedBy reports whether a test saw this very actor at a place.
func testedBy(actor string, at Ref) bool {
	at.Key = ""
	return slices.ContainsFunc(labTests(), func(s labTest) bool { return s.Object == at && s.Actor == actor })
}

// labTestOf is the test that saw it; empty: none did.
func labTestOf(actor string, at Ref) string {
	for _, s := range labTests() {
		if at.Key = ""; s.Object == at && (s.Actor == "" || s.Actor == actor) {
			return s.Test
		}
	}
	return ""
}
