package collect

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
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
