package plugin

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// fileStep is a step that changes a file.
type fileStep struct {
	on, path string
	write    func() error
}

func (w fileStep) ID() string   { return "write " + w.on + ":" + w.path }
func (w fileStep) Node() string { return w.on }
func (w fileStep) Diff(inspect.Snapshot, time.Time) (*remediate.Change, error) {
	return &remediate.Change{Summary: "write " + w.path, File: &remediate.FileChange{Path: w.path}}, nil
}

func (w fileStep) Apply(context.Context, *remediate.Env, *remediate.Change) error { return w.write() }
func (fileStep) Verify(context.Context, *remediate.Env, *remediate.Change) error  { return nil }
func (fileStep) Undo(context.Context, *remediate.Env, *remediate.Change) error    { return nil }

// writingOn is a plan that changes files of nodes, one after another.
func writingOn(actions ...fileStep) *remediate.Plan {
	p := &remediate.Plan{Now: time.Now(), Waves: []remediate.Wave{{Parallel: 1}}}
	for _, a := range actions {
		c, _ := a.Diff(inspect.Snapshot{}, p.Now)
		p.Waves[0].Nodes = append(p.Waves[0].Nodes, remediate.NodePlan{Name: a.on, Steps: []remediate.Step{{Action: a, Change: c}}})
		p.Basis.Nodes = append(p.Basis.Nodes, inspect.Node{Name: a.on, Via: "local", Role: catalog.RoleWorker})
	}
	return p
}

// doing carries a plan out, and says what is told and how it ends.
func doing(t *testing.T, w *workplace, out *transcript, dryRun string, p *remediate.Plan) (*applying, int, string) {
	t.Helper()
	a := &applying{mendFlags: mendFlags{app: w.app, yes: true, dryRun: dryRun}, workplace: w, command: "fix-api-int", run: remediate.NewRun(time.Now()), about: func(io.Writer, *remediate.Plan) {},
		resume: "certrot fix-api-int --via ssh", named: "certrot fix-api-int --via ssh"}
	p.Run = a.run
	a.plan = func(context.Context) (*remediate.Plan, error) { return p, nil }
	err := a.do(t.Context())
	if err != nil {
		printError(w.app.Streams, err)
	}
	said := out.String()
	*out = transcript{}
	return a, codeOf(err), said
}

