package rotatecmd

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// The document that --list prints as JSON and YAML; see docs/rotate.md.
type (
	rotationsDocument struct {
		APIVersion string          `json:"apiVersion"`
		Kind       string          `json:"kind"`
		Cluster    report.Cluster  `json:"cluster"`
		Taken      time.Time       `json:"taken"`
		Rotations  []rotationEntry `json:"rotations"`
		Gaps       []report.Gap    `json:"gaps"`
	}
	rotationEntry struct {
		Name      string           `json:"name"` // as rotate takes it
		Secret    string           `json:"secret"`
		Role      string           `json:"role"` // signer, or signed
		By        string           `json:"signedBy,omitempty"`
		Subject   string           `json:"subject,omitempty"`
		SHA256    *pki.Fingerprint `json:"sha256,omitempty"`
		NotBefore *time.Time       `json:"notBefore,omitempty"`
		NotAfter  *time.Time       `json:"notAfter,omitempty"`
		Next      *time.Time       `json:"nextRotation,omitempty"`
		Consumers []string         `json:"consumers"`
		Effect    []string         `json:"effect"`  // on nodes, in this version
		Rotates   string           `json:"rotates"` // yes, no, unknown: whether certrot would do it now
		Checks    []rotationCheck  `json:"checks"`
		Doc       string           `json:"description"` // of how it is rotated
	}
	rotationCheck struct {
		apply.PlanCheck
		Accepted bool `json:"accepted,omitempty"` // it does not pass, and --accept-risk names it
		blocks   bool
	}
)

// entryOf is an entry of --list. accepted are the checks that need not pass, by name.
func entryOf(r rotate.Reading, of rotate.Rotatable, accepted []string) rotationEntry {
	v := r.Facts.Snapshot.Cluster.Versions
	e := rotationEntry{
		Name: of.Name, Secret: of.At.Namespace + "/" + of.At.Name, Role: "signer", Rotates: rotates(assess.Pass),
		Consumers: []string{}, Effect: []string{}, Checks: []rotationCheck{}, Doc: of.Trigger.Doc,
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
		managed := assess.Assessment{ID: "managed", Status: assess.Fail, Severity: assess.Critical, Reason: reason, Remediation: assess.Advise(next)}
		if of.Known == catalog.Unknown {
			managed.Status, managed.Severity = assess.Unknown, 0
		}
		e.Rotates = rotates(managed.Status)
		e.Checks = append(e.Checks, rotationCheck{PlanCheck: apply.PlanCheck{Assessment: managed}, blocks: true})
		return e
	}
	for _, check := range apply.ChecksDocument(r.Preflight(of).Check()) {
		c := rotationCheck{PlanCheck: check, blocks: check.Status != assess.Pass} // a plan goes past what only the API server tells: whether it would be rotated is unknown
		if c.blocks && check.Acceptable && slices.Contains(accepted, check.ID) {
			c.Accepted, c.blocks = true, false
		}
		e.Checks = append(e.Checks, c)
		if c.blocks && (e.Rotates == rotates(assess.Pass) || c.Status == assess.Fail) {
			e.Rotates = rotates(c.Status)
		}
	}
	return e
}

func effectOf(d catalog.Delivery) string {
	return d.To.Name + ": " + cmp.Or(d.Effect, d.Doc)
}

// rotates says whether certrot would do it now, where a check has this status.
func rotates(s assess.Status) string {
	switch s {
	case assess.Pass:
		return "yes"
	case assess.Fail:
		return "no"
	}
	return "unknown"
}
