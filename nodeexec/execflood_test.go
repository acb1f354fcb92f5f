package nodeexec

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha1" //nolint:gosec // RFC 6455
	"encoding/base64"
	"encoding/binary"
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
	output := func(w http.ResponseWriter, r *http.Request) { // as the server of an exec sends it
		if _, err := httpstream.Handshake(r, w, []string{"v4.channel.k8s.io"}); err != nil {
			t.Error(err)
		}
		streams := make(chan httpstream.Stream, 4)
		conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, replied <-chan struct{}) error {
			go func() { <-replied; streams <- s }()
			return nil
		})
		if conn == nil {
			return
		}
		by := map[string]httpstream.Stream{}
		for range 4 {
			s := <-streams
			by[s.Headers().Get("streamType")] = s
		}
		pour(func(b []byte) error {
			_, err := by["stdout"].Write(b[:32<<10])
			_, _ = by["stdout"].Write(b[32<<10:])
			return err
		})
		_, _ = by["error"].Write([]byte(`{"metadata":{},"status":"Success"}`))
		for _, s := range by {
			_ = s.Close()
		}
		<-conn.CloseChan()
	}
	byWebSocket := func(channels ...byte) func(w http.ResponseWriter, r *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			up := gorilla.Upgrader{Subprotocols: []string{"v5.channel.k8s.io"}}
			conn, err := up.Upgrade(w, r, nil)
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			for _, channel := range channels {
				message := append([]byte{channel}, junk...)
				pour(func([]byte) error { return conn.WriteMessage(gorilla.BinaryMessage, message) })
			}
			_ = conn.WriteMessage(gorilla.CloseMessage, gorilla.FormatCloseMessage(gorilla.CloseNormalClosure, ""))
			for err == nil { // until the client closes: else what is on the way is lost
				_, _, err = conn.ReadMessage()
			}
		}
	}
	frame := func(head ...byte) func(w http.ResponseWriter, r *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			conn, rw, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n")
			_, _ = rw.Write(head)
			_ = rw.Flush()
			pour(func(b []byte) error { _, err := conn.Write(b); return err })
		}
	}
	packed := func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		sum := sha1.Sum([]byte(r.Header.Get("Sec-Websocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // RFC 6455
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + base64.StdEncoding.EncodeToString(sum[:]) +
			"\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\nSec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n\r\n")
		var z bytes.Buffer
		pack, _ := flate.NewWriter(&z, flate.BestCompression)
		_, _ = pack.Write([]byte{3})
		pour(func(b []byte) error { _, err := pack.Write(b); return err })
		_ = pack.Flush()
		text := bytes.TrimSuffix(z.Bytes(), []byte("\x00\x00\xff\xff"))
		_, _ = rw.Write(binary.BigEndian.AppendUint64([]byte{0xc2, 127}, uint64(len(text)))) // the last frame, packed
		_, _ = rw.Write(text)
		_ = rw.Flush()
		_, _ = rw.ReadByte()
	}
	for name, c := range map[string]struct {
		get, post func(w http.ResponseWriter, r *http.Request)
		floods    bool
	}{
		"a stream that the server opens, by SPDY":        {nil, frame(0x80, 3, 0, 1, 0, 0, 4, 0), true},
		"headers that nobody asked for, by SPDY":         {nil, frame(0x80, 3, 0, 8, 0, 0, 4, 0), true},
		"a large answer to a stream, by SPDY":            {nil, frame(0x80, 3, 0, 2, 0, 1, 0, 0), true},
		"data of a stream of the server's, by SPDY":      {nil, frame(0, 0, 0, 2, 0, 0, 4, 0), true},
		"a large piece of data, by SPDY":                 {nil, frame(0, 0, 0, 1, 0, 0xff, 0xff, 0xff), true},
		"a WebSocket that is packed without being asked": {packed, nil, false},
		"the result, by SPDY":                            {nil, bySPDY, true},
		"a refused upgrade to SPDY": {nil, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			pour(func(b []byte) error { _, err := w.Write(b); return err })
		}, true},
		"the result, by WebSocket": {byWebSocket(3), nil, true},
		"a refused upgrade to WebSocket": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			pour(func(b []byte) error { _, err := w.Write(b); return err })
		}, nil, false},
		"output, by WebSocket, is no flood":         {byWebSocket(1), nil, false},
		"output, by SPDY, is no flood":              {nil, output, false},
		"a result behind much output, by WebSocket": {byWebSocket(2, 3), nil, true},
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
			if (err == nil) != strings.Contains(name, "no flood") || ctx.Err() != nil || (errors.Is(err, errExecFlood) || errors.Is(err, errExecFrame)) != c.floods {
				t.Errorf("%v; %v", err, ctx.Err())
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > flood/2 && (c.floods || strings.Contains(name, "packed")) {
				t.Errorf("%d MiB were allocated for %d MiB of junk", took>>20, flood>>20)
			}
			if strings.HasSuffix(name, "is no flood") && sunk.n < flood {
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
