package preflight

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// sameSaved has a snapshot saved of what a preflight was made from, and holds what each check
// says of it against what it said.
func sameSaved(t *testing.T, title string, live Preflight, signers *inspect.SignersRead) {
	t.Helper()
	snapshot := live.Snapshot
	snapshot.Taken = live.Now
	if live.ControlPlane != nil {
		snapshot.Status = &inspect.ClusterStatus{Read: live.Now, ControlPlane: live.ControlPlane, StaticPods: live.StaticPods, Signers: signers}
	}
	saved := Of(remediatetest.Saved(t, snapshot))
	saved.Nodes, saved.Pause, saved.Script, saved.CA, saved.NeedsSigner = live.Nodes, live.Pause, live.Script, live.CA, live.NeedsSigner
	before, after := live.Check(), saved.Check()
	if len(before) != len(after) {
		t.Fatalf("%s: %d checks, and %d of the file", title, len(before), len(after))
	}
	for i, want := range before {
		got := after[i]
		if want.NoAPIServer {
			want.Reason = "this file has no status"
		}
		if got.ID != want.ID || got.Status != want.Status || got.Risk != want.Risk || got.NoAPIServer != want.NoAPIServer || remediatetest.Unmarked(got.Reason) != remediatetest.Unmarked(want.Reason) {
			t.Errorf("%s: of the file:\n%+v\nwant:\n%+v", title, got, want)
		}
		if got.Blocks() && want.Remediation.Text != "" && got.Remediation.Text == "" {
			t.Errorf("%s: %s of the file has no next step", title, got.ID)
		}
		if tells := strings.Contains(got.Reason, "(as of 20"); tells != (snapshot.Status != nil && asksAPI(saved, got.ID) && want.Reason != "") || strings.Contains(want.Reason, "as of") {
			t.Errorf("%s: %s says when it was read: %t: %s", title, got.ID, tells, got.Reason)
		}
	}
}

func asksAPI(p Preflight, name string) bool {
	for _, c := range p.checks() {
		if c.name == name {
			return c.api
		}
	}
	return false
}

// TestPreflightOfTheSignerOfAFile: what was read of it decides, at the time of then.
func TestPreflightOfTheSignerOfAFile(t *testing.T) {
	t.Parallel()
	now := remediatetest.TestNow
	valid := inspect.SignerRead{NotBefore: now.AddDate(0, 0, -1), NotAfter: now.AddDate(0, 0, 29), Asked: now}
	expired := inspect.SignerRead{NotBefore: now.AddDate(0, 0, -40), NotAfter: now.AddDate(0, 0, -10), Asked: now}
	unread := inspect.SignerRead{Unread: "read Secret/x/csr-signer: forbidden"}
	unclocked := valid
	unclocked.Asked = time.Time{}
	for name, c := range map[string]struct {
		read  *inspect.SignersRead
		holds assess.Status
		says  string
	}{
		"valid":                        {&inspect.SignersRead{Signer: valid, Source: unread}, assess.Pass, ""},
		"expired":                      {&inspect.SignersRead{Signer: expired, Source: expired}, assess.Fail, "can't sign with it"},
		"expired, its source renewed":  {&inspect.SignersRead{Signer: expired, Source: valid}, assess.Fail, "is renewed, and is copied there"},
		"forbidden":                    {&inspect.SignersRead{Signer: unread, Source: unread}, assess.Unknown, "forbidden"},
		"no clock":                     {&inspect.SignersRead{Signer: unclocked, Source: unread}, assess.Unknown, "does not say what time it is"},
		"not read, and a status there": {nil, assess.Unknown, "csr-signer[tls.crt] was not read"},
	} {
		p := quiet("worker-0")
		p.NeedsSigner = true
		if c.read != nil {
			signer := csr.SignerOf(*c.read, p.Snapshot.Hints)
			p.Signer = &signer
		}
		checks := p.Check()
		if v := checks[len(checks)-1]; v.ID != csr.CsrSigner || v.Status != c.holds || v.NoAPIServer || !strings.Contains(v.Reason, c.says) {
			t.Errorf("%s: %+v", name, v)
		}
		sameSaved(t, name, *p, c.read)
	}
}

// TestAFileOfBeforeTellsNoStatus: without one, no API server was asked, as ever.
func TestAFileOfBeforeTellsNoStatus(t *testing.T) {
	t.Parallel()
	p := quiet("worker-0")
	p.Snapshot.Taken = p.Now
	saved := Of(remediatetest.Saved(t, p.Snapshot))
	saved.Nodes = p.Nodes
	blind := 0
	for _, v := range saved.Check() {
		if v.Blocks() || strings.Contains(v.Reason, "as of") {
			t.Errorf("%+v", v)
		}
		if v.NoAPIServer {
			blind++
		}
	}
	if blind != 5 {
		t.Errorf("%d checks need an API server", blind)
	}
}

// TestPartsOfAStatusThatWereNotRead stop what depends on them.
func TestPartsOfAStatusThatWereNotRead(t *testing.T) {
	t.Parallel()
	f := remediatetest.KubeadmFixture("master-0", "worker-0")
	f.Taken = remediatetest.TestNow
	f.Status = &inspect.ClusterStatus{Read: remediatetest.TestNow, ControlPlane: remediatetest.QuietMachinery()}
	p := Of(remediatetest.Saved(t, f.Snapshot))
	p.Nodes = []string{"master-0", "worker-0"}
	for _, v := range p.Check() {
		if asked := v.ID == "etcd-healthy" || v.ID == StaticPodsSettled; asked && (!v.Blocks() || v.Status != assess.Unknown || !strings.Contains(v.Reason, "were not asked for (as of 20")) {
			t.Errorf("%+v", v)
		}
	}
}
