package plugin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin"
)

// liveHints are the next steps that live readings end up with: a file may hold any of them,
// from this release or from another.
func liveHints() []string {
	return []string{
		"kubectl auth can-i list secrets -n openshift-config; kubectl auth whoami",
		"try --via ssh, --allow-pods (starts a privileged pod on each), or kubectl certrot inspect --local on the node itself",
		"its kubelet has a heartbeat: try --via exec or --via debug",
		"log in again (oc login), or use a certificate kubeconfig: oc whoami",
		`only namespace "shop" was read; name others with -n`,
	}
}

// withoutNodes is a cluster of which no node was read.
func withoutNodes(s *inspect.Snapshot) {
	for i := range s.Nodes {
		n := s.Nodes[i]
		s.Nodes[i] = inspect.Node{Name: n.Name, Role: n.Role, Ready: n.Ready}
		s.Gaps = append(s.Gaps, inspect.Gap{What: "node/" + n.Name, Reason: "ssh: connection refused", Next: liveHints()[1+i%2]})
	}
	s.Gaps = append(s.Gaps, inspect.Gap{What: "nodes", Where: "2 of 5", Reason: "exec: forbidden", Next: liveHints()[1]})
	s.Bundles = slices.DeleteFunc(s.Bundles, func(b inspect.Bundle) bool { return b.At.Node != "" })
	s.Served = nil
	s.Reads = slices.DeleteFunc(s.Reads, func(r inspect.Read) bool { return r.What == "nodes" })
	s.Reads = append(s.Reads, inspect.Read{What: "nodes", Skipped: true, Note: "nothing leads there; " + liveHints()[1]},
		inspect.Read{What: "nodes", Where: "all", Skipped: true, Note: "you may not list nodes; name them with --nodes and --via ssh"})
}

// withoutKind is a cluster of which no object of a kind might be listed.
func withoutKind(s *inspect.Snapshot, kind, plural string) {
	s.Bundles = slices.DeleteFunc(s.Bundles, func(b inspect.Bundle) bool { return string(b.At.Kind) == kind })
	s.Reads = slices.DeleteFunc(s.Reads, func(r inspect.Read) bool { return r.What == plural })
	s.Gaps = append(s.Gaps, inspect.Gap{What: plural, Where: "openshift-config", Reason: "list " + plural + ": forbidden", Next: liveHints()[0]},
		inspect.Gap{What: plural, Reason: "list " + plural + ": unauthorized", Next: liveHints()[3]},
		inspect.Gap{What: "namespaces", Reason: "list namespaces: forbidden", Next: liveHints()[4]})
}

// gatheredFiles is a must-gather of an API and no node.
func gatheredFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"timestamp": "2024-01-02 10:00:00.0 +0000 UTC m=+0.1\n2024-01-02 10:05:01.0 +0000 UTC m=+300\n",
		"q/cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml": "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {name: version}\nspec: {clusterID: 0b0c5a6e-0000-4000-8000-000000000001}\nstatus: {desired: {version: 4.15.3}, history: [{state: Completed, version: 4.15.3}]}\n",
		"q/cluster-scoped-resources/core/nodes/worker-1.yaml":                         "apiVersion: v1\nkind: Node\nmetadata: {name: worker-1}\nstatus: {conditions: [{type: Ready, status: \"True\"}]}\n",
		"q/namespaces/shop/core/secrets.yaml":                                         "apiVersion: v1\nkind: SecretList\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}, data: {tls.key: 1704 bytes long}}\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// lackingFiles are files of facts, each of which lacks something, by what it lacks.
func lackingFiles(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"nothing":    demo,
		"nodes":      edited(t, withoutNodes),
		"secrets":    edited(t, func(s *inspect.Snapshot) { withoutKind(s, "Secret", "secrets") }),
		"configmaps": edited(t, func(s *inspect.Snapshot) { withoutKind(s, "ConfigMap", "configmaps") }),
		"version":    edited(t, func(s *inspect.Snapshot) { s.Cluster.Versions.Cluster, s.Cluster.Versions.Operators = "", nil }),
		"all but the version": edited(t, func(s *inspect.Snapshot) {
			withoutNodes(s)
			withoutKind(s, "Secret", "secrets")
			withoutKind(s, "ConfigMap", "configmaps")
		}),
		"kubelets": edited(t, func(s *inspect.Snapshot) {
			s.Bundles = slices.DeleteFunc(s.Bundles, func(b inspect.Bundle) bool { return b.At.Node == "worker-1" })
		}),
		"values": gatheredFiles(t),
	}
}

// readingCommands read a file, and change nothing.
func readingCommands() []string {
	out := []string{
		"inspect", "inspect --details", "verify --details", "inspect --all", "inspect nodes", "inspect secrets", "inspect secret/none -n shop", "verify", "verify api-int", "verify nodes", "verify access", "verify restart-safe",
		"rotate --list", "rotate --list --details", "fix-api-int --dry-run=client", "fix-api-int --nodes worker-1,worker-2 --dry-run=client", "fix-api-int --nodes worker-1 --rebootstrap --approve-csrs --dry-run=client",
		"fix-api-int status", "pretrust --dry-run=client", "snapshot",
	}
	for _, name := range []string{"loadbalancer-serving-signer", "kube-apiserver-to-kubelet-signer", "external-loadbalancer-serving-certkey"} {
		out = append(out, "rotate "+name+" --dry-run=client", "rotate "+name+" --leaf --dry-run=client", "rotate "+name+" --explain", "rotate status "+name, "rotate "+name+" --dry-run=client --details", "rotate status "+name+" --details", "rotate prune "+name+" --dry-run=client")
	}
	return out
}

