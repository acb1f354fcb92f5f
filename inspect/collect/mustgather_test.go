package collect

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ulikunitz/xz"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// caseConfigMap is a must-gather with one certificate in one ConfigMap.
var caseConfigMap = []string{"mg/image/namespaces/a/core/configmaps.yaml", list(configMapYAML("a", "c", "7", string(caPEM())))}

func configMapYAML(namespace, name, version, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: %s, name: %s, resourceVersion: %q}\ndata:\n  ca.crt: %q\n", namespace, name, version, value)
}

// secretYAML has values as they are written in the file, key, value, key, value …
func secretYAML(namespace, name, secretType string, values ...string) string {
	s := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {namespace: %s, name: %s}\ntype: %s\ndata:\n", namespace, name, secretType)
	for i := 0; i < len(values); i += 2 {
		s += fmt.Sprintf("  %s: %q\n", values[i], values[i+1])
	}
	return s
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// list makes a List of objects in YAML, as oc adm inspect writes it.
func list(objects ...string) string {
	s := "---\napiVersion: v1\nkind: List\nitems:\n"
	for _, o := range objects {
		s += "- " + strings.ReplaceAll(strings.TrimSpace(o), "\n", "\n  ") + "\n"
	}
	return s
}

func clusterVersionYAML(id, version string) string {
	return fmt.Sprintf("apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {name: version, creationTimestamp: '2024-01-01T00:00:00Z'}\nspec: {clusterID: %s}\nstatus: {history: [{state: Completed, version: %s}]}\n", id, version)
}

// readTarOf reads a must-gather that is a tar of these files.
func readTarOf(t *testing.T, files ...string) inspect.Snapshot {
	t.Helper()
	s, err := File{Path: "-", Stdin: bytes.NewReader(tarOf(t, files...)), Scanner: pki.NewScanner()}.Read()
	if err != nil {
		t.Fatal(err)
	}
	s.Sort()
	return s
}

// directoryOf writes files to a directory.
func directoryOf(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func reasons(gaps []inspect.Gap) string {
	var out []string
	for _, g := range gaps {
		out = append(out, g.What+" "+g.Where+": "+g.Reason)
	}
	return strings.Join(out, "\n")
}

func notes(reads []inspect.Read) string {
	var out []string
	for _, r := range reads {
		out = append(out, fmt.Sprintf("%s %d: %s", r.What, r.Objects, r.Note))
	}
	return strings.Join(out, "\n")
}

// aWhole is a must-gather with some of everything.
func aWhole() []string {
	return []string{
		"mg/timestamp", "2024-02-01 10:00:00.5 +0100 CET m=+0.1\n2024-02-01 11:05:00.5 +0100 CET m=+99.1\n",
		"mg/event-filter.html", "<html>",
		"mg/quay-io-x-sha256-1/version", "openshift/must-gather\n",
		"mg/quay-io-x-sha256-1/cluster-scoped-resources/config.openshift.io/clusterversions.yaml", list(clusterVersionYAML("one", "4.15.1")),
		"mg/quay-io-x-sha256-1/cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml", clusterVersionYAML("one", "4.15.1"),
		"mg/quay-io-x-sha256-1/cluster-scoped-resources/config.openshift.io/infrastructures/cluster.yaml", "apiVersion: config.openshift.io/v1\nkind: Infrastructure\nmetadata: {name: cluster}\nstatus: {controlPlaneTopology: SingleReplica, platformStatus: {type: None}}\n",
		"mg/quay-io-x-sha256-1/cluster-scoped-resources/core/persistentvolumes/n.yaml", "not: [read",
		"mg/quay-io-x-sha256-1/cluster-scoped-resources/apiextensions.k8s.io/customresourcedefinitions/c.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: c}\nspec:\n  versions: [{schema: {description: '-----BEGIN CERTIFICATE----- ... -----END CERTIFICATE-----'}}]\n  conversion: {webhook: {clientConfig: {caBundle: " + b64(string(caPEM())) + "}}}\n",
		"mg/quay-io-x-sha256-1/cluster-scoped-resources/admissionregistration.k8s.io/validatingwebhookconfigurations/w.json", `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"w"},"webhooks":[{},{"clientConfig":{"caBundle":"` + b64(string(caPEM())) + `"}}]}`,
		"mg/quay-io-x-sha256-1/cluster-scoped-resources/apiregistration.k8s.io/apiservices/v1.x.yaml", "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.x}\nspec: {caBundle: " + b64(string(caPEM())) + "}\n",
		"mg/quay-io-x-sha256-1/namespaces/a/a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
		"mg/quay-io-x-sha256-1/namespaces/a/core/configmaps.yaml", list(configMapYAML("a", "c", "7", string(caPEM()))),
		"mg/quay-io-x-sha256-1/namespaces/a/core/configmaps/c.yaml", configMapYAML("a", "c", "7", string(caPEM())),
		"mg/quay-io-x-sha256-1/namespaces/a/core/secrets.yaml", list(
			secretYAML("a", "s", "kubernetes.io/tls", "tls.crt", b64(string(caPEM())), "tls.key", b64("1704 bytes long")),
			secretYAML("a", "token", "kubernetes.io/service-account-token", "token", b64("916 bytes long"), "namespace", b64("1 bytes long"))),
		"mg/quay-io-x-sha256-1/namespaces/a/route.openshift.io/routes.yaml", list(),
		"mg/quay-io-x-sha256-1/namespaces/a/pods/p/p.yaml", "not: [read",
		"mg/quay-io-x-sha256-1/namespaces/a/pods/p/c/c/logs/current.log", "log",
		"mg/quay-io-x-sha256-1/host_service_logs/masters/kubelet_service.log.gz", "log",
		"mg/quay-io-x-sha256-1/must-gather.tar.gz", "an archive in it",
	}
}

func TestMustGatherInEveryForm(t *testing.T) {
	t.Parallel()
	whole := aWhole()
	packed := tarOf(t, whole...)
	dir := directoryOf(t, whole...)
	save := func(name string, data []byte) string {
		name = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for name, path := range map[string]string{
		"a directory":                      dir,
		"the directory of one must-gather": filepath.Join(dir, "mg"),
		"a tar":                            save("m.tar", packed),
		"a tar.gz":                         save("m.tgz", gzipped(t, packed)),
		"a tar.xz":                         save("m.tar.xz", xzed(t, packed)),
		"a tar.xz that says .tar.gz":       save("m.tar.gz", xzed(t, packed)),
		"a tar with no extension":          save("m", packed),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := File{Path: path, Scanner: pki.NewScanner()}.Read()
			if err != nil {
				t.Fatal(err)
			}
			want := "APIService/v1.x#spec.caBundle, ConfigMap/a/c[ca.crt], CustomResourceDefinition/c#spec.conversion.webhook.clientConfig.caBundle, Secret/a/s[tls.crt], ValidatingWebhookConfiguration/w#webhooks[1].clientConfig.caBundle"
			if got := places(s.Bundles); got != want {
				t.Errorf("bundles\n%s, want\n%s", got, want)
			}
			c := s.Cluster
			if c.Versions.Cluster != "4.15.1" || c.Topology != "SingleReplica" || c.Platform != "None" || !c.Created.Equal(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)) {
				t.Errorf("cluster %+v", c)
			}
			if want := time.Date(2024, 2, 1, 10, 5, 0, 0, time.UTC); !s.Taken.Equal(want) {
				t.Errorf("taken %s, want %s", s.Taken, want)
			}
			if want := "hidden secrets " + path + ": 1 value in 1 Secret of 1 namespace were left out of the must-gather or replaced by their length: whether keys belong to their certificates, and what else stood there, is unknown"; reasons(s.Gaps) != want {
				t.Errorf("gaps %s", reasons(s.Gaps))
			}
			want = "must-gather objects 9: of 2024-02-01 10:05 UTC, by its timestamp file\n" +
				"files 0: 4 logs and other files; 2 files of kinds that certrot does not read; 1 archive in it, not opened\n" +
				"other secrets 0: a must-gather holds those of some namespaces (here 1), and of their values only certificates\n" +
				"nodes 0: a must-gather holds none of their files: what kubelets and static pods use is not in it"
			if diff := cmp.Diff(want, notes(s.Reads)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHiddenValuesAreUnknownNotEmpty(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, secret, gap string }{
		{"the certificate replaced by its length", secretYAML("a", "s", "kubernetes.io/tls", "tls.crt", b64("1704 bytes long"), "tls.key", b64("2 bytes long")), "2 values in 1 Secret of 1 namespace were left out of the must-gather or replaced by their length: whether keys belong to their certificates, and what else stood there, is unknown; of 1 of them the certificate itself"},
		{"replaced, and not base64", secretYAML("a", "s", "kubernetes.io/tls", "tls.crt", "1704 bytes long", "tls.key", "<removed>"), "of 1 of them the certificate itself"},
		{"data left out", "apiVersion: v1\nkind: Secret\nmetadata: {namespace: a, name: s}\ntype: kubernetes.io/tls\n", "of 1 of them the certificate itself"},
		{"a token", secretYAML("a", "s", "kubernetes.io/service-account-token", "token", b64("9 bytes long")), ""},
		{"a Secret of any type", secretYAML("a", "s", "Opaque", "kubeconfig", b64("9999 bytes long")), "1 value in 1 Secret"},
		{"a bundle of OpenShift's in a ConfigMap", configMapYAML("a", "kube-root-ca.crt", "1", "7 bytes long"), "1 value in 1 ConfigMap"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := readTarOf(t, "namespaces/a/core/secrets/s.yaml", c.secret)
			if len(s.Bundles) > 0 || (c.gap == "") != (len(s.Gaps) == 0) || !strings.Contains(reasons(s.Gaps), c.gap) {
				t.Errorf("bundles %s, gaps %s", places(s.Bundles), reasons(s.Gaps))
			}
		})
	}
	var many []string
	for i := range 300 {
		many = append(many, secretYAML(fmt.Sprintf("n%d", i%30), fmt.Sprintf("s%d", i), "kubernetes.io/tls", "tls.crt", b64(string(caPEM())), "tls.key", b64("1 bytes long")))
	}
	if s := readTarOf(t, "namespaces/a/core/secrets.yaml", list(many...)); len(s.Gaps) != 1 || !strings.Contains(s.Gaps[0].Reason, "300 values in 300 Secrets of 30 namespaces") || len(s.Bundles) != 300 {
		t.Errorf("many: %d bundles, gaps %s", len(s.Bundles), reasons(s.Gaps))
	}
	empty := readTarOf(t, "namespaces/a/core/secrets.yaml", list(secretYAML("a", "s", "kubernetes.io/tls", "tls.crt", "")))
	if places(empty.Bundles) != "Secret/a/s[tls.crt] empty" {
		t.Errorf("a certificate that was empty in the cluster is %q", places(empty.Bundles))
	}
}

func TestTheNewestCopyIsTaken(t *testing.T) {
	t.Parallel()
	const was, is = "2024-01-01 00:00:00 +0000 UTC\n", "2024-01-05 00:00:00 +0000 UTC\n"
	inOld, inNew := "m/a/namespaces/x/core/configmaps/c.yaml", "m/b/namespaces/x/core/configmaps/c.yaml"
	for _, c := range []struct {
		name  string
		files []string
		cert  bool
		note  string
	}{
		{"the same twice", []string{inOld, configMapYAML("x", "c", "7", string(caPEM())), "m/a/namespaces/x/core/configmaps.yaml", list(configMapYAML("x", "c", "7", string(caPEM())))}, true, ""},
		{"a newer resourceVersion in the same image", []string{inOld, configMapYAML("x", "c", "10", string(caPEM())), "m/a/namespaces/x/core/configmaps.yaml", list(configMapYAML("x", "c", "9", "x"))}, true, "1 object found more than once"},
		{"a newer must-gather comes first", []string{"m/b/timestamp", is, inNew, configMapYAML("x", "c", "7", string(caPEM())), "m/a/timestamp", was, inOld, configMapYAML("x", "c", "6", "x")}, true, "1 object found more than once"},
		{"a newer must-gather comes last", []string{"m/a/timestamp", was, inOld, configMapYAML("x", "c", "6", string(caPEM())), "m/b/timestamp", is, inNew, configMapYAML("x", "c", "7", "x")}, false, "1 object found more than once"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := readTarOf(t, c.files...)
			if (len(s.Bundles) == 1) != c.cert || len(s.Gaps) > 0 || s.Reads[0].Objects != 1 || !strings.Contains(s.Reads[0].Note, c.note) || c.note == "" && strings.Contains(s.Reads[0].Note, "once") {
				t.Errorf("bundles %s, reads %s, gaps %s", places(s.Bundles), notes(s.Reads), reasons(s.Gaps))
			}
		})
	}
}

func TestOtherClustersAreLeftOut(t *testing.T) {
	t.Parallel()
	version := "/cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml"
	s := readTarOf(t,
		"old/a/timestamp", "2024-01-01 00:00:00 +0000 UTC\n", "old/a"+version, clusterVersionYAML("one", "4.14.1"),
		"old/b/namespaces/x/core/configmaps/c.yaml", configMapYAML("x", "c", "1", string(caPEM())), // beside it
		"new/a/timestamp", "2024-02-01 00:00:00 +0000 UTC\n", "new/a"+version, clusterVersionYAML("two", "4.15.1"),
	)
	if len(s.Bundles) != 0 || s.Cluster.Versions.Cluster != "4.15.1" || len(s.Gaps) != 2 || !strings.Contains(reasons(s.Gaps), "is of cluster one, and newer is what is of cluster two") {
		t.Errorf("cluster %+v, bundles %s, gaps %s", s.Cluster, places(s.Bundles), reasons(s.Gaps))
	}
}

func TestWhenItWasTaken(t *testing.T) {
	t.Parallel()
	object := "m/a/namespaces/x/core/configmaps/c.yaml"
	for _, c := range []struct {
		name  string
		files []string
		want  string
		by    string
	}{
		{"its own timestamp before the one around it", []string{object, configMapYAML("x", "c", "7", "x"), "m/timestamp", "2024-01-09 00:00:00 +0000 UTC m=+1\n", "m/a/timestamp", "2024-01-01 00:00:00 +0000 UTC m=+1\n2024-01-01 00:07:00.123 -0300 -03 m=+1\n"}, "2024-01-01T03:07:00Z", "timestamp file"},
		{"a timestamp file that says nothing", []string{object, configMapYAML("x", "c", "7", "x"), "m/a/timestamp", "soon\n\n0001-01-01 00:00:00 +0000 UTC\n2999-01-01 00:00:00 +0000 UTC\n"}, "2023-11-14T22:13:20Z", "newest time of its files"},
		{"a ClusterOperator's condition", []string{object, configMapYAML("x", "c", "7", "x"), "m/a/cluster-scoped-resources/config.openshift.io/clusteroperators/x.yaml", "apiVersion: config.openshift.io/v1\nkind: ClusterOperator\nmetadata: {name: x, creationTimestamp: '2024-01-01T00:00:00Z'}\nstatus: {conditions: [{lastTransitionTime: '2024-03-01T00:00:00Z'}, {lastTransitionTime: '2024-02-01T00:00:00Z'}]}\n"}, "2024-03-01T00:00:00Z", "newest time in its objects"},
		{"nothing but the files", []string{object, configMapYAML("x", "c", "7", "x")}, "2023-11-14T22:13:20Z", "newest time of its files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := readTarOf(t, c.files...)
			if got := s.Taken.Format(time.RFC3339); got != c.want || !strings.Contains(s.Reads[0].Note, c.by) {
				t.Errorf("got %s, %s", got, s.Reads[0].Note)
			}
		})
	}
}

func TestPlaceOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"cluster-scoped-resources/core/nodes/n.yaml":              " core/nodes",
		"m/q/cluster-scoped-resources/config.openshift.io/x.yaml": "m/q config.openshift.io/x",
		"m/namespaces/a/core/secrets.yaml":                        "m core/secrets",
		"namespaces/a/core/secrets/s.json":                        " core/secrets",
		"namespaces/namespaces/core/secrets.yaml":                 " core/secrets",
		"x/namespaces/namespaces/core/secrets/namespaces.yaml":    "x core/secrets",
		"namespaces/a/a.yaml":                                     " core/namespaces",
		"namespaces/a/b.yaml":                                     "",
		"namespaces/a/pods/p/p.yaml":                              " pods/p",
		"namespaces/a/pods/p/c/c/logs/current.log":                "",
		"inspect.local.1/namespaces/a/core/configmaps.yml":        "inspect.local.1 core/configmaps",
		"secrets.yaml": "",
		"":             "",
		".yaml":        "",
		"cluster-scoped-resources/config.openshift.io/cluster.x/a.b.yaml": " config.openshift.io/cluster.x",
	} {
		at, ok := placeOf(name)
		if got := at.image + " " + at.resource; ok != (want != "") || ok && got != want {
			t.Errorf("%s: got %q, %v", name, got, ok)
		}
	}
}

