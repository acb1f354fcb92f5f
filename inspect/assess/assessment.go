package assess

import (
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Assessment is what a judgement says, whoever judged: a check, an edge of trust, a question
// about a restart, a check before a change.
type Assessment struct {
	ID     string `json:"id"` // of what was judged, lower-kebab; never changes
	Status Status `json:"status"`
	// Severity is that of Warn and Fail.
	Severity Severity `json:"severity,omitzero"`
	// Subject is what it is about, for people: a place, a node, a client. It is fit to be
	// printed.
	Subject string `json:"subject,omitempty"`
	// Reason says what is wrong or unknown; of what passes, what is worth knowing, mostly nothing.
	Reason      string      `json:"reason,omitempty"`
	Impact      string      `json:"impact,omitempty"` // what fails, and when
	Remediation Remediation `json:"remediation,omitzero"`
}

// Remediation is what to do about it.
type Remediation struct {
	Text string `json:"text,omitempty"` // for people
	// Command is one that runs as it stands; empty where whoever wrote the text knows of none.
	Command string `json:"command,omitempty"`
}

// Advise is a remediation that a person reads.
func Advise(text string) Remediation { return Remediation{Text: text} }

// Run is a remediation that is one command: of foreign.Command, or of inspect.Hints.
func Run(command string) Remediation { return Remediation{Text: command, Command: command} }

// With is the remediation with each of its texts changed alike.
func (r Remediation) With(change func(string) string) Remediation {
	return Remediation{change(r.Text), change(r.Command)}
}

// Finding is a claim that does not hold.
type Finding struct {
	Check    string // ID
	Severity Severity
	Message  string // what is wrong, in one sentence
	Next     string // what to do about it
	At       []pki.Location
	Certs    []pki.Fingerprint
	// Due orders findings of a kind: what expires first comes first.
	Due time.Time
}
