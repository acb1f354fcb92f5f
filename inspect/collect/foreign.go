package collect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// longestRetry is how long client-go waits at most before it asks once more, in seconds: a server, or a proxy before it,
// may say days, and no time limit of a request ends that.
const longestRetry = 5

// maxStatus bounds what is read of a refusal, in bytes.
const maxStatus = 64 << 10

// MarkErrors makes what an API server says of a failure one marked line, in all errors of
// the clients of a configuration: an aggregated API, a webhook, or who answers in the API
// server's place, chooses that text. A refusal that says nothing says its status. Answers that are
// too large end with an error.
func MarkErrors(config *rest.Config) {
	known := runtime.NewScheme()
	metav1.AddToGroupVersion(known, schema.GroupVersion{Version: "v1"})
	decoder := serializer.NewCodecFactory(known).UniversalDeserializer()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return markedTransport{next, decoder} })
}

type markedTransport struct {
	next    http.RoundTripper
	decoder runtime.Decoder
}

// WrappedRoundTripper lets client-go look through it.
func (t markedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip marks the error of the connection, too: a certificate's names are in it.
func (t markedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if err != nil {
		return answer, foreign.Error(err)
	}
	bound(r, answer)
	if wait, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && wait > longestRetry {
		answer.Header.Set("Retry-After", strconv.Itoa(longestRetry))
	}
	if to := answer.Header.Get("Location"); to != "" && answer.StatusCode/100 == 3 {
		_ = answer.Body.Close() // it is of no use
		return nil, &redirectedError{answer.StatusCode, to}
	}
	switch {
	case answer.StatusCode >= http.StatusBadRequest:
		t.mark(answer, func(begin []byte) (string, []byte) { return t.refusal(answer, begin) })
	case answer.StatusCode == http.StatusOK && r.URL.Query().Get("watch") == "" && isDocument(answer):
		t.mark(answer, t.disguised)
	}
	return answer, nil
}

// redirectedError is an answer that sends the client to another server. No API server does so
// (CVE-2022-3172), and net/http would take the credentials there.
type redirectedError struct {
	code int
	to   string
}

func (e *redirectedError) Error() string {
	to := "elsewhere"
	if u, err := url.Parse(e.to); err == nil && u.Host != "" {
		to = "to " + foreign.Text(u.Scheme+"://"+u.Host)
	}
	return fmt.Sprintf("the server answers %d and sends certrot %s: not followed, for your credentials would go there. Is it an API server? See the server in your kubeconfig", e.code, to)
}

// isDocument reports whether an answer is an object of the API's, and no log or stream.
func isDocument(answer *http.Response) bool {
	kind := answer.Header.Get("Content-Type")
	return strings.HasPrefix(kind, runtime.ContentTypeJSON) || strings.HasPrefix(kind, runtime.ContentTypeProtobuf)
}

// mark replaces a body, if its beginning gives another one. What is longer is passed on.
func (t markedTransport) mark(answer *http.Response, replace func(begin []byte) (kind string, body []byte)) {
	begin, err := io.ReadAll(io.LimitReader(answer.Body, maxStatus))
	if kind, body := replace(begin); err == nil && body != nil {
		_ = answer.Body.Close() // the rest is of no use
		answer.Header.Set("Content-Type", kind)
		answer.Header.Set("Content-Length", strconv.Itoa(len(body)))
		answer.ContentLength, answer.Body = int64(len(body)), io.NopCloser(bytes.NewReader(body))
		return
	}
	answer.Body = &resumed{io.MultiReader(bytes.NewReader(begin), failedRead{err}, answer.Body), answer.Body}
}

type resumed struct {
	io.Reader
	io.Closer
}

// failedRead ends with an error, or with nothing.
type failedRead struct{ err error }

func (f failedRead) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

// refusal is the body of an answer that refuses.
func (t markedTransport) refusal(answer *http.Response, body []byte) (kind string, marked []byte) {
	if s := t.status(body); s != nil {
		return t.written(s, answer)
	}
	text := strings.HasPrefix(answer.Header.Get("Content-Type"), "text/")
	switch said := foreign.Text(strings.TrimSpace(string(body))); {
	case text && said != "":
		return "text/plain", []byte(said)
	case answer.StatusCode == http.StatusForbidden: // of which client-go says "unknown"
		return t.written(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden}, answer)
	case len(body) == maxStatus:
		return "text/plain", []byte(silent(answer.StatusCode))
	}
	return "", nil
}

// disguised is the body of an answer that says OK, and holds a failure: clients take it for
// the error.
func (t markedTransport) disguised(body []byte) (kind string, marked []byte) {
	if len(body) == maxStatus || !bytes.Contains(body, []byte("Status")) {
		return "", nil
	}
	if s := t.status(body); s != nil && s.Status != metav1.StatusSuccess {
		return t.written(s, &http.Response{StatusCode: int(s.Code)})
	}
	return "", nil
}

// status is the Status that a body holds; nil: it is none.
func (t markedTransport) status(body []byte) *metav1.Status {
	object, _, err := t.decoder.Decode(body, nil, nil)
	if err != nil {
		return nil
	}
	s, _ := object.(*metav1.Status)
	return s
}

// written is a Status with its texts marked.
func (t markedTransport) written(s *metav1.Status, answer *http.Response) (kind string, body []byte) {
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	if s.Message = foreign.Text(s.Message); s.Message == "" {
		s.Message = silent(answer.StatusCode)
	}
	s.Reason = metav1.StatusReason(foreign.Text(string(s.Reason)))
	if d := s.Details; d != nil {
		d.Name, d.Kind, d.Group = foreign.Text(d.Name), foreign.Text(d.Kind), foreign.Text(d.Group)
		for i := range d.Causes {
			d.Causes[i].Message, d.Causes[i].Field = foreign.Text(d.Causes[i].Message), foreign.Text(d.Causes[i].Field)
		}
	}
	body, err := json.Marshal(s)
	if err != nil {
		return "", nil
	}
	return runtime.ContentTypeJSON, body
}

// silent is what is said of a refusal without a word.
func silent(code int) string {
	return strings.TrimSpace(fmt.Sprintf("the server answered %d %s", code, http.StatusText(code))) + ", without a reason"
}
