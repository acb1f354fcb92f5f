package apply_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
)

// TestARunIsToldLineByLine where nothing can be redrawn: each line names its node, and no text of
// an error is a line of its own.
func TestARunIsToldLineByLine(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	ca := pkitest.NewCA("any", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	first, second := plugintest.NewLiveNode(t, "worker-0"), plugintest.NewLiveNode(t, "worker-1")
	for _, n := range []plugintest.LiveNode{first, second} {
		n.Kubelet(t, ca.CertPEM, "https://127.0.0.1:1", ca)
	}
	path := catalog.KubeletKubeconfigs()[1]
	var out plugintest.Transcript
	w := applytest.OnNodes(nil, &out, first, second)
	p := stepsOn(looking{first.Name, func() {}})
	p.Waves[0].Nodes = append(p.Waves[0].Nodes, writingOn(fileStep{second.Name, path, func() error { return errors.New("it fails\n✓ worker-1  done\x1b[2J") }}).Waves[0].Nodes...)
	p.Basis.Nodes = append(p.Basis.Nodes, writingOn(fileStep{on: second.Name}).Basis.Nodes...)
	_, code, said := doing(t, w, &out, apply.DryRunNone, p)
	if code != cli.ExitStopped {
		t.Errorf("ended with %d", code)
	}
	_, said, _ = strings.Cut(said, "\nRun ")
	said, _, _ = strings.Cut(said, "error: ")
	want := `^\S+
○ worker-0  look
✓ worker-0  look: done, and checked
✗ worker-1  write ` + path + `: it fails ✓ worker-1 done\\x1b\[2J
$`
	if !regexp.MustCompile(want).MatchString(said) {
		t.Errorf("got\n%s\nwant\n%s", said, want)
	}
}
