package remediatetest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/kubeconfigtest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
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
	ends    map[string][]byte // what files end as that nobody else wrote, by path, in all schedules
	pair    tls.Certificate
}

// simulated is a node: what is on its disk, what processes have in memory, and
// whether its kubelet's connection works.
type simulated struct {
	*simulation
	name, role string
	gone       bool
	cut        int // questions that do not arrive from now on
	late       int // heartbeats that do not show from now on
	files      map[string][]byte
	cas        map[string][]byte // in files
	modified   map[string]time.Time
	kept       map[string]map[string]*keptFile // by run and path
	started    time.Time
	pid        int
	pending    bool // a restart that systemd was told of
	memory     []byte
	connected  bool
	multus     []byte // the CAs that a thick multus has in memory
	multusOn   bool   // and whether it works by its connection
	multusUp   bool   // there is one
	multusAt   time.Time
	multusPod  int
	cert       *kubeletKey // the kubelet's own
	joins      []byte      // the CAs by which it asks for another one
	asked      int         // how often it did
	askedAt    time.Time
	waits      string // the request whose answer it waits for
	revised    bool   // kube-controller-manager has the CA there
	holder     string // who is at work there
	heldAt     time.Time
	touched    map[string]bool // files that others wrote
}

type keptFile struct {
	before []byte
	wrote  [][32]byte
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
	// Away for long. Of a master nobody could sign what it asks for, where kube-controller-manager
	// has no connection left: it gets the CA when all masters are Ready.
	if !n.connected && role == catalog.RoleWorker && s.rng.IntN(3) == 0 {
		n.cert = s.key("kubelet", name, 0, ended())
	}
	for path := range n.files {
		n.modified[path] = TestNow.Add(-48 * time.Hour)
	}
	s.nodes = append(s.nodes, n)
}

// trusts reports whether these CAs verify what is shown.
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
	case 2: // kube-apiserver restarts: everybody has to connect anew
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
	case 13: // somebody, or something, has it rebooted
		n.reboot()
	}
}

// reboot has all of a node's processes read their files.
func (n *simulated) reboot() {
	n.restart()
	n.holder = ""
	if n.multusUp {
		n.startMultus()
	}
}

func (n *simulated) write(path string, text []byte) {
	ca, _ := n.known.Find(text) // without one, nothing is trusted
	n.files[path], n.cas[path], n.modified[path] = text, ca.PEM, n.clock
}

func (n *simulated) restart() {
	n.askedAt, n.waits = n.clock, "" // its process asks for nothing more
	n.pass(3 * time.Second)
	n.started, n.pid, n.pending = n.clock.Truncate(time.Second), n.pid+1, false
	n.memory, n.joins = n.cas[KubeletFile], n.cas[BootstrapFile]
	n.connected = n.trusts(n.memory) && n.certified()
	if !n.certified() && n.trusts(n.joins) && !n.gone {
		n.ask()
	}
}

// reached reports whether a question arrives at a node.
func (n *simulated) reached() error {
	n.happens()
	if n.cut > 0 {
		n.cut--
		return errSimulated
	}
	if n.gone || n.dead {
		return errSimulated
	}
	return nil
}

func (n *simulated) Name() string         { return n.name }
func (n *simulated) Path(p string) string { return p }
func (n *simulated) Close() error         { return nil }
func (n *simulated) Stream(context.Context, ...string) (nodeexec.Stream, error) {
	return nil, errSimulated
}

// Run answers what host.sh is asked for. Of some answers the end is not seen.
func (n *simulated) Run(_ context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.Index(argv, "certrot")
	op, args := argv[i+2], argv[i+3:]
	if err := n.reached(); err != nil {
		return nil, &nodeexec.RunError{Node: n.name, Argv: argv, Code: -1, Inner: err}
	}
	input, err := io.ReadAll(stdin)
	if err != nil {
		return nil, err
	}
	var lines []string
	n.ours(op+" on "+n.name, func() {
		if n.pending { // systemd is at work meanwhile
			n.restart()
		}
		lines = n.answer(op, args, input)
	})
	if n.faulty && n.rng.IntN(60) == 0 {
		return nil, &nodeexec.RunError{Node: n.name, Argv: argv, Code: -1, Inner: fmt.Errorf("%w: %w", errSimulated, nodeexec.ErrUnknownOutcome)}
	}
	return []byte("certrot-host 1\n" + strings.Join(lines, "\n") + "\nend\n"), nil
}

