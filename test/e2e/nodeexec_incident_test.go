//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/nodetest"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// mend makes a node well at the end of the test by a command on it, and waits
// until its kubelet works again.
func mend(t *testing.T, lab *labtest.Lab, node, command string) {
	t.Helper()
	t.Cleanup(func() {
		if _, err := labDo(lab, "ssh", node, command); err != nil {
			t.Error(err)
		}
		well(t, lab, node)
	})
}

// well waits until a node is Ready by a heartbeat of now, and lets exec in.
func well(t *testing.T, lab *labtest.Lab, node string) {
	t.Helper()
	beat := func() string {
		out, err := labDo(lab, "get", "lease", "-n", "kube-node-lease", node, "-o", "jsonpath={.spec.renewTime}")
		if err != nil {
			return ""
		}
		return out
	}
	before := beat()
	eventually(t, node+" is Ready", func() string {
		out, err := labDo(lab, "get", "node", node, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status} {.spec.taints[*].key}`)
		switch {
		case err != nil:
			return err.Error()
		case !strings.HasPrefix(out, "True") || strings.Contains(out, "node.kubernetes.io/"):
			return "Ready is " + out
		case beat() == before:
			return "no heartbeat since " + before
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		n, err := nodeexec.Exec{Config: restConfig(t, lab)}.Dial(ctx, node)
		if err != nil {
			return err.Error()
		}
		_ = n.Close()
		return ""
	})
}

// onTheNode runs this test program on a node, with only one test, and returns
// what it said.
func onTheNode(t *testing.T, lab *labtest.Lab, node, test string) (string, error) {
	t.Helper()
	self, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	c := lab.SSHCommand(ctx, node, fmt.Sprintf("f=$(mktemp) && trap 'sudo rm -rf $f $f.tmp' EXIT && cat >$f && chmod 755 $f && cd / && mkdir $f.tmp && sudo TMPDIR=$f.tmp %s=%s $f -test.run='^%s$' -test.v", holdNode, node, test))
	c.Stdin = self
	out, err := c.CombinedOutput()
	return string(out), err
}

// TestIsOnTheNode runs on a node, started by other tests.
func TestIsOnTheNode(t *testing.T) {
	node := os.Getenv(holdNode)
	if node == "" {
		t.Skip("run by another test: on a node")
	}
	nodetest.TestNode(t, func(t *testing.T) nodeexec.Node { return onto(t, nodeexec.Local{Node: node}, node) }, nodetest.Options{})
}

// The incident: a node does not trust api-int any more. As long as its kubelet
// is connected, nothing is seen; once it has to connect, only ways that need no
// kubelet lead there.
func TestWaysOntoANodeThatDistrustsTheAPI(t *testing.T) {
	lab := labtest.RequireNodes(t)
	workers := lab.Workers()
	node := workers[len(workers)-1]
	const config, saved = "/var/lib/kubelet/kubeconfig", "/var/lib/kubelet/kubeconfig.certrot-e2e"
	const restart = "sudo systemctl reset-failed kubelet; sudo systemctl restart kubelet"
	mend(t, lab, node, "sudo test ! -e "+saved+" || sudo mv "+saved+" "+config+"; "+restart)
	mustDo(t, lab, "ssh", node, "sudo cp -a "+config+" "+saved)

	other := pkitest.NewCA("another CA", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	stdin := fmt.Sprintf("%q", asJSON(other.CertPEM)) // base64 between quotes, twice
	ca := strings.Trim(stdin, `"\`)

	for _, moment := range []struct {
		name    string
		happens string // on the node
		await   func(*testing.T, *labtest.Lab, string)
		fails   map[string][]string
	}{
		{name: "all is well", happens: "true"},
		{name: "the file is wrong and the kubelet is connected",
			happens: "sudo sed -i 's#certificate-authority-data: .*#certificate-authority-data: " + ca + "#' " + config},
		{name: "the kubelet has to connect again", happens: restart, await: distrusts, fails: map[string][]string{
			"exec":  {"refuses exec", "can't ask the API server", "ssh does not need it", "Authorization error"},
			"debug": {"has not picked it up", "ssh, or certrot on the node itself"},
		}},
		{name: "the file is right again", happens: "sudo mv " + saved + " " + config + "; " + restart, await: well},
	} {
		t.Run(moment.name, func(t *testing.T) {
			mustDo(t, lab, "ssh", node, moment.happens)
			if moment.await != nil {
				moment.await(t, lab, node)
			}
			for _, way := range []nodeexec.Transport{
				sshTo(t, lab, node),
				nodeexec.Exec{Config: restConfig(t, lab)},
				debugPods(t, lab, nil),
			} {
				if want := moment.fails[way.Name()]; want != nil {
					says(t, refusal(t, way, node), want...)
					continue
				}
				n := onto(t, way, node)
				if out, err := n.Run(t.Context(), nil, "hostname"); err != nil || strings.TrimSpace(string(out)) != node {
					t.Errorf("%s: hostname says %q, %v", way.Name(), out, err)
				}
				if err := n.Close(); err != nil {
					t.Errorf("%s: close: %v", way.Name(), err)
				}
			}
			if moment.fails == nil {
				return
			}
			if out, err := onTheNode(t, lab, node, "TestIsOnTheNode"); err != nil || !strings.Contains(out, "--- PASS: TestIsOnTheNode") {
				t.Errorf("local: %v\n%s", err, out)
			}
			// Asked in their order, the first that works is taken.
			n := onto(t, nodeexec.FirstOf(nodeexec.Local{}, nodeexec.Exec{Config: restConfig(t, lab)}, sshTo(t, lab, node)), node)
			if nodeexec.Via(n) != "ssh" {
				t.Errorf("it is reached by %q", nodeexec.Via(n))
			}
			_ = n.Close()
		})
	}
}

// distrusts waits until a node's kubelet runs and has been refused by its own
// trust.
func distrusts(t *testing.T, lab *labtest.Lab, node string) {
	t.Helper()
	eventually(t, "the kubelet of "+node+" distrusts the API", func() string {
		out, err := labDo(lab, "ssh", node, "sudo journalctl -u kubelet --since=-2min -o cat | grep -c 'certificate signed by unknown authority' || true; sudo ss -Hltn 'sport = :10250'")
		if err != nil {
			return err.Error()
		}
		if strings.HasPrefix(out, "0") || !strings.Contains(out, "LISTEN") {
			return out
		}
		return ""
	})
}

// A kubelet that does not run starts no pod; what asked for one is told, and
// leaves nothing.
func TestDebugPodWithoutAKubelet(t *testing.T) {
	lab := labtest.RequireNodes(t)
	node := lab.Workers()[0]
	mend(t, lab, node, "sudo systemctl start kubelet")
	mustDo(t, lab, "ssh", node, "sudo systemctl stop kubelet")

	t.Run("debug", func(t *testing.T) {
		says(t, refusal(t, debugPods(t, lab, nil), node), "the kubelet of "+node+" has not picked it up", "node condition Ready is ", "ssh")
	})
	t.Run("exec", func(t *testing.T) {
		says(t, refusal(t, nodeexec.Exec{Config: restConfig(t, lab)}, node), "the API server can't reach the kubelet of "+node, "ssh does not need it")
	})
	t.Run("another client deletes the pod that waits", func(t *testing.T) {
		way := debugPods(t, lab, nil)
		failed := make(chan error, 1)
		go func() {
			_, err := way.Dial(t.Context(), node)
			failed <- err
		}()
		eventually(t, "the pod waits", func() string {
			if mustDo(t, lab, "get", "pods", "-A", "-l", ours, "-o", "name") == "" {
				return "there is none"
			}
			return ""
		})
		mustDo(t, lab, "delete", "pods", "-A", "-l", ours, "--force", "--grace-period=0")
		select {
		case err := <-failed:
			says(t, err, "deleted by another client before it ran") // it is, or is about to be
		case <-time.After(waitLimit):
			t.Fatal("Dial does not end")
		}
	})
}

// An exec whose kubelet restarts ends with 0, whatever the command does; here
// that must not count as a success.
func TestExecThatRestartsTheKubelet(t *testing.T) {
	lab := labtest.RequireNodes(t)
	node := lab.Workers()[0]
	n := onto(t, nodeexec.Exec{Config: restConfig(t, lab)}, node)
	defer n.Close()
	mend(t, lab, node, "true")
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
		out, err := n.Run(ctx, nil, "sh", "-c", "echo before; systemctl restart kubelet; echo after; exit 7")
		cancel()
		t.Logf("note: %q, %v", out, err)
		var run *nodeexec.RunError
		if !errors.As(err, &run) || run.Code != 7 && !errors.Is(err, nodeexec.ErrUnknownOutcome) {
			t.Errorf("a command that restarts the kubelet and ends with 7: %v", err)
		}
		well(t, lab, node)
	}
}

// A node that is cut off does not answer: no way hangs, and what ran there is not
// said to be ended.
func TestExecOntoANodeThatIsCutOff(t *testing.T) {
	lab := labtest.RequireNodes(t)
	node := lab.Workers()[0]
	way := nodeexec.Exec{Config: restConfig(t, lab)}
	n := onto(t, way, node)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := n.Stream(ctx, "sh", "-c", "echo runs; exec sleep 12345")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(s, make([]byte, len("runs\n"))); err != nil {
		t.Fatal(err)
	}
	mend(t, lab, node, "pkill -x -f 'sleep 12345' || sudo pkill -x -f 'sleep 12345' || true")
	t.Cleanup(func() { lab.Heal(t) }) // before it is repaired
	lab.Cut(t, node)

	began := time.Now()
	cancel()
	_, err = io.ReadAll(s)
	took := time.Since(began)
	t.Logf("note: after %s: %v", took.Round(100*time.Millisecond), err)
	says(t, err, "it may still run there, in process group ")
	if !errors.Is(err, nodeexec.ErrUnknownOutcome) || !errors.Is(err, context.Canceled) || took > 15*time.Second {
		t.Errorf("a command on a node that was cut off: after %s: %v", took, err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	says(t, refusal(t, way, node), node, "kubelet")
}
