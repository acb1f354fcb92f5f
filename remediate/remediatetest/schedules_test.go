package remediatetest

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesapi "k8s.io/api/certificates/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// attempt runs a plan as far as it comes, and tells whether nothing is left to be done.
func (s *simulation) attempt(js remediate.Journals, number int) (done bool) {
	s.t.Helper()
	s.dead = false // whoever comes next
	s.pass(time.Duration(s.rng.IntN(120)) * time.Second)
	run := fmt.Sprintf("run-%d-%d", s.seed, number)
	snapshot := s.all()
	p, err := s.plan(run, number, snapshot)
	var refusal *remediate.Refusal
	switch {
	case errors.As(err, &refusal):
		s.said = append(s.said, err.Error())
		return false
	case err != nil:
		s.t.Fatalf("seed %d: %v", s.seed, err)
	case p.Empty():
		return len(p.Unknown) == 0
	}
	env := s.env(run)
	l := remediate.Lease{Kube: env.Kube, Holder: "alice@a, " + run, Now: func() time.Time { return s.clock }, Sleep: env.Sleep}
	env.Holder = l.Holder
	if env.ExpiredHolder, err = l.Take(s.t.Context()); err != nil {
		s.said = append(s.said, err.Error())
		return false
	}
	s.rival = time.Time{}
	env.EarlierHolders = js.ExpiredHolders(s.clock.Add(-host.HoldTime))
	j, err := js.Begin(remediate.Header{Run: run, Lapsed: env.ExpiredHolder, Started: s.clock}, s.now)
	if err != nil {
		s.t.Fatal(err)
	}
	k := &keeper{wake: make(chan struct{}), asleep: make(chan struct{})}
	l.Sleep = k.sleep
	kept, release := l.Keep(s.t.Context())
	k.done = kept.Done()
	k.sleeps()
	s.keeper = k
	again := &preflight.RecheckGate{Snapshot: p.Basis, ControlPlane: s.machinery}
	err = remediate.Runner{Env: env, Journal: j, Gate: again, Observe: s.observe}.Run(kept, p)
	s.keeper = nil
	if err := release(); err == nil && s.lease != nil && *s.lease.Spec.HolderIdentity == l.Holder {
		s.broken = append(s.broken, "the Lease was let go by "+run+", and is held")
	} else if err != nil && !s.faulty { // otherwise it ends by itself
		s.t.Errorf("seed %d: %v", s.seed, err)
	}
	_ = j.Close()
	var stopped *remediate.Stopped
	if err != nil && !errors.As(err, &stopped) {
		s.t.Errorf("seed %d: %v", s.seed, err)
	}
	s.wayBack(js, run)
	s.said = append(s.said, fmt.Sprint(err))
	return false
}

// plan is of all waves, or of some.
func (s *simulation) plan(run string, number int, snapshot inspect.Snapshot) (*remediate.Plan, error) {
	fix := apiint.Repair{CA: s.ConfigMap, CASource: "ConfigMap/x", API: true, ApproveCSRs: true, Deleting: map[string]int{}, Cache: s.known, Order: apiint.Order{MaxUnavailable: apiint.Share{N: 1 + s.rng.IntN(3)}}}
	if s.rng.IntN(4) == 0 {
		fix.Order.Accept = []string{preflight.MastersFirst}
	}
	if s.faulty && s.rng.IntN(5) == 0 {
		fix.Order.Only = remediate.Waves()[s.rng.IntN(len(remediate.Waves())):]
	}
	rollout := s.revisions()
	fix.FollowUp = apiint.FollowUp{Requests: true, RootCA: &action.AwaitRootCA{CA: s.young, Planned: rollout, Read: s.rollout}}
	fix.FollowUp.Network = &action.NetworkRestarts{CA: s.young, Pods: s.pods(), Rollout: rollout, Read: s.rollout, Probe: action.NetworkProbe{Namespace: "probes", Image: "any"}}
	p, err := fix.Plan(run, snapshot, snapshot.Taken)
	if err != nil || s.check == nil {
		return p, err
	}
	if p.Empty() {
		last, err := action.LeftPaused(s.machinery(s.t.Context()))
		action.Frame(p, nil, last)
		return p, err
	}
	first, last, err := action.Pauses(s.machinery(s.t.Context()), run)
	action.Frame(p, first, last)
	return p, err
}

