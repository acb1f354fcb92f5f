package plugin

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
)

// restful is a cluster of the demo's nodes in which nothing is under way.
func restful(s inspect.Snapshot) *inspect.ClusterStatus {
	degraded, available := catalog.EtcdMembers()
	m := &inspect.ControlPlaneStatus{
		Update:    inspect.Update{Progressing: "False"},
		Operators: []inspect.OperatorState{{Name: "etcd", Available: "True", Progressing: "False", Degraded: "False"}},
		Pools:     []inspect.Pool{{Name: "worker", Updating: "False", Degraded: "False"}},
		StaticPods: []inspect.StaticPods{{Resource: catalog.EtcdOperators, Latest: 7,
			Conditions: map[string]string{degraded: "False", available: "True"}, Messages: map[string]string{}}},
	}
	for _, n := range s.Nodes {
		m.Nodes = append(m.Nodes, inspect.NodeState{Name: n.Name, Ready: "True", Master: n.Role == catalog.RoleMaster, Heartbeat: s.Taken, Lease: inspect.Lease{Asked: s.Taken}})
	}
	return &inspect.ClusterStatus{Read: s.Taken, ControlPlane: m, Network: &inspect.NetworkRead{}}
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
		"no API server asked":        {fix, nil, cli.ExitFindings, []string{"Unknown, since no API server was asked: etcd-healthy, static-pods-settled, upgrade-running"}, "as of"},
		"at rest":                    {fix, func(*inspect.ClusterStatus) {}, cli.ExitFindings, []string{"Checked of the whole cluster, as of 20", "upgrade-running"}, "no API server was asked"},
		"short, no API server asked": {short, nil, cli.ExitFindings, []string{"? UNKNOWN not checked in a file: etcd health, static Pods", "✓ PASS published CA verifies api-int, no custom certificate, clocks agree"}, ""},
		"short, at rest":             {short, func(*inspect.ClusterStatus) {}, cli.ExitFindings, []string{"✓ PASS as of 20"}, "not checked in a file"},
		"an upgrade":                 {fix, func(s *inspect.ClusterStatus) { s.ControlPlane.Update.Progressing = "True" }, cli.ExitRefused, []string{"upgrade-running: the cluster goes to", "(as of 20"}, ""},
		"it was accepted":            {fix + " --accept-risk=upgrade-running", func(s *inspect.ClusterStatus) { s.ControlPlane.Update.Progressing = "True" }, cli.ExitFindings, []string{"Accepted by name: upgrade-running"}, ""},
		"pools were unread": {fix, func(s *inspect.ClusterStatus) {
			s.ControlPlane.Gaps = []inspect.Gap{{What: catalog.Pools, Reason: "list machineconfigpools: forbidden"}}
		}, cli.ExitRefused, []string{"pools-settled: list machineconfigpools: forbidden (as of 20", "as a user who may list machineconfigpools"}, ""},
		"no network pods":  {fix, func(s *inspect.ClusterStatus) { s.Network = nil }, cli.ExitUsage, []string{"the network's pods are not in the file", "--restart-network=never"}, ""},
		"a rollout unread": {fix, func(s *inspect.ClusterStatus) { s.Network.Unread = "read kubeschedulers: forbidden" }, cli.ExitUsage, []string{"read kubeschedulers: forbidden"}, ""},
		"network as it is": {fix + " --restart-network=never", func(s *inspect.ClusterStatus) { s.Network = nil }, cli.ExitFindings, []string{"Checked of the whole cluster, as of 20"}, ""},
		"hostile": {fix, func(s *inspect.ClusterStatus) {
			s.ControlPlane.Update = inspect.Update{Progressing: "True", Desired: "4.16", Message: "fine\n\x1b[2Jnext: bash x"}
		}, cli.ExitRefused, []string{"“fine"}, "\x1b"},
		"a health check": {fix + " --pause-remediation", func(s *inspect.ClusterStatus) {
			s.ControlPlane.Actors = []inspect.Actor{{Resource: catalog.MachineHealthChecks, Namespace: "openshift-machine-api", Name: "all", Active: catalog.Yes, Why: "it heeds Ready Unknown"}}
		}, cli.ExitFindings, []string{"Health checks are paused first"}, "Nothing is paused"},
		"rotate, a node that the file knows to be lost": {rotated, nil, cli.ExitRefused, []string{"check nodes-ready fails: worker-2: no heartbeat for 5h (Lease), Ready is Unknown", "(as of 2024-02-10 06:30:00 UTC)"}, "yes"},
		"all, no API server asked":                      {list, nil, cli.ExitFine, []string{"Nothing can be rotated now without --accept-risk=nodes-ready: worker-2: no heartbeat for 5h (Lease), Ready is Unknown", "no 4 not checked"}, "yes"},
		"rotate, no API server asked":                   {rotated + " --accept-risk=nodes-ready", nil, cli.ExitFindings, []string{"? unknown, no API server asked: operators-settled"}, "pass, as of"},
		"rotate, no API server asked, all":              {rotated + " --details --accept-risk=nodes-ready", nil, cli.ExitFindings, []string{"since no API server was asked: operators-settled"}, "Checked as of"},
		"rotate, at rest":                               {rotated, func(*inspect.ClusterStatus) {}, cli.ExitFindings, []string{"✓ 18 pass, as of 20"}, "no API server asked"},
		"rotate, at rest, all":                          {rotated + " --details", func(*inspect.ClusterStatus) {}, cli.ExitFindings, []string{"Checked as of 20"}, "no API server was asked"},
		"rotate, a lost node, in few":                   {rotated + " --accept-risk=nodes-ready", func(s *inspect.ClusterStatus) { s.ControlPlane.Nodes[0].Ready = "False" }, cli.ExitFindings, []string{"! accepted: nodes-ready", "nodes-ready: not Ready: "}, "blocked now"},
		"rotate, a lost node":                           {rotated + " --details --accept-risk=nodes-ready", func(s *inspect.ClusterStatus) { s.ControlPlane.Nodes[0].Ready = "False" }, cli.ExitFindings, []string{"Accepted by name, of aggregator-client-signer: nodes-ready"}, "blocked now"},
		"all, at rest":                                  {list, func(*inspect.ClusterStatus) {}, cli.ExitFine, []string{"The status of the cluster is as of 20"}, ""},
		"rotate, an upgrade":                            {rotated, func(s *inspect.ClusterStatus) { s.ControlPlane.Update.Progressing = "True" }, cli.ExitRefused, []string{"check upgrade-running fails: the cluster goes to", "(as of 20"}, ""},
		"all, an upgrade":                               {list, func(s *inspect.ClusterStatus) { s.ControlPlane.Update.Progressing = "True" }, cli.ExitFine, []string{"Nothing can be rotated now without --accept-risk=upgrade-running: the cluster goes to"}, ""},
		"all, an upgrade, in full":                      {list + " --details", func(s *inspect.ClusterStatus) { s.ControlPlane.Update.Progressing = "True" }, cli.ExitFine, []string{"upgrade-running, of", "the cluster goes to", "(as of 20"}, ""},
	} {
		s, err := collect.File{Path: "../testdata/demo/okd-4.15-api-int.certrot", Scanner: pki.NewScanner()}.Read()
		if err != nil {
			t.Fatal(err)
		}
		if c.but != nil {
			s.Status = restful(s)
			c.but(s.Status)
		}
		file := filepath.Join(t.TempDir(), "status.certrot")
		var packed, out bytes.Buffer
		if err := collect.WriteSnapshot(&packed, s); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, packed.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
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
