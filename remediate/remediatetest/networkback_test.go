package remediatetest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
)

// TestAWorkerWhoseNetworkDoesNotComeBack stops no other: it is left out by name. A control plane node stops all, and so
// do two workers before one was done.
func TestAWorkerWhoseNetworkDoesNotComeBack(t *testing.T) {
	t.Parallel()
	own := func(text string) error { return &remediate.OwnFailureError{Inner: errors.New(text)} }
	for name, c := range map[string]struct {
		fails   map[string]error // by action
		begun   string
		left    []string // NotStarted
		outcome string
	}{
		"none":                 {nil, "m1a m1b w1a w1b w2a w2b w3a w3b", nil, "finished"},
		"the first one":        {map[string]error{"w1a": own("no pod")}, "m1a m1b w1a w2a w2b w3a w3b", nil, "finished; left out: w1"},
		"its proof":            {map[string]error{"w1b": own("no address")}, "m1a m1b w1a w1b w2a w2b w3a w3b", nil, "finished; left out: w1"},
		"the last one":         {map[string]error{"w3b": own("no address")}, "m1a m1b w1a w1b w2a w2b w3a w3b", nil, "finished; left out: w3"},
		"two after one":        {map[string]error{"w2a": own("no pod"), "w3a": own("no pod")}, "m1a m1b w1a w1b w2a w3a", nil, "finished; left out: w2, w3"},
		"two, and one between": {map[string]error{"w1a": own("no pod"), "w3a": own("no pod")}, "m1a m1b w1a w2a w2b w3a", nil, "finished; left out: w1, w3"},
		"two before one works": {map[string]error{"w1a": own("no pod"), "w2a": own("no pod")}, "m1a m1b w1a w2a", []string{"w3"}, "failed: w2a; left out: w1"},
		"its pods change":      {map[string]error{"w1a": fmt.Errorf("pod: %w", remediate.ErrChanged)}, "m1a m1b w1a w2a w2b w3a w3b", nil, "finished; left out: w1"},
		"it refuses":           {map[string]error{"w1a": &remediate.Refusal{Name: "kubelet-trusts", Node: "w1"}}, "m1a m1b w1a w2a w2b w3a w3b", nil, "finished; left out: w1"},
		"another is refused":   {map[string]error{"w1a": &remediate.Refusal{Name: "kubelet-trusts", Node: "w2"}}, "m1a m1b w1a", []string{"w2", "w3"}, "failed: w1a"},
		"the API":              {map[string]error{"w1a": errors.New("list pods: no answer")}, "m1a m1b w1a", []string{"w2", "w3"}, "failed: w1a"},
		"a control plane node": {map[string]error{"m1a": own("no pod")}, "m1a", []string{"w1", "w2", "w3"}, "failed: m1a"},
		"of unknown effect":    {map[string]error{"w1a": &remediate.UnknownEffectError{Reason: "no API"}}, "m1a m1b w1a", []string{"w2", "w3"}, "done, effect not seen: w1a"},
	} {
		for _, wave := range []string{remediate.WaveNetwork, remediate.WaveWorkers} {
			s := &Stage{Apply: func(id string) error { return c.fails[id] }}
			w := s.Wave(1, "m1", "w1", "w2", "w3")
			w.Name = wave
			p := s.Plan(w)
			for _, n := range w.Nodes {
				role := catalog.RoleWorker
				if n.Name == "m1" {
					role = catalog.RoleMaster
				}
				p.Basis.Nodes = append(p.Basis.Nodes, inspect.Node{Name: n.Name, Role: role})
			}
			record, err := s.Run(t.Context(), t, p)
			var stopped *remediate.Stopped
			if wave == remediate.WaveWorkers { // there each one stops all
				if errors.As(err, &stopped) != (len(c.fails) > 0) || len(record.LeftOut()) > 0 {
					t.Errorf("%s, wave %s: %v, %q", name, wave, err, record.Outcome())
				}
				continue
			}
			if errors.As(err, &stopped) != !strings.HasPrefix(c.outcome, "finished") || stopped != nil && !slices.Equal(stopped.NotStarted, c.left) {
				t.Errorf("%s: %v: %+v", name, err, stopped)
			}
			if got := strings.Join(s.Began, " "); got != c.begun {
				t.Errorf("%s: begun %q, want %q", name, got, c.begun)
			}
			if got := record.Outcome(); got != c.outcome {
				t.Errorf("%s: %q", name, got)
			}
			for _, r := range record.Records {
				if r.Event == remediate.LeftOut && !strings.Contains(r.Error, r.Node) {
					t.Errorf("%s: why it was left out: %+v", name, r)
				}
			}
		}
	}
}

