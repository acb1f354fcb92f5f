package remediate

import (
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
)

// Verdict is what a check of the whole cluster says before a change.
type Verdict struct {
	assess.Assessment        // its ID is what --accept-risk takes, where Risk
	Claim             string // true where it passes
	Risk              bool   // it may be accepted by name
	// NoAPIServer says that only an API server could tell, and that there is none: that
	// stops nothing, since in an outage of the API no node could be repaired else.
	NoAPIServer bool
}

// AsOf says in the reason when that was read on which it depends, where it is from a file.
func (v Verdict) AsOf(snapshot inspect.Snapshot) Verdict {
	if when := snapshot.AsOf(); when != "" && v.Reason != "" && !v.NoAPIServer {
		v.Reason += " (" + when + ")"
	}
	return v
}

// Blocks reports whether nothing is to be done because of it.
func (v Verdict) Blocks() bool { return v.Status != assess.Pass && !v.NoAPIServer }

// Checked are the checks of the whole cluster that were made before a plan; those that do not pass
// were accepted by name, or no API server was asked.
type Checked struct {
	Verdicts []Verdict
	Accepted []string // by ID
	AsOf     string   // "as of TIME" where they were made on a file with a status; empty: just now
	OfFile   bool     // they were made on a file, which has a status or has none
}

// CheckedOf are verdicts on facts.
func CheckedOf(snapshot inspect.Snapshot, verdicts []Verdict, accepted []string) Checked {
	return Checked{Verdicts: verdicts, Accepted: accepted, AsOf: snapshot.AsOf(), OfFile: snapshot.Hints.OfFile()}
}

// Passed are the checks that pass, by ID.
func (c Checked) Passed() []string {
	return c.ids(func(v Verdict) bool { return v.Status == assess.Pass })
}

// NotAsked are those that only an API server answers, and none was asked.
func (c Checked) NotAsked() []string {
	return c.ids(func(v Verdict) bool { return v.NoAPIServer })
}

func (c Checked) ids(wanted func(Verdict) bool) []string {
	var out []string
	for _, v := range c.Verdicts {
		if wanted(v) {
			out = append(out, v.ID)
		}
	}
	return out
}
