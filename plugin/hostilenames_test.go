package plugin

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCompletionOffersNoCommandOfAServer: shells put a suggestion into the command line, and
// evaluate that line for the next one.
func TestCompletionOffersNoCommandOfAServer(t *testing.T) {
	t.Parallel()
	odd := []string{"`touch${IFS}/tmp/x`a", "(touch /tmp/x)a", "$(id)", "a b", "a;id", "-o", "_activeHelp_ run this", "a\nb"}
	kubeconfig := hostileAPI(t, func(w http.ResponseWriter, r *http.Request) {
		var list any
		switch {
		case r.URL.Path == "/api/v1/namespaces":
			of := corev1.NamespaceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}}
			for _, name := range append(odd, "good") {
				of.Items = append(of.Items, corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
			}
			list = of
		case strings.HasPrefix(r.URL.Path, "/api/v1/nodes"):
			of := corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}}
			for _, name := range append(odd, "good") {
				of.Items = append(of.Items, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
			}
			list = of
		case strings.HasPrefix(r.URL.Path, "/api/v1/secrets") || r.URL.Path == "/api/v1/namespaces/default/secrets":
			if !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
				t.Errorf("%s: asked for whole objects: %s", r.URL.Path, r.Header.Get("Accept"))
			}
			of := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
			for _, name := range append(odd, "good") {
				of.Items = append(of.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}})
			}
			list = of
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	})
	for _, line := range [][]string{{"inspect", "-n", ""}, {"inspect", "nodes", ""}, {"fix-api-int", "--nodes", ""}, {"verify", "--nodes", "x,"}, {"inspect", "secrets", ""}, {"inspect", "secret/"}} {
		out, errOut, _ := typed(t, append([]string{"__complete", "--kubeconfig", kubeconfig}, line...)...)
		offered := strings.Split(out, "\n")
		good := false
		for _, word := range offered {
			word = strings.TrimPrefix(strings.TrimPrefix(word, "x,"), "secret/")
			good = good || word == "good"
			if word != "" && word != "good" && word != "all" && word != "none" && !strings.HasPrefix(word, ":") {
				t.Errorf("%q offers %q", line, word)
			}
		}
		if !good {
			t.Errorf("%q does not offer what can be offered: %q %s", line, out, errOut)
		}
	}
}

// TestNamesOfAnArchiveAreMarked: who made a must-gather chose the names of its files, and what its
// cluster is called.
func TestNamesOfAnArchiveAreMarked(t *testing.T) {
	t.Parallel()
	gather := func(id, broken string) string {
		var packed bytes.Buffer
		w := tar.NewWriter(&packed)
		version := `{"apiVersion":"config.openshift.io/v1","kind":"ClusterVersion","metadata":{"name":"version"},"spec":{"clusterID":"` + id + `"}}`
		dir := "must-gather.local/quay-io-x/"
		for _, f := range []struct{ name, text string }{
			{dir + "cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml", version},
			{"must-gather.local/" + broken + "/namespaces/a/core/secrets.yaml", "a: [\n}"},
		} {
			if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o600, Size: int64(len(f.text))}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte(f.text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "m.tar")
		if err := os.WriteFile(file, packed.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	odd, other := gather(advice(), advice()), gather("other", "x")
	seen := 0
	for _, line := range [][]string{
		{"inspect", "--from", odd}, {"verify", "--from", odd}, {"inspect", "--details", "--from", odd}, {"verify", "--details", "--from", odd},
		{"inspect", "--details", "--from", odd, "--from", other}, {"inspect", "--details", "--from", other, "--from", odd},
	} {
		seen += nothingAdvised(t, strings.Join(line, " "), said(t, line...))
	}
	if seen < 4 {
		t.Errorf("it is printed %d times, so little is tested", seen)
	}
}
