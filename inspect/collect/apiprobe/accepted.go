package apiprobe

import (
	"context"
	"net"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Credentials are a client certificate that lies on a node.
type Credentials struct {
	Certificate string          // the file's path
	SHA256      pki.Fingerprint // of the file, as it was read
	Key         string          // the file of its private key
	CA          string          // the file with the CAs that a server is verified by first
}

// atOnce is how many servers are asked in one round trip: one that fails loses all of its answers.
const atOnce = 32

// Accepted asks each server, host:port of an address, from a node and with that node's client certificate, for an HTTP
// path. The answers are in the order of the servers; if the node stops, the rest is missing, and the error says why.
func Accepted(ctx context.Context, node gather.Runner, with Credentials, path string, servers []string) ([]inspect.ProbeAnswer, error) {
	var out []inspect.ProbeAnswer
	for some := range slices.Chunk(servers, atOnce) {
		var argv []string
		for _, server := range some {
			host, port, err := net.SplitHostPort(server)
			if err != nil {
				return out, err
			}
			argv = append(argv, with.Certificate, with.SHA256.String(), host, port, host, path, "f:"+with.CA, "f:"+with.Certificate, "f:"+with.Key, none)
		}
		lines, tool, err := run(ctx, node, argv)
		if err != nil {
			return out, err
		}
		for i, server := range some {
			host, _, _ := net.SplitHostPort(server) // it was split above
			a := inspect.ProbeAnswer{Question: inspect.AskClient, Server: server, Name: host}
			lines[i].into(&a, tool)
			out = append(out, a)
		}
	}
	return out, nil
}
