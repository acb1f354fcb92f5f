package collect

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestStatusIsWhatACheckAsksFor: by what kind of cluster it is, with gaps, and without a key.
func TestStatusIsWhatACheckAsksFor(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ca := pkitest.NewCA("kube-csr-signer", now.AddDate(0, 0, -30), now.AddDate(0, 0, 30))
	encoded := base64.StdEncoding.EncodeToString
	api := podAPI{objects: map[string]object{
		"/api/v1/namespaces/openshift-kube-controller-manager/secrets/csr-signer":         {"data": map[string]any{"tls.crt": encoded(ca.CertPEM), "tls.key": encoded([]byte("sesame"))}},
		"/api/v1/namespaces/openshift-config-managed/configmaps/kube-apiserver-server-ca": {"metadata": map[string]any{"creationTimestamp": "2026-02-01T00:00:00Z"}, "data": map[string]any{"ca-bundle.crt": string(ca.CertPEM)}},
		"/api/v1/namespaces/openshift-multus/configmaps/kube-root-ca.crt":                 {"metadata": map[string]any{"creationTimestamp": "2026-02-01T00:00:00Z"}, "data": map[string]any{"ca.crt": string(ca.CertPEM)}},
		"/apis/config.openshift.io/v1/clusterversions":                                    {"items": []any{map[string]any{"metadata": map[string]any{"name": "version"}, "status": map[string]any{"conditions": []any{map[string]any{"type": "Progressing", "status": "True", "message": "ok (next: bash x)"}}}}}},
	}}
	api.pods = append(api.pods, aPod("openshift-multus", "multus-1", "worker-0"), aPod("kube-system", "etcd-master-0", "master-0"))
	openshift := inspect.Snapshot{Cluster: inspect.Cluster{Versions: catalog.Versions{Cluster: "4.15.0"}}}
	c := api.cluster(t)
	c.Now = func() time.Time { return now }
	s := c.Status(t.Context(), openshift)
	switch {
	case s.Read.IsZero() || s.ControlPlane == nil || s.ControlPlane.Update.Message != "“ok (next: bash x)”":
		t.Errorf("control plane: %+v", s.ControlPlane)
	case s.StaticPods != nil:
		t.Error("static pods are read, of which operators tell")
	case s.Signers == nil || !s.Signers.Signer.NotAfter.Equal(now.AddDate(0, 0, 30)) || !s.Signers.Signer.Asked.Equal(now) || s.Signers.Signer.Unread != "" || !strings.Contains(s.Signers.Source.Unread, "openshift-kube-controller-manager-operator/csr-signer"):
		t.Errorf("signers: %+v", s.Signers)
	case s.Network == nil || s.Network.Gap != nil || len(s.Network.Pods) != 1 || len(s.Network.Rollout.RootCAs) != 1 || s.Network.Unread != "":
		t.Errorf("network: %+v", s.Network)
	case !s.Published.Equal(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)):
		t.Errorf("published %s", s.Published)
	}
	var file bytes.Buffer
	if err := WriteSnapshot(&file, inspect.Snapshot{Status: s}); err != nil {
		t.Fatal(err)
	}
	r, _, err := gunzip(&file)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(r); err != nil || strings.Contains(text.String(), "sesame") || strings.Contains(text.String(), encoded([]byte("sesame"))) || !strings.Contains(text.String(), `"signers"`) {
		t.Errorf("%v: %s", err, &text)
	}

	plain := inspect.Snapshot{Cluster: inspect.Cluster{Versions: catalog.Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}}}
	if s := c.Status(t.Context(), plain); s.StaticPods == nil || len(s.StaticPods.Pods) != 1 || s.StaticPods.Gap != nil || s.Signers != nil || s.Network != nil {
		t.Errorf("plain: %+v", s)
	}
	api.fail = func(w http.ResponseWriter, r *http.Request) bool {
		forbidden := strings.HasSuffix(r.URL.Path, "/pods")
		if forbidden {
			refuse(w, r, http.StatusForbidden, "Forbidden", "")
		}
		return forbidden
	}
	c = api.cluster(t)
	if s := c.Status(t.Context(), plain); s.StaticPods == nil || s.StaticPods.Gap == nil || s.StaticPods.Gap.Reason == "" {
		t.Errorf("forbidden, plain: %+v", s.StaticPods)
	}
	if s := c.Status(t.Context(), openshift); s.Network == nil || s.Network.Gap == nil || s.Network.Gap.What != "pods" {
		t.Errorf("forbidden: %+v", s.Network)
	}
}
