package collect

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// TestAnswersAreBounded: what an API server sends is read whole by client-go, and it may be packed.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	blank := make([]byte, 1<<20)
	for range maxAnswer>>20 + 1 {
		if _, err := w.Write(blank); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	MarkErrors(config)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	for path, fails := range map[string]bool{"/version": true, "/api/v1/pods?limit=500": false} {
		answer, err := client.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if (err != nil) != fails || fails && (n > maxAnswer+1 || !strings.Contains(err.Error(), "larger than 256 MiB")) || !fails && n != maxAnswer+1<<20 {
			t.Errorf("%s: %d bytes, %v", path, n, err)
		}
	}
}

// TestBoundsOfAnswersAreExact: an answer of just that size is whole.
func TestBoundsOfAnswersAreExact(t *testing.T) {
	t.Parallel()
	for size, fails := range map[int]bool{0: false, 9: false, 10: false, 11: true, 20: true} {
		b := &boundedBody{io.NopCloser(bytes.NewReader(make([]byte, size))), 10, 10}
		got, err := io.ReadAll(b)
		if (err != nil) != fails || !fails && len(got) != size {
			t.Errorf("%d bytes: %d, %v", size, len(got), err)
		}
	}
}
