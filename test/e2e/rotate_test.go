package e2e

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/client-go/metadata"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

const (
	operatorNamespace = "openshift-kube-apiserver-operator"
	kubeletSigner     = "kube-apiserver-to-kubelet-signer"
)

// versionsIn are the resourceVersions of all Secrets and ConfigMaps.
func versionsIn(t *testing.T, lab *labtest.Lab) string {
	t.Helper()
	return lab.KubectlOutput(t, "get", "secrets,configmaps", "-A", "-o", `jsonpath={range .items[*]}{.metadata.uid} {.metadata.resourceVersion}{"\n"}{end}`)
}

// certificatesOf are those in a text of PEM, or of that in base64.
func certificatesOf(t *testing.T, text string) []*x509.Certificate {
	t.Helper()
	raw := []byte(text)
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
		raw = decoded
	}
	var out []*x509.Certificate
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

func signerIn(t *testing.T, lab *labtest.Lab, name string) *x509.Certificate {
	t.Helper()
	return certificatesOf(t, lab.KubectlOutput(t, "get", "secret", "-n", operatorNamespace, name, "-o", `jsonpath={.data.tls\.crt}`))[0]
}

// holds reports whether a ConfigMap holds a certificate.
func holds(t *testing.T, lab *labtest.Lab, namespace, name string, ca *x509.Certificate) bool {
	t.Helper()
	text := lab.KubectlOutput(t, "get", "configmap", "-n", namespace, name, "-o", `jsonpath={.data.ca-bundle\.crt}`)
	return slices.ContainsFunc(certificatesOf(t, text), ca.Equal)
}