// TestFewWorkersAreLeftOut of many, wherever they are: two, or one of ten. Before one was done it is one, of all waves
// that do the same to workers. A kubelet that does not take its certificate is left out as a network that does not come
// back is; what is late for all of them is not.
func TestFewWorkersAreLeftOut(t *testing.T) {
	t.Parallel()
	network := error(&remediate.OwnFailureError{Inner: errors.New("no pod")})
	late := &remediate.LateEffectError{Inner: errors.New("no certificate")}
	ownLate, errGone := error(&remediate.OwnFailureError{Inner: late}), errors.New("ssh: connection refused")
	for name, c := range map[string]struct {
		wave    string
		all     int
		fails   []int
		err     error
		outcome string
		left    int // NotStarted
	}{
		"two side by side":            {remediate.WaveNetwork, 40, []int{5, 6}, network, "finished; left out: w05, w06", 0},
		"a tenth":                     {remediate.WaveNetwork, 40, []int{1, 5, 6, 39}, network, "finished; left out: w01, w05, w06, w39", 0},
		"more than a tenth":           {remediate.WaveNetwork, 40, []int{1, 3, 5, 7, 9}, network, "failed: w09a; left out: w01, w03, w05, w07", 30},
		"three of few":                {remediate.WaveNetwork, 10, []int{1, 3, 5}, network, "failed: w05a; left out: w01, w03", 4},
		"the first two":               {remediate.WaveNetwork, 40, []int{0, 1}, network, "failed: w01a; left out: w00", 38},
		"no request":                  {remediate.WaveWorkers, 40, []int{5, 6}, ownLate, "finished; left out: w05, w06", 0},
		"no request, the first":       {remediate.WaveFirst, 40, []int{0}, ownLate, "finished; left out: w00", 0},
		"no request, the first two":   {remediate.WaveFirst, 40, []int{0, 1}, ownLate, "done, effect not seen: w01a; left out: w00", 38},
		"no request, not ready":       {remediate.WaveNotReady, 40, []int{0}, ownLate, "finished; left out: w00", 0},
		"late for all":                {remediate.WaveWorkers, 40, []int{5}, late, "done, effect not seen: w05a", 34},
		"its own, and not late":       {remediate.WaveWorkers, 40, []int{5}, network, "failed: w05a", 34},
		"not reached at their turn":   {remediate.WaveWorkers, 40, []int{5, 6}, errGone, "finished; left out: w05, w06", 0},
		"the first is not reached":    {remediate.WaveFirst, 40, []int{0}, errGone, "finished; left out: w00", 0},
		"more are not reached":        {remediate.WaveWorkers, 10, []int{2, 3, 4}, errGone, "failed: w04a; left out: w02, w03", 5},
		"late, of the network's wave": {remediate.WaveNetwork, 40, []int{5}, ownLate, "finished; left out: w05", 0},
	} {
		for _, parallel := range []int{1, 4} {
			if parallel > 1 && !strings.HasPrefix(c.outcome, "finished") { // where it stops is by chance
				continue
			}
			fails := map[string]bool{}
			for _, i := range c.fails {
				fails[fmt.Sprintf("w%02da", i)] = true
			}
			s := &Stage{Apply: func(id string) error {
				if fails[id] {
					return c.err
				}
				return nil
			}}
			if errors.Is(c.err, errGone) {
				s.Open = func(node string) error {
					if fails[node+"a"] {
						return errGone
					}
					return nil
				}
			}
			var names []string
			for i := range c.all {
				names = append(names, fmt.Sprintf("w%02d", i))
			}
			waves := []remediate.Wave{s.Wave(parallel, names...)}
			waves[0].Name = c.wave
			if c.wave != remediate.WaveNetwork && c.wave != remediate.WaveWorkers {
				waves = []remediate.Wave{s.Wave(1, names[0]), s.Wave(parallel, names[1:]...)}
				waves[0].Name, waves[1].Name = c.wave, remediate.WaveWorkers
			}
			p := s.Plan(waves...)
			for _, n := range names {
				p.Basis.Nodes = append(p.Basis.Nodes, inspect.Node{Name: n, Role: catalog.RoleWorker})
			}
			record, err := s.Run(t.Context(), t, p)
			var stopped *remediate.Stopped
			if got := errors.As(err, &stopped); got == strings.HasPrefix(c.outcome, "finished") {
				t.Errorf("%s, %d at once: %v", name, parallel, err)
			}
			left := slices.Sorted(slices.Values(record.LeftOut()))
			if got := record.Outcome(); parallel == 1 && got != c.outcome || !strings.HasSuffix(c.outcome, strings.Join(left, ", ")) {
				t.Errorf("%s, %d at once: %q, want %q", name, parallel, got, c.outcome)
			}
			if stopped != nil && len(stopped.NotStarted) != c.left {
				t.Errorf("%s: not begun: %q, want %d", name, stopped.NotStarted, c.left)
			}
		}
	}
}

