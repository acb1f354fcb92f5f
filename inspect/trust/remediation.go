package trust

import (
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// mostCommands is how many nodes have a command of their own; with more of them, NODE stands in it.
const mostCommands = 3

// conclude says what follows from the status, in the catalog's words.
func (c *Claim) conclude(hints inspect.Hints) {
	// Of the catalog's own text, before anything of the cluster's is put in.
	if c.Status == assess.Warn && c.Edge.Ahead != "" {
		c.Edge.Remediation, c.Edge.RestartedPods = c.Edge.Ahead, ""
	}
	runs := assess.IsCommand(c.Edge.Remediation)
	c.Edge.Remediation = hints.Next(c.Edge.Remediation)
	c.Assessment.ID, c.Subject = c.Edge.ID, c.subject()
	switch c.Status {
	case assess.Fail:
		c.Severity = assess.Critical
	case assess.Warn:
		c.Severity = assess.Warning
	default:
		return
	}
	c.Assessment.Impact = c.Edge.Impact
	if c.Edge.Remediation != "" {
		if c.Advice = assess.Advise(c.Edge.Remediation); runs {
			c.Advice = assess.Run(c.Edge.Remediation)
		}
		c.Assessment.Remediation = c.RemediationOn(c.Node)
	}
}

// RemediationOn is Advice for some nodes, in their order, with what has to be restarted after it.
func (c Claim) RemediationOn(nodes ...string) assess.Remediation {
	r := onNodes(c.Advice, nodes)
	pods, ok := catalog.PodsRestartedFor(c.Edge)
	if !ok || r.Command == "" {
		return r
	}
	named := make([]string, len(nodes))
	for i, n := range nodes {
		named[i] = foreign.Name(n)
	}
	then := "only once its kubelet's kubeconfig is repaired, restart the " + pods.DaemonSet + " pod on " + strings.Join(named, ", ")
	if !strings.Contains(r.Command, "--nodes") {
		then += ", unless fix-api-int did"
	}
	var commands []string
	for _, n := range nodes {
		commands = append(commands, strings.ReplaceAll(pods.DeletePod(), "NODE", n))
	}
	if len(nodes) > mostCommands {
		commands = []string{pods.DeletePod()}
	}
	return r.Followed(then, commands...)
}

// onNodes puts nodes into a remediation in which NODE stands for them.
func onNodes(r assess.Remediation, nodes []string) assess.Remediation {
	if len(nodes) == 1 {
		return r.For(nodes[0])
	}
	names, fit := foreign.Commas(nodes), foreign.Fit(foreign.Commas(nodes))
	r.Text = strings.ReplaceAll(r.Text, "--nodes NODE", foreign.Command("", "--nodes %s", names))
	if r.Command = strings.ReplaceAll(r.Command, "--nodes NODE", "--nodes "+strings.Join(nodes, ",")); !fit {
		r.Command = ""
	}
	if strings.Contains(r.Text, "NODE") {
		r.Text += "; for each NODE of " + strings.Join(nodes, ",")
	}
	return r
}
