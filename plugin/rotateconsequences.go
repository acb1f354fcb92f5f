package plugin

import (
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// rotateConsequences is one thing that follows a rotation.
type rotateConsequences struct {
	Stage string `json:"stage"`
	At    string `json:"at"` // a place, or whose it is
	Text  string `json:"text"`
}

// consequences are what follows, in the order in which it does.
func (p rotation) consequences() []rotateConsequences {
	v, row := p.facts.Snapshot.Cluster.Versions, p.of.Rotation
	out := []rotateConsequences{{"now", p.of.At.String(), p.of.Trigger.Doc}}
	if !p.of.Signer() {
		out[0].Text += "; it is signed by the signer of today"
		return append(out, p.reads()...)
	}
	if row.Bundle != (catalog.Ref{}) {
		out = append(out, rotateConsequences{remediate.StageBundle, row.Bundle.String(), "gets the new CA; the old one stays until it ends"})
	}
	way := []catalog.Ref{row.Bundle}
	for _, a := range catalog.Carriers(row.Bundle, v) {
		if a.Carries != (catalog.Carries{}) {
			continue
		}
		text := "gets it from " + refNames(slices.DeleteFunc(slices.Clone(a.Parts), func(r catalog.Ref) bool { return !slices.Contains(way, r) }))
		way = append(way, a.Target)
		if a.In.Holds(v) == catalog.Unknown {
			text += ", in some versions: the one that runs was not read"
		}
		out = append(out, rotateConsequences{remediate.StageAggregates, a.Target.String(), text})
	}
	for _, d := range row.Brought(v) {
		out = append(out, rotateConsequences{"nodes", d.To.Name, d.Doc})
		if d.Effect != "" {
			out = append(out, rotateConsequences{"nodes", "each node", d.Effect})
		}
	}
	out = append(out, p.reads()...)
	for _, target := range row.Targets {
		text := "goes on as it is, and is signed by the new CA when it is made anew itself"
		if due := p.resigned(target); due != "" {
			text += ": " + due
		}
		out = append(out, rotateConsequences{remediate.StageLeaf, target.String(), text})
	}
	return out
}

// reads tells when those who verify read what they trust.
func (p rotation) reads() []rotateConsequences {
	var out []rotateConsequences
	for _, e := range p.of.Rotation.Consumers(p.facts.Snapshot.Cluster.Versions) {
		if p.of.Signer() || e.Shown == p.of.At {
			out = append(out, rotateConsequences{remediate.StageTrust, e.Verifier, "reads " + e.Trust.String() + " " + string(e.Reads)})
		}
	}
	return out
}

func refNames(refs []catalog.Ref) string {
	var out []string
	for _, r := range refs {
		out = append(out, r.String())
	}
	return some(out)
}

// resigned says when what is signed is signed by a signer that is made now.
func (p rotation) resigned(target catalog.Ref) string {
	life, known := catalog.LifetimeOf(target, p.facts.Snapshot.Cluster.Versions)
	for _, of := range p.all {
		if c := of.Cert(); of.At == target && c != nil && known == catalog.Yes {
			return life.ResignedFrom(c.NotBefore, c.NotAfter, p.facts.Now).UTC().Format("2006-01-02 15:04 MST") + " at the earliest"
		}
	}
	return ""
}
