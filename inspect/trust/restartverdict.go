package trust

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// judged says what an answer means for a client that asked for something of its own.
func (j *restart) judged(a inspect.ProbeAnswer) (status assess.Status, why, next string) {
	told := strings.TrimSpace(fmt.Sprintf("%d %s", a.Code, a.Reason))
	switch {
	case a.Code >= 200 && a.Code < 300:
		return assess.Pass, "", ""
	case a.Code == 401:
		return assess.Fail, "the API server does not know its client certificate (" + told + ")", j.f.Hints().Next("is the certificate's signer in what kube-apiserver trusts? {} verify nodes") + j.f.Hints().From()
	case a.Code == 403:
		return assess.Fail, "the API server knows it, and does not allow it (" + told + ")", "is the name in its certificate that of its Node? kubectl get clusterrolebinding system:node"
	case a.Code > 0:
		return assess.Unknown, "the API server answers " + told, j.f.Hints().UnreadRestart("ask again when it is well")
	case a.Failure == inspect.FailedConnect || a.Failure == inspect.FailedTime || a.Failure == inspect.FailedTLS || a.Failure == inspect.FailedAnswer:
		return assess.Fail, a.Detail, "on the node: " + inspect.AskReadyz(a.Server)
	}
	return assess.Unknown, "it was not asked: " + a.Detail, ""
}

// joins reports whether the kubelet would go by its bootstrap kubeconfig: its own
// does not load, or has no client certificate, or one that has expired
// (kubernetes/kubernetes pkg/kubelet/certificate/bootstrap/bootstrap.go
// LoadClientConfig v1.35.4).
func (j *restart) joins() bool {
	return j.expired || j.answers[ownLoads].Status == assess.Fail
}

// verdict is what the answers come to.
func (j *restart) verdict() RestartAnswer {
	var all []string
	switch {
	case !j.joins():
		all = []string{ownLoads, clientCert, resolves, trusts, ownNode, ownLease}
	case j.c.Bootstrap.Absent:
		a := worstAnswer(j.answers[ownLoads], j.answers[clientCert])
		a.Reason += ", and there is no bootstrap kubeconfig to rejoin with"
		return j.answer(comesBack, a)
	case j.kept() != nil:
		all = []string{bootstrapLoads, bootstrapTrust}
	default:
		all = []string{bootstrapLoads, bootstrapTrust, bootstrapToken}
	}
	var answers []RestartAnswer
	for _, id := range all {
		a := j.answers[id]
		if j.untils[id] != "" || j.words[id] != "" {
			a = RestartAnswer{Assessment: assess.Assessment{Status: assess.Pass}} // now
		}
		if !a.NotNeeded {
			answers = append(answers, a)
		}
	}
	a := worstAnswer(answers...)
	if a.Status == assess.Pass {
		a.Reason, a.Remediation = "", assess.Remediation{}
		switch kept := j.kept(); {
		case !j.joins():
		case kept != nil:
			a.Status = assess.Warn
			a.Reason = "its kubeconfig is recreated from " + foreign.Text(j.c.Bootstrap.Path) + ", with the client certificate that it has, valid until " + moment(firstExpiry(kept)) + ": whether the API server accepts that certificate was not asked"
		default:
			a.Status = assess.Warn
			a.Reason = "it has to rejoin (" + cmp.Or(j.answers[clientCert].Reason, j.answers[ownLoads].Reason) + "): its request waits for an approval, and nothing starts on it until then"
			a.Remediation = assess.Advise("kubectl get csr, and approve what is its own: kubectl certificate approve NAME")
			if !j.f.Snapshot.Cluster.Versions.NotOpenShift {
				a.Remediation = assess.FixedCommand(j.rebootstrap())
			}
		}
	}
	for _, id := range all { // what one worker says hides nothing of what is known
		switch word := j.words[id]; {
		case word == "":
		case a.Status == assess.Pass:
			a.Status, a.Reason = assess.Unknown, word
		case a.Status == assess.Warn:
			a.Reason += "; and " + word
		}
	}
	for _, id := range all {
		if until := j.untils[id]; until != "" && a.Status != assess.Fail {
			a = cautioned(a, until, j.answers[id])
		}
	}
	return j.answer(comesBack, a)
}

