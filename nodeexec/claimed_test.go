package nodeexec_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// The addresses of a Node are what its kubelet writes. They say where to dial, and
// choose nothing of the administrator's configuration.
func TestAKubeletsAddressChoosesNoHostBlock(t *testing.T) {
	h := newHome(t)
	write(t, h.file("config"), `Host bastion 192.0.2.1 bastion.example.com
  User root
  Port 2222
  IdentityFile ~/.ssh/bastion
  ProxyJump outside
  UserKnownHostsFile /dev/null
Host 192.0.2.*
  User admin
Host *.example.com !w9.example.com
  User web
Host w9
  IdentityFile ~/.ssh/for-%h
Host * !192.0.2.7
  ConnectTimeout 3
`)
	line := h.file("config")
	for name, c := range map[string]struct {
		node      string
		addresses []string
		way       string
		names     []string // of the blocks that fit an address only
	}{
		"the address of another machine's block": {"w9", []string{"192.0.2.1"}, "w9 core@192.0.2.1:22", []string{line + ":1: Host bastion 192.0.2.1 bastion.example.com is not applied", line + ":7: Host 192.0.2.*", ": w9 192.0.2.1"}},
		"a DNS name":                             {"w9", []string{"bastion.example.com"}, "w9 core@bastion.example.com:22", []string{line + ":1: Host bastion", line + ":9: Host *.example.com", ": w9 bastion.example.com"}},
		"the second address":                     {"w8", []string{"198.51.100.1", "192.0.2.1"}, "w8 core@198.51.100.1,192.0.2.1:22", []string{line + ":1: Host bastion", ": w8 192.0.2.1"}},
		"an address that no block fits":          {"w8", []string{"198.51.100.1"}, "w8 core@198.51.100.1:22", nil},
		"a block that fits the node's name too":  {"a.example.com", []string{"b.example.com"}, "a.example.com web@b.example.com:22", nil},
		"an address that a block leaves out":     {"w8", []string{"192.0.2.7"}, "w8 core@192.0.2.7:22", []string{line + ":7: Host 192.0.2.*"}},
	} {
		s := &nodeexec.SSH{Home: h.dir, Addresses: answer(c.addresses)}
		if got, err := nodeexec.Route(s, c.node); got != c.way || err != nil {
			t.Errorf("%s:\n%s, %v; want\n%s", name, got, err, c.way)
		}
		settings, err := nodeexec.Settings(s, c.node)
		if err != nil || settings["connecttimeout"] != "3" || strings.Contains(settings["identityfile"], "bastion") || strings.Contains(settings["userknownhostsfile"], "null") {
			t.Errorf("%s: %v, %v", name, settings, err)
		}
		if c.node == "w9" && settings["identityfile"] != h.file("for-w9") {
			t.Errorf("%s: %%h is the kubelet's word: %s", name, settings["identityfile"])
		}
		said := nodeexec.PassedOver(s, c.node)
		for _, want := range c.names {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q is not in %q", name, want, said)
			}
		}
		if (said == "") != (c.names == nil) {
			t.Errorf("%s: said %q", name, said)
		}
	}
	// What the user writes into the inventory is the user's word.
	s := &nodeexec.SSH{Home: h.dir, Addresses: answer([]string{"192.0.2.1"}), Inventory: nodeexec.Inventory{"w9": {Host: "192.0.2.1"}}}
	if got, err := nodeexec.Route(s, "w9"); got != "outside "+whoami(t)+"@outside:22\nw9 root@192.0.2.1:2222" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

