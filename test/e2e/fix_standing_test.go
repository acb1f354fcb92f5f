//go:build linux

package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// standing is how a node is, as far as a repair may change it.
type standing struct {
	files  map[string]string // the bytes, by path
	dress  map[string]string // mode and owner, by path
	pid    string            // of the kubelet
	runs   string            // what it keeps of runs
	litter string            // unfinished files
}

// stands reads how a node is, by ssh and the node's own tools.
func (f *fixing) stands(t *testing.T, node string) standing {
	t.Helper()
	const script = `for f in ` + joinConfig + ` ` + ownConfig + `; do stat -c '%a %U:%G' $f; base64 -w0 $f; echo; done
systemctl show -p MainPID --value kubelet; ls ` + runsOnNode + ` 2>/dev/null | tr '\n' ' '; echo
ls -A /etc/kubernetes /var/lib/kubelet | grep '^.certrot-' | tr '\n' ' '; echo`
	lines := strings.Split(mustDo(t, f.lab, "ssh", node, "sudo sh -c "+nodeexec.Quote(script)), "\n")
	if len(lines) < 7 {
		t.Fatalf("%s says %d lines of how it is", node, len(lines))
	}
	s := standing{files: map[string]string{}, dress: map[string]string{}, pid: lines[4], runs: lines[5], litter: lines[6]}
	for i, path := range []string{joinConfig, ownConfig} {
		text, err := base64.StdEncoding.DecodeString(lines[2*i+1])
		if err != nil || len(text) == 0 {
			t.Fatalf("%s:%s: %d bytes, %v", node, path, len(text), err)
		}
		s.dress[path], s.files[path] = lines[2*i], string(text)
	}
	return s
}

// unlike says in what two states differ, without the bytes.
func (s standing) unlike(o standing) []string {
	var out []string
	for _, path := range []string{joinConfig, ownConfig} {
		if s.files[path] != o.files[path] {
			out = append(out, fmt.Sprintf("%s: sha256 %x and %x", path, sha256.Sum256([]byte(s.files[path])), sha256.Sum256([]byte(o.files[path]))))
		}
		if s.dress[path] != o.dress[path] {
			out = append(out, fmt.Sprintf("%s: %q and %q", path, s.dress[path], o.dress[path]))
		}
	}
	for what, pair := range map[string][2]string{"kubelet's process": {s.pid, o.pid}, "runs": {s.runs, o.runs}, "unfinished files": {s.litter, o.litter}} {
		if pair[0] != pair[1] {
			out = append(out, fmt.Sprintf("%s: %q and %q", what, pair[0], pair[1]))
		}
	}
	return out
}

// untouched fails the test if anything about a node is another than before.
func (f *fixing) untouched(t *testing.T, node string, before standing) {
	t.Helper()
	if diff := before.unlike(f.stands(t, node)); len(diff) > 0 {
		t.Errorf("%s was touched: before and now: %s", node, strings.Join(diff, "; "))
	}
}

// sameFiles fails the test unless the files are what they were, in bytes, mode and
// owner.
func sameFiles(t *testing.T, before, after standing) {
	t.Helper()
	after.pid, after.runs, after.litter = before.pid, before.runs, before.litter
	if diff := before.unlike(after); len(diff) > 0 {
		t.Errorf("before and after: %s", strings.Join(diff, "; "))
	}
}

// repaired says why a file is not what a repair makes of it: nothing but the CA
// is another, that begins with the published bytes, and the previous CAs are in
// it. It reads kubeconfigs as client-go does.
func repaired(before, after string, published []byte) error {
	b, a := strings.Split(before, "\n"), strings.Split(after, "\n")
	if len(a) != len(b) {
		return fmt.Errorf("it has %d lines, and had %d", len(a), len(b))
	}
	var others []string
	for i := range b {
		if a[i] != b[i] {
			key, _, _ := strings.Cut(strings.TrimSpace(a[i]), ":")
			others = append(others, key)
		}
	}
	if !slices.Equal(others, []string{"certificate-authority-data"}) {
		return fmt.Errorf("the lines that are others are %q", others)
	}
	old, err := clientcmd.Load([]byte(before))
	if err != nil {
		return err
	}
	now, err := clientcmd.Load([]byte(after))
	if err != nil {
		return err
	}
	context := now.Contexts[now.CurrentContext]
	if context == nil || now.Clusters[context.Cluster] == nil {
		return errors.New("the current context leads to no cluster")
	}
	ca, was := now.Clusters[context.Cluster].CertificateAuthorityData, old.Clusters[context.Cluster].CertificateAuthorityData
	if len(published) == 0 || !bytes.HasPrefix(ca, published) {
		return fmt.Errorf("the CA does not begin with the %d published bytes", len(published))
	}
	if held, of := caSums(ca), caSums(was); !contains(held, of) || len(of) == 0 {
		return fmt.Errorf("it holds %d CAs; not all of the %d that it held before are among them", len(held), len(of))
	}
	now.Clusters[context.Cluster].CertificateAuthorityData = was
	if !reflect.DeepEqual(now, old) {
		return errors.New("read by client-go, something else than the CA is another")
	}
	return nil
}

