package rotatecmd

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// TestOutcomes: each outcome has its exit code, and an error of what commands share comes
// back as it was.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	refusal := &remediate.Refusal{Name: "held", Reason: "another run has the Lease", Next: "wait for it"}
	for _, c := range []struct {
		title     string
		err       error
		code      int
		says      string
		next      string
		unchanged bool
	}{
		{"read in vain", errors.New("connection refused"), cli.ExitUsage, "connection refused", "", false},
		{"read in vain, with a next step", cli.WithHint(errors.New("connection refused"), "is it there?"), cli.ExitUsage, "connection refused", "is it there?", false},
		{"interrupted while reading", cli.NothingChanged(errors.New("interrupted")), cli.ExitUsage, "nothing was changed: interrupted", "", true},
		{"somebody has the Lease", apply.Refused(refusal), cli.ExitRefused, "refused, nothing was changed: ", "wait for it", true},
		{"checks", apply.Stopped([]preflight.Verdict{{Assessment: assess.Assessment{ID: "nodes-ready", Reason: "not Ready: worker-0", Remediation: assess.Advise("look")}, Risk: true}}), cli.ExitRefused, "refused, nothing was changed: nodes-ready: not Ready: worker-0", "look\nto accept the risk: --accept-risk=nodes-ready", true},
		{"printed already", &rotate.Error{Outcome: rotate.Unknown}, cli.ExitIncomplete, "exit code 3", "", false},
		{"stopped", &rotate.Error{Outcome: rotate.Stopped, Err: errors.New("half-way")}, cli.ExitStopped, "half-way", "", false},
		{"late", &rotate.Error{Outcome: rotate.Pending, Err: errors.New("late"), Next: "wait"}, cli.ExitFindings, "late", "wait", false},
	} {
		var e *rotate.Error
		if !errors.As(c.err, &e) && !errors.As(outcomeOf(c.err), &e) || e.Unchanged != c.unchanged {
			t.Errorf("%s: %+v", c.title, e)
		}
		err := exitError(e)
		next := ""
		var h *cli.HintError
		if errors.As(err, &h) {
			next = h.Hint
		}
		if cli.CodeOf(err) != c.code || !strings.HasPrefix(err.Error(), c.says) || next != c.next {
			t.Errorf("%s: code %d, want %d: %v; next: %q", c.title, cli.CodeOf(err), c.code, err, next)
		}
	}
	if outcomeOf(nil) != nil || exitError(nil) != nil {
		t.Error("no error has an outcome")
	}
}

// TestNotes: what does not pass is said of what is waited for, of what was accepted, and of
// a leaf that its owner rotates in any case.
func TestNotes(t *testing.T) {
	t.Parallel()
	triggered := &inspect.Entry{Bundle: &inspect.Bundle{Object: &inspect.Object{}}}
	check := func(name string, status assess.Status) preflight.Verdict {
		return preflight.Verdict{Assessment: assess.Assessment{ID: name, Status: status, Reason: "because"}, Risk: true}
	}
	read := rotate.Reading{Facts: &inspect.Facts{}}
	leaf := rotate.Planned{Reading: read, Of: rotate.Rotatable{Name: "told", Entry: triggered, Trigger: catalog.Trigger{Annotation: "a"}}, Checks: []preflight.Verdict{check("signer-trusted", assess.Fail), check("pods-memory", assess.Pass)}}
	p := rotate.Planned{
		Reading: read, Of: rotate.Rotatable{Name: "signer"},
		Checks: []preflight.Verdict{check("operators-settled", assess.Fail), check("topology", assess.Fail), check("signer-age", assess.Unknown), check("leaf-young", assess.Pass)}, Accepted: []string{"topology"}, Awaited: []string{"operators-settled", "signer-age"},
		Leaves: []rotate.Planned{leaf},
	}
	want := []string{
		"Waited for, before signer: operators-settled: because",
		"Accepted by name, of signer: topology: because",
		"Stops with exit code 3 before signer, unless this is read by then, or accepted with --accept-risk=signer-age: signer-age: because",
		"Its owner rotates it already, whatever this says: told: signer-trusted: because",
	}
	if got := notesOf(p); !slices.Equal(got, want) {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
	var out strings.Builder
	p.Left = &rotate.Left{}
	printChecks(&out, p)
	if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, "Checked pods-memory") || strings.Contains(text, "Checked signer-trusted") {
		t.Errorf("of what its owner was told: %s", text)
	}
}

