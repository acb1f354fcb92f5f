package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// runLimit is for one run of the program: it reads the lab in well under a
// second, but other tests may have the machine.
const runLimit = 60 * time.Second

func TestMain(m *testing.M) {
	code := m.Run()
	if err := shared.leave(); err != nil {
		fmt.Fprintf(os.Stderr, "remove what the tests planted: %v\n", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// world is the lab with everything planted, and the program.
type world struct {
	lab     *labtest.Lab
	bin     string // a folder for the PATH: kubectl-certrot and its completion
	home    string // of the user who runs it: without a .kube
	planted *plan

	mu     sync.Mutex
	latest *oracle
}

// shared is the world that all tests of the package look at.
var shared worldOnce

type worldOnce struct {
	mu    sync.Mutex
	world *world
	dir   string
	err   error
}

// enter returns the world, and makes it for the first test that asks. Without a
// lab it ends the test.
func enter(t *testing.T) *world {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.world == nil && shared.err == nil {
		lab := labtest.Require(t) // may end the test: then the next one is told the same
		shared.world, shared.err = shared.make(t, lab)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.world
}

func (o *worldOnce) make(t *testing.T, lab *labtest.Lab) (*world, error) {
	var err error
	if o.dir, err = os.MkdirTemp("", "certrot-e2e-"); err != nil {
		return nil, err
	}
	w, err := bare(lab, o.dir)
	if err != nil {
		return nil, err
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"built the program", w.build},
		{"removed what a killed run left", w.weed},
		{"minted certificates", func() error { w.planted = newPlan(time.Now()); return nil }},
		{"planted them", w.plant},
		{"waited for the controllers", w.settle},
	} {
		began := time.Now()
		if err := step.do(); err != nil {
			return w, err // what is planted already is removed
		}
		t.Logf("note: %s in %s", step.what, time.Since(began).Round(time.Millisecond))
	}
	return w, nil
}

// bare is a world in a folder in which nothing is planted, and the program not yet
// built.
func bare(lab *labtest.Lab, dir string) (*world, error) {
	w := &world{lab: lab, bin: filepath.Join(dir, "bin"), home: filepath.Join(dir, "home")}
	for _, dir := range []string{w.bin, w.home} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// build installs the program as `make install` does; $CERTROT_BIN is one that is
// built already.
func (w *world) build() error {
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	program := filepath.Join(w.bin, "kubectl-certrot")
	if built := os.Getenv("CERTROT_BIN"); built != "" {
		err = os.Symlink(built, program)
	} else {
		c := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./cmd/kubectl-certrot")
		c.Dir = root
		var out []byte
		if out, err = c.CombinedOutput(); err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
	}
	if err != nil {
		return fmt.Errorf("build kubectl-certrot: %w", err)
	}
	shim, err := os.ReadFile(filepath.Join(root, "completions", "kubectl_complete-certrot"))
	if err != nil {
		return err
	}
	for _, name := range []string{"kubectl_complete-certrot", "oc_complete-certrot"} {
		if err := os.WriteFile(filepath.Join(w.bin, name), shim, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// leave removes what was planted, and the program.
func (o *worldOnce) leave() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var err error
	if o.world != nil && o.world.planted != nil {
		err = o.world.uproot()
	}
	if o.dir != "" {
		err = errors.Join(err, os.RemoveAll(o.dir))
	}
	return err
}

// result is what a program did.
type result struct {
	code           int
	stdout, stderr string
	took           time.Duration
}

// said is everything that it printed.
func (r result) said() string { return r.stdout + r.stderr }

// run runs the program against the lab. Whatever it is given, it must end in
// time, with a documented code, and without a panic.
func (w *world) run(t *testing.T, args ...string) result {
	t.Helper()
	return w.exec(t, w.command(t.Context(), args...))
}

// command is the program, as an administrator of the lab would start it.
func (w *world) command(ctx context.Context, args ...string) *exec.Cmd {
	return w.onHost(ctx, append([]string{filepath.Join(w.bin, "kubectl-certrot")}, args...)...)
}

// onHost is any program on this host, with the plugin, the lab's kubectl and oc
// on its PATH.
func (w *world) onHost(ctx context.Context, argv ...string) *exec.Cmd {
	c := w.lab.OnHost(ctx, argv...)
	for i, v := range c.Env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			c.Env[i] = "PATH=" + w.bin + ":" + path
		}
	}
	c.Env = append(c.Env, "HOME="+w.home)
	return c
}

func (w *world) exec(t *testing.T, c *exec.Cmd) result {
	t.Helper()
	return w.execWithin(t, c, runLimit)
}

// execWithin is exec for what may take longer.
func (w *world) execWithin(t *testing.T, c *exec.Cmd, limit time.Duration) result {
	t.Helper()
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr = &out, &errOut
	began := time.Now()
	err := c.Start()
	if err != nil {
		t.Fatalf("start %s: %v", c.Path, err)
	}
	timer := time.AfterFunc(limit, func() { _ = c.Process.Kill() })
	err = c.Wait()
	r := result{code: c.ProcessState.ExitCode(), stdout: out.String(), stderr: errOut.String(), took: time.Since(began)}
	var exit *exec.ExitError
	switch {
	case !timer.Stop():
		t.Fatalf("`%s` did not end within %s", strings.Join(c.Args, " "), limit)
	case err != nil && !errors.As(err, &exit):
		t.Fatalf("`%s`: %v", strings.Join(c.Args, " "), err)
	case strings.Contains(r.stderr, "goroutine ") || strings.Contains(r.said(), "panic:"):
		t.Fatalf("`%s` panicked:\n%s", strings.Join(c.Args, " "), r.stderr)
	case r.code < 0 || r.code > 5:
		t.Fatalf("`%s` ended with %d, which is no documented code:\n%s", strings.Join(c.Args, " "), r.code, r.stderr)
	}
	return r
}

// inventory runs `inspect -o json` and reads what it prints. Findings don't
// matter for the code here: 0 is all read, 3 is not all.
func (w *world) inventory(t *testing.T, args ...string) (inventory, result) {
	t.Helper()
	r := w.run(t, append([]string{"inspect", "-o", "json", "--fail-on", "none", "--nodes", "none"}, args...)...)
	return decode(t, r), r
}

func decode(t *testing.T, r result) inventory {
	t.Helper()
	var inv inventory
	if err := json.Unmarshal([]byte(r.stdout), &inv); err != nil {
		t.Fatalf("inspect -o json ended with %d and printed no JSON: %v\n%.2000s", r.code, err, r.said())
	}
	if inv.APIVersion != "certrot/v1alpha2" || inv.Kind != "Inventory" {
		t.Fatalf("inspect -o json printed a %q of %q", inv.Kind, inv.APIVersion)
	}
	return inv
}

// kubectl runs the lab's kubectl outside of any test.
func (w *world) kubectl(stdin []byte, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := w.lab.OnHost(ctx, append([]string{"kubectl"}, args...)...)
	c.Env = append(c.Env, "HOME="+w.home)
	c.Stdin = bytes.NewReader(stdin)
	var errOut bytes.Buffer
	c.Stderr = &errOut
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w\n%.4000s", strings.Join(args, " "), err, errOut.String())
	}
	return out, err
}

// mustKubectl is kubectl in a test.
func (w *world) mustKubectl(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := w.kubectl(nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