func TestAddressesThatAreNoMachine(t *testing.T) {
	for _, bad := range []string{"-oProxyCommand=id", "root@192.0.2.1", "a b", "a\nb", "%h", "192.0.2.1%25eth0", "fe80::1%eth0", "0.0.0.0", "::", "::ffff:0.0.0.0", "224.0.0.1", "ff02::1", "..", "a..b", "a_b", "-a.b", "192.0.2", "a:22", "[::1]", "", strings.Repeat("a", 64), "a;b", "$(id)",
		"127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1", "169.254.169.254", "fe80::1", "localhost", "LocalHost.", "api.localhost", "localhost.localdomain"} {
		s := &nodeexec.SSH{Config: "none", Addresses: answer([]string{bad})}
		if got, err := nodeexec.Route(s, "w9"); err == nil || !strings.Contains(err.Error(), "is no address of a node") {
			t.Errorf("%q: %s, %v", bad, got, err)
		}
		s.Addresses = answer([]string{bad, "192.0.2.1"})
		if got, err := nodeexec.Route(s, "w9"); err != nil || got != "w9 core@192.0.2.1:22" {
			t.Errorf("%q beside a good one: %s, %v", bad, got, err)
		}
	}
	for _, good := range []string{"192.0.2.1", "2001:db8::1", "w9", "ip-10-0-1-2.ec2.internal", "W9.Example.com."} {
		if got, err := nodeexec.Route(&nodeexec.SSH{Config: "none", Addresses: answer([]string{good})}, "w9"); err != nil || got != "w9 core@"+good+":22" {
			t.Errorf("%q: %s, %v", good, got, err)
		}
	}
}

// TestManyAddressesOfANode: the first of them are tried, and errors name no more.
func TestManyAddressesOfANode(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	write(t, h.file("config"), "Host 192.0.2.*\n User a\n")
	var good, bad []string
	for i := range 200 {
		good, bad = append(good, fmt.Sprintf("192.0.2.%d", i)), append(bad, fmt.Sprintf("127.0.0.%d", i))
	}
	s := &nodeexec.SSH{Home: h.dir, Addresses: answer(good)}
	got, err := nodeexec.Route(s, "w9")
	if err != nil || strings.Count(got, "192.0.2.") != 20 || strings.Count(nodeexec.PassedOver(s, "w9"), "is not applied") != 20 {
		t.Errorf("%s, %v; %s", got, err, nodeexec.PassedOver(s, "w9"))
	}
	s.Addresses = answer(bad)
	if _, err := nodeexec.Route(s, "w9"); err == nil || strings.Count(err.Error(), "127.0.0.") != 20 {
		t.Error(err)
	}
}

