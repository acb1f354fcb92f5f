package apply

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
)

// plainAction stands for any action.
type plainAction struct {
	remediate.Action
	id string
}

func (a plainAction) ID() string { return a.id }

// fileAction stands for a change of a file.
type fileAction struct{ plainAction }

func (f fileAction) Count() remediate.Count {
	return remediate.Count{Verb: "CA in", Of: "kubeconfig", N: 1}
}

// authorities are CAs with these names.
func authorities(now time.Time, names ...string) (out []*pki.Cert) {
	for _, name := range names {
		out = append(out, CertsIn(pkitest.NewCA(name, now.Add(-time.Hour), now.AddDate(1, 0, 0)).CertPEM)...)
	}
	return out
}

// repairOf is a plan that gives these nodes CAs in two files, and takes others from them.
func repairOf(now time.Time, added, removed []*pki.Cert, names ...string) *remediate.Plan {
	p := &remediate.Plan{RunID: "20260101-000000-abcdef", Now: now, Basis: inspect.Snapshot{Taken: now, Cluster: inspect.Cluster{Server: "https://api.example.com:6443", Versions: catalog.Versions{Cluster: "4.15.1"}}}}
	waves := []remediate.Wave{{Name: remediate.WaveMasters}, {Name: remediate.WaveNotReady}, {Name: remediate.WaveWorkers}}
	for i, name := range names {
		n := remediate.NodePlan{Name: name}
		for _, path := range catalog.KubeletKubeconfigs() {
			n.Steps = append(n.Steps, remediate.Step{Action: fileAction{plainAction{id: "replace " + name + ":" + path}}, Change: &remediate.Change{Summary: "CA in " + path, File: &remediate.FileChange{Path: path, Old: removed, New: added}}})
		}
		n.Steps = append(n.Steps, remediate.Step{Action: action.NewRestartKubelet(name), Change: &remediate.Change{Summary: "restart kubelet.service"}},
			remediate.Step{Action: action.AwaitNode{NodeName: name}, Change: &remediate.Change{Summary: "wait"}})
		waves[i%3].Nodes = append(waves[i%3].Nodes, n)
		p.Basis.Nodes = append(p.Basis.Nodes, inspect.Node{Name: name, Via: "ssh", Ready: "Unknown", Heartbeat: now.Add(-5 * time.Hour), Lease: inspect.Lease{Asked: now}})
	}
	p.Waves = append(waves, remediate.Wave{Name: remediate.WaveControlPlane, Nodes: []remediate.NodePlan{{Steps: []remediate.Step{{Action: action.AwaitRootCA{}, Change: &remediate.Change{Summary: "wait until kube-controller-manager has the CA"}}}}}})
	return p
}

