package csr

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// span are seconds, the last one not among them.
type span struct{ from, to int }

func (s span) has(at int) bool { return at >= s.from && at < s.to }

// TestAKubeletThatSleepsIsAwaited: for some time the node does not reach the API server, and the
// kubelet's next try comes up to 32 s after that. A token's thief asks meanwhile.
func TestAKubeletThatSleepsIsAwaited(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		node, api, heartbeat span // when it does not answer: to the node, to any user, of the node's Lease
		kubelet              int  // when it asks
	}{
		"its third try failed":               {node: span{0, 7}, kubelet: 14},
		"its fourth try failed":              {node: span{0, 15}, kubelet: 31},
		"its fifth try failed":               {node: span{0, 31}, kubelet: 62},
		"its first try was lost, and others": {node: span{5, 38}, kubelet: 69},
		"the API server was away":            {api: span{5, 38}, kubelet: 69},
		"the API server was half away":       {heartbeat: span{5, 38}, kubelet: 69},
	} {
		for _, thief := range []bool{true, false} {
			t.Run(map[bool]string{true: name + ", and a thief asks", false: name}[thief], func(t *testing.T) {
				t.Parallel()
				w := newContest(t, func(w *contest, second int) {
					if thief && second == 1 {
						w.asks(t, remediatetest.ClientAsking(t), "csr-thief")
					}
					if second == c.kubelet {
						w.asks(t, remediatetest.ClientAsking(t), "csr-kubelet")
					}
				})
				at := func() int { return int(w.clock.Sub(w.began) / time.Second) }
				w.Comeback = nil
				w.env.RestartProbe = func(ctx context.Context, n nodeexec.Node) (*inspect.RestartProbe, error) {
					p, err := remediatetest.MayBootstrap(ctx, n)
					if c.node.has(at()) {
						p.Bootstrap.Answers = []inspect.ProbeAnswer{{Detail: "i/o timeout"}}
					}
					return p, err
				}
				w.api.Before = func(method, path string) *apierrors.StatusError {
					if method == http.MethodGet && strings.HasSuffix(path, "/certificatesigningrequests") && c.api.has(at()) {
						return apierrors.NewServiceUnavailable("it starts")
					}
					return nil
				}
				w.env.Heartbeat = func(context.Context, string) (collect.Heartbeat, error) {
					if c.heartbeat.has(at()) {
						return collect.Heartbeat{}, errors.New("it starts")
					}
					return collect.Heartbeat{}, nil
				}
				step := Approve{NodeName: "worker-0", State: newApproving()}
				step.State.Earlier = map[string]bool{}
				err := step.Apply(t.Context(), w.env, &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}})
				if want := map[bool][]string{false: {"csr-kubelet"}}[thief]; err != nil || !slices.Equal(w.api.Log, want) {
					t.Errorf("%v, approved %q until second %d, want %q\n%s", err, w.api.Log, at(), want, w.told)
				}
			})
		}
	}
}

// TestNoCommandApprovesWhatCertrotWouldNot: without --approve-csrs, who else asks is awaited before the
// command of a request is printed.
func TestNoCommandApprovesWhatCertrotWouldNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kubelet int // when it asks, after the thief; 0: only one asks
		limit   time.Duration
		want    string
		command bool
	}{
		"one asks":             {0, 0, "by hand: kubectl certificate approve csr-first", true},
		"two ask":              {6, 0, "2 requests in this node's name, with different keys", false},
		"it is not waited for": {0, 5 * time.Second, "seen for less than 40s, and another client may ask in this node's name, too. Run the same command again", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newContest(t, func(w *contest, second int) {
				switch second {
				case 1:
					w.asks(t, remediatetest.ClientAsking(t), "csr-first")
				case c.kubelet:
					w.asks(t, remediatetest.ClientAsking(t), "csr-kubelet")
				}
			})
			w.env.EffectTimeout = c.limit
			_ = w.env.Sleep(t.Context(), 2*time.Second)
			end, change := NewApprovePending([]string{"worker-0"}, false, true), &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}
			if err := end.Apply(t.Context(), w.env, change); err != nil {
				t.Fatal(err)
			}
			left := end.Verify(t.Context(), w.env, change)
			if left == nil || !strings.Contains(left.Error(), c.want) || strings.Contains(left.Error(), "certificate approve") != c.command {
				t.Errorf("%v", left)
			}
			if strings.Count(w.told.String(), "waiting for 40s") != 1 || len(w.api.Log) > 0 {
				t.Errorf("approved %q, told\n%s", w.api.Log, w.told)
			}
		})
	}
}

// TestSettlingIsLongerThanAKubeletSleeps: 32 s between two tries, and 10 % for what a try takes.
func TestSettlingIsLongerThanAKubeletSleeps(t *testing.T) {
	t.Parallel()
	if least := 32 * time.Second * 11 / 10; settling <= least {
		t.Errorf("%s, and a kubelet may sleep for %s", settling, least)
	}
	if limit := (Approve{}).Timeout(); limit < askingClient+askingServing || askingClient < 2*settling {
		t.Errorf("%s for a step that waits for %s and %s", limit, askingClient, askingServing)
	}
}
