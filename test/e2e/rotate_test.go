//go:build linux

package e2e

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"slices"
	"testing"

	"k8s.io/client-go/metadata"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
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

// refusals is all that is refused before anything is rotated, and changes nothing.
func (s *rotating) refusals(t *testing.T) {
	lab, rotate := s.lab, func(args ...string) result { t.Helper(); return s.rotate(t, args...) }
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
	ends(t, rotate("etcd-signer", "--yes"), 5, "nothing was changed", "rotate etcd-signer --explain")
	ends(t, rotate("csr-signer", "--yes"), 2, "openshift-kube-controller-manager/csr-signer")
	ends(t, rotate("loadbalancer-serving-signer", "--yes"), 5, "reaches-verifiers", "safe order", "pretrust", "--accept-risk=reaches-verifiers")
	ends(t, rotate("kubelet-client", "--yes"), 5, "signer-age", "not old enough before")

	// A dry run, and no user who could say yes.
	removed := "- auth.openshift.io/certificate-not-after: " + old.NotAfter.UTC().Format("2006-01-02T15:04:05Z")
	ends(t, rotate(kubeletSigner, "--dry-run=server"), 1, removed, "/etc/kubernetes/kubelet-ca.crt", "next ", "rotate "+kubeletSigner)
	ends(t, rotate(kubeletSigner, "--dry-run=server", "--details"), 1, removed, "kube-apiserver-client-ca", "/etc/kubernetes/kubelet-ca.crt")
	ends(t, rotate(kubeletSigner, "--dry-run=client", "-o", "yaml"), 1, "kind: RotationPlan")
	ends(t, rotate(kubeletSigner), 5, "no terminal to ask for confirmation", "--yes")

	// Who may read everything and write nothing.
	lab.KubectlOutput(t, "create", "clusterrole", "reads-all", "--verb=get,list", "--resource=*.*")
	lab.KubectlOutput(t, "create", "clusterrolebinding", "reads-all", "--clusterrole=reads-all", "--user=reader")
	ends(t, rotate(kubeletSigner, "--yes", "--as=reader"), 5, "rbac", "nothing was changed", "kubectl auth can-i patch secret/"+kubeletSigner+" -n "+operatorNamespace)

	if after := versionsIn(t, lab); after != before {
		t.Fatalf("something was written:\n%s\nand before:\n%s", after, before)
	}

	// Another user writes the Secret after it was displayed, or deletes it.
	client, err := metadata.NewForConfig(restOf(t, lab.Kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	of := catalog.Ref{Kind: catalog.Secret, Namespace: operatorNamespace, Name: "node-system-admin-signer"}
	shown, err := action.PlanRotation(t.Context(), client, of, catalog.AnnotationNotAfter, inspect.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	lab.KubectlOutput(t, "annotate", "secret", "-n", of.Namespace, of.Name, "somebody=else")
	if err := shown.Apply(t.Context(), nil, nil); !errors.Is(err, remediate.ErrChanged) {
		t.Errorf("it was written meanwhile: %v", err)
	}
	admin := signerIn(t, lab, of.Name)
	if shown, err = action.PlanRotation(t.Context(), client, of, catalog.AnnotationNotAfter, inspect.Hints{}); err != nil {
		t.Fatal(err)
	}
	shown.UID = "11111111-2222-3333-4444-555555555555" // that of one that was deleted, and made again
	if err := shown.Apply(t.Context(), nil, nil); !errors.Is(err, remediate.ErrChanged) {
		t.Errorf("it is another one: %v", err)
	}
	if !admin.Equal(signerIn(t, lab, of.Name)) {
		t.Error("it was rotated all the same")
	}
	var refused *remediate.Refusal
	of.Name = "nobodys-signer"
	if _, err := action.PlanRotation(t.Context(), client, of, catalog.AnnotationNotAfter, inspect.Hints{}); !errors.As(err, &refused) || refused.Name != "there" {
		t.Errorf("it is not there: %v", err)
	}
}
