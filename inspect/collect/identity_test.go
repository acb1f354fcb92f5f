package collect

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// The objects that tell which OpenShift it is, as lists of the API.
const (
	clusterVersions = `{"apiVersion":"config.openshift.io/v1","kind":"ClusterVersionList","metadata":{},"items":[{"metadata":{"name":"version","creationTimestamp":"2022-01-01T00:10:00Z"},
		"status":{"desired":{"version":"4.16.2"},"history":[{"state":"Partial","version":"4.16.2"},{"state":"Completed","version":"4.15.9"},{"state":"Completed","version":"4.6.18"}]}}]}`
	clusterOperators = `{"apiVersion":"config.openshift.io/v1","kind":"ClusterOperatorList","metadata":{},"items":[
		{"metadata":{"name":"etcd"},"status":{"versions":[{"name":"raw-internal","version":"1"},{"name":"operator","version":"4.16.2"}]}},{"metadata":{"name":"dns"}}]}`
	infrastructures = `{"apiVersion":"config.openshift.io/v1","kind":"InfrastructureList","metadata":{},"items":[{"metadata":{"name":"cluster"},
		"status":{"controlPlaneTopology":"HighlyAvailable","platformStatus":{"type":"BareMetal","baremetal":{"apiServerInternalIPs":["192.0.2.5"]}}}}]}`
	kubeSystem = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system","creationTimestamp":"2022-01-01T00:00:00Z"}}`
)

func wholeIdentity() inspect.Cluster {
	return inspect.Cluster{
		Versions: catalog.Versions{Cluster: "4.15.9", Operators: map[string]string{"etcd": "4.16.2"}},
		Topology: "HighlyAvailable", Platform: "BareMetal", OwnAddresses: catalog.Yes, Created: time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC), InitialVersion: "4.6.18",
	}
}

// identityOf reads the identity of a server that forbids some resources.
func identityOf(t *testing.T, forbidden ...string) inspect.Snapshot {
	t.Helper()
	paths := map[string]string{
		"/version": `{"gitVersion":"v1.29.6"}`, "/api/v1/namespaces/kube-system": kubeSystem, configV1: `{"kind":"APIResourceList"}`,
		configV1 + "clusterversions": clusterVersions, configV1 + "clusteroperators": clusterOperators, configV1 + "infrastructures": infrastructures,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, f := range forbidden {
			if strings.HasSuffix(r.URL.Path, "/"+f) {
				refuse(w, r, http.StatusForbidden, metav1.StatusReasonForbidden, "")
				return
			}
		}
		body, ok := paths[r.URL.Path]
		if !ok {
			body, ok = paths[r.URL.Path+"/"]
		}
		if !ok {
			refuse(w, r, http.StatusNotFound, metav1.StatusReasonNotFound, "")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	client, err := NewREST(&rest.Config{Host: server.URL, QPS: -1, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return (&Cluster{REST: client, Scanner: pki.NewScanner()}).Identity("https://api", "admin").Collect(t.Context())
}

func TestIdentityOverTheAPI(t *testing.T) {
	t.Parallel()
	want := wholeIdentity()
	want.Server, want.Context, want.Versions.Kubernetes = "https://api", "admin", "v1.29.6"
	s := identityOf(t)
	if diff := cmp.Diff(want, s.Cluster); diff != "" || len(s.Gaps)+len(s.Reads) > 0 {
		t.Errorf("gaps %v, reads %v, (-want +got):\n%s", s.Gaps, s.Reads, diff)
	}
}

// Most users may not list them; nothing that they asked for is unread for that.
func TestForbiddenIdentityIsSaidAndNoGap(t *testing.T) {
	t.Parallel()
	for resource, says := range map[string]string{
		"clusterversions": "version were not applied", "clusteroperators": "by the cluster's version", "infrastructures": "platform and topology",
	} {
		s := identityOf(t, resource)
		if len(s.Gaps) > 0 || len(s.Reads) != 1 {
			t.Fatalf("%s: gaps %+v, reads %+v, want one read", resource, s.Gaps, s.Reads)
		}
		if r := s.Reads[0]; r.What != resource || !r.Skipped || !strings.Contains(r.Note, says) || !strings.Contains(r.Note, "cluster-reader") {
			t.Errorf("%s: %+v", resource, r)
		}
	}
	if s := identityOf(t, "clusterversions"); s.Cluster.Versions.NotOpenShift || s.Cluster.Versions.Cluster != "" {
		t.Errorf("the version is %+v, want unknown", s.Cluster.Versions)
	}
}

// What files tell is what the API tells, however the objects are spread over
// them; only /version is no object.
func TestIdentityFromFiles(t *testing.T) {
	t.Parallel()
	yamls := "apiVersion: v1\nkind: List\nitems:\n- " + kubeSystem + "\n---\n" + clusterOperators + "\n---\n" + infrastructures + "\n---\n" + clusterVersions + "\n"
	for name, files := range map[string][]string{
		"one file of each":             {clusterVersions, clusterOperators, infrastructures, kubeSystem},
		"in another order":             {kubeSystem, infrastructures, clusterOperators, clusterVersions},
		"one file of YAML":             {yamls},
		"beside objects of other apis": {clusterVersions, `{"apiVersion":"infrastructure.example.com/v1","kind":"Infrastructure","metadata":{"name":"x"},"status":{"controlPlaneTopology":"odd"}}`, clusterOperators, infrastructures, kubeSystem},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var parts []inspect.Snapshot
			for i, text := range files {
				path := filepath.Join(t.TempDir(), string(rune('a'+i)))
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				s, err := File{Path: path, Scanner: pki.NewScanner()}.Read()
				if err != nil || len(s.Gaps) > 0 {
					t.Fatalf("%v, gaps %+v", err, s.Gaps)
				}
				parts = append(parts, s)
			}
			if diff := cmp.Diff(wholeIdentity(), inspect.Merge(parts...).Cluster); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoPasswordOfTheClustersURLsIsKept: those of Infrastructure, as the API serves them and
// as an older snapshot has them.
func TestNoPasswordOfTheClustersURLsIsKept(t *testing.T) {
	t.Parallel()
	var i infrastructure
	if err := json.Unmarshal([]byte(`{"status":{"apiServerInternalURI":"https://u:SECRET@h:6443/?token=SECRET","apiServerURL":"https://u:SECRET@x:6443#SECRET"}}`), &i); err != nil {
		t.Fatal(err)
	}
	var c inspect.Cluster
	i.setOn(&c)
	if c.Internal != "https://h:6443/" || c.External != "https://x:6443" {
		t.Errorf("%q, %q", c.Internal, c.External)
	}
	s, err := unpackSnapshot(&snapshotFile{Cluster: fileCluster{Context: "https://u:SECRET@h:6443", Internal: "https://u:SECRET@h:6443/?token=SECRET", External: "https://u:SECRET@x:6443"}})
	if err != nil || s.Cluster.Context != "https://h:6443" || s.Cluster.Internal != "https://h:6443/" || s.Cluster.External != "https://x:6443" {
		t.Errorf("%+v, %v", s.Cluster, err)
	}
}
