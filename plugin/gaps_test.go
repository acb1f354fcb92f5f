package plugin

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

// Who may read nothing of OpenShift's own is told once, and of what is different apart.
func TestGapsThatAreAlikeAreOne(t *testing.T) {
	t.Parallel()
	forbidden := func(kind, group, user string) inspect.InventoryGap {
		return inspect.InventoryGap{
			What: kind, Reason: "list " + kind + ": " + kind + "." + group + " is forbidden: User \"" + user + "\" cannot list resource \"" + kind + "\" in API group \"" + group + "\" at the cluster scope",
			Next: "ask for the cluster role cluster-reader (OpenShift) or for list on " + kind + "; secrets need more than view",
		}
	}
	file := inspect.InventoryGap{What: "file", Where: "a.yaml", Reason: "holds nothing"}
	other := inspect.InventoryGap{What: "file", Where: "b.yaml", Reason: "holds nothing"}
	images := forbidden("images", "config.openshift.io", "somebody else")
	got := onceEach([]inspect.InventoryGap{
		forbidden("proxies", "config.openshift.io", "me"), file, images,
		forbidden("machineconfigs", "machineconfiguration.openshift.io", "me"), other,
		forbidden("apiservers", "config.openshift.io", "me"),
	})
	want := []inspect.InventoryGap{{
		What: "proxies, machineconfigs, apiservers", Reason: `list KIND: KIND is forbidden: User "me" cannot list resource "KIND" at the cluster scope`,
		Next: "ask for the cluster role cluster-reader (OpenShift) or for list on KIND; secrets need more than view",
	}, file, images, other}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
