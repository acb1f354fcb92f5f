package remediatetest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/kubeconfigtest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient/kubeclienttest"
)

// simulation is a simulated cluster: no file, no process and no server in it is real.
// Its nodes answer host.sh's questions as the script would, for planner, runner and
// actions that are the real ones. Thousands of runs through faults are possible here,
// as they are not in a world of chroots. Its clock moves on with each question.
type simulation struct {
	*Fixture
	objects
	t       *testing.T
	rng     *rand.Rand
	seed    uint64
	mu      sync.Mutex
	clock   time.Time
	nodes   []*simulated
	faulty  bool // faults happen
	dead    bool // the runner was killed: nothing that it does arrives any more
	broken  []string
	said    []string // how attempts ended
	shows   []*pki.Cert
	trusted map[string]bool   // by the PEM text
	known   *action.Cache     // of all schedules: their files are mostly the same
	ends    map[string][]byte // what files end as that no one else wrote, by path, in all schedules
	pair    tls.Certificate
}

func newSimulation(t *testing.T, f *Fixture, pair tls.Certificate, seed uint64, k *action.Cache, keys map[string]*kubeletKey) *simulation {
	s := &simulation{Fixture: f, t: t, rng: rand.New(rand.NewPCG(seed, 1881)), seed: seed, clock: TestNow, shows: f.Served[0].Chain, trusted: map[string]bool{}, pair: pair, known: k, objects: objects{
		strange: map[string]bool{}, probes: map[string]*corev1.Pod{}, keys: keys, leading: true, rolled: TestNow,
		old: pki.LoadedPEM(k.Certs, f.Before), young: pki.LoadedPEM(k.Certs, f.ConfigMap),
	}}
	if s.rng.IntN(2) == 0 {
		s.check = &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "openshift-machine-api", "name": "workers", "resourceVersion": "0"}}}
	}
	for i := range 2 + s.rng.IntN(2) {
		s.add(fmt.Sprintf("master-%d", i), catalog.RoleMaster)
	}
	for i := range 1 + s.rng.IntN(4) {
		s.add(fmt.Sprintf("worker-%d", i), catalog.RoleWorker)
	}
	return s
}

func (s *simulation) add(name, role string) {
	ca := base64.StdEncoding.EncodeToString(s.Before)
	n := &simulated{simulation: s, name: name, role: role, started: TestNow.Add(-24 * time.Hour), pid: 1000, memory: s.Before, multus: s.Before,
		multusUp: true, multusAt: TestNow.Add(-25 * time.Hour), joins: s.Before, cert: s.key("kubelet", name, 0, lasting()), touched: map[string]bool{}, kept: map[string]map[string]*keptFile{},
		files: map[string][]byte{}, cas: map[string][]byte{}, modified: map[string]time.Time{},
	}
	n.write(BootstrapFile, []byte(kubeconfigtest.MachineConfigServer(ca, "https://"+APIIntHost+":6443", strings.Repeat("x", 40))))
	n.write(KubeletFile, []byte(kubeconfigtest.Kubelet(ca, "https://"+APIIntHost+":6443")))
	n.connected, n.multusOn = s.rng.IntN(3) > 0, s.rng.IntN(3) > 0
	// Away for long. Of a master no one could sign what it asks for, where kube-controller-manager
	// has no connection left: it gets the CA when all masters are Ready.
	if !n.connected && role == catalog.RoleWorker && s.rng.IntN(3) == 0 {
		n.cert = s.key("kubelet", name, 0, ended())
	}
	for path := range n.files {
		n.modified[path] = TestNow.Add(-48 * time.Hour)
	}
	s.nodes = append(s.nodes, n)
}

// trusts reports whether these CAs verify what is presented.
func (s *simulation) trusts(pem []byte) bool {
	ok, known := s.trusted[string(pem)]
	if !known {
		ok = pki.Verify(s.shows, pki.LoadedPEM(s.known.Certs, pem), APIIntHost, TestNow) == nil
		s.trusted[string(pem)] = ok
	}
	return ok
}

// edges are the connections that work, or would after a restart.
func (s *simulation) edges() map[edge]bool {
	out := map[edge]bool{}
	for _, n := range s.nodes {
		if n.gone {
			continue
		}
		out[edge{n.name, "kubelet -> api-int"}] = n.connected
		out[edge{n.name, "kubelet -> api-int after a restart"}] = s.trusts(n.cas[KubeletFile])
		out[edge{n.name, "joining -> api-int"}] = s.trusts(n.cas[BootstrapFile])
		out[edge{n.name, "multus -> api-int"}] = s.trusts(n.multus)
		out[edge{n.name, "new pods -> their network"}] = n.networked()
	}
	return out
}

type edge struct{ node, what string }

func (e edge) String() string { return e.node + ": " + e.what }

