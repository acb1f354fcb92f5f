package nodeexec

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// machines are names and ports of machines that the user or the cluster speaks of: what
// a hashed name in known_hosts can be compared with.
type machines struct {
	names []string
	ports []string
}

// machines collects them from the nodes, the inventory and the configuration.
func (s *SSH) machines(c userConfig) machines {
	var m machines
	for _, name := range s.Names {
		m.add(name, 0)
	}
	for node, at := range s.Inventory {
		m.add(node, at.Port)
		m.add(at.Host, at.Port)
	}
	m.configured(c.items)
	return m
}

// configured adds the hosts of Host blocks, HostName and ProxyJump.
func (m *machines) configured(items []configItem) {
	for _, it := range items {
		for _, host := range it.hosts {
			m.add(host, 0)
		}
		switch it.key {
		case "hostname", "hostkeyalias":
			m.add(it.args[0], 0)
		case "port":
			m.ports = append(m.ports, it.args[0])
		case "proxyjump":
			for spec := range strings.SplitSeq(it.args[0], ",") {
				if host, at, err := parseJump(spec); err == nil {
					m.add(host, at.Port)
				}
			}
		}
		m.configured(it.items)
	}
}

// add adds a name, its short form and a port. Addresses and patterns name no machine.
func (m *machines) add(host string, port int) {
	if port != 0 {
		m.ports = append(m.ports, strconv.Itoa(port))
	}
	host = machineName(host)
	if host == "" {
		return
	}
	short, _, _ := strings.Cut(host, ".")
	m.names = append(m.names, host, short)
}

// hashed returns the name behind a hashed host of known_hosts, if it is one of these and
// not the node's.
func (m machines) hashed(host, node string) string {
	for _, name := range m.names {
		if !isNameOfAnother(name, node) {
			continue
		}
		if isHashOf(host, name) {
			return name
		}
		for _, port := range m.ports {
			if at := knownhosts.Normalize(net.JoinHostPort(name, port)); isHashOf(host, at) {
				return at
			}
		}
	}
	return ""
}

// isHashOf reports whether |1|salt|hash, as HashKnownHosts writes it, is that of a name.
func isHashOf(host, name string) bool {
	parts := strings.Split(host, "|")
	if len(parts) != 4 || parts[0] != "" || parts[1] != "1" {
		return false
	}
	salt, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil {
		return false
	}
	hash, err := base64.StdEncoding.DecodeString(parts[3])
	if err != nil {
		return false
	}
	mac := hmac.New(sha1.New, salt)
	mac.Write([]byte(name))
	return hmac.Equal(mac.Sum(nil), hash)
}

// another refuses a key that is known by the address dialled alone, and by the name of
// another host: the address is what the node's kubelet says, who may name any.
func (k *knownHosts) another(h hop, addr string, key ssh.PublicKey) error {
	for _, name := range h.knownAs(addr) {
		if name != addr && k.lookup(name, &net.TCPAddr{}, key) == nil {
			return nil
		}
	}
	bare := key
	if cert, ok := key.(*ssh.Certificate); ok {
		if bare = cert.Key; forAnother(cert.ValidPrincipals, h.name) {
			return &HostKeyError{Host: knownhosts.Normalize(addr), Key: key, Another: "its certificate is for " + foreign.Texts(cert.ValidPrincipals)}
		}
	}
	type entry struct{ at, host string }
	var entries []entry // the hosts for which known_hosts has this key
	all := machines{names: slices.Clone(h.others.names), ports: append(slices.Clone(h.others.ports), strconv.Itoa(h.port))}
	for _, file := range k.files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("known hosts can't be read: %w", err)
		}
		number := 0
		for line := range bytes.Lines(text) {
			number++
			marker, hosts, of, _, _, err := ssh.ParseKnownHosts(line)
			if err != nil || marker != "" {
				continue
			}
			for _, host := range hosts {
				all.add(host, 0)
				if bytes.Equal(of.Marshal(), bare.Marshal()) {
					entries = append(entries, entry{fmt.Sprintf("%s:%d", file, number), host})
				}
			}
		}
	}
	for _, e := range entries {
		name := ""
		if isNameOfAnother(e.host, h.name) {
			name = e.host
		} else if hashed := all.hashed(e.host, h.name); hashed != "" {
			name = hashed + " (hashed)"
		}
		if name != "" {
			return &HostKeyError{Host: knownhosts.Normalize(addr), Key: key, Another: e.at + " has it for " + name}
		}
	}
	return nil
}

// forAnother reports whether a host certificate names machines, and none of them is the node.
// One that has addresses alone names none. Where both have qualified names, those decide: another
// cluster may have the short name too.
func forAnother(principals []string, node string) bool {
	qualified := func(name string) bool { return strings.Contains(machineName(name), ".") }
	whole := qualified(node) && slices.ContainsFunc(principals, qualified)
	others := false
	for _, p := range principals {
		switch {
		case machineName(p) == "" || whole && !qualified(p):
		case isNameOfAnother(p, node):
			others = true
		default:
			return false
		}
	}
	return others
}

// machineName is the name in a host of known_hosts or ssh_config, in lower case; "" if it
// is an address, hashed, or a pattern: not the name of one machine.
func machineName(host string) string {
	if host == "" || strings.HasPrefix(host, "|") || strings.HasPrefix(host, "!") || strings.ContainsAny(host, "*?") {
		return ""
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	return host
}

// isNameOfAnother reports whether a host of known_hosts is a name, and not one of this
// node. Where both are qualified, all of it counts: another cluster may have the short
// name too.
func isNameOfAnother(host, node string) bool {
	host, node = machineName(host), machineName(node)
	if host == "" {
		return false
	}
	hostShort, _, hostQualified := strings.Cut(host, ".")
	nodeShort, _, nodeQualified := strings.Cut(node, ".")
	if hostQualified && nodeQualified {
		return host != node
	}
	return hostShort != nodeShort
}

// claimable reports whether an address can be that of a node, as its kubelet claims it.
// Loopback and link-local addresses lead to the machine that dials, or to one beside it.
func (s *SSH) claimable(ip netip.Addr) bool {
	ip = ip.Unmap()
	if ip.IsLoopback() {
		return s.loopbackForTests
	}
	return ip.Zone() == "" && !ip.IsUnspecified() && !ip.IsMulticast() && !ip.IsLinkLocalUnicast()
}

// dialer connects to a hop. What a claimed name resolves to is judged as a claimed address
// is.
func (s *SSH) dialer(h hop) *net.Dialer {
	if !h.claimed {
		return new(net.Dialer)
	}
	return &net.Dialer{ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(address); err != nil || !s.claimable(at.Addr()) {
			return fmt.Errorf("the name leads to %s, which is no address of a node; give its address in an inventory (--ssh-inventory)", address)
		}
		return nil
	}}
}
