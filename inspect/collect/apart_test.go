package collect

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestTenantsOfALiveClusterAreReadApart: what their values spend leaves the platform's readable.
func TestTenantsOfALiveClusterAreReadApart(t *testing.T) {
	t.Parallel()
	packed := func(n int) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(`["` + strings.Repeat("x", n) + `"` + strings.Repeat(`,"-----BEGIN PRIVATE KEY-----"`, 9_000) + `]`)); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	c := &Cluster{Scanner: pki.NewScanner()}
	read := func(namespace string, n int) (cut bool) {
		object := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "x"}, BinaryData: map[string][]byte{"k": packed(n)}}
		item, err := object.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		var page tally
		if err := c.scanItem("ConfigMap", item, &page); err != nil || len(page.page) == 0 {
			t.Fatalf("%d found: %v", len(page.page), err)
		}
		for _, b := range page.page {
			cut = cut || b.Content.CutShort() != ""
		}
		return cut
	}
	for n := 0; !read("a-team", n); n++ {
		if n > 30 {
			t.Fatal("no share is ever spent")
		}
	}
	if read("openshift-config", 100) {
		t.Error("a value of the platform's is cut short by what tenants spent")
	}
}

// answering is a node that answers this, whatever runs on it.
type answering string

func (answering) Path(name string) string { return name }
func (answering) Via() string             { return "ssh" }
func (answering) Close() error            { return nil }
func (answering) Dial(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("no way")
}
func (a answering) Run(context.Context, io.Reader, ...string) ([]byte, error) {
	text := "certrot-gather 1\nclock 1795222537.25\nnode h k 0 sha256sum -\n" + string(a) + "walk done 1 2\ncut 0 0\nclock 1795222538\n"
	return fmt.Appendf(nil, "%send %d %x\n", text, len(text), sha256.Sum256([]byte(text))), nil
}

// TestEachWorkerIsReadAlone: what one's files spend leaves those of control plane nodes and of other workers
// readable.
func TestEachWorkerIsReadAlone(t *testing.T) {
	t.Parallel()
	with := func(first, files int) (node answering) {
		var listed, contents strings.Builder
		for i := range files {
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			if _, err := w.Write([]byte(`["` + strings.Repeat("x", first+i) + `"` + strings.Repeat(`,"-----BEGIN PRIVATE KEY-----"`, 9_000) + `]`)); err != nil || w.Close() != nil {
				t.Fatal(err)
			}
			text := base64.StdEncoding.EncodeToString(b.Bytes())
			fmt.Fprintf(&listed, "file R 8180 0 0 root root %d 1 1 %d 1 - %064x - - /etc/kubernetes/%d\n", len(text), i+1, i, i)
			fmt.Fprintf(&contents, "content %064x\nseg 0 %d %s\n", i, len(text), text)
		}
		return answering(listed.String() + contents.String())
	}
	n := Nodes{Scanner: pki.NewScanner()}
	for i, c := range []struct {
		role  string
		files int
		cut   bool
	}{{catalog.RoleWorker, 13, true}, {catalog.RoleMaster, 1, false}, {catalog.RoleWorker, 1, false}, {"", 1, false}} {
		s, _, err := n.Read(t.Context(), NodeObject{Name: "n", Role: c.role}, with(100*i, c.files))
		if err != nil || len(s.Bundles) < c.files {
			t.Fatalf("%d found: %v", len(s.Bundles), err)
		}
		cut := slices.ContainsFunc(s.Bundles, func(b inspect.Bundle) bool { return b.Content.CutShort() != "" })
		if cut != c.cut {
			t.Errorf("node %d (%s) is cut short: %t", i, c.role, cut)
		}
	}
}
