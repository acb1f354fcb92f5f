package rotatecmd

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// TestWhyNotNowInFewWords: each check before a rotation has a reason that fits on a line of 80 columns,
// with its name.
func TestWhyNotNowInFewWords(t *testing.T) {
	t.Parallel()
	known := map[string]notNow{}
	for _, w := range whyNotNow() {
		known[w.id] = w
		for _, reason := range []string{w.fail, w.unknown} {
			if line := fmt.Sprintf("✗ %-17s  %s (%s)", w.short, reason, w.id); w.id != managedCheck && ui.Width(line) > 80 {
				t.Errorf("%d columns: %s", ui.Width(line), line)
			}
		}
		for _, short := range []string{w.short, w.shortUnknown} {
			if short == w.id || len(short) > 17 {
				t.Errorf("%s: in the table it is %q", w.id, short)
			}
		}
	}
	for _, id := range rotate.Risks() {
		if id != remediate.NoLease && id != preflight.UnauthenticatedAPI && known[id].fail == "" {
			t.Errorf("%s: no reason in few words", id)
		}
	}
}

// TestWhyNotNowOfOneEntry: what does not exist has that reason alone; the checks that say the same of
// its signer are one reason; a check without few words has its own.
func TestWhyNotNowOfOneEntry(t *testing.T) {
	t.Parallel()
	check := func(id, reason string) rotationCheck {
		return rotationCheck{PlanCheck: apply.PlanCheck{Assessment: assess.Assessment{ID: id, Status: assess.Fail, Reason: reason}}, blocks: true}
	}
	for _, c := range []struct {
		checks []rotationCheck
		want   string
	}{
		{[]rotationCheck{check("signer-age", "young"), check("annotations-agree", "Secret/n/a[tls.crt] is not there")}, "does not exist: its operator has not made it (annotations-agree)"},
		{[]rotationCheck{check("signer-type", "Secret/n/s[tls.crt] is not there"), check("signer-age", "Secret/n/s[tls.crt] is not there"), {}}, "no signer: its signer does not exist (signer-type, signer-age)"},
		{[]rotationCheck{check("signer-age", "young"), check("new", "Secret/n/a[tls.crt] of Secret/n/s[tls.crt]\nis odd")}, "signer too new: some clients may not have its signer yet (signer-age); new: it of its signer is odd (new)"},
	} {
		var got []string
		for _, w := range (rotationEntry{Secret: "n/a", By: "n/s", Checks: c.checks}).whys() {
			got = append(got, w.short+": "+w.reason+" ("+w.ids+")")
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("got  %s\nwant %s", text, c.want)
		}
	}
}

// TestWhatWasNotAskedIsUnknown: checks that only the API server answers are one reason, behind those
// that fail.
func TestWhatWasNotAskedIsUnknown(t *testing.T) {
	t.Parallel()
	unasked := func(id string) rotationCheck {
		return rotationCheck{PlanCheck: apply.PlanCheck{Assessment: assess.Assessment{ID: id, Reason: "no API server could be asked"}, NoAPI: true}, blocks: true}
	}
	e := rotationEntry{Rotates: "no", Checks: []rotationCheck{
		unasked("pools-ready"), unasked("upgrade-running"),
		{PlanCheck: apply.PlanCheck{Assessment: assess.Assessment{ID: "nodes-ready", Status: assess.Fail, Reason: "worker-2"}}, blocks: true},
	}}
	if got := e.why(); got != "nodes not ready +1" {
		t.Errorf("WHY is %q", got)
	}
	if w := e.whys()[1]; w.short != "2 not checked" || w.ids != "pools-ready, upgrade-running" || w.status != assess.Unknown {
		t.Errorf("got %+v", w)
	}
	if got := e.short(); got != "no: nodes-ready, 2 not checked" {
		t.Errorf("--details: %q", got)
	}
}

