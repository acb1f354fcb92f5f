package nodeexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	gorilla "github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	oldstream "k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // client-go's spdy.Upgrader has its types
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/transport/websocket"
	"k8s.io/streaming/pkg/httpstream"
)

// The kubelet at the other end of an exec may be hostile. What it writes to stdout and stderr
// goes to writers of ours, which are bounded. The stream with the exec's result is read by
// client-go as a whole, and so is the body of an upgrade that SPDY is refused: both are
// bounded here.

// maxExecResult bounds what is held of an exec beside its output, in bytes. A result is a
// Status of some hundred bytes.
const maxExecResult = 1 << 20

// errExecFlood ends an exec whose server sends more than maxExecResult beside its output.
var errExecFlood = errors.New("the kubelet, or what answers for it, sent far more than the command's output and result, and was cut off: look at that node by --via ssh")

// errExecFrame ends an exec whose server sends what fromAnExec does not pass.
var errExecFrame = errors.New("the kubelet, or what answers for it, sent SPDY frames that no exec has, and was cut off: look at that node by --via ssh")

type boundedConnection struct {
	oldstream.Connection
	stop func(error) // ends the exec
}

func (c boundedConnection) CreateStream(headers http.Header) (oldstream.Stream, error) {
	s, err := c.Connection.CreateStream(headers)
	if err != nil || headers.Get(corev1.StreamType) != corev1.StreamTypeError {
		return s, err
	}
	return boundedStream{s, &boundedReader{s, maxExecResult, c.stop}}, nil
}

type boundedStream struct {
	oldstream.Stream
	bounded io.Reader
}

func (s boundedStream) Read(p []byte) (int, error) { return s.bounded.Read(p) }

// boundedReader fails where there is more than left.
type boundedReader struct {
	io.Reader
	left int64
	stop func(error) // ends the exec
}

func (r *boundedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.left -= int64(n); r.left < 0 {
		r.stop(errExecFlood)
		return n, errExecFlood
	}
	return n, err
}

// websocketExecutor is client-go's, bounded by what comes over the wire: its streams can't be
// reached.
func websocketExecutor(config *rest.Config, method, url string, m *meter) (remotecommand.Executor, error) {
	c := rest.CopyConfig(config)
	c.WrapTransport = transport.Wrappers(func(rt http.RoundTripper) http.RoundTripper {
		if ws, ok := rt.(*websocket.RoundTripper); ok {
			return meteredRoundTripper{ws, m}
		}
		return rt
	}, c.WrapTransport)
	return remotecommand.NewWebSocketExecutor(c, method, url)
}

// meter compares what came over the wire with what of it was output. Frames cost some bytes
// each, so the first output counts several times.
type meter struct {
	received, output atomic.Int64
	stop             func(error) // ends the exec
}

// counts counts what goes to w as output; nil stays nil.
func (m *meter) counts(w io.Writer) io.Writer {
	if w == nil {
		return nil
	}
	return meteredWriter{w, m}
}

type meteredWriter struct {
	io.Writer
	m *meter
}

func (w meteredWriter) Write(p []byte) (int, error) {
	w.m.output.Add(int64(len(p)))
	return w.Writer.Write(p)
}

type meteredConn struct {
	net.Conn
	m *meter
}

func (c meteredConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	out := c.m.output.Load()
	if c.m.received.Add(int64(n)) > 4*maxExecResult+out+min(7*out, 32*maxExecResult) {
		c.m.stop(errExecFlood)
		return n, errExecFlood
	}
	return n, err
}

// meteredRoundTripper dials as client-go's RoundTripper does, with a meter at the connection.
type meteredRoundTripper struct {
	*websocket.RoundTripper
	m *meter
}

func (rt meteredRoundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	const protocols = "Sec-Websocket-Protocol"
	header := r.Header.Clone()
	wanted := header[protocols]
	delete(header, protocols) // the dialer writes its own
	to := *r.URL
	to.Scheme = map[string]string{"https": "wss", "http": "ws"}[to.Scheme]
	frame := rt.DataBufferSize() + 1024
	dialer := gorilla.Dialer{
		Proxy: rt.Proxier, TLSClientConfig: rt.TLSConfig, Subprotocols: wanted, ReadBufferSize: frame, WriteBufferSize: frame,
		NetDialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return meteredConn{conn, rt.m}, nil
		},
	}
	conn, resp, err := dialer.DialContext(r.Context(), to.String(), header)
	switch {
	case errors.Is(err, gorilla.ErrBadHandshake) && resp != nil:
		text, _ := io.ReadAll(resp.Body) // of which the dialer keeps 1 KiB
		return nil, &httpstream.UpgradeFailureError{Cause: fmt.Errorf("%w (%s): %s", err, resp.Status, text)}
	case errors.Is(err, gorilla.ErrBadHandshake):
		return nil, &httpstream.UpgradeFailureError{Cause: err}
	case err != nil:
		return nil, err
	}
	if resp.Header.Get("Sec-Websocket-Extensions") != "" { // compression, which was not asked for, and which no meter sees through
		_ = conn.Close()
		return nil, errors.New("the server compresses the WebSocket, which was not asked for")
	}
	for _, p := range wanted {
		if p == conn.Subprotocol() {
			rt.Conn = conn
			return resp, nil
		}
	}
	_ = conn.Close()
	return nil, &httpstream.UpgradeFailureError{Cause: fmt.Errorf("invalid protocol, expected one of %q, got %q", wanted, conn.Subprotocol())}
}
