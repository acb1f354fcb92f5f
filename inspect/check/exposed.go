package check

import (
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// exposure puts logs together of which the same is to be said.
type exposure struct {
	logs         []inspect.Exposed
	at           []pki.Location
	tokens, keys int
	last         time.Time
}

func (x *exposure) add(e inspect.Exposed) {
	x.logs, x.at = append(x.logs, e), append(x.at, e.At)
	x.tokens += e.Tokens
	x.keys += e.Keys
	if e.Last.After(x.last) {
		x.last = e.Last
	}
}

// finding says of the logs what say says of some of them.
func (x *exposure) finding(say func(*exposure) assess.Assessment) assess.Finding {
	return assess.Finding{Assessment: say(x), At: x.at, Of: func(at []pki.Location) assess.Assessment {
		chosen := map[pki.Location]bool{}
		for _, l := range at {
			chosen[l] = true
		}
		var some exposure
		for _, e := range x.logs {
			if chosen[e.At] {
				some.add(e)
			}
		}
		return say(&some)
	}}
}

// holds says what the logs hold.
func (x *exposure) holds() string {
	switch {
	case x.tokens == 0:
		return "a private key"
	case x.keys > 0:
		return "a token and a private key"
	}
	return "a token"
}

// reason names the logs, in short: their paths are long.
func (x *exposure) reason() string {
	where, logs := subject(x.at), "log holds "
	if nodes, _ := filesOf(x.at); len(nodes) > 0 {
		where = nodeNames(nodes)
	}
	if len(x.at) > 1 {
		logs = "logs hold "
	}
	return where + ": " + logs + x.holds()
}

// what says what the logs hold, how often and until when.
func (x *exposure) what() string {
	logs := "logs of the machine-config-daemon hold"
	if len(x.at) == 1 {
		logs = "a log of the machine-config-daemon holds"
		if x.at[0].Node != "" {
			logs = "a log of the machine-config-daemon on " + foreign.Name(x.at[0].Node) + " holds"
		}
	}
	lines := count(x.tokens+x.keys, "line")
	if !x.last.IsZero() {
		lines += ", the last of " + day(x.last)
	}
	return fmt.Sprintf("%s %s of a kubeconfig (%s)", logs, x.holds(), lines)
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
	const who = "now: anyone who reads it can ask for the certificate of a node"
	explained := assess.FixedCommand(f.Hints().Next("{} explain token-in-logs"))
	var out []assess.Finding
	if len(nodes.at) > 0 {
		out = append(out, nodes.finding(func(x *exposure) assess.Assessment {
			return assess.Assessment{
				Severity: assess.Warning,
				Reason:   x.reason(),
				Impact:   who,
				Evidence: x.what() + "; where logs are collected, it is there too",
				Remediation: before(explained.Saying("replace what was printed, in the order that is explained"), ". "+upgradeFirst(f.Snapshot.Cluster.Versions)+
					secretName()+", give the new token to the nodes, delete the pods whose logs these are"),
			}
		}))
	}
	if len(gathered.at) > 0 {
		out = append(out, gathered.finding(func(x *exposure) assess.Assessment {
			return assess.Assessment{
				Severity:    assess.Warning,
				Reason:      x.reason(),
				Impact:      who + ", and so can whoever was sent this must-gather",
				Evidence:    x.what() + f.Hints().Next("; {} inspect nodes tells which nodes still have such logs"),
				Remediation: before(explained.Saying("replace what was printed, in the order that is explained"), ". Have those who got the must-gather delete it, or these files in it"),
			}
		}))
	}
	if len(replaced.at) > 0 {
		out = append(out, replaced.finding(func(x *exposure) assess.Assessment {
			return assess.Assessment{
				Severity: assess.Info,
				Reason:   x.reason() + " that was replaced",
				Evidence: fmt.Sprintf("%s; Secret %s was created again since (%s), and that token is refused", x.what(), secretName(), day(replacedAt)),
			}
		}))
	}
	return out
}

// upgradeFirst begins what to do: a version that prints the token prints the new one, too.
func upgradeFirst(v catalog.Versions) string {
	row, answer := catalog.TokenLogOf(v)
	switch {
	case answer != catalog.Yes:
		return "Upgrade to a version that does not print it, delete Secret "
	case row.Prints:
		return "Upgrade to " + row.Upgrade + ": this version prints the new one, too. Delete Secret "
	}
	return "Delete Secret "
}

func secretName() string {
	token := catalog.NodeBootstrapToken()
	return token.Namespace + "/" + token.Name
}