// ours does what the runner asked for, and takes down which edges that broke.
func (s *simulation) ours(what string, do func()) {
	before := s.edges()
	do()
	after := s.edges()
	for e, worked := range before {
		if worked && !after[e] {
			s.broken = append(s.broken, what+" broke "+e.String())
		}
	}
}

var errSimulated = errors.New("simulated fault")

// happens lets something go wrong before a question is answered, now and then. What
// others do to the cluster is not counted as ours.
func (s *simulation) happens() {
	s.pass(2 * time.Second)
	if !s.faulty || s.rng.IntN(10) > 0 {
		return
	}
	n := s.nodes[s.rng.IntN(len(s.nodes))]
	switch s.rng.IntN(14) {
	case 0:
		n.cut = 1 + s.rng.IntN(12)
	case 1:
		s.dead = s.rng.IntN(2) == 0
	case 2: // kube-apiserver restarts: every user has to connect again
		s.away(time.Duration(s.rng.IntN(100)) * time.Second)
	case 3:
		n.gone = n.role == catalog.RoleWorker && s.rng.IntN(3) == 0
	case 4: // as machine-config-daemon does from 4.16 on: the ConfigMap's text, and a restart
		for _, path := range catalog.KubeletKubeconfigs() {
			n.write(path, bytes.Replace(n.files[path], []byte(base64.StdEncoding.EncodeToString(n.cas[path])), []byte(base64.StdEncoding.EncodeToString(s.ConfigMap)), 1))
			n.touched[path] = true
		}
		n.restart()
	case 5: // an administrator with an editor
		path := catalog.KubeletKubeconfigs()[s.rng.IntN(2)]
		n.write(path, append(bytes.Clone(n.files[path]), "# looked at\n"...))
		n.touched[path] = true
	case 6:
		n.late = 1 + s.rng.IntN(400)
	case 7:
		n.reconnect()
	case 8: // somebody who has the bootstrap token
		if !n.gone {
			s.strange[s.post(n.name, s.key("somebody", n.name, s.rng.IntN(20), lasting()))] = true
		}
	case 9: // an administrator who answers
		if len(s.requests) > 0 {
			s.deny(s.requests[s.rng.IntN(len(s.requests))])
		}
	case 10: // somebody else is to change the cluster, and does not take the Lease by force
		s.wants = true
	case 11:
		s.taken("carol@c, run 8")
	case 12: // an administrator lifts a pause, or makes one
		if s.check != nil {
			s.pause([]string{"", "", "an administrator"}[s.rng.IntN(3)])
		}
	case 13: // someone, or something, has it rebooted
		n.reboot()
	}
}

// all is what a plan is made from.
func (s *simulation) all() inspect.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	snapshot := inspect.Snapshot{Cluster: s.Cluster, Taken: s.clock, Requests: s.told()}
	for _, b := range s.Bundles {
		if b.At.Node == "" {
			snapshot.Bundles = append(snapshot.Bundles, b)
		}
	}
	for _, n := range s.nodes {
		if n.gone {
			continue
		}
		read := n.snapshot()
		h := n.heartbeat()
		read.Nodes[0].Heartbeat, read.Nodes[0].Ready = h.At, h.Ready
		if n.reached() != nil {
			read = inspect.Snapshot{Nodes: []inspect.Node{{Name: n.name, Role: n.role, Ready: h.Ready}}, Gaps: []inspect.Gap{{What: "node/" + n.name, Reason: "cut", Next: "wait"}}}
		}
		snapshot = inspect.Merge(snapshot, read)
	}
	snapshot.Sort()
	return snapshot
}

func (s *simulation) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock
}

func (s *simulation) find(name string) *simulated {
	return s.nodes[slices.IndexFunc(s.nodes, func(n *simulated) bool { return n.name == name })]
}

func (s *simulation) env(run string) *remediate.Env {
	return &remediate.Env{
		RunID: run, Now: s.now, Kube: kubeclienttest.Of(simulatedKube{s: s}), Dynamic: simulatedDynamic{s: s}, Heartbeat: s.heartbeatOf, Signer: validSigner, APIClock: exactClock, RestartProbe: MayBootstrap,
		Sleep: func(ctx context.Context, d time.Duration) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.dead {
				return errSimulated
			}
			s.pass(d)
			return context.Cause(ctx)
		},
		Open: func(_ context.Context, name string) (nodeexec.Node, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			n := s.find(name)
			return n, n.reached()
		},
		ReadNode: func(_ context.Context, on nodeexec.Node) (snapshot inspect.Snapshot, err error) {
			n := on.(*simulated)
			s.mu.Lock()
			defer s.mu.Unlock()
			if err := n.reached(); err != nil {
				return snapshot, err
			}
			s.ours("reading "+n.name, func() {
				if n.pending {
					n.restart()
				}
				snapshot = n.snapshot()
			})
			return snapshot, nil
		},
	}
}
