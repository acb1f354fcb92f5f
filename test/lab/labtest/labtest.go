// Package labtest gives tests the project's lab: a real control plane that looks
// like an OpenShift cluster. Tests of any package may ask for it; the first to do
// so brings it up, the others share it, and it stays up afterwards.
//
// A test that can't have a lab is skipped and says why, unless CERTROT_REQUIRE_LAB
// is 1: then it fails.
package labtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/binaries"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/checkout"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
)

// Lab is a running lab.
type Lab struct {
	Dir        string // the lab's folder; logs in log, certificates in pki
	Kubeconfig string // the cluster administrator's, for this host
	Kubectl    string // the lab's kubectl, which runs on this host too
	OC         string // a stand-in for oc: kubectl with oc's way to find plugins
	RunScript  string // runs a command inside the lab
	root       string
	nodes      *string // what LAB_NODES is to be; nil: as it is
	multus     string  // what LAB_MULTUS is to be, in a lab of the test's own
}

// upLimit is for a lab whose components are built; building them takes longer.
const (
	upLimit    = 4 * time.Minute
	buildLimit = 30 * time.Minute
)

// Require is the shared lab: the one in $LAB_DIR, or in .lab of the checkout. What
// a test changes in it, it puts back.
func Require(t testing.TB) *Lab {
	t.Helper()
	root := require(t)
	dir, err := labdir.Find(root)
	if err != nil {
		t.Fatal(err)
	}
	lab := open(dir, root)
	if !lab.asAsked(t.Context()) {
		lab.Up(t)
	}
	return lab
}

// asAsked says that Up would find nothing to do. Asking takes no time, and there are
// many tests.
func (l *Lab) asAsked(ctx context.Context) bool {
	state := l.state()
	for name, is := range map[string]string{"LAB_VERSION": state.Version, "LAB_GOAWAY": state.GoawayChance, "LAB_MULTUS": state.Multus, "LAB_NODES": state.Nodes} {
		if want, asked := os.LookupEnv(name); asked && want != is {
			return false
		}
	}
	return labdir.Dir(l.Dir).Sick(ctx, state) == nil
}

// Temporary is a control plane for this test alone, gone when the test ends. It
// takes some 15 s and 1 GB of memory: for tests that break what others share.
func Temporary(t testing.TB) *Lab {
	t.Helper()
	return temporary(t, "", "")
}

func temporary(t testing.TB, nodes, multus string) *Lab {
	t.Helper()
	if testing.Short() {
		t.Skip("brings up a lab of its own, which -short leaves out")
	}
	root := require(t)
	lab := open(labdir.Dir(t.TempDir()), root)
	lab.nodes, lab.multus = &nodes, multus
	t.Cleanup(func() { lab.Down(t) })
	lab.Up(t)
	return lab
}

// Unmet skips the test for a reason, or fails it if the lab is required.
func Unmet(t testing.TB, format string, args ...any) {
	t.Helper()
	why := fmt.Sprintf(format, args...)
	if os.Getenv("CERTROT_REQUIRE_LAB") == "1" {
		t.Fatalf("CERTROT_REQUIRE_LAB=1, but %s", why)
	}
	t.Skipf("needs the lab, but %s", why)
}

// Long skips a test that takes a quarter of an hour where CERTROT_LONG_BEFORE, in seconds since
// 1970, is over: a CI machine has an end. It is called first.
func Long(t testing.TB) {
	t.Helper()
	text := os.Getenv("CERTROT_LONG_BEFORE")
	if text == "" {
		return
	}
	before, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("CERTROT_LONG_BEFORE: %v", err)
	}
	if late := time.Since(time.Unix(before, 0)); late > 0 {
		t.Skipf("no time left for a long target: it would begin %s too late; make test-e2e TESTFLAGS=-run='^%s$' runs it", late.Round(time.Second), t.Name())
	}
}

// require ends the test unless a lab can be had here, and returns the checkout.
func require(t testing.TB) string {
	t.Helper()
	if err := checkout.Prerequisites(); err != nil {
		Unmet(t, "%v", err)
	}
	root, err := checkout.Root()
	if err != nil {
		t.Fatal(err)
	}
	_, built, err := binaries.Lookup(checkout.Components(root))
	if err != nil {
		t.Fatal(err)
	}
	if !built && os.Getenv("CERTROT_REQUIRE_LAB") != "1" {
		t.Skip("needs the lab, but its components are not built yet: `make lab-up` does it, in 5 to 8 minutes, once")
	}
	return root
}

