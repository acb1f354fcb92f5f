//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// The controller manager is a real one: it undoes what others write there.
func TestRootCAConfigMapIsPutBack(t *testing.T) {
	lab := labtest.Require(t)
	get := []string{"-n", "openshift-multus", "get", "configmap", "kube-root-ca.crt", "-o", `jsonpath={.data.ca\.crt}`}
	want := lab.KubectlOutput(t, get...)
	lab.KubectlOutput(t, "-n", "openshift-multus", "patch", "configmap", "kube-root-ca.crt", "--patch", `{"data":{"ca.crt":"patched"}}`)
	eventually(t, "kube-root-ca.crt is as before the patch", func() bool { return lab.KubectlOutput(t, get...) == want })
}

// OpenShift's own controllers keep the certificates, and what they make is served.
func TestACertificateWithoutItsAnnotationIsRenewedAndServed(t *testing.T) {
	lab := labtest.Require(t)
	const name = "localhost-recovery-serving-certkey"
	signer := secretCert(t, lab, operatorNamespace, "localhost-recovery-serving-signer")
	before := secretCert(t, lab, apiserverNamespace, name)
	lab.KubectlOutput(t, "-n", apiserverNamespace, "annotate", "secret", name, notAfter+"-")

	var after *x509.Certificate
	eventually(t, "there is another certificate", func() bool {
		after = secretCert(t, lab, apiserverNamespace, name)
		return !after.Equal(before)
	})
	if err := after.CheckSignatureFrom(signer); err != nil || !slices.Equal(after.DNSNames, before.DNSNames) {
		t.Errorf("it is for %v, want %v; signed by its signer: %v", after.DNSNames, before.DNSNames, err)
	}
	escaped := strings.ReplaceAll(notAfter, ".", `\.`)
	if got := lab.KubectlOutput(t, "-n", apiserverNamespace, "get", "secret", name, "-o", "jsonpath={.metadata.annotations."+escaped+"}"); got != after.NotAfter.UTC().Format(time.RFC3339) {
		t.Errorf("the annotation is %q, want %s", got, after.NotAfter)
	}
	eventually(t, "the API server serves it", func() bool {
		got, err := handshake(t.Context(), apiAddress(t, lab), pki.RecoveryHost, poolOf(signer))
		return err == nil && got.Equal(after)
	})
	if !secretCert(t, lab, operatorNamespace, "localhost-recovery-serving-signer").Equal(signer) {
		t.Error("its signer is another, too")
	}
}

func TestABundleIsPutBackToItsParts(t *testing.T) {
	lab := labtest.Require(t)
	for _, place := range []struct{ namespace, name string }{
		{apiserverNamespace, "kube-apiserver-server-ca"},         // combined
		{"openshift-config-managed", "kube-apiserver-server-ca"}, // copied
	} {
		get := []string{"-n", place.namespace, "get", "configmap", place.name, "-o", "jsonpath={.data}"}
		want := lab.KubectlOutput(t, get...)
		lab.KubectlOutput(t, "-n", place.namespace, "patch", "configmap", place.name, "--patch", `{"data":{"patched":"by a test"}}`)
		eventually(t, place.namespace+"/"+place.name+" is as before the patch", func() bool { return lab.KubectlOutput(t, get...) == want })
	}
}

// Kubelets, and multus after them, get their certificates in this way.
func TestSigningRequestsAreSignedByCSRSigner(t *testing.T) {
	lab := labtest.Require(t)
	const name = "signed-in-a-test"
	create := lab.OnHost(t.Context(), "kubectl", "create", "-f", "-")
	create.Stdin = strings.NewReader(signingRequest(t, name))
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("create a signing request: %v\n%s", err, out)
	}
	defer lab.KubectlOutput(t, "delete", "csr", name)
	lab.KubectlOutput(t, "certificate", "approve", name)

	var signed string
	eventually(t, "the request is signed", func() bool {
		signed = lab.KubectlOutput(t, "get", "csr", name, "-o", "jsonpath={.status.certificate}")
		return signed != ""
	})
	text, err := base64.StdEncoding.DecodeString(signed)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if err := cert.CheckSignatureFrom(secretCert(t, lab, "openshift-kube-controller-manager", "csr-signer")); err != nil {
		t.Errorf("the certificate is not signed by csr-signer: %v", err)
	}
}

func signingRequest(t *testing.T, name string) string {
	t.Helper()
	return signingRequestOf(t, name, "kubernetes.io/kube-apiserver-client", &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}})
}

func signingRequestOf(t *testing.T, name, signer string, template *x509.CertificateRequest) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	usage := "client auth"
	if strings.HasSuffix(signer, "-serving") {
		usage = "server auth"
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"signerName": signer,
			"usages":     []string{"digital signature", usage},
			"request":    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
