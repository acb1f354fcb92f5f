package catalog

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// FlowStep is one step of how a new CA comes to all who verify by it: somebody does
// something, and where that is written.
type FlowStep struct {
	By   string // who does it
	To   string // the place that it is done to, or who is told; By itself where it is neither
	Does string
	// Seen says that it was seen in the lab, with OpenShift's own code.
	Seen bool
	Evidence
}

// Flow is how a rotation goes in the versions that run, in order, from the removal of
// the annotation to what the signer signs.
func (r Rotation) Flow(v Versions) []FlowStep {
	trigger, _ := TriggerOf(r.Signer, v)
	owner := writerOf(r.Signer, v)
	seen := seenInLab()
	// What one step after the trigger does was seen where its place was.
	step := func(by string, to Ref, does string, e Evidence) FlowStep {
		return FlowStep{by, to.String(), does, slices.Contains(seen, to.Namespace+"/"+to.Name), e}
	}
	out := []FlowStep{
		step("certrot", r.Signer, "removes the annotation "+trigger.Annotation, trigger.Evidence),
		step(owner, r.Signer, "makes a new CA: the name is NAMESPACE_NAME@TIME", trigger.Evidence),
	}
	if r.Bundle != (Ref{}) {
		out = append(out, step(owner, r.Bundle, "adds the new CA; the old one stays until it ends", r.Evidence))
	}
	way := []Ref{r.Bundle}
	for _, a := range Carriers(r.Bundle, v) {
		if a.Carries != (Carries{}) {
			continue
		}
		var from []string
		for _, p := range a.Parts {
			if slices.Contains(way, p) {
				from = append(from, p.String())
			}
		}
		way = append(way, a.Target)
		out = append(out, step(writerOf(a.Target, v), a.Target, "takes it over from "+strings.Join(from, " and "), a.Evidence))
	}
	for _, d := range r.Brought(v) {
		if !d.Delivered {
			out = append(out, FlowStep{"nobody", d.To.String(), "brings it there: " + d.Doc, false, d.Evidence})
		}
		for _, h := range d.Hops {
			out = append(out, FlowStep{h.By, d.To.String(), h.Does, false, d.Evidence})
		}
		if d.Effect != "" {
			out = append(out, FlowStep{"each node", d.To.String(), "effect: " + d.Effect, false, d.Evidence})
		}
	}
	for _, e := range r.Consumers(v) {
		out = append(out, FlowStep{e.Verifier, e.Trust.String(), "reads it " + string(e.Reads), false, e.Evidence})
	}
	for _, t := range r.Targets {
		out = append(out, FlowStep{owner, t.String(), "signs it anew with the new CA when it is due itself" + due(t, v), false, trigger.Evidence})
	}
	return out
}

// due says when what is signed is signed anew, as a rule.
func due(target Ref, v Versions) string {
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

// seenInLab are the places at which a rotation was seen in the lab, with library-go's
// controllers (docs/lab.md).
func seenInLab() []string {
	const operator, target = kasOperator + "/", kasTarget + "/"
	return []string{
		operator + "kube-apiserver-to-kubelet-signer", operator + "kube-apiserver-to-kubelet-client-ca", target + "client-ca", managed + "/kube-apiserver-client-ca",
		operator + "loadbalancer-serving-signer", operator + "loadbalancer-serving-ca", target + "kube-apiserver-server-ca", managed + "/kube-apiserver-server-ca",
		kcmTarget + "/serviceaccount-ca", "*/kube-root-ca.crt",
		operator + "aggregator-client-signer", managed + "/kube-apiserver-aggregator-client-ca", target + "aggregator-client-ca",
		operator + "kube-control-plane-signer", operator + "kube-control-plane-signer-ca", operator + "node-system-admin-signer", operator + "node-system-admin-ca",
	}
}
