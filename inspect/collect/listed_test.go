package collect

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestWhatAMustGatherSListLacksIsAbsent: an optional ConfigMap that the cluster does not have
// is not "not read".
func TestWhatAMustGatherSListLacksIsAbsent(t *testing.T) {
	t.Parallel()
	const ns = "openshift-kube-apiserver"
	const configMaps, secrets = "mg/image/namespaces/" + ns + "/core/configmaps.yaml", "mg/image/namespaces/" + ns + "/core/secrets.yaml"
	optional := catalog.Ref{Kind: catalog.ConfigMap, Namespace: ns, Name: "user-client-ca", Key: "ca-bundle.crt"}
	secret := catalog.Ref{Kind: catalog.Secret, Namespace: ns, Name: "user-serving-cert-000", Key: "tls.crt"}
	ca := string(caPEM())
	other := list(configMapYAML(ns, "client-ca", "7", ca))
	for _, c := range []struct {
		name   string
		files  []string
		at     catalog.Ref
		absent bool
	}{
		{"its namespace's list was gathered", []string{configMaps, other}, optional, true},
		{"the list of another namespace was", []string{"mg/image/namespaces/a/core/configmaps.yaml", list(configMapYAML("a", "c", "7", ca))}, optional, false},
		{"the namespace's Secrets were, and no ConfigMaps", []string{secrets, list(secretYAML(ns, "s", "kubernetes.io/tls", "tls.crt", b64(ca)))}, optional, false},
		{"single objects were", []string{"mg/image/namespaces/" + ns + "/core/configmaps/client-ca.yaml", configMapYAML(ns, "client-ca", "7", ca)}, optional, false},
		{"the list breaks off", []string{configMaps, strings.TrimRight(other, "\n")[:len(other)-40]}, optional, false},
		{"one of the list can't be read", []string{configMaps, other + "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {}\n"}, optional, false},
		{"a value of the list was replaced by its length", []string{configMaps, list(configMapYAML(ns, "kube-root-ca.crt", "1", "7 bytes long"))}, optional, false},
		{"a Secret, its namespace's list was", []string{secrets, list(secretYAML(ns, "s", "kubernetes.io/tls", "tls.crt", b64(ca)))}, secret, true},
		{"a Secret among those with hidden values", []string{secrets, list(secretYAML(ns, "s", "kubernetes.io/tls", "tls.crt", b64(ca), "tls.key", b64("9 bytes long")))}, secret, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := readTarOf(t, append([]string{"mg/image/cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml", clusterVersionYAML("x", "4.15.0")}, c.files...)...)
			if got := inspect.NewFacts(s, s.Taken, 0).Absent(c.at); got != c.absent {
				t.Errorf("absent is %t; gaps %s", got, reasons(s.Gaps))
			}
			var file bytes.Buffer
			if err := WriteSnapshot(&file, s); err != nil {
				t.Fatal(err)
			}
			back, err := File{Path: "-", Stdin: &file, Scanner: pki.NewScanner()}.Read()
			if err != nil || inspect.NewFacts(back, s.Taken, 0).Absent(c.at) != c.absent {
				t.Errorf("a snapshot of it: %v, lists %s", err, cmp.Diff(s.Listed, back.Listed))
			}
		})
	}
	// What is made of it, too, is judged.
	s := readTarOf(t, "mg/image/cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml", clusterVersionYAML("x", "4.15.0"),
		configMaps, list(strings.ReplaceAll(configMapYAML(ns, "client-ca", "7", ca), "ca.crt:", "ca-bundle.crt:")),
		"mg/image/namespaces/openshift-config-managed/core/configmaps.yaml", list(strings.ReplaceAll(configMapYAML("openshift-config-managed", "csr-controller-ca", "7", ca), "ca.crt:", "ca-bundle.crt:")))
	made := inspect.NewFacts(s, s.Taken, 0).Aggregates()
	if len(made) == 0 {
		t.Fatal("client-ca is not seen as made of others")
	}
	for _, m := range made {
		if slices.ContainsFunc(m.Unread, func(r catalog.Ref) bool { return r.Name == optional.Name }) {
			t.Errorf("%v: not read: %v", m.At, m.Unread)
		}
	}
}

// TestWhatASelectorLeftOutIsNotAbsent: a list of some objects is no list of all.
func TestWhatASelectorLeftOutIsNotAbsent(t *testing.T) {
	t.Parallel()
	secret := catalog.Ref{Kind: catalog.Secret, Namespace: "shop", Name: "tls", Key: "tls.crt"}
	everything, err := ParseResource("secrets")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, namespace, selector string
		forbidden                 bool
		absent                    bool
	}{
		{"the whole cluster", "", "", false, true},
		{"the whole cluster, by label", "", "app=x", false, false},
		{"one namespace", "shop", "", false, true},
		{"one namespace, by label", "shop", "app=x", false, false},
		{"another namespace", "other", "", false, false},
		{"the whole cluster, by field", "", "metadata.name=x", false, false},
		{"one namespace, by field", "shop", "metadata.name=x", false, false},
		{"namespace by namespace, by field", "", "metadata.name=x", true, false},
		{"namespace by namespace", "", "", true, true},
		{"namespace by namespace, by label", "", "app=x", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var err error
			scope := Scope{Resources: everything, Namespace: c.namespace}
			if strings.HasPrefix(c.selector, "metadata.") {
				if scope.Fields, err = ParseFields(c.selector, everything); err != nil {
					t.Fatal(err)
				}
			} else if c.selector != "" {
				scope.Selector = labels.SelectorFromSet(labels.Set{"app": "x"})
			}
			api := &secretsAPI{forbidden: c.forbidden}
			s := All(t.Context(), liveCluster(t, api, scope).Sources()...)
			if got := inspect.NewFacts(s, s.Taken, 0).Absent(secret); got != c.absent {
				t.Errorf("absent is %t; reads %s, gaps %s", got, notes(s.Reads), reasons(s.Gaps))
			}
		})
	}
}

// secretsAPI is an API server, named as a fake, that has no Secret in its one namespace.
type secretsAPI struct{ forbidden bool }

func (a *secretsAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/api/v1/namespaces":
		answer(w, r, http.StatusOK, &corev1.NamespaceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}, Items: []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}}})
	case r.URL.Path == "/api/v1/secrets" && a.forbidden:
		refuse(w, r, http.StatusForbidden, metav1.StatusReasonForbidden, "")
	case strings.HasSuffix(r.URL.Path, "/secrets"):
		answer(w, r, http.StatusOK, &corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}})
	default:
		refuse(w, r, http.StatusNotFound, metav1.StatusReasonNotFound, "")
	}
}
