package csr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesapi "k8s.io/api/certificates/v1"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// joins reports whether a request is by who may ask in any node's name, and matches.
func (r *Request) joins(n RequestedNode) bool { return r.mismatch == "" && r.Spec.Username != n.user() }

// asked is the key of a request in the node's name that was made since its kubelet was started, by who may be
// that kubelet. Where its bootstrap file proves by which user it asks, that is this user alone: others ask for
// what is never approved, and keep no kubelet from its certificate. Else it is any user, whatever it asks for: a
// kubelet that bootstraps as another user than those who usually do asks for what matches nothing, and waits
// beside a thief whose request matches. By its certificate another node's kubelet joins nothing, if this one
// joins with a token. By the token, which each node has, it contests as any thief does, and by the node's
// own certificate who has that. For a serving certificate a kubelet asks after it has its client certificate.
func (n RequestedNode) asked(csr *certificatesapi.CertificateSigningRequest) (key pki.Fingerprint, ok bool) {
	if n.kubeletState == nil || n.beforeRestart[csr.Name] || n.kubeletState.predates(csr) {
		return key, false
	}
	switch user := csr.Spec.Username; {
	case user == n.user():
		if csr.Spec.SignerName == catalog.KubeletServingSigner {
			return key, false
		}
	case n.kubeletState.user != "" && user != n.kubeletState.user, n.kubeletState.token && n.anotherNode(user):
		return key, false
	}
	if !n.isSubject(csr.Spec.Request) {
		return key, false
	}
	asks, _ := parseRequest(csr.Spec.Request) // one that is odd is in its name, too
	if asks == nil || asks.Subject.CommonName != n.user() {
		return key, false
	}
	return pki.FingerprintOf(asks.RawSubjectPublicKeyInfo), true
}

// anotherNode reports whether a user is another node's kubelet.
func (n RequestedNode) anotherNode(user string) bool {
	return user != n.user() && strings.HasPrefix(user, "system:node:")
}

// noBootstrappers are the users, each with keys that no bootstrapper asked for, that have no bootstrapper's
// token; none where the others with a token contest each other, or a user that asked is unknown.
func (n RequestedNode) noBootstrappers(keys int, by map[pki.Fingerprint][]string) []string {
	var others []string
	for _, users := range by {
		if !slices.ContainsFunc(users, n.bootstraps) {
			others = append(others, users...)
			keys--
		}
	}
	if keys > 1 {
		return nil
	}
	slices.Sort(others)
	return slices.Compact(others)
}

// bootstraps reports whether a user may be one that joins.
func (n RequestedNode) bootstraps(user string) bool {
	_, may := catalog.RequesterOf(catalog.KubeletClientSigner, user, n.Name, n.Versions)
	return may != catalog.No && user != n.user()
}

// namedUsers are users in a sentence, not more than can be read.
func namedUsers(users []string) string {
	const most = 5
	if more := len(users) - most; more > 0 {
		return foreign.Texts(users[:most]) + fmt.Sprintf(" and %d more users", more)
	}
	return foreign.Texts(users)
}

// otherClients says who contests beside a kubelet.
func otherClients(users []string) string {
	ask := " asks"
	if len(users) > 1 {
		ask = " ask"
	}
	return namedUsers(users) + ask + ", too, by no bootstrapper's credentials"
}

