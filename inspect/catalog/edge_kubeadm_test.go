package catalog

import "testing"

// TestKubeadmsKubeletsReadTheirCertificate: from 1.31 on, they do while they run.
func TestKubeadmsKubeletsReadTheirCertificate(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]ReloadPolicy{"v1.30.9": ReloadAtStart, "v1.31.0": ReloadOnChange, "v1.35.4": ReloadOnChange} {
		var got []ReloadPolicy
		for _, s := range kubeadmServers() {
			if s.Listener.Name == "kubelet" && s.In.Holds(Versions{Kubernetes: version, NotOpenShift: true}) == Yes {
				got = append(got, s.Certs[0].Reload)
			}
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v, want %s", version, got, want)
		}
	}
}
