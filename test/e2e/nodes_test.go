//go:build linux

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// plantedOnNode is the folder of a node in which tests plant files: below one
// that is always read.
const plantedOnNode = "/etc/kubernetes/e2e"

// onNodes is a node with planted files.
type onNodes struct {
	lab    *labtest.Lab
	node   string
	secret *confidential
	// controlPlane is how many keys of static pods there are.
	controlPlane int
}

// plantOnNode puts files with certificates, keys and tokens on a node ("" is the
// last worker), and removes them at the end.
func plantOnNode(t *testing.T, node string) onNodes {
	t.Helper()
	lab := labtest.RequireNodes(t)
	if node == "" {
		node = lab.Workers()[len(lab.Workers())-1]
	}
	n := onNodes{lab: lab, node: node, secret: &confidential{}}
	now := time.Now()
	ca := pkitest.NewCA("e2e node CA", now.AddDate(-2, 0, 0), now.AddDate(2, 0, 0))
	expired := ca.Issue("expired.e2e.example.com", now.AddDate(-1, 0, 0), now.AddDate(0, 0, -3), pkitest.DNS("expired.e2e.example.com"))
	good := ca.Issue("good.e2e.example.com", now.AddDate(0, 0, -3), now.AddDate(1, 0, 0), pkitest.DNS("good.e2e.example.com"), pkitest.RSA(2048))
	n.secret.key("the planted expired key", expired.KeyPEM)
	n.secret.key("the planted good key", good.KeyPEM)
	token := n.secret.token("the planted token")
	n.put(t, map[string][]byte{
		"expired.crt":                    expired.CertPEM,
		"expired.key":                    expired.KeyPEM,
		"both.pem":                       pkitest.Bundle(good.CertPEM, good.KeyPEM),
		"robot.kubeconfig":               kubeconfigWith(ca.Pair, good, token),
		"with space \"and' quotes\n.pem": ca.CertPEM,
	})
	// what the node really has, too
	for _, name := range []string{"client", "server"} {
		pair := n.lab.SSH(t, n.node, "sudo", "cat", "/var/lib/kubelet/pki/kubelet-"+name+"-current.pem")
		if i := strings.Index(pair, "-----BEGIN EC PRIVATE KEY"); i >= 0 {
			n.secret.key("the kubelet's "+name+" key", []byte(pair[i:]))
		} else {
			t.Fatalf("the kubelet's %s pair has no key", name)
		}
	}
	keys := []byte(n.lab.SSH(t, n.node, `sudo find /etc/kubernetes/static-pod-resources -name '*.key' -exec cat {} +`, "2>/dev/null", "||", "true"))
	for block, rest := pem.Decode(keys); block != nil; block, rest = pem.Decode(rest) {
		n.secret.key("a key of the control plane", pem.EncodeToMemory(block))
		n.controlPlane++
	}
	return n
}

// put writes files into the folder, as root, with mode 0600.
func (n onNodes) put(t *testing.T, files map[string][]byte) {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := n.lab.SSHCommand(context.WithoutCancel(t.Context()), n.node, "sudo", "rm", "-rf", plantedOnNode).CombinedOutput(); err != nil {
			t.Errorf("remove what was planted: %v\n%s", err, out)
		}
	})
	c := n.lab.SSHCommand(t.Context(), n.node, "sudo mkdir -p "+plantedOnNode+" && sudo tar -x --no-same-owner -C "+plantedOnNode)
	c.Stdin = &archive
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("plant files on %s: %v\n%s", n.node, err, out)
	}
}

// program is certrot on the node itself.
func (n onNodes) program(t *testing.T, w *world) string {
	t.Helper()
	const path = "/tmp/e2e-certrot"
	binary, err := os.Open(filepath.Join(w.bin, "kubectl-certrot"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = binary.Close() }() // read only
	c := n.lab.SSHCommand(t.Context(), n.node, "cat >"+path+" && chmod 0755 "+path)
	c.Stdin = binary
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("copy certrot to %s: %v\n%s", n.node, err, out)
	}
	t.Cleanup(func() {
		_ = n.lab.SSHCommand(context.WithoutCancel(t.Context()), n.node, "rm", "-f", path).Run() // the node's /tmp is its own
	})
	return path
}

