package nodeexec

import (
	"net"
	"net/netip"
)

// addressed is a Node that was reached at an address, by who proved to be it.
type addressed interface {
	// Address is where the machine was reached that proved its host key; the zero Addr
	// where that is unknown.
	Address() netip.Addr
}

// AddressOf returns where a node was reached; the zero Addr where its transport proves no
// address.
func AddressOf(n Node) netip.Addr {
	if t, ok := n.(tried); ok {
		n = t.Node
	}
	if a, ok := n.(addressed); ok {
		return a.Address()
	}
	return netip.Addr{}
}

// Address is the remote end of the last connection: through a jump host, the address that
// the jump host was asked to connect to.
func (n *sshNode) Address() netip.Addr {
	at, err := netip.ParseAddrPort(n.ssh.RemoteAddr().String())
	if err != nil || at.Addr().IsUnspecified() {
		return netip.Addr{}
	}
	return at.Addr().WithZone("").Unmap()
}

// jumped is a connection through a jump host, which does not tell where it leads.
type jumped struct {
	net.Conn
	at net.Addr
}

func (j jumped) RemoteAddr() net.Addr { return j.at }

// through says where a connection leads that a jump host made. Where that was asked for by
// name, only the jump host knows.
func through(c net.Conn, addr string) net.Conn {
	if at, err := netip.ParseAddrPort(addr); err == nil {
		return jumped{c, net.TCPAddrFromAddrPort(at)}
	}
	return c
}
