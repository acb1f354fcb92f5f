package identity

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
)

func TestCertificatesCarryOpenShiftsMarks(t *testing.T) {
	dir := t.TempDir()
	if err := pki.Mint(dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	objects, err := certificates(dir)
	if err != nil {
		t.Fatal(err)
	}
	label := map[string]string{}
	for _, o := range sent(t, objects) {
		id := o.Kind + " " + o.Metadata.Namespace + "/" + o.Metadata.Name
		if _, twice := label[id]; twice {
			t.Errorf("%s is there twice", id)
		}
		label[id] = o.Metadata.Labels[typeLabel]
		if o.Kind == "Secret" && o.Metadata.Annotations["auth.openshift.io/certificate-not-after"] == "" {
			t.Errorf("%s has no not-after", id)
		}
	}
	for id, want := range map[string]string{
		"Secret openshift-kube-apiserver-operator/loadbalancer-serving-signer":       "", // the installer's
		"Secret openshift-kube-apiserver-operator/localhost-recovery-serving-signer": "signer",
		"Secret openshift-kube-apiserver/internal-loadbalancer-serving-certkey":      "target",
		"Secret openshift-kube-controller-manager/csr-signer":                        "target",
		"ConfigMap openshift-kube-apiserver-operator/loadbalancer-serving-ca":        "ca-bundle",
		"ConfigMap openshift-config-managed/kube-apiserver-server-ca":                "",
	} {
		if got, ok := label[id]; !ok || got != want {
			t.Errorf("%s: there %v, label %q, want %q", id, ok, got, want)
		}
	}
}

func TestEveryNamespaceInUseIsMade(t *testing.T) {
	made := map[string]bool{}
	for _, o := range sent(t, namespaces()) {
		made[o.Metadata.Name] = true
	}
	var places []place
	places = append(places, secrets()...)
	places = append(places, bundles()...)
	places = append(places, aggregates()...)
	for _, p := range places {
		if !made[p.namespace] {
			t.Errorf("%s holds %s, and nobody makes it", p.namespace, strings.Join(p.names, ", "))
		}
	}
}

// What the API server serves by is taken from its own namespace, and a bundle that is
// in several is taken from one.
func TestComponentsGetEachCertificateFromOnePlace(t *testing.T) {
	from := map[string]string{}
	for path, name := range Consumed() {
		if from[name] != "" {
			t.Errorf("%s is taken from %s and from %s", name, from[name], path)
		}
		from[name] = path
	}
	for name, want := range map[string]string{
		pki.InternalServing:                       "/api/v1/namespaces/openshift-kube-apiserver/secrets/internal-loadbalancer-serving-certkey",
		pki.LoadBalancerSigner:                    "/api/v1/namespaces/openshift-kube-apiserver-operator/secrets/loadbalancer-serving-signer",
		"kube-apiserver-server-ca":                "/api/v1/namespaces/openshift-kube-apiserver/configmaps/kube-apiserver-server-ca",
		"client-ca":                               "/api/v1/namespaces/openshift-kube-apiserver/configmaps/client-ca",
		"serviceaccount-ca":                       "/api/v1/namespaces/openshift-kube-controller-manager/configmaps/serviceaccount-ca",
		"kube-controller-manager-client-cert-key": "/api/v1/namespaces/openshift-kube-controller-manager/secrets/kube-controller-manager-client-cert-key",
		"etcd-ca-bundle":                          "",
	} {
		if from[name] != want {
			t.Errorf("%s is taken from %q, want %q", name, from[name], want)
		}
	}
}

type sentObject struct {
	Kind     string
	Metadata struct {
		Namespace, Name     string
		Labels, Annotations map[string]string
	}
}

// sent is what the API server is sent.
func sent(t *testing.T, objects []object) []sentObject {
	t.Helper()
	text, err := json.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	var all []sentObject
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}
