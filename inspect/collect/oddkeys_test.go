package collect

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestTokensThatAreKeysOfASecretAreNotPlaces: the API takes a token for a key of a Secret
// or ConfigMap. What is found below it is at the same index, however the object is read.
func TestTokensThatAreKeysOfASecretAreNotPlaces(t *testing.T) {
	t.Parallel()
	token := "ghp_" + strings.Repeat("q7XvB2kLw", 4)
	jwt := "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"
	store := truststore(t, "for the user")
	for _, c := range []struct {
		name string
		kind pki.Kind
		data map[string][]byte
		bin  map[string][]byte
		want string
	}{
		{"one of three keys", "Secret", map[string][]byte{"a": []byte("x"), token: caPEM(), "z": caPEM()}, nil,
			"Secret/a/s[key:1] 1 certificates 0 locked, Secret/a/s[z] 1 certificates 0 locked"},
		{"the key of a keystore", "Secret", map[string][]byte{jwt: store, "password": []byte("for the user")}, nil, "Secret/a/s[key:0] 1 certificates 0 locked"},
		{"a key that looks like an index", "Secret", map[string][]byte{"a": caPEM(), "b." + token: caPEM()}, nil,
			"Secret/a/s[a] 1 certificates 0 locked, Secret/a/s[key:1] 1 certificates 0 locked"},
		{"binary values of a ConfigMap", "ConfigMap", map[string][]byte{"z": []byte("x")}, map[string][]byte{token: caPEM(), "ca.crt": caPEM()},
			"ConfigMap/a/s[ca.crt] 1 certificates 0 locked, ConfigMap/a/s[key:1] 1 certificates 0 locked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			item, text := keyedObject(t, c.kind, c.data, c.bin)
			var read tally
			if err := (&Cluster{Scanner: pki.NewScanner()}).scanItem(c.kind, item, &read); err != nil {
				t.Fatal(err)
			}
			if got := held(read.page); got != c.want {
				t.Errorf("over the API: %q, want %q", got, c.want)
			}
			file, ok := readObjects(pki.NewScanner(), text)
			if got := held(file.Bundles); !ok || got != c.want {
				t.Errorf("from a file: %q, want %q", got, c.want)
			}
			for _, b := range append(read.page, file.Bundles...) {
				if s := b.At.String(); strings.Contains(s, token[:12]) || strings.Contains(s, jwt[:12]) {
					t.Errorf("a token is in %s", s)
				}
			}
		})
	}
}

// keyedObject is an object as the API server sends it, and as a file holds it.
func keyedObject(t *testing.T, kind pki.Kind, data, bin map[string][]byte) (item, text []byte) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: "a", Name: "s"}
	types := metav1.TypeMeta{APIVersion: "v1", Kind: string(kind)}
	secret := &corev1.Secret{TypeMeta: types, ObjectMeta: meta, Data: data}
	item, err := secret.Marshal()
	var of any = secret
	if kind == "ConfigMap" {
		m := &corev1.ConfigMap{TypeMeta: types, ObjectMeta: meta, Data: map[string]string{}, BinaryData: bin}
		for k, v := range data {
			m.Data[k] = string(v)
		}
		item, err = m.Marshal()
		of = m
	}
	if err != nil {
		t.Fatal(err)
	}
	if text, err = yaml.Marshal(of); err != nil {
		t.Fatal(err)
	}
	return item, text
}

// TestErrorsOfAFileDoNotQuoteIt: what a parser can't read may be a password.
func TestErrorsOfAFileDoNotQuoteIt(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{"password: *hunter2", "~: hunter2", "a: !!int hunter2", "? [hunter2]\n: hunter2", "{1.5e400: hunter2, ~: [hunter2]}", "<<: hunter2", "a: !!binary hunter2!"} {
		_, err := toJSON([]byte(doc + "\n"))
		t.Log(err)
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", doc, err)
		}
		text := "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\n" + doc + "\n"
		m, ok := readObjects(pki.NewScanner(), []byte(text))
		if said := fmt.Sprint(m.Gaps); !ok || strings.Contains(said, "hunter2") {
			t.Errorf("%q: gaps %s", doc, said)
		}
	}
	if _, err := toJSON([]byte("a: *b\n")); err == nil || err.Error() != "yaml: unknown anchor" {
		t.Errorf("an alias of nothing: %v", err)
	}
}
