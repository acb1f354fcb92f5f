package collect

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// flaky is a stand-in for an API server that fails on demand: a real one can't
// be made to fail in the middle of a list at will. It serves lists of Secrets
// in pages; what real servers answer is tested in test/e2e.
type flaky struct {
	mu      sync.Mutex
	secrets int
	// fail answers a request instead of the server; nil or false: the server
	// answers. n counts the requests for this path, from 1.
	fail  func(w http.ResponseWriter, r *http.Request, n int) bool
	seen  map[string]int
	limit []string
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	if f.seen == nil {
		f.seen = map[string]int{}
	}
	f.seen[r.URL.Path]++
	n := f.seen[r.URL.Path]
	if strings.HasSuffix(r.URL.Path, "/secrets") {
		f.limit = append(f.limit, r.URL.Query().Get("limit"))
	}
	f.mu.Unlock()
	if f.fail != nil && f.fail(w, r, n) {
		return
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/secrets"):
		f.page(w, r)
	case r.URL.Path == "/api/v1/namespaces":
		answer(w, r, http.StatusOK, &corev1.NamespaceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"},
			Items: []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}}})
	default:
		refuse(w, r, http.StatusNotFound, metav1.StatusReasonNotFound, "")
	}
}

// page serves the Secrets from the continue token (a number) on.
func (f *flaky) page(w http.ResponseWriter, r *http.Request) {
	start, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || limit == 0 {
		limit = f.secrets
	}
	end := min(start+limit, f.secrets)
	list := &corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	if left := int64(f.secrets - end); left > 0 {
		list.Continue, list.RemainingItemCount = strconv.Itoa(end), &left
	}
	for i := start; i < end; i++ {
		list.Items = append(list.Items, corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprintf("s-%d", i)}, Data: map[string][]byte{"tls.crt": caPEM()},
		})
	}
	answer(w, r, http.StatusOK, list)
}

// caPEM is one CA: a key for each of 1200 Secrets took a busy machine longer than a
// request may take.
var caPEM = sync.OnceValue(func() []byte {
	return pkitest.NewCA("ca", time.Unix(1.7e9, 0).UTC(), time.Unix(1.8e9, 0).UTC()).CertPEM
})

// answer encodes as the request asks: protobuf or JSON.
func answer(w http.ResponseWriter, r *http.Request, code int, obj runtime.Object) {
	if !strings.HasPrefix(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(obj)
		return
	}
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	w.WriteHeader(code)
	_ = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(obj, w)
}

func refuse(w http.ResponseWriter, r *http.Request, code int, why metav1.StatusReason, token string) {
	answer(w, r, code, &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: int32(code), Reason: why,
		Message: string(why) + " on purpose", ListMeta: metav1.ListMeta{Continue: token}})
}

// secretsOf reads the Secrets of the flaky server.
func secretsOf(t *testing.T, f *flaky, change func(*rest.Config, *Cluster)) inspect.Snapshot {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1, Timeout: 5 * time.Second}
	c := &Cluster{Scanner: pki.NewScanner(), Namespace: "own"}
	if change != nil {
		change(config, c)
	}
	var err error
	if c.REST, err = NewREST(config); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return merge(c.secrets(ctx))
}

func TestListSurvivesWhatPasses(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(http.ResponseWriter, *http.Request, int) bool{
		"nothing fails": nil,
		"the second page is refused as too many requests, once": func(w http.ResponseWriter, r *http.Request, n int) bool {
			if n == 2 {
				w.Header().Set("Retry-After", "0")
				refuse(w, r, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "")
			}
			return n == 2
		},
		"the second page fails twice with 500": func(w http.ResponseWriter, r *http.Request, n int) bool {
			if n == 2 || n == 3 {
				refuse(w, r, http.StatusInternalServerError, metav1.StatusReasonInternalError, "")
			}
			return n == 2 || n == 3
		},
		"the connection breaks once": func(w http.ResponseWriter, r *http.Request, n int) bool {
			if n == 2 {
				panic(http.ErrAbortHandler)
			}
			return false
		},
		"the second page is cut off in its middle": func(w http.ResponseWriter, r *http.Request, n int) bool {
			if n == 2 {
				w.Header().Set("Content-Length", "100000")
				w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
				_, _ = w.Write([]byte(protobufMagic + "\x12\xa0\x8d\x06\x12\x90\x4e"))
			}
			return n == 2
		},
		"a balancer answers 502 with HTML": func(w http.ResponseWriter, r *http.Request, n int) bool {
			if n == 2 {
				w.WriteHeader(http.StatusBadGateway)
				_, _ = w.Write([]byte("<html>bad gateway</html>"))
			}
			return n == 2
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := secretsOf(t, &flaky{secrets: 1200, fail: fail}, nil)
			if len(s.Gaps) > 0 || len(s.Bundles) != 1200 || len(s.Reads) != 1 || s.Reads[0].Objects != 1200 {
				t.Errorf("got %d bundles, reads %+v, gaps %+v", len(s.Bundles), s.Reads, s.Gaps)
			}
		})
	}
}

