package nodeexec_test

import (
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/nodetest"
)

func TestSSH(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "AllowTcpForwarding yes", nil, h.key)
	h.trust(t, d)
	noLeaks(t)
	nodetest.TestNode(t, func(t *testing.T) nodeexec.Node { return open(t, h.ssh(d), "node-1") }, nodetest.Options{})
}

func TestSSHWhereForwardingIsForbidden(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "AllowTcpForwarding no", nil, h.key)
	h.trust(t, d)
	noLeaks(t)
	nodetest.TestNode(t, func(t *testing.T) nodeexec.Node { return open(t, h.ssh(d), "node-1") },
		nodetest.Options{DialOnly: true, NoHalfClose: true})
	nothingLeft(t, "certrot-relay NAME")
}

func TestSSHThroughSudo(t *testing.T) {
	needsSudo(t)
	h := newHome(t)
	d := startSSHD(t, "AllowTcpForwarding no", nil, h.key)
	h.trust(t, d)
	noLeaks(t)
	nodetest.TestNode(t, func(t *testing.T) nodeexec.Node {
		s := h.ssh(d)
		s.Sudo = nodeexec.SudoAlways
		return open(t, s, "node-1")
	}, nodetest.Options{NoHalfClose: true})
	nothingLeft(t, "certrot-relay NAME")
}