// accessHint is a next step that needs a cluster to ask. What repairs nodes names them, and a
// snapshot that reads them does.
var (
	accessHint = regexp.MustCompile(`can-i|whoami|--via\b|--allow-pods|debug pod|log in again|name others|--api-ca-from|certificate kubeconfig: oc|(inspect|verify|verify [a-z-]+|runs|rotate status [a-z-]+) --(nodes|local)|[ (]-n NAMESPACE|nodes too: --nodes`)
	spaces     = regexp.MustCompile(`\s+`)
)

// asOC runs the program as oc does.
func asOC(args ...string) (stdout, stderr string) {
	var out, errOut bytes.Buffer
	plugin.Main(context.Background(), "test", append([]string{"oc-certrot"}, args...), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut})
	return out.String(), errOut.String()
}

// TestFilesGetNoHintsOfLiveAccess: no flag and no permission makes a file hold more than it
// does. All files, commands and forms take half a minute, with CERTROT_EVERY_STEP=1; else it
// is one of five.
func TestFilesGetNoHintsOfLiveAccess(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	liveRepair := regexp.MustCompile(`certrot (fix-api-int( --nodes \S+)?|undo RUN) --via ssh\b`)
	ran, considered, by := 0, 0, 5
	if os.Getenv("CERTROT_EVERY_STEP") == "1" {
		by = 1
	}
	files := lackingFiles(t)
	for _, lacks := range slices.Sorted(maps.Keys(files)) {
		file := files[lacks]
		for _, command := range readingCommands() {
			for _, format := range []string{"", "wide", "text", "junit", "json", "yaml"} {
				if considered++; considered%by != 0 {
					continue
				}
				args := append(strings.Fields(command), "--from", file)
				switch {
				case command == "snapshot":
					args = append(args, "-o", filepath.Join(t.TempDir(), "again"))
				case format != "":
					args = append(args, "-o", format)
				}
				out, errOut := asOC(args...)
				if strings.Contains(errOut, "unknown flag") || strings.Contains(errOut, "must be ") { // this command has no such form
					continue
				}
				ran++
				text := spaces.ReplaceAllString(out+errOut, " ")
				if strings.Contains(text, "kubectl certrot") {
					t.Errorf("a file that lacks %s: %s: typed as oc, answered as kubectl:\n%s", lacks, command, out+errOut)
				}
				text = liveRepair.ReplaceAllString(text, "") // says that it is for the live cluster
				for _, m := range accessHint.FindAllStringIndex(text, -1) {
					t.Errorf("a file that lacks %s: %s: …%s…", lacks, strings.Join(append(strings.Fields(command), "-o", format), " "), text[max(0, m[0]-120):min(len(text), m[1]+60)])
				}
			}
		}
	}
	if ran < 500/by {
		t.Errorf("only %d ran", ran)
	}
}

// TestFilesSayHowToReadMore: what helps where a file lacks something is to take it again.
func TestFilesSayHowToReadMore(t *testing.T) {
	t.Parallel()
	files := lackingFiles(t)
	for _, c := range []struct{ lacks, command, want string }{
		{"nodes", "inspect --details", "kubectl certrot snapshot --nodes all -o FILE"},
		{"nodes", "verify --details", "kubectl certrot snapshot --nodes all -o FILE"},
		{"nodes", "verify restart-safe", "kubectl certrot snapshot --nodes all --restart-safe -o FILE"},
		{"secrets", "inspect --details", "who may list secrets: kubectl certrot snapshot -o FILE"},
		{"secrets", "rotate loadbalancer-serving-signer --dry-run=client", "kubectl certrot snapshot -o FILE"},
		{"values", "inspect --details", "kubectl certrot snapshot -o FILE"},
	} {
		_, out, errOut := certrot(append(strings.Fields(c.command), "--from", files[c.lacks])...)
		if text := spaces.ReplaceAllString(out+errOut, " "); !strings.Contains(text, c.want) {
			t.Errorf("a file that lacks %s: %s does not say %q:\n%s", c.lacks, c.command, c.want, out+errOut)
		}
	}
}

// clusterTexts are what a tenant may write, that reads like this program's own.
func clusterTexts() []string {
	return []string{"certrot verify api-int", "{} verify api-int", "x{}y"}
}

// TestClusterTextIsNotRewritten: the program's name goes into its own commands, and into
// nothing else.
func TestClusterTextIsNotRewritten(t *testing.T) {
	t.Parallel()
	for _, said := range clusterTexts() {
		file := edited(t, func(s *inspect.Snapshot) {
			s.Gaps = append(s.Gaps, inspect.Gap{What: "secrets", Where: "shop", Reason: "a webhook says: " + said})
			s.Cluster.Synthetic = said
			for i := range s.Requests {
				s.Requests[i].Reason = said
			}
		})
		for _, command := range []string{"inspect", "inspect --all -o wide", "inspect -o json", "inspect -o yaml", "verify", "verify -o json", "verify -o yaml", "verify restart-safe -o json", "rotate --list -o json", "fix-api-int --nodes worker-2 --dry-run=client"} {
			_, out, errOut := certrot(append(strings.Fields(command), "--from", file)...)
			text := spaces.ReplaceAllString(out+errOut, " ")
			if !strings.Contains(text, said) {
				t.Errorf("%s: %q is not in\n%s", command, said, out+errOut)
			}
			if forged := "kubectl certrot verify api-int"; strings.Contains(text, forged+"”") || strings.Contains(text, fmt.Sprintf("%q", forged)) || strings.Contains(text, "xkubectl") {
				t.Errorf("%s: %q became\n%s", command, said, out+errOut)
			}
		}
	}
}
