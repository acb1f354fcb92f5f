package trust

import (
	"cmp"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
)

// RestartNode is what was found for one node: ComesBack is what Answers come to.
type RestartNode struct {
	Name      string          `json:"name"`
	Via       string          `json:"via,omitempty"`
	Ready     string          `json:"ready,omitempty"`
	Alive     string          `json:"alive,omitempty"`     // "yes", "no", "unknown", by its Lease; absent: the API was not asked
	Heartbeat string          `json:"heartbeat,omitempty"` // why it is not yes
	ComesBack RestartAnswer   `json:"comesBack"`
	Answers   []RestartAnswer `json:"answers"` // one for each of RestartQuestions, in their order
}

// RestartAnswer is the answer to one question.
type RestartAnswer struct {
	// Assessment: Warn is a yes with a hand, or for a while.
	assess.Assessment
	// NotNeeded: it passes, because there is nothing to answer here.
	NotNeeded bool `json:"notNeeded,omitempty"`
	// From is when a yes ends at the earliest, because the certificate that is shown is
	// signed anew; zero: not by that, or not known.
	From time.Time `json:"from,omitzero"`
}

// RestartQuestion is a line of the table.
type RestartQuestion struct{ ID, Text, Short string }

// The questions that the verdict is made of.
const (
	comesBack      = "comes-back"
	ownLoads       = "own-kubeconfig"
	resolves       = "resolves"
	trusts         = "trusts"
	clientCert     = "client-certificate"
	ownNode        = "own-node"
	ownLease       = "own-lease"
	bootstrapLoads = "bootstrap-kubeconfig"
	bootstrapTrust = "bootstrap-trusts"
	bootstrapToken = "bootstrap-token"
)

// RestartQuestions are asked of each node, in this order.
func RestartQuestions() []RestartQuestion {
	return []RestartQuestion{
		{ownLoads, "its kubeconfig loads", "LOADS"},
		{resolves, "the API server's name resolves on it", "RESOLVES"},
		{trusts, "it trusts the API server's certificate", "TRUSTS"},
		{clientCert, "its client certificate is valid", "CERT"},
		{ownNode, "it may get its own Node", "NODE"},
		{ownLease, "it may get its own Lease", "LEASE"},
		{bootstrapLoads, "its bootstrap kubeconfig loads", "B-LOADS"},
		{bootstrapTrust, "by that one, it trusts the API server too", "B-TRUSTS"},
		{bootstrapToken, "its bootstrap token is accepted", "TOKEN"},
	}
}

// WorstAnswer is the first of the worst answers.
func WorstAnswer(answers ...RestartAnswer) RestartAnswer {
	out := answers[0]
	for _, a := range answers[1:] {
		order := assess.WorstFirst(a.Status, out.Status)
		if order < 0 || order == 0 && a.NotNeeded && !out.NotNeeded {
			out = a
		}
	}
	return out
}

// cautioned is a verdict on now, of a node that does not come back any more after the
// next rotation.
func cautioned(a RestartAnswer, until string, why RestartAnswer) RestartAnswer {
	switch a.Status {
	case assess.Unknown:
		a.Reason = "whether it comes back now is unknown (" + a.Reason + "); in any case " + until
	case assess.Warn:
		a.Reason += "; and " + until
	default:
		a.Reason = "it comes back now; " + until
	}
	a.Status, a.From, a.Remediation = assess.Warn, why.From, cmp.Or(why.Remediation, a.Remediation)
	return a
}
