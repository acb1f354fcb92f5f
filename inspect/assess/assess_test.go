package assess

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestTheZeroAssessmentIsUnknown(t *testing.T) {
	t.Parallel()
	if a := (Assessment{}); a.Status != Unknown || a.Status.Wrong() || Worst() != Unknown {
		t.Errorf("what nobody judged is %s", a.Status)
	}
}

// TestANodesNameStaysOutOfWhatTheUserNamed: a file or a context may have the word that a node's name replaces.
func TestANodesNameStaysOutOfWhatTheUserNamed(t *testing.T) {
	t.Parallel()
	for step, want := range map[string]string{
		"x inspect nodes NODE": "x inspect nodes w",
		"x inspect nodes NODE --from NODE.certrot; x verify NODE":                     "x inspect nodes w --from NODE.certrot; x verify w",
		"x --context 'NODE a' --kubeconfig NODE --nodes NODE":                         "x --context 'NODE a' --kubeconfig NODE --nodes w",
		"x --as NODE --as-group NODE --server NODE --certificate-authority NODE NODE": "x --as NODE --as-group NODE --server NODE --certificate-authority NODE w",
	} {
		if got := Replace(step, "NODE", "w"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheWorstStatusComesFirst(t *testing.T) {
	t.Parallel()
	got := []Status{Pass, Fail, Unknown, Warn, Status(9)}
	slices.SortStableFunc(got, WorstFirst)
	if want := []Status{Fail, Status(9), Warn, Unknown, Pass}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, c := range []struct {
		all  []Status
		want Status
	}{{[]Status{Pass}, Pass}, {[]Status{Pass, Unknown}, Unknown}, {[]Status{Unknown, Warn}, Warn}, {[]Status{Fail, Unknown, Warn}, Fail}} {
		if got := Worst(c.all...); got != c.want {
			t.Errorf("the worst of %v is %s, want %s", c.all, got, c.want)
		}
	}
}

func TestAssessmentsAreWrittenWithoutWhatIsEmpty(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a    Assessment
		want string
	}{
		{Assessment{ID: "trusts", Status: Pass}, `{"id":"trusts","status":"pass"}`},
		{Assessment{ID: "trusts", Reason: "not read"}, `{"id":"trusts","status":"unknown","reason":"not read"}`},
		{
			Assessment{"a", Warn, Critical, "worker-1", "r", "i", "e", Remediation{Text: "do x: oc get nodes", Command: "oc get nodes"}},
			`{"id":"a","status":"warn","severity":"critical","subject":"worker-1","reason":"r","impact":"i","evidence":"e","remediation":{"text":"do x: oc get nodes","command":"oc get nodes"}}`,
		},
		{Assessment{ID: "a", Status: Fail, Severity: Info, Remediation: Advise("look")}, `{"id":"a","status":"fail","severity":"info","remediation":{"text":"look"}}`},
	} {
		raw, err := json.Marshal(c.a)
		if err != nil || string(raw) != c.want {
			t.Errorf("got  %s (%v)\nwant %s", raw, err, c.want)
		}
		var back Assessment
		if err := json.Unmarshal(raw, &back); err != nil || back != c.a {
			t.Errorf("%s is read as %+v (%v)", raw, back, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"status":"holds"}`), new(Assessment)); err == nil {
		t.Error("a word that is no status is read")
	}
}

func TestALineLeavesNothingOut(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]Assessment{"": {ID: "a"}, "r": {Reason: "r"}, "r; i; e": {Reason: "r", Impact: "i", Evidence: "e"}, "r; e": {Reason: "r", Evidence: "e"}} {
		if got := a.Line(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := (Assessment{Reason: "r", Impact: "i", Evidence: "e"}).Because(); got != "r; e" {
		t.Errorf("got %q", got)
	}
}

func TestARefusedCommandIsSaid(t *testing.T) {
	t.Parallel()
	if r := Command("", "oc get node %s", "a").Saying("look at it"); r != (Remediation{Text: "look at it", Command: "oc get node a"}) {
		t.Errorf("%+v", r)
	}
	odd := Command("oc get nodes", "oc get node %s", "a;b")
	if r := odd.Saying("look at it"); r != (Remediation{Text: "look at it; " + odd.Text}) {
		t.Errorf("%+v", r)
	}
}

// TestAFileCalledNODEStaysThat: a next step is for a node, and of a file whose name is the user's.
func TestAFileCalledNODEStaysThat(t *testing.T) {
	t.Parallel()
	for step, want := range map[string]string{
		"x --nodes NODE --dry-run=client --from NODE-1.certrot":               "x --nodes w1 --dry-run=client --from NODE-1.certrot",
		"x --from 'a NODE b' --nodes NODE; ssh NODE":                          "x --from 'a NODE b' --nodes w1; ssh w1",
		"x --from NODE --from 'it'\\''s NODE' --nodes NODE --from /NODE/NODE": "x --from NODE --from 'it'\\''s NODE' --nodes w1 --from /NODE/NODE",
		"on NODE: the files come from NODE":                                   "on w1: the files come from w1",
	} {
		if got := FixedCommand(step).For("w1"); got.Text != want || got.Command != want {
			t.Errorf("%s\n%+v", step, got)
		}
	}
	if odd := FixedCommand("x --nodes NODE").For("a; reboot"); odd.Command != "" || odd.Text != "x --nodes “a; reboot”" {
		t.Errorf("%+v", odd)
	}
}
