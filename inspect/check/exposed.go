package check

import (
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// exposure puts logs together of which the same is to be said.
type exposure struct {
	at           []pki.Location
	tokens, keys int
	last         time.Time
}

func (x *exposure) add(e inspect.Exposed) {
	x.at = append(x.at, e.At)
	x.tokens += e.Tokens
	x.keys += e.Keys
	if e.Last.After(x.last) {
		x.last = e.Last
	}
}

// what says what the logs hold.
func (x *exposure) what() string {
	logs := "logs of the machine-config-daemon hold"
	if len(x.at) == 1 {
		logs = "a log of the machine-config-daemon holds"
		if x.at[0].Node != "" {
			logs = "a log of the machine-config-daemon on " + x.at[0].Node + " holds"
		}
	}
	what := "a token"
	switch {
	case x.tokens == 0:
		what = "a private key"
	case x.keys > 0:
		what = "a token and a private key"
	}
	lines := fmt.Sprintf("%d lines", x.tokens+x.keys)
	if x.tokens+x.keys == 1 {
		lines = "1 line"
	}
	if !x.last.IsZero() {
		lines += ", the last of " + day(x.last)
	}
	return fmt.Sprintf("%s %s of a kubeconfig (%s)", logs, what, lines)
}

// tokenInLogs looks at logs in which kubeconfigs were printed. A token that is
// older than the Secret from which nodes get theirs is one that was replaced: it
// is refused.
func tokenInLogs(f *inspect.Facts) []assess.Finding {
	var replacedAt time.Time
	if s := f.At(catalog.NodeBootstrapToken()); s != nil && s.Object != nil {
		replacedAt = s.Object.Created
	}
	var nodes, gathered, replaced exposure
	for _, e := range f.Snapshot.Exposed {
		switch {
		case e.Keys == 0 && !e.Last.IsZero() && e.Last.Before(replacedAt):
			replaced.add(e)
		case e.At.Node != "":
			nodes.add(e)
		default:
			gathered.add(e)
		}
	}
	const (
		who     = ": whoever reads it can ask for the certificate of a node"
		replace = "replace what was printed, in the order that the check's description gives (docs/checks.md): "
	)
	var out []assess.Finding
	if len(nodes.at) > 0 {
		out = append(out, assess.Finding{
			Assessment: assess.Assessment{
				Severity:    assess.Warning,
				Reason:      nodes.what() + who,
				Remediation: assess.Advise(replace + "upgrade to a version that does not print it, delete Secret " + secretName() + ", give the new token to the nodes, delete the pods whose logs these are. Where logs are collected, it is there too"),
			},
			At: nodes.at,
		})
	}
	if len(gathered.at) > 0 {
		out = append(out, assess.Finding{
			Assessment: assess.Assessment{
				Severity:    assess.Warning,
				Reason:      gathered.what() + who + ", and so can whoever was sent this must-gather",
				Remediation: assess.Advise("have those who got it delete it, or these files in it, and " + replace + f.Hints().Next("{} inspect nodes tells which nodes still have such logs")),
			},
			At: gathered.at,
		})
	}
	if len(replaced.at) > 0 {
		out = append(out, assess.Finding{
			Assessment: assess.Assessment{
				Severity: assess.Info,
				Reason:   fmt.Sprintf("%s; Secret %s was created again since (%s), and that token is refused", replaced.what(), secretName(), day(replacedAt)),
			},
			At: replaced.at,
		})
	}
	return out
}

func secretName() string {
	token := catalog.NodeBootstrapToken()
	return token.Namespace + "/" + token.Name
}
