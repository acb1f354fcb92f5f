package collect

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestWhatIsNoListIsNotEmpty: a proxy's own answer says OK, and not that there is nothing.
func TestWhatIsNoListIsNotEmpty(t *testing.T) {
	t.Parallel()
	type none = func(item []byte) error
	for text, want := range map[string]error{
		`{}`:                                     errNoList,
		`{"error":"not now"}`:                    errNoList,
		`{"items":[]}`:                           nil,
		`{"kind":"RouteList","apiVersion":"v1"}`: errNoList,
		`{"kind":"PartialObjectMetadataList","items":[]}`: errNoList,
		`{"kind":"Table","items":[]}`:                     errNoList,
		`{"kind":"RouteList","items":[]}`:                 nil,
		`{"items":null,"kind":"RouteList"}`:               nil,
		`{"items":[],"metadata":{},"kind":"List"}`:        nil,
	} {
		if _, err := readJSONList(strings.NewReader(text), func(*json.Decoder) error { return nil }); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
	list := "\x12\x02\x0a\x00" // field 2, with metadata
	for text, want := range map[string]error{
		"k8s\x00":                                               errNoList,
		"k8s\x00" + list:                                        nil,
		"k8s\x00\x0a\x08\x12\x06Secret" + list:                  errNoList,
		"k8s\x00\x0a\x0c\x12\x0aSecretList":                     errNoList,
		"k8s\x00\x0a\x0c\x12\x0aSecretList" + list + list:       errNoList,
		"k8s\x00\x0a\x0c\x12\x0aSecretList" + list:              nil,
		"k8s\x00\x0a\x10\x0a\x02v1\x12\x0aSecretList" + list:    nil,
		"k8s\x00" + list + "\x0a\x0c\x12\x0aSecretList\x1a\x00": nil,
	} {
		if _, err := readProtobufList(strings.NewReader(text), func(metav1.ListMeta) {}, none(func([]byte) error { return nil })); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

// TestARedirectIsNotFollowed: the token would go to where it leads.
func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var tokens []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		tokens = append(tokens, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/api/v1/secrets", code)
		}))
		config := &rest.Config{Host: server.URL, BearerToken: "a-token"}
		MarkErrors(config)
		client, err := NewREST(config)
		if err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{
			"get":    client.Get().AbsPath("/api/v1/secrets").Do(t.Context()).Error(),
			"patch":  client.Patch("application/merge-patch+json").AbsPath("/api/v1/secrets").Body([]byte("{}")).Do(t.Context()).Error(),
			"delete": client.Delete().AbsPath("/api/v1/secrets").Do(t.Context()).Error(),
		} {
			if err == nil || !strings.Contains(err.Error(), "not followed") || !strings.Contains(err.Error(), other.URL) {
				t.Errorf("%d, %s: %v", code, what, err)
			}
		}
		server.Close()
	}
	if len(tokens) > 0 {
		t.Errorf("another server got %q", tokens)
	}
}

// TestAServersWaitIsBounded: client-go waits for as long as Retry-After says, and no time limit ends that.
func TestAServersWaitIsBounded(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{"": "", "1": "1", "5": "5", "6": "5", "100000": "5"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if said != "" {
				w.Header().Set("Retry-After", said)
			}
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		config := &rest.Config{Host: server.URL}
		MarkErrors(config)
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if got := answer.Header.Get("Retry-After"); got != want {
			t.Errorf("%q came as %q, want %q", said, got, want)
		}
		server.Close()
	}
}

// TestOneRoutesTimeHidesNoOther: a user may write one into managedFields that JSON has no form for.
func TestOneRoutesTimeHidesNoOther(t *testing.T) {
	t.Parallel()
	route := func(name, time string) string {
		return `{"metadata":{"name":"` + name + `","namespace":"shop","managedFields":[{"manager":"kubectl","time":"` + time + `"}]},"spec":{"tls":{"termination":"edge","certificate":"-"}}}`
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"RouteList","metadata":{},"items":[` + route("a", "10000-01-01T23:58:59Z") + "," + route("b", "2026-01-01T00:00:00Z") + `]}`))
	}))
	defer server.Close()
	client, err := NewREST(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{REST: client, Scanner: pki.NewScanner()}
	counted := &tally{what: "routes"}
	if _, err := c.objectPage(Resource{Plural: "routes", Kind: "Route", apiVersion: routeV1}, "", counted)(t.Context(), metav1.ListOptions{Limit: 10}); err != nil || counted.objects != 2 {
		t.Errorf("%d Routes were read: %v", counted.objects, err)
	}
}