// TestOthersAreCounted: what certrot does not rotate, and what does not exist, is a count, and a row each for scripts.
func TestOthersAreCounted(t *testing.T) {
	t.Parallel()
	managed := []rotationCheck{{PlanCheck: apply.PlanCheck{Assessment: assess.Assessment{ID: managedCheck, Status: assess.Fail}}, blocks: true}}
	gone := []rotationCheck{{PlanCheck: apply.PlanCheck{Assessment: assess.Assessment{ID: "there", Status: assess.Fail, Reason: "Secret/n/d[tls.crt] is not there"}}, blocks: true}}
	all := []rotationEntry{{Name: "a", Rotates: "yes"}, {Name: "b", Rotates: "no", Checks: managed}, {Name: "c", Rotates: "no", Checks: managed}, {Name: "d", Secret: "n/d", Rotates: "no", Checks: gone}}
	o := &rotateOptions{}
	if got, line := o.folded(all); len(got) != 1 || line != "1 does not exist, 2 are not rotated by certrot: --details" {
		t.Errorf("got %+v, %s", got, line)
	}
	if got, line := o.folded(all[:2]); len(got) != 1 || line != "1 is not rotated by certrot: --details" {
		t.Errorf("got %+v, %s", got, line)
	}
	if got, line := o.folded(all[:1]); len(got) != 1 || line != "" {
		t.Errorf("one: %+v, %s", got, line)
	}
	o.noHeaders = true
	if got, line := o.folded(all); len(got) != 4 || line != "" {
		t.Error("a row is missing without headers")
	}
}

// TestOneReasonOfAllIsSaidOnce: where it stops each row, and only there.
func TestOneReasonOfAllIsSaidOnce(t *testing.T) {
	t.Parallel()
	stops := func(ids ...string) (out []rotationCheck) {
		for _, id := range ids {
			out = append(out, rotationCheck{PlanCheck: apply.PlanCheck{Assessment: assess.Assessment{ID: id, Status: assess.Fail, Reason: "because"}}, blocks: true})
		}
		return out
	}
	rows := []rotationEntry{{Name: "a", Rotates: "no", Checks: stops("pools-ready", "nodes-ready")}, {Name: "b", Rotates: "no", Checks: stops("nodes-ready")}}
	c, is := sharedReason(rows)
	if !is || c.ID != "nodes-ready" {
		t.Fatalf("got %+v", c)
	}
	for reason, want := range map[string]string{
		"worker-2: no heartbeat for 5h (Lease), Ready is Unknown. Such a node gets no new CA": "worker-2 has no heartbeat for 5h",
		"a: NotReady (Ready is Unknown), b: no heartbeat for 5h (Lease). Such":                "a is NotReady, b has no heartbeat for 5h",
		"not Ready: worker-2. Such a node gets no new CA":                                     "not Ready: worker-2",
	} {
		if c.Reason = reason; rows[0].nothingNow(c, 100) != "Nothing can be rotated now: "+want+" (nodes-ready)" {
			t.Errorf("%s: %s", reason, rows[0].nothingNow(c, 100))
		}
	}
	if c.Reason = strings.Repeat("x", 100); rows[0].nothingNow(c, 80) != "Nothing can be rotated now: nodes are NotReady or have no heartbeat (nodes-ready)" {
		t.Errorf("many nodes: %s", rows[0].nothingNow(c, 80))
	}
	if left := without(rows, c.ID); left[0].why() != "pools not ready" || left[1].why() != "" || rows[0].why() == left[0].why() {
		t.Errorf("left: %q and %q", left[0].why(), left[1].why())
	}
	for _, other := range []rotationEntry{{Name: "c", Rotates: "yes"}, {Name: "c", Rotates: "unknown"}, {Name: "c", Rotates: "no", Checks: stops("pools-ready")}} {
		if c, is := sharedReason(append(slices.Clone(rows), other)); is {
			t.Errorf("%+v: %+v is not of all", other, c)
		}
	}
}