// observe sees to it that nothing is begun while someone else holds the Lease who took it
// as one may.
func (s *simulation) observe(a remediate.Action, e remediate.Event, _ *remediate.Change, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e == remediate.Begun && !s.rival.IsZero() {
		s.broken = append(s.broken, a.ID()+" was begun, and somebody else had the Lease since "+s.rival.String())
	}
}

// wayBack sees to it that the journal tells of each file that a run changed.
func (s *simulation) wayBack(js remediate.Journals, run string) {
	story, err := js.Read(run)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, n := range s.nodes {
		for path, k := range n.kept[run] {
			sum := pki.FingerprintOf(k.before)
			if !slices.ContainsFunc(story.Records, func(r remediate.Record) bool {
				return r.Event == remediate.Begun && r.Node == n.name && r.Path == path && r.Before != nil && *r.Before == sum
			}) {
				s.broken = append(s.broken, fmt.Sprintf("the journal of %s does not tell of %s on %s", run, path, n.name))
			}
		}
	}
}

// administrator does between two runs what the first one said is to be done: where an
// installer pod waits for its network, multus is ended, whose kubelet starts it again;
// requests that are no one's are denied, and where it can't be told whose they are, all,
// and the kubelet is restarted. Who was killed holds no node.
func (s *simulation) administrator() {
	for _, n := range s.nodes {
		if n.gone {
			continue
		}
		if n.role == catalog.RoleMaster && !n.revised && n.trusts(n.cas[KubeletFile]) && n.multusUp {
			n.startMultus()
		}
		n.holder = ""
		var others []*certificatesapi.CertificateSigningRequest
		for _, r := range s.requests {
			if strings.HasPrefix(r.Name, "csr-"+n.name+"-") && csr.Pending(r) && (n.certified() || r.Name != n.waits) {
				others = append(others, r)
			}
		}
		for _, r := range others {
			s.deny(r)
		}
		if len(others) > 0 && !n.certified() && n.trusts(n.joins) {
			if r := s.request(n.waits); r != nil {
				s.deny(r)
			}
			n.restart()
		}
	}
}

// right says what is not as it is to be in the end.
func (s *simulation) right() (wrong []string) {
	edges := s.edges()
	for _, n := range s.nodes {
		for _, what := range []string{"kubelet -> api-int", "kubelet -> api-int after a restart", "joining -> api-int", "multus -> api-int", "new pods -> their network"} {
			if e := (edge{n.name, what}); !n.gone && !edges[e] {
				wrong = append(wrong, e.String())
			}
		}
		if n.role == catalog.RoleMaster && !n.revised {
			wrong = append(wrong, "kube-controller-manager on "+n.name)
		}
		for _, path := range catalog.KubeletKubeconfigs() {
			if want := s.ends[path]; !n.touched[path] && !n.gone && want != nil && !bytes.Equal(want, n.files[path]) {
				wrong = append(wrong, "the bytes of "+path+" on "+n.name)
			} else if !n.touched[path] && !n.gone {
				s.ends[path] = n.files[path]
			}
		}
	}
	for _, r := range s.requests {
		gone := slices.ContainsFunc(s.nodes, func(n *simulated) bool { return n.gone && strings.HasPrefix(r.Name, "csr-"+n.name+"-") })
		if csr.Pending(r) && !gone {
			wrong = append(wrong, "nobody answered "+r.Name)
		}
	}
	if s.check != nil {
		if by, _ := s.paused(); strings.HasPrefix(by, "certrot ") {
			wrong = append(wrong, "a health check is paused by "+by)
		}
	}
	return wrong
}

// schedules is how many there are: each costs the processor 40 ms.
func schedules() uint64 {
	switch {
	case everything():
		return 1000
	case testing.Short():
		return 30
	}
	return 250
}

