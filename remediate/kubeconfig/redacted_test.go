package kubeconfig

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// here is this machine, with a folder for the root of the node.
type here struct{ root string }

func (h here) Path(name string) string { return filepath.Join(h.root, name) }

func (h here) Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = stdin
	return cmd.Output()
}

// An edit of what leaves a node is one of the file on it.
func TestEditOfWhatLeavesANodeIsAnEditOfTheFile(t *testing.T) {
	t.Parallel()
	w := newWorld()
	root, err := os.MkdirTemp("", "certrot") // the test's name is too long for a root
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.MkdirAll(filepath.Join(root, "etc/kubernetes"), 0o700); err != nil {
		t.Fatal(err)
	}
	const token = "not a token, # but 'as' long: é"
	files := map[string][]byte{}
	for name, form := range forms() {
		form = strings.Replace(form, "token: xxxxxxxxxxxxxxxxxxxxxxxxxxx", `token: "`+token+`"`, 1)
		form = strings.Replace(form, "preferences: {}", "preferences:\n  colors: true", 1)
		path := "/etc/kubernetes/" + strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' {
				return r
			}
			return '-'
		}, name)
		files[path] = w.form(form, w.before)
		if err := os.WriteFile(filepath.Join(root, path), files[path], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := gather.Read(t.Context(), here{root}, pki.NewScanner(), gather.Options{Only: true, Paths: []string{"/etc/kubernetes"}})
	if err != nil {
		t.Fatal(err)
	}
	edited := 0
	for path, file := range files {
		f, ok := r.File(path)
		if !ok || f.Content == nil {
			t.Fatalf("%s was not read", path)
		}
		if f.Content.Text == nil {
			t.Logf("%s stays on the node: %v", path, f.Content.Notes)
			continue
		}
		if bytes.Contains(f.Content.Text, []byte(token)) {
			t.Fatalf("%s is not redacted", path)
		}
		edit, err := SetCA(f.Content.Text, w.after)
		if err != nil {
			t.Logf("%s: %v", path, err)
			continue
		}
		edited++
		was, err := clientcmd.Load(file)
		if err != nil { // some have x in them themselves
			continue
		}
		is, err := clientcmd.Load(edit.Apply(file))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		name := is.Contexts[is.CurrentContext].Cluster
		if !bytes.Equal(is.Clusters[name].CertificateAuthorityData, w.after) {
			t.Errorf("%s has another CA", path)
		}
		is.Clusters[name].CertificateAuthorityData = was.Clusters[name].CertificateAuthorityData
		if !reflect.DeepEqual(was, is) {
			t.Errorf("%s: now %+v, was %+v", path, is, was)
		}
	}
	if edited < len(files)*2/3 {
		t.Errorf("of %d files, %d were edited", len(files), edited)
	}
}
