package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

const (
	daemonPod  = "namespaces/openshift-machine-config-operator/pods/machine-config-daemon-x7k2p/"
	daemonLogs = daemonPod + "machine-config-daemon/machine-config-daemon/logs/"
	// loggedToken looks like a service account's, and is of no one.
	loggedToken = "eyJhbGciOiJSUzI1NiIsImtpZCI6Im5vYm9keSJ9.eyJpc3MiOiJub2JvZHkvYXQvYWxsIn0.c2lnbmVkLWJ5LW5vYm9keS1hdC1hbGwtMDEyMzQ1Njc4OQ"
	loggedKey   = "LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0tCm5vYm9keSdzIGtleSwgYnV0IGxvbmcgZW5vdWdo"
)

// gatheredLog is a log as oc adm must-gather keeps it: a time, and the line.
func gatheredLog(lines ...string) string {
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, "2024-01-31T09:00:%02d.5Z %s\n", i, line)
	}
	return b.String()
}

// loggedCases are logs, and what is to be found in them.
func loggedCases() map[string]struct {
	log          string
	tokens, keys int
} {
	const longer = 70_000 // than what is read at once
	pad := func(n int) string { return strings.Repeat("x", n) }
	escaped := `user: {\"token\":\"` + loggedToken + `\"}`
	type c = struct {
		log          string
		tokens, keys int
	}
	m := map[string]c{
		"nothing":                  {gatheredLog("I0131 a line", "token: xxx", "token: eyJ.eyJ"), 0, 0},
		"a token":                  {gatheredLog("users:", "    token: "+loggedToken), 1, 0},
		"two lines":                {gatheredLog("    token: "+loggedToken, "x", "    token: "+loggedToken), 2, 0},
		"twice in a line":          {gatheredLog("    token: " + loggedToken + pad(longer) + " token: " + loggedToken), 1, 0},
		"quotes escaped":           {gatheredLog(escaped, `{"token": "`+loggedToken+`"}`), 2, 0},
		"a key":                    {gatheredLog("    client-key-data: " + loggedKey), 0, 1},
		"both in a line":           {gatheredLog(pad(longer) + escaped + `\n client-key-data: ` + loggedKey), 1, 1},
		"no times, no end of line": {"token: " + loggedToken, 1, 0},
		"in pieces of a runtime": {"2024-01-31T09:00:00.5Z stderr P     token: " + loggedToken[:30] + "\n2024-01-31T09:00:00.5Z stderr F " + loggedToken[30:] + "\n" +
			"2024-01-31T09:00:01.5Z stderr F token: " + loggedToken + "\n", 2, 0},
		"halves that are no line": {"2024-01-31T09:00:00.5Z stderr F     token: " + loggedToken[:30] + "\n2024-01-31T09:00:00.5Z stderr F " + loggedToken[30:] + "\n", 0, 0},
	}
	for _, n := range []int{64<<10 - 100, 64<<10 - 50, 64<<10 - 20} {
		m[fmt.Sprintf("across the buffer at %d", n)] = c{gatheredLog(pad(n) + "token: " + loggedToken + pad(longer)), 1, 0}
	}
	return m
}

func TestLogsOfAMustGatherAreSearched(t *testing.T) {
	t.Parallel()
	for name, c := range loggedCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for file, log := range map[string]string{"current.log": c.log, "rotated/0.log.20240131-090000.gz": string(gzipped(t, []byte(c.log)))} {
				s := readTarOf(t, append(caseConfigMap, "mg/image/"+daemonLogs+file, log)...)
				if len(s.Gaps) > 0 || !strings.Contains(notes(s.Reads), "logs of machine-config-daemons 1: searched") {
					t.Errorf("reads %s, gaps %s", notes(s.Reads), reasons(s.Gaps))
				}
				if c.tokens+c.keys == 0 {
					if len(s.Exposed) > 0 {
						t.Errorf("%+v", s.Exposed)
					}
					continue
				}
				if len(s.Exposed) != 1 {
					t.Fatalf("%+v, want %d tokens and %d keys", s.Exposed, c.tokens, c.keys)
				}
				e := s.Exposed[0]
				if e.Tokens != c.tokens || e.Keys != c.keys || e.At.Path != "mg/image/"+daemonLogs+file || e.Mode != 0 {
					t.Errorf("%+v, want %d tokens and %d keys", e, c.tokens, c.keys)
				}
				if dated := strings.HasPrefix(c.log, "2024"); dated == e.First.IsZero() || dated && e.First.Format(time.DateOnly) != "2024-01-31" || e.Last.Before(e.First) {
					t.Errorf("first %s, last %s", e.First, e.Last)
				}
			}
		})
	}
}

