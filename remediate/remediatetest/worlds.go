package remediatetest

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/kubeconfigtest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// clone is the same world once more: what is done there is not done here. They
// share the API server.
func (w *World) clone(t *testing.T) *World {
	t.Helper()
	c := &World{Incident: w.Incident, api: w.api, Machines: map[string]*Machine{}, names: w.names, token: w.token, scanner: pki.NewScanner(), answers: w.answers, epoch: w.epoch}
	c.Skipped.Store(w.Skipped.Load())
	for _, name := range w.names {
		m := w.Machines[name]
		copied := &Machine{World: c, name: name, root: newRoot(t), files: m.files}
		args := []string{"-a"}
		for _, dir := range []string{"/etc", "/var", "/fake", "/proc", "/usr"} {
			args = append(args, m.root+dir)
		}
		if out, err := exec.Command("cp", append(args, copied.root)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		c.Machines[name] = copied
	}
	return c
}

// unspoken fails the test if the token is in what a plan holds.
func (w *World) unspoken(t *testing.T, p *remediate.Plan) {
	t.Helper()
	w.secret(t, "the plan", fmt.Sprintf("%+v", p))
	for _, n := range p.Nodes() {
		for _, s := range n.Steps {
			if s.Change == nil || s.Change.File == nil {
				continue
			}
			f := s.Change.File
			w.secret(t, "the change of "+f.Path, fmt.Sprintf("%+v", s), string(f.Before), string(f.After), string(f.Edit.Insert))
			if f.Path == BootstrapFile && !strings.Contains(string(f.After), "token: "+strings.Repeat("x", len(w.token))+"\n") {
				t.Errorf("the text has no token of that length:\n%s", f.After)
			}
		}
	}
	for _, k := range p.Basis.Nodes {
		w.secret(t, "the facts", fmt.Sprintf("%+v", k))
		for _, k := range k.Kubeconfigs {
			w.secret(t, "the facts", string(k.Text))
		}
	}
}

// TestNow is the time of plans that are made of fixtures.
var TestNow = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// The kubeconfigs of a kubelet, as catalog.KubeletKubeconfigs has them.
const (
	BootstrapFile = "/etc/kubernetes/kubeconfig"
	KubeletFile   = "/var/lib/kubelet/kubeconfig"
)

// World is a cluster of nodes: folders with a busybox, that commands chroot into,
// and a fake of systemd and of the kubelet. What is changed there is changed by
// the real script in a real shell, and what is presented there is presented by a real
// server.
type World struct {
	Incident
	api      *apiServer
	Machines map[string]*Machine
	names    []string
	token    string // in the bootstrap kubeconfigs
	scanner  *pki.Scanner
	answers  *sync.Map             // see remembering
	epoch    time.Time             // see remembering
	Comeback func(n *inspect.Node) // what a node's kubelet would be told; nil: that is not asked
	Skipped  atomic.Int64          // how far time was moved on in place of waiting
	// InodeChanged is when files, or their owners and labels, were changed; of others, when they were modified.
	InodeChanged map[string]time.Time
}

// NewWorld has these nodes; none: worker-0.
func NewWorld(t *testing.T, names ...string) *World {
	t.Helper()
	in := NewIncident(time.Now())
	w := newWorldBy(in, newAPIServer(t, in.Young))
	if len(names) == 0 {
		names = []string{"worker-0"}
	}
	for _, n := range names {
		w.add(t, n)
	}
	return w
}

// newWorldBy is a world without nodes.
func newWorldBy(in Incident, api *apiServer) *World {
	w := &World{Incident: in, api: api, Machines: map[string]*Machine{}, scanner: pki.NewScanner(), answers: &sync.Map{}, epoch: time.Now().Truncate(time.Second)}
	var b [24]byte
	_, _ = rand.Read(b[:])
	w.token = "sesame-" + hex.EncodeToString(b[:])
	return w
}

func (w *World) add(t *testing.T, name string) *Machine {
	t.Helper()
	m := &Machine{World: w, name: name, root: newRoot(t)}
	ca := base64.StdEncoding.EncodeToString(w.Before)
	m.files = map[string][]byte{
		BootstrapFile: []byte(kubeconfigtest.Older(kubeconfigtest.MachineConfigServer(ca, w.api.URL, w.token))),
		KubeletFile:   []byte(kubeconfigtest.Kubelet(ca, w.api.URL)),
	}
	for path, text := range m.files {
		m.Write(t, path, text)
	}
	if err := firstOf(os.Chmod(m.At(BootstrapFile), 0o640), os.Chown(m.At(BootstrapFile), 7, 8)); err != nil {
		t.Fatal(err) // an owner that a new file would not have by itself
	}
	started := time.Now().Add(-48 * time.Hour)
	for path := range m.files {
		if err := os.Chtimes(m.At(path), started, started); err != nil {
			t.Fatal(err)
		}
	}
	m.fakeSystemd(t)
	w.Machines[name] = m
	w.names = append(w.names, name)
	return m
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Now is a clock that moves on when someone would wait.
func (w *World) Now() time.Time { return time.Now().Add(time.Duration(w.Skipped.Load())) }

// Sleep passes time without waiting.
func (w *World) Sleep(ctx context.Context, d time.Duration) error {
	w.Skipped.Add(int64(d))
	return context.Cause(ctx)
}

// env is what a run on the world acts through, as plugin makes it.
func (w *World) env(t *testing.T, run string, f *faults, paths ...string) *remediate.Env {
	t.Helper()
	e := &remediate.Env{
		RunID: run, Now: w.Now, Sleep: w.Sleep,
		Open: func(ctx context.Context, name string) (nodeexec.Node, error) {
			m := w.Machines[name]
			if m == nil {
				return nil, nodeexec.ErrNoTransport
			}
			if err := f.open(); err != nil {
				return nil, err
			}
			n, err := nodeexec.Local{Node: name, Root: m.root, Chroot: true}.Dial(ctx, name)
			if err != nil {
				return nil, err
			}
			return f.on(remembering{n, m}), nil
		},
		ReadNode: func(ctx context.Context, n nodeexec.Node) (inspect.Snapshot, error) {
			return w.read(ctx, n, paths...)
		},
		Heartbeat: func(ctx context.Context, name string) (collect.Heartbeat, error) {
			return w.Machines[name].heartbeat(ctx, name)
		},
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// read reads a node for a plan, or for one that puts a run back.
func (w *World) read(ctx context.Context, n nodeexec.Node, paths ...string) (inspect.Snapshot, error) {
	nodes := collect.Nodes{Scanner: w.scanner, Served: true, Options: gather.Options{Only: true, Texts: true, Paths: slices.Concat(catalog.KubeletKubeconfigs(), catalog.KubeadmKubeconfigs(), paths)}}
	snapshot, _, err := nodes.Read(ctx, collect.NodeObject{Name: n.Name()}, via{n})
	for i := range snapshot.Nodes {
		snapshot.Nodes[i].Hostname = n.Name() // in a chroot it is still this machine's
		c := &snapshot.Nodes[i].Clock         // both clocks are this machine's, however old the answer
		c.Before = c.Sent.Truncate(time.Second)
		c.After = c.Before
		for j := range snapshot.Nodes[i].Files { // whose inodes are all of this moment
			f := &snapshot.Nodes[i].Files[j]
			f.Changed = f.Modified
			if at, ok := w.InodeChanged[f.Path]; ok {
				f.Changed = at
			}
		}
		if w.Comeback != nil {
			w.Comeback(&snapshot.Nodes[i])
		}
	}
	return snapshot, err
}

// snapshot are those that a plan is made from: of the API, and of all nodes.
func (w *World) snapshot(t *testing.T, paths ...string) inspect.Snapshot {
	t.Helper()
	env := w.env(t, "", nil, paths...)
	snapshot := w.cluster()
	for _, name := range w.names {
		node, err := env.Read(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		h, err := env.Heartbeat(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		node.Nodes[0].Heartbeat, node.Nodes[0].Ready = h.At, h.Ready
		snapshot = inspect.Merge(snapshot, node)
	}
	snapshot.Taken = w.Now()
	snapshot.Sort()
	return snapshot
}

// cluster is what the API tells.
func (w *World) cluster() inspect.Snapshot {
	s := inspect.Snapshot{Cluster: inspect.Cluster{Server: w.api.URL, Versions: catalog.Versions{Cluster: "4.15.0"}, Topology: "HighlyAvailable"}}
	add := func(ref catalog.Ref, text []byte) {
		at := pki.Location{Kind: pki.Kind(ref.Kind), Namespace: ref.Namespace, Name: ref.Name, Key: ref.Key}
		o := &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}
		s.Bundles = append(s.Bundles, inspect.Bundle{At: at, Object: o, Content: w.scanner.Scan(text)[0].Content})
	}
	add(catalog.APIServerCA(), w.ConfigMap)
	add(catalog.LoadBalancerSigner(), w.Young.CertPEM)
	leaf := w.api.pair.Load().Certificate[0]
	if c, err := pki.ParseCert(leaf); err == nil {
		ref := catalog.InternalLoadBalancerServing()
		s.Bundles = append(s.Bundles, inspect.Bundle{
			At:     pki.Location{Kind: "Secret", Namespace: ref.Namespace, Name: ref.Name, Key: ref.Key},
			Object: &inspect.Object{Kind: "Secret", Namespace: ref.Namespace, Name: ref.Name}, Content: &pki.Content{Certs: []*pki.Cert{c}},
		})
	}
	return s
}

// run runs a plan, and returns what its journal tells.
func (w *World) run(ctx context.Context, t *testing.T, env *remediate.Env, p *remediate.Plan) (remediate.RunRecord, error) {
	t.Helper()
	return w.runIn(ctx, t, remediate.Journals{Folder: t.TempDir()}, env, p)
}

func (w *World) runIn(ctx context.Context, t *testing.T, js remediate.Journals, env *remediate.Env, p *remediate.Plan) (remediate.RunRecord, error) {
	t.Helper()
	run := remediate.NewRun(w.Now()) // an undo has a journal of its own
	j, err := js.Begin(remediate.Header{Run: run, Nodes: w.names, Started: w.Now()}, w.Now)
	if err != nil {
		t.Fatal(err)
	}
	err = remediate.Runner{Env: env, Journal: j}.Run(ctx, p)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	story, readErr := js.Read(run)
	if readErr != nil {
		t.Fatal(readErr)
	}
	w.secret(t, "the journal", fmt.Sprintf("%+v", story))
	w.secret(t, "the journal", string(rawJournal(js, t)))
	if err != nil {
		w.secret(t, "the error", err.Error(), fmt.Sprintf("%+v", err))
	}
	return story, err
}

// rawJournal are all journals in a folder.
func rawJournal(j remediate.Journals, t *testing.T) (all []byte) {
	t.Helper()
	names, err := filepath.Glob(j.Folder + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return all
}

// secret fails the test where the token of the bootstrap kubeconfigs is in a text.
func (w *World) secret(t *testing.T, what string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		for _, form := range []string{w.token, base64.StdEncoding.EncodeToString([]byte(w.token))[:16], hex.EncodeToString([]byte(w.token))} {
			if strings.Contains(text, form) {
				t.Errorf("%s has the token", what)
			}
		}
	}
}