// single wants one key among the requests in the node's name since its kubelet was started (asked, by users; true: it
// is answered): the one to join that is pending may be a thief's, while the kubelet waits for the
// certificate of its own. A kubelet that was restarted makes one request; one that runs for long has made
// several, each with another key, and which of them is the one that it waits for can't be
// told from outside. Where the run saw several between two starts of the kubelet, the node is contested
// until its end: after another start, the thief may be the first one to ask.
func (n RequestedNode) single(all []*Request, asked map[pki.Fingerprint]bool, by map[pki.Fingerprint][]string) {
	if n.kubeletState == nil || n.kubeletState.why != "" {
		return // none is the kubelet's, whoever else asks
	}
	keys, contested, answered := asked, len(asked) > 1, 0
	if n.seen != nil {
		seen := n.seen(n.kubeletState.started, asked)
		keys, contested = seen.Keys, seen.Contested
		n.onlyApproved(all, seen.Approved)
	}
	if !contested {
		return
	}
	for _, yes := range asked {
		if yes {
			answered++
		}
	}
	which, came := fmt.Sprintf("%d requests in this node's name, with different keys, ", len(keys)), "came since its kubelet was started"
	if n.beforeRestart != nil {
		came = "came since its kubelet was restarted"
	}
	switch {
	case len(keys) < 2:
		which, came = "several requests in this node's name, with different keys, ", "came between two starts of its kubelet"
	case answered > 0:
		which = fmt.Sprintf("%d requests in this node's name, with different keys, %d of them answered already, ", len(keys), answered)
	}
	const stays = "; no request to join in its name is approved in this run"
	others := n.noBootstrappers(len(keys), by)
	for _, r := range all {
		if !r.joins(n) {
			continue
		}
		if n.beforeRestart != nil && len(others) > 0 {
			r.mismatch = which + came + ", and a kubelet makes one: " + otherClients(others) + stays + ". Compare keys: a kubelet that does not rotate has its own on the node (openssl pkey -in /var/lib/kubelet/pki/kubelet-client.key.tmp -pubout -outform DER | sha256sum); audit logs of all kube-apiservers have the address of each client (sourceIPs). Stop that client, then: " + n.rebootstrap()
			continue
		}
		if n.beforeRestart != nil {
			r.mismatch = which + came + ", and a kubelet makes one: another client asks, too, with the bootstrap token" + stays + ". Audit logs of all kube-apiservers have its address (sourceIPs). " + n.Hints.Next("Replace that token first ({} explain token-in-logs), then: ") + n.rebootstrap()
			continue
		}
		whose := ": earlier tries of its kubelet, or another client's"
		if len(others) > 0 {
			whose = ": " + otherClients(others)
		}
		r.mismatch = which + came + whose + stays
		r.restart = n.rebootstrap()
	}
}

// onlyApproved refuses each key but the one that this run approved, if it did: its kubelet has its answer.
func (n RequestedNode) onlyApproved(all []*Request, approved pki.Fingerprint) {
	for _, r := range all {
		if approved != (pki.Fingerprint{}) && r.joins(n) && r.key() != approved {
			r.mismatch = "this run approved a request in this node's name, for the key with sha256 " + approved.String() + ": its kubelet was started again meanwhile, or another client asks; no second one is approved in this run"
			r.restart = n.rebootstrap()
		}
	}
}

// rebootstrap is the command that previews a restart of the kubelet, which then makes one request.
func (n RequestedNode) rebootstrap() string {
	return n.Hints.Next("{} fix-api-int --nodes %s --rebootstrap --approve-csrs --dry-run=client", n.Name)
}

// settling is how long requests by a bootstrapper's token wait from when the last key, or the last
// start of the kubelet, is first seen: who else asks in this node's name, with a stolen token, is seen
// beside it, and then none is approved. It begins when the API server can be asked on the node. A kubelet
// asks within seconds of its start; where it could not, it tries again after up to 17.6 s, then every
// 32 s (client-go util/certificate/certificate_manager.go: 2, 4, 8, 16 s, 10 % more at most).
const settling = 40 * time.Second

// errUnsettled: who else asks in the node's name was not awaited yet.
var errUnsettled = errors.New("the request, or the start of the node's kubelet, is seen for less than " + settling.String())

// settled reports whether who asks to join in a node's name, as it was just read, has been the same for
// long enough.
func settled(env *remediate.Env, n RequestedNode) bool {
	now := env.Now()
	return n.kubeletState != nil && now.Sub(env.Joins.See(n.Name, n.kubeletState.started, now, nil).Since) >= settling
}

// pendingNow reads the pending requests about a node. Where one asks by a bootstrapper's token,
// the node is read now: its kubelet may have got its certificate since the plan was made.
func pendingNow(ctx context.Context, env *remediate.Env, n RequestedNode) ([]*Request, RequestedNode, error) {
	n.readOrigins = originsBy(env)
	n.seen = func(started time.Time, keys map[pki.Fingerprint]bool) remediate.JoinsSeen {
		return env.Joins.See(n.Name, started, env.Now(), keys)
	}
	requests, err := PendingOf(ctx, env.Kube, n)
	if err == nil && slices.ContainsFunc(requests, func(r *Request) bool { return r.mismatch == errUnlooked.Error() }) {
		n.kubeletState, n.certified = readKubelet(ctx, env, n)
		if n.kubeletState != nil && n.kubeletState.why != "" {
			env.Joins.CouldNotAsk(n.Name)
		}
		requests, err = PendingOf(ctx, env.Kube, n)
	}
	switch {
	case isTooMany(err):
		env.Joins.CouldNotAsk(n.Name) // other nodes' requests are looked at
	case err != nil:
		env.Joins.CouldNotAsk("") // the API server did not answer: that may be so for all kubelets
	}
	return requests, n, err
}
