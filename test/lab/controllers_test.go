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
	"strings"
	"testing"

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
