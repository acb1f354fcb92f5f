package csr

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// contest is a run in which clients ask to join in the name of worker-0, second by second.
type contest struct {
	*remediatetest.Joining
	api   *remediatetest.RequestsAPI
	env   *remediate.Env
	told  *strings.Builder
	clock time.Time
	began time.Time
}

// newContest is a run whose clock starts at the start of the kubelet.
func newContest(t *testing.T, each func(c *contest, second int)) *contest {
	t.Helper()
	c := &contest{Joining: remediatetest.NewJoining(t), api: &remediatetest.RequestsAPI{Signs: true}}
	c.Lost(t)
	c.env, c.told = remediatetest.Approvals(t, c.World, c.api)
	c.env.Heartbeat = remediatetest.HeartbeatAt(time.Time{}) // never
	c.clock = time.Now().Add(-10 * time.Minute).Truncate(time.Second)
	c.began = c.clock
	c.starts(t)
	c.env.Now = func() time.Time { return c.clock }
	c.env.Sleep = func(ctx context.Context, d time.Duration) error {
		for range int(d / time.Second) {
			c.clock = c.clock.Add(time.Second)
			each(c, int(c.clock.Sub(c.began)/time.Second))
		}
		return context.Cause(ctx)
	}
	return c
}

// starts starts the kubelet now, whoever did that.
func (c *contest) starts(t *testing.T) {
	t.Helper()
	const form = "Mon 2006-01-02 15:04:05 UTC"
	text := strings.ReplaceAll(string(c.Machine.Read(t, "/fake/shown")), c.Started(t).Format(form), c.clock.UTC().Format(form))
	c.Write(t, "/fake/shown", []byte(text))
	c.Write(t, "/proc/1000/stat", fmt.Appendf(nil, "1000 (kubelet) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d00 0\n", c.clock.Unix()))
}

// asks makes a request now.
func (c *contest) asks(t *testing.T, a *remediatetest.Asking, name string) {
	t.Helper()
	made := a.Made(t)
	made.Name, made.CreationTimestamp = name, metav1.NewTime(c.clock)
	c.api.Add(made)
}

// TestASecondClientIsNotForgottenWhenTheKubeletStartsAgain: the kubelet and a token's thief ask,
// then the kubelet is started once more, and the thief is the first one to ask after that.
func TestASecondClientIsNotForgottenWhenTheKubeletStartsAgain(t *testing.T) {
	t.Parallel()
	thief := remediatetest.ClientAsking(t)
	c := newContest(t, func(c *contest, second int) {
		switch second {
		case 2:
			c.asks(t, remediatetest.ClientAsking(t), "csr-kubelet-1")
		case 20:
			c.starts(t)
		case 24:
			c.asks(t, remediatetest.ClientAsking(t), "csr-kubelet-2")
		}
		if second >= 4 && second <= 22 {
			c.asks(t, thief, fmt.Sprintf("csr-thief-%d", second))
		}
	})
	change := &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}
	step := Approve{NodeName: "worker-0", State: newApproving()}
	step.State.Earlier = map[string]bool{}
	if err := step.Apply(t.Context(), c.env, change); err != nil || len(c.api.Log) > 0 {
		t.Fatalf("%v, approved %q at second %d\n%s", err, c.api.Log, int(c.clock.Sub(c.began)/time.Second), c.told)
	}

	// Started once more, with a request of the thief's alone: at the end of the run none is approved either.
	c.starts(t)
	c.asks(t, thief, "csr-thief-late")
	end := NewApprovePending([]string{"worker-0"}, true, true)
	if err := end.Apply(t.Context(), c.env, change); err != nil || len(c.api.Log) > 0 {
		t.Errorf("%v, among what is left over approved %q\n%s", err, c.api.Log, c.told)
	}
	left := end.Verify(t.Context(), c.env, change)
	if left == nil || !strings.Contains(left.Error(), "no request to join in its name is approved in this run") || !strings.Contains(left.Error(), "--nodes worker-0 --rebootstrap") || strings.Contains(left.Error(), "certificate approve") {
		t.Errorf("why and what to do are not said: %v", left)
	}
}

// TestARequestSettlesAfterEachStartOfTheKubelet: one was seen, and settled; then the kubelet is
// started again, and who asks then is awaited for as long.
func TestARequestSettlesAfterEachStartOfTheKubelet(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]bool{"one asks": false, "two ask": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newContest(t, func(c *contest, at int) {
				if second && at == int(settling/time.Second)+11 {
					c.asks(t, remediatetest.ClientAsking(t), "csr-later")
				}
			})
			change := &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}
			c.asks(t, remediatetest.ClientAsking(t), "csr-before")
			end := NewApprovePending([]string{"worker-0"}, true, true)
			if err := end.noteFirstSeen(t.Context(), c.env, change, "worker-0"); err != nil {
				t.Fatal(err)
			}
			_ = c.env.Sleep(t.Context(), settling+5*time.Second) // other nodes are answered first
			c.starts(t)
			_ = c.env.Sleep(t.Context(), 2*time.Second)
			c.asks(t, remediatetest.ClientAsking(t), "csr-after")
			seen := c.clock
			if err := end.answer(t.Context(), c.env, change, "worker-0"); err != nil {
				t.Fatal(err)
			}
			if want := []string{"csr-after"}; !second && !slices.Equal(c.api.Log, want) || second && len(c.api.Log) > 0 {
				t.Errorf("approved %q\n%s", c.api.Log, c.told)
			}
			if waited := c.clock.Sub(seen); !second && waited < settling {
				t.Errorf("approved after %s", waited)
			}
		})
	}
}

