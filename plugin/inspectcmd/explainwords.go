package inspectcmd

import (
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
)

const (
	// restartKind is that of what verify restart-safe asks.
	restartKind = "Question of verify restart-safe"
	// wordKind is that of what a screen says and no check is called.
	wordKind = "Word on a screen"
)

// restartSafe is the command that asks.
const restartSafe = "{} verify restart-safe --nodes all --via ssh"

// restartTopics are the questions of verify restart-safe, in their order, and what they come to.
func restartTopics() []topic {
	onNode := []string{"see what is wrong, and what repairs it:", restartSafe}
	trusts := []string{"see which nodes lack the CA, and the plan that repairs them:", fixAPIInt}
	help := map[string]help{
		"own-kubeconfig":       {means: "The kubelet reads this kubeconfig at its start. One that does not load counts as none: the kubelet has to rejoin.", todo: onNode},
		"resolves":             {means: "The kubelet reaches the API server by this name. Without an address, the node has no heartbeat.", todo: []string{"on the node: getent hosts NAME; /etc/resolv.conf, /etc/hosts"}},
		"trusts":               {means: "The CA in the kubelet's kubeconfig has to verify what the API server presents. Else the kubelet gets x509 errors once it reconnects.", todo: trusts},
		"client-certificate":   {means: "A kubelet without a valid client certificate reads its bootstrap kubeconfig and rejoins: its request waits for an approval.", todo: onNode},
		"own-node":             {means: "The node asks the API server for its own Node. 401: the certificate is unknown there. 403: it is known, and not allowed.", todo: []string{"after 401: do the servers trust the certificate's signer?", "{} verify nodes", "after 403:", "kubectl get clusterrolebinding system:node"}},
		"own-lease":            {means: "A kubelet renews its Lease: that is its heartbeat. 401 and 403 are as for its Node; 404 is fine, it makes one.", todo: []string{"after 401: do the servers trust the certificate's signer?", "{} verify nodes"}},
		"bootstrap-kubeconfig": {means: "With it, a kubelet without a valid client certificate rejoins. Where there is a valid one, this does not matter.", todo: onNode},
		"bootstrap-trusts":     {means: "The CA in the bootstrap kubeconfig has to verify what the API server presents. It matters where the kubelet has no valid client certificate.", todo: trusts},
		"bootstrap-token":      {means: "With a token that expired or was deleted (401), the kubelet can't request a certificate. It matters where it has no valid one.", todo: []string{"OpenShift: put a token that is valid into the file, on the node:", "oc -n openshift-machine-config-operator create token node-bootstrapper --duration=2h"}},
	}
	out := []topic{{
		kind: restartKind, claim: "each kubelet comes back if it is restarted now",
		help: helpNamed("restart-safe", "A node can be Ready while the files of its kubelet are wrong: they are read at the next restart or reboot. From then on it has no heartbeat.", restartSafe),
	}}
	for _, q := range trust.RestartQuestions() {
		h := help[q.ID]
		h.name = q.ID
		out = append(out, topic{kind: restartKind, claim: q.Text, words: []string{q.Text, q.Short}, help: h})
	}
	back, added, own := trust.ComesBackQuestion(), trust.NewNodeQuestion(), trust.AccessQuestion()
	return append(out,
		topic{
			kind: restartKind, claim: "the kubelet " + back.Text, words: []string{back.Text, back.Short, "would not come back", "would come back", "only with a hand, or not for long", "would come back only with a hand, or not for long", "unknown whether it would come back"},
			help: helpNamed(back.ID, "What the answers about a node come to. no: restart neither the kubelet nor the node before the repair. caution: it needs an approval, or comes back only until the next rotation.", restartSafe),
		},
		topic{
			kind: restartKind, claim: "a node that is added now joins", words: []string{added.Text},
			help: helpNamed(added.ID, "A new node trusts the CA that it is made with: where that does not verify what the API server presents, it never joins. Whether its token is accepted and its CSRs are approved is unknown from files.", restartSafe),
		},
		topic{
			kind: restartKind, claim: "your kubeconfig has a client certificate, and trusts the API server now and after the next rotation", words: []string{own.Text},
			help: helpNamed("your-access", "A token of oc login is refused while the pod network or the log-in is down: a client certificate is not. No exit code depends on it.", "keep one: on OpenShift the installer's auth/kubeconfig, of kubeadm /etc/kubernetes/admin.conf"),
		},
	)
}

// wordTopics are what screens say that is no check, problem or question.
func wordTopics() []topic {
	return []topic{{
		kind: wordKind, claim: "only an API server answers these checks, and none was asked", words: apply.NotChecked(),
		help: helpNamed("not-checked", "A file does not have the answer. Before a change the live cluster is asked: nothing is changed while an answer is unknown, unless it is accepted.", "which checks these are:", "{} rotate --list --details"),
	}, {
		kind: wordKind, claim: "a kubelet keeps its connection to the API server, and verifies api-int's certificate when it makes another one", words: []string{"reconnects", "reconnect", "until it reconnects", "until they reconnect"},
		help: helpNamed("reconnects", "A kubelet closes its connections when its client certificate is renewed, and when it is restarted; a connection that breaks is made again, too. Without the CA it gets x509 errors then, and its node becomes NotReady.", "when each client certificate is renewed:", "{} verify api-int --details", "see which nodes lack the CA, and the plan that repairs them:", fixAPIInt),
	}}
}

func helpNamed(name, means string, todo ...string) help { return help{name, means, todo} }

var (
	// howMany stands before words that count.
	howMany = regexp.MustCompile(`^\d+ `)
	// answered stands behind a question on a screen.
	answered = regexp.MustCompile(`\??(:? +(yes|no|none|caution|unknown))?$`)
	// ofNodes stands behind a verdict: of which nodes it is.
	ofNodes = regexp.MustCompile(`( come back[^:]*): .*$`)
)

// word explains what a screen says, by its words; false: no topic has them.
func (e *explainer) word(w io.Writer, all []topic, typed string) bool {
	i := slices.IndexFunc(all, func(t topic) bool { return t.called(typed) })
	if i >= 0 {
		all[i].print(w, *e)
	}
	return i >= 0
}

// called reports whether screens call the topic so.
func (t topic) called(typed string) bool {
	return slices.ContainsFunc(t.words, func(words string) bool { return wordOf(typed) == wordOf(words) })
}

// wordOf are words as they are compared: without a mark, a count, and an answer behind them.
func wordOf(typed string) string {
	typed = ofNodes.ReplaceAllString(typed, "$1")
	words := howMany.ReplaceAllString(counted.ReplaceAllString(titleOf(typed), ""), "")
	return answered.ReplaceAllString(strings.ReplaceAll(words, "-", " "), "")
}