// TestEveryWayTellsTheSame reads one node by all four ways, with the program as
// users run it, and compares what it says of files.
func TestEveryWayTellsTheSame(t *testing.T) {
	w := enter(t)
	n := plantOnNode(t, "")
	args := []string{"inspect", "nodes", n.node, "-o", "json", "--fail-on", "none"}
	inLab := append([]string{filepath.Join(w.bin, "kubectl-certrot")}, args...)
	want := n.oracle(t)
	for name, run := range map[string]func() result{
		"exec":  func() result { return w.run(t, append(args, "--via", "exec")...) },
		"debug": func() result { return w.run(t, append(args, "--via", "debug")...) },
		"ssh":   func() result { return w.exec(t, n.lab.Command(t.Context(), append(inLab, "--via", "ssh")...)) },
		"auto":  func() result { return w.run(t, args...) },
		"local": func() result {
			return w.exec(t, n.lab.SSHCommand(t.Context(), n.node, "sudo", n.program(t, w), "inspect", "--local", "--nodes", n.node, "-o", "json", "--fail-on", "none"))
		},
	} {
		r := run()
		if r.code != 0 {
			t.Fatalf("%s: ended with %d: %.2000s", name, r.code, r.stderr)
		}
		n.secret.leak(t, name, r.said())
		inv := decode(t, r)
		via := name
		if name == "auto" {
			via = "exec"
		}
		if len(inv.Nodes) != 1 || inv.Nodes[0].Via != via || inv.Nodes[0].Kubelet != "running" {
			t.Errorf("%s: nodes are %+v", name, inv.Nodes)
		}
		seen := withoutFields(inv.sightings(t))
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("%s: places and certificates (-oracle +certrot):\n%s", name, diff)
		}
		found := inv.at("certificate-expired", "node/"+n.node+":"+plantedOnNode+"/expired.crt")
		if len(found) != 1 || found[0].Severity != "critical" {
			t.Errorf("%s: the expired certificate on the node is %+v", name, found)
		}
		t.Logf("note: %s: %d places in %s", name, len(seen), r.took.Round(10*time.Millisecond))
	}
}

// oracle reads the files of the node by means of its own: cat, the standard
// library's PEM and the kubeconfig of client-go. Fields inside a file are left
// out.
func (n onNodes) oracle(t *testing.T) sightings {
	t.Helper()
	const script = `find /etc/kubernetes /var/lib/kubelet/pki /var/lib/kubelet/kubeconfig '(' -name '*.crt' -o -name '*.pem' -o -name '*kubeconfig' ')' -print0`
	out := sightings{}
	for file := range strings.SplitSeq(strings.TrimSuffix(n.lab.SSH(t, n.node, "sudo sh -c "+nodeexec.Quote(script)), "\x00"), "\x00") {
		text := []byte(n.lab.SSH(t, n.node, "sudo cat "+nodeexec.Quote(file)))
		parts := [][]byte{text}
		if config, err := clientcmd.Load(text); err == nil {
			for _, c := range config.Clusters {
				parts = append(parts, c.CertificateAuthorityData)
			}
			for _, u := range config.AuthInfos {
				parts = append(parts, u.ClientCertificateData)
			}
		}
		for _, part := range parts {
			for block, rest := pem.Decode(part); block != nil; block, rest = pem.Decode(rest) {
				if block.Type == "CERTIFICATE" {
					out.add("node/"+n.node+":"+file, fmt.Sprintf("%x", sha256.Sum256(block.Bytes)))
				}
			}
		}
	}
	return out
}

// withoutFields puts the places inside of files together.
func withoutFields(s sightings) sightings {
	out := sightings{}
	for place, shas := range s {
		file, _, _ := strings.Cut(place, "#")
		for _, sha := range shas {
			out.add(file, sha)
		}
	}
	return out
}

// recorded is a node of which all is kept that it sends.
type recorded struct {
	nodeexec.Node
	raw *bytes.Buffer
}

func (r recorded) Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	out, err := r.Node.Run(ctx, stdin, argv...)
	r.raw.Write(out)
	if err != nil {
		fmt.Fprint(r.raw, err) // with what stands on stderr
	}
	return out, err
}

// TestNoKeyLeavesANode searches all that a worker and a master send, before
// anything reads it.
func TestNoKeyLeavesANode(t *testing.T) {
	lab := labtest.RequireNodes(t)
	t.Run("worker", func(t *testing.T) { noKeyLeaves(t, plantOnNode(t, ""), 1<<20) })
	t.Run("master", func(t *testing.T) {
		n := plantOnNode(t, lab.Nodes()[0])
		if n.controlPlane < 5 {
			t.Errorf("%s has %d keys of the control plane: is it a master?", n.node, n.controlPlane)
		}
		noKeyLeaves(t, n, 3<<20)
	})
}

