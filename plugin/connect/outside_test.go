package connect

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

func TestWhatTheKubeconfigsServerShows(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that clients end
	server.StartTLS()
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "https://")
	direct := func(*http.Request) (*url.URL, error) { return nil, nil } //nolint:nilnil // as http.Transport.Proxy has it
	cluster := inspect.Cluster{Internal: "https://api-int.example.com:6443"}

	c := &Connection{Server: server.URL, Rest: &rest.Config{Proxy: direct, BearerToken: "sesame"}}
	shown := c.servedToUser(t.Context(), cluster)
	if len(shown) != 2 || shown[0].Name != "127.0.0.1" || shown[1].Name != "api-int.example.com" {
		t.Fatalf("%+v", shown)
	}
	for _, v := range shown {
		if v.Address != address || len(v.Chain) != 1 || v.Problem != "" {
			t.Errorf("%+v", v)
		}
	}

	proxied := func(*http.Request) (*url.URL, error) { return url.Parse("http://user:sesame@proxy.example.com:3128") }
	c.Rest = &rest.Config{Proxy: proxied}
	shown = c.servedToUser(t.Context(), cluster)
	if len(shown) != 1 || len(shown[0].Chain) > 0 || !strings.Contains(shown[0].Problem, "the proxy proxy.example.com:3128") {
		t.Errorf("%+v", shown)
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("%d requests were sent: a handshake is all", n)
	}
	c.Server = "http://127.0.0.1:8001"
	if shown = c.servedToUser(t.Context(), cluster); len(shown) > 0 {
		t.Errorf("without TLS: %+v", shown)
	}
}