// TestAfterAnApprovalNoOtherKeyIsApproved: also not in a later step of the run, after another start of the
// kubelet, when the first request is gone.
func TestAfterAnApprovalNoOtherKeyIsApproved(t *testing.T) {
	t.Parallel()
	c := newContest(t, func(*contest, int) {})
	change := &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}
	c.asks(t, remediatetest.ClientAsking(t), "csr-first")
	step := Approve{NodeName: "worker-0", State: newApproving()}
	step.State.Earlier = map[string]bool{}
	if err := step.Apply(t.Context(), c.env, change); err != nil || !slices.Equal(c.api.Log, []string{"csr-first"}) {
		t.Fatalf("%v, approved %q\n%s", err, c.api.Log, c.told)
	}
	_ = c.env.Sleep(t.Context(), 2*time.Second)
	c.starts(t)
	c.api.Requests = nil
	c.asks(t, remediatetest.ClientAsking(t), "csr-second")
	end := NewApprovePending([]string{"worker-0"}, true, true)
	if err := end.Apply(t.Context(), c.env, change); err != nil || len(c.api.Log) > 1 {
		t.Errorf("%v, approved %q\n%s", err, c.api.Log, c.told)
	}
	left := end.Verify(t.Context(), c.env, change)
	if left == nil || !strings.Contains(left.Error(), "this run approved a request in this node's name") || !strings.Contains(left.Error(), "--nodes worker-0 --rebootstrap") || strings.Contains(left.Error(), "certificate approve") {
		t.Errorf("why and what to do are not said: %v", left)
	}
}

// TestAKeyThatWasSeenCountsWhenItsRequestIsGone: requests are deleted, by whoever may.
func TestAKeyThatWasSeenCountsWhenItsRequestIsGone(t *testing.T) {
	t.Parallel()
	c := newContest(t, func(c *contest, at int) {
		if at == 5 {
			c.api.Requests = nil
			c.asks(t, remediatetest.ClientAsking(t), "csr-second")
		}
	})
	c.asks(t, remediatetest.ClientAsking(t), "csr-first")
	end := NewApprovePending([]string{"worker-0"}, true, true)
	if err := end.Apply(t.Context(), c.env, &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}); err != nil || len(c.api.Log) > 0 {
		t.Errorf("%v, approved %q\n%s", err, c.api.Log, c.told)
	}
}

// TestAKubeletThatBootstrapsAsAnotherUserIsCounted: its request does not match, and is in its node's
// name all the same. The thief's, which matches, is not the only one.
func TestAKubeletThatBootstrapsAsAnotherUserIsCounted(t *testing.T) {
	t.Parallel()
	denied := []certificatesapi.CertificateSigningRequestCondition{{Type: certificatesapi.CertificateDenied, Status: corev1.ConditionTrue}}
	for name, kubelet := range map[string]func(*remediatetest.Asking){
		"another service account": func(a *remediatetest.Asking) { a.CSR.Spec.Username = "system:serviceaccount:kube-system:joiner" },
		"an administrator": func(a *remediatetest.Asking) {
			a.CSR.Spec.Username, a.CSR.Spec.Groups = "admin", []string{"system:masters"}
		},
		"its own client certificate": func(a *remediatetest.Asking) { a.CSR.Spec.Username = "system:node:worker-0" },
		"in another group":           func(a *remediatetest.Asking) { a.CSR.Spec.Groups = []string{"system:authenticated"} },
		"with more usages":           func(a *remediatetest.Asking) { a.CSR.Spec.Usages = append(a.CSR.Spec.Usages, "server auth") },
		"another signer":             func(a *remediatetest.Asking) { a.CSR.Spec.SignerName = "example.com/nodes" },
		"another user, and it was denied": func(a *remediatetest.Asking) {
			a.CSR.Spec.Username, a.CSR.Status.Conditions = "system:serviceaccount:kube-system:joiner", denied
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newContest(t, func(*contest, int) {})
			own := remediatetest.ClientAsking(t)
			kubelet(own)
			c.asks(t, own, "csr-own")
			c.asks(t, remediatetest.ClientAsking(t), "csr-thief")
			change := &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}
			end := NewApprovePending([]string{"worker-0"}, true, true)
			if err := end.Apply(t.Context(), c.env, change); err != nil || slices.Contains(c.api.Log, "csr-thief") {
				t.Fatalf("%v, approved %q\n%s", err, c.api.Log, c.told)
			}
			left := PendingText(t.Context(), c.env, Requested(c.env, change, "worker-0"))
			if !strings.Contains(left, "2 requests in this node's name, with different keys") || strings.Contains(left, "certificate approve") {
				t.Errorf("why and what to do are not said: %s", left)
			}
		})
	}
}

