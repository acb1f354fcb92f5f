//go:build unix

package plugin_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// story is a cluster as it was read, and what is asked of it.
type story struct {
	name, about string
	read        func(t *testing.T) inspect.Snapshot
	commands    []string
}

const (
	looks     = "inspect;verify"
	repairs   = "fix-api-int --dry-run=client;fix-api-int status"
	rotations = "rotate loadbalancer-serving-signer --dry-run=client;rotate status loadbalancer-serving-signer;rotate --list"
)

func stories() []story {
	commands := func(lists ...string) []string { return strings.Split(strings.Join(lists, ";"), ";") }
	repaired := func(change func(*remediatetest.Fixture)) func(*testing.T) inspect.Snapshot {
		return func(*testing.T) inspect.Snapshot {
			f := remediatetest.NewCluster("master-0 master-1 master-2 worker-0 worker-1! worker-2")
			f.Reads = []inspect.Read{{What: "nodes", Objects: 6}}
			change(f)
			f.Sort()
			return f.Snapshot
		}
	}
	of := func(f func() *inspecttest.Fixture) func(*testing.T) inspect.Snapshot {
		return func(*testing.T) inspect.Snapshot {
			s := f().Snapshot
			s.Sort()
			return s
		}
	}
	return []story{
		{"demo", "OKD 4.15 after its api-int CA rotated; one node rebooted", snapshotIn("../testdata/demo/okd-4.15-api-int.certrot"),
			commands(looks, "verify restart-safe", repairs, "fix-api-int --nodes worker-2 --dry-run=client", "pretrust --dry-run=client", rotations, "rotate aggregator-client-signer --dry-run=client", "rotate node-system-admin-client --dry-run=client", "rotate prune loadbalancer-serving-signer --dry-run=client --accept-risk=signer-trusted,all-read")},
		{"demo-new", "the demo at a version that was not reviewed", ofNextVersion, commands(looks, repairs, rotations)},
		{"demo-4.8", "the demo at a version older than those reviewed", ofVersion("4.8.13"), commands(looks, repairs, rotations)},
		{"demo-at-rest", "the demo, in a snapshot with the status of the cluster", withStatus(func(*inspect.ControlPlaneStatus) {}), commands(repairs, "rotate aggregator-client-signer --dry-run=client", "rotate --list")},
		{"demo-upgrade", "the same, while an upgrade is under way", withStatus(func(m *inspect.ControlPlaneStatus) {
			m.Update = inspect.Update{Progressing: "True", Desired: "4.16.0", Message: "Working towards 4.16.0: 106 of 862 done (12% complete)"}
		}), commands("fix-api-int --dry-run=client", "fix-api-int --dry-run=client --accept-risk=upgrade-running", "rotate aggregator-client-signer --dry-run=client")},
		{"kept-lab", "a snapshot of an earlier release: the lab", snapshotIn("testdata/kept/1/lab.certrot"), commands(looks, "verify restart-safe", repairs, rotations)},
		{"kept-okd-4.15", "a snapshot of an earlier release: OKD 4.15", snapshotIn("testdata/kept/1/okd-4.15.certrot"), commands(looks, "verify restart-safe", repairs, rotations)},
		{"incident", "all nodes have the previous CA alone; worker-1 has no heartbeat", repaired(func(*remediatetest.Fixture) {}), commands(looks, repairs, rotations)},
		{"incident-half", "the control plane is repaired; one worker was under way, one was not read", repaired(func(f *remediatetest.Fixture) {
			f.Right("master-0", "master-1", "master-2", "worker-2")
			f.Began("worker-1")
			f.Unread("worker-0")
			for _, file := range catalog.KubeletKubeconfigs() {
				f.Drop("worker-0", file)
			}
			loaded(f, "master-0", "master-1", "master-2", "worker-2")
		}), commands(looks, repairs)},
		{"incident-done", "all nodes are repaired", repaired(func(f *remediatetest.Fixture) {
			f.Right("master-0", "master-1", "master-2", "worker-0", "worker-1", "worker-2")
			loaded(f, "master-0", "master-1", "master-2", "worker-0", "worker-1", "worker-2")
		}), commands(looks, repairs)},
		{"incident-silent", "all nodes report Ready=True, two have no heartbeat; requests are pending", repaired(func(f *remediatetest.Fixture) {
			f.Silent("worker-0", "worker-1")
			f.Asks("worker-0")
			f.Asks("worker-1")
		}), commands(looks, repairs)},
		{"kubeadm", "a cluster of kubeadm whose CA was replaced", func(*testing.T) inspect.Snapshot {
			f := remediatetest.KubeadmFixture("cp-0", "worker-0")
			f.HasAPIServer("cp-0")
			f.Object(catalog.Ref{Kind: "ConfigMap", Namespace: "kube-system", Name: "kube-root-ca.crt", Key: "ca.crt"}, f.ConfigMap)
			f.Reads = []inspect.Read{{What: "nodes", Objects: 2}}
			f.Sort()
			return f.Snapshot
		}, commands(looks, "fix-api-int --nodes cp-0,worker-0 --dry-run=client")},
		{"well", "a cluster in which nothing is wrong", of(func() *inspecttest.Fixture {
			ca := pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000))
			return inspecttest.NewFixture("4.18.3").Whole().Secret("shop", "tls", nil, ca.Issue("shop.example.com", inspecttest.DaysFromNoon(-10), inspecttest.DaysFromNoon(300), pkitest.DNS("shop.example.com"))).
				ConfigMap("shop", "ca", "ca.crt", ca.CertPEM)
		}), commands(looks)},
		{"expired", "ten objects of ten teams: expired, expiring, overdue, not yet valid, truncated", of(expiredFixture), commands(looks)},
		{"unread", "nothing but gaps", func(*testing.T) inspect.Snapshot {
			s := inspecttest.NewFixture("4.18.3").Snapshot
			s.Gaps = []inspect.Gap{
				{What: "secrets", Reason: "forbidden", Next: "kubectl auth can-i list secrets -A"},
				{What: "configmaps", Where: "payments", Reason: "forbidden", Next: "kubectl auth can-i list configmaps -n payments"},
				{What: "node/worker-1", Reason: "ssh: connect to host worker-1 port 22: Connection refused", Next: "look at sshd on worker-1"},
				{What: "node/worker-2", Reason: "ssh: connect to host worker-2 port 22: Connection timed out", Next: "look at the network of worker-2"},
				{What: "customresourcedefinitions", Reason: "the server was unable to return a response in the time allotted, but may still be processing the request", Next: "try again with a longer --request-timeout"},
			}
			s.Sort()
			return s
		}, commands(looks)},
	}
}

