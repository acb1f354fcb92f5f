package collect

import (
	"bufio"
	"bytes"
	ring "container/list"
	"errors"
	"io"
	"net/netip"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// serverLogIn tells from a file's name in a must-gather of which server it is the log:
// namespaces/NAMESPACE/pods/POD/CONTAINER/CONTAINER/logs/current.log.
func serverLogIn(name string) (catalog.ServerLog, bool) {
	_, rest, ok := strings.Cut("/"+name, "/"+gatheredNamespaces+"/")
	part := strings.Split(rest, "/")
	if !ok || len(part) != 7 || part[1] != "pods" || part[5] != "logs" || part[6] != "current.log" {
		return catalog.ServerLog{}, false
	}
	for _, l := range catalog.ServerLogs() {
		if part[0] == l.Namespace && strings.HasPrefix(part[2], l.Pod) && part[4] == l.Container {
			return l, true
		}
	}
	return catalog.ServerLog{}, false
}

// maxClients is how many clients are told apart in one log, as on nodes. Of more, those stay
// that refused last: they are judged, and whoever wrote many lines earlier hides none of them.
const maxClients = 200

// handshakeError finds what net/http writes when a client broke off a handshake
// because of the certificate: its own message, not what a client says of itself, which is
// quoted. The program that runs on nodes looks for the same
// (gather/node.awk).
func handshakeError() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[^"]*|.*(?:"msg":"|\] ")http: )TLS handshake error from \[?([0-9a-fA-F.:]{2,45}?)\]?(?::[0-9]+)?: remote error: tls: ((?:bad|unsupported|revoked|expired|unknown) certificate(?: authority)?)(?:[^a-z ]|$)`)
}

// readServerLog counts the clients that refused a server.
func readServerLog(r io.Reader, l *inspect.ServerLog) error {
	clients := clientList{log: l, index: map[client]*ring.Element{}, byLast: ring.New()}
	pattern := handshakeError()
	in := bufio.NewReaderSize(r, 64<<10)
	starts := true
	for {
		text, err := in.ReadSlice('\n')
		if starts && len(text) > 0 {
			if at := lineTime(text); !at.IsZero() {
				if l.From.IsZero() {
					l.From = at
				}
				l.To = at
			}
			if m := refusal(pattern, text); m != nil {
				address, bad := netip.ParseAddr(string(m[1]))
				if bad == nil {
					clients.refuse(client{address.Unmap().String(), string(m[2])}, lineTime(text))
				}
			}
		}
		starts = err == nil // a line longer than the buffer comes in pieces
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
	}
}

// client is who refused a server, and the reason.
type client struct{ address, reason string }

// clientList keeps the clients of a log that refused last.
type clientList struct {
	log    *inspect.ServerLog
	index  map[client]*ring.Element
	byLast *ring.List // of listedClient, the one whose last refusal is oldest first
}

type listedClient struct {
	client
	at int // in Refused
}

// refuse counts a refusal.
func (l clientList) refuse(c client, at time.Time) {
	e, listed := l.index[c]
	switch {
	case listed:
		l.byLast.MoveToBack(e)
	case len(l.log.Refused) < maxClients:
		e = l.byLast.PushBack(listedClient{c, len(l.log.Refused)})
		l.log.Refused = append(l.log.Refused, inspect.Refused{Client: c.address, Reason: c.reason, First: at})
	default:
		oldest, _ := l.byLast.Remove(l.byLast.Front()).(listedClient)
		delete(l.index, oldest.client)
		e = l.byLast.PushBack(listedClient{c, oldest.at})
		l.log.Refused[oldest.at], l.log.LeftOut = inspect.Refused{Client: c.address, Reason: c.reason, First: at}, true
	}
	l.index[c] = e
	kept, _ := e.Value.(listedClient)
	r := &l.log.Refused[kept.at]
	r.Count++
	r.Last = at
}

// refusal finds a refused handshake in a line: nearly none is one.
func refusal(pattern *regexp.Regexp, line []byte) [][]byte {
	if !bytes.Contains(line, []byte("TLS handshake error")) {
		return nil
	}
	return pattern.FindSubmatch(line)
}

// listen reads a server's log in a must-gather.
func (g *gathering) listen(row catalog.ServerLog, name string, r io.Reader) error {
	l := inspect.ServerLog{At: pki.Location{Kind: pki.KindFile, Path: name}, Row: row.ID}
	if g.where != "-" {
		l.At.Path = path.Join(g.where, name)
	}
	err := readServerLog(r, &l)
	g.serverLogs = append(g.serverLogs, serverLogRead{name, l})
	return err
}

// serverLogRead is what was found in a file of this name.
type serverLogRead struct {
	name string
	inspect.ServerLog
}
