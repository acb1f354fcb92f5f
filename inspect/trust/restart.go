package trust

import (
	"cmp"
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

// restart judges one node.
type restart struct {
	f *inspect.Facts
	n *inspect.Node
	c *inspect.RestartProbe
	// claims are those of verify: what becomes of a kubeconfig at the next rotation is
	// said there.
	claims  []Claim
	answers map[string]RestartAnswer
	// expired: the kubelet's own kubeconfig has no client certificate that a kubelet
	// takes for valid.
	expired bool
	// untils are what is true now, and not after the next rotation, by question.
	untils map[string]string
	// words are what another worker alone was presented, by question: why the answer is unknown, as far as no other
	// decides it.
	words map[string]string
}

// RestartOf judges one node. claims are those of Judge.
func RestartOf(f *inspect.Facts, n *inspect.Node, claims []Claim) RestartNode {
	out := RestartNode{Name: n.Name, Via: n.Via, Ready: n.Ready}
	out.Alive, out.Heartbeat = f.Snapshot.NodeHealth(n).Words()
	j := restart{f: f, n: n, c: n.RestartProbe, claims: claims, answers: map[string]RestartAnswer{}, untils: map[string]string{}, words: map[string]string{}}
	problem := ""
	switch {
	case n.Via == "":
		problem = whyUnread
		if _, there := f.Node(n.Name); !there {
			problem = whyLeftOut
		}
	case n.RestartProbe == nil:
		problem = "its kubelet's credentials were not tried on the node"
	case n.RestartProbe.Problem != "":
		problem = n.RestartProbe.Problem
	}
	if problem != "" {
		next := f.Hints().UnreadRestart("{} verify restart-safe --nodes %s --via ssh (or --allow-pods)", n.Name)
		unknown := RestartAnswer{Assessment: assess.Assessment{Reason: problem, Remediation: assess.Advise(next)}}
		out.ComesBack = j.starting(j.answer(comesBack, j.byFiles(unknown)))
		for _, q := range RestartQuestions() {
			a, known := j.answers[q.ID]
			if !known {
				a = RestartAnswer{Assessment: assess.Assessment{Reason: problem}}
			}
			if q.ID == bootstrapTrust && known && !j.joins() {
				a = needless(a)
			}
			out.Answers = append(out.Answers, j.answer(q.ID, a))
		}
		return out
	}
	j.own()
	j.bootstrap()
	out.ComesBack = j.starting(j.verdict())
	for _, q := range RestartQuestions() {
		a := j.answers[q.ID]
		if strings.HasPrefix(q.ID, "bootstrap-") && !j.joins() {
			a = needless(a)
		}
		out.Answers = append(out.Answers, j.answer(q.ID, a))
	}
	return out
}

// needless is an answer about a bootstrap kubeconfig that the kubelet does not go by.
func needless(a RestartAnswer) RestartAnswer {
	if a.Status == assess.Fail || a.Status == assess.Unknown || a.Status == assess.Warn {
		a.Reason += "; this matters only when there is no valid client certificate"
	}
	if a.Status == assess.Fail {
		a.Status = assess.Warn
	}
	return a
}

func (j *restart) say(id string, status assess.Status, reason string, next ...assess.Remediation) {
	a := RestartAnswer{Assessment: assess.Assessment{Status: status, Reason: reason}}
	for _, r := range next {
		a.Remediation = r
	}
	j.answers[id] = a
}

// spare says that there is nothing to answer, and why.
func (j *restart) spare(id, reason string) {
	j.answers[id] = RestartAnswer{Assessment: assess.Assessment{Status: assess.Pass, Reason: reason}, NotNeeded: true}
}

// answer is what is told of a question: for this node, and with a severity.
func (j *restart) answer(id string, a RestartAnswer) RestartAnswer {
	a.ID, a.Subject, a.Severity = id, foreign.Name(j.n.Name), severityOf(a.Status)
	a.Remediation = a.Remediation.For(j.n.Name)
	return a
}

func severityOf(s assess.Status) assess.Severity {
	switch s {
	case assess.Fail:
		return assess.Critical
	case assess.Warn:
		return assess.Warning
	}
	return 0
}

// own answers for the kubelet's own kubeconfig.
func (j *restart) own() {
	f := &j.c.Kubeconfig
	j.loads(ownLoads, f)
	j.resolves(f)
	j.trusts(trusts, f)
	j.certificate()
	for id, q := range map[string]inspect.Question{ownNode: inspect.AskNode, ownLease: inspect.AskLease} {
		a, ok := answer(f, q)
		if !ok {
			j.say(id, assess.Unknown, "it was not asked: the kubeconfig can't be used")
			continue
		}
		status, why, next := j.judged(a)
		if a.Code == 401 && !j.f.Snapshot.Cluster.Versions.NotOpenShift {
			next += "; if it is to have another one: " + j.rebootstrap()
		}
		if a.Code == 404 {
			status, why, next = assess.Pass, "there is none; a kubelet makes it at its start", ""
		}
		j.say(id, status, why, assess.Advise(next))
	}
}

// bootstrap answers for the kubeconfig to join with.
func (j *restart) bootstrap() {
	f := &j.c.Bootstrap
	if f.Absent {
		for _, id := range []string{bootstrapLoads, bootstrapTrust, bootstrapToken} {
			j.spare(id, "there is no bootstrap kubeconfig")
		}
		return
	}
	j.loads(bootstrapLoads, f)
	j.trusts(bootstrapTrust, f)
	a, ok := answer(f, inspect.AskAPI)
	if !ok {
		j.say(bootstrapToken, assess.Unknown, "it was not asked: the kubeconfig can't be used")
		return
	}
	status, why, next := j.judged(a)
	switch {
	case f.Presents == inspect.CredentialNone:
		status, why, next = assess.Fail, "the file has no token", ""
	case a.Code == 403: // known, and not allowed to read this
		status, why, next = assess.Pass, "", ""
	case a.Code == 401:
		why = "the API server does not know the token (401 " + a.Reason + "): it has expired, or was deleted"
		next = "compare with Secret/openshift-machine-config-operator/node-bootstrapper-token; new nodes are given its token"
		if j.f.Snapshot.Cluster.Versions.NotOpenShift {
			next = "kubeadm token create, on a control plane node, and write it into " + foreign.Text(f.Path)
		}
	}
	j.say(bootstrapToken, status, why, assess.Advise(next))
}

func (j *restart) loads(id string, f *inspect.ProbedKubeconfig) {
	switch {
	case f.Absent:
		j.say(id, assess.Fail, "there is no "+foreign.Text(f.Path))
	case f.Refused != "":
		j.say(id, assess.Fail, foreign.Text(f.Path)+": "+f.Refused, assess.Advise("look at "+foreign.Text(f.Path)+" on the node"))
	case f.Unread != "":
		j.say(id, assess.Unknown, foreign.Text(f.Path)+": "+f.Unread, assess.Advise("look at "+foreign.Text(f.Path)+" on the node"))
	default:
		j.say(id, assess.Pass, "")
	}
}

func answer(f *inspect.ProbedKubeconfig, q inspect.Question) (inspect.ProbeAnswer, bool) {
	for _, a := range f.Answers {
		if a.Question == q {
			return a, true
		}
	}
	return inspect.ProbeAnswer{}, false
}

func (j *restart) resolves(f *inspect.ProbedKubeconfig) {
	if len(f.Answers) == 0 {
		j.say(resolves, assess.Unknown, "it was not asked: the kubeconfig can't be used")
		return
	}
	switch a := f.Answers[0]; a.Failure {
	case inspect.FailedResolve:
		j.say(resolves, assess.Fail, a.Detail, assess.Advise("on the node: "+foreign.Command("", "getent hosts %s", hostOf(a.Server))+"; /etc/resolv.conf, /etc/hosts, and on premises the coredns and keepalived static pods"))
	case inspect.FailedTool, inspect.FailedChanged:
		j.say(resolves, assess.Unknown, a.Detail)
	default:
		j.say(resolves, assess.Pass, "")
	}
}

// trusts judges the CA of a kubeconfig, now and after the next rotation of what is
// presented.
func (j *restart) trusts(id string, f *inspect.ProbedKubeconfig) {
	j.trustsNow(id, f)
	if j.answers[id].Status != assess.Pass && j.words[id] == "" {
		return
	}
	at := pki.Location{Kind: pki.KindFile, Node: j.n.Name, Path: f.Path}
	i := slices.IndexFunc(j.claims, func(c Claim) bool {
		return c.Status == assess.Warn && c.Missing != nil && c.Edge.ServerName == catalog.NameInKubeconfig && c.ProcessStarted.IsZero() && len(c.Trust) > 0 && c.Trust[0] == at
	})
	if i < 0 {
		return
	}
	c := j.claims[i]
	until := "no longer once the API server's certificate is rotated"
	if !c.From.IsZero() {
		until = "no longer after " + moment(c.From) + ", the earliest rotation of the API server's certificate"
	}
	j.untils[id] = fmt.Sprintf("%s: %s lacks the CA %s (%s), made %s", until, foreign.Text(f.Path), foreign.QuotedName(pki.CommonName(c.Missing.Subject)), c.Missing.Fingerprint.Short(), moment(c.Missing.NotBefore))
	reason := "now; " + j.untils[id]
	if word := j.words[id]; word != "" {
		reason = word + "; in any case " + j.untils[id]
	}
	j.answers[id] = RestartAnswer{
		Assessment: assess.Assessment{Status: assess.Warn, Reason: reason, Remediation: assess.Advise(c.Edge.Remediation)}, From: c.From,
	}
}

// trustsNow judges the CA of a kubeconfig: as a kubelet does where the chain was seen,
// else by what came of a request.
func (j *restart) trustsNow(id string, f *inspect.ProbedKubeconfig) {
	if len(f.Answers) == 0 {
		j.say(id, assess.Unknown, "it was not asked: the kubeconfig can't be used")
		return
	}
	a := f.Answers[0]
	next := j.fixing(f.Path)
	served, seen := j.f.ServedTo(j.n.Name, a.Server)
	i := slices.IndexFunc(j.n.Kubeconfigs, func(k inspect.Kubeconfig) bool { return k.Path == f.Path })
	if seen && i >= 0 && served.Name == a.Name {
		if roots, _ := j.f.Loaded(j.n.Name, j.n.Kubeconfigs[i]); len(roots) > 0 {
			client := Client{facts: j.f, node: j.n, file: j.n.Kubeconfigs[i], Address: a.Server, Name: a.Name}
			if err := client.Refuses(served.Chain, j.f.Now); err != nil {
				j.say(id, assess.Fail, foreign.Text(f.Path)+": "+err.Error(), next)
			} else if why, note := j.elsewhere(client, roots); why != "" {
				j.say(id, assess.Warn, "it trusts the server that answered; "+foreign.Text(f.Path)+" does not verify "+why, next)
			} else if note != "" {
				j.words[id] = "it trusts the server that answered; " + foreign.Text(f.Path) + " does not verify " + note
				j.say(id, assess.Unknown, j.words[id]) // and no command: it would be the worker's
			} else {
				j.say(id, assess.Pass, "")
			}
			return
		}
	}
	switch {
	case a.Code > 0:
		j.say(id, assess.Pass, "")
	case a.Failure == inspect.FailedTrust:
		j.say(id, assess.Fail, foreign.Text(f.Path)+": "+a.Detail, next)
	default:
		j.say(id, assess.Unknown, "it did not come to that: "+a.Detail)
	}
}

// certificate judges the client certificate of the kubelet's own kubeconfig.
func (j *restart) certificate() {
	f := &j.c.Kubeconfig
	next := assess.Advise("with a bootstrap token that is accepted: " + j.rebootstrap())
	if j.f.Snapshot.Cluster.Versions.NotOpenShift {
		next = assess.Advise("with a bootstrap token that is accepted, a restart makes the kubelet ask for another one: kubectl get csr, and approve what is its own")
	}
	switch {
	case f.Presents == inspect.CredentialToken:
		j.expired = !j.c.Bootstrap.Absent
		j.spare(clientCert, "the kubeconfig presents a token")
		return
	case f.Absent || f.Presents != inspect.CredentialCertificate:
		j.say(clientCert, assess.Unknown, "the kubeconfig names none that can be read")
		if f.Absent || f.Refused != "" {
			j.expired = true
			j.say(clientCert, assess.Fail, "no kubeconfig names one", next)
		}
		return
	}
	at := pki.Location{Kind: pki.KindFile, Node: j.n.Name, Path: cmp.Or(f.Certificate, f.Path), Field: f.Field}
	certs := certsAt(j.f, at)
	now := j.n.Time(j.f.Now)
	switch {
	case len(certs) == 0 && j.whole(at.Path):
		j.expired = true
		j.say(clientCert, assess.Fail, "there is no certificate in "+foreign.Text(at.Path), next)
	case len(certs) == 0:
		j.say(clientCert, assess.Unknown, foreign.Text(at.Path)+" was not read")
	case now.After(firstExpiry(certs)):
		j.expired = true
		j.say(clientCert, assess.Fail, "it expired "+moment(firstExpiry(certs)), next)
	case now.Before(certs[0].NotBefore):
		j.say(clientCert, assess.Fail, "by the node's clock it begins later, "+moment(certs[0].NotBefore), assess.Advise("set the node's clock"))
	default:
		j.say(clientCert, assess.Pass, "until "+moment(firstExpiry(certs)))
	}
}

// firstExpiry is when the first of some certificates expires: a kubelet takes them for valid
// until then.
func firstExpiry(certs []*pki.Cert) time.Time {
	end := certs[0].NotAfter
	for _, c := range certs {
		if c.NotAfter.Before(end) {
			end = c.NotAfter
		}
	}
	return end
}

// kept is the certificate that the kubelet would go on with if it recreated its
// kubeconfig, with no request for another one; nil: there is none.
func (j *restart) kept() []*pki.Cert {
	certs := certsAt(j.f, pki.Location{Kind: pki.KindFile, Node: j.n.Name, Path: inspect.KubeletClient})
	now := j.n.Time(j.f.Now)
	if len(certs) == 0 || now.After(firstExpiry(certs)) || now.Before(certs[0].NotBefore) {
		return nil
	}
	return certs
}

// whole reports whether a file that holds no certificate was seen not to, or not
// to be there.
func (j *restart) whole(path string) bool {
	file := j.n.File(path)
	return file == nil && strings.HasPrefix(path, "/var/lib/kubelet/pki/") || file != nil && (file.Whole || file.Link != "" && file.Target == "")
}

func certsAt(f *inspect.Facts, at pki.Location) []*pki.Cert {
	entries := f.Entries
	if at.Node != "" {
		entries = f.InFile(at.Node, at.Path)
	}
	for i := range entries {
		if h := &entries[i]; h.At == at && len(h.Content.Certs) > 0 {
			return h.Content.Certs
		}
	}
	return nil
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// rebootstrap is the command by which the kubelet rejoins.
func (j *restart) rebootstrap() string {
	return j.f.Hints().Next("{} fix-api-int --nodes NODE --rebootstrap --approve-csrs --dry-run=client")
}
