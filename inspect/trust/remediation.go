package trust

import (
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// mostCommands is how many nodes have a command of their own; with more of them, NODE stands in it.
const mostCommands = 3

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
