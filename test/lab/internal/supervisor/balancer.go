//go:build linux

package supervisor

import (
	"context"
	"fmt"
	"log"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
)

// sharePort lets the balancer listen on the control plane's address although the API
// server there listens on all of them: who dials the address gets the balancer, who dials
// localhost the API server.
const sharePort = "--permit-port-sharing"

// balancer is what is behind api and api-int where there are several API servers: TCP
// connections go to one after another of those that answer. Servers see its address, and
// not the client's.
type balancer struct {
	servers []*backend
	turn    atomic.Uint32
}

type backend struct {
	address string
	answers atomic.Bool
}

// newBalancer knows the control plane's API server and those of masters. Without any of the
// latter there is none.
func newBalancer(nodes []node.Node) *balancer {
	b := &balancer{servers: []*backend{{address: "127.0.0.1:" + apiPort}}}
	for _, n := range nodes {
		if n.APIServer {
			b.servers = append(b.servers, &backend{address: net.JoinHostPort(n.Address, apiPort)})
		}
	}
	if len(b.servers) == 1 {
		return nil
	}
	return b
}

// serve listens until the lab ends, and looks all the time which servers are there.
func (b *balancer) serve(ctx context.Context) error {
	const reusePort = 15 // SO_REUSEPORT, which package syscall does not have everywhere
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		if e := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, reusePort, 1) }); e != nil {
			return e
		}
		return err
	}}
	listener, err := config.Listen(ctx, "tcp4", net.JoinHostPort(pki.Address, apiPort))
	if err != nil {
		return fmt.Errorf("balance connections to API servers: %w", err)
	}
	for _, s := range b.servers {
		go b.watch(ctx, s)
	}
	go func() {
		for ctx.Err() == nil {
			c, err := listener.Accept()
			if err != nil {
				log.Printf("accept a connection to api-int: %v", err)
				pause(ctx, 100*time.Millisecond)
				continue
			}
			go b.pass(c)
		}
	}()
	return nil
}

// watch connects and says nothing, as balancers do on OpenShift: so the log of the API
// server goes on, too.
func (b *balancer) watch(ctx context.Context, s *backend) {
	for ctx.Err() == nil {
		conn, err := dialServer(s.address)
		if err == nil {
			_ = conn.Close()
		}
		if was := s.answers.Swap(err == nil); was != (err == nil) {
			log.Printf("balancer: %s: %s", s.address, map[bool]string{true: "answers", false: "does not answer any more"}[err == nil])
		}
		pause(ctx, probeInterval)
	}
}

// pass gives a connection to a server that answers, and to another one where that has
// just ended.
func (b *balancer) pass(outer net.Conn) {
	first := int(b.turn.Add(1))
	for i := range b.servers {
		s := b.servers[(first+i)%len(b.servers)]
		if !s.answers.Load() {
			continue
		}
		inner, err := dialServer(s.address)
		if err != nil {
			continue
		}
		join(outer, inner)
		return
	}
	_ = outer.Close()
}

func dialServer(address string) (net.Conn, error) {
	d := net.Dialer{Timeout: time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(pki.Address)}}
	return d.Dial("tcp4", address)
}
