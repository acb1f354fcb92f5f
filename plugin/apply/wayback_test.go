package apply_test

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
	"github.com/kubectl-certrot/kubectl-certrot/plugin"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
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
func doing(t *testing.T, w *apply.Session, out *plugintest.Transcript, dryRun string, p *remediate.Plan) (*apply.Execution, int, string) {
	t.Helper()
	a := &apply.Execution{Options: apply.Options{App: w.App, Yes: true, DryRun: dryRun == apply.DryRunClient}, Session: w, Command: "fix-api-int", RunID: remediate.NewRun(time.Now()), PrintBasis: func(io.Writer, *remediate.Plan) {},
		Lines: apply.Lines{Resume: "certrot fix-api-int --via ssh", NamedNodes: "certrot fix-api-int --via ssh"}}
	p.RunID = a.RunID
	a.Plan = func(context.Context) (*remediate.Plan, error) { return p, nil }
	err := a.Execute(t.Context())
	if err != nil {
		cli.PrintError(w.App.Streams, err)
	}
	said := out.String()
	*out = plugintest.Transcript{}
	return a, cli.CodeOf(err), said
}

// TestAFileThatCanNotBeWritten: how to see what keeps it from being written is said, that
// the same command would stop there again, the line that goes past its node, and no undo
// of what was not changed. The line is parsed by the command itself.
func TestAFileThatCanNotBeWritten(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	ca := pkitest.NewCA("any", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	server := plugintest.LiveServer(t, ca, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	path := catalog.KubeletKubeconfigs()[1]
	first, second := plugintest.NewLiveNode(t, "worker-0"), plugintest.NewLiveNode(t, "worker-1")
	for _, n := range []plugintest.LiveNode{first, second} {
		n.Kubelet(t, ca.CertPEM, server, ca)
	}
	if out, err := exec.Command("chattr", "+i", first.Root+path).CombinedOutput(); err != nil {
		t.Skipf("chattr +i: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("chattr", "-i", first.Root+path).Run() })
	immutable := func() error {
		node, err := nodeexec.Local{Node: first.Name, Root: first.Root, Chroot: true}.Dial(t.Context(), first.Name)
		if err != nil {
			return err
		}
		defer func() { _ = node.Close() }()
		text := []byte(first.Read(t, path))
		_, err = host.RunFolder{ID: "run-1"}.Replace(t.Context(), node, host.Edit{Path: path, Before: sha256.Sum256(text), Insert: []byte("x")})
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
		var out plugintest.Transcript
		w := applytest.OnNodes(nil, &out, first, second)
		_, code, said := doing(t, w, &out, apply.DryRunNone, writingOn(fileStep{first.Name, path, c.write}, fileStep{second.Name, path, func() error { return nil }}))
		const line = "certrot fix-api-int --via ssh --nodes worker-1"
		for _, want := range []string{c.says, "the same command stops there again", "to go past it:\n          " + line + "\n"} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q is not said:\n%s", c.name, want, said)
			}
		}
		if _, end, _ := strings.Cut(said, "error: "); code != cli.ExitStopped || strings.Contains(end, "undo") {
			t.Errorf("%s: ends with %d:\n%s", c.name, code, said)
		}
		root := plugin.NewCommand(w.App)
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
	n := plugintest.NewLiveNode(t, "worker-0")
	n.Kubelet(t, ca.CertPEM, "https://127.0.0.1:1", ca)
	path := catalog.KubeletKubeconfigs()[1]
	write := fileStep{n.Name, path, func() error { return nil }}
	var out plugintest.Transcript
	w := applytest.OnNodes(nil, &out, n)

	if a, _, said := doing(t, w, &out, apply.DryRunClient, writingOn(write)); strings.Contains(said, "undo "+a.RunID) {
		t.Errorf("a dry run names an undo:\n%s", said)
	}
	if _, code, said := doing(t, w, &out, apply.DryRunNone, stepsOn(looking{n.Name, func() {}})); code != cli.ExitFine || strings.Contains(said, "undo") {
		t.Errorf("a run that changed no file: %d\n%s", code, said)
	}
	first, code, said := doing(t, w, &out, apply.DryRunNone, writingOn(write))
	if code != cli.ExitFine || !strings.Contains(said, "Undo: certrot undo "+first.RunID+"\n") || strings.Contains(said, "Other runs") {
		t.Errorf("the first one: %d\n%s", code, said)
	}
	second, code, said := doing(t, w, &out, apply.DryRunNone, writingOn(write))
	if code != cli.ExitFine || !strings.Contains(said, "Undo: certrot undo "+second.RunID+"\n") || !strings.Contains(said, "Each undo is of one run. Other runs of this repair changed files, too: certrot undo "+first.RunID+"\n") {
		t.Errorf("the second one: %d\n%s", code, said)
	}

	// What was put back is not named any more.
	js, err := apply.Journals()
	if err != nil {
		t.Fatal(err)
	}
	j, err := js.Begin(remediate.Header{Run: remediate.NewRun(time.Now()), Command: "undo", Undoes: first.RunID, Nodes: []string{n.Name}, Started: time.Now()}, time.Now)
	if err == nil {
		err = j.Add(remediate.Record{Event: remediate.Finished})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, said := doing(t, w, &out, apply.DryRunNone, writingOn(write)); strings.Contains(said, first.RunID) || !strings.Contains(said, second.RunID) {
		t.Errorf("after an undo of the first one:\n%s", said)
	}
}