// summaryOf prints a plan on a page of so many columns.
func summaryOf(a *Execution, p *remediate.Plan, columns string, t *testing.T) string {
	t.Helper()
	t.Setenv("COLUMNS", columns)
	var out strings.Builder
	a.App = cli.App{ProgramName: "certrot", Streams: genericiooptions.IOStreams{Out: &out, ErrOut: io.Discard}}
	a.Summary, a.CASource = true, "ConfigMap/openshift-config-managed/kube-apiserver-server-ca[ca-bundle.crt]"
	a.Lines = Lines{OfFile: true, ApplyNamed: a.Lines.ApplyNamed, Apply: "certrot fix-api-int", Details: "certrot fix-api-int --dry-run=client --details"}
	if err := a.show(p); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestAPlanFitsOnOneScreen: of 1, 10 and 300 nodes, whatever their names and notes are.
func TestAPlanFitsOnOneScreen(t *testing.T) {
	now := time.Now()
	added := authorities(now, "openshift-kube-apiserver-operator_loadbalancer-serving-signer@1706713320", strings.Repeat("x", 200), "c")
	long := strings.Repeat("words of a long text ", 30)
	for _, columns := range []int{40, 80, 200} {
		for _, nodes := range []int{1, 2, maxRows, maxRows + 1, 300} {
			for _, length := range []int{1, 253} {
				for _, notes := range []int{0, 1, 20} {
					var names []string
					for i := range nodes {
						names = append(names, fmt.Sprintf("node-%d", i)+strings.Repeat(".a", (length-1)/2))
					}
					p := repairOf(now, added, nil, names...)
					p.Basis.Served = []inspect.Served{{Chain: added[:1]}}
					p.Solved = []assess.Finding{{Assessment: assess.Assessment{ID: "api-trusted", Severity: assess.Critical}}}
					p.Checked.OfFile = nodes%2 == 0
					for i := range notes {
						p.Notes.Add(remediate.Note{Text: fmt.Sprintf("%d %s", i, long)})
						p.Unknown = append(p.Unknown, &remediate.Refusal{Node: names[0], Name: "node-read", Reason: long})
						p.Checked.Verdicts = append(p.Checked.Verdicts, remediate.Verdict{Assessment: assess.Assessment{ID: "check-that-passes", Status: assess.Pass}},
							remediate.Verdict{Assessment: assess.Assessment{ID: "check-that-is-unknown"}, NoAPIServer: true})
					}
					said := summaryOf(&Execution{}, p, fmt.Sprint(columns), t)
					lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
					if len(lines) > ui.NewPage(io.Discard).ScreenLines() {
						t.Errorf("%d columns, %d nodes, %d notes: %d lines\n%s", columns, nodes, notes, len(lines), said)
					}
					for _, line := range lines {
						if !strings.Contains(line, "certrot fix-api-int") && ui.Width(line) > columns {
							t.Errorf("%d columns, %d nodes: a line has %d: %q", columns, nodes, ui.Width(line), line)
						}
					}
					rows := 0
					for _, line := range lines {
						if strings.HasPrefix(line, "node-") {
							rows++
						}
					}
					if want := nodes; nodes <= maxRows && rows != want || nodes > maxRows && rows != 0 {
						t.Errorf("%d columns: %d nodes have %d lines\n%s", columns, nodes, rows, said)
					}
					if !strings.Contains(said, "on the live cluster") || notes == 0 && nodes == 1 && !strings.Contains(said, "--details\n") {
						t.Errorf("%d columns, %d nodes, %d notes: what the commands are about, or where the details are, is not said:\n%s", columns, nodes, notes, said)
					}
					for _, want := range []string{"  next      certrot fix-api-int --dry-run=client\n  then      certrot fix-api-int\n", "certrot undo RUN", "4.15.1"} {
						if !strings.Contains(withoutRemark(said), want) {
							t.Errorf("%d columns, %d nodes, %d notes: no %q\n%s", columns, nodes, notes, want, said)
						}
					}
				}
			}
		}
	}
}

// TestAConfirmedPlanNamesAllThatIsWritten: each CA in full and once, each file, each change of
// an object, each note; above the question nothing is cut.
func TestAConfirmedPlanNamesAllThatIsWritten(t *testing.T) {
	now := time.Now()
	var names, nodes, removed []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("%d_%s", i, strings.Repeat("long-name-", 25)))
		removed = append(removed, fmt.Sprintf("gone-%d-%s", i, strings.Repeat("y", 200)))
	}
	for i := range 300 {
		nodes = append(nodes, fmt.Sprintf("worker-%d.%s", i, strings.Repeat("a", 240)))
	}
	added, dropped := authorities(now, names...), authorities(now, removed...)
	p := repairOf(now, added, dropped, nodes...)
	other := authorities(now, "of-one-file-alone")
	alone := p.Waves[0].Nodes[0].Steps[0].Change.File
	alone.New = slices.Concat(added, other)
	patch := "add to ConfigMap/openshift-multus/kube-root-ca.crt: " + strings.Repeat("a CA and ", 40) + "another one"
	p.Waves[3].Nodes = append(p.Waves[3].Nodes, remediate.NodePlan{Steps: []remediate.Step{{Action: plainAction{id: "patch"}, Change: &remediate.Change{Summary: patch}}}})
	p.Notes.Add(remediate.AcceptedNote("upgrade-running: "+strings.Repeat("a reason ", 30)+"at its end"), remediate.Note{Kind: remediate.NotePassed, Text: "clocks: they agree"})
	for _, columns := range []string{"40", "80", "200"} {
		said := summaryOf(&Execution{Session: &Session{}}, p, columns, t)
		for i, c := range slices.Concat(added, dropped, other) {
			want := 2 // the file that gets one more is a group of its own
			if i == len(added)+len(dropped) {
				want = 1
			}
			if got := strings.Count(said, c.Subject+"  sha256 "+c.Fingerprint.Short()); got != want {
				t.Errorf("%s columns: %s is named %d times, want %d", columns, c.Subject, got, want)
			}
		}
		for _, n := range nodes {
			for _, path := range catalog.KubeletKubeconfigs() {
				if strings.Count(said, "  "+n+":"+path+"\n") != 1 {
					t.Errorf("%s columns: %s:%s is not named once", columns, n, path)
				}
			}
		}
		words := strings.Join(strings.Fields(said), " ")
		for _, want := range []string{patch + ": the cluster", "restart kubelet.service: " + nodes[0] + ", " + nodes[3], strings.Repeat("a reason ", 30) + "at its end", "✓ PASS clocks: they agree", "certrot undo " + p.RunID} {
			if !strings.Contains(words, want) {
				t.Errorf("%s columns: no %q", columns, want)
			}
		}
	}
}