// TestRotate rotates a signer that library-go's controllers keep, from the list to the
// bundles, and is refused where it must be.
func TestRotate(t *testing.T) {
	t.Parallel()
	lab := labtest.Temporary(t)
	w, err := bare(lab, t.TempDir())
	if err == nil {
		err = w.build()
	}
	if err != nil {
		t.Fatal(err)
	}
	all := t.TempDir()
	f := &fixing{w: w, lab: lab, all: all, state: filepath.Join(all, "first"), secret: &confidential{}}
	t.Cleanup(func() { f.journalsHide(t) })
	rotate := func(args ...string) result {
		t.Helper()
		return f.exec(t, f.here(t, append([]string{"rotate"}, args...)...))
	}
	secret := func() { // the signer's key of this moment
		key, err := base64.StdEncoding.DecodeString(lab.KubectlOutput(t, "get", "secret", "-n", operatorNamespace, kubeletSigner, "-o", `jsonpath={.data.tls\.key}`))
		if err != nil {
			t.Fatal(err)
		}
		f.secret.key("the key of "+kubeletSigner, key)
	}
	secret()
	old, before := signerIn(t, lab, kubeletSigner), versionsIn(t, lab)

	var list struct {
		Rotations []struct {
			Name, Rotates string
			Why           []struct{ Check, Holds string }
		}
	}
	r := rotate("--list", "-o", "json")
	ends(t, r, 0)
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil {
		t.Fatalf("--list -o json: %v: %.500s", err, r.stdout)
	}
	rotates := map[string]string{}
	for _, e := range list.Rotations {
		rotates[e.Name] = e.Rotates
	}
	for name, want := range map[string]string{kubeletSigner: "yes", "aggregator-client-signer": "yes", "loadbalancer-serving-signer": "no", "kubelet-client": "no", "etcd-signer": "no", "signing-key": "no"} {
		if rotates[name] != want {
			t.Errorf("--list says of %s %q, want %q", name, rotates[name], want)
		}
	}

	// What is no signer, and what is refused.
	ends(t, rotate("loadbalancer-serving-signer-key", "--yes"), 2, "loadbalancer-serving-signer-key", "rotate --list")
	ends(t, rotate("configmap/loadbalancer-serving-ca", "--yes"), 2, "no signer of the catalog")
	ends(t, rotate("etcd-signer", "--yes"), 5, "nothing was changed", "cluster-etcd-operator")
	ends(t, rotate("csr-signer", "--yes"), 2, "openshift-kube-controller-manager/csr-signer")
	ends(t, rotate("loadbalancer-serving-signer", "--yes"), 5, "reaches-verifiers", "safe order", "pretrust", "--accept-risk=reaches-verifiers")
	ends(t, rotate("kubelet-client", "--yes"), 5, "signer-age", "not old enough before")

	// A dry run, and nobody who could say yes.
	ends(t, rotate(kubeletSigner, "--dry-run=server"), 1, "- auth.openshift.io/certificate-not-after: "+old.NotAfter.UTC().Format("2006-01-02T15:04:05Z"), "kube-apiserver-client-ca", "/etc/kubernetes/kubelet-ca.crt")
	ends(t, rotate(kubeletSigner, "--dry-run=client", "-o", "yaml"), 1, "kind: RotationPlan")
	ends(t, rotate(kubeletSigner), 5, "nobody can be asked", "--yes")

	// Who may read everything and write nothing.
	lab.KubectlOutput(t, "create", "clusterrole", "reads-all", "--verb=get,list", "--resource=*.*")
	lab.KubectlOutput(t, "create", "clusterrolebinding", "reads-all", "--clusterrole=reads-all", "--user=reader")
	ends(t, rotate(kubeletSigner, "--yes", "--as=reader"), 5, "rbac", "nothing was changed", "kubectl auth can-i get,patch secret/"+kubeletSigner+" -n "+operatorNamespace)

	if after := versionsIn(t, lab); after != before {
		t.Fatalf("something was written:\n%s\nand before:\n%s", after, before)
	}

	// Somebody else writes the Secret after it was shown, or deletes it.
	client, err := metadata.NewForConfig(restOf(t, lab.Kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	of := catalog.Ref{Kind: catalog.Secret, Namespace: operatorNamespace, Name: "node-system-admin-signer"}
	shown, err := remediate.PlanRotation(t.Context(), client, of, catalog.AnnotationNotAfter)
	if err != nil {
		t.Fatal(err)
	}
	lab.KubectlOutput(t, "annotate", "secret", "-n", of.Namespace, of.Name, "somebody=else")
	if err := shown.Apply(t.Context(), nil, nil); !errors.Is(err, remediate.ErrChanged) {
		t.Errorf("it was written meanwhile: %v", err)
	}
	admin := signerIn(t, lab, of.Name)
	if shown, err = remediate.PlanRotation(t.Context(), client, of, catalog.AnnotationNotAfter); err != nil {
		t.Fatal(err)
	}
	shown.UID = "11111111-2222-3333-4444-555555555555" // that of one that was deleted, and made anew
	if err := shown.Apply(t.Context(), nil, nil); !errors.Is(err, remediate.ErrChanged) {
		t.Errorf("it is another one: %v", err)
	}
	if !admin.Equal(signerIn(t, lab, of.Name)) {
		t.Error("it was rotated all the same")
	}
	var refused *remediate.Refusal
	of.Name = "nobodys-signer"
	if _, err := remediate.PlanRotation(t.Context(), client, of, catalog.AnnotationNotAfter); !errors.As(err, &refused) || refused.Name != "there" {
		t.Errorf("it is not there: %v", err)
	}

	// Through, but for the time in which another owner may make one more. Without nodes it
	// is not known whether kubelets trust it.
	done := rotate(kubeletSigner, "--yes", "--wait", "30s")
	ends(t, done, 1, "done, and checked", "kube-apiserver-operator has made it anew", "… signer", "it counts if it is still there", "✓ bundle", "✓ aggregates", "? trust", "… leaf")
	secret()
	f.secret.leak(t, "rotate", done.said())
	young := signerIn(t, lab, kubeletSigner)
	if young.Equal(old) || !young.NotBefore.After(old.NotBefore) {
		t.Fatalf("%s is still %s", kubeletSigner, old.Subject)
	}
	for _, at := range [][2]string{{operatorNamespace, "kube-apiserver-to-kubelet-client-ca"}, {"openshift-kube-apiserver", "client-ca"}, {"openshift-config-managed", "kube-apiserver-client-ca"}} {
		for _, ca := range []*x509.Certificate{old, young} {
			if !holds(t, lab, at[0], at[1], ca) {
				t.Errorf("%s/%s lacks %s", at[0], at[1], ca.Subject)
			}
		}
	}
	leaf := certificatesOf(t, lab.KubectlOutput(t, "get", "secret", "-n", "openshift-kube-apiserver", "kubelet-client", "-o", `jsonpath={.data.tls\.crt}`))[0]
	if err := leaf.CheckSignatureFrom(old); err != nil {
		t.Errorf("what it signs was not to follow yet: %v", err)
	}

	ends(t, rotate("status", kubeletSigner), 1, "… leaf", "signed anew "+leaf.NotBefore.UTC().AddDate(0, 0, 15).Format("2006-01-02 15:04:05 MST"))
	ends(t, rotate("status", kubeletSigner, "-o", "json"), 1, `"kind": "RotationStatus"`)
	ends(t, rotate(kubeletSigner, "--yes"), 5, "chain-settled", "rotate status "+kubeletSigner)
	ends(t, f.exec(t, f.here(t, "undo", runOf(t, done))), 2, "can't be taken back")
}
