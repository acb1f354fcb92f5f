package nodeexec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// hop is one SSH connection on the way to a node: the node's own, or that of a
// jump host.
type hop struct {
	name    string   // as the cluster, the configuration or the user has it
	hosts   []string // where it may be
	user    string
	port    int
	keys    keyChoice
	known   []string // known_hosts files of the user; the first gets new lines
	global  []string // those of the administrator: read, never added to
	alias   string   // HostKeyAlias: the one name under which its key is known
	timeout time.Duration
	// claimed: hosts are what the node's kubelet says of itself. That is where to dial,
	// and proves nothing: it may be the address of another machine.
	claimed bool
	others  machines // of which a claimed one may be none
}

// keyChoice is which keys are offered to a hop.
type keyChoice struct {
	files []string
	usual bool // files are those that every user has; silence if they are missing
	only  bool // no others, even if the agent has some
}

// knownAs is how a hop's key may be known: by the address dialled, and by the
// name that led there, unless that is an alias of a shape that known_hosts could
// take for something else. A HostKeyAlias stands in place of both, as in OpenSSH.
func (h hop) knownAs(addr string) []string {
	if h.alias != "" {
		return []string{net.JoinHostPort(h.alias, "22")} // which known_hosts writes without the port
	}
	byName := net.JoinHostPort(h.name, strconv.Itoa(h.port))
	if byName == addr || strings.ContainsFunc(h.name, notInHost) {
		return []string{addr}
	}
	return []string{addr, byName}
}

const maxHops = 8

// router makes hops of a configuration.
type router struct {
	s       *SSH
	config  userConfig
	me      string
	claimed bool // see hop
	others  machines
}

// route is the way to a node, jump hosts first.
func (s *SSH) route(ctx context.Context, node string) ([]hop, error) {
	if node == "" || node[0] == '-' || strings.ContainsFunc(node, notInHost) {
		return nil, fmt.Errorf("%q is no name of a node", node)
	}
	r := router{s: s, me: os.Getenv("USER")}
	if u, err := user.Current(); err == nil {
		r.me = u.Username[strings.LastIndexByte(u.Username, '\\')+1:] // DOMAIN\user
	}
	var err error
	if r.config, err = s.readConfig(); err != nil {
		return nil, err
	}
	given, listed := s.Inventory[node]
	names := []string{node}
	var hosts []string
	if alias := r.config.first(names, "hostname"); listed {
		hosts = []string{given.Host}
		if given.Host != node { // the user says that this is the node: Host blocks hold by its address too
			names = append(names, given.Host)
		}
	} else if alias == nil && s.Addresses != nil {
		if hosts, err = s.claimedHosts(ctx, node); err != nil {
			return nil, err
		}
		r.claimed, r.others = true, s.machines(r.config)
	}
	if given.User == "" {
		given.User = s.User
	}
	if given.Port == 0 {
		given.Port = s.Port
	}
	return r.to(names, hosts, given, "core", 0)
}

// mostClaimed is how many addresses of a node are tried, and named in an error: a kubelet may report thousands.
const mostClaimed = 20

// claimedHosts are the first addresses that a node's kubelet says it has, as far as they can
// be those of a machine. No Host block holds by them: a kubelet would choose the user,
// the key and the jump host of another machine.
func (s *SSH) claimedHosts(ctx context.Context, node string) ([]string, error) {
	said, err := s.Addresses(ctx, node)
	if err != nil {
		return nil, fmt.Errorf("address of node %s: %w; it can be given in an inventory file", node, err)
	}
	said = said[:min(len(said), mostClaimed)]
	hosts := slices.DeleteFunc(slices.Clone(said), func(h string) bool { return !s.isMachine(h) })
	if len(said) > 0 && len(hosts) == 0 {
		return nil, fmt.Errorf("address of node %s: %s is no address of a node; give its address in an inventory (--ssh-inventory)", node, foreign.Texts(said))
	}
	return hosts, nil
}

// isMachine reports whether a host is an IP address that one machine can have, or a DNS
// name other than localhost.
func (s *SSH) isMachine(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return s.claimable(ip)
	}
	labels := strings.Split(strings.ToLower(strings.TrimSuffix(host, ".")), ".")
	if labels[0] == "localhost" || labels[len(labels)-1] == "localhost" {
		return false
	}
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || strings.ContainsFunc(l, func(r rune) bool { return r == '.' || r == ':' || r == '%' || r == '_' || notInHost(r) }) {
			return false
		}
	}
	return len(host) <= 253 && !isNumber(labels[len(labels)-1])
}

// passedOver names the Host blocks of the configuration that fit an address of a node and
// not its name, with the line of an inventory that applies them; "" if there are none.
func (s *SSH) passedOver(ctx context.Context, node string) string {
	if _, listed := s.Inventory[node]; listed || s.Addresses == nil {
		return ""
	}
	c, err := s.readConfig()
	if err != nil {
		return ""
	}
	if alias := c.first([]string{node}, "hostname"); alias != nil {
		return ""
	}
	hosts, err := s.claimedHosts(ctx, node)
	if err != nil {
		return ""
	}
	var found []string
	for _, host := range hosts {
		for _, block := range c.onlyFor(host, node) {
			found = append(found, fmt.Sprintf("%s: Host %s is not applied: it fits the address %s, which the kubelet of %s reports, and not the node's name; "+
				"if that is the node's address, put this line into the inventory (--ssh-inventory): %s %s", block.at, strings.Join(block.hosts, " "), host, node, node, host))
		}
	}
	return strings.Join(found, "; ")
}

