package nodeexec

import (
	"context"
	"fmt"
	"net"
	"strings"
)

// ErrOutputLimit is errOutputLimit.
var ErrOutputLimit = errOutputLimit

// Relay is relay, for tests outside of the package.
func Relay(ctx context.Context, n Node, addr string, relays ...string) (net.Conn, error) {
	return relay(ctx, n, addr, relays...)
}

// AllRelays is allRelays.
func AllRelays() []string { return allRelays() }

// Route is the route to a node, a line for each hop: name user@hosts:port.
func Route(s *SSH, node string) (string, error) {
	route, err := s.route(context.Background(), node)
	var lines []string
	for _, h := range route {
		lines = append(lines, fmt.Sprintf("%s %s@%s:%d", h.name, h.user, strings.Join(h.hosts, ","), h.port))
	}
	return strings.Join(lines, "\n"), err
}

// Settings are what `ssh -G` prints of the same, for the last hop.
func Settings(s *SSH, node string) (map[string]string, error) {
	route, err := s.route(context.Background(), node)
	if err != nil {
		return nil, err
	}
	h := route[len(route)-1]
	return map[string]string{
		"hostname": h.hosts[0], "user": h.user, "port": fmt.Sprint(h.port),
		"identityfile": strings.Join(h.keys.files, " "), "identitiesonly": fmt.Sprint(h.keys.only),
		"userknownhostsfile": strings.Join(h.known, " "), "connecttimeout": fmt.Sprintf("%.0f", h.timeout.Seconds()),
		"jumps": fmt.Sprint(len(route) - 1),
	}, nil
}

// ConfigWords is configWords.
func ConfigWords(line string) (string, []string, error) { return configWords(line) }

// PassedOver is passedOver.
func PassedOver(s *SSH, node string) string { return s.passedOver(context.Background(), node) }

// ClaimLoopback lets a node claim loopback addresses: tests have no others to dial.
func ClaimLoopback(s *SSH) *SSH {
	s.loopbackForTests = true
	return s
}
