package csr

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

func namesOf(asks *x509.CertificateRequest) string {
	names := slices.Concat(asks.DNSNames, asks.EmailAddresses)
	for _, ip := range asks.IPAddresses {
		names = append(names, ip.String())
	}
	for _, u := range asks.URIs {
		names = append(names, u.String())
	}
	if len(names) == 0 && len(asks.Extensions) > 0 {
		return fmt.Sprintf("extension %s", asks.Extensions[0].Id)
	}
	if len(names) == 0 {
		return "none"
	}
	return foreign.Texts(names)
}

// serving reports whether a request is for a serving certificate.
func (r *Request) serving() bool { return r.Spec.SignerName == catalog.KubeletServingSigner }

// described are the requests of which each is told, in order; of outsiders a few are, and of others that do not
// match some. more says how many others there are. None of those is approved, and anyone may make them, or
// who has the bootstrap token.
func described(all []*Request) (each []*Request, more string) {
	const outsiders = 5
	most := map[bool]int{true: 3, false: 50} // of each user: of an outsider, of another
	made := map[bool]map[string]int{true: {}, false: {}}
	var unseen []string
	hidden := 0
	for _, r := range inOrder(all) {
		hidden += r.beyond
		if !r.outsider && r.mismatch == "" {
			each = append(each, r)
			continue
		}
		user, of := r.Spec.Username, made[r.outsider]
		of[user]++
		if of[user] <= most[r.outsider] && (!r.outsider || len(of) <= outsiders) {
			each = append(each, r)
			continue
		}
		hidden++
		if !slices.Contains(unseen, user) {
			unseen = append(unseen, user)
		}
	}
	switch {
	case len(unseen) > 0:
		more = fmt.Sprintf("%d more requests of %s, which certrot does not approve", hidden, namedUsers(unseen))
	case hidden > 0:
		more = fmt.Sprintf("%d more requests of other users, which certrot does not approve", hidden)
	}
	return each, more
}

// describe says what is asked for, and the requester, in several lines.
func (r *Request) describe() string {
	lines := []string{
		fmt.Sprintf("request %s, pending since %s", foreign.Name(r.Name), r.CreationTimestamp.UTC().Format(time.RFC3339)),
		"  asked by " + pki.Foreign(r.Spec.Username) + ", in " + foreign.Texts(r.Spec.Groups),
		"  signer   " + pki.Foreign(r.Spec.SignerName),
	}
	if r.pkcs10 != nil {
		lines = append(lines, "  subject  "+pki.Foreign(r.pkcs10.Subject.String()), "  names    "+namesOf(r.pkcs10),
			fmt.Sprintf("  key      %s, sha256 %s", keyOf(r.pkcs10), r.key()))
	}
	usages := make([]string, 0, len(r.Spec.Usages))
	for _, u := range r.Spec.Usages {
		usages = append(usages, string(u))
	}
	lines = append(lines, "  usages   "+foreign.Texts(usages))
	for _, p := range r.proofs {
		lines = append(lines, "  known    "+foreign.Prose(p))
	}
	for _, c := range r.claims {
		lines = append(lines, "  claimed  "+foreign.Prose(c))
	}
	if r.mismatch != "" {
		lines = append(lines, "  "+r.verdict()+": "+foreign.Prose(r.mismatch))
	}
	return strings.Join(lines, "\n")
}

// instructions describes a request to who runs this, with the command where that is left to them.
func (r *Request) instructions() string {
	if !r.manual && !r.notProbed {
		return r.describe()
	}
	return r.describe() + "\n  " + manualCommand + r.next()
}

// manualCommand comes before the command of a request. It stands in texts of several lines, below
// what others wrote: "next:" is said of the whole run, at its end, and nowhere else.
const manualCommand = "by hand: "

// verdict is what is wrong with a request, in general.
func (r *Request) verdict() string {
	if r.manual {
		return "NOT approved, as its names are not proven"
	}
	if r.notProbed {
		return "NOT approved, as it may not be the kubelet's"
	}
	return "NOT what this node's kubelet asks for"
}

// next is the command for a person.
func (r *Request) next() string {
	if r.restart != "" {
		return "which one is the kubelet's, only a restart tells, after which it makes one: " + r.restart
	}
	if r.manual {
		return foreign.Command(inspect.RequestNames, "look at all of its names: kubectl get csr %[1]s -o jsonpath='{.spec.request}' | base64 -d | openssl req -noout -text | cat -v; only if each of them is this node's: kubectl certificate approve %[1]s; else: kubectl certificate deny %[1]s", r.Name)
	}
	if r.mismatch != "" {
		return "certrot never approves it, as " + foreign.Prose(r.mismatch) + "; look who asks for what: " + foreign.Command(inspect.RequestNames, "kubectl describe csr %s", r.Name)
	}
	return foreign.Command(inspect.RequestNames, "kubectl certificate approve %s", r.Name)
}

// current are the requests that may be waited for: of each signer and requester those that match for the
// newest key, as a kubelet makes a new one for each try. A key is as old as its oldest request: who reads a
// request can make it again. Which one is the copy can't be told (API servers' clocks differ), and all are
// current: each certificate is for the same key, and of use to who has that alone. A client's comes before a
// server's.
func current(all []*Request) []*Request {
	type key struct {
		signer, user string
		key          pki.Fingerprint
	}
	keyFor := func(r *Request) key {
		return key{r.Spec.SignerName, r.Spec.Username, r.key()}
	}
	matching := slices.DeleteFunc(inOrder(all), func(r *Request) bool { return r.mismatch != "" })
	newest, seen := map[key]key{}, map[key]bool{}
	for _, r := range matching { // the oldest one first
		k := keyFor(r)
		if !seen[k] {
			newest[key{signer: k.signer, user: k.user}] = k
		}
		seen[k] = true
	}
	return slices.DeleteFunc(matching, func(r *Request) bool {
		k := keyFor(r)
		return newest[key{signer: k.signer, user: k.user}] != k
	})
}

// key is what it is for, where it can be read.
func (r *Request) key() pki.Fingerprint { return pki.FingerprintOf(r.pkcs10.RawSubjectPublicKeyInfo) }

// inOrder sorts requests: clients' first, then by age and name.
func inOrder(all []*Request) []*Request {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *Request) int {
		if a.serving() != b.serving() {
			if b.serving() {
				return -1
			}
			return 1
		}
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}
