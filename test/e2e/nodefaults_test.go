//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// inLab runs the program inside the lab's network, as a user with ssh there.
func (w *world) inLab(t *testing.T, lab *labtest.Lab, args ...string) result {
	t.Helper()
	return w.exec(t, lab.Command(context.WithoutCancel(t.Context()), append([]string{filepath.Join(w.bin, "kubectl-certrot")}, args...)...))
}

// readNodes are the names of the nodes that were read, and the gaps of others.
func readNodes(inv inventory) (read []string, gaps map[string]string) {
	gaps = map[string]string{}
	for _, n := range inv.Nodes {
		if n.Via != "" {
			read = append(read, n.Name)
		}
	}
	slices.Sort(read)
	for _, g := range inv.Gaps {
		gaps[g.What] += g.Reason + "; " + g.Remediation.Text
	}
	return read, gaps
}

// restartKubelets makes kubelets read their files again, which other tests wrote and put back,
// and waits until pods there can be reached.
func restartKubelets(t *testing.T, lab *labtest.Lab, nodes []string) {
	t.Helper()
	for _, n := range nodes {
		mustDo(t, lab, "ssh", n, "sudo systemctl restart kubelet")
	}
	for _, n := range nodes {
		lab.WaitReady(t, n)
		letsIn(t, lab, n)
	}
}

