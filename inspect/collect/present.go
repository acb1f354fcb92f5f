package collect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// PresentTime bounds connecting to a server and the handshake with it, where the user sets no other
// limit.
const PresentTime = handshakeTime

// Present makes one handshake with each server, from where certrot runs, in their order. Of a server
// that presents no chain, Problem says why.
func Present(ctx context.Context, servers []inspect.Address, limit time.Duration) []inspect.Handshake {
	out := make([]inspect.Handshake, len(servers))
	var g errgroup.Group
	g.SetLimit(handshakesAtOnce)
	for i, to := range servers {
		g.Go(func() error {
			h, err := meet(ctx, LocalDialer{}, to, limit)
			if err != nil {
				h.NoChain = whyNoChain(to, h, limit, err)
			}
			if h.NotRead > 0 {
				h.NoChain = inspect.NoChain{Problem: fmt.Sprintf("it presents %d certificates: the first %d were read", len(h.Chain)+h.NotRead, len(h.Chain)), Next: "all of them:", Command: byOpenSSL(to)}
			}
			out[i] = h
			return nil
		})
	}
	_ = g.Wait() // none returns an error: what fails is a Problem
	return out
}

// whyNoChain says for people why a server presented no chain, and what to do next.
func whyNoChain(to inspect.Address, h inspect.Handshake, limit time.Duration, err error) inspect.NoChain {
	var record tls.RecordHeaderError
	var lookup *net.DNSError
	const connect, tried = "connect from this machine: ", "TLS handshake from this machine: "
	switch {
	case errors.Is(err, context.Canceled):
		return inspect.NoChain{Problem: tried + "interrupted"}
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return inspect.NoChain{Problem: connect + "no such host", Next: "is the name right? Some names, api-int among them, resolve in the cluster's network only: give the IP address, as in 192.0.2.5:6443"}
	case errors.As(err, &lookup):
		return inspect.NoChain{Problem: connect + foreign.Text(lookup.Error()), Next: "does name resolution work here? Give the IP address, as in 192.0.2.5:6443"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return inspect.NoChain{Problem: connect + "connection refused", Next: "no program listens there, or a firewall refuses: are the host and the port right?"}
	case h.Remote == "" && tookTooLong(err):
		return inspect.NoChain{Problem: connect + fmt.Sprintf("no connection within %s", limit), Next: "is a firewall between? Allow more time with --request-timeout, or ask it from another machine"}
	case h.Remote == "":
		return inspect.NoChain{Problem: connect + foreign.Text(err.Error()), Next: "is there a route to it from this machine?"}
	case errors.As(err, &record) && (strings.HasPrefix(string(record.RecordHeader[:]), "HTTP") || record.RecordHeader[0] == '<'): // some answer with a page alone
		return inspect.NoChain{Problem: tried + "it answers in plain HTTP, not in TLS", Next: "is the port right? Its answer:", Command: nodeexec.Quote("curl", "-v", "http://"+to.HostPort+"/")}
	case errors.As(err, &record):
		return inspect.NoChain{Problem: tried + fmt.Sprintf("it does not speak TLS (its answer begins with %s)", foreign.Quoted(string(record.RecordHeader[:]))),
			Next: "is the port right? Servers that begin without TLS, such as SMTP and PostgreSQL, are not read"}
	case tookTooLong(err):
		return inspect.NoChain{Problem: tried + fmt.Sprintf("it accepted the connection, and there was no handshake within %s", limit),
			Next: "does it speak TLS, and is it overloaded? Allow more time with --request-timeout; what it answers:", Command: byOpenSSL(to)}
	case strings.Contains(err.Error(), "protocol version"): // crypto/tls: the server's alert has no exported type
		return inspect.NoChain{Problem: tried + "it accepts neither TLS 1.2 nor TLS 1.3, and no other version was offered", Next: "clients of Go, kubelets among them, refuse it, too; its chain:", Command: byOpenSSL(to, "-tls1")}
	case closed(err):
		return inspect.NoChain{Problem: tried + "it closed the connection", Next: "does it serve TLS? A load balancer without a backend closes connections in this way; what it answers:", Command: byOpenSSL(to)}
	}
	return inspect.NoChain{Problem: tried + foreign.Text(err.Error()), Next: "what it presents to others:", Command: byOpenSSL(to)}
}

// byOpenSSL is a command that prints the chain without certrot's bounds.
func byOpenSSL(to inspect.Address, options ...string) string {
	command := append([]string{"openssl", "s_client", "-showcerts"}, options...)
	command = append(command, "-connect", to.HostPort)
	if name := to.SNI(); name != "" {
		command = append(command, "-servername", name)
	}
	return nodeexec.Quote(command...)
}

// tookTooLong reports whether the limit of time ended it.
func tookTooLong(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, net.ErrClosed) || errors.As(err, &timeout) && timeout.Timeout()
}

// closed reports whether the other side ended the connection.
func closed(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || strings.HasSuffix(err.Error(), "EOF")
}