func TestBrokenArchives(t *testing.T) {
	t.Parallel()
	files := slices.Clone(caseConfigMap)
	for i := range 30 { // what packs badly, so that a cut is somewhere in it
		files = append(files, fmt.Sprintf("mg/image/namespaces/a/core/configmaps/%d.yaml", i), configMapYAML("a", fmt.Sprint("c", i), "1", string(pkitest.NewCA(fmt.Sprint("ca ", i), time.Unix(1.7e9, 0), time.Unix(1.8e9, 0)).CertPEM)))
	}
	noise := make([]byte, 512<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise) // never fails
	plain := tarOf(t, append(files, "mg/image/journal.log", string(noise))...)
	for name, whole := range map[string][]byte{"tar": plain, "gzip": gzipped(t, plain), "xz": xzed(t, plain)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := func(data []byte) (inspect.Snapshot, error) {
				return File{Path: "-", Stdin: bytes.NewReader(data), Scanner: pki.NewScanner()}.Read()
			}
			all, err := read(whole)
			if err != nil || len(all.Gaps) > 0 || len(all.Bundles) != 31 {
				t.Fatalf("whole: %d bundles, gaps %s, %v", len(all.Bundles), reasons(all.Gaps), err)
			}
			end := len(whole)
			if name == "tar" {
				end -= 512 // its mark is twice as long as it has to be
			}
			for i := range 20 {
				cut := i * end / 20
				s, err := read(whole[:cut])
				if err == nil && len(s.Gaps) == 0 {
					t.Errorf("cut after %d of %d bytes: it looks whole, with %d bundles", cut, len(whole), len(s.Bundles))
				}
			}
			if s, err := read(whole[:end*9/10]); err != nil || len(s.Bundles) != 31 || !strings.Contains(reasons(s.Gaps), "breaks off after") {
				t.Errorf("cut near its end: %d bundles, gaps %s, %v", len(s.Bundles), reasons(s.Gaps), err)
			}
			if name == "tar" {
				return // which has no checksum of its content
			}
			for i := 1; i < 20; i++ {
				bad := bytes.Clone(whole)
				bad[i*len(whole)/20] ^= 0x55
				if s, err := read(bad); err == nil && len(s.Gaps) == 0 {
					t.Errorf("changed at %d of %d bytes, it looks whole", i*len(whole)/20, len(whole))
				}
			}
		})
	}
	t.Run("a second archive behind it", func(t *testing.T) {
		t.Parallel()
		s, err := File{Path: "-", Stdin: bytes.NewReader(append(bytes.Clone(plain), plain...)), Scanner: pki.NewScanner()}.Read()
		if err != nil || len(s.Bundles) != 31 || !strings.Contains(reasons(s.Gaps), "something follows its end") {
			t.Errorf("gaps %s, %v", reasons(s.Gaps), err)
		}
	})
}