func noKeyLeaves(t *testing.T, n onNodes, most int) {
	t.Helper()
	config := restConfig(t, n.lab)
	debug := &nodeexec.Debug{Config: config}
	defer func() {
		if err := debug.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, way := range []nodeexec.Transport{nodeexec.Exec{Config: config}, sshTo(t, n.lab, n.node), debug} {
		t.Run(way.Name(), func(t *testing.T) {
			node := recorded{onto(t, way, n.node), &bytes.Buffer{}}
			r, err := gather.Read(t.Context(), node, pki.NewScanner(), gather.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := node.Close(); err != nil {
				t.Error(err)
			}
			n.secret.leak(t, "what the node sent by "+way.Name(), node.raw.String())
			f, ok := r.File(plantedOnNode + "/both.pem")
			if !ok || f.Content == nil || len(f.Content.Keys) != 1 {
				t.Errorf("the planted pair was read as %+v", f)
			}
			if node.raw.Len() > most {
				t.Errorf("%s sent %d bytes, more than %d", n.node, node.raw.Len(), most)
			}
			t.Logf("note: %d bytes", node.raw.Len())
		})
	}
}

// TestAllNodesByEveryWay reads all nodes of the lab, a master too, by the ways that
// lead there from outside, and compares the facts but for when they were read:
// modes, owners, kubeconfigs and the kubelets' configuration included.
func TestAllNodesByEveryWay(t *testing.T) {
	w := enter(t)
	lab := labtest.RequireNodes(t)
	facts := map[string]any{}
	for _, way := range []string{"ssh", "exec", "debug"} {
		file := filepath.Join(t.TempDir(), way)
		if r := w.inLab(t, lab, "snapshot", "--nodes", "all", "--via", way, "-o", file); r.code != 0 {
			t.Fatalf("%s: ended with %d: %s", way, r.code, r.said())
		}
		facts[way] = nodeFacts(t, file)
		if nodes, ok := facts[way].(map[string]any)["nodes"].([]any); !ok || len(nodes) != len(lab.Nodes()) {
			t.Fatalf("%s: %d nodes in the snapshot, want %d", way, len(nodes), len(lab.Nodes()))
		} else {
			for _, n := range nodes {
				kubelet, _ := n.(map[string]any)["kubelet"].(map[string]any)
				if kubelet["rotateCertificates"] != true || kubelet["clientCAFile"] != "/etc/kubernetes/kubelet-ca.crt" || kubelet["active"] != "active" {
					t.Errorf("%s: the kubelet is %v", way, kubelet)
				}
			}
		}
	}
	for _, way := range []string{"exec", "debug"} {
		if diff := cmp.Diff(facts["ssh"], facts[way]); diff != "" {
			t.Errorf("facts (-ssh +%s):\n%s", way, diff)
		}
	}
}

// Healthy nodes raise no alarm.
func TestHealthyNodes(t *testing.T) {
	w := enter(t)
	lab := labtest.RequireNodes(t)
	for _, way := range []string{"ssh", "exec"} {
		if r := w.inLab(t, lab, "inspect", "nodes", "--via", way, "--min-severity", "info"); r.code != 0 || !strings.Contains(r.stdout, "no problem found") {
			t.Errorf("by %s: ended with %d:\n%s", way, r.code, r.said())
		}
	}
}

// nodeFacts is what a snapshot file says of nodes, without the way and the clocks.
func nodeFacts(t *testing.T, file string) map[string]any {
	t.Helper()
	packed, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }() // read only
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.NewDecoder(unpacked).Decode(&s); err != nil {
		t.Fatal(err)
	}
	nodes, _ := s["nodes"].([]any)
	for _, n := range nodes {
		node, ok := n.(map[string]any)
		if !ok {
			t.Fatalf("a node is %v", n)
		}
		delete(node, "via")
		delete(node, "clock")
		delete(node, "heartbeat") // each reading has its own
		delete(node, "lease")
	}
	var places []any
	bundles, _ := s["bundles"].([]any)
	for _, b := range bundles {
		if at, _ := b.(map[string]any)["at"].(string); strings.HasPrefix(at, "node/") {
			places = append(places, at)
		}
	}
	return map[string]any{"nodes": nodes, "places": places}
}
