package collect

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