// TestADryRunIsShort: nothing is confirmed, so the files are not listed.
func TestADryRunIsShort(t *testing.T) {
	now := time.Now()
	p := repairOf(now, authorities(now, "a", "b"), nil, "w")
	said := summaryOf(&Execution{Options: Options{DryRun: true}, Session: &Session{}}, p, "80", t)
	if strings.Contains(said, "w:/") || strings.Contains(said, p.RunID) {
		t.Errorf("got\n%s", said)
	}
}

// TestWhatAPlanDoesToANode in few words: waits are left out, unless nothing else is done.
func TestWhatAPlanDoesToANode(t *testing.T) {
	now := time.Now()
	p := repairOf(now, authorities(now, "a"), nil, "m", "lost", "w")
	p.Waves[2].Nodes[0].Steps = p.Waves[2].Nodes[0].Steps[3:]
	p.Basis.Nodes[0].Ready, p.Basis.Nodes[0].Heartbeat = "True", now
	p.Basis.Nodes[2].Ready, p.Basis.Nodes[2].Heartbeat = "False", now
	p.Waves = append(p.Waves, remediate.Wave{Name: remediate.WaveNetwork, Nodes: []remediate.NodePlan{{Name: "m", Steps: []remediate.Step{
		{Action: action.RestartPods{NodeName: "m", Pods: make([]inspect.Pod, 2)}, Change: &remediate.Change{Summary: "restart pod a/b, a/c (old)"}},
		{Action: action.RestartPods{NodeName: "m", Pods: make([]inspect.Pod, 1)}, Change: &remediate.Change{Summary: "restart pod a/d (old)"}}}}}})
	said := summaryOf(&Execution{}, p, "120", t)
	for _, want := range []string{
		"\nNODE         WAVE               STATUS           VIA  CHANGES\n",
		"\nm            masters            Ready            ssh  CA in 2 kubeconfigs, restart kubelet, then restart 3 pods\n",
		"\nlost         workers-not-ready  no heartbeat 5h  ssh  CA in 2 kubeconfigs, restart kubelet\n",
		"\nw            workers            NotReady         ssh  wait\n",
		"\nthe cluster  control-plane      wait until kube-controller-manager has the CA\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q\n%s", want, said)
		}
	}
}