// TestAwaitedInOneLine: what is drawn while a rotation is tracked says what is late, how many, and why.
func TestAwaitedInOneLine(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	o := humanObserver{&rotateOptions{app: cli.App{Streams: genericiooptions.IOStreams{ErrOut: &bytes.Buffer{}}}}}
	late := rotate.Stage{Assessment: assess.Assessment{ID: rotate.StageTrust, Status: assess.Warn, Reason: "unused"}, Reached: 6, All: 9, Late: []rotate.Late{{Name: "kubelet on worker-1", Reason: "x509:\nunknown authority"}, {}, {Name: "b"}}}
	unread := late
	unread.Status, unread.Late = assess.Unknown, []rotate.Late{{Name: strings.Repeat("n", 253)}, {Name: "b"}}
	for _, c := range []struct {
		of   string
		s    rotate.Stage
		want string
	}{
		{"", late, "○ trust       6 of 9 clients trust it; not yet: kubelet on worker-1 +1 (x509: unknown authority)"},
		{"b", late, "b ○ trust       6 of 9; not yet: kubelet on worker-1 +1 (x509: unknown authority)"},
		{"", unread, "? trust       6 of 9; unknown: " + strings.Repeat("n", 35) + "… +1"},
		{"", rotate.Stage{Assessment: assess.Assessment{ID: rotate.StageBundle, Status: assess.Pass, Reason: "it has it; and more"}}, "✓ bundle      it has it"},
	} {
		if got := o.oneLine(c.of, rotate.Planned{}, c.s); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

// TestObserver: what is told while a rotation is tracked stands on the error stream, and
// how far it is at the end among the answers.
func TestObserver(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	options := &rotateOptions{reads: " --nodes all --via ssh", app: cli.App{ProgramName: "oc certrot", Streams: genericiooptions.IOStreams{Out: &out, ErrOut: &errOut}}}
	o := options.runner(nil).Observer
	stage := rotate.Stage{Assessment: assess.Assessment{ID: rotate.StageSigner, Status: assess.Pass, Reason: "made \x1b[31mnow"}}
	o.Stage("", stage, 65*time.Second)
	o.Stage("b", stage, time.Second)
	o.Waiting("leaf", []preflight.Verdict{{Assessment: assess.Assessment{ID: "signer-trusted", Reason: "worker-0 does not"}}, {Assessment: assess.Assessment{ID: "signer-age", Reason: "young"}}})
	p := planned(t, "4.16.1", "aggregator-client-signer", nil)
	o.Judged("", p, []rotate.Stage{stage}, time.Now()) // a log has events alone
	o.Rotated(p)
	if err := o.Concluded(rotate.Progress{Planned: p, Stages: []rotate.Stage{stage, {Assessment: assess.Assessment{ID: rotate.StageLeaf, Status: assess.Warn, Reason: "not yet"}}}, Took: map[string]time.Duration{rotate.StageSigner: 125 * time.Second, rotate.StageLeaf: time.Second}}); err != nil {
		t.Fatal(err)
	}
	if got, want := errOut.String(), "after 65s: ✓ signer: made \\x1b[31mnow\nb, after 1s: ✓ signer: made \\x1b[31mnow\nwaiting, before leaf is rotated: signer-trusted: worker-0 does not; signer-age: young\n"; got != want {
		t.Errorf("on the error stream: %q\nwant %q", got, want)
	}
	text := out.String()
	for _, want := range []string{"has rotated it. A rotation can't be undone.\n", "at any time: oc certrot rotate status aggregator-client-signer --nodes all --via ssh\n", "\ntook      signer 2m5s\n", "○ leaf", "next      oc certrot rotate status --wait 10m --nodes all --via ssh aggregator-client-signer\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not said:\n%s", want, text)
		}
	}
}

