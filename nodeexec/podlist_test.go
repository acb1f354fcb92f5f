package nodeexec

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// TestLargePodsOfANodeTakeNoMemory: a user who may make pods chooses how large they are, and ten nodes are asked at once.
func TestLargePodsOfANodeTakeNoMemory(t *testing.T) {
	const pods, size = 200, 400_000
	most := uint64(0)
	measure := func() {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
	}
	measure()
	before := most
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[`)
		for i := range pods {
			if i > 0 {
				_, _ = io.WriteString(w, ",")
			}
			_, _ = fmt.Fprintf(w, `{"metadata":{"name":"p%d","annotations":{"a":%q}},"spec":{"containers":[{"name":"c","env":[{"name":"A","value":%q}]}]}}`, i, strings.Repeat("a", size/2), strings.Repeat("x", size/2))
			if i%50 == 49 {
				measure()
			}
		}
		_, _ = io.WriteString(w, "]}")
	}))
	defer server.Close()
	api, err := newPodAPI(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	found, err := api.listPods(t.Context(), "", "worker-0", "")
	if err != nil || len(found) != pods || found[7].Metadata.Name != "p7" {
		t.Fatalf("%d pods, %v", len(found), err)
	}
	if grown := most - before; grown > pods*size/4 {
		t.Errorf("%d bytes of pods took %d", pods*size, grown)
	}
}

// TestWhatIsNoListOfPods is not a node without pods.
func TestWhatIsNoListOfPods(t *testing.T) {
	t.Parallel()
	for text, fails := range map[string]bool{
		`{}`: true, `[]`: true, `{"items":{}}`: true, `{"items":[{}]`: true, `{"items":[{"metadata":7}]}`: true, ``: true,
		`{"items":[],"metadata":{"continue":"next"}}`: false, `{"metadata":{"continue":"next"},"items":null}`: false,
	} {
		next, err := readPods(strings.NewReader(text), func(podObject) {})
		if (err != nil) != fails || !fails && next != "next" {
			t.Errorf("%s: %q, %v", text, next, err)
		}
	}
}
