package csr

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// knownAsUser is a node whose bootstrap file the API server knows as this user; empty: it does not say.
func (c *contest) knownAsUser(presents inspect.Credential, user string) {
	c.Comeback = nil
	c.env.RestartProbe = func(ctx context.Context, on nodeexec.Node) (*inspect.RestartProbe, error) {
		p, err := remediatetest.MayBootstrap(ctx, on)
		p.Bootstrap.Presents = presents
		p.Bootstrap.Answers = append(p.Bootstrap.Answers, inspect.ProbeAnswer{Question: inspect.AskLease, Code: 403, Reason: "Forbidden", User: user})
		return p, err
	}
}

// TestOnlyTheUserOfTheBootstrapFileContests: masters that the installer made join with a client certificate
// of the user as which other nodes join with a token. Others ask for what is never approved, in any number,
// and are told.
func TestOnlyTheUserOfTheBootstrapFileContests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		presents inspect.Credential
		user     string // of the bootstrap file
		other    string // who asks, too
		approved string // empty: none
		says     string
	}{
		"another node's kubelet, where it joins with a certificate": {inspect.CredentialCertificate, remediatetest.Bootstrapper, "system:node:worker-9", "csr-kubelet", `"system:node:worker-9" is not who asks`},
		"a tenant, where it joins with a certificate":               {inspect.CredentialCertificate, remediatetest.Bootstrapper, "system:serviceaccount:team:default", "csr-kubelet", `"system:serviceaccount:team:default" is not who asks`},
		"a tenant, where it joins with a token":                     {inspect.CredentialToken, remediatetest.Bootstrapper, "system:serviceaccount:team:default", "csr-kubelet", `"system:serviceaccount:team:default" is not who asks`},
		"a thief with the token":                                    {inspect.CredentialToken, remediatetest.Bootstrapper, remediatetest.Bootstrapper, "", "Replace that token first"},
		"the node's own certificate":                                {inspect.CredentialToken, remediatetest.Bootstrapper, "system:node:worker-0", "", "system:node:worker-0 asks, too"},
		"who it is, is not told":                                    {inspect.CredentialCertificate, "", "system:serviceaccount:team:default", "", "system:serviceaccount:team:default asks, too"},
		"it joins as another user":                                  {inspect.CredentialCertificate, "joiner", "joiner", "", `node-bootstrapper" asks, and the node's kubelet joins as "joiner"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newContest(t, func(w *contest, second int) {
				if second == 3 {
					w.asks(t, remediatetest.ClientAsking(t), "csr-kubelet")
				}
				if second == 5 || second == 30 {
					other := remediatetest.ClientAsking(t)
					if other.CSR.Spec.Username = c.other; c.other != remediatetest.Bootstrapper {
						other.CSR.Spec.Groups = []string{"system:authenticated"}
					}
					w.asks(t, other, fmt.Sprintf("csr-other-%d", second))
				}
			})
			w.knownAsUser(c.presents, c.user)
			change := &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}
			step := Approve{NodeName: "worker-0", State: newApproving()}
			step.State.Earlier = map[string]bool{} // its kubelet was restarted
			err := step.Apply(t.Context(), w.env, change)
			left := PendingText(t.Context(), w.env, step.requestedNode(w.env, change))
			log := slices.DeleteFunc(slices.Clone(w.api.Log), func(name string) bool {
				return strings.HasPrefix(name, "csr-other") && c.other == "system:node:worker-0"
			})
			if err != nil || strings.Join(log, " ") != c.approved {
				t.Errorf("%v, approved %q\n%s", err, w.api.Log, w.told)
			}
			if !strings.Contains(left, c.says) || strings.Contains(left, "certificate approve") {
				t.Errorf("%q is not said: %s", c.says, left)
			}
		})
	}
}

// TestOthersAreNamedAlsoBeforeARestart: who asks beside a kubelet is told at the first look.
func TestOthersAreNamedAlsoBeforeARestart(t *testing.T) {
	t.Parallel()
	c := newContest(t, func(*contest, int) {})
	c.knownAsUser(inspect.CredentialToken, "")
	_ = c.env.Sleep(t.Context(), 3*time.Second)
	c.asks(t, remediatetest.ClientAsking(t), "csr-kubelet")
	for i := range 7 {
		other := remediatetest.ClientAsking(t)
		other.CSR.Spec.Username, other.CSR.Spec.Groups = fmt.Sprintf("system:serviceaccount:team:sa-%d", i), nil
		c.asks(t, other, fmt.Sprintf("csr-other-%d", i))
	}
	end, change := NewApprovePending([]string{"worker-0"}, true, false), &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}
	if err := end.Apply(t.Context(), c.env, change); err != nil || len(c.api.Log) > 0 {
		t.Fatalf("%v, approved %q", err, c.api.Log)
	}
	left := end.Verify(t.Context(), c.env, change)
	for _, says := range []string{"system:serviceaccount:team:sa-0, ", "and 2 more users ask, too", "--nodes worker-0 --rebootstrap --approve-csrs --dry-run=client"} {
		if left == nil || !strings.Contains(left.Error(), says) {
			t.Errorf("%q is not said: %v", says, left)
		}
	}
}

// TestAllUsersOfAKeyCount: a tenant makes a thief's request again, in its own name. The token is to be
// replaced all the same.
func TestAllUsersOfAKeyCount(t *testing.T) {
	t.Parallel()
	c := newContest(t, func(*contest, int) {})
	c.knownAsUser(inspect.CredentialToken, "")
	_ = c.env.Sleep(t.Context(), 3*time.Second)
	thief := remediatetest.ClientAsking(t)
	c.asks(t, remediatetest.ClientAsking(t), "csr-kubelet")
	c.asks(t, thief, "csr-thief")
	thief.CSR.Spec.Username, thief.CSR.Spec.Groups = "system:serviceaccount:team:default", nil
	c.asks(t, thief, "csr-tenant")
	n := RequestedNode{Name: "worker-0", Versions: catalog.Versions{Cluster: "4.15.0"}, beforeRestart: map[string]bool{}, readOrigins: originsBy(c.env)}
	requests, _, err := pendingNow(t.Context(), c.env, n)
	i := slices.IndexFunc(requests, func(r *Request) bool { return r.Name == "csr-kubelet" })
	if err != nil || i < 0 || !strings.Contains(requests[i].mismatch, "another client asks, too, with the bootstrap token") || strings.Contains(requests[i].mismatch, "team:default") {
		t.Errorf("%v, %+v", err, requests)
	}
}