// TestNothingIsMadeWorse lets runs go through schedules of faults, each of which is the
// same for the same seed but for the order in which nodes of a wave have their turns:
// ways that are cut, answers that get lost, runners that are killed, an API server that
// restarts, nodes that leave, are late or are rebooted, kubelets whose certificates have
// expired, and others that write the same files, restart the same kubelets, ask in a node's
// name, deny requests, lift pauses and take the Lease. No step breaks an edge that worked;
// and when the faults end, runs that are resumed make all of them right.
func TestNothingIsMadeWorse(t *testing.T) {
	t.Parallel()
	f := NewFixture()
	// RSA, which OpenShift's signers use, is verified in less time.
	f.Young = pkitest.NewCA("loadbalancer-serving-signer", TestNow.Add(-24*time.Hour), TestNow.Add(24*time.Hour), pkitest.RSA(2048))
	f.ConfigMap = pkitest.Bundle(f.Young.CertPEM, f.Localhost.CertPEM, f.Service.CertPEM)
	f.Bundles = nil
	f.Object(catalog.APIServerCA(), f.ConfigMap)
	f.Object(catalog.LoadBalancerSigner(), f.Young.CertPEM)
	const localName = "localhost"
	p := f.Localhost.Issue(localName, TestNow.Add(-time.Hour), TestNow.Add(23*time.Hour), pkitest.DNS(localName))
	pair, err := tls.X509KeyPair(p.CertPEM, p.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if made, err := os.MkdirTemp("/dev/shm", "certrot-schedules-"); err == nil { // where syncing costs nothing
		folder = made
		t.Cleanup(func() { _ = os.RemoveAll(made) })
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // all of it is short-lived, and little
	f.Serve(f.Young.Issue(APIIntHost, TestNow.Add(-time.Hour), TestNow.Add(23*time.Hour), pkitest.DNS(APIIntHost)))
	k, keys, ends := action.NewCache(), map[string]*kubeletKey{}, map[string][]byte{}
	began, attempts, edited := time.Now(), uint64(0), uint64(0)
	for seed := range schedules() {
		s := newSimulation(t, f, pair, seed, k, keys)
		s.ends = ends
		js := remediate.Journals{Folder: fmt.Sprintf("%s/%d", folder, seed)}
		s.faulty = true
		done := false
		for i := 0; i < 14 && !done; i++ {
			attempts++
			if i == 3 { // the faults are over
				s.faulty, s.back, s.wants = false, time.Time{}, false
				for _, n := range s.nodes {
					n.cut, n.late = 0, 0
				}
			}
			if !s.faulty || s.rng.IntN(3) == 0 {
				s.administrator()
			}
			done = s.attempt(js, i) && i >= 3
		}
		if wrong := s.right(); !done || len(wrong) > 0 || len(s.broken) > 0 {
			t.Fatalf("seed %d: at the end: %v; not right: %q; broken: %q; attempts: %s", seed, done, wrong, s.broken, strings.Join(s.said, "\n"))
		}
		for _, n := range s.nodes {
			edited += uint64(len(n.kept))
		}
		if seed%100 == 6 {
			t.Logf("seed %d, after %s", seed, time.Since(began).Round(time.Second))
		}
	}
	if edited < schedules() {
		t.Errorf("%d nodes were changed in %d schedules: the faults leave nothing to be seen", edited, schedules())
	}
	t.Logf("%d schedules, %d runs, %d nodes changed, %s", schedules(), attempts, edited, time.Since(began).Round(time.Second))
}

// TestBrokenEdgesAreSeen is what TestNothingIsMadeWorse relies on: a kubelet that works
// by its old connection and is restarted with its old files.
func TestBrokenEdgesAreSeen(t *testing.T) {
	t.Parallel()
	s := newSimulation(t, NewFixture(), tls.Certificate{}, 1, action.NewCache(), map[string]*kubeletKey{})
	n := s.nodes[0]
	n.connected = true
	s.ours("restart on "+n.name, n.restart)
	if want := []string{"restart on master-0 broke master-0: kubelet -> api-int"}; !slices.Equal(s.broken, want) {
		t.Errorf("%q", s.broken)
	}
}
