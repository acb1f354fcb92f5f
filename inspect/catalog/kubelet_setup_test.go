package catalog

import (
	"slices"
	"strings"
	"testing"
)

// TestOnlyWhoReadsTheClusterCAAtItsStartIsRestarted: of who reads kubeadm's CA on control plane nodes, only
// kube-controller-manager keeps what it read at its start.
func TestOnlyWhoReadsTheClusterCAAtItsStartIsRestarted(t *testing.T) {
	t.Parallel()
	for _, s := range allKubeletSetups() {
		i := slices.IndexFunc(s.OtherTrustFiles, func(f OtherTrustFile) bool { return f.Path == KubeadmCA })
		if i < 0 {
			continue
		}
		row := s.OtherTrustFiles[i]
		if !strings.Contains(row.Reader, "kube-controller-manager reads it when it starts") || strings.Contains(row.Reader, "kube-apiserver and kube-controller-manager") {
			t.Errorf("%s: %s", row.Path, row.Reader)
		}
		if !strings.Contains(row.Remediation, "restart kube-controller-manager's static pod") {
			t.Errorf("%s: %s", row.Path, row.Remediation)
		}
		return
	}
	t.Error("no row about " + KubeadmCA)
}
