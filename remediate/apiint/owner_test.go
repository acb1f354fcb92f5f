package apiint

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// Where an operator brings the CA, it gets its time.
func TestOwnedFiles(t *testing.T) {
	t.Parallel()
	hour := remediatetest.NewFixture().Young.Cert.NotBefore // since when the CA has been there
	for _, c := range []struct {
		name    string
		version string
		now     time.Time
		written time.Time                                   // the file
		change  func(f *remediatetest.Fixture, fix *Repair) // nil: nothing
		refused string
	}{
		{"nobody brings it up to 4.15", "4.15.9", hour.Add(time.Minute), hour.Add(-time.Hour), nil, ""},
		{"it was made a minute ago", "4.16.3", hour.Add(time.Minute), hour.Add(-time.Hour), nil, "was made only 1m"},
		{"a quarter of an hour ago", "4.16.3", hour.Add(15 * time.Minute), hour.Add(-time.Hour), nil, ""},
		{"the file was written since then", "4.16.3", hour.Add(15 * time.Minute), hour.Add(14 * time.Minute), nil, "the file was written only 1m"},
		{"it was published since then", "4.16.3", hour.Add(15 * time.Minute), hour.Add(-time.Hour), func(_ *remediatetest.Fixture, fix *Repair) { fix.Since = hour.Add(12 * time.Minute) }, "kube-apiserver-server-ca[ca-bundle.crt] was written only 3m"},
		{"it was published long before it was made", "4.16.3", hour.Add(15 * time.Minute), hour.Add(-time.Hour), func(_ *remediatetest.Fixture, fix *Repair) { fix.Since = hour.Add(-time.Hour) }, ""},
		{"the risk is accepted", "4.16.3", hour.Add(time.Minute), hour.Add(-time.Hour), func(_ *remediatetest.Fixture, fix *Repair) { fix.Order.Accept = []string{preflight.OwnedFile} }, ""},
		{"he does not run there", "4.16.3", hour.Add(time.Minute), hour.Add(-time.Hour), func(f *remediatetest.Fixture, _ *Repair) {
			f.FirstNode().Processes, f.FirstNode().AllProcesses = nil, true
		}, ""},
		{"not all that runs there was read", "4.16.3", hour.Add(time.Minute), hour.Add(-time.Hour), func(f *remediatetest.Fixture, _ *Repair) { f.FirstNode().Processes = nil }, "was made only 1m"},
		{"whether he runs there was not read", "4.16.3", hour.Add(time.Minute), hour.Add(-time.Hour), func(f *remediatetest.Fixture, _ *Repair) {
			f.FirstNode().Processes, f.FirstNode().AllProcesses = nil, true
			f.Gaps = append(f.Gaps, inspect.Gap{What: "node/worker-0", Reason: "processes of services: /proc does not tell when the system was started"})
		}, "was made only 1m"},
	} {
		f := remediatetest.NewFixture()
		f.Cluster.Versions.Cluster = c.version
		f.Serve(f.Young.Issue(remediatetest.APIIntHost, hour, remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost)))
		n := &f.Nodes[0]
		n.Clock = inspect.Clock{Sent: c.now, Before: c.now, After: c.now, Received: c.now}
		for i := range n.Files {
			n.Files[i].Modified = c.written
		}
		n.Processes = []inspect.Process{inspecttest.Process("machine-config-daemon", remediatetest.TestNow.Add(-20*time.Hour))}
		fix := fixOf(f)
		if c.change != nil {
			c.change(f, &fix)
		}
		_, err := fix.Plan("run-1", f.Snapshot, c.now)
		var r *remediate.Refusal
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.refused != "" && (!errors.As(err, &r) || r.Name != preflight.OwnedFile || !r.Risk || !strings.Contains(r.Reason, c.refused)):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The kubelet's own file is its owner's too where it is to be taken away.
func TestOwnedFileIsNotTakenAway(t *testing.T) {
	t.Parallel()
	hour := remediatetest.NewFixture().Young.Cert.NotBefore
	for _, accepted := range []bool{false, true} {
		f := remediatetest.NewFixture()
		f.Cluster.Versions.Cluster = "4.16.3"
		f.Serve(f.Young.Issue(remediatetest.APIIntHost, hour, remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost)))
		f.Embed("worker-0", remediatetest.BootstrapFile, f.ConfigMap) // only the own file lacks it
		now := hour.Add(time.Minute)
		n := f.FirstNode()
		n.Clock = inspect.Clock{Sent: now, Before: now, After: now, Received: now}
		for i := range n.Files {
			n.Files[i].Modified = hour.Add(-time.Hour)
		}
		n.Processes = []inspect.Process{inspecttest.Process("machine-config-daemon", remediatetest.TestNow.Add(-20*time.Hour))}
		fix := fixOf(f)
		fix.Rebootstrap = true
		want := preflight.OwnedFile
		if accepted {
			fix.Order.Accept, want = []string{preflight.OwnedFile}, csr.BootstrapCredential // which is asked next
		}
		_, err := fix.Plan("run-1", f.Snapshot, now)
		var r *remediate.Refusal
		if !errors.As(err, &r) || r.Name != want {
			t.Errorf("accepted %t: %v, not %s", accepted, err, want)
		}
	}
}