// loaded has kubelets that were restarted after their files were written.
func loaded(f *remediatetest.Fixture, names ...string) {
	for _, name := range names {
		n, _ := f.Snapshot.Node(name)
		n.Kubelet.Started = remediatetest.TestNow.Add(-time.Hour)
		n.Ready, n.Heartbeat = "True", remediatetest.TestNow.Add(-time.Second)
	}
}

func expiredFixture() *inspecttest.Fixture {
	ca := pkitest.NewCA("Example Corp Issuing CA 3", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000))
	issue := func(name string, from, to int) pkitest.Pair {
		host := name + ".apps.okd.example.com"
		return ca.Issue(host, inspecttest.DaysFromNoon(from), inspecttest.DaysFromNoon(to), pkitest.DNS(host))
	}
	ended := pkitest.NewCA("partner CA 2021", inspecttest.DaysFromNoon(-1000), inspecttest.DaysFromNoon(-1))
	f := inspecttest.NewFixture("4.18.3").Whole().
		Secret("payments", "gateway-tls", nil, issue("gateway", -300, -3)).
		Secret("openshift-ingress", "router-certs-default", nil, issue("router", -345, 2)).
		Secret("shop", "storefront-checkout-tls", nil, issue("storefront", -345, 20)).
		Secret("hr", "portal", nil, issue("portal", 1, 300)).
		ConfigMap("payments", "partner-ca-bundle", "ca-bundle.crt", ended.CertPEM).
		ConfigMap("team-with-a-rather-long-name", "kafka-truststore", "truststore.pem", ca.CertPEM[:len(ca.CertPEM)/2]).
		Calls("ValidatingWebhookConfiguration", "policy/gate", ended).
		Secret("openshift-kube-apiserver", "aggregator-client", inspecttest.Rotation(issue("aggregator", -29, 1)), issue("aggregator", -29, 1)).
		Secret("monitoring", "alertmanager-main-generated-serving", nil, issue("alertmanager", -362, 3)).
		ConfigMap("openshift-config", "user-ca-bundle", "ca-bundle.crt", pkitest.NewCA("young CA", inspecttest.DaysFromNoon(-130), inspecttest.DaysFromNoon(20)).CertPEM)
	return f
}

