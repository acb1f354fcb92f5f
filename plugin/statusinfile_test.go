package plugin

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
)

// demoWithStatus is a saved snapshot of the demo: without a status, or with that of a cluster at rest, changed.
func demoWithStatus(t *testing.T, change func(*inspect.ClusterStatus)) string {
	t.Helper()
	s, err := collect.File{Path: "../testdata/demo/okd-4.15-api-int.certrot", Scanner: pki.NewScanner()}.Read()
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		s.Status = plugintest.AtRest(s)
		change(s.Status)
	}
	file := filepath.Join(t.TempDir(), "status.certrot")
	var packed bytes.Buffer
	if err := collect.WriteSnapshot(&packed, s); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestAPlanHasItsChecks: each check before a repair is judged in the document as checks of a rotation are,
// what was accepted and what a file can't answer among them, and no note repeats it.
func TestAPlanHasItsChecks(t *testing.T) {
	t.Parallel()
	upgrade := func(s *inspect.ClusterStatus) { s.ControlPlane.Update.Progressing = "True" }
	type check struct {
		assess.Assessment
		Acceptable  bool `json:"acceptable"`
		NoAPIServer bool `json:"noAPIServer"`
	}
	for title, c := range map[string]struct {
		change      func(*inspect.ClusterStatus)
		flags       []string
		status      assess.Status // of upgrade-running
		noAPIServer bool
		says        string
		accepted    []string
		passed      int
	}{
		"without a status":         {nil, nil, assess.Unknown, true, "this file has no status", []string{}, 3},
		"with a status":            {func(*inspect.ClusterStatus) {}, nil, assess.Pass, false, "", []string{}, 8},
		"with an accepted upgrade": {upgrade, []string{"--accept-risk=upgrade-running"}, assess.Fail, false, "the cluster goes to", []string{"upgrade-running"}, 7},
	} {
		var doc struct {
			Notes, Accepted []string
			Checks          []check
		}
		var out bytes.Buffer
		args := append([]string{"kubectl-certrot", "fix-api-int", "--nodes", "all", "--dry-run=client", "-o", "json", "--from", demoWithStatus(t, c.change)}, c.flags...)
		Main(t.Context(), cli.VersionOf(""), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: io.Discard})
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatalf("%s: %v: %s", title, err, out.String())
		}
		passed, found := 0, false
		for _, got := range doc.Checks {
			if got.Status == assess.Pass {
				passed++
			}
			if !got.Acceptable {
				t.Errorf("%s: %s can be accepted", title, got.ID)
			}
			if got.ID != "upgrade-running" {
				continue
			}
			found = true
			if got.Status != c.status || got.NoAPIServer != c.noAPIServer || !strings.Contains(got.Reason, c.says) || c.says != "" && got.Remediation.Text == "" || (got.Severity == assess.Critical) != (c.status == assess.Fail) {
				t.Errorf("%s: %+v", title, got)
			}
		}
		if !found || passed != c.passed || len(doc.Checks) != 8 || !slices.Equal(doc.Accepted, c.accepted) {
			t.Errorf("%s: %d checks, of which %d pass, and accepted %q:\n%s", title, len(doc.Checks), passed, doc.Accepted, out.String())
		}
		for _, note := range doc.Notes {
			if strings.HasPrefix(note, "Checked") || strings.HasPrefix(note, "Unknown") {
				t.Errorf("%s: a note says what the checks say: %s", title, note)
			}
		}
	}
}

