package rotatecmd

import (
	"cmp"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// entry is a line of --list.
func entryOf(r rotate.Reading, of rotate.Rotatable) rotationEntry {
	v := r.Facts.Snapshot.Cluster.Versions
	e := rotationEntry{
		Name: of.Name, Secret: of.At.Namespace + "/" + of.At.Name, Role: "signer", Rotates: "yes",
		Consumers: []string{}, Effect: []string{}, Why: []rotateVerdict{}, How: of.Trigger.Doc,
	}
	if !of.Signer() {
		e.Role, e.By = "signed", of.Rotation.Signer.Namespace+"/"+of.Rotation.Signer.Name
	}
	if c := of.Cert(); c != nil {
		e.Subject, e.SHA256, e.NotBefore, e.NotAfter = c.Subject, &c.Fingerprint, &c.NotBefore, &c.NotAfter
		if next := of.Next(r.Facts); !next.IsZero() {
			e.Next = &next
		}
	}
	for _, edge := range of.Rotation.ClientEdges(v) {
		if (of.Signer() || edge.Presented == of.At) && !slices.Contains(e.Consumers, edge.Verifier) {
			e.Consumers = append(e.Consumers, edge.Verifier)
		}
	}
	if of.Signer() {
		for _, d := range of.Rotation.Deliveries(v) {
			e.Effect = append(e.Effect, effectOf(d))
		}
	}
	if reason, next := of.Unmanaged(); reason != "" {
		e.Rotates = "no"
		if of.Known == catalog.Unknown {
			e.Rotates = "unknown"
		}
		e.Why = append(e.Why, rotateVerdict{Check: "managed", Holds: e.Rotates, Reason: reason, Next: next, stopped: true})
		return e
	}
	for _, v := range r.Preflight(of).Check() {
		d := verdictOf(v)
		if e.Why = append(e.Why, d); !d.stopped {
			continue
		}
		if e.Rotates == "yes" || v.Status == assess.Fail {
			e.Rotates = d.Holds
		}
	}
	return e
}

func effectOf(d catalog.Delivery) string {
	return d.To.Name + ": " + cmp.Or(d.Effect, d.Doc)
}

func verdictOf(v preflight.Verdict) rotateVerdict {
	holds := map[assess.Status]catalog.Answer{assess.Pass: catalog.Yes, assess.Fail: catalog.No}[v.Status]
	return rotateVerdict{v.ID, holds.String(), v.Reason, v.Remediation.Text, v.Risk, v.NoAPIServer, v.Blocks()}
}

func verdictsOf(checks []preflight.Verdict) []rotateVerdict {
	out := []rotateVerdict{}
	for _, v := range checks {
		out = append(out, verdictOf(v))
	}
	return out
}