// TestStagesInWords: the line of a stage says what it means, in each of its states.
func TestStagesInWords(t *testing.T) {
	t.Parallel()
	stage := func(id string, status assess.Status, reached, all int, reason string, late ...rotate.Late) rotate.Stage {
		return rotate.Stage{Assessment: assess.Assessment{ID: id, Status: status, Reason: reason}, Reached: reached, All: all, Late: late}
	}
	p := planned(t, "4.16.1", "aggregator-client-signer", nil)
	requests := stage(rotate.StageServed, assess.Pass, 3, 3, "")
	requests.Requests = true
	for _, c := range []struct {
		s    rotate.Stage
		want string
	}{
		{stage(rotate.StageSigner, assess.Warn, 0, 0, p.Of.At.String()+" is not there: a creates it again"), "it is not there: a creates it again"},
		{stage(rotate.StageBundle, assess.Pass, 1, 1, ""), "in its CA bundle kube-apiserver-aggregator-client-ca"},
		{stage(rotate.StageBundle, assess.Warn, 0, 1, "", rotate.Late{Name: "a"}), "not yet in its CA bundle kube-apiserver-aggregator-client-ca"},
		{stage(rotate.StageBundle, assess.Warn, 0, 1, "", rotate.Late{Name: "a", Reason: "not there"}), "its CA bundle kube-apiserver-aggregator-client-ca is not there"},
		{stage(rotate.StageBundle, assess.Unknown, 0, 1, "", rotate.Late{Name: "a", Reason: "not read"}), "its CA bundle kube-apiserver-aggregator-client-ca was not read"},
		{stage(rotate.StageAggregates, assess.Pass, 0, 0, "no other bundle is made of it"), "no other CA bundle is made from it"},
		{stage(rotate.StageAggregates, assess.Pass, 1, 1, ""), "in the CA bundle made from it"},
		{stage(rotate.StageAggregates, assess.Pass, 38, 38, ""), "in all 38 CA bundles made from it"},
		{stage(rotate.StageAggregates, assess.Warn, 3, 38, "", rotate.Late{Name: "ConfigMap/a/b[c]"}), "3 of 38 CA bundles made from it have it; not yet: a/b"},
		{stage(rotate.StageTrust, assess.Unknown, 0, 0, "its clients were not asked for, or are unknown"), "its clients were not asked for, or are unknown"},
		{stage(rotate.StageTrust, assess.Pass, 2, 2, ""), "all 2 clients trust it"},
		{stage(rotate.StageLeaf, assess.Pass, 1, 1, "signed by it: a"), "it signs a"},
		{stage(rotate.StageLeaf, assess.Pass, 3, 3, "signed by it: a, b, c"), "it signs a +2"},
		{stage(rotate.StageLeaf, assess.Warn, 1, 2, "", rotate.Late{Name: "a"}), "it signs 1 of 2; not yet: a"},
		{stage(rotate.StageServed, assess.Warn, 0, 0, "it follows leaf"), "comes after leaf"},
		{stage(rotate.StageServed, assess.Unknown, 0, 0, "not read: a"), "not read: a"},
		{stage(rotate.StageServed, assess.Unknown, 0, 2, "", rotate.Late{Name: "a"}, rotate.Late{Name: "b"}), "unknown: a +1"},
		{stage(rotate.StageServed, assess.Unknown, 1, 2, "", rotate.Late{Name: "b"}), "seen in 1 of 2 handshakes; unknown: b"},
		{stage(rotate.StageServed, assess.Pass, 3, 3, ""), "seen in all 3 handshakes"},
		{requests, "accepted in all 3 requests"},
		{stage(rotate.StageEdges, assess.Pass, 3, 3, ""), "checks pass in all 3 places"},
	} {
		if got := stageText(p, c.s, 100)[len(stageLead(c.s)):]; got != c.want {
			t.Errorf("%s: got  %q\nwant %q", c.s.ID, got, c.want)
		}
	}
}