// TestChecksOfAFileSayWhatWasReadThen: an upgrade of then stops what it stops live, and what was
// not read does, too. A file without a status is answered as before.
func TestChecksOfAFileSayWhatWasReadThen(t *testing.T) {
	t.Parallel()
	const short = "fix-api-int --nodes all --dry-run=client"
	const fix, list, rotated = short + " --details", "rotate --list", "rotate aggregator-client-signer --dry-run=client"
	for title, c := range map[string]struct {
		line  string
		but   func(*inspect.ClusterStatus) // nil: there is none
		code  int
		says  []string
		never string
	}{
		"no API server asked":        {fix, nil, cli.ExitFindings, []string{"Unknown since this file has no status: etcd-healthy, static-pods-settled, upgrade-running"}, "as of"},
		"at rest":                    {fix, func(*inspect.ClusterStatus) {}, cli.ExitFindings, []string{"Checked as of 20", "upgrade-running"}, "has no status"},
		"short, no API server asked": {short, nil, cli.ExitFindings, []string{"? UNKNOWN this file has no status: etcd health, static Pods", "node remediation; they are on the live cluster", "✓ PASS published CA verifies api-int, no custom certificate, clocks agree"}, ""},
		"short, at rest":             {short, func(*inspect.ClusterStatus) {}, cli.ExitFindings, []string{"✓ PASS as of 20"}, "has no status"},
		"an upgrade":                 {fix, func(s *inspect.ClusterStatus) { s.ControlPlane.Update.Progressing = "True" }, cli.ExitRefused, []string{"upgrade-running: the cluster goes to", "(as of 20"}, ""},
		"it was accepted":            {fix + " --accept-risk=upgrade-running", func(s *inspect.ClusterStatus) { s.ControlPlane.Update.Progressing = "True" }, cli.ExitFindings, []string{"Accepted by name: upgrade-running"}, ""},
		"pools were unread": {fix, func(s *inspect.ClusterStatus) {
			s.ControlPlane.Gaps = []inspect.Gap{{What: catalog.Pools, Reason: "list machineconfigpools: forbidden"}}
		}, cli.ExitRefused, []string{"pools-settled: “list machineconfigpools: forbidden” (as of 20", "as a user who may list machineconfigpools"}, ""},
		"no network pods":  {fix, func(s *inspect.ClusterStatus) { s.Network = nil }, cli.ExitUsage, []string{"the network's pods are not in the file", "--restart-network=never"}, ""},
		"a rollout unread": {fix, func(s *inspect.ClusterStatus) { s.Network.Unread = "read kubeschedulers: forbidden" }, cli.ExitUsage, []string{"read kubeschedulers: forbidden"}, ""},
		"network as it is": {fix + " --restart-network=never", func(s *inspect.ClusterStatus) { s.Network = nil }, cli.ExitFindings, []string{"Checked as of 20"}, ""},
		"hostile": {fix, func(s *inspect.ClusterStatus) {
			s.ControlPlane.Update = inspect.Update{Progressing: "True", Desired: "4.16", Message: "fine\n\x1b[2Jnext: bash x"}
		}, cli.ExitRefused, []string{"“fine"}, "\x1b"},
		"a health check": {fix + " --pause-remediation", func(s *inspect.ClusterStatus) {
			s.ControlPlane.Actors = []inspect.Actor{{Resource: catalog.MachineHealthChecks, Namespace: "openshift-machine-api", Name: "all", Active: catalog.Yes, Why: "it heeds Ready Unknown"}}
		}, cli.ExitFindings, []string{"Health checks are paused first"}, "Nothing is paused"},
		"rotate, a node that the file knows to be lost": {rotated, nil, cli.ExitRefused, []string{"check nodes-ready fails: worker-2: no heartbeat for 5h (Lease), Ready is Unknown", "(as of 2024-02-10 06:30:00 UTC)"}, "yes"},
		"all, no API server asked":                      {list, nil, cli.ExitFine, []string{"Nothing can be rotated now: worker-2 has no heartbeat for 5h (nodes-ready)", "4 checks of each need the live cluster"}, "yes"},
		"rotate, no API server asked":                   {rotated + " --accept-risk=nodes-ready", nil, cli.ExitFindings, []string{"? unknown, this file has no status: operators-settled"}, "pass, as of"},
		"rotate, no API server asked, all":              {rotated + " --details --accept-risk=nodes-ready", nil, cli.ExitFindings, []string{"since this file has no status: operators-settled"}, "Checked as of"},
		"rotate, at rest":                               {rotated, func(*inspect.ClusterStatus) {}, cli.ExitFindings, []string{"✓ 18 pass, as of 20"}, "has no status"},
		"rotate, at rest, all":                          {rotated + " --details", func(*inspect.ClusterStatus) {}, cli.ExitFindings, []string{"Checked as of 20"}, "has no status"},
		"rotate, a lost node, in few":                   {rotated + " --accept-risk=nodes-ready", func(s *inspect.ClusterStatus) { s.ControlPlane.Nodes[0].Ready = "False" }, cli.ExitFindings, []string{"! accepted: nodes-ready", "nodes-ready: not Ready: "}, "blocked now"},
		"rotate, a lost node":                           {rotated + " --details --accept-risk=nodes-ready", func(s *inspect.ClusterStatus) { s.ControlPlane.Nodes[0].Ready = "False" }, cli.ExitFindings, []string{"Accepted by name, of aggregator-client-signer: nodes-ready"}, "blocked now"},
		"all, at rest":                                  {list, func(*inspect.ClusterStatus) {}, cli.ExitFine, []string{"The status of the cluster is as of 20"}, ""},
		"rotate, an upgrade":                            {rotated, func(s *inspect.ClusterStatus) { s.ControlPlane.Update.Progressing = "True" }, cli.ExitRefused, []string{"check upgrade-running fails: the cluster goes to", "(as of 20"}, ""},
		"all, an upgrade":                               {list, func(s *inspect.ClusterStatus) { s.ControlPlane.Update.Progressing = "True" }, cli.ExitFine, []string{"Nothing can be rotated now: the cluster goes to", "(upgrade-running)"}, ""},
		"all, an upgrade, in full":                      {list + " --details", func(s *inspect.ClusterStatus) { s.ControlPlane.Update.Progressing = "True" }, cli.ExitFine, []string{"upgrade-running, of", "the cluster goes to", "(as of 20"}, ""},
	} {
		file := demoWithStatus(t, c.but)
		var out bytes.Buffer
		code := Main(t.Context(), cli.VersionOf(""), append([]string{"kubectl-certrot"}, append(strings.Fields(c.line), "--from", file)...), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
		text := strings.Join(strings.Fields(out.String()), " ")
		if code != c.code {
			t.Errorf("%s ended with %d: %s", title, code, text)
		}
		for _, want := range c.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q: %s", title, want, text)
			}
		}
		if c.never != "" && strings.Contains(text, c.never) {
			t.Errorf("%s: %q: %s", title, c.never, text)
		}
	}
}

