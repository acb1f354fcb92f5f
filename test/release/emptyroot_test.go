package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestFromTheArchiveAlone does in an empty root file system, in which there are krew, the
// archive, its manifest and a snapshot, what a user does: install, inspect, complete, look
// for the page, uninstall. A shell, which the shim needs, is put there for it alone.
func TestFromTheArchiveAlone(t *testing.T) {
	runnable(t)
	if os.Getuid() != 0 {
		t.Skip("not on this platform: changing the root needs the right to")
	}
	dir := t.TempDir()
	archive := filepath.Join(releaseOf(t), linux.archive(tag))
	_, manifest := publish(t, tag, archive)
	krewProgram := newKrew(t).program
	for to, from := range map[string]string{
		"bin/krew":                     krewProgram,
		"dist/certrot.yaml":            manifest,
		"dist/certrot.tar.gz":          archive,
		"dist/inspected.certrot":       filepath.Join(root, "testdata/demo/okd-4.15-api-int.certrot"),
		"home/user/.krew/index/.empty": os.DevNull,
		"tmp/.empty":                   os.DevNull,
	} {
		place(t, from, filepath.Join(dir, to))
	}
	// Uninstalling wants an index; an empty one will do.
	if out, err := exec.Command("git", "init", "-q", filepath.Join(dir, "home/user/.krew/index/default")).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	run := func(code int, args ...string) string {
		t.Helper()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = "/"
		cmd.Env = []string{"HOME=/home/user", "PATH=/home/user/.krew/bin:/bin", "KREW_ROOT=/home/user/.krew", "KREW_OS=linux", "KREW_ARCH=amd64", "KREW_NO_UPGRADE_CHECK=1"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
			t.Fatalf("%v: %v, want exit code %d\n%s", args, err, code, out)
		}
		return string(out)
	}

	run(0, "/bin/krew", "install", "--manifest=/dist/certrot.yaml", "--archive=/dist/certrot.tar.gz")
	if out := run(0, "/home/user/.krew/bin/kubectl-certrot", "version"); !strings.HasPrefix(out, "certrot "+tag+" ") {
		t.Errorf("version: %s", out)
	}
	if out := run(1, "/home/user/.krew/bin/kubectl-certrot", "inspect", "--from", "/dist/inspected.certrot"); !strings.Contains(out, "api-int") {
		t.Errorf("inspect says nothing of api-int:\n%s", out)
	}
	store := "/home/user/.krew/store/certrot/" + tag
	for _, name := range []string{"LICENSE", "THIRD_PARTY_LICENSES", "man/man1/kubectl-certrot.1", "man/man1/kubectl-certrot-inspect.1"} {
		if info, err := os.Stat(filepath.Join(dir, store, name)); err != nil || info.Size() == 0 {
			t.Errorf("krew installed no %s: %v", name, err)
		}
	}
	if out := run(0, "/home/user/.krew/bin/kubectl-certrot", "__complete", "ins"); !strings.HasPrefix(out, "inspect") {
		t.Errorf("completion suggests %s", out)
	}
	t.Run("the shim", func(t *testing.T) {
		place(t, staticShell(t), filepath.Join(dir, "bin/sh"))
		if out := run(0, store+"/kubectl_complete-certrot", "ins"); !strings.HasPrefix(out, "inspect") {
			t.Errorf("the shim suggests %s", out)
		}
	})
	run(0, "/bin/krew", "uninstall", "certrot")
	for _, name := range []string{"/home/user/.krew/bin/kubectl-certrot", "/home/user/.krew/store/certrot"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("krew uninstall left %s", name)
		}
	}
}

// place copies a program or a file, with the folders that lead to it.
func place(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// staticShell is a busybox that needs no libraries.
func staticShell(t *testing.T) string {
	t.Helper()
	path := tool(t, "busybox")
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Skip("busybox is not installed without libraries")
	}
	return path
}
