package nodeexec

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	oldstream "k8s.io/apimachinery/pkg/util/httpstream"    //nolint:staticcheck // client-go's spdy.Upgrader has its types
	oldspdy "k8s.io/apimachinery/pkg/util/httpstream/spdy" //nolint:staticcheck // the same
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// spdyExecutor is client-go's, over a connection whose frames are bounded.
func spdyExecutor(config *rest.Config, method string, to *url.URL, m *meter) (remotecommand.Executor, error) {
	secure, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	proxy := config.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	dial, err := spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{TLS: secure, Proxier: proxy})
	if err != nil {
		return nil, err
	}
	upgrade := &spdyUpgrade{dial: dial, m: m}
	wrapped, err := rest.HTTPWrappersForConfig(config, upgrade)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewSPDYExecutorForTransports(wrapped, upgrade, method, to)
}

// spdyUpgrade does what client-go's round tripper does, with its own eyes on the connection.
type spdyUpgrade struct {
	dial *spdy.SpdyRoundTripper // by proxies, too
	m    *meter
	conn net.Conn
}

func (u *spdyUpgrade) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Add(httpstream.HeaderConnection, httpstream.HeaderUpgrade)
	r.Header.Add(httpstream.HeaderUpgrade, spdy.HeaderSpdy31)
	conn, err := u.dial.Dial(r)
	if err != nil {
		return nil, err
	}
	counted := meteredConn{conn, u.m}
	reader := bufio.NewReader(counted)
	resp, err := http.ReadResponse(reader, nil)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	u.conn = &framedConn{Conn: counted, r: reader, stop: u.m.stop}
	return resp, nil
}

// pingPeriod is client-go's.
const pingPeriod = 5 * time.Second

func (u *spdyUpgrade) NewConnection(resp *http.Response) (oldstream.Connection, error) {
	has := func(key, value string) bool {
		return strings.Contains(strings.ToLower(resp.Header.Get(key)), strings.ToLower(value))
	}
	if resp.StatusCode != http.StatusSwitchingProtocols || !has(httpstream.HeaderConnection, httpstream.HeaderUpgrade) || !has(httpstream.HeaderUpgrade, spdy.HeaderSpdy31) {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{&boundedReader{resp.Body, maxExecResult, u.m.stop}, resp.Body}
		_, err := u.dial.NewConnection(resp) // which says why not
		_ = u.conn.Close()
		return nil, err
	}
	conn, err := oldspdy.NewClientConnectionWithPings(u.conn, pingPeriod)
	if err != nil {
		return nil, err
	}
	return boundedConnection{conn, u.m.stop}, nil
}

// framedConn passes frames of SPDY on that a server of an exec has to send, and no others: the
// library holds whole frames, unpacks headers of any size, and takes any stream.
type framedConn struct {
	net.Conn
	r    *bufio.Reader
	stop func(error) // ends the exec
	head []byte      // of the frame, as far as it was not passed on
	left int         // bytes of the frame that follow
}

const (
	maxControlFrame = 1 << 10 // its headers are packed, a thousandfold at most
	maxDataFrame    = 1 << 20 // servers send 32 KiB
)

func (c *framedConn) Read(p []byte) (int, error) {
	if len(c.head) == 0 && c.left == 0 {
		head := make([]byte, 8)
		if _, err := io.ReadFull(c.r, head); err != nil {
			return 0, err
		}
		if !fromAnExec(head) {
			c.stop(errExecFrame)
			return 0, errExecFrame
		}
		c.head, c.left = head, frameLength(head)
	}
	if len(c.head) > 0 {
		n := copy(p, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	n, err := c.r.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

func frameLength(head []byte) int { return int(binary.BigEndian.Uint32(head[4:]) & 0xffffff) }

// fromAnExec reports whether a frame with this head is one that the server of an exec sends:
// data of our streams, answers to them, settings and pings.
func fromAnExec(head []byte) bool {
	const control = 0x80
	if head[0]&control == 0 {
		ours := head[3]&1 == 1 // streams of clients have odd numbers
		return ours && frameLength(head) <= maxDataFrame
	}
	const synReply, rstStream, settings, ping, goaway, windowUpdate = 2, 3, 4, 6, 7, 9
	switch binary.BigEndian.Uint16(head[2:]) {
	case synReply, rstStream, settings, ping, goaway, windowUpdate:
		return frameLength(head) <= maxControlFrame
	}
	return false
}