// TestTheErrorNamesTheBlockThatIsNotApplied: with a real sshd, what to write is in the
// error, and works.
func TestTheErrorNamesTheBlockThatIsNotApplied(t *testing.T) {
	noLeaks(t)
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	h.trust(t, d)
	write(t, h.file("config"), fmt.Sprintf("Host 127.0.0.1\n User %s\n Port %d\n", d.user, d.port))
	s := nodeexec.ClaimLoopback(&nodeexec.SSH{Home: h.dir, Sudo: nodeexec.SudoNever, Addresses: answer([]string{"127.0.0.1"}), Port: freePort(t)})
	_, err := s.Dial(t.Context(), "node-1")
	if err == nil || !strings.HasSuffix(err.Error(), h.file("config")+":1: Host 127.0.0.1 is not applied: it fits the address 127.0.0.1, which the kubelet of node-1 reports, and not the node's name; "+
		"if that is the node's address, put this line into the inventory (--ssh-inventory): node-1 127.0.0.1") {
		t.Fatal(err)
	}
	var refused *nodeexec.HostKeyError
	if errors.As(err, &refused) {
		t.Error("it was connected to")
	}
	inventory, err := nodeexec.ParseInventory(strings.NewReader(err.Error()[strings.LastIndex(err.Error(), ": ")+2:]), "the error")
	if err != nil {
		t.Fatal(err)
	}
	s.Inventory, s.Port = inventory, 0
	n := open(t, s, "node-1")
	if out, err := n.Run(t.Context(), nil, "echo", "there"); err != nil || string(out) != "there\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestAnotherMachinesKeyIsNotTheNodes: a kubelet that reports the bastion's address does
// not lead the administrator there.
func TestAnotherMachinesKeyIsNotTheNodes(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	s := func() *nodeexec.SSH {
		return nodeexec.ClaimLoopback(&nodeexec.SSH{Home: h.dir, Sudo: nodeexec.SudoNever, User: d.user, Port: d.port, Addresses: answer([]string{"127.0.0.1"}),
			HostKeys: nodeexec.HostKeys{Files: []string{h.file("known_hosts")}}})
	}
	name := func(host string) string { return fmt.Sprintf("[%s]:%d", host, d.port) }
	for _, c := range []struct {
		name  string
		hosts []string
		ok    bool
	}{
		{"by its address alone", []string{d.addr()}, true},
		{"by its address and the node's name", []string{d.addr(), name("node-1.example.com")}, true},
		{"by the node's name, and other names of it", []string{name("node-1"), name("old")}, true},
		{"by its address and another host's name", []string{d.addr(), name("bastion")}, false},
		{"by its address and a pattern", []string{d.addr(), "*.example.com"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			noLeaks(t)
			write(t, h.file("known_hosts"), knownhosts.Line(c.hosts, d.keys[0])+"\n")
			if c.ok {
				_ = open(t, s(), "node-1").Close()
				return
			}
			e := hostKeyError(t, s())
			if e.Unknown() || e.Another == "" {
				t.Errorf("%+v", e)
			}
			contains(t, e.Error(), "is another host's", h.file("known_hosts")+":1 has it for "+c.hosts[1], "another machine answers there")
			given := s()
			given.Inventory = nodeexec.Inventory{"node-1": {Host: "127.0.0.1"}}
			_ = open(t, given, "node-1").Close()
		})
	}
	t.Run("on a line of its own", func(t *testing.T) {
		noLeaks(t)
		write(t, h.file("known_hosts"), knownhosts.Line([]string{d.addr()}, d.keys[0])+"\n"+knownhosts.Line([]string{"bastion"}, d.keys[0])+"\n")
		contains(t, hostKeyErrorText(t, s()), h.file("known_hosts")+":2 has it for bastion")
	})
}

// TestAnotherMachinesCertificateIsNotTheNodes: nor does one who signs the certificates of all
// hosts stand for what a kubelet reports.
func TestAnotherMachinesCertificateIsNotTheNodes(t *testing.T) {
	h := newHome(t)
	dir := t.TempDir()
	signer := func(name string) ssh.Signer {
		writeKey(t, filepath.Join(dir, name), "ed25519", "")
		key, err := ssh.ParsePrivateKey([]byte(read(t, filepath.Join(dir, name))))
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	ca, host := signer("ca"), signer("host")
	for name, c := range map[string]struct {
		node       string
		principals []string
		also       string // a host of the key's in known_hosts
		says       string // empty: it is accepted
	}{
		"its address alone":                    {"node-1", []string{"127.0.0.1"}, "", ""},
		"the node's long name":                 {"node-1", []string{"127.0.0.1", "node-1.example.com"}, "", ""},
		"another machine's":                    {"node-1", []string{"bastion", "127.0.0.1"}, "", "its certificate is for "},
		"its address, by the key of a machine": {"node-1", []string{"127.0.0.1"}, "bastion", "has it for bastion"},
		"the short name of a node":             {"node-1.example.com", []string{"127.0.0.1", "node-1"}, "", ""},
		"that of another cluster's node":       {"node-1.example.com", []string{"127.0.0.1", "node-1", "node-1.example.org"}, "", "its certificate is for "},
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			cert := &ssh.Certificate{Key: host.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: c.principals, ValidBefore: ssh.CertTimeInfinity}
			if err := cert.SignCert(rand.Reader, ca); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "host-cert.pub"), string(ssh.MarshalAuthorizedKey(cert)))
			d := startSSHD(t, "HostKey "+filepath.Join(dir, "host")+"\nHostCertificate "+filepath.Join(dir, "host-cert.pub"), nil, h.key)
			known := "@cert-authority " + knownhosts.Line([]string{d.addr()}, ca.PublicKey()) + "\n"
			if c.also != "" {
				known += knownhosts.Line([]string{c.also}, host.PublicKey()) + "\n"
			}
			write(t, h.file("known_hosts"), known)
			s := nodeexec.ClaimLoopback(&nodeexec.SSH{Home: h.dir, Sudo: nodeexec.SudoNever, User: d.user, Port: d.port, Addresses: answer([]string{"127.0.0.1"}),
				HostKeys: nodeexec.HostKeys{Files: []string{h.file("known_hosts")}}})
			n, err := s.Dial(t.Context(), c.node)
			var e *nodeexec.HostKeyError
			switch {
			case err == nil && c.says == "":
				_ = n.Close()
			case !errors.As(err, &e) || e.Unknown() || c.says == "":
				t.Errorf("%v", err)
			default:
				contains(t, e.Error(), "is another host's", c.says)
			}
		})
	}
}