// cutter lets an answer pass up to a length, and the rest when it may.
type cutter struct {
	http.ResponseWriter
	left int
	wait func()
}

func (c *cutter) Write(p []byte) (int, error) {
	if n := min(c.left, len(p)); c.left > 0 && n == c.left {
		if _, err := c.ResponseWriter.Write(p[:n]); err != nil {
			return 0, err
		}
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		c.wait()
		c.left = 0
		m, err := c.ResponseWriter.Write(p[n:])
		return n + m, err
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

func TestTheNextPageIsAskedForWhileOneIsRead(t *testing.T) {
	t.Parallel()
	second := make(chan struct{})
	f := &flaky{secrets: 1200}
	f.fail = func(w http.ResponseWriter, r *http.Request, n int) bool {
		switch n {
		case 1: // ends only when the second page was asked for
			f.page(&cutter{w, 20_000, func() {
				select {
				case <-second:
				case <-time.After(30 * time.Second):
					t.Error("nobody asks for the second page while the first is not read to its end")
				}
			}}, r)
			return true
		case 2:
			close(second)
		}
		return false
	}
	s := secretsOf(t, f, func(c *rest.Config, _ *Cluster) { c.Timeout = time.Minute })
	if len(s.Gaps) > 0 || len(s.Bundles) != 1200 || len(f.limit) != 3 {
		t.Errorf("got %d bundles of %d pages, gaps %+v", len(s.Bundles), len(f.limit), s.Gaps)
	}
}

func TestAPageThatWasAskedForAheadIsForgottenWithTheOneBeforeIt(t *testing.T) {
	t.Parallel()
	f := &flaky{secrets: 1200}
	f.fail = func(w http.ResponseWriter, r *http.Request, n int) bool {
		if n == 1 { // its token comes, and half of it
			f.page(&cutter{w, 20_000, func() { panic(http.ErrAbortHandler) }}, r)
		}
		return n == 1
	}
	s := secretsOf(t, f, nil)
	if len(s.Gaps) > 0 || len(s.Bundles) != 1200 || s.Reads[0].Objects != 1200 {
		t.Errorf("got %d bundles, reads %+v, gaps %+v", len(s.Bundles), s.Reads, s.Gaps)
	}
}

func TestExpiredContinueTokenGoesOn(t *testing.T) {
	t.Parallel()
	s := secretsOf(t, &flaky{secrets: 1200, fail: func(w http.ResponseWriter, r *http.Request, _ int) bool {
		expired := r.URL.Query().Get("continue") == "500"
		if expired {
			refuse(w, r, http.StatusGone, metav1.StatusReasonExpired, "0500")
		}
		return expired
	}}, nil)
	if len(s.Gaps) > 0 || len(s.Bundles) != 1200 || !strings.Contains(s.Reads[0].Note, "different moments") {
		t.Errorf("got %d bundles, reads %+v, gaps %+v", len(s.Bundles), s.Reads, s.Gaps)
	}
}

// The first page is asked for without a token: none can have expired, and to go on
// from there would leave out what is before it.
func TestAListDoesNotBeginWithALaterPage(t *testing.T) {
	t.Parallel()
	s := secretsOf(t, &flaky{secrets: 1200, fail: func(w http.ResponseWriter, r *http.Request, _ int) bool {
		first := r.URL.Query().Get("continue") == ""
		if first {
			refuse(w, r, http.StatusGone, metav1.StatusReasonExpired, "500")
		}
		return first
	}}, nil)
	if len(s.Gaps) != 1 || len(s.Bundles) != 0 {
		t.Errorf("got %d bundles, gaps %+v", len(s.Bundles), s.Gaps)
	}
}

func TestTimeOutAsksForLess(t *testing.T) {
	t.Parallel()
	f := &flaky{secrets: 1200}
	f.fail = func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		if limit, _ := strconv.Atoi(r.URL.Query().Get("limit")); limit < 500 || r.URL.Query().Get("continue") == "" {
			return false
		}
		<-r.Context().Done() // a page of 500 from the second on takes for ever
		return true
	}
	s := secretsOf(t, f, func(c *rest.Config, _ *Cluster) { c.Timeout = 500 * time.Millisecond })
	if len(s.Gaps) > 0 || len(s.Bundles) != 1200 {
		t.Errorf("got %d bundles, reads %+v, gaps %+v, limits %v", len(s.Bundles), s.Reads, s.Gaps, f.limit)
	}
}

func TestWhatStaysBrokenIsAGap(t *testing.T) {
	t.Parallel()
	always := func(code int, why metav1.StatusReason, from int) func(http.ResponseWriter, *http.Request, int) bool {
		return func(w http.ResponseWriter, r *http.Request, n int) bool {
			if n >= from {
				refuse(w, r, code, why, "")
			}
			return n >= from
		}
	}
	for name, c := range map[string]struct {
		fail    func(http.ResponseWriter, *http.Request, int) bool
		says    string
		bundles int
	}{
		"500 for ever after the first page": {always(500, metav1.StatusReasonInternalError, 2), "broke off after 500 objects (about 700 more)", 500},
		"401 from the start":                {always(401, metav1.StatusReasonUnauthorized, 1), "Unauthorized", 0},
		"401 in the middle":                 {always(401, metav1.StatusReasonUnauthorized, 2), "broke off after 500 objects", 500},
		"410 without another token":         {always(410, metav1.StatusReasonExpired, 2), "broke off after 500 objects", 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := secretsOf(t, &flaky{secrets: 1200, fail: c.fail}, nil)
			if len(s.Gaps) != 1 || !strings.Contains(s.Gaps[0].Reason, c.says) || s.Gaps[0].Next == "" || len(s.Bundles) != c.bundles || len(s.Reads) != 0 {
				t.Errorf("got %d bundles, reads %+v, gaps %+v", len(s.Bundles), s.Reads, s.Gaps)
			}
		})
	}
}

