package remediatetest

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// TestAWorkerThatChangesEachTime is left out where no plan is made again: its root rewrites a file as soon as it was
// read, be it the first that is written there or the next. Else, and on a node that is no worker, it stops all.
func TestAWorkerThatChangesEachTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, role string
		leaves     bool
		goesOn     bool
	}{
		"a worker":             {BootstrapFile, catalog.RoleWorker, true, true},
		"in the middle":        {KubeletFile, catalog.RoleWorker, true, true},
		"a plan is made again": {BootstrapFile, catalog.RoleWorker, false, false},
		"a control plane node": {BootstrapFile, catalog.RoleMaster, true, false},
		"the role is unknown":  {BootstrapFile, "", true, false},
	} {
		w := NewWorld(t, "worker-0", "worker-1")
		p := repair(w, t, "run-1")
		for i := range p.Basis.Nodes {
			p.Basis.Nodes[i].Role = c.role
		}
		path := w.Machines["worker-0"].root + c.file
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(bytes.Clone(text), "# once more\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		js := remediate.Journals{Folder: t.TempDir()}
		j, err := js.Begin(remediate.Header{Run: "run-1"}, w.Now)
		if err != nil {
			t.Fatal(err)
		}
		err = remediate.Runner{Env: w.env(t, "run-1", nil), Journal: j, LeaveChanged: c.leaves}.Run(t.Context(), p)
		_ = j.Close()
		record, unread := js.Read("run-1")
		if unread != nil {
			t.Fatal(unread)
		}
		if !c.goesOn {
			if !errors.Is(err, remediate.ErrChanged) || len(record.LeftOut()) > 0 {
				t.Errorf("%s: %v, %s", name, err, record.Outcome())
			}
			w.Machines["worker-1"].original(t)
			continue
		}
		if got := record.Outcome(); err != nil || got != "finished; left out: worker-0" {
			t.Errorf("%s: %v, %q", name, err, got)
		}
		w.Machines["worker-1"].repaired(t)
		for _, r := range record.Records {
			if r.Event == remediate.LeftOut && (!strings.Contains(r.Error, c.file) || !strings.Contains(r.Error, remediate.ErrChanged.Error())) {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}