func TestHostKeyAlias(t *testing.T) {
	noLeaks(t)
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	write(t, h.file("config"), "Host node-1\n HostKeyAlias the-node\n")
	s := nodeexec.ClaimLoopback(&nodeexec.SSH{Home: h.dir, Sudo: nodeexec.SudoNever, User: d.user, Port: d.port, Addresses: answer([]string{"127.0.0.1"})})
	h.trust(t, d) // by its address
	if e := hostKeyError(t, s); !e.Unknown() || e.Host != "the-node" {
		t.Errorf("%+v", e)
	}
	write(t, h.file("known_hosts"), knownhosts.Line([]string{"the-node"}, d.keys[0])+"\n")
	_ = open(t, s, "node-1").Close()
}

// TestAKubeletDoesNotLeadToTheAdministratorsOwnMachine: its Node has a loopback address, and
// known_hosts has that address.
func TestAKubeletDoesNotLeadToTheAdministratorsOwnMachine(t *testing.T) {
	noLeaks(t)
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	h.trust(t, d)
	s := func(claimed string) *nodeexec.SSH {
		return &nodeexec.SSH{Home: h.dir, Sudo: nodeexec.SudoNever, User: d.user, Port: d.port, Addresses: answer([]string{claimed})}
	}
	for _, claimed := range []string{"127.0.0.1", "::ffff:127.0.0.1", "localhost"} {
		loginFails(t, s(claimed), claimed, "is no address of a node", "inventory")
	}
	given := s("192.0.2.1")
	given.Inventory = nodeexec.Inventory{"node-1": {Host: "127.0.0.1"}}
	_ = open(t, given, "node-1").Close()
	write(t, h.file("config"), "Host node-1\n HostName 127.0.0.1\n")
	_ = open(t, s("192.0.2.1"), "node-1").Close()
}