func TestForbiddenIsReadNamespaceByNamespace(t *testing.T) {
	t.Parallel()
	forbidden := func(paths ...string) func(http.ResponseWriter, *http.Request, int) bool {
		return func(w http.ResponseWriter, r *http.Request, _ int) bool {
			for _, p := range paths {
				if r.URL.Path == p {
					refuse(w, r, http.StatusForbidden, metav1.StatusReasonForbidden, "")
					return true
				}
			}
			return false
		}
	}
	for name, c := range map[string]struct {
		forbidden []string
		bundles   int
		gaps      []string // parts of reasons
	}{
		"cluster-wide only":             {[]string{"/api/v1/secrets"}, 4, nil},
		"one namespace too":             {[]string{"/api/v1/secrets", "/api/v1/namespaces/b/secrets"}, 2, []string{"in 1 of 2 namespaces"}},
		"the list of namespaces too":    {[]string{"/api/v1/secrets", "/api/v1/namespaces"}, 2, []string{"list namespaces"}},
		"everything, own namespace too": {[]string{"/api/v1/secrets", "/api/v1/namespaces", "/api/v1/namespaces/own/secrets"}, 0, []string{"list namespaces", "in 1 of 1 namespaces"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := secretsOf(t, &flaky{secrets: 2, fail: forbidden(c.forbidden...)}, nil)
			if len(s.Bundles) != c.bundles || len(s.Gaps) != len(c.gaps) {
				t.Fatalf("got %d bundles, gaps %+v", len(s.Bundles), s.Gaps)
			}
			for i, says := range c.gaps {
				if !strings.Contains(s.Gaps[i].Reason, says) {
					t.Errorf("gap %d says %q, not %q", i, s.Gaps[i].Reason, says)
				}
			}
		})
	}
}

func TestInterruptedReadingIsAGap(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	l := listPages(ctx, metav1.ListOptions{}, func(ctx context.Context, _ metav1.ListOptions) (metav1.ListMeta, error) {
		cancel()
		return metav1.ListMeta{}, ctx.Err()
	})
	if l.err == nil {
		t.Error("an interrupted list must not look complete")
	}
}
