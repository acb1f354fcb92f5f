package trust

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// accepted judges what servers answered to requests that presented a client certificate.
// Where none was made, nothing is claimed: the files tell who would be accepted.
func (j *judge) accepted() []Claim {
	var out []Claim
	for _, row := range catalog.Callers() {
		for i := range j.f.Snapshot.Nodes {
			n := &j.f.Snapshot.Nodes[i]
			for _, a := range n.Accepted {
				if a.Row == row.ID {
					out = append(out, j.answered(row, n, a))
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Claim) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), pki.Compare(a.Presented, b.Presented))
	})
	return out
}

// answered judges one answer. A server answers 401 to no client that it accepts: 403 and
// errors come after that, to a client it knows. One that admits anonymous clients tells
// nothing.
func (j *judge) answered(row catalog.Caller, from *inspect.Node, a inspect.Accepted) Claim {
	at := pki.Location{Kind: pki.KindFile, Node: from.Name, Path: a.Certificate}
	c := Claim{Edge: row.Edge, Node: a.Of, Presented: at, Server: a.Server}
	for _, i := range j.stored(catalog.Ref{Kind: catalog.File, Name: a.Certificate}, from.Name) {
		c.Chain = i.chain
	}
	kubelet, read := j.f.Node(a.Of)
	switch c.Status = assess.Pass; {
	case len(c.Chain) == 0:
		c.Status, c.Reason = assess.Unknown, at.String()+" was not read: which certificate was presented is unknown"
	case a.Code == 0:
		c.Status, c.Reason = assess.Unknown, fmt.Sprintf("a request from %s to %s had no answer: %s", from.Name, a.Server, cmp.Or(a.Detail, "for an unknown reason"))
	case a.Code == 401 && read && j.justWritten(kubelet, row.ReloadWithin):
		c.Status, c.Reason = assess.Unknown, fmt.Sprintf("%s answers 401 to a request from %s with %s. Its CAs are just written: that it reads them may take %d minutes; run it again", a.Server, from.Name, certificate(c.Chain[0]), int(row.ReloadWithin.Minutes()))
	case a.Code == 401:
		c.Status, c.Reason = assess.Fail, fmt.Sprintf("%s answers 401 to a request from %s with %s: it does not accept it", a.Server, from.Name, certificate(c.Chain[0]))
	case !read || kubelet.Kubelet.Anonymous == nil:
		c.Status, c.Reason = assess.Unknown, fmt.Sprintf("%s answers %d; whether it admits anonymous clients was not read", a.Server, a.Code)
	case *kubelet.Kubelet.Anonymous:
		c.Status, c.Reason = assess.Unknown, fmt.Sprintf("%s answers %d and admits anonymous clients: the answer says nothing about the certificate", a.Server, a.Code)
	}
	return c
}

// justWritten reports whether the file with the CAs of a kubelet's clients was written no
// longer ago than it takes to read it.
func (j *judge) justWritten(n *inspect.Node, within time.Duration) bool {
	if n.Kubelet.ClientCAFile == "" {
		return false
	}
	at := written(n, pki.Location{Path: n.Kubelet.ClientCAFile})
	return !at.IsZero() && n.Time(j.f.Now).Before(at.Add(within))
}