// TestAnOutageIsNoProgress: once the CA signs, clients that do not trust it fail: nothing is waited for, and
// that it signs is no success.
func TestAnOutageIsNoProgress(t *testing.T) {
	t.Parallel()
	late := []rotate.Late{{Name: "kubelet on worker-1"}, {Name: "b"}}
	stage := func(id string, status assess.Status, reached, all int, late []rotate.Late) rotate.Stage {
		reason := ""
		if id == rotate.StageLeaf && status == assess.Pass {
			reason = "signed by it: a"
		}
		return rotate.Stage{Assessment: assess.Assessment{ID: id, Status: status, Reason: reason}, Reached: reached, All: all, Late: late}
	}
	for _, c := range []struct {
		title              string
		trust, leaf, edges rotate.Stage
		want               []string
	}{
		{"it signs", stage(rotate.StageTrust, assess.Warn, 6, 9, late), stage(rotate.StageLeaf, assess.Pass, 1, 1, nil), stage(rotate.StageEdges, assess.Warn, 6, 8, late),
			[]string{"✗ trust       2 of 9 clients do not trust it: kubelet on worker-1 +1", "! leaf        it already signs a", "✗ edges       checks fail in 2 of 8 places: kubelet on worker-1 +1"}},
		{"it does not sign yet", stage(rotate.StageTrust, assess.Warn, 6, 9, late), stage(rotate.StageLeaf, assess.Warn, 0, 1, late[:1]), stage(rotate.StageEdges, assess.Warn, 0, 0, nil),
			[]string{"○ trust       6 of 9 clients trust it; not yet: kubelet on worker-1 +1", "○ leaf        it signs 0 of 1; not yet: kubelet on worker-1", "○ edges       comes after leaf"}},
		{"clients lack another CA of the same rotation", stage(rotate.StageTrust, assess.Warn, 6, 9, late), stage(rotate.StageLeaf, assess.Pass, 1, 1, nil), stage(rotate.StageEdges, assess.Pass, 9, 9, nil),
			[]string{"○ trust       6 of 9 clients trust it; not yet: kubelet on worker-1 +1", "✓ leaf        it signs a", "✓ edges       checks pass in all 9 places"}},
		{"nothing was read", stage(rotate.StageTrust, assess.Unknown, 0, 2, late), stage(rotate.StageLeaf, assess.Pass, 1, 1, nil), stage(rotate.StageEdges, assess.Unknown, 0, 2, late),
			[]string{"? trust       2 of 2 clients unknown: kubelet on worker-1 +1", "✓ leaf        it signs a", "? edges       checks are unknown in 2 of 2 places: kubelet on worker-1 +1"}},
	} {
		var out bytes.Buffer
		a := ui.NewOneScreen(&out)
		stages := []rotate.Stage{c.trust, c.leaf, c.edges}
		for _, s := range stages {
			showStage(a, rotate.Planned{}, s, failing(stages)(s), nil)
		}
		if err := a.Print(&out, 20, ""); err != nil {
			t.Fatal(err)
		}
		for _, line := range c.want {
			if !strings.Contains(out.String(), line+"\n") {
				t.Errorf("%s: %q is not there:\n%s", c.title, line, out.String())
			}
		}
	}
}

