package plugintest

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// Stranger answers as the API server does, and counts what it is asked.
func Stranger(t *testing.T, tls bool) (url, ca string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		SettledAPI().ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that clients end
	t.Cleanup(server.Close)
	if !tls {
		server.Start()
		return server.URL, "", asked
	}
	server.StartTLS()
	return server.URL, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})), asked
}

// WriteFile writes a file of the test's own.
func WriteFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// KubeconfigTo writes a kubeconfig for a cluster.
func KubeconfigTo(t *testing.T, cluster string) string {
	t.Helper()
	return WriteFile(t, "kubeconfig", "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {"+cluster+"}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n")
}