// TestTheHeadOfAPlan: what is added, why, and what is there after it as the version is.
func TestTheHeadOfAPlan(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	added := authorities(now, "openshift-kube-apiserver-operator_loadbalancer-serving-signer@1", "other")
	leaf := *added[1]
	leaf.Issuer = added[0].Subject
	p := repairOf(now, added, nil, "w")
	p.Basis.Served = []inspect.Served{{Chain: []*pki.Cert{&leaf}}}
	p.Left = []assess.Finding{{Assessment: assess.Assessment{ID: "api-ca-delivered", Reason: "kubelets are not given CA x", Remediation: assess.FixedCommand("certrot fix-api-int --dry-run=client")}}}
	a := &Execution{Command: "fix-api-int"}
	said := summaryOf(a, p, "80", t)
	for _, want := range []string{
		"\nAdds     CA loadbalancer-serving-signer@1 (until 2027-05-01) and 1 more, from\n         ConfigMap kube-apiserver-server-ca\n",
		"\nWhy      it signed api-int's certificate (expires 2027-05-01)\n",
		"\nLater    each CA rotation needs this repair again (OpenShift 4.15)\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q\n%s", want, said)
		}
	}
	leaf.Issuer = "CN=the-old-one"
	if said := summaryOf(a, p, "80", t); !strings.Contains(said, "\nServed   api-int's certificate (expires 2027-05-01), signed by the-old-one\n") || strings.Contains(said, "Why") {
		t.Errorf("it did not sign that:\n%s", said)
	}
}

// TestANoteIsPlacedByItsKind: a text that reads like another kind of note is none.
func TestANoteIsPlacedByItsKind(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	p := repairOf(now, authorities(now, "a-signer"), nil, "node-0")
	const like = "Accepted by name: nothing was"
	p.Notes = remediate.PlainNotes(like)
	p.Notes.Add(remediate.Note{Kind: remediate.NotePassed, Text: "clocks: they agree"}, remediate.Note{Text: "to be known"}, remediate.AcceptedNote("upgrade-running: a reason"))
	said := summaryOf(&Execution{}, p, "80", t)
	accepted, plain := strings.Index(said, "upgrade-running: a reason"), strings.Index(said, like)
	if known := strings.Index(said, "! WARNING   to be known"); accepted < 0 || plain < accepted || known < plain || strings.Contains(said, "they agree") {
		t.Errorf("accepted risks come first, and a check that passes is no warning:\n%s", said)
	}
}

// TestSeveralNodesBeginWithOne, with the requests that its kubelet waits for; then all.
func TestSeveralNodesBeginWithOne(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		nodes, unapproved []string
		named             string
		want              string
	}{
		{[]string{"n-1", "n-2"}, nil, "certrot fix-api-int", "  next      certrot fix-api-int --nodes n-1 --dry-run=client\n  then      certrot fix-api-int --nodes n-1\n  all       certrot fix-api-int\n"},
		{[]string{"n-1", "n-2"}, []string{"n-1"}, "certrot fix-api-int", "  then      certrot fix-api-int --nodes n-1 --approve-csrs\n  all       certrot fix-api-int --approve-csrs\n"},
		{[]string{"n-1", "n-2"}, []string{"n-2"}, "certrot fix-api-int", "  then      certrot fix-api-int --nodes n-1\n  all       certrot fix-api-int --approve-csrs\n"},
		{[]string{"n-1", "n-2"}, []string{"n-2"}, "", "  then      certrot fix-api-int --approve-csrs\n  undo"},
		{[]string{"n-1"}, nil, "certrot fix-api-int", "  then      certrot fix-api-int\n  undo"},
	} {
		p := repairOf(now, authorities(now, "ca"), nil, c.nodes...)
		p.Unapproved = c.unapproved
		if said := summaryOf(&Execution{Lines: Lines{ApplyNamed: c.named}}, p, "80", t); !strings.Contains(withoutRemark(said), c.want) {
			t.Errorf("no %q in\n%s", c.want, said)
		}
	}
}

// withoutRemark is a screen without what is said of its first command where there is room.
func withoutRemark(said string) string {
	return regexp.MustCompile(`(?m)^ +on the live cluster.*\n`).ReplaceAllString(said, "")
}
