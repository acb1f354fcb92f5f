package catalog

import (
	"strings"
	"testing"
)

// TestWhatFourTwentyThreeBrought: these places and words are of 4.23 and 5.0, and not of 4.22.
func TestWhatFourTwentyThreeBrought(t *testing.T) {
	t.Parallel()
	revision := "/etc/kubernetes/static-pod-resources/kube-apiserver-pod-7/secrets/encryption-config/kms-plugin-configmap-1_ca-bundle.crt-1"
	for _, version := range []string{"4.22.9", "4.23.1", "5.0.1"} {
		v, want := Versions{Cluster: version}, version != "4.22.9"
		for _, o := range []struct{ kind, namespace, name, key, owner string }{
			{Route, "openshift-console", "console-intern", "spec.tls.certificate", "an entry of Ingress"},
			{Secret, "openshift-machine-api", "metal3-ironic-tls", "ca.crt", "metal3-image-cache"},
			{ConfigMap, "openshift-authentication", "v4-0-config-system-auth-proxy-ca", "ca-bundle.crt", "a proxy of its own"},
			{File, "", revision, "", "verifies Vault"},
		} {
			p, ok := Lookup(o.kind, o.namespace, o.name, o.key, v)
			if got := ok && strings.Contains(p.Doc, o.owner); got != want {
				t.Errorf("%s in %s: %v, %q", o.name, version, ok, p.Doc)
			}
		}
		if p, ok := Lookup(Route, "openshift-console", "console", "spec.tls.certificate", v); !ok || !strings.Contains(p.Doc, "default one") {
			t.Errorf("%s: the console's own Route: %q", version, p.Doc)
		}
		if row, known := staticPodInputOf(secret(kasTarget, "encryption-config"), v); (known == Yes && row.Rollout) != want {
			t.Errorf("%s: a new encryption-config is a new revision: %s", version, known)
		}
	}
}