// One node that can't be reached is a gap that says why, in bounded time; the
// others are read. verify knows nothing of it, and all of them.
func TestANodeThatIsCutOff(t *testing.T) {
	w := enter(t)
	lab := labtest.RequireNodes(t)
	cut := lab.Workers()[0]
	others := slices.DeleteFunc(lab.Nodes(), func(n string) bool { return n == cut })
	slices.Sort(others)
	restartKubelets(t, lab, others)
	lab.Cut(t, cut)
	var both sync.WaitGroup // what takes time is the limit
	for _, way := range []string{"ssh", "exec"} {
		both.Go(func() {
			t.Run(way, func(t *testing.T) {
				r := w.inLab(t, lab, "inspect", "nodes", "--via", way, "--node-timeout", "40s", "-o", "json", "--fail-on", "none")
				if r.code != 3 {
					t.Errorf("by %s: ended with %d, want 3: %.2000s", way, r.code, r.stderr)
				}
				read, gaps := readNodes(decode(t, r))
				if !slices.Equal(read, others) {
					t.Errorf("by %s: read %v, want %v; not read: %q", way, read, others, gaps)
				}
				if why := gaps["node/"+cut]; !strings.Contains(why, way+":") || !strings.Contains(why, "inspect --local") {
					t.Errorf("by %s: the gap says %q", way, why)
				}
				if r.took > 60*time.Second {
					t.Errorf("by %s: took %s", way, r.took)
				}
				t.Logf("note: by %s in %s: %s", way, r.took.Round(100*time.Millisecond), gaps["node/"+cut])
			})
		})
	}
	both.Go(func() { // verify, too: of all nodes it knows, but of this one
		t.Run("verify", func(t *testing.T) {
			r := w.inLab(t, lab, "verify", "api-int", "--nodes", "all", "--via", "ssh", "--node-timeout", "40s", "-o", "json")
			unknown, want := 0, 3
			for _, c := range claimsIn(t, r) {
				if c.ID == "apiserver-refused" && c.Node != cut { // the log tells for minutes of nodes that other tests had distrust it
					if c.Status == "fail" || c.Status == "warn" {
						want = 1
					}
					continue
				}
				if want := map[bool]string{true: "unknown", false: "pass"}[c.Node == cut]; c.Status != want {
					t.Errorf("%s on %q: %s, want %s: %s", c.ID, c.Node, c.Status, want, c.Reason)
				}
				if c.Node == cut {
					unknown++
				}
			}
			if unknown < 2 { // both of its kubeconfigs
				t.Errorf("%d claims about %s", unknown, cut)
			}
			if r.code != want {
				t.Errorf("verify ended with %d, want %d: %.2000s", r.code, want, r.stderr)
			}
		})
	})
	both.Wait()
	lab.Heal(t)
	eventually(t, cut+" is Ready again", func() string {
		out, err := labDo(lab, "get", "node", cut, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
		if err != nil || out != "True" {
			return out + fmt.Sprint(err)
		}
		return ""
	})
}

// Where the API is down, nodes that are named are read all the same.
func TestNodesWithoutAnAPI(t *testing.T) {
	w := enter(t)
	lab := labtest.RequireNodes(t)
	r := w.inLab(t, lab, append([]string{"inspect", "nodes"}, append(lab.Nodes(), "--via", "ssh", "--server", "https://127.0.0.1:1", "-o", "json", "--fail-on", "none")...)...)
	read, gaps := readNodes(decode(t, r))
	if r.code != 3 || len(read) != len(lab.Nodes()) || !strings.Contains(gaps["API server"], "127.0.0.1:1") {
		t.Errorf("ended with %d, read %v, gaps %v", r.code, read, gaps)
	}
	if r := w.inLab(t, lab, "inspect", "--via", "ssh", "--server", "https://127.0.0.1:1"); r.code != 2 {
		t.Errorf("nobody said which nodes: ended with %d, want 2: %s", r.code, r.stderr)
	}
}

// A host key that changed is refused, whatever the user wants, and hurts no other
// node.
func TestAHostKeyThatChanged(t *testing.T) {
	w := enter(t)
	lab := labtest.RequireNodes(t)
	nodes := lab.Nodes()
	known := filepath.Join(t.TempDir(), "known_hosts")
	var lines []string
	for i, n := range nodes {
		key, err := os.ReadFile(filepath.Join(lab.Dir, "ssh", n+".pub"))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 { // the key of another node
			if key, err = os.ReadFile(filepath.Join(lab.Dir, "ssh", nodes[1]+".pub")); err != nil {
				t.Fatal(err)
			}
		}
		lines = append(lines, n+" "+strings.TrimSpace(string(key)))
	}
	content := []byte(strings.Join(lines, "\n") + "\n")
	if err := os.WriteFile(known, content, 0o600); err != nil {
		t.Fatal(err)
	}
	r := w.inLab(t, lab, "inspect", "nodes", "--via", "ssh", "--ssh-known-hosts", known, "-o", "json", "--fail-on", "none")
	read, gaps := readNodes(decode(t, r))
	if r.code != 3 || len(read) != len(nodes)-1 || slices.Contains(read, nodes[0]) {
		t.Errorf("ended with %d, read %v", r.code, read)
	}
	if why := gaps["node/"+nodes[0]]; !strings.Contains(why, "has changed") && !strings.Contains(why, "another") && !strings.Contains(why, "differs") {
		t.Errorf("the gap says %q", why)
	} else {
		t.Log("note:", why)
	}
	if after, err := os.ReadFile(known); err != nil || string(after) != string(content) {
		t.Errorf("known_hosts was changed: %v\n%s", err, after)
	}
}

// TestOddFilesOnANode plants what must not hold up reading, nor be opened: the
// rest of the node is read, in bounded time, and each is said.
func TestOddFilesOnANode(t *testing.T) {
	w := enter(t)
	n := plantOnNode(t, "")
	const script = `cd ` + plantedOnNode + ` &&
truncate -s 2G huge.crt && mkfifo pipe.pem && ln -s loop-b loop-a && ln -s loop-a loop-b && ln -s /nowhere dangling.crt &&
{ printf 'apiVersion: v1\nkind: Config\nclusters: []\nusers:\n- name: a\n  user:\n    token: '; head -c 5000000 /dev/zero | tr '\0' a; echo; } >fat.kubeconfig &&
mkdir many && cd many && seq 1 10000 | xargs touch`
	n.lab.SSH(t, n.node, "sudo bash -c '"+strings.ReplaceAll(script, "'", `'\''`)+"'")
	r := w.run(t, "inspect", "nodes", n.node, "--via", "exec", "-o", "json", "--fail-on", "none")
	inv := decode(t, r)
	read, _ := readNodes(inv)
	if r.code != 3 || len(read) != 1 {
		t.Errorf("ended with %d, read %v", r.code, read)
	}
	var said strings.Builder
	for _, g := range inv.Gaps {
		fmt.Fprintf(&said, "%s %s: %s\n", g.What, g.Where, g.Reason)
	}
	for _, want := range []string{"huge.crt: not read: its 2147483648 bytes", "fat.kubeconfig", "more than 1,000 files in this directory"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no gap says %q:\n%s", want, said.String())
		}
	}
	if found := inv.at("certificate-expired", "node/"+n.node+":"+plantedOnNode+"/expired.crt"); len(found) != 1 {
		t.Errorf("what is beside them was not found: %v", found)
	}
	n.secret.leak(t, "inspect", r.said())
	if r.took > 60*time.Second {
		t.Errorf("took %s", r.took)
	}
	t.Logf("note: in %s:\n%s", r.took.Round(100*time.Millisecond), said.String())
}
