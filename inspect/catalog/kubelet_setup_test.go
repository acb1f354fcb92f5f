package catalog

import (
	"strings"
	"testing"
)

// TestTwoCAsNeedASigningFileOfTheirOwn: kubeadm gives kube-controller-manager the cluster's CA as
// --cluster-signing-cert-file, too, and with two certificates there it signs nothing, and does not start.
func TestTwoCAsNeedASigningFileOfTheirOwn(t *testing.T) {
	t.Parallel()
	rightOrder := func(text string) bool {
		last := -1
		for _, part := range []string{"first give --cluster-signing-cert-file a file of its own", "/etc/kubernetes/pki/ca-signing.crt", "/etc/kubernetes/manifests/kube-controller-manager.yaml", "Then append the CA", "restart kube-controller-manager's static pod"} {
			at := strings.Index(text, part)
			if at <= last {
				return false
			}
			last = at
		}
		return true
	}
	for _, role := range []string{RoleMaster, "", RoleArbiter, RoleWorker} {
		master := role == RoleMaster || role == ""
		if got := AppendCA(KubeadmCA, role); rightOrder(got) != master {
			t.Errorf("%q: %s", role, got)
		}
		if got := AppendCA("/etc/other.crt", role); got != "append the CAs to /etc/other.crt" {
			t.Errorf("%q: %s", role, got)
		}
		rows := 0
		for _, s := range allKubeletSetups() {
			for _, f := range s.OtherTrustFiles {
				if f.Path != KubeadmCA || !f.For(role) {
					continue
				}
				rows++
				if rightOrder(f.Remediation) != master || strings.Contains(f.Reader, "signs requests with it, at once (--cluster-signing-cert-file)") != master || strings.Contains(f.Remediation, "restart") != master {
					t.Errorf("%q: %s: %s", role, f.Reader, f.Remediation)
				}
			}
		}
		if rows != 1 {
			t.Errorf("%q: %d rows", role, rows)
		}
	}
	for _, s := range allKubeletSetups() {
		if s.Name == "kubeadm" && !rightOrder(s.CARemediation) {
			t.Error(s.CARemediation)
		}
		for _, f := range s.OtherTrustFiles {
			if strings.HasSuffix(f.Path, "controller-manager.conf") && !strings.Contains(f.Remediation, "once --cluster-signing-cert-file names a file with one certificate, restart") {
				t.Error(f.Remediation)
			}
		}
	}
}