func snapshotIn(file string) func(*testing.T) inspect.Snapshot {
	return func(t *testing.T) inspect.Snapshot {
		t.Helper()
		s, err := collect.File{Path: file, Scanner: pki.NewScanner()}.Read()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// withStatus is the demo with the status of a cluster at rest, changed.
func withStatus(change func(*inspect.ControlPlaneStatus)) func(*testing.T) inspect.Snapshot {
	return func(t *testing.T) inspect.Snapshot {
		s := snapshotIn("../testdata/demo/okd-4.15-api-int.certrot")(t)
		s.Status = plugintest.AtRest(s)
		change(s.Status.ControlPlane)
		return s
	}
}

// ofVersion is the demo as if another version ran.
func ofVersion(version string) func(*testing.T) inspect.Snapshot {
	return func(t *testing.T) inspect.Snapshot {
		s := snapshotIn("../testdata/demo/okd-4.15-api-int.certrot")(t)
		atVersion(&s, version)
		return s
	}
}

// ofNextVersion is the demo as if the version after the last one that was reviewed ran.
func ofNextVersion(t *testing.T) inspect.Snapshot {
	return ofVersion(inspecttest.NextVersion(t) + ".0")(t)
}

func atVersion(s *inspect.Snapshot, version string) {
	s.Cluster.Versions.Cluster = version
	for name := range s.Cluster.Versions.Operators {
		s.Cluster.Versions.Operators[name] = version
	}
}

// TestStoriesOnScreens: what each command prints of a fixture, on 80 and on 120 columns, as it is in
// testdata/stories; UPDATE=1 writes it.
func TestStoriesOnScreens(t *testing.T) {
	folder, err := filepath.Abs("testdata/stories")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			if testing.Short() && len(s.commands) > 4 {
				t.Skip("many commands, which -short leaves out")
			}
			snapshot := s.read(t)
			t.Chdir(t.TempDir())
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			file := s.name + ".certrot"
			f, err := os.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(collect.WriteSnapshot(f, snapshot), f.Close()); err != nil {
				t.Fatal(err)
			}
			golden := &txtar.Archive{Comment: []byte(s.about + "\n")}
			for _, command := range s.commands {
				args := append(strings.Fields(command), "--from", file)
				_, whole, _ := screenOf(t, 400, args)
				_, details, _ := screenOf(t, 400, append(args, "--details"))
				whole += details
				for _, columns := range []int{80, 120} {
					code, screen, said := screenOf(t, columns, args)
					name := fmt.Sprintf("%s (%d columns, exit code %d)", command, columns, code)
					golden.Files = append(golden.Files, txtar.File{Name: name, Data: []byte(screen + said)})
					fitsOn(t, name, screen, columns, words(whole))
					if n := rowsAt(screen+said, columns); n > 24 && !strings.Contains(command, "--list") { // a row for each
						t.Errorf("%s: %d lines", name, n)
					}
				}
			}
			path := filepath.Join(folder, s.name+".txtar")
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(path, txtar.Format(golden), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(want) != string(txtar.Format(golden)) {
				t.Errorf("%s is not what the program prints: UPDATE=1 go test -run TestStories ./plugin", path)
			}
		})
	}
}

func screenOf(t *testing.T, columns int, args []string) (code int, out, errOut string) {
	t.Helper()
	t.Setenv("COLUMNS", fmt.Sprint(columns))
	t.Setenv("LINES", "24")
	return certrot(args...)
}

// commandLine is a line that is copied, and so is never broken; a CA that is removed is named in full.
var commandLine = regexp.MustCompile(`^ *(next|undo|details|kubectl|oc) |^ *(then|all) +(kubectl|oc) |^- remove `)

// mayDiffer is a word of which another one stands on a wider screen: a count, a cut, "on each node",
// where there is no room for a column that is the same for all, "2 more notes" or "2 warning", where they do not fit, and the FILE whose name does not.
var mayDiffer = regexp.MustCompile(`^\+?\d+$|…|^on$|^each$|^more$|^lines?$|^notes$|^(critical|warning|info)$|^FILE$`)

// fitsOn: no line is wider than the screen but a command, and no word is broken: each is on a
// screen that breaks no line, too.
func fitsOn(t *testing.T, what, screen string, columns int, whole map[string]bool) {
	t.Helper()
	for line := range strings.Lines(screen) {
		line = strings.TrimSuffix(line, "\n")
		if ui.Width(line) > columns && !commandLine.MatchString(line) {
			t.Errorf("%s: %d columns: %s", what, ui.Width(line), line)
		}
		for word := range words(line) {
			if !whole[word] && !mayDiffer.MatchString(word) {
				t.Errorf("%s: the word %q is broken: %s", what, word, line)
			}
		}
	}
}

func words(text string) map[string]bool {
	out := map[string]bool{}
	for _, word := range strings.Fields(text) {
		out[strings.Trim(word, ",.:;()")] = true
	}
	return out
}