func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ content, want string }{
		"no YAML":            {"a: [", "mapping values\\|did not find expected"},
		"an empty file":      {"", "it is empty"},
		"no object":          {"a: b\n", "no kind or no name"},
		"a list of anything": {"apiVersion: v1\nkind: List\nitems: [1, {}, {kind: ConfigMap, metadata: {name: x}}]\n", "2 of 3 objects can't be read"},
		"lists in lists":     {strings.Repeat("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[", 2000) + strings.Repeat("]}", 2000), "list in a list"},
		"NUL bytes":          {"\x00\x00\x00", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := append(slices.Clone(caseConfigMap), "mg/image/namespaces/b/core/configmaps.yaml", c.content)
			s := readTarOf(t, files...)
			if len(s.Bundles) != 1 || len(s.Gaps) != 1 || !strings.Contains(s.Gaps[0].Where, "namespaces/b/core/configmaps.yaml") {
				t.Errorf("bundles %s, gaps %s", places(s.Bundles), reasons(s.Gaps))
			}
			if !slices.ContainsFunc(strings.Split(c.want, "\\|"), func(w string) bool { return strings.Contains(reasons(s.Gaps), w) }) {
				t.Errorf("gaps %s", reasons(s.Gaps))
			}
		})
	}
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("namespaces/n%d/core/configmaps.yaml", i), "a: [")
	}
	if s := readTarOf(t, many...); len(s.Gaps) != 51 || !strings.Contains(s.Gaps[50].Reason, "950 more") {
		t.Errorf("a thousand bad files are %d gaps", len(s.Gaps))
	}
}