func TestOtherLogsAreNotSearched(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"mg/image/" + daemonLogs + "current.log":                                                                               true,
		"mg/image/" + daemonLogs + "previous.insecure.log":                                                                     true,
		daemonLogs + "previous.log":                                                                                            true,
		daemonPod + "kube-rbac-proxy/kube-rbac-proxy/logs/current.log":                                                         true,
		daemonPod + "machine-config-daemon-x7k2p.yaml":                                                                         false,
		daemonPod + "machine-config-daemon/machine-config-daemon/healthz":                                                      false,
		"mg/image/namespaces/openshift-machine-config-operator/pods/machine-config-server-a/a/a/logs/current.log":              false,
		"mg/image/namespaces/other/pods/machine-config-daemon-a/a/a/logs/current.log":                                          false,
		"mg/image/host_service_logs/masters/machine-config-daemon-host_service.log":                                            false,
		"mg/xnamespaces/openshift-machine-config-operator/pods/machine-config-daemon-a/a/a/logs/current.log":                   false,
		"mg/image/namespaces/openshift-machine-config-operator/core/configmaps.yaml":                                           false,
		"mg/image/namespaces/openshift-machine-config-operator/pods/machine-config-daemon-a/a/a/logs/current.log/a/b/c.yaml":   false,
		"mg/image/namespaces/openshift-machine-config-operator/pods/machine-config-daemon-a/a/a/logs/rotated/0.log.2024-01.gz": true,
	} {
		if isDaemonLog(name) != want {
			t.Errorf("%s: %v, want %v", name, !want, want)
		}
	}
	// Of another cluster, logs are left out like the rest.
	s := readTarOf(t,
		"new/cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml", clusterVersionYAML("one", "4.16.1"), "new/timestamp", "2024-02-02 10:00:00 +0000 UTC\n",
		"new/"+daemonLogs+"current.log", gatheredLog("token: "+loggedToken),
		"old/cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml", clusterVersionYAML("two", "4.16.1"), "old/timestamp", "2024-02-01 10:00:00 +0000 UTC\n",
		"old/"+daemonLogs+"current.log", gatheredLog("token: "+loggedToken))
	if len(s.Exposed) != 1 || s.Exposed[0].At.Path != "new/"+daemonLogs+"current.log" {
		t.Errorf("%+v", s.Exposed)
	}
	// Logs alone are no must-gather, and a damaged one does not end the reading.
	if _, err := (File{Path: "-", Stdin: bytes.NewReader(tarOf(t, daemonLogs+"current.log", "x")), Scanner: pki.NewScanner()}).Read(); err == nil {
		t.Error("a log was taken for a must-gather")
	}
	broken := string(gzipped(t, []byte(gatheredLog("token: "+loggedToken))))
	s = readTarOf(t, append([]string{"mg/image/" + daemonLogs + "rotated/a.log.gz", "no gzip", "mg/image/" + daemonLogs + "rotated/b.log.gz", broken[:len(broken)-9]}, caseConfigMap...)...)
	if len(s.Bundles) != 1 || len(s.Gaps) != 2 || len(s.Exposed) != 1 {
		t.Errorf("bundles %s, gaps %s, exposed %+v", places(s.Bundles), reasons(s.Gaps), s.Exposed)
	}
}

// TestNothingOfALineIsKept plants a token and a key in logs of a node and of a
// must-gather, and looks for pieces of them in all that is made of the facts.
func TestNothingOfALineIsKept(t *testing.T) {
	t.Parallel()
	log := gatheredLog("Writing new Data to /etc/kubernetes/kubeconfig: clusters:", "    token: "+loggedToken, "    client-key-data: "+loggedKey, `Data: {\"token\":\"`+loggedToken+`\"}`)
	root := nodeRoot(t, pkitest.NewCA("ca", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)))
	file := root + "/var/log/pods/openshift-machine-config-operator_machine-config-daemon-x7k2p_1/machine-config-daemon/0.log"
	if err := os.MkdirAll(path.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(log), 0o640); err != nil {
		t.Fatal(err)
	}
	nodes := testNodes(func(context.Context, string) (OnNode, error) { return folder{root: root}, nil }, "worker-0").Collect(t.Context())
	gathered := readTarOf(t, append(caseConfigMap, "mg/image/"+daemonLogs+"current.log", log)...)
	s := inspect.Merge(nodes, gathered)
	s.Sort()
	if len(s.Exposed) != 2 || s.Exposed[0].Tokens != 2 || s.Exposed[0].Keys != 1 || s.Exposed[1].Tokens != 2 {
		t.Fatalf("%+v, gaps %s", s.Exposed, reasons(s.Gaps))
	}

	var saved bytes.Buffer
	if err := WriteSnapshot(&saved, s); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(name, saved.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	back, err := File{Path: name, Scanner: pki.NewScanner()}.Read()
	if err != nil || len(back.Exposed) != 2 {
		t.Fatalf("%+v, %v", back.Exposed, err)
	}
	for i := range s.Exposed {
		if back.Exposed[i] != s.Exposed[i] {
			t.Errorf("read %+v, wrote %+v", back.Exposed[i], s.Exposed[i])
		}
	}
	inv := report.NewInventory(context.Background(), inspect.NewFacts(back, time.Now(), 0), report.Filter{})
	if len(inv.Exposed) != 2 || inv.Exposed[1].Mode != "0640" && inv.Exposed[0].Mode != "0640" {
		t.Errorf("%+v", inv.Exposed)
	}
	told, err := json.Marshal(inv)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := json.Marshal(packSnapshot(s))
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"the inventory": string(told), "the snapshot file": string(packed), "the facts": fmt.Sprintf("%+v", s)} {
		for _, secret := range []string{loggedToken[20:], loggedKey[20:]} {
			for i := 0; i+8 <= len(secret); i++ {
				if strings.Contains(text, secret[i:i+8]) {
					t.Fatalf("%s holds %q", what, secret[i:i+8])
				}
			}
		}
	}
	if !strings.Contains(string(told), `"id":"token-in-logs"`) {
		t.Error("nothing is found")
	}
}
