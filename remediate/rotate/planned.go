package rotate

import (
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// Planned is one rotation that is planned, with what was read for it.
type Planned struct {
	Reading
	Of       Rotatable
	Action   action.RemoveAnnotation
	Checks   []preflight.Verdict
	Accepted []string // names of checks that do not pass, and were accepted
	Awaited  []string // names of checks that do not pass yet, for which it waits
	// After are the annotations as the API server would have them; nil: it was not asked.
	After map[string]string
	// Left is what is to be done with its leaves; nil: what was named is rotated, and no more.
	Left *Left
	// Leaves are what the signer signs, in the order in which they follow.
	Leaves []Planned

	signerFirst bool // of a leaf: its signer is to be rotated before
}

// Rotates reports whether what was named is rotated itself, and not only what it signs.
func (p Planned) Rotates() bool { return p.Left == nil || p.Left.Signer }

// NoChanges reports whether there is nothing to do.
func (p Planned) NoChanges() bool { return !p.Rotates() && len(p.Leaves) == 0 }

// Owner is the operator that rotates it.
func (p Planned) Owner() string {
	if p.Of.Entry != nil && p.Of.Entry.Owner() != "" {
		return p.Of.Entry.Owner()
	}
	return noOwner
}

// signerCert is the certificate that signs what is rotated now; nil: it was not read.
func (p Planned) signerCert() *pki.Cert {
	for _, of := range p.All {
		if of.At == p.Of.Rotation.Signer {
			return of.Cert()
		}
	}
	return nil
}

// judge asks all checks. The error says all that blocks it; a check for which it may wait
// does not. mayWait may be nil.
func (p *Planned) judge(accepted []string, mayWait func(preflight.Verdict) bool) error {
	return p.weigh(p.Preflight(p.Of).Check(), accepted, mayWait)
}

// judgeLeaf asks all checks of what is rotated because its signer was. Where its owner was
// triggered already nothing holds that back any more, and what is asked of trust is only
// told.
func (p *Planned) judgeLeaf(accepted []string, mayWait func(preflight.Verdict) bool) error {
	pre := p.Preflight(p.Of)
	pre.Follows, pre.SignerFirst = true, p.signerFirst
	if !p.Of.Triggered() {
		return p.weigh(pre.Check(), accepted, mayWait)
	}
	p.Checks, p.Accepted, p.Awaited = nil, nil, nil
	for _, v := range pre.Check() {
		if slices.Contains(trustChecks(), v.ID) {
			p.Checks = append(p.Checks, v)
		}
	}
	return nil
}

// trustChecks ask who trusts the signer.
func trustChecks() []string {
	return []string{SignerTrusted, OutsideVerifiers, PodsMemory, OwnKubeconfig}
}

// fromSigner reports whether the new signer brings it by itself, or people do meanwhile.
func fromSigner(v preflight.Verdict) bool {
	return v.ID == chainSettled || slices.Contains(trustChecks(), v.ID)
}

// rollingOut reports whether it is what a new signer keeps busy until its CA is everywhere:
// operators, static pods, and nodes with their pools. What is unknown of those stays so
// however long one waits.
func rollingOut(v preflight.Verdict) bool {
	return v.Status == assess.Fail && slices.Contains([]string{operatorsSettled, preflight.StaticPodsSettled, poolsReady, nodesReady}, v.ID)
}

func (p *Planned) weigh(verdicts []preflight.Verdict, accepted []string, mayWait func(preflight.Verdict) bool) error {
	p.Checks, p.Accepted, p.Awaited = verdicts, nil, nil
	var stops []preflight.Verdict
	for _, v := range verdicts {
		switch {
		case !v.Blocks():
		case v.Risk && slices.Contains(accepted, v.ID):
			p.Accepted = append(p.Accepted, v.ID)
		case mayWait != nil && mayWait(v):
			p.Awaited = append(p.Awaited, v.ID)
		default:
			stops = append(stops, v)
		}
	}
	if len(stops) == 0 {
		return nil
	}
	return blockedBy(stops...)
}

// blockedBy is the refusal of checks.
func blockedBy(stops ...preflight.Verdict) error {
	blocked := &preflight.Blocked{Checks: stops}
	return &Error{Outcome: Refused, Err: blocked, Next: blocked.Next(), Unchanged: true}
}