// TestNamesAreWhole: whatever the width, each name stands whole at the beginning of a line, with its
// reason behind it or on the next line; no line is wider than the terminal, unless a name is.
func TestNamesAreWhole(t *testing.T) {
	t.Parallel()
	long := "openshift-kube-controller-manager-operator/csr-signer"
	blocked := func(ids ...string) (out []rotationCheck) {
		for _, id := range ids {
			out = append(out, rotationCheck{PlanCheck: apply.PlanCheck{Assessment: assess.Assessment{ID: id, Status: assess.Fail, Reason: id}}, blocks: true})
		}
		return out
	}
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	all := []rotationEntry{
		{Name: "aggregator-client", Next: &at, NotAfter: &at, Rotates: "yes"},
		{Name: long, Rotates: "no", Checks: blocked("static-pods-settled", "nodes-ready")},
		{Name: "kube-control-plane-signer", Rotates: "unknown", Checks: blocked("signer-trusted")},
	}
	for columns, want := range map[int]string{
		120: "NAME                                                   NEXT        EXPIRES     NOW      WHY (+1: one more)\n" +
			"aggregator-client                                      2026-03-01  2026-03-01  yes\n" +
			long + "  -           -           no       pods rolling out +1\n" +
			"kube-control-plane-signer                              -           -           unknown  untrusted signer\n",
		80: "NAME                                    NEXT        NOW      WHY (+1: one more)\n" +
			"aggregator-client                       2026-03-01  yes\n" +
			long + "\n" +
			"                                        -           no       pods rolling out +1\n" +
			"kube-control-plane-signer               -           unknown  untrusted signer\n",
		40: "NAME                 NEXT        NOW\n" +
			"aggregator-client    2026-03-01  yes\n" +
			long + "\n" +
			"                     -           no\n" +
			"kube-control-plane-signer\n" +
			"                     -           unknown\n",
	} {
		w := ui.NewPage(wideAs(columns))
		(&rotateOptions{}).printTable(w, all, "WHY")
		if got := w.String(); got != want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", columns, got, want)
		}
	}
}

// wideAs is a terminal of so many columns.
type wideAs int

func (wideAs) Write(p []byte) (int, error) { return len(p), nil }

func (w wideAs) Columns() int { return int(w) }

// page is a terminal of so many columns, and what is on it.
type page struct {
	strings.Builder
	columns int
}

func (p *page) Columns() int { return p.columns }

// TestDetailsAreAsWideAsTheTerminal: prose of a plan and of the list is wrapped at the terminal's width.
func TestDetailsAreAsWideAsTheTerminal(t *testing.T) {
	t.Parallel()
	reason := rotationCheck{PlanCheck: apply.PlanCheck{Assessment: assess.Assessment{ID: "new", Status: assess.Fail, Reason: strings.Repeat("because ", 40), Remediation: assess.Advise("the order: (1) certrot a: " + strings.Repeat("wait ", 40) + "; (2) certrot b: look")}}, blocks: true}
	for _, columns := range []int{60, 80} {
		plan, list := &page{columns: columns}, &page{columns: columns}
		if err := printRotation(plan, planned(t, "4.16.1", "aggregator-client-signer", nil)); err != nil {
			t.Fatal(err)
		}
		if err := printRotations(list, rotationsDocument{Rotations: []rotationEntry{{Name: "a", Rotates: "no", Checks: []rotationCheck{reason}}}}, rotationsForm{}, time.Now(), ""); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{plan.String(), list.String()} {
			widest := 0
			for line := range strings.Lines(text) {
				if !strings.ContainsAny(line, "/=@") && !strings.Contains(line, "sha256") { // places and certificates are whole
					widest = max(widest, ui.Width(strings.TrimSuffix(line, "\n")))
				}
			}
			if widest > columns || widest < columns-12 {
				t.Errorf("%d columns: lines of %d:\n%s", columns, widest, text)
			}
		}
		if text := list.String(); !strings.Contains(text, "\n              certrot a\n") || !strings.Contains(text, "\n              certrot b\n") {
			t.Errorf("the commands are not on lines of their own:\n%s", text)
		}
	}
}