// starting is a verdict, unless the kubelet exits before it reports: at its start it loads the CAs of its clients, all of
// them or none (kubernetes/kubernetes cmd/kubelet/app/auth.go BuildAuthn v1.35.4).
func (j *restart) starting(a RestartAnswer) RestartAnswer {
	file := j.n.Kubelet.ClientCAFile
	if file == "" || j.n.Via == "" || a.Status == assess.Fail {
		return a
	}
	why := ""
	for _, h := range j.f.InFile(j.n.Name, file) {
		loaded, skipped := h.Content.LoadedBy(pki.ReaderGoAll)
		if h.At.Field != "" || len(loaded) > 0 || h.Content.CutShort() != "" {
			return a
		}
		if why = "it can't be read"; len(skipped) > 0 {
			why = skipped[0].String()
		}
	}
	at := j.n.File(file)
	missing := at == nil && strings.HasPrefix(file, "/etc/kubernetes/") && inspect.MissingFile(j.f.Snapshot, j.n, file)
	if why == "" && (missing || at != nil && at.Link == "" && at.Whole) {
		why = "there is no CA in it"
	}
	if why == "" {
		return a
	}
	a = RestartAnswer{Assessment: assess.Assessment{Status: assess.Fail, Reason: "its kubelet does not start without the CAs of its clients, in " + foreign.Text(file) + ": " + why}}
	a.Remediation = assess.Advise("compare " + foreign.Text(file) + " with that of another node, and write it again")
	return j.answer(comesBack, a)
}

// byFiles answers what the node's files and what was presented to it decide, where its kubelet's credentials
// were not tried. They prove that a kubelet does not come back, and never that it does: that stays unknown.
func (j *restart) byFiles(unknown RestartAnswer) RestartAnswer {
	if j.n.Via == "" {
		return unknown
	}
	setup := inspect.KubeletSetupOf(j.f.Snapshot, j.n)
	j.verifiesServed(trusts, cmp.Or(j.n.Kubelet.Kubeconfig, setup.Kubeconfig), unknown.Reason)
	j.verifiesServed(bootstrapTrust, cmp.Or(j.n.Kubelet.BootstrapConfig, setup.Bootstrap), unknown.Reason)
	if certs := certsAt(j.f, pki.Location{Kind: pki.KindFile, Node: j.n.Name, Path: inspect.KubeletClient}); len(certs) > 0 {
		if end := firstExpiry(certs); j.n.Time(j.f.Now).After(end) {
			j.expired = true
			j.say(clientCert, assess.Fail, "it expired "+moment(end))
		} else if !j.n.Time(j.f.Now).Before(certs[0].NotBefore) {
			j.say(clientCert, assess.Pass, "until "+moment(end))
		}
	} else if j.f.LacksClient(j.n) {
		j.expired = true
		j.say(clientCert, assess.Fail, "there is no certificate in "+inspect.KubeletClient)
	}
	needs := trusts
	if j.expired { // it goes by the bootstrap kubeconfig
		needs = bootstrapTrust
	}
	a := j.answers[needs]
	if a.Status != assess.Fail {
		clear(j.answers)
		return unknown
	}
	if j.expired {
		a.Reason = "no valid client certificate, and " + a.Reason + ": it can't rejoin"
		if setup.HasOperators && a.Remediation.Command != "" {
			a.Remediation = assess.FixedCommand(j.f.Hints().Next("{} fix-api-int --nodes NODE --approve-csrs --dry-run=client"))
		}
	}
	return a
}

// verifiesServed answers whether a kubeconfig verifies what its server presented to the node, where both were
// read; else why it was not tried.
func (j *restart) verifiesServed(id, path, untried string) {
	for _, k := range j.n.Kubeconfigs {
		client, err := ClientOf(j.f, j.n, k)
		served, seen := client.Served()
		roots, _ := j.f.Loaded(j.n.Name, k)
		if k.Path != path || err != nil || !seen || len(roots) == 0 {
			continue
		}
		if err := client.Refuses(served.Chain, j.f.Now); err != nil {
			j.say(id, assess.Fail, path+": "+err.Error(), j.fixing(path))
		} else if why, note := j.elsewhere(client, roots); why != "" {
			j.say(id, assess.Unknown, untried+"; "+path+" does not verify "+why, j.fixing(path))
		} else if note != "" {
			j.say(id, assess.Unknown, untried+"; "+path+" does not verify "+note)
		} else {
			j.say(id, assess.Pass, "")
		}
		return
	}
}