func (n *simulated) answer(op string, args []string, input []byte) []string {
	const same, changed = "done same", "done changed"
	regular := func(text []byte) string {
		return fmt.Sprintf("%x %d 600 0 0 ?", sha256.Sum256(text), len(text))
	}
	switch op {
	case "look":
		var lines []string
		for _, path := range args {
			lines = append(lines, "file regular "+regular(n.files[path]))
		}
		return append(lines, same)
	case "entries":
		var lines []string
		for path, k := range n.kept[args[1]] {
			var sums []string
			for _, sum := range k.wrote {
				sums = append(sums, fmt.Sprintf("%x", sum))
			}
			lines = append(lines, "entry "+regular(k.before), "path "+path, "after "+strings.Join(sums, " "), "later -")
		}
		if len(lines) == 0 {
			return []string{"fail norun nothing is kept"}
		}
		return append(lines, same)
	case "replace":
		run, path := args[1], args[2]
		now := n.files[path]
		if k := n.kept[run][path]; k != nil && k.wrote[len(k.wrote)-1] == sha256.Sum256(now) {
			return []string{"file regular " + regular(now), same}
		}
		if fmt.Sprintf("%x", sha256.Sum256(now)) != args[3] {
			return []string{"file regular " + regular(now), "fail changed its content is not what was read"}
		}
		offset, _ := strconv.Atoi(args[4])
		length, _ := strconv.Atoi(args[5])
		after := slices.Concat(now[:offset], input, now[offset+length:])
		if n.kept[run] == nil {
			n.kept[run] = map[string]*keptFile{}
		}
		if n.kept[run][path] == nil {
			n.kept[run][path] = &keptFile{before: now}
		}
		n.kept[run][path].wrote = append(n.kept[run][path].wrote, sha256.Sum256(after))
		n.write(path, after)
		return []string{"file regular " + regular(after), changed}
	case "restore":
		k := n.kept[args[1]][args[2]]
		now := n.files[args[2]]
		if bytes.Equal(now, k.before) {
			return []string{"file regular " + regular(now), same}
		}
		if !slices.Contains(k.wrote, sha256.Sum256(now)) { // as host.sh does
			return []string{"file regular " + regular(now), "fail changed it is neither what this run made of it nor what it was before"}
		}
		n.write(args[2], k.before)
		return []string{"file regular " + regular(k.before), changed}
	case "keep":
		if n.holder != "" && n.holder != args[1] && n.holder != args[2] && n.clock.Sub(n.heldAt) < host.HoldTime {
			return []string{fmt.Sprintf("locked %d %s", n.clock.Sub(n.heldAt)/time.Second, n.holder), "fail busy it is locked"}
		}
		n.holder, n.heldAt = args[1], n.clock
		return []string{changed}
	case "release":
		if n.holder == args[1] {
			n.holder = ""
		}
		return []string{changed}
	case "restart":
		n.pending = true
		return []string{changed}
	case "unit":
		at := n.started.UTC().Format("Mon 2006-01-02 15:04:05 UTC")
		return []string{
			fmt.Sprintf("now %d", n.clock.Unix()), "Id=kubelet.service", "LoadState=loaded", "ActiveState=active", "SubState=running", "Result=success",
			fmt.Sprintf("MainPID=%d", n.pid), "ActiveEnterTimestamp=" + at, "NRestarts=0", "NeedDaemonReload=no", same,
		}
	}
	return []string{same} // what changes no file
}

