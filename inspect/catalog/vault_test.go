package catalog

import "testing"

// TestVaultCA: the CAs of Vault are in no version that has no sidecar for it, and their copies of
// static pods' revisions are told from them.
func TestVaultCA(t *testing.T) {
	t.Parallel()
	const key = "kms-plugin-configmap-vault-ca_ca-bundle.crt-1"
	for version, want := range map[string]bool{"4.22.1": false, "4.23.0": true} {
		for namespace, name := range map[string]string{kasTarget: "encryption-config", "openshift-apiserver": "encryption-config-7", "openshift-oauth-apiserver": "encryption-config-7"} {
			if p, ok := Lookup(Secret, namespace, name, key, Versions{Cluster: version}); ok != want || ok && p.Role != CABundle {
				t.Errorf("%s: %s/%s: %t %s", version, namespace, name, ok, p.Role)
			}
			if _, ok := Lookup(Secret, namespace, name, "encryption-config", Versions{Cluster: version}); ok {
				t.Errorf("%s: %s/%s: a row for what is no certificate", version, namespace, name)
			}
		}
	}
	if base, revision, ok := RevisionOf(Secret, kasTarget, "encryption-config-12"); base != "encryption-config" || revision != 12 || !ok {
		t.Errorf("%s %d %t", base, revision, ok)
	}
}
