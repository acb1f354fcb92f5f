package collect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestTheSignersCertificateIsRead: from when to when, and nothing of its key.
func TestTheSignersCertificateIsRead(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ca := pkitest.NewCA("kube-csr-signer", now.AddDate(0, 0, -30), now.AddDate(0, 0, 30))
	secret := corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": ca.CertPEM, "tls.key": []byte("sesame")}}
	at := catalog.CSRSigner()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/namespaces/openshift-kube-controller-manager/secrets/csr-signer" {
			refuse(w, r, http.StatusForbidden, metav1.StatusReasonForbidden, "")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(secret)
	}))
	defer server.Close()
	client, err := NewREST(&rest.Config{Host: server.URL, QPS: -1, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{REST: client, Scanner: pki.NewScanner(), Now: func() time.Time { return now }}
	s, err := c.Signer(t.Context(), at)
	if err != nil || s != (Signer{NotBefore: now.AddDate(0, 0, -30), NotAfter: now.AddDate(0, 0, 30), Asked: now}) {
		t.Errorf("%+v, %v", s, err)
	}
	if strings.Contains(fmt.Sprintf("%+v", s), "sesame") {
		t.Error("it has the key")
	}
	if _, err := c.Signer(t.Context(), catalog.CSRSignerSource()); err == nil || !strings.Contains(err.Error(), "openshift-kube-controller-manager-operator/csr-signer") {
		t.Errorf("forbidden: %v", err)
	}
	secret.Data["tls.crt"] = []byte("nothing")
	if _, err := c.Signer(t.Context(), at); err == nil || !strings.Contains(err.Error(), "holds no certificate") {
		t.Errorf("without a certificate: %v", err)
	}
}
