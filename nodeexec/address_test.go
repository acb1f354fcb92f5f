package nodeexec_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// TestWhereSSHReachedANode: an address proves where a node is only where it was dialled.
func TestWhereSSHReachedANode(t *testing.T) {
	h := newHome(t)
	jump, d := startSSHD(t, "", nil, h.key), startSSHD(t, "", nil, h.key)
	h.trust(t, jump, d)
	port := strings.TrimPrefix(d.addr(), "127.0.0.1:")
	write(t, h.file("config"), "Host jump\n HostName 127.0.0.1\n User "+jump.user+"\n Port "+strings.TrimPrefix(jump.addr(), "127.0.0.1:")+
		"\nHost node-1\n HostName 127.0.0.1\n User "+d.user+"\n Port "+port+
		"\nHost node-2\n HostName 127.0.0.1\n ProxyJump jump\n User "+d.user+"\n Port "+port+
		"\nHost node-3\n HostName localhost\n ProxyJump jump\n User "+d.user+"\n Port "+port+"\n")
	write(t, h.file("known_hosts"), read(t, h.file("known_hosts"))+strings.ReplaceAll(read(t, h.file("known_hosts")), "127.0.0.1", "localhost"))
	for node, want := range map[string]netip.Addr{
		"node-1": netip.MustParseAddr("127.0.0.1"),
		"node-2": netip.MustParseAddr("127.0.0.1"), // through a jump host, by address
		"node-3": {},                               // by a name that the jump host resolves
	} {
		n := open(t, &nodeexec.SSH{Home: h.dir, Sudo: nodeexec.SudoNever}, node)
		if got := nodeexec.AddressOf(n); got != want {
			t.Errorf("%s: %s, want %s", node, got, want)
		}
		_ = n.Close()
	}
}

// TestWaysThatProveAnAddress: who announces what proves a node's address asks the row of the way.
func TestWaysThatProveAnAddress(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	h.trust(t, d)
	for _, by := range []nodeexec.Transport{nodeexec.Local{Node: "node-1"}, nodeexec.Command{Words: []string{"env", "NODE={node}"}, Sudo: nodeexec.SudoNever}, h.ssh(d)} {
		n := open(t, nodeexec.FirstOf(by), "node-1")
		if got, want := nodeexec.AddressOf(n).IsValid(), nodeexec.WayOf(nodeexec.Via(n)).ProvesAddress; got != want {
			t.Errorf("%s proves an address: %t, and its row says %t", by.Name(), got, want)
		}
	}
	if got := nodeexec.WayOf("of another release"); got != (nodeexec.Way{}) {
		t.Errorf("what is no way has the row %+v", got)
	}
}
