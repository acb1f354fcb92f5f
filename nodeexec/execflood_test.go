package nodeexec

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	gorilla "github.com/gorilla/websocket"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// flood is what a hostile kubelet sends beside a command's output, in bytes: no test may
// hold as much.
const flood = 256 << 20

// TestAKubeletDoesNotFillTheMemory: client-go reads an exec's result, and the body of a
// refused upgrade, as a whole.
func TestAKubeletDoesNotFillTheMemory(t *testing.T) {
	junk := bytes.Repeat([]byte("junk "), 64<<10/5)
	pour := func(write func([]byte) error) {
		for sent := 0; sent < flood; sent += len(junk) {
			if write(junk) != nil {
				return
			}
		}
	}
	bySPDY := func(w http.ResponseWriter, r *http.Request) {
		if _, err := httpstream.Handshake(r, w, []string{"v4.channel.k8s.io"}); err != nil {
			t.Error(err)
		}
		streams := make(chan httpstream.Stream, 4)
		conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
			streams <- s
			return nil
		})
		if conn == nil {
			return
		}
		var result httpstream.Stream
		for range 4 {
			if s := <-streams; s.Headers().Get("streamType") == "error" {
				result = s
			}
		}
		pour(func(b []byte) error { _, err := result.Write(b); return err })
		<-conn.CloseChan()
	}
	byWebSocket := func(channel byte) func(w http.ResponseWriter, r *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			up := gorilla.Upgrader{Subprotocols: []string{"v5.channel.k8s.io"}}
			conn, err := up.Upgrade(w, r, nil)
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			pour(func(b []byte) error {
				return conn.WriteMessage(gorilla.BinaryMessage, append([]byte{channel}, b...))
			})
		}
	}
	for name, c := range map[string]struct {
		get, post func(w http.ResponseWriter, r *http.Request)
		floods    bool
	}{
		"the result, by SPDY": {nil, bySPDY, true},
		"a refused upgrade to SPDY": {nil, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			pour(func(b []byte) error { _, err := w.Write(b); return err })
		}, true},
		"the result, by WebSocket": {byWebSocket(3), nil, true},
		"a refused upgrade to WebSocket": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			pour(func(b []byte) error { _, err := w.Write(b); return err })
		}, nil, false},
		"output, by WebSocket, is no flood": {byWebSocket(1), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer := map[string]func(http.ResponseWriter, *http.Request){http.MethodGet: c.get, http.MethodPost: c.post}[r.Method]
				if answer == nil {
					http.Error(w, "not by "+r.Method, http.StatusBadRequest)
					return
				}
				answer(w, r)
			}))
			defer s.Close()
			api, err := newPodAPI(&rest.Config{Host: s.URL})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			sunk := &sink{}
			err = api.exec(ctx, podRef{"ns", "pod", "c"}, []string{"true"}, remotecommand.StreamOptions{Stdin: strings.NewReader(""), Stdout: sunk, Stderr: sunk})
			runtime.ReadMemStats(&after)
			if err == nil || ctx.Err() != nil || errors.Is(err, errExecFlood) != c.floods {
				t.Errorf("%v; %v", err, ctx.Err())
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > flood/2 && c.floods {
				t.Errorf("%d MiB were allocated for %d MiB of junk", took>>20, flood>>20)
			}
			if name == "output, by WebSocket, is no flood" && sunk.n < flood {
				t.Errorf("%d bytes of output came of %d", sunk.n, flood)
			}
		})
	}
}

// sink takes bytes and holds none.
type sink struct{ n int }

func (s *sink) Write(p []byte) (int, error) {
	s.n += len(p)
	return len(p), nil
}