// TestStepsInOrder: of several commands in an order each stands whole on a line of its own, below what
// it is for; what is no command stays as it is.
func TestStepsInOrder(t *testing.T) {
	t.Parallel()
	step := "the safe order: (1) certrot rotate a --accept-risk=b: the signer alone, and nothing else; (2) wait"
	want := "the safe order:\n(1) the signer alone, and\n    nothing else\n      certrot rotate a --accept-risk=b\n(2) wait"
	if got := inOrder(step, 26); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestFewerWordsBeforeACut: where a refusal has no room, what stands in parentheses goes first, and each
// command is whole.
func TestFewerWordsBeforeACut(t *testing.T) {
	t.Parallel()
	b := &preflight.Blocked{Checks: []preflight.Verdict{{Assessment: assess.Assessment{
		ID: "reaches-verifiers", Status: assess.Fail, Reason: "nodes get no CA (" + strings.Repeat("because ", 40) + "): kubelets fail",
		Remediation: assess.Advise("the order: (1) certrot a: " + strings.Repeat("one ", 30) + "; (2) certrot b: two"),
	}}}}
	if next, _ := brief(b, "otherwise", 80, 10); !strings.HasSuffix(next, "\notherwise") || !strings.Contains(next, "\n      certrot a\n") {
		t.Errorf("there is room for what happens without it:\n%s", next)
	}
	next, err := brief(b, "otherwise", 80, 9)
	if got := err.Error(); got != "check reaches-verifiers fails: nodes get no CA: kubelets fail" {
		t.Errorf("the reason is %q", got)
	}
	if strings.Contains(next, "otherwise") {
		t.Errorf("there is no room for it:\n%s", next)
	}
	if !strings.Contains(next, "\n      certrot a\n") || !strings.Contains(next, "\n      certrot b\n") {
		t.Errorf("the commands are not on lines of their own:\n%s", next)
	}
}

// TestARefusalInFull: --details has each reason, and each command of an order on a line of its own. What
// nodes do not get is not offered to be accepted: its order names the flag where it does no harm.
func TestARefusalInFull(t *testing.T) {
	t.Parallel()
	verdict := func(id, next string) preflight.Verdict {
		return preflight.Verdict{Assessment: assess.Assessment{ID: id, Status: assess.Fail, Reason: "because", Remediation: assess.Advise(next)}, Risk: true}
	}
	order := verdict(rotate.ReachesVerifiers, "the order: (1) certrot a --accept-risk=reaches-verifiers: rotate a; (2) certrot b: wait")
	b := &preflight.Blocked{Checks: []preflight.Verdict{verdict("nodes-ready", "look"), verdict("pools-ready", "look"), order}}
	want := "look\nthe order:\n(1) rotate a\n      certrot a --accept-risk=reaches-verifiers\n(2) wait\n      certrot b\nto accept the risk: --accept-risk=nodes-ready --accept-risk=pools-ready"
	if got := inFull(b, 80); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	b.Checks = b.Checks[2:]
	if got, _ := brief(b, "", 80, 20); strings.Contains(got, "to accept the risk") {
		t.Errorf("the way out is offered:\n%s", got)
	}
	b.Checks = []preflight.Verdict{verdict("nodes-ready", "look"), order}
	if got, _ := brief(b, "", 80, 20); !strings.HasPrefix(got, "the order:") {
		t.Errorf("what nodes do not get is not first:\n%s", got)
	}
}

// TestAPreviewTakesNoFlagThatItsCommandLacks: rotate has more flags about nodes.
func TestAPreviewTakesNoFlagThatItsCommandLacks(t *testing.T) {
	t.Parallel()
	o := &rotateOptions{reads: " --node-path /opt/x --trust-stores", app: cli.App{ProgramName: "oc certrot"}, reading: connect.Reading{App: cli.App{ProgramName: "oc certrot"}}}
	if got := o.preview("pretrust"); got != "oc certrot pretrust --dry-run=client" {
		t.Errorf("got %q", got)
	}
	if got := o.command("verify --nodes all"); got != "oc certrot verify --nodes all --node-path /opt/x --trust-stores" {
		t.Errorf("got %q", got)
	}
	o.reading.From = []string{"a.certrot"}
	if got := o.preview("fix-api-int"); got != "oc certrot fix-api-int --dry-run=client --from a.certrot" {
		t.Errorf("got %q", got)
	}
}