func (s *SSH) readConfig() (userConfig, error) {
	switch s.Config {
	case "none":
		return userConfig{}, nil
	case "":
		if s.Home == "" {
			return userConfig{}, nil
		}
		var both userConfig // the first value wins, so the user's comes first
		for _, path := range []string{filepath.Join(s.Home, ".ssh", "config"), s.SystemConfig} {
			if path == "" {
				continue
			}
			c, err := readConfig(path, s.Home, s.noticeText)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return both, err
			}
			both.items = append(both.items, c.items...)
		}
		return both, nil
	}
	return readConfig(s.Config, s.Home, s.noticeText)
}

func (s *SSH) noticeText(text string) { s.notice("%s", text) }

// to is the way to one host, of which hosts and given are known beforehand.
func (r router) to(names, hosts []string, given Address, defaultUser string, depth int) ([]hop, error) {
	if depth > maxHops {
		return nil, fmt.Errorf("ProxyJump: more than %d hops to %s; do two hosts name each other?", maxHops, names[0])
	}
	h, err := r.hop(names, hosts, given, defaultUser)
	if err != nil {
		return nil, fmt.Errorf("ssh configuration for %s: %w", names[0], err)
	}
	before, err := r.jumps(names, h, depth)
	if err != nil {
		return nil, err
	}
	return append(before, h), nil
}

// jumps are the hops before one. Of a list of jump hosts, only the first goes by
// its own ProxyJump: the others are reached through the one before.
func (r router) jumps(names []string, h hop, depth int) ([]hop, error) {
	set := r.config.setting(names, "proxyjump", "proxycommand")
	args := set.args
	if set.key == "" || args[0] == "none" {
		return nil, nil
	}
	if set.key == "proxycommand" {
		return nil, fmt.Errorf("ssh configuration for %s: %s: ProxyCommand is not supported, because it would run a program of its own choice here; "+
			"use ProxyJump (ssh -J), or give certrot a configuration that does", h.name, set.at) // its value may have a password
	}
	var way []hop
	for i, spec := range strings.Split(args[0], ",") {
		spec, err := r.expand("ProxyJump", spec, h)
		if err != nil {
			return nil, err
		}
		host, at, err := parseJump(spec)
		if err != nil {
			return nil, fmt.Errorf("ssh configuration for %s: ProxyJump %s: %w", h.name, args[0], err)
		}
		var next []hop
		if i == 0 {
			next, err = r.to([]string{host}, nil, at, r.me, depth+1)
		} else {
			var one hop
			one, err = r.hop([]string{host}, nil, at, r.me)
			next = []hop{one}
		}
		if err != nil {
			return nil, fmt.Errorf("jump host %s: %w", host, err)
		}
		way = append(way, next...)
	}
	return way, nil
}

// parseJump reads [user@]host[:port], or the same as an ssh:// URL.
func parseJump(spec string) (host string, at Address, err error) {
	spec = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(spec), "ssh://"), "/")
	if i := strings.LastIndexByte(spec, '@'); i >= 0 {
		at.User, spec = spec[:i], spec[i+1:]
	}
	host = spec
	if h, p, err := net.SplitHostPort(spec); err == nil {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return "", at, fmt.Errorf("%q is no port", p)
		}
		host, at.Port = h, int(n)
	}
	host = strings.Trim(host, "[]")
	if host == "" {
		return "", at, errors.New("a host is missing")
	}
	return host, at, nil
}

// hop collects what is configured for one host.
func (r router) hop(names, hosts []string, given Address, defaultUser string) (hop, error) {
	h := hop{name: names[0], hosts: hosts, user: given.User, port: given.Port, timeout: r.s.Limits.Connect, claimed: r.claimed && len(hosts) > 0, others: r.others}
	if len(h.hosts) == 0 {
		h.hosts = []string{names[0]}
		if args := r.config.first(names, "hostname"); args != nil {
			alias, err := r.expand("HostName", args[0], hop{name: names[0], hosts: h.hosts})
			if err != nil {
				return h, err
			}
			h.hosts = []string{alias}
		}
	}
	for _, host := range h.hosts {
		if host == "" || host[0] == '-' || strings.ContainsFunc(host, notInHost) {
			return h, fmt.Errorf("%s is neither an IP address nor the name of a host", foreign.Quoted(host))
		}
	}
	if args := r.config.first(names, "user"); h.user == "" && args != nil {
		h.user = args[0]
	}
	if h.user == "" {
		h.user = defaultUser
	}
	if args := r.config.first(names, "port"); h.port == 0 && args != nil {
		n, err := strconv.ParseUint(args[0], 10, 16)
		if err != nil || n == 0 {
			return h, fmt.Errorf("Port %s is no port", args[0]) //nolint:staticcheck // the keyword is spelled so
		}
		h.port = int(n)
	}
	if h.port == 0 {
		h.port = 22
	}
	if err := r.timeout(names, &h); err != nil {
		return h, err
	}
	if args := r.config.first(names, "hostkeyalias"); args != nil {
		if h.alias = args[0]; h.alias == "" || strings.ContainsFunc(h.alias, notInHost) {
			return h, fmt.Errorf("HostKeyAlias %s is no name of a host", foreign.Quoted(h.alias))
		}
	}
	return h, r.files(names, &h)
}
