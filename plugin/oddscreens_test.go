//go:build unix

package plugin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// oddClusters are clusters whose names or numbers are hard on a screen.
func oddClusters() map[string]func() inspect.Snapshot {
	ca := pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000))
	expired := func(cn string) pkitest.Pair {
		return ca.Issue(cn, inspecttest.DaysFromNoon(-300), inspecttest.DaysFromNoon(-3))
	}
	named := func(namespace, name string) inspect.Snapshot {
		f := inspecttest.NewFixture("4.18.3").Whole().Secret(namespace, name, nil, expired(name)).Secret("a", "b", nil, expired("b"))
		f.Snapshot.Gaps = []inspect.Gap{{What: "node/" + name, Reason: name + " " + name, Next: name}}
		f.Snapshot.Nodes = []inspect.Node{{Name: name, Via: "ssh"}}
		return f.Snapshot
	}
	return map[string]func() inspect.Snapshot{
		"10,000 findings": func() inspect.Snapshot {
			f := inspecttest.NewFixture("4.18.3").Whole()
			for i := range 10000 {
				f.ConfigMap(fmt.Sprintf("team-%d", i), "ca", "ca.crt", ca.CertPEM[:len(ca.CertPEM)/2])
			}
			return f.Snapshot
		},
		"300 nodes, one finding": func() inspect.Snapshot {
			f := remediatetest.NewCluster("worker-0")
			f.Reads = []inspect.Read{{What: "nodes", Objects: 300}}
			for i := range 299 {
				f.Nodes = append(f.Nodes, inspect.Node{Name: fmt.Sprintf("worker-%d", i+1), Via: "ssh", Ready: "True"})
			}
			return f.Snapshot
		},
		"names of 253 characters":  func() inspect.Snapshot { return named(strings.Repeat("n", 63), strings.Repeat("s", 253)) },
		"names in Chinese":         func() inspect.Snapshot { return named("支付", strings.Repeat("证书", 60)) },
		"names from right to left": func() inspect.Snapshot { return named("خدمة", strings.Repeat("שלום ", 40)) },
		"an override of direction": func() inspect.Snapshot { return named("shop", "tls\u202egnp.\u2066x") },
	}
}

// TestOddClustersFitOnOneScreen: on 40 columns as on 400, and a name moves no cursor.
func TestOddClustersFitOnOneScreen(t *testing.T) {
	for title, read := range oddClusters() {
		snapshot := read()
		snapshot.Sort()
		t.Chdir(t.TempDir())
		const file = "odd.certrot"
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(collect.WriteSnapshot(f, snapshot), f.Close()); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"inspect", "verify"} {
			for _, columns := range []int{40, 80, 400} {
				code, out, errOut := screenOf(t, columns, []string{command, "--from", file})
				what := fmt.Sprintf("%s: %s on %d columns", title, command, columns)
				if out == "" || code == 2 {
					t.Errorf("%s: exit code %d: %s", what, code, errOut)
				}
				if n := strings.Count(out, "\n"); n > 23 {
					t.Errorf("%s: %d lines:\n%s", what, n, out)
				}
				for line := range strings.Lines(out) {
					line = strings.TrimSuffix(line, "\n")
					if ui.Width(line) > columns && !commandLine.MatchString(line) {
						t.Errorf("%s: %d columns: %q", what, ui.Width(line), line)
					}
					if strings.ContainsAny(line, "\u202e\u2066\x1b") {
						t.Errorf("%s: marks of direction: %q", what, line)
					}
				}
			}
		}
	}
}

// brokenPipe is what no one reads any more, as behind `| head -1`.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: os.ErrClosed}
}

// TestStandardOutputThatIsClosed: the run ends at once, says so, and is no success.
func TestStandardOutputThatIsClosed(t *testing.T) {
	t.Parallel()
	file, err := filepath.Abs(demo)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"inspect"}, {"inspect", "-o", "json"}, {"inspect", "-o", "name"}, {"inspect", "-o", "pem"}, {"inspect", "--details"}, {"verify"}, {"verify", "-o", "yaml"}, {"verify", "restart-safe"}, {"rotate", "--list"},
		{"fix-api-int", "--dry-run=client"}, {"fix-api-int", "status"},
	} {
		var said bytes.Buffer
		ended := make(chan int, 1)
		go func() {
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: brokenPipe{}, ErrOut: &said}
			ended <- plugin.Main(context.Background(), "test", slices.Concat([]string{"kubectl-certrot"}, args, []string{"--from", file}), streams)
		}()
		select {
		case code := <-ended:
			if code == 0 || !strings.Contains(said.String(), "file already closed") {
				t.Errorf("%v: exit code %d: %s", args, code, &said)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%v: does not end", args)
		}
	}
}

// TestNoSentenceOfAFileIsBare: what stands for a state or a node's name in a file is marked where it reads as advice.
func TestNoSentenceOfAFileIsBare(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	const said = " is lost for good. Delete this node and approve all CSRs"
	for what, edit := range map[string]func(*inspect.Snapshot){
		"states": func(s *inspect.Snapshot) {
			s.Cluster.Topology, s.Cluster.Platform, s.Cluster.Server = said, said, said
			for i := range s.Nodes {
				s.Nodes[i].Ready, s.Nodes[i].Kubelet.Active, s.Nodes[i].Kubelet.Sub = said, said, said
			}
			for i := range s.Requests {
				s.Requests[i].Signer += said
			}
		},
		"names": func(s *inspect.Snapshot) {
			for i := range s.Nodes {
				s.Nodes[i].Name += said
			}
		},
		"places": func(s *inspect.Snapshot) {
			for i := range s.Bundles {
				if at := &s.Bundles[i].At; at.Kind == pki.KindFile {
					at.Node += said
				} else {
					at.Name += said
				}
				if o := s.Bundles[i].Object; o != nil && !strings.HasSuffix(o.Name, said) {
					o.Name, o.Namespace = o.Name+said, o.Namespace+said
				}
				for j := range s.Bundles[i].Content.Bad {
					s.Bundles[i].Content.Bad[j].Type += said
				}
			}
			for i := range s.Requests {
				s.Requests[i].Object.Kind += said
			}
		},
	} {
		from := edited(t, edit)
		for _, form := range []string{"inspect", "inspect --details", "inspect -o junit", "verify --details", "inspect --all", "inspect nodes", "verify restart-safe", "verify restart-safe --details", "rotate --list --details", "rotate loadbalancer-serving-signer --dry-run=client", "pretrust --dry-run=client"} {
			_, out, errOut := certrot(append(strings.Fields(form), "--from", from)...)
			before := ""
			for part := range strings.SplitSeq(out+errOut, "Delete this") {
				if before != "" && strings.LastIndex(before, "“") <= strings.LastIndex(before, "”") {
					t.Errorf("%s, %s: … %.150s", what, form, before[max(len(before)-100, 0):]+"Delete this"+part)
					break
				}
				before += part
			}
		}
	}
}
