package assess

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Assessment is what a judgement says, of whatever kind it is: a check, an edge of trust, a question
// about a restart, a check before a change.
type Assessment struct {
	ID     string `json:"id"` // of what was judged, lower-kebab; never changes
	Status Status `json:"status"`
	// Severity is that of Warn and Fail.
	Severity Severity `json:"severity,omitzero"`
	// Subject is what it is about, for people: a place, a node, a client. It is fit to be
	// printed.
	Subject string `json:"subject,omitempty"`
	// Reason says what is wrong or unknown, in one clause that names the object, the node or the
	// certificate; of what passes, what is worth knowing, mostly nothing.
	Reason string `json:"reason,omitempty"`
	Impact string `json:"impact,omitempty"` // what fails, and when
	// Evidence says how that is known: names in full, fingerprints, dates, errors.
	Evidence    string      `json:"evidence,omitempty"`
	Remediation Remediation `json:"remediation,omitzero"`
}

// Line says it on one line, for what prints no more of it: reason, impact and evidence.
func (a Assessment) Line() string {
	return strings.Join(slices.DeleteFunc([]string{a.Reason, a.Impact, a.Evidence}, func(s string) bool { return s == "" }), "; ")
}

// Named says what was judged, and the reason, on one line: for lists of several.
func (a Assessment) Named() string { return a.ID + ": " + a.Reason }

// Because is the reason and how it is known, for what prints no more of it.
func (a Assessment) Because() string {
	a.Impact = ""
	return a.Line()
}

// Remediation is what to do about it.
type Remediation struct {
	Text string `json:"text,omitempty"` // for people, who read Command below it unless it has it
	// Command is one that runs as it stands; empty where the text comes without one.
	Command string `json:"command,omitempty"`
	// Then is what follows the Command, and ThenRun the commands of that, one a line. Text has them, too.
	Then    string `json:"-"`
	ThenRun string `json:"-"`
}

// Advise is a remediation that a person reads.
func Advise(text string) Remediation { return Remediation{Text: text} }

// FixedCommand is a remediation that is one command, in which no name of a cluster's stands.
func FixedCommand(command string) Remediation { return Remediation{Text: command, Command: command} }

// IsCommand reports whether a step of the catalog is a command that runs as it stands, but for
// NODE in it: prose has punctuation.
func IsCommand(step string) bool {
	return (strings.HasPrefix(step, "{} ") || strings.HasPrefix(step, "kubectl ")) && !strings.ContainsAny(step, ",:;")
}

// Command is a remediation that is one command with names in it. Where foreign.Command refuses
// one of them, its text says so, and there is no command.
func Command(look, format string, args ...any) Remediation {
	r := Remediation{Text: foreign.Command(look, format, args...)}
	if foreign.Fit(args...) {
		r.Command = r.Text
	}
	return r
}

// Saying is a remediation whose text is not its command: people read both. Where there is no
// command, the text goes on with why.
func (r Remediation) Saying(text string) Remediation {
	if r.Command == "" {
		return Remediation{Text: text + "; " + r.Text}
	}
	return Remediation{Text: text, Command: r.Command}
}

// Followed is a remediation after which another step is due.
func (r Remediation) Followed(then string, commands ...string) Remediation {
	r.Text += "; then " + then + ": " + strings.Join(commands, "; ")
	r.Then, r.ThenRun = then, strings.Join(commands, "\n")
	return r
}

// For is the remediation for a node, of one in which NODE stands for it.
func (r Remediation) For(node string) Remediation {
	out := Remediation{Text: Replace(r.Text, "NODE", foreign.Name(node))}
	if foreign.Word(node) || Replace(r.Command, "NODE", "") == r.Command { // a claim may be of no node
		out.Command = Replace(r.Command, "NODE", node)
	}
	return out
}

// named finds the flags whose values have names of the user's: files, and how the cluster was named.
var named = regexp.MustCompile(`--(?:from|kubeconfig|context|cluster|user|server|tls-server-name|certificate-authority|client-certificate|client-key|as|as-uid|as-group) `)

// Replace replaces a word in a next step, and not in what the user named, as the file of --from.
func Replace(step, old, by string) string {
	var out strings.Builder
	for {
		at := named.FindStringIndex(step)
		if at == nil {
			out.WriteString(strings.ReplaceAll(step, old, by))
			return out.String()
		}
		from, rest := step[at[0]:at[1]], step[at[1]:]
		out.WriteString(strings.ReplaceAll(step[:at[0]], old, by))
		end, quoted := 0, false
		for end < len(rest) && (quoted || rest[end] != ' ') {
			switch {
			case rest[end] == '\'':
				quoted = !quoted
			case rest[end] == '\\' && !quoted && end+1 < len(rest):
				end++
			}
			end++
		}
		out.WriteString(from + rest[:end])
		step = rest[end:]
	}
}

// Finding is what a check found wrong at some places.
type Finding struct {
	Assessment
	At    []pki.Location
	Certs []pki.Fingerprint
	// Due orders findings of a kind: what expires first comes first.
	Due time.Time
	// Of says it of some of the places alone; nil: only the reason names places, at its beginning
	// or end.
	Of func(at []pki.Location) Assessment
}

// StatusOf is the status of what a check found: info is no pass, since its claim does not hold.
func StatusOf(s Severity) Status {
	if s == Critical {
		return Fail
	}
	return Warn
}
