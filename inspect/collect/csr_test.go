package collect

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestTheRequestIsTheOneThatIsSigned: the API server and signers read the first PEM block. What
// a lenient reader finds before it is a decoy.
func TestTheRequestIsTheOneThatIsSigned(t *testing.T) {
	t.Parallel()
	decoy, _ := pkitest.Request("system:node:worker-1")
	request, _ := pkitest.Request("alice")
	lines := strings.Split(strings.TrimSpace(string(decoy)), "\n")
	for name, c := range map[string]struct {
		text, bad string
		none      bool
	}{
		"alone":           {text: string(request)},
		"with blanks":     {text: "\n" + string(request) + "\n\n"},
		"indented before": {text: " " + strings.Join(lines, "\n ") + "\n" + string(request), bad: "beside"},
		"base64 before":   {text: base64.StdEncoding.EncodeToString(decoy) + "\n" + string(request), bad: "beside"},
		"escaped before":  {text: strings.Join(lines, `\n`) + "\n" + string(request), bad: "beside"},
		"glued before":    {text: "x" + string(decoy) + string(request), bad: "beside"},
		"behind":          {text: string(request) + string(decoy), bad: "beside"},
		"bare base64":     {text: base64.StdEncoding.EncodeToString(request), bad: "no certificate request", none: true},
		"another label":   {text: strings.ReplaceAll(string(request), "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"), bad: "no certificate request", none: true},
		"no DER":          {text: string(bytes.Replace(request, []byte("\nMI"), []byte("\nAA"), 1)), bad: "can't be parsed", none: true},
	} {
		r, bad := requestOf([]byte(c.text))
		if (c.bad == "") != (bad == "") || !strings.Contains(bad, c.bad) {
			t.Errorf("%s: %q, want %q", name, bad, c.bad)
		}
		if (r == nil) != c.none || r != nil && r.Subject != "CN=alice" {
			t.Errorf("%s: read %+v", name, r)
		}
	}
}

// TestALargeRequestIsNotParsed: any user who is authenticated makes some of 1 MB, with 500,000 names each.
//
// Not in parallel: it measures.
func TestALargeRequestIsNotParsed(t *testing.T) {
	const size = 2 * pki.MaxRequest
	request, _ := pkitest.Request("alice", pkitest.DNS(slices.Repeat([]string{"x"}, size/3)...))
	if len(request) < size {
		t.Fatalf("it has %d bytes", len(request))
	}
	var r *pki.Request
	var bad string
	if n := testing.AllocsPerRun(1, func() { r, bad = requestOf(request) }); n > 100 {
		t.Errorf("%v allocations", n)
	}
	if want := fmt.Sprintf("spec.request was not read: it has %d bytes", len(request)); r != nil || bad != want {
		t.Errorf("read: %t, %q", r != nil, bad)
	}
	few, _ := pkitest.Request("alice", pkitest.DNS(slices.Repeat([]string{"x.example.com"}, 1000)...))
	if r, bad := requestOf(few); r == nil || bad != "" || len(r.Names.DNS) != 1000 {
		t.Errorf("one with a thousand names: %q", bad)
	}
}

// TestLargeRequestsTakeNoMemory: a worker's kubelet makes requests of 1.4 MB each, most of it labels.
func TestLargeRequestsTakeNoMemory(t *testing.T) { //nolint:paralleltest // it measures memory
	const requests = 40
	csr := certificatesapi.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "csr-1", Labels: map[string]string{}}}
	for i := range 4300 {
		csr.Labels[fmt.Sprintf("%s.example.com/%058d", strings.Repeat("a.", 100), i)] = "b"
	}
	csr.Spec.Request, csr.Spec.Username = make([]byte, 200_000), "system:node:worker-9"
	wire, err := csr.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(csr)
	if err != nil {
		t.Fatal(err)
	}
	for form, c := range map[string]*Cluster{
		"protobuf": sameItems(t, wire, requests),
		"JSON": writing(t, func(w io.Writer) { // as behind a proxy that knows no protobuf
			_, _ = fmt.Fprintf(w, `{"items":[%s`, text)
			for range requests - 1 {
				_, _ = fmt.Fprintf(w, ",%s", text)
			}
			_, _ = io.WriteString(w, "]}")
		}),
	} {
		var found inspect.Snapshot
		most := inspecttest.MostInObjects(func() { found = merge(c.signingRequests(t.Context())) })
		t.Logf("%s: at most %d MB for %d requests of %d bytes", form, most, len(found.Requests), len(wire))
		if len(found.Requests) != requests || len(found.Gaps) > 0 || found.Requests[0].Requester != "system:node:worker-9" || most > 40 {
			t.Errorf("%s: %d requests, %d MB, gaps %v", form, len(found.Requests), most, found.Gaps)
		}
	}
}

// TestKeptFieldsOfARequestAreEnough: what is read of a request is the same where only that is decoded.
func TestKeptFieldsOfARequestAreEnough(t *testing.T) {
	t.Parallel()
	at := metav1.NewTime(time.Unix(1.7e9, 0))
	text, _ := pkitest.Request("alice")
	for _, state := range []certificatesapi.RequestConditionType{"", certificatesapi.CertificateApproved, certificatesapi.CertificateDenied, certificatesapi.CertificateFailed} {
		csr := &certificatesapi.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", CreationTimestamp: at, Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"cert-manager.io/c": "d", "e": "f"}},
			Spec:       certificatesapi.CertificateSigningRequestSpec{Request: text, SignerName: "example.com/s", Username: "alice", Groups: []string{"g"}, Usages: []certificatesapi.KeyUsage{"client auth"}},
			Status:     certificatesapi.CertificateSigningRequestStatus{Certificate: caPEM()},
		}
		if state != "" {
			csr.Status.Conditions = []certificatesapi.CertificateSigningRequestCondition{
				{Type: certificatesapi.CertificateApproved, Status: corev1.ConditionFalse, Reason: "r", Message: "not so", LastTransitionTime: at},
				{Type: state, Status: corev1.ConditionTrue, Reason: "r", Message: "why", LastUpdateTime: at, LastTransitionTime: metav1.NewTime(at.Add(time.Hour))},
			}
		}
		wire, err := csr.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		slim, err := decodeKept[certificatesapi.CertificateSigningRequest](wire, keptOfRequest())
		if err != nil || slim.Spec.Groups != nil {
			t.Fatalf("%v, %v", err, slim)
		}
		sc := pki.NewScanner()
		want, issued := signingRequest(sc, csr)
		got, same := signingRequest(sc, slim)
		if !reflect.DeepEqual(want, got) || !reflect.DeepEqual(issued, same) || len(issued) != 1 {
			t.Errorf("%s: %+v, want %+v", state, got, want)
		}
	}
}

// TestAListThatIsNullIsEmpty: some servers, and proxies, write a list without items so.
func TestAListThatIsNullIsEmpty(t *testing.T) {
	t.Parallel()
	c := writing(t, func(w io.Writer) { _, _ = io.WriteString(w, `{"metadata":{},"items":null}`) })
	for what, read := range map[string]func(context.Context) part{"requests": c.signingRequests, "CRDs": c.customResourceDefinitions, "webhooks": c.webhooks("validatingwebhookconfigurations")} {
		if s := merge(read(t.Context())); len(s.Gaps) > 0 {
			t.Errorf("%s: %v", what, s.Gaps)
		}
	}
	if _, err := readJSONItems[int](json.NewDecoder(strings.NewReader(`7`)), 1); err == nil {
		t.Error("a number is a list")
	}
}
