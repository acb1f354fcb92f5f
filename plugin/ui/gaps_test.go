package ui

import (
	"testing"

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
