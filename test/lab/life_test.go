//go:build linux

package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/binaries"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/cgroup"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/checkout"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/rootfs"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

func TestUpIsIdempotent(t *testing.T) {
	lab := labtest.Require(t)
	before := stateOf(t, lab)
	start := time.Now()
	lab.Up(t)
	t.Logf("note: the second up took %s", time.Since(start).Round(time.Millisecond))
	if after := stateOf(t, lab); after != before {
		t.Errorf("a second up changed the lab: %+v, was %+v", after, before)
	}
}

// The whole life of a second lab, beside the shared one: killed the hard way,
// brought up again, and brought down.
func TestNothingIsLeftOfALab(t *testing.T) {
	shared := labtest.Require(t)
	t.Parallel()
	lab := temporary(t)
	prefix := cgroup.Prefix(lab.Dir)
	if nodes := len(lab.Nodes()); (nodes > 0) != (len(controlGroups(t, prefix)) > 0) {
		t.Errorf("with %d nodes, control groups %v", nodes, controlGroups(t, prefix))
	}
	for _, l := range []*labtest.Lab{shared, lab} {
		if got := l.KubectlOutput(t, "get", "--raw", "/readyz"); got != "ok" {
			t.Errorf("with two labs at once, /readyz of %s says %q", l.Dir, got)
		}
	}

	first := stateOf(t, lab)
	spaces := namespacesOf(t, first.Supervisor.PID)
	if err := syscall.Kill(first.Supervisor.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no process of the killed lab is left", func() bool { return len(processes(t, lab.Dir, spaces)) == 0 })
	if mounts := mountsUnder(t, lab.Dir); len(mounts) > 0 {
		t.Errorf("mounts of the killed lab are left: %v", mounts)
	}
	if out, up := lab.Status(); up || !strings.Contains(out, "damaged") {
		t.Errorf("status after the supervisor was killed: %s", out)
	}

	lab.Up(t)
	for _, n := range lab.Nodes() {
		waitReady(t, lab, n)
	}
	second := stateOf(t, lab)
	if second.Supervisor == first.Supervisor {
		t.Error("up took a dead lab for one that is up")
	}
	if second.Port != first.Port {
		t.Errorf("the new lab's port is %d, want the old one's, %d, which is free", second.Port, first.Port)
	}
	spaces = namespacesOf(t, second.Supervisor.PID)

	lab.Down(t)
	if left := processes(t, lab.Dir, spaces); len(left) > 0 {
		t.Errorf("processes are left after down: %v", left)
	}
	if mounts := mountsUnder(t, lab.Dir); len(mounts) > 0 {
		t.Errorf("mounts are left after down: %v", mounts)
	}
	if _, err := os.Stat(lab.Dir); err == nil {
		t.Errorf("%s is left after down", lab.Dir)
	}
	if groups := controlGroups(t, prefix); len(groups) > 0 {
		t.Errorf("control groups are left after down: %v", groups)
	}
	if spaces, err := exec.Command("ip", "netns", "list").Output(); err != nil || strings.Contains(string(spaces), "worker-0") {
		t.Errorf("named network namespaces are left after down: %s, %v", spaces, err)
	}
	if _, up := shared.Status(); !up {
		t.Error("bringing one lab down took the other with it")
	}
}

func TestALabWhoseFolderIsDeletedEndsItself(t *testing.T) {
	t.Parallel()
	lab := temporary(t)
	spaces := namespacesOf(t, stateOf(t, lab).Supervisor.PID)
	if err := os.RemoveAll(lab.Dir); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no process of the deleted lab is left", func() bool { return len(processes(t, lab.Dir, spaces)) == 0 })
	if groups := controlGroups(t, cgroup.Prefix(lab.Dir)); len(groups) > 0 {
		t.Errorf("control groups of the deleted lab are left: %v", groups)
	}
}

func TestInterruptedUpLeavesNothing(t *testing.T) {
	labtest.Require(t)
	root := checkoutRoot(t)
	program := filepath.Join(t.TempDir(), "lab")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the lab's program: %v\n%s", err, out)
	}
	nodes := ""
	if machinesBuilt() {
		nodes = "worker-0" // it boots beside the API server, and is interrupted with it
	}
	dir := filepath.Join(t.TempDir(), "lab")
	c := exec.Command(program, "up")
	c.Dir = root
	c.Env = append(os.Environ(), "LAB_DIR="+dir, "LAB_NODES="+nodes)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the API server starts", func() bool {
		_, err := os.Stat(labdir.Dir(dir).Log("kube-apiserver"))
		return err == nil
	})
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil {
		t.Error("an interrupted up exits with 0")
	}
	if left := processes(t, dir, nil); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if groups := controlGroups(t, cgroup.Prefix(dir)); len(groups) > 0 {
		t.Errorf("control groups are left: %v", groups)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s is left", dir)
	}
}