// TestAFileThatCanNotBeWritten: how to see what keeps it from being written is said, that
// the same command would stop there again, the line that goes past its node, and no undo
// of what was not changed. The line is parsed by the command itself.
func TestAFileThatCanNotBeWritten(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	ca := pkitest.NewCA("any", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	server := liveServer(t, ca, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	path := catalog.KubeletKubeconfigs()[1]
	first, second := newLiveNode(t, "worker-0"), newLiveNode(t, "worker-1")
	for _, n := range []liveNode{first, second} {
		n.kubelet(t, ca.CertPEM, server, ca)
	}
	if out, err := exec.Command("chattr", "+i", first.root+path).CombinedOutput(); err != nil {
		t.Skipf("chattr +i: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("chattr", "-i", first.root+path).Run() })
	immutable := func() error {
		node, err := nodeexec.Local{Node: first.name, Root: first.root, Chroot: true}.Dial(t.Context(), first.name)
		if err != nil {
			return err
		}
		defer func() { _ = node.Close() }()
		text := []byte(first.read(t, path))
		_, err = host.Run{ID: "run-1"}.Replace(t.Context(), node, host.Edit{Path: path, Before: sha256.Sum256(text), Insert: []byte("x")})
		return err
	}
	readOnly := func() error { // as a node says it whose disk turned read-only
		return fmt.Errorf("change worker-0:%s: %w: make the new file beside it: mktemp: Read-only file system", path, host.ErrNothingChanged)
	}
	for _, c := range []struct {
		name  string
		write func() error
		says  string
	}{
		{"an immutable file", immutable, "lsattr -d /var/lib/kubelet /var/lib/kubelet/kubeconfig"},
		{"a read-only file system", readOnly, "findmnt -T /var/lib/kubelet/kubeconfig"},
	} {
		var out transcript
		w := onNodes(nil, &out, first, second)
		_, code, said := doing(t, w, &out, dryRunNone, writingOn(fileStep{first.name, path, c.write}, fileStep{second.name, path, func() error { return nil }}))
		const line = "certrot fix-api-int --via ssh --nodes worker-1"
		for _, want := range []string{c.says, "the same command stops there again", "to go past it:\n          " + line + "\n"} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q is not said:\n%s", c.name, want, said)
			}
		}
		if _, end, _ := strings.Cut(said, "error: "); code != exitStopped || strings.Contains(end, "undo") {
			t.Errorf("%s: ends with %d:\n%s", c.name, code, said)
		}
		root := NewCommand(w.app)
		cmd, flags, err := root.Find(strings.Fields(line)[1:])
		if err == nil {
			err = cmd.ParseFlags(flags)
		}
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestWhichUndoIsNamed: that of a run that changed files, and of the runs before it; none of
// a dry run, and none of a run that changed no file.
func TestWhichUndoIsNamed(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	ca := pkitest.NewCA("any", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	n := newLiveNode(t, "worker-0")
	n.kubelet(t, ca.CertPEM, "https://127.0.0.1:1", ca)
	path := catalog.KubeletKubeconfigs()[1]
	write := fileStep{n.name, path, func() error { return nil }}
	var out transcript
	w := onNodes(nil, &out, n)

	if a, _, said := doing(t, w, &out, dryRunClient, writingOn(write)); strings.Contains(said, "undo "+a.run) {
		t.Errorf("a dry run names an undo:\n%s", said)
	}
	if _, code, said := doing(t, w, &out, dryRunNone, stepsOn(looking{n.name, func() {}})); code != exitFine || strings.Contains(said, "undo") {
		t.Errorf("a run that changed no file: %d\n%s", code, said)
	}
	first, code, said := doing(t, w, &out, dryRunNone, writingOn(write))
	if code != exitFine || !strings.Contains(said, "to put it back: certrot undo "+first.run+"\n") || strings.Contains(said, "Other runs") {
		t.Errorf("the first one: %d\n%s", code, said)
	}
	second, code, said := doing(t, w, &out, dryRunNone, writingOn(write))
	if code != exitFine || !strings.Contains(said, "to put it back: certrot undo "+second.run+"\n") || !strings.Contains(said, "Each undo is of one run. Other runs of this repair changed files, too: certrot undo "+first.run+"\n") {
		t.Errorf("the second one: %d\n%s", code, said)
	}

	// What was put back is not named any more.
	js, err := journals()
	if err != nil {
		t.Fatal(err)
	}
	j, err := js.Begin(remediate.Header{Run: remediate.NewRun(time.Now()), Command: "undo", Undoes: first.run, Nodes: []string{n.name}, Started: time.Now()}, time.Now)
	if err == nil {
		err = j.Add(remediate.Record{Event: remediate.Finished})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, said := doing(t, w, &out, dryRunNone, writingOn(write)); strings.Contains(said, first.run) || !strings.Contains(said, second.run) {
		t.Errorf("after an undo of the first one:\n%s", said)
	}
}

// TestAPathOfAnEntryForgesNoLine: what a run keeps on a node may be written by anybody who is
// root there.
func TestAPathOfAnEntryForgesNoLine(t *testing.T) {
	n := newLiveNode(t, "worker-0")
	path := "/etc/x was read." + strings.Repeat(" ", 60) + "  next: kubectl certificate approve csr-evil"
	text := []byte("x")
	n.write(t, path, string(text))
	node, err := nodeexec.Local{Node: n.name, Root: n.root, Chroot: true}.Dial(t.Context(), n.name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (host.Run{ID: "run-1"}).Replace(t.Context(), node, host.Edit{Path: path, Before: sha256.Sum256(text), Insert: []byte("y")}); err != nil {
		t.Fatal(err)
	}
	_, err = onNodes(nil, io.Discard, n).kept(t.Context(), n.name, "run-1")
	if codeOf(err) != exitRefused || !strings.Contains(err.Error(), "“/etc/x was read.") || strings.Contains(err.Error(), "  ") {
		t.Errorf("%v", err)
	}
}