// TestSnapshotKeepsTheStatus of the cluster that it is of, and inspect reads none.
func TestSnapshotKeepsTheStatus(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(plugintest.SettledAPI().With(plugintest.InstallerPods, plugintest.AnInstaller()))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "cluster.certrot")
	begin := time.Now().UTC().Truncate(time.Second)
	_, stderr, err := typed(t, "snapshot", "--kubeconfig", plugintest.KubeconfigTo(t, `server: "`+server.URL+`"`), "--nodes", "none", "-o", file, "--allow-unknown")
	if err != nil {
		t.Fatal(err, stderr)
	}
	s, err := collect.File{Path: file, Scanner: pki.NewScanner()}.Read()
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case s.Status == nil || s.Status.ControlPlane == nil || s.Status.Read.Before(begin):
		t.Fatalf("%+v", s.Status)
	case len(s.Status.ControlPlane.Installers) != 1 || len(s.Status.ControlPlane.Nodes) != 2:
		t.Errorf("control plane: %+v", s.Status.ControlPlane)
	case s.Status.Signers == nil || s.Status.Signers.Signer.Unread == "":
		t.Errorf("signers: %+v", s.Status.Signers)
	case s.Status.Network == nil || s.Status.Network.Gap == nil: // that server has no pods there
		t.Errorf("network: %+v", s.Status.Network)
	}
}
