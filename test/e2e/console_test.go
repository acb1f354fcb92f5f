//go:build linux

package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// byScript has an emitted script repair a node without a heartbeat, alone, and take it back. That
// it needs no oc and no certrot is seen where there are none, in remediate.
func (f *fixing) byScript(t *testing.T, node string) {
	t.Helper()
	before := f.stands(t, node)
	folder := filepath.Join(t.TempDir(), "scripts")
	name := "fix-api-int-" + node + ".sh"
	ends(t, f.inLab(t, "fix-api-int", "--nodes", node, "--via", "ssh", "--emit-script", folder), 0, filepath.Join(folder, name))
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	f.secret.leak(t, "the script", string(text))
	f.give(t, node, name, text)
	console := func(code int, says string, args ...string) {
		t.Helper()
		words := append([]string{"sudo", "sh", savedOn + "/" + name}, args...)
		r := f.exec(t, f.lab.SSHCommand(context.WithoutCancel(t.Context()), node, words...))
		t.Log("note:", r.said())
		ends(t, r, code, says)
	}

	asCore := f.lab.SSHCommand(context.WithoutCancel(t.Context()), node, "sh", "-s", "--", "--yes")
	asCore.Stdin = bytes.NewReader(text)
	ends(t, f.exec(t, asCore), 5, "it has to run as root", "sudo sh "+name)
	console(1, "sha256 "+f.newCA(t), "--dry-run")
	console(5, "stdin is not a terminal")
	f.untouched(t, node, before)

	console(0, "Done.", "--yes")
	f.lab.WaitReady(t, node)
	after := f.mended(t, node, before)
	if !strings.HasPrefix(after.runs, before.runs) || len(strings.Fields(after.runs)) != len(strings.Fields(before.runs))+1 {
		t.Errorf("it keeps the runs %q, and kept %q", after.runs, before.runs)
	}
	mustDo(t, f.lab, "ssh", node, "sudo test ! -e "+runsOnNode+"/.held")
	letsIn(t, f.lab, node)

	console(0, "Nothing is to be done", "--yes")
	ends(t, f.inLab(t, "fix-api-int", "--nodes", node, "--via", "ssh", "--dry-run=client"), 0, "already up to date")
	console(5, "breaks-trust", "undo", "--yes")
	f.untouched(t, node, after)

	console(0, "the files are what they were", "undo", "--yes", "--accept-risk=breaks-trust")
	undone := f.stands(t, node)
	sameFiles(t, before, undone)
	if undone.pid == after.pid {
		t.Error("the kubelet was not restarted")
	}
	f.lab.WaitNotReady(t, node)
}
