package collect

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// truststore is a PKCS#12 keystore with one CA.
func truststore(t *testing.T, password string) []byte {
	t.Helper()
	from := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	ca := pkitest.NewCA("kept in a keystore", from, from.AddDate(1, 0, 0))
	der, err := pkcs12.Modern2023.EncodeTrustStore([]*x509.Certificate{ca.Cert}, password)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// held writes what lies at each place.
func held(bundles []inspect.Bundle) string {
	var out []string
	for _, b := range bundles {
		if b.Object == nil || b.Object.Name != b.At.Name {
			out = append(out, "without its object")
		}
		out = append(out, fmt.Sprintf("%s %d certificates %d locked", b.At, len(b.Content.Certs), len(b.Content.Locked)))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// The password of a keystore mostly lies beside it.
func TestPasswordsBesideKeystores(t *testing.T) {
	t.Parallel()
	user, ca := truststore(t, "for the user"), truststore(t, "for the CA")
	crowd := map[string][]byte{"z.p12": user, "z.password": []byte("for the user")}
	for i := range 100 {
		crowd[fmt.Sprintf("a%03d", i)] = []byte("some value")
	}
	for _, c := range []struct {
		name string
		data map[string][]byte
		want string
	}{
		{"as Strimzi keeps them", map[string][]byte{"user.p12": user, "user.password": []byte("for the user"), "ca.p12": ca, "ca.password": []byte("for the CA")},
			"Secret/a/s[ca.p12] 1 certificates 0 locked, Secret/a/s[user.p12] 1 certificates 0 locked"},
		{"with a newline", map[string][]byte{"trust": user, "storepass": []byte("for the user\n")}, "Secret/a/s[trust] 1 certificates 0 locked"},
		{"under a name that says nothing", map[string][]byte{"trust": user, "x": []byte("for the user")}, "Secret/a/s[trust] 1 certificates 0 locked"},
		{"among many values", crowd, "Secret/a/s[z.p12] 1 certificates 0 locked"},
		{"elsewhere", map[string][]byte{"trust": user, "password": []byte("for another")}, "Secret/a/s[trust] 0 certificates 1 locked"},
		{"nothing beside it", map[string][]byte{"trust": user}, "Secret/a/s[trust] 0 certificates 1 locked"},
		{"one of two", map[string][]byte{"a.p12": user, "b.p12": ca, "password": []byte("for the CA")},
			"Secret/a/s[a.p12] 0 certificates 1 locked, Secret/a/s[b.p12] 1 certificates 0 locked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			secret := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s"}, Data: c.data}
			item, err := secret.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			read := tally{page: []inspect.Bundle{{}}} // of the object before
			if err := (&Cluster{Scanner: pki.NewScanner()}).scanItem("Secret", item, &read); err != nil {
				t.Fatal(err)
			}
			if got := held(read.page[1:]); got != c.want {
				t.Errorf("over the API: %q, want %q", got, c.want)
			}
			text, err := yaml.Marshal(secret)
			if err != nil {
				t.Fatal(err)
			}
			file, ok := readObjects(pki.NewScanner(), text)
			if got := held(file.Bundles); !ok || got != c.want {
				t.Errorf("from a file: %q, want %q", got, c.want)
			}
		})
	}
}

func TestSnapshotKeepsKeystoresAndRevocationLists(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	content := &pki.Content{
		CRLs: []*pki.CRL{
			{Fingerprint: pki.FingerprintOf([]byte("x")), Issuer: "CN=ca", IssuerKey: "0a", ThisUpdate: at, NextUpdate: at.AddDate(0, 0, 7), Revoked: 3},
			{Issuer: "CN=endless", ThisUpdate: at},
		},
		Locked: []pki.Locked{{Format: "PKCS#12", Reason: "because"}},
	}
	s := inspect.Snapshot{Taken: at, Bundles: []inspect.Bundle{{At: pki.Location{Kind: pki.KindFile, Path: "x"}, Content: content}}}
	var file bytes.Buffer
	if err := WriteSnapshot(&file, s); err != nil {
		t.Fatal(err)
	}
	r, _, err := gunzip(&file)
	if err != nil {
		t.Fatal(err)
	}
	again, err := readSnapshot(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.Bundles, again.Bundles); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}