// chainKey tells chains apart.
func chainKey(chain []*pki.Cert) string {
	var key strings.Builder
	for _, c := range chain {
		key.Write(c.Fingerprint[:])
	}
	return key.String()
}

// elsewhere is what another of the servers behind a client's address presents that it does not trust,
// and why: the next connection may be led there. Empty: nothing, as far as is known. note is what another worker
// alone was presented: it leaves the answer unknown, and proves nothing of this node, since root on that worker
// chooses it.
func (j *restart) elsewhere(client Client, roots []*pki.Cert) (why, note string) {
	known := map[string]bool{} // many nodes are presented the same
	behind := func(v inspect.Served) bool {
		return v.Name == client.Name && (v.Address == client.Address || v.Server == catalog.ListenerAPIServer)
	}
	for _, v := range j.f.Snapshot.Served {
		if !behind(v) || len(v.Chain) == 0 {
			continue
		}
		key := chainKey(v.Chain)
		if known[key] {
			continue
		}
		known[key] = true
		word := aloneWith(j.f, v, behind)
		if word == j.n.Name {
			word = ""
		}
		if word != "" && note != "" { // one is enough, and each is verified for each node
			continue
		}
		err := error(nil)
		if pki.Cost(v.Chain, roots) > pki.CostOfAnother { // each node would pay for what one of them says
			err = errors.New(whyCostly)
		} else {
			err = client.Refuses(v.Chain, j.f.Now)
		}
		switch {
		case err == nil:
		case word != "":
			note = "the certificate that was presented to worker " + word + " alone there (its own resolver and network choose the server: look there first): " + err.Error()
		case v.Of != "":
			return "the certificate that " + v.Of + " presents: " + err.Error(), ""
		default:
			return "the certificate that was presented to " + cmp.Or(v.Node, "another client") + " there: " + err.Error(), ""
		}
	}
	return "", note
}

// fixing is the next step for a kubeconfig that does not verify the API server.
func (j *restart) fixing(path string) assess.Remediation {
	if !slices.ContainsFunc(catalog.KubeletSetups(j.f.Snapshot.Cluster.Versions), func(s catalog.KubeletSetup) bool { return slices.Contains(s.Kubeconfigs(), path) }) {
		return assess.Advise("write the cluster's CA into " + foreign.Text(path))
	}
	return assess.FixedCommand(j.f.Hints().Next("{} fix-api-int --nodes NODE --dry-run=client"))
}

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
	// From is when a yes becomes a no at the earliest, because the certificate that is presented
	// is rotated; zero: not by that, or unknown.
	From time.Time `json:"from,omitzero"`
}

// RestartQuestion is a line of the table.
type RestartQuestion struct{ ID, Text, Short string }

// The questions that the verdict is made of.
const (
	comesBack      = "comes-back"
	newNode        = "new-node"
	access         = "access"
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
		{ownLoads, "kubeconfig loads", "LOADS"},
		{resolves, "API server's name resolves", "DNS"},
		{trusts, "kubeconfig trusts API server", "CA"},
		{clientCert, "client certificate is valid", "CERT"},
		{ownNode, "may get its own Node", "NODE"},
		{ownLease, "may get its own Lease", "LEASE"},
		{bootstrapLoads, "bootstrap kubeconfig loads", "B-LOADS"},
		{bootstrapTrust, "bootstrap kubeconfig trusts API server", "B-CA"},
		{bootstrapToken, "bootstrap token is accepted", "TOKEN"},
	}
}

// ComesBackQuestion is what the answers of a node come to.
func ComesBackQuestion() RestartQuestion {
	return RestartQuestion{comesBack, "comes back after a restart now", "BACK"}
}

// NewNodeQuestion is about a node that there is not yet.
func NewNodeQuestion() RestartQuestion {
	return RestartQuestion{newNode, "Would a node added now join?", ""}
}

// AccessQuestion is about the user.
func AccessQuestion() RestartQuestion {
	return RestartQuestion{access, "Do you hold a certificate kubeconfig that survives an outage?", ""}
}

// worstAnswer is the first of the worst answers.
func worstAnswer(answers ...RestartAnswer) RestartAnswer {
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