// TestAnInterruptedNetworkWaveLeavesNoneOut: what fails then, fails by that.
func TestAnInterruptedNetworkWaveLeavesNoneOut(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := &Stage{Apply: func(string) error {
		cancel()
		return &remediate.OwnFailureError{Inner: errors.New("no pod")}
	}}
	w := s.Wave(1, "w1", "w2")
	w.Name = remediate.WaveNetwork
	p := s.Plan(w)
	p.Basis.Nodes = []inspect.Node{{Name: "w1", Role: catalog.RoleWorker}, {Name: "w2", Role: catalog.RoleWorker}}
	record, err := s.Run(ctx, t, p)
	var stopped *remediate.Stopped
	if !errors.As(err, &stopped) || !stopped.Interrupted || len(record.LeftOut()) > 0 || !slices.Equal(stopped.NotStarted, []string{"w2"}) {
		t.Errorf("%v, %q: %+v", err, record.Outcome(), stopped)
	}
}

// TestRootOnAWorkerKeepsNoNetworkOld of others: it lets no new pod of multus get ready on its node, in each run.
func TestRootOnAWorkerKeepsNoNetworkOld(t *testing.T) {
	t.Parallel()
	f := NewFixture()
	f.Young = pkitest.NewCA("loadbalancer-serving-signer", TestNow.Add(-24*time.Hour), TestNow.Add(24*time.Hour), pkitest.RSA(2048))
	f.ConfigMap = pkitest.Bundle(f.Young.CertPEM, f.Localhost.CertPEM, f.Service.CertPEM)
	f.Bundles = nil
	f.Object(catalog.APIServerCA(), f.ConfigMap)
	f.Object(catalog.LoadBalancerSigner(), f.Young.CertPEM)
	local := f.Localhost.Issue("localhost", TestNow.Add(-time.Hour), TestNow.Add(23*time.Hour), pkitest.DNS("localhost"))
	pair, err := tls.X509KeyPair(local.CertPEM, local.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	f.Serve(f.Young.Issue(APIIntHost, TestNow.Add(-time.Hour), TestNow.Add(23*time.Hour), pkitest.DNS(APIIntHost)))
	s, cache, keys := &simulation{}, action.NewCache(), map[string]*kubeletKey{}
	for seed := uint64(0); s.check != nil || len(s.nodes) < 6 || s.nodes[len(s.nodes)-4].role != catalog.RoleWorker; seed++ {
		s = newSimulation(t, f, pair, seed, cache, keys)
	}
	s.ends = map[string][]byte{}
	for _, n := range s.nodes { // all work by connections from before
		n.connected, n.multusOn, n.cert = true, true, s.key("kubelet", n.name, 0, lasting())
	}
	root := s.find("worker-0")
	root.stuck = true
	js := remediate.Journals{Folder: t.TempDir()}
	for i := range 2 { // the second run takes it up
		s.attempt(js, i)
		run := fmt.Sprintf("run-%d-%d", s.seed, i)
		record, err := js.Read(run)
		if err != nil || record.Outcome() != "finished; left out: worker-0" {
			t.Fatalf("run %d: %v, %q: %q", i, err, record.Outcome(), s.said)
		}
		if files := record.Changed()[root.name]; i == 0 && len(files) != 2 {
			t.Errorf("what an undo puts back there: %q", files)
		}
		for _, n := range s.nodes {
			if n.trusts(n.multus) != (n != root) || !n.trusts(n.cas[KubeletFile]) {
				t.Errorf("run %d: %s", i, n.name)
			}
		}
	}
}