// What the tests of repairs go by tells a repair from what looks like one.
func TestRepairedIsToldFromDamaged(t *testing.T) {
	now := time.Now()
	old := pkitest.NewCA("the old CA", now.AddDate(-1, 0, 0), now.AddDate(1, 0, 0)).CertPEM
	published := pkitest.NewCA("the new CA", now, now.AddDate(1, 0, 0)).CertPEM
	text := func(ca []byte, token string) string {
		return "clusters:\n- cluster:\n    certificate-authority-data: " + string(encoded(ca)) + "\n    server: https://api-int.lab.test:6443\n  name: local\n" +
			"contexts:\n- context:\n    cluster: local\n    user: kubelet\n  name: kubelet\ncurrent-context: kubelet\nusers:\n- name: kubelet\n  user:\n    token: " + token + "\n"
	}
	before := text(old, "a")
	for name, c := range map[string]struct {
		after string
		right bool
	}{
		"both CAs":                {text(pkitest.Bundle(published, old), "a"), true},
		"nothing is done":         {before, false},
		"the old one is gone":     {text(published, "a"), false},
		"the new one comes last":  {text(pkitest.Bundle(old, published), "a"), false},
		"another token":           {text(pkitest.Bundle(published, old), "b"), false},
		"a comment more":          {text(pkitest.Bundle(published, old), "a") + "# more\n", false},
		"the CA is in users":      {before + "    certificate-authority-data: " + string(encoded(published)) + "\n", false},
		"the last newline is off": {strings.TrimSuffix(text(pkitest.Bundle(published, old), "a"), "\n"), false},
	} {
		if err := repaired(before, c.after, published); (err == nil) != c.right {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func contains(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// caSums are the sha256 of certificates.
func caSums(text []byte) []string {
	var out []string
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		out = append(out, fmt.Sprintf("%x", sha256.Sum256(block.Bytes)))
	}
	return out
}

// mended fails the test unless a node was repaired: its files are, its kubelet is
// another process, and nothing unfinished lies around.
func (f *fixing) mended(t *testing.T, node string, before standing) standing {
	t.Helper()
	after := f.stands(t, node)
	published := f.published(t)
	for path, text := range before.files {
		if err := repaired(text, after.files[path], published); err != nil {
			t.Errorf("%s:%s: %v", node, path, err)
		}
		if after.dress[path] != "600 root:root" {
			t.Errorf("%s:%s is %s", node, path, after.dress[path])
		}
	}
	if after.pid == before.pid || after.pid == "0" {
		t.Errorf("the kubelet of %s is process %s, and was %s", node, after.pid, before.pid)
	}
	if after.litter != "" {
		t.Errorf("left on %s: %s", node, after.litter)
	}
	return after
}

// reports fails the test unless a node is Ready now, by a heartbeat of after its
// kubelet's start.
func (f *fixing) reports(t *testing.T, node string) {
	t.Helper()
	if ready := f.ready(t, node); ready != "True" {
		t.Errorf("%s: Ready is %s", node, ready)
	}
	beat, err := time.Parse(time.RFC3339, mustDo(t, f.lab, "get", "lease", "-n", "kube-node-lease", node, "-o", "jsonpath={.spec.renewTime}"))
	if err != nil {
		t.Fatal(err)
	}
	started, err := strconv.ParseInt(strings.TrimSpace(mustDo(t, f.lab, "ssh", node, `date -d "$(systemctl show -p ActiveEnterTimestamp --value kubelet)" +%s`)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if !beat.After(time.Unix(started, 0)) {
		t.Errorf("%s: the last heartbeat is of %s, and the kubelet runs since %s", node, beat.UTC(), time.Unix(started, 0).UTC())
	}
}

func (f *fixing) ready(t *testing.T, node string) string {
	t.Helper()
	return mustDo(t, f.lab, "get", "node", node, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
}

// letsIn waits until kubectl exec works on a node: it needs a kubelet that may ask
// the API server, and knows its pods.
func letsIn(t *testing.T, lab *labtest.Lab, node string) {
	t.Helper()
	const ns = "openshift-machine-config-operator"
	pod := mustDo(t, lab, "get", "pods", "-n", ns, "-l", "k8s-app=machine-config-daemon", "--field-selector", "spec.nodeName="+node, "-o", "name")
	eventually(t, "kubectl exec works on "+node, func() string {
		out, err := labDo(lab, "exec", "-n", ns, strings.TrimSpace(pod), "--", "cat", "/rootfs/etc/hostname")
		if err != nil {
			return err.Error()
		}
		if strings.TrimSpace(out) != node {
			return out
		}
		return ""
	})
}
