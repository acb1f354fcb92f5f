package collect

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// places writes bundles as "location" or, of those that hold nothing, "location
// empty".
func places(bundles []inspect.Bundle) string {
	var out []string
	for _, b := range bundles {
		s := b.At.String()
		if b.Object == nil || b.Object.Name != b.At.Name {
			s += " without its object"
		}
		if b.Content.Empty() {
			s += " empty"
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// An object that must hold certificates and holds none is a fact, over the API
// and from a file alike.
func TestWhatMustHoldCertificatesAndDoesNot(t *testing.T) {
	t.Parallel()
	secret := func(data map[string][]byte) any {
		return &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s"}, Type: corev1.SecretTypeTLS, Data: data}
	}
	configMap := func(namespace, name string, data map[string]string) any {
		return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
	}
	opaque, _ := secret(map[string][]byte{"tls.crt": {}}).(*corev1.Secret)
	opaque.Type = corev1.SecretTypeOpaque
	for _, c := range []struct {
		name   string
		object any
		want   string
	}{
		{"a tls Secret with a certificate", secret(map[string][]byte{"tls.crt": caPEM(), "tls.key": {}}), "Secret/a/s[tls.crt]"},
		{"a tls Secret whose certificate is empty", secret(map[string][]byte{"tls.crt": {}, "tls.key": {}, "ca.crt": caPEM()}), "Secret/a/s[ca.crt], Secret/a/s[tls.crt] empty"},
		{"a tls Secret without the key of its certificate", secret(map[string][]byte{"ca.crt": caPEM()}), "Secret/a/s[ca.crt], Secret/a/s[tls.crt] empty"},
		{"a tls Secret whose certificate is some text", secret(map[string][]byte{"tls.crt": []byte("to be filled in by the pipeline")}), "Secret/a/s[tls.crt] empty"},
		{"an opaque Secret with an empty tls.crt", opaque, ""},
		{"a CA bundle of OpenShift's, emptied", configMap("openshift-config-managed", "kube-apiserver-server-ca", map[string]string{"ca-bundle.crt": ""}), "ConfigMap/openshift-config-managed/kube-apiserver-server-ca[ca-bundle.crt] empty"},
		{"a CA bundle of OpenShift's without data", configMap("openshift-config-managed", "kube-apiserver-server-ca", nil), "ConfigMap/openshift-config-managed/kube-apiserver-server-ca[ca-bundle.crt] empty"},
		{"a published copy, emptied", configMap("a", "kube-root-ca.crt", map[string]string{"ca.crt": ""}), "ConfigMap/a/kube-root-ca.crt[ca.crt] empty"},
		{"a bundle that an administrator keeps, empty", configMap("openshift-config", "user-ca-bundle", map[string]string{"ca-bundle.crt": ""}), ""},
		{"any other ConfigMap", configMap("a", "b", map[string]string{"ca-bundle.crt": ""}), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			kind := pki.Kind("Secret")
			if _, ok := c.object.(*corev1.ConfigMap); ok {
				kind = "ConfigMap"
			}
			wire, ok := c.object.(interface{ Marshal() ([]byte, error) })
			if !ok {
				t.Fatal("no protobuf")
			}
			item, err := wire.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			var read tally
			if err := (&Cluster{Scanner: pki.NewScanner()}).scanItem(kind, item, &read); err != nil {
				t.Fatal(err)
			}
			if got := places(read.page); got != c.want {
				t.Errorf("over the API: %q, want %q", got, c.want)
			}
			text, err := yaml.Marshal(c.object)
			if err != nil {
				t.Fatal(err)
			}
			file, ok := readObjects(pki.NewScanner(), text)
			if got := places(file.Bundles); !ok || got != c.want {
				t.Errorf("from a file: %q, want %q", got, c.want)
			}
		})
	}
}

func TestRedactedSecretIsUnknownNotEmpty(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"apiVersion: v1\nkind: Secret\nmetadata: {namespace: a, name: s}\ntype: kubernetes.io/tls\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {namespace: a, name: s}\ntype: kubernetes.io/tls\ndata: {tls.crt: '<removed>'}\n",
	} {
		m, ok := readObjects(pki.NewScanner(), []byte(text))
		if !ok || len(m.Bundles) > 0 || len(m.Gaps) != 1 || !strings.Contains(m.Gaps[0].Reason, "unknown") {
			t.Errorf("%s is read as %s, gaps %+v", text, places(m.Bundles), m.Gaps)
		}
	}
}