// A start that fails prints the log of what failed, and stops what had started.
func TestFailedUpShowsTheLog(t *testing.T) {
	labtest.Require(t)
	root := checkoutRoot(t)
	set, err := binaries.Ensure(t.Context(), checkout.Components(root), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	built, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range binaries.Names() {
		text := "#!/bin/sh\nexec " + set.Bin(name) + " \"$@\"\n"
		if name == "etcd" {
			text = "#!/bin/sh\necho etcd: the disk is on fire\nexit 3\n"
		}
		fake := filepath.Join(cache, strings.TrimPrefix(set.Bin(name), built))
		if err := os.MkdirAll(filepath.Dir(fake), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(fake, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "lab")
	c := exec.Command("go", "run", "./test/lab", "up")
	c.Dir = root
	c.Env = append(os.Environ(), "LAB_DIR="+dir, "LAB_NODES=", "XDG_CACHE_HOME="+cache, "GOCACHE="+strings.TrimSpace(string(goCache)))
	out, err := c.CombinedOutput()
	if err == nil {
		t.Error("a failed up exits with 0")
	}
	for _, want := range []string{"etcd: ended (exit code 3)", "etcd: the disk is on fire", labdir.Dir(dir).Log("etcd")} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the error does not say %q:\n%s", want, out)
		}
	}
	if left := processes(t, dir, nil); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func TestDownRefusesAFolderThatIsNoLab(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := down(t.Context(), labdir.Dir(dir)); err == nil {
		t.Error("down accepts a folder with files that are not a lab's")
	}
	if _, err := os.Stat(precious); err != nil {
		t.Errorf("the file in it: %v", err)
	}
}

// oneMore keeps the nodes of all labs that tests bring up at the same time within
// what Linux allows a user (docs/lab.md): three of the shared lab, as many of
// another package's, and one.
var oneMore sync.Mutex

// temporary is a lab of this test's own, with a node where that can be had: a
// machine has more to leave behind than processes.
func temporary(t *testing.T) *labtest.Lab {
	t.Helper()
	oneMore.Lock()
	t.Cleanup(oneMore.Unlock)
	if machinesBuilt() {
		return labtest.TemporaryNodes(t, "worker-0")
	}
	return labtest.Temporary(t)
}

func machinesBuilt() bool {
	_, built, err := rootfs.Lookup()
	return err == nil && built && rootfs.Prerequisites() == nil
}

func checkoutRoot(t *testing.T) string {
	t.Helper()
	root, err := checkout.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func stateOf(t *testing.T, lab *labtest.Lab) labdir.State {
	t.Helper()
	s, found, err := labdir.Dir(lab.Dir).State()
	if err != nil || !found {
		t.Fatalf("read the state of the lab in %s: found %v, %v", lab.Dir, found, err)
	}
	return s
}

// namespacesOf are a process's namespaces, by what /proc calls them.
func namespacesOf(t *testing.T, pid int) map[string]bool {
	t.Helper()
	spaces := map[string]bool{}
	for _, kind := range []string{"pid", "mnt", "net", "ipc", "uts"} {
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
		if err != nil {
			t.Fatal(err)
		}
		spaces[name] = true
	}
	return spaces
}

// processes are those that are in one of the namespaces, or name the folder.
func processes(t *testing.T, dir string, spaces map[string]bool) []string {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, p := range entries {
		stat, _ := os.ReadFile(filepath.Join(p, "stat"))
		if strings.Contains(string(stat), ") Z ") {
			continue // dead, and waits for its parent to notice
		}
		cmdline, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		if len(cmdline) == 0 {
			continue // its memory is gone: it is ending
		}
		text := strings.ReplaceAll(string(cmdline), "\x00", " ")
		found := strings.Contains(text, dir+"/")
		for _, kind := range []string{"pid", "mnt", "net", "ipc", "uts"} {
			name, err := os.Readlink(filepath.Join(p, "ns", kind))
			found = found || err == nil && spaces[name]
		}
		if found {
			left = append(left, filepath.Base(p)+" "+text)
		}
	}
	return left
}

func mountsUnder(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, dir) {
			found = append(found, line)
		}
	}
	return found
}

// controlGroups are those of a lab's nodes, which the kernel does not remove by
// itself.
func controlGroups(t *testing.T, prefix string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), prefix) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