// TestANameThatLeadsToLoopbackIsNotDialled: a DNS name passes as one, and its address does not.
func TestANameThatLeadsToLoopbackIsNotDialled(t *testing.T) {
	noLeaks(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	for _, n := range []string{host, "ip6-loopback", "ip6-localhost"} {
		if at, err := net.DefaultResolver.LookupNetIP(t.Context(), "ip", n); err == nil && len(at) > 0 && !slices.ContainsFunc(at, func(a netip.Addr) bool { return !a.Unmap().IsLoopback() }) {
			name = n
		}
	}
	if name == "" {
		t.Skip("no name other than localhost leads to loopback here")
	}
	h := newHome(t)
	loginFails(t, &nodeexec.SSH{Home: h.dir, Addresses: answer([]string{name}), Port: freePort(t)}, name, "is no address of a node")
}

// TestAHashedNameOfAnotherMachineIsRefused: with HashKnownHosts, a name of another machine
// is told by trying the names that are known.
func TestAHashedNameOfAnotherMachineIsRefused(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	write(t, h.file("config"), fmt.Sprintf("Host *\n User %s\nHost bastion !x *.example.com\n HostName jump.example.com\n Port 2222\nHost app\n ProxyJump admin@outside:2200\n", d.user))
	s := nodeexec.ClaimLoopback(&nodeexec.SSH{Home: h.dir, Sudo: nodeexec.SudoNever, Port: d.port, Addresses: answer([]string{"127.0.0.1"}),
		Names: []string{"node-1", "node-2.example.com"}, Inventory: nodeexec.Inventory{"node-3": {Host: "three.example.com"}}})
	for _, c := range []struct {
		name string // as known_hosts has it, before it is hashed
		ok   bool
	}{
		{"bastion", false},
		{"[bastion]:2222", false},
		{fmt.Sprintf("[bastion]:%d", d.port), false},
		{"jump.example.com", false},
		{"outside", false},
		{"[outside]:2200", false},
		{"node-2.example.com", false},
		{fmt.Sprintf("[node-2.example.com]:%d", d.port), false},
		{"node-2", false},
		{"node-3", false},
		{"three.example.com", false},
		{"by-name.example.com", false}, // stands elsewhere in known_hosts
		{"node-1", true},
		{"node-1.example.com", true},
		{"never-heard-of", true}, // nothing to try
	} {
		t.Run(c.name, func(t *testing.T) {
			noLeaks(t)
			other := writeKey(t, filepath.Join(t.TempDir(), "other"), "ed25519", "")
			write(t, h.file("known_hosts"), knownhosts.Line([]string{d.addr()}, d.keys[0])+"\n"+knownhosts.Line([]string{knownhosts.HashHostname(c.name)}, d.keys[0])+"\n"+
				knownhosts.Line([]string{"by-name.example.com"}, other)+"\n")
			if c.ok {
				_ = open(t, s, "node-1").Close()
				return
			}
			e := hostKeyError(t, s)
			contains(t, e.Error(), "is another host's", h.file("known_hosts")+":2 has it for "+c.name+" (hashed)")
		})
	}
	t.Run("written by ssh-keygen", func(t *testing.T) {
		noLeaks(t)
		write(t, h.file("known_hosts"), knownhosts.Line([]string{d.addr()}, d.keys[0])+"\n"+knownhosts.Line([]string{"bastion"}, d.keys[0])+"\n")
		if out, err := exec.Command("ssh-keygen", "-H", "-f", h.file("known_hosts")).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		contains(t, hostKeyError(t, s).Error(), h.file("known_hosts")+":2 has it for bastion (hashed)")
	})
}

// TestANodeOfAnotherClusterIsAnotherMachine: the short name is the same, the domain is not.
func TestANodeOfAnotherClusterIsAnotherMachine(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	s := nodeexec.ClaimLoopback(&nodeexec.SSH{Home: h.dir, Sudo: nodeexec.SudoNever, User: d.user, Port: d.port, Addresses: answer([]string{"127.0.0.1"})})
	for _, c := range []struct {
		node, known string
		ok          bool
	}{
		{"master-0.lab.example.com", "master-0.prod.example.com", false},
		{"master-0.lab.example.com", "master-0.lab.example.com.evil", false},
		{"master-0.lab.example.com", "master-0", true},
		{"master-0.lab.example.com", "Master-0.Lab.example.com", true},
		{"master-0", "master-0.lab.example.com", true},
		{"master-0", "master-1", false},
	} {
		for _, known := range []string{c.known, knownhosts.HashHostname(strings.ToLower(c.known))} {
			s.Names = []string{strings.ToLower(c.known)}
			write(t, h.file("known_hosts"), knownhosts.Line([]string{d.addr()}, d.keys[0])+"\n"+knownhosts.Line([]string{known}, d.keys[0])+"\n")
			n, err := s.Dial(t.Context(), c.node)
			if err == nil {
				_ = n.Close()
			}
			if c.ok != (err == nil) || err != nil && !strings.Contains(err.Error(), "is another host's") {
				t.Errorf("node %s, known as %s (%s): %v", c.node, c.known, known, err)
			}
		}
	}
}
