package inspect

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// KindServer is the kind of place of a chain that a server presented: Server/HOST:PORT.
const KindServer pki.Kind = "Server"

// What gaps are about that are no part of a cluster: a server that presented no chain, or not all of
// it, and the cluster as a whole.
const (
	GapOfServer  = "server"
	GapOfCluster = "cluster"
)

// Address is where a server is asked, and the name that its certificate has to be for.
type Address struct {
	HostPort string // as it is dialled
	Name     string // without brackets, zone and the dot at its end
}

// ParseAddress reads HOST:PORT, [IPv6]:PORT included.
func ParseAddress(typed string) (Address, error) {
	if strings.Contains(typed, "://") {
		return Address{}, errors.New("it is a URL")
	}
	var host, port string
	switch rest, bracketed := strings.CutPrefix(typed, "["); {
	case bracketed:
		var closed bool
		if host, port, closed = strings.Cut(rest, "]"); !closed || port != "" && port[0] != ':' || !strings.Contains(host, ":") {
			return Address{}, errors.New("it is not written as HOST:PORT or [IPv6]:PORT")
		}
		port = strings.TrimPrefix(port, ":")
	case strings.Count(typed, ":") > 1:
		return Address{}, errors.New("an IPv6 address stands between brackets, as in [fd00::1]:6443")
	default:
		host, port, _ = strings.Cut(typed, ":")
	}
	switch n, err := strconv.ParseUint(port, 10, 16); {
	case host == "":
		return Address{}, errors.New("the host is missing")
	case !dialable(host):
		return Address{}, errors.New("the host is neither an IP address nor a DNS name")
	case port == "":
		return Address{}, errors.New("the port is missing")
	case err != nil || n == 0:
		return Address{}, errors.New("the port is no number from 1 to 65535")
	}
	name, dialled := strings.TrimSuffix(host, "."), host
	if ip, err := netip.ParseAddr(host); err == nil {
		name = ip.WithZone("").String()
	}
	if strings.Contains(host, ":") {
		dialled = "[" + host + "]"
	}
	return Address{HostPort: dialled + ":" + port, Name: name}, nil
}

// SNI is the name that a client sends to the server in its first message; empty for an IP address,
// of which RFC 6066 has it send none.
func (a Address) SNI() string {
	if _, err := netip.ParseAddr(a.Name); err == nil {
		return ""
	}
	return a.Name
}

// At is the place of the chain that the server presented.
func (a Address) At() pki.Location { return pki.Location{Kind: KindServer, Name: a.HostPort} }

// Handshake is what a server presented to this machine.
type Handshake struct {
	Address
	Remote string      // IP:port that answered; empty: none did
	TLS    string      // such as "TLS 1.3"
	Chain  []*pki.Cert // the leaf first; empty: Problem says why
	// NotRead is how many certificates it presented beside those of Chain, which is cut short.
	NotRead int
	// WantsClient: the server asks its clients for a certificate. None was sent.
	WantsClient bool
	NoChain
}

// NoChain is why a server presented no chain, or why not all of it was read; empty: all was.
type NoChain struct {
	Problem       string
	Next, Command string // what to do, and a command that runs as it stands; empty: none helps
}

// AddHandshakes adds the chains that servers presented, each at a place of its own.
func (s *Snapshot) AddHandshakes(all []Handshake) {
	n := 0
	for _, h := range all {
		if h.Problem != "" {
			s.Gaps = append(s.Gaps, Gap{What: GapOfServer, Where: h.HostPort, Reason: h.Problem, Next: strings.TrimSpace(h.Next + " " + h.Command)})
		}
		if len(h.Chain) > 0 {
			n++
			s.Bundles = append(s.Bundles, Bundle{At: h.At(), Object: &Object{Kind: KindServer, Name: h.HostPort}, Content: &pki.Content{Certs: h.Chain}})
		}
	}
	if n > 0 {
		s.Reads = append(s.Reads, Read{What: "servers", Objects: n})
	}
	s.Sort()
}