func TestOddEntries(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i, kind := range []byte{tar.TypeSymlink, tar.TypeLink, tar.TypeChar, tar.TypeBlock, tar.TypeFifo} {
		if err := w.WriteHeader(&tar.Header{Typeflag: kind, Name: fmt.Sprintf("namespaces/a/core/secrets/%d.yaml", i), Linkname: "/etc/passwd"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"../../../namespaces/b/core/configmaps/c.yaml", "/namespaces/c/core/configmaps/c.yaml", strings.Repeat("d/", 3000) + "namespaces/d/core/configmaps/c.yaml"} {
		content := configMapYAML(strings.Split(name[strings.Index(name, "namespaces/"):], "/")[1], "c", "1", string(caPEM()))
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := File{Path: "-", Stdin: &out, Scanner: pki.NewScanner()}.Read()
	if err != nil || places(s.Bundles) != "ConfigMap/b/c[ca.crt], ConfigMap/c/c[ca.crt]" || len(s.Gaps) != 5 || !strings.Contains(notes(s.Reads), "5 links and devices, not followed") {
		t.Errorf("bundles %s, reads %s, gaps %s, %v", places(s.Bundles), notes(s.Reads), reasons(s.Gaps), err)
	}
}

func TestWhatIsNoMustGather(t *testing.T) {
	t.Parallel()
	read := func(f File) string {
		f.Scanner = pki.NewScanner()
		_, err := f.Read()
		return fmt.Sprint(err)
	}
	stream := func(data []byte) File { return File{Path: "-", Stdin: bytes.NewReader(data)} }
	for name, c := range map[string]struct{ got, want string }{
		"an empty directory":          {read(File{Path: t.TempDir()}), "is a directory that holds no must-gather among its 0 files; expected what oc adm must-gather"},
		"a directory of other things": {read(File{Path: directoryOf(t, "a.pem", "x", "deploy/namespaces/a/apps/deployments/d.yaml", "a: b")}), "name"},
		"a directory of an archive":   {read(File{Path: directoryOf(t, "must-gather.tar.gz", "x")}), "archives in it (1) are not opened"},
		"a tar of other things":       {read(stream(tarOf(t, "a.pem", string(caPEM())))), "is a tar archive that holds no must-gather among its 1 file; expected"},
		"a tar that ends at once":     {read(stream(tarOf(t, append([]string{"mg/a.log", "log"}, caseConfigMap...)...)[:1500])), "the archive breaks off after 1 file: unexpected EOF"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s: %s", name, c.got)
		}
	}
}

func TestBoundsOfAMustGather(t *testing.T) {
	t.Parallel()
	whole := tarOf(t, append(slices.Clone(caseConfigMap), "mg/a.log", "", "mg/image/namespaces/b/core/configmaps.yaml", list())...)
	for want, b := range map[string]bounds{
		"more than 2 files": {files: 2, objects: 1 << 20, gaps: 9},
		"1 file not read":   {files: 9, objects: 1, gaps: 9},
	} {
		s, err := File{Path: "m", Scanner: pki.NewScanner()}.mustGatherTar(bytes.NewReader(whole), nil, b)
		if err != nil || len(s.Bundles) != 1 || !strings.Contains(reasons(s.Gaps), want) {
			t.Errorf("bundles %s, gaps %s, %v", places(s.Bundles), reasons(s.Gaps), err)
		}
	}
}

func TestAHundredThousandFiles(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	go func() { // a tar is not kept in memory, neither here nor there
		out := tar.NewWriter(w)
		for i := range 100_000 {
			name, content := fmt.Sprintf("m/namespaces/n%d/pods/p/%d.log", i%100, i), "a line\n"
			if i%20 == 0 {
				name, content = fmt.Sprintf("m/namespaces/n%d/core/configmaps/%d.yaml", i%100, i), configMapYAML(fmt.Sprint("n", i%100), fmt.Sprint("c", i), "1", "x")
			}
			if out.WriteHeader(&tar.Header{Name: name, Size: int64(len(content))}) != nil {
				return
			}
			_, _ = io.WriteString(out, content)
		}
		_ = w.CloseWithError(out.Close())
	}()
	s, err := File{Path: "-", Stdin: r, Scanner: pki.NewScanner()}.Read()
	if err != nil || len(s.Gaps) > 0 || s.Reads[0].Objects != 5000 || !strings.Contains(notes(s.Reads), "95000 logs and other files") {
		t.Errorf("reads %s, gaps %s, %v", notes(s.Reads), reasons(s.Gaps), err)
	}
}

// A must-gather of a real cluster gives what was counted in it by other means.
func TestRealMustGather(t *testing.T) {
	t.Parallel()
	sample := os.Getenv("CERTROT_MUST_GATHER")
	if sample == "" {
		t.Skip("data file absent: must-gather-aws.tar.xz: set CERTROT_MUST_GATHER to its path (see docs/must-gather.md)")
	}
	scanner := pki.NewScanner()
	s, err := File{Path: sample, Scanner: scanner}.Read()
	if err != nil {
		t.Fatal(err)
	}
	s.Sort()
	if certs, _ := scanner.Stats(); certs != 254 || len(s.Requests) != 13 || s.Cluster.Versions.Cluster != "4.8.0-0.nightly-2021-07-31-065602" || len(s.Cluster.Versions.Operators) != 31 || s.Cluster.Platform != "AWS" {
		t.Errorf("%d certificates, %d requests, cluster %+v", certs, len(s.Requests), s.Cluster)
	}
	if got := s.Taken.Format(time.RFC3339); got != "2021-08-03T10:13:47Z" || len(s.Gaps) != 1 || s.Gaps[0].What != "hidden secrets" {
		t.Errorf("taken %s, gaps %s", got, reasons(s.Gaps))
	}
	found := map[[32]byte]bool{}
	for _, b := range s.Bundles {
		for _, c := range b.Content.Certs {
			found[c.Fingerprint] = true
		}
	}
	oracle := everyCertificate(t, sample)
	for sum := range oracle {
		if !found[sum] {
			t.Errorf("%x is in the archive, and was not found", sum)
		}
	}
	for sum := range found {
		if !oracle[sum] {
			t.Errorf("%x was found, and is not in the archive", sum)
		}
	}
	for _, f := range report.NewInventory(context.Background(), inspect.NewFacts(s, s.Taken, 0), report.Filter{}).Findings {
		if f.Severity != assess.Info {
			t.Errorf("a healthy cluster: %s %s: %s", f.Severity, f.ID, f.Reason)
		}
	}
}

// everyCertificate is the sha256 of every certificate in any file of a tar.xz, searched as
// simply as can be: by patterns, whatever the file.
func everyCertificate(t *testing.T, sample string) map[[32]byte]bool {
	t.Helper()
	file, err := os.Open(sample)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unpacked, err := xz.NewReader(bufio.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	out := map[[32]byte]bool{}
	archive := tar.NewReader(unpacked)
	for {
		_, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		searchEverywhere(text, out, 4)
	}
}

var (
	armored = regexp.MustCompile(`(?s)-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----`)
	between = strings.NewReplacer(`\\n`, "", `\n`, "", `\r`, "", `\/`, "/", `\u003d`, "=", `\u002b`, "+", " ", "", "\n", "", "\r", "", "\t", "")
)

func searchEverywhere(text []byte, out map[[32]byte]bool, depth int) {
	if depth == 0 {
		return
	}
	if r, err := gzip.NewReader(bytes.NewReader(text)); err == nil {
		if inner, err := io.ReadAll(r); err == nil {
			searchEverywhere(inner, out, depth-1)
		}
	}
	for _, m := range armored.FindAllSubmatch(text, -1) {
		if der, err := base64.StdEncoding.DecodeString(between.Replace(string(m[1]))); err == nil && len(der) > 0 {
			out[sha256.Sum256(der)] = true
		}
	}
	for _, marker := range []string{"-----BEGIN%20CERTIFICATE-----", "-----BEGIN+CERTIFICATE-----"} {
		for _, m := range runs(text, marker, "%.~_-") {
			if plain, err := url.PathUnescape(string(m)); err == nil {
				searchEverywhere([]byte(plain), out, depth-1)
			}
		}
	}
	for _, marker := range []string{"LS0tLS1CRUdJTi", "H4sI"} { // -----BEGIN, and gzip's first bytes
		for _, m := range runs(text, marker, "") {
			if inner, err := base64.StdEncoding.DecodeString(string(m)); err == nil {
				searchEverywhere(inner, out, depth-1)
			}
		}
	}
}

// runs are the longest pieces of text that begin with a marker and go on with the
// characters of base64, and more.
func runs(text []byte, marker, more string) (found [][]byte) {
	for {
		i := bytes.Index(text, []byte(marker))
		if i < 0 {
			return found
		}
		text = text[i:]
		end := len(marker)
		for end < len(text) && (text[end] >= 'A' && text[end] <= 'Z' || text[end] >= 'a' && text[end] <= 'z' || text[end] >= '0' && text[end] <= '9' || strings.IndexByte("+/="+more, text[end]) >= 0) {
			end++
		}
		found, text = append(found, text[:end]), text[end:]
	}
}
