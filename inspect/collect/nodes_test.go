package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// folder is a node whose files are below a folder of this machine: the real
// program runs, and only how to get there is left out.
type folder struct {
	root   string
	run    func(ctx context.Context) ([]byte, error) // in place of the program; nil runs it
	closed func() error
	dial   func(ctx context.Context, network, addr string) (net.Conn, error)
}

func (f folder) Path(p string) string { return filepath.Join(f.root, p) }
func (folder) Via() string            { return "ssh" }
func (f folder) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if f.dial == nil {
		return nil, errors.New("nobody listens")
	}
	return f.dial(ctx, network, addr)
}
func (f folder) Close() error {
	if f.closed != nil {
		return f.closed()
	}
	return nil
}

func (f folder) Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	if f.run != nil {
		return f.run(ctx)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = stdin
	return cmd.Output()
}

// nodeRoot plants what a worker has.
func nodeRoot(t *testing.T, ca *pkitest.Authority) string {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the program that runs on nodes needs a POSIX shell: ", err)
	}
	root := t.TempDir()
	for name, content := range map[string][]byte{
		"/etc/kubernetes/kubelet-ca.crt": ca.CertPEM,
		"/etc/kubernetes/kubeconfig":     []byte("clusters:\n- cluster:\n    server: https://api-int.example.com:6443\n  name: local\ncurrent-context: kubelet\nusers:\n- name: kubelet\n  user:\n    token: sesame\n"),
	} {
		if err := os.MkdirAll(filepath.Dir(root+name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func testNodes(open func(context.Context, string) (OnNode, error), names ...string) Nodes {
	n := Nodes{Open: open, Parallel: 2, Timeout: 30 * time.Second, Scanner: pki.NewScanner(), ReadHint: "try another way", Options: gather.Options{}}
	for _, name := range names {
		n.Objects = append(n.Objects, NodeObject{Name: name, Ready: "True"})
	}
	return n
}

func TestNodesReadsEach(t *testing.T) {
	ca := pkitest.NewCA("ca", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	root := nodeRoot(t, ca)
	var mu sync.Mutex
	open, most := 0, 0
	nodes := testNodes(func(context.Context, string) (OnNode, error) {
		mu.Lock()
		defer mu.Unlock()
		open++
		most = max(most, open)
		return folder{root: root, closed: func() error {
			mu.Lock()
			defer mu.Unlock()
			open--
			return nil
		}}, nil
	}, "a", "b", "c", "d", "e")
	s := nodes.Collect(t.Context())
	if len(s.Nodes) != 5 || most > 2 || open != 0 {
		t.Fatalf("%d nodes, %d at the same time, %d left open", len(s.Nodes), most, open)
	}
	for _, n := range s.Nodes {
		if n.Via != "ssh" || n.Ready != "True" || len(n.Kubeconfigs) != 1 || n.Kubeconfigs[0].Clusters[0].Server != "https://api-int.example.com:6443" {
			t.Errorf("node: %+v", n)
		}
		if least, most, ok := n.Clock.Ahead(); !ok || least > 0 || most < 0 {
			t.Errorf("the clock of this machine is off by %v to %v, %v", least, most, ok)
		}
	}
	if len(s.Bundles) != 5 || s.Bundles[0].Content != s.Bundles[4].Content {
		t.Errorf("%d bundles; the same bytes are to be one content", len(s.Bundles))
	}
	if len(s.Reads) != 1 || s.Reads[0].Objects != 5 || !strings.Contains(s.Reads[0].Note, "5 via ssh") {
		t.Errorf("reads: %+v", s.Reads)
	}
}

func TestNodesFailAlone(t *testing.T) {
	root := nodeRoot(t, pkitest.NewCA("ca", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)))
	nodes := testNodes(func(_ context.Context, node string) (OnNode, error) {
		switch node {
		case "refuses":
			return nil, errors.New("ssh: connection refused")
		case "cut":
			return folder{root: root, run: func(context.Context) ([]byte, error) {
				return []byte("certrot-gather 1\n"), errors.New("outcome unknown: the connection broke")
			}}, nil
		case "hangs":
			return folder{root: root, run: func(ctx context.Context) ([]byte, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}, nil
		case "dirty":
			return folder{root: root, closed: func() error { return errors.New("pod p was not deleted") }}, nil
		}
		return folder{root: root}, nil
	}, "good", "refuses", "cut", "hangs", "dirty")
	nodes.Timeout = 5 * time.Second
	s := nodes.Collect(t.Context())
	for node, want := range map[string]string{
		"refuses": "connection refused", "cut": "the connection broke", "hangs": "not done after 5s", "dirty": "clean up: pod p was not deleted",
	} {
		found := false
		for _, g := range s.Gaps {
			found = found || g.What == "node/"+node && strings.Contains(g.Reason, want)
		}
		if !found {
			t.Errorf("no gap of %s says %q: %+v", node, want, s.Gaps)
		}
	}
	read := map[string]bool{}
	for _, n := range s.Nodes {
		read[n.Name] = n.Via != ""
	}
	if !read["good"] || !read["dirty"] || read["refuses"] || read["cut"] || read["hangs"] || len(read) != 5 {
		t.Errorf("read: %v", read)
	}
}

func TestNodesWithoutAWay(t *testing.T) {
	none := func(_ context.Context, node string) (OnNode, error) {
		return nil, fmt.Errorf("%w: %s runs no pod for it", ErrNoTransport, node)
	}
	nodes := testNodes(none, "a", "b", "c", "d")
	s := nodes.Collect(t.Context())
	if len(s.Gaps) != 0 || len(s.Reads) != 1 || !s.Reads[0].Skipped || s.Reads[0].Where != "4 of 4" || s.Reads[0].Next != "try another way" {
		t.Errorf("not asked for: gaps %+v, reads %+v", s.Gaps, s.Reads)
	}
	nodes.Open = func(context.Context, string) (OnNode, error) {
		return nil, fmt.Errorf("%w: you cannot create pods/exec", ErrNotAllowed)
	}
	if s = nodes.Collect(t.Context()); len(s.Gaps) != 1 || s.Gaps[0].Where != "4 of 4" || !strings.Contains(s.Gaps[0].Reason, "pods/exec") {
		t.Errorf("not allowed: %+v", s.Gaps)
	}
	nodes.Open = none
	nodes.NamedByUser = true
	if s = nodes.Collect(t.Context()); len(s.Gaps) != 4 || s.Gaps[0].Next != "try another way" {
		t.Errorf("asked for: %+v", s.Gaps)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	nodes.Open = func(context.Context, string) (OnNode, error) { return nil, errors.New("tried after the end") }
	for _, g := range nodes.Collect(ctx).Gaps {
		if strings.Contains(g.Reason, "tried") || !strings.Contains(g.Reason, "canceled") {
			t.Errorf("after Ctrl-C: %+v", g)
		}
	}
}
