package inspectcmd

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// waveKind is that of the parts of a repair.
const waveKind = "Wave of a repair"

// waveTopics are the waves of fix-api-int, in their order, and names that are no check's in a list.
func waveTopics() []topic {
	wave := func(name, claim, means string) topic {
		return topic{kind: waveKind, claim: claim, help: help{name, means, []string{fixAPIInt, repairStatus}}}
	}
	return []topic{
		{kind: "Check before a rotation", claim: "the command rotate can trigger it in this version", help: help{"managed", "Something else renews it, or nothing does: rotate NAME --explain says which, and how to replace it.", []string{"{} rotate NAME --explain"}}, details: reference("rotate.md")},
		{kind: "Check before a repair", claim: "the node was read", help: help{"node-read", "Whether the node needs a repair is unknown: it is left as it is.", []string{readAgain, "{} fix-api-int --dry-run=client --nodes NODE --via ssh"}}, details: reference("fix-api-int.md")},
		wave("wave", "each of its nodes reports again", "A group of nodes that is repaired before the next group: "+strings.Join([]string{remediate.WaveMasters, remediate.WaveNotReady, remediate.WaveFirst, remediate.WaveWorkers}, ", ")+"."),
		wave(remediate.WaveMasters, "the control plane nodes trust api-int", "Control plane nodes are repaired first, one after another."),
		wave(remediate.WaveNotReady, "the workers that are not Ready trust api-int", "Workers that are NotReady or have no heartbeat are repaired before workers that are Ready: they lose nothing."),
		wave(remediate.WaveFirst, "one worker that is Ready trusts api-int", "One Ready worker is repaired alone. Other workers follow once it is back."),
		wave(remediate.WaveWorkers, "the other workers trust api-int", "The other workers, a few at a time."),
		wave(remediate.WaveNetwork, "pods that dial api-int trust it", "Pods of the network that loaded the previous CA restart."),
		wave(remediate.WaveRequests, "kubelets have their certificates", "Certificate requests of repaired nodes are approved."),
	}
}

// counted is how many more there are, behind a name in a table.
var counted = regexp.MustCompile(`(^| )\+\d+$`)

// kindWords are the kinds of which an object has a namespace.
func kindWords() map[string]string {
	return map[string]string{"secret": catalog.Secret, "secrets": catalog.Secret, "configmap": catalog.ConfigMap, "configmaps": catalog.ConfigMap, "cm": catalog.ConfigMap}
}

// asTyped are names as explain knows them, of what is typed for kubectl: KIND NAME and KIND/NAME, with
// -n, and of words of a list, as "clients unknown".
func (e *explainer) asTyped(args []string) []string {
	isKind := func(word string) bool { return kindWords()[strings.ToLower(word)] != "" }
	var out []string
	for i := 0; i < len(args); i++ {
		if id, words := e.why(args[i:]); words > 0 {
			out, i = append(out, id), i+words-1
			continue
		}
		if counted.MatchString(args[i]) && i > 0 { // how many more there are
			continue
		}
		name := plainPlace(args[i])
		if node, path, ok := strings.Cut(args[i], ":/"); ok && name == "/"+path {
			if e.onNode == nil {
				e.onNode = map[string]string{}
			}
			e.onNode[name] = strings.TrimPrefix(node, "node/")
		}
		if isKind(name) && i+1 < len(args) && !strings.Contains(args[i+1], "/") {
			i++
			name += "/" + args[i]
		}
		if kind, object, ok := strings.Cut(name, "/"); ok && e.namespace != "" && isKind(kind) && !strings.Contains(object, "/") {
			name = kind + "/" + e.namespace + "/" + object
		}
		out = append(out, name)
	}
	return out
}

// why is the check that the first words are a list's words about, and how many words these are; 0: they
// are about none.
func (e *explainer) why(args []string) (id string, words int) {
	for n := len(args); n > 0; n-- {
		typed := strings.ReplaceAll(strings.ToLower(strings.Join(args[:n], " ")), "-", " ")
		for short, id := range e.whys {
			if strings.ReplaceAll(strings.ToLower(short), "-", " ") == counted.ReplaceAllString(typed, "") {
				return id, n
			}
		}
	}
	return "", 0
}

// rotated are the Secrets that rotate knows by a name, as explain takes them.
func rotated(name string) []string {
	var out []string
	for _, row := range catalog.Rotations() {
		for _, r := range append([]catalog.Ref{row.Signer}, row.Targets...) {
			if r.Kind != catalog.Secret || !r.Fits(catalog.Secret, r.Namespace, strings.TrimPrefix(name, r.Namespace+"/"), r.Key) {
				continue
			}
			if at := catalog.Secret + "/" + r.Namespace + "/" + strings.TrimPrefix(name, r.Namespace+"/"); !slices.Contains(out, at) {
				out = append(out, at)
			}
		}
	}
	return out
}

// several is the error about a name of several Secrets.
func (e explainer) several(name string, secrets []string) error {
	hints := e.reading.App.Hints()
	commands := make([]string, len(secrets))
	for i, at := range secrets {
		commands[i] = hints.Next("{} explain %s", at) + e.reading.Hints().From()
	}
	return cli.WithHint(fmt.Errorf("%s is the name of %d Secrets", name, len(secrets)), "%s", strings.Join(commands, "\n"))
}
