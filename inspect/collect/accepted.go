package collect

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/apiprobe"
)

// Requests asks servers whether they accept the client certificates that lie on masters,
// as the catalog has them.
type Requests struct {
	// Open gets onto a node from which they are asked.
	Open    func(ctx context.Context, node string) (OnNode, error)
	Observe func(what string, n int)
}

// eachTime is what a request takes at most, as a rule: a few processes on the node.
const eachTime = 200 * time.Millisecond

// Collect adds to each node what servers answered to requests from there. Who is asked are
// the servers of s.Served; each is asked with every certificate that masters hold, once: a
// master whose file is another one than the others' is a client of its own. Where a master
// can't ask, or no one answers it, others are tried that hold the same.
func (r Requests) Collect(ctx context.Context, s *inspect.Snapshot) {
	for _, row := range catalog.Callers() {
		if row.In.Holds(s.Cluster.Versions) != catalog.Yes {
			continue
		}
		pending := serversOf(row, s)
		for _, holders := range holdAlike(row, s) {
			r.ask(ctx, row, holders, slices.Clone(pending))
		}
	}
}

// serversOf are the servers to which a row's certificate is presented, as handshakes found them.
func serversOf(row catalog.Caller, s *inspect.Snapshot) []inspect.Served {
	var out []inspect.Served
	for _, v := range s.Served {
		if v.Server == row.ListenerName && !slices.ContainsFunc(out, func(o inspect.Served) bool { return o.Of == v.Of }) {
			out = append(out, v)
		}
	}
	return out
}

// holdAlike are the nodes that hold a row's certificate, those with the same file together.
func holdAlike(row catalog.Caller, s *inspect.Snapshot) [][]*inspect.Node {
	var out [][]*inspect.Node
	for i := range s.Nodes {
		n := &s.Nodes[i]
		file := n.File(row.Certificate)
		if n.Via == "" || file == nil {
			continue
		}
		same := slices.IndexFunc(out, func(nodes []*inspect.Node) bool { return nodes[0].File(row.Certificate).SHA256 == file.SHA256 })
		if same < 0 {
			out = append(out, []*inspect.Node{n})
			continue
		}
		out[same] = append(out[same], n)
	}
	return out
}

// ask asks from the nodes in turn, until each server has answered.
func (r Requests) ask(ctx context.Context, row catalog.Caller, from []*inspect.Node, pending []inspect.Served) {
	for i, node := range from[:min(len(from), asksFrom)] {
		last := i == len(from)-1 || i == asksFrom-1
		var failed []inspect.Served
		for j, a := range r.from(ctx, row, node, pending) {
			if a.Code == 0 && !last {
				failed = append(failed, pending[j])
				continue
			}
			node.Accepted = append(node.Accepted, a)
		}
		if pending = failed; len(pending) == 0 {
			return
		}
	}
}

// from asks servers from one node, and has an answer for each.
func (r Requests) from(ctx context.Context, row catalog.Caller, node *inspect.Node, servers []inspect.Served) []inspect.Accepted {
	out := make([]inspect.Accepted, len(servers))
	var listening []int
	var addresses []string
	for i, v := range servers {
		out[i] = inspect.Accepted{Row: row.ID, Of: v.Of, Certificate: row.Certificate, ProbeAnswer: inspect.ProbeAnswer{Question: inspect.AskClient, Server: v.Address}}
		if v.Problem != "" {
			out[i].Failure, out[i].Detail = inspect.FailedConnect, v.Problem
			continue
		}
		listening, addresses = append(listening, i), append(addresses, v.Address)
	}
	answers, err := r.answers(ctx, row, node, addresses)
	for n, i := range listening {
		switch {
		case n < len(answers):
			out[i].ProbeAnswer = answers[n]
		case err != nil:
			out[i].Failure, out[i].Detail = inspect.FailedTool, err.Error()
		}
	}
	if r.Observe != nil {
		r.Observe("requests of "+node.Name, len(answers))
	}
	return out
}

func (r Requests) answers(ctx context.Context, row catalog.Caller, node *inspect.Node, addresses []string) ([]inspect.ProbeAnswer, error) {
	if len(addresses) == 0 {
		return nil, nil
	}
	ca := newestRevision(node, row.CA)
	if ca == "" {
		return nil, fmt.Errorf("%s has no %s, by which who answers is to be verified first", node.Name, row.CA)
	}
	limit := askTime + time.Duration(len(addresses))*eachTime
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %s", limit))
	defer cancel()
	on, err := r.Open(ctx, node.Name)
	if err != nil {
		return nil, because(ctx, err)
	}
	defer func() { _ = on.Close() }() // nothing was written there
	with := apiprobe.Credentials{Certificate: row.Certificate, SHA256: node.File(row.Certificate).SHA256, Key: row.Key, CA: ca}
	answers, err := apiprobe.Accepted(ctx, on, with, row.Path, addresses)
	if err != nil {
		err = because(ctx, err)
	}
	return answers, err
}

// newestRevision is the file on a node that fits a pattern with the highest number in the
// place of its '*'; empty: there is none.
func newestRevision(node *inspect.Node, pattern string) string {
	before, after, ok := strings.Cut(pattern, "*")
	newest, at := -1, ""
	for _, f := range node.Files {
		if !ok {
			if f.Path == pattern {
				return pattern
			}
			continue
		}
		rest, fits := strings.CutPrefix(f.Path, before)
		number, complete := strings.CutSuffix(rest, after)
		if n, err := strconv.Atoi(number); fits && complete && err == nil && n > newest {
			newest, at = n, f.Path
		}
	}
	return at
}