// TestAnotherNodesKubeletBlocksNoRepair: it asks in this node's name, with nothing but its own
// credentials. A kubelet that joins with a token did not ask so; one whose bootstrap file has a
// certificate may have.
func TestAnotherNodesKubeletBlocksNoRepair(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]bool{"it joins with a token": true, "it joins with a certificate": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newContest(t, func(c *contest, second int) {
				switch second {
				case 3:
					c.asks(t, remediatetest.ClientAsking(t), "csr-kubelet")
				case 5:
					other := remediatetest.ClientAsking(t)
					other.CSR.Spec.Username, other.CSR.Spec.Groups = "system:node:worker-9", []string{"system:nodes", "system:authenticated"}
					other.CSR.Spec.SignerName = "example.com/any"
					c.asks(t, other, "csr-of-worker-9")
				}
			})
			c.Comeback = nil
			c.env.RestartProbe = func(ctx context.Context, on nodeexec.Node) (*inspect.RestartProbe, error) {
				p, err := remediatetest.MayBootstrap(ctx, on)
				if !token {
					p.Bootstrap.Presents = inspect.CredentialCertificate
				}
				return p, err
			}
			change := &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}
			step := Approve{NodeName: "worker-0", State: newApproving()}
			step.State.Earlier = map[string]bool{} // its kubelet was restarted
			err := step.Apply(t.Context(), c.env, change)
			left := PendingText(t.Context(), c.env, step.requestedNode(c.env, change))
			if token && (err != nil || !slices.Equal(c.api.Log, []string{"csr-kubelet"})) || !token && len(c.api.Log) > 0 {
				t.Errorf("%v, approved %q\n%s", err, c.api.Log, c.told)
			}
			if !strings.Contains(left, `"system:node:worker-9" is not who asks for a kubelet's certificate: that node may be compromised`) || strings.Contains(left, "Replace that token") || strings.Contains(left, "certificate approve") {
				t.Errorf("left: %s", left)
			}
			for _, says := range []string{"2 requests in this node's name, with different keys", "system:node:worker-9 asks, too, by no bootstrapper's credentials", "kubelet-client.key.tmp -pubout -outform DER | sha256sum", "--nodes worker-0 --rebootstrap"} {
				if strings.Contains(left, says) == token {
					t.Errorf("%q is said, or is not: %s", says, left)
				}
			}
		})
	}
}

// TestTokensContestEachOtherBesideAnotherUser: the token is to be replaced, also where another client asks.
func TestTokensContestEachOtherBesideAnotherUser(t *testing.T) {
	t.Parallel()
	c := newContest(t, func(c *contest, second int) {
		if second == 3 {
			for _, name := range []string{"csr-kubelet", "csr-thief", "csr-admin"} {
				a := remediatetest.ClientAsking(t)
				if name == "csr-admin" {
					a.CSR.Spec.Username, a.CSR.Spec.Groups = "admin", []string{"system:masters"}
				}
				c.asks(t, a, name)
			}
		}
	})
	change := &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}
	step := Approve{NodeName: "worker-0", State: newApproving()}
	step.State.Earlier = map[string]bool{}
	err := step.Apply(t.Context(), c.env, change)
	if left := PendingText(t.Context(), c.env, step.requestedNode(c.env, change)); err != nil || len(c.api.Log) > 0 || !strings.Contains(left, "Replace that token first") {
		t.Errorf("%v, approved %q, left: %s", err, c.api.Log, left)
	}
}

// TestItsOwnServingRequestContestsNothing: a kubelet asked for its serving certificate since its start,
// with a client certificate that has expired meanwhile.
func TestItsOwnServingRequestContestsNothing(t *testing.T) {
	t.Parallel()
	c := newContest(t, func(*contest, int) {})
	_ = c.env.Sleep(t.Context(), 3*time.Second)
	c.asks(t, remediatetest.ServingAsking(t), "csr-serving")
	c.asks(t, remediatetest.ClientAsking(t), "csr-kubelet")
	end := NewApprovePending([]string{"worker-0"}, true, true)
	if err := end.Apply(t.Context(), c.env, &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}); err != nil || !slices.Contains(c.api.Log, "csr-kubelet") {
		t.Errorf("%v, approved %q\n%s", err, c.api.Log, c.told)
	}
}
