package inspectcmd

import (
	"io"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// pretrustKind is that of what refuses pretrust.
const pretrustKind = "Check before pretrust"

// pretrustTopics are the names by which pretrust is refused.
func pretrustTopics() []topic {
	const verifyAPIInt = "{} verify api-int"
	repair := []string{"see the plan that repairs them:", fixAPIInt}
	var out []topic
	for _, t := range []struct {
		claim string
		help
	}{
		{"the new CA of api-int signs nothing yet", help{"not-too-late", "api-int presents a certificate of the newest CA already, and kubelets lack that CA: they fail at their next reconnect or restart.", repair}},
		{"this version does not write the new CA to kubelets' kubeconfigs", help{"not-delivered", "machine-config-daemon writes the CA: pretrust is not needed.", []string{"see which node lacks it:", verifyAPIInt, "for a node that was left out:", fixAPIInt}}},
		{"the cluster is OpenShift or OKD", help{"openshift", "Nothing replaces the CA of another cluster automatically.", []string{"where kubelets lack a CA that kube-root-ca.crt has:", fixAPIInt}}},
		{"it is known whether this version writes the CA to kubelets", help{"version-known", "The version of the cluster was not read.", []string{"fix-api-int needs no version:", fixAPIInt}}},
		{"the CAs of api-int's signer were read", help{"signer-known", "Without them it is unknown which CA is new.", []string{"oc -n openshift-kube-apiserver-operator get configmap loadbalancer-serving-ca"}}},
		{"the certificate that api-int presents was read", help{"served-known", "Without it it is unknown whether the new CA signs already.", []string{"{} verify api-int --nodes all --via ssh"}}},
		{"a published CA verifies what api-int presents", help{"ca-verifies-served", "The control plane's own trust is wrong.", []string{verifyAPIInt}}},
	} {
		out = append(out, topic{kind: pretrustKind, claim: t.claim, help: t.help, details: reference("pretrust.md")})
	}
	return out
}

// taskPage is a page of docs/tasks: what it is for.
type taskPage struct{ file, about string }

// The task pages, in the README's order.
const (
	pageNodes, pageUpgrade, pageRotation = "nodes-x509.md", "before-upgrade.md", "planned-rotation.md"
	pageFiles                            = "reading-must-gathers.md"
)

// taskPages are all of them.
func taskPages() []taskPage {
	return []taskPage{
		{pageNodes, "nodes are NotReady with x509 errors"},
		{pageUpgrade, "before an upgrade: does every node come back?"},
		{pageRotation, "a planned rotation of a signer"},
		{"weekly-check.md", "a weekly check, from CI or cron"},
		{pageFiles, "what a must-gather can tell"},
		{"hand-over.md", "hand a repair over, or take it over"},
		{"least-privilege.md", "which rights for which job"},
	}
}

// taskOf is the page for what was found by a check, or needs one; empty: there is none.
func taskOf(kind, name string) string {
	switch {
	case kind == unknownKind:
		return pageFiles
	case kind == pretrustKind:
		return pageUpgrade
	case kind == waveKind, kind == "Check before a repair":
		return pageNodes
	case strings.HasPrefix(kind, "Stage"), kind == "Check before a rotation":
		return pageRotation
	}
	for _, c := range catalog.Causes() {
		incident := c.ID == catalog.CauseAPIInt || c.ID == catalog.CauseClientCertificate
		if incident && (c.Title == name || slices.ContainsFunc(c.Symptoms, func(s catalog.Symptom) bool { return s.Proves && s.ID == name })) {
			return pageNodes
		}
	}
	return ""
}

// printTask names a task page in a line.
func printTask(w io.Writer, page string) {
	if page != "" {
		ui.Printf(w, "\nTask page: %s\n", cli.Page("tasks/"+page))
	}
}

// printTasks lists the task pages.
func printTasks(w io.Writer) {
	section(w, "Task pages", func() {
		for _, p := range taskPages() {
			ui.Printf(w, "%s  %s\n", cli.Page("tasks/"+p.file), p.about)
		}
	})
}