// Dial leads to a kube-apiserver that answers.
func (n *simulated) Dial(context.Context, string, string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.reached(); err != nil {
		return nil, err
	}
	here, there := net.Pipe()
	go func() {
		server := tls.Server(there, &tls.Config{Certificates: []tls.Certificate{n.pair}, MinVersion: tls.VersionTLS12, CurvePreferences: []tls.CurveID{tls.X25519}})
		defer func() { _ = server.Close() }()
		if _, err := http.ReadRequest(bufio.NewReader(server)); err == nil {
			_, _ = io.WriteString(server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
		}
	}()
	return here, nil
}

// facts are what reading a node shows.
func (n *simulated) facts() inspect.Snapshot {
	yes := true
	node := inspect.Node{
		Name: n.name, Hostname: n.name, Via: "ssh", Role: n.role, Clock: inspect.Clock{Sent: n.clock, Before: n.clock, After: n.clock, Received: n.clock},
		Kubelet: inspect.Kubelet{Active: "active", Sub: "running", Started: n.started, StartedByUptime: n.started, BootstrapConfig: BootstrapFile, Kubeconfig: KubeletFile, RotateCertificates: &yes},
	}
	s := inspect.Snapshot{Served: []inspect.Served{{Node: n.name, Address: APIIntHost + ":6443", Name: APIIntHost, Chain: n.shows}}}
	const field = "clusters[0].cluster.certificate-authority-data"
	for i, path := range catalog.KubeletKubeconfigs() {
		text := n.files[path]
		current := []string{"local", "default-cluster"}[i]
		node.Files = append(node.Files, inspect.NodeFile{Path: path, Mode: 0o600, Size: int64(len(text)), Modified: n.modified[path], Whole: true, SHA256: pki.FingerprintOf(text)})
		node.Kubeconfigs = append(node.Kubeconfigs, inspect.Kubeconfig{Path: path, Users: 1, Current: current, Text: text,
			Clusters: []inspect.KubeconfigCluster{{Name: current, Server: "https://" + APIIntHost + ":6443", CAData: true, Field: field}}})
		s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: n.name, Path: path, Field: field}, Content: &pki.Content{Certs: pki.LoadedPEM(n.known.Certs, n.cas[path])}})
	}
	s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: n.name, Path: inspect.KubeletClient}, Content: &pki.Content{Certs: []*pki.Cert{n.cert.cert}}})
	s.Nodes = []inspect.Node{node}
	return s
}

func (n *simulated) heartbeat() collect.Heartbeat {
	if n.late > 0 {
		n.late--
		return collect.Heartbeat{At: TestNow.Add(-time.Hour), Ready: "Unknown"}
	}
	if n.connected {
		return collect.Heartbeat{At: n.clock, Ready: "True"}
	}
	return collect.Heartbeat{At: TestNow.Add(-time.Hour), Ready: "Unknown"}
}

// all is what a plan is made from.
func (s *simulation) all() inspect.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	facts := inspect.Snapshot{Cluster: s.Cluster, Taken: s.clock, Requests: s.told()}
	for _, b := range s.Bundles {
		if b.At.Node == "" {
			facts.Bundles = append(facts.Bundles, b)
		}
	}
	for _, n := range s.nodes {
		if n.gone {
			continue
		}
		read := n.facts()
		h := n.heartbeat()
		read.Nodes[0].Heartbeat, read.Nodes[0].Ready = h.At, h.Ready
		if n.reached() != nil {
			read = inspect.Snapshot{Nodes: []inspect.Node{{Name: n.name, Role: n.role, Ready: h.Ready}}, Gaps: []inspect.Gap{{What: "node/" + n.name, Reason: "cut", Next: "wait"}}}
		}
		facts = inspect.Merge(facts, read)
	}
	facts.Sort()
	return facts
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
		Run: run, Now: s.now, Kube: simulatedKube{s: s}, Dynamic: simulatedDynamic{s: s}, Heartbeat: s.heartbeatOf, Signer: validSigner, APIClock: exactClock, RestartProbe: MayBootstrap,
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
		Facts: func(_ context.Context, on nodeexec.Node) (facts inspect.Snapshot, err error) {
			n := on.(*simulated)
			s.mu.Lock()
			defer s.mu.Unlock()
			if err := n.reached(); err != nil {
				return facts, err
			}
			s.ours("reading "+n.name, func() {
				if n.pending {
					n.restart()
				}
				facts = n.facts()
			})
			return facts, nil
		},
	}
}

// attempt runs a plan as far as it comes, and tells whether nothing is left to be done.
func (s *simulation) attempt(js remediate.Journals, number int) (done bool) {
	s.t.Helper()
	s.dead = false // whoever comes next
	s.pass(time.Duration(s.rng.IntN(120)) * time.Second)
	run := fmt.Sprintf("run-%d-%d", s.seed, number)
	facts := s.all()
	p, err := s.plan(run, number, facts)
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
	again := &preflight.RecheckGate{Facts: p.Basis, ControlPlane: s.machinery}
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
func (s *simulation) plan(run string, number int, facts inspect.Snapshot) (*remediate.Plan, error) {
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
	p, err := fix.Plan(run, facts, facts.Taken)
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

// observe sees to it that nothing is begun while somebody else holds the Lease who took it
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
// requests that are nobody's are denied, and where it can't be told whose they are, all,
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
// ended, and others that write the same files, restart the same kubelets, ask in a node's
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
