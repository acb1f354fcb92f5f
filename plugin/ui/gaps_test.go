package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// Who may read nothing of OpenShift's own is told once, and of what is different apart.
func TestGapsThatAreAlikeAreOne(t *testing.T) {
	t.Parallel()
	forbidden := func(kind, group, user string) report.Gap {
		return report.Gap{
			What: kind, Reason: "list " + kind + ": " + kind + "." + group + " is forbidden: User \"" + user + "\" cannot list resource \"" + kind + "\" in API group \"" + group + "\" at the cluster scope",
			Remediation: assess.Advise("ask for the cluster role cluster-reader (OpenShift) or for list on " + kind + "; secrets need more than view"),
		}
	}
	file := report.Gap{What: "file", Where: "a.yaml", Reason: "holds nothing"}
	other := report.Gap{What: "file", Where: "b.yaml", Reason: "holds nothing"}
	images := forbidden("images", "config.openshift.io", "somebody else")
	got := onceEach([]report.Gap{
		forbidden("proxies", "config.openshift.io", "me"), file, images,
		forbidden("machineconfigs", "machineconfiguration.openshift.io", "me"), other,
		forbidden("apiservers", "config.openshift.io", "me"),
	})
	want := []report.Gap{{
		What: "proxies, machineconfigs, apiservers", Reason: `list KIND: KIND is forbidden: User "me" cannot list resource "KIND" at the cluster scope`,
		Remediation: assess.Advise("ask for the cluster role cluster-reader (OpenShift) or for list on KIND; secrets need more than view"),
	}, file, images, other}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A file names the kinds, and each costs no more than its length.
func TestGapsOfLongKindsCostLittle(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 10_000_000)
	for _, what := range []string{long, long + "(", strings.Repeat("(", 10_000_000), `\`, ""} {
		got := onceEach([]report.Gap{{What: what, Reason: "list " + what + ": x" + what}})
		if len(got) != 1 || got[0].What != what {
			t.Errorf("%d gaps of %.20q", len(got), what)
		}
	}
	var many []report.Gap
	for i := range 200_000 {
		many = append(many, report.Gap{What: fmt.Sprintf("kind%d", i), Reason: "r"})
	}
	began := time.Now()
	if got := onceEach(many); len(got) != 1 || time.Since(began) > 20*time.Second {
		t.Errorf("%d gaps, after %s", len(got), time.Since(began))
	}
}

func TestReplaceWord(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"list pods: pods.x pods_ apods pods", "pods", "list KIND: KIND.x pods_ apods KIND"},
		{"aaa a", "a", "aaa KIND"}, {"a.a.a", "a.a", "KIND.a"}, {"x", "", "x"}, {"", "x", ""}, {"(a) (a", "(a", "(a) (a"}, {"x(a) x(a", "(a", "xKIND) xKIND"},
	} {
		if got := replaceWord(c[0], c[1]); got != c[2] {
			t.Errorf("%q in %q: %q, want %q", c[1], c[0], got, c[2])
		}
	}
}
