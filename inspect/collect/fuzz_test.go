package collect

import (
	"bytes"
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// FuzzProtobufList: whatever a server answers, the reader ends with a list or an
// error, and what client-go encodes is read back item by item.
func FuzzProtobufList(f *testing.F) {
	list := &corev1.SecretList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}, ListMeta: metav1.ListMeta{Continue: "token"},
		Items: []corev1.Secret{{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b"}, Type: "kubernetes.io/tls", Data: map[string][]byte{"tls.crt": caPEM()}}, {}},
	}
	var encoded bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(list, &encoded); err != nil {
		f.Fatal(err)
	}
	f.Add(encoded.Bytes())
	f.Add([]byte(protobufMagic + "\x12\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &Cluster{Scanner: pki.NewScanner()}
		n := 0
		meta, err := readProtobufList(bytes.NewReader(data), func(metav1.ListMeta) {}, func(item []byte) error {
			n++
			return c.scanItem("Secret", item, &tally{})
		})
		if bytes.Equal(data, encoded.Bytes()) && (err != nil || n != 2 || meta.Continue != "token") {
			t.Errorf("client-go's own list: %d items, %+v, %v", n, meta, err)
		}
	})
}

// FuzzObjects: whatever a file holds, reading it as objects ends.
func FuzzObjects(f *testing.F) {
	f.Add([]byte("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {tls.crt: LS0t}\n---\nkind: List\napiVersion: v1\nitems: [{}, 1]\n"))
	f.Add([]byte(`{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"a"},"spec":{"request":"LS0t"}}`))
	f.Fuzz(func(_ *testing.T, data []byte) { readObjects(pki.NewScanner(), data) })
}

// FuzzSnapshotFile: what is no snapshot is refused, and what is one survives
// being written and read again.
func FuzzSnapshotFile(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"certrot/v1alpha1","kind":"Snapshot","bundles":[{"at":"Secret/a/b[c]","content":0}],"contents":[{"keys":[{"algorithm":"RSA"}]}]}`))
	f.Add([]byte(`{"apiVersion":"certrot/v1alpha1","kind":"Snapshot","requests":[{"object":7}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := readSnapshot(bytes.NewReader(data))
		if err != nil {
			return
		}
		report.NewInventory(context.Background(), inspect.NewFacts(s, s.Taken, 0), report.Filter{})
		var out bytes.Buffer
		if err := WriteSnapshot(&out, s); err != nil {
			t.Fatal(err)
		}
		r, _, err := gunzip(&out)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readSnapshot(r); err != nil {
			t.Errorf("what was written can't be read: %v", err)
		}
	})
}