func open(dir labdir.Dir, root string) *Lab {
	return &Lab{
		Dir:        string(dir),
		Kubeconfig: dir.Kubeconfig(),
		Kubectl:    dir.Bin("kubectl"),
		OC:         dir.Bin("oc"),
		RunScript:  dir.RunScript(),
		root:       root,
	}
}

// Up brings the lab up, if it isn't.
func (l *Lab) Up(t testing.TB) {
	t.Helper()
	limit := upLimit
	if _, built, err := binaries.Lookup(checkout.Components(l.root)); err == nil && !built || !machinesBuilt() || !multusBuilt(l.multus, l.root) {
		limit = buildLimit
	}
	if out, err := l.tool(limit, "up"); err != nil {
		t.Fatalf("bring the lab up: %v\n%s", err, out)
	}
}

// Down ends the lab and deletes its folder.
func (l *Lab) Down(t testing.TB) {
	t.Helper()
	if out, err := l.tool(time.Minute, "down"); err != nil {
		t.Errorf("bring the lab down: %v\n%s", err, out)
	}
}

// Status is what `status` prints, and whether it says that the lab is up.
func (l *Lab) Status() (string, bool) {
	out, err := l.tool(time.Minute, "status")
	return out, err == nil
}

func (l *Lab) tool(limit time.Duration, verb ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, "go", append([]string{"run", "./test/lab"}, verb...)...)
	c.Dir = l.root
	c.Env = append(os.Environ(), "LAB_DIR="+l.Dir)
	if nodes := l.wanted(); nodes != nil {
		c.Env = append(c.Env, "LAB_NODES="+*nodes)
	}
	if l.nodes != nil {
		c.Env = append(c.Env, "LAB_MULTUS="+l.multus)
	}
	// Interrupted, not killed, so that what it started is taken down.
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 20 * time.Second
	out, err := c.CombinedOutput()
	return string(out), err
}

// wanted is what LAB_NODES is to be. Tests don't start the nodes' long build by
// themselves: as long as it isn't done, a lab that they bring up has none.
func (l *Lab) wanted() *string {
	_, asked := os.LookupEnv("LAB_NODES")
	if l.nodes != nil || asked || machinesBuilt() || os.Getenv("CERTROT_REQUIRE_LAB") == "1" || l.state().Nodes != "" {
		return l.nodes
	}
	none := ""
	return &none
}

// Command is a command that runs inside the lab: in its network, with KUBECONFIG
// set and the lab's kubectl and oc on the PATH.
func (l *Lab) Command(ctx context.Context, argv ...string) *exec.Cmd {
	return exec.CommandContext(ctx, l.RunScript, argv...)
}

// Run runs a command inside the lab and returns what it printed; if it fails, so
// does the test.
func (l *Lab) Run(t testing.TB, argv ...string) string {
	t.Helper()
	return l.output(t, l.Command(t.Context(), argv...))
}

// OnHost is a command on this host, as an administrator's terminal would run it:
// KUBECONFIG is set and the lab's kubectl and oc are on the PATH.
func (l *Lab) OnHost(ctx context.Context, argv ...string) *exec.Cmd {
	dir := labdir.Dir(l.Dir)
	bin := dir.Bin("")
	program := argv[0]
	if argv[0] == "kubectl" || argv[0] == "oc" {
		program = bin + "/" + argv[0]
	}
	c := exec.CommandContext(ctx, program, argv[1:]...)
	c.Env = append(os.Environ(), dir.KubectlEnv()...)
	c.Env = append(c.Env, "KUBECONFIG="+l.Kubeconfig, "PATH="+bin+":"+os.Getenv("PATH"))
	return c
}

// KubectlOutput runs the lab's kubectl on this host and returns what it printed; if it
// fails, so does the test.
func (l *Lab) KubectlOutput(t testing.TB, args ...string) string {
	t.Helper()
	return l.output(t, l.OnHost(t.Context(), append([]string{"kubectl"}, args...)...))
}

func (l *Lab) output(t testing.TB, c *exec.Cmd) string {
	t.Helper()
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("run `%s`: %v\n%s%s", strings.Join(c.Args, " "), err, out, stderr.String())
	}
	return string(out)
}
