package collect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// kubeletsAnswer is a cluster of three masters and two workers, one of which did not
// answer a handshake. holds is what the masters' files are, by a letter; a space: there is
// none.
func kubeletsAnswer(holds string) *inspect.Snapshot {
	row := catalog.Callers()[0]
	s := readOf("master-0", "master-1", "master-2", "worker-0", "worker-1")
	for i, letter := range holds {
		if letter != ' ' {
			s.Nodes[i].Files = []inspect.NodeFile{
				{Path: row.Certificate, SHA256: pki.Fingerprint{byte(letter)}},
				{Path: strings.Replace(row.CA, "*", "10", 1)}, {Path: strings.Replace(row.CA, "*", "9", 1)}, {Path: strings.Replace(row.CA, "*", "x", 1)},
			}
		}
	}
	s.Served = []inspect.Served{
		{Server: "kubelet", Of: "worker-0", Address: "10.0.0.7:10250"}, {Server: "kubelet", Of: "worker-1", Address: "10.0.0.8:10250", Problem: "no route"},
		{Server: "kube-apiserver", Of: "master-0", Address: "10.0.0.5:6443"},
	}
	return s
}

func TestMastersAskKubelets(t *testing.T) {
	t.Parallel()
	fails := func(context.Context) ([]byte, error) { return nil, errors.New("gone") }
	says := func(exit, code int) func(context.Context) ([]byte, error) {
		return func(context.Context) ([]byte, error) {
			return []byte(fmt.Sprintf("certrot-probe 1\ntool curl\nanswer %d %d - - -\nend\n", exit, code)), nil
		}
	}
	for _, c := range []struct {
		title, holds string
		on           map[string]func(context.Context) ([]byte, error) // what runs there; nil: it can't be opened
		want         string                                           // the client, the server, and what came of it
	}{
		{"all have the same: one asks, and others try what it can't", "aaa", map[string]func(context.Context) ([]byte, error){"master-0": says(0, 200), "master-1": fails, "master-2": fails},
			"master-0 worker-0 200 , master-2 worker-1 0 connect"},
		{"the first can't ask", "aaa", map[string]func(context.Context) ([]byte, error){"master-1": says(0, 401), "master-2": fails},
			"master-1 worker-0 401 , master-2 worker-1 0 connect"},
		{"nobody gets there", "aaa", map[string]func(context.Context) ([]byte, error){"master-0": says(7, 0), "master-1": says(7, 0), "master-2": says(7, 0)},
			"master-2 worker-0 0 connect, master-2 worker-1 0 connect"},
		{"none can ask", "aaa", nil, "master-2 worker-0 0 tool, master-2 worker-1 0 connect"},
		{"one has another one: it asks for itself", "aba", map[string]func(context.Context) ([]byte, error){"master-0": says(0, 200), "master-1": says(0, 401), "master-2": fails},
			"master-0 worker-0 200 , master-1 worker-0 401 , master-1 worker-1 0 connect, master-2 worker-1 0 connect"},
		{"one has none", " a ", map[string]func(context.Context) ([]byte, error){"master-1": says(0, 200)}, "master-1 worker-0 200 , master-1 worker-1 0 connect"},
		{"nobody has one", "", nil, ""},
	} {
		s := kubeletsAnswer(c.holds)
		Requests{Open: func(_ context.Context, node string) (OnNode, error) {
			if c.on[node] == nil {
				return nil, errors.New("no way")
			}
			return folder{root: "/", run: c.on[node]}, nil
		}}.Collect(t.Context(), s)
		var got []string
		for _, n := range s.Nodes {
			for _, a := range n.Accepted {
				got = append(got, fmt.Sprintf("%s %s %d %s", n.Name, a.Of, a.Code, a.Failure))
				if a.Row != "kubelets-accept" || a.Certificate == "" || a.Server == "" || (a.Code == 0) != (a.Detail != "") {
					t.Errorf("%s: %+v", c.title, a)
				}
			}
		}
		if d := cmp.Diff(c.want, strings.Join(got, ", ")); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.title, d)
		}
	}
}

// TestWhoVerifiesKubelets: the highest revision counts, and without any nothing is presented
// anything.
func TestWhoVerifiesKubelets(t *testing.T) {
	t.Parallel()
	s := kubeletsAnswer("a")
	row := catalog.Callers()[0]
	if got := newestRevision(&s.Nodes[0], row.CA); !strings.Contains(got, "-pod-10/") {
		t.Errorf("%q", got)
	}
	if got := newestRevision(&s.Nodes[0], row.Certificate); got != row.Certificate {
		t.Errorf("%q", got)
	}
	s.Nodes[0].Files = s.Nodes[0].Files[:1]
	opened := false
	Requests{Open: func(context.Context, string) (OnNode, error) { opened = true; return nil, errors.New("no way") }}.Collect(t.Context(), s)
	if a := s.Nodes[0].Accepted; len(a) != 2 || a[0].Failure != inspect.FailedTool || !strings.Contains(a[0].Detail, "by which who answers is to be verified first") || opened {
		t.Errorf("opened: %t; %+v", opened, a)
	}
	other := kubeletsAnswer("a")
	other.Cluster.Versions = catalog.Versions{NotOpenShift: true, Kubernetes: "v1.35.0"}
	Requests{Open: func(context.Context, string) (OnNode, error) { opened = true; return nil, errors.New("no way") }}.Collect(t.Context(), other)
	if opened || other.Nodes[0].Accepted != nil {
		t.Error("where no row holds, nobody is asked")
	}
}
