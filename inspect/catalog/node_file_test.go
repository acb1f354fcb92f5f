package catalog

import (
	"strings"
	"testing"
)

// TestWhoWritesAFileOfNodes: by the version, and what comes of it.
func TestWhoWritesAFileOfNodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, version, writer, doc string }{
		{"/etc/kubernetes/ca.crt", "4.17.1", "machine-config-daemon", "machine config server"},
		{"/etc/kubernetes/ca.crt", "4.18.1", noComponent, "deletes it"},
		{"/etc/docker/certs.d/*/ca.crt", "4.13.1", "node-ca", "registry"},
		{"/etc/docker/certs.d/*/ca.crt", "4.14.1", "machine-config-daemon, and each minute image-registry-operator's DaemonSet node-ca", "registry"},
		{"/etc/docker/certs.d/*/ca.crt", "4.22.1", "node-ca", "registry"},
	} {
		var got []Place
		for _, p := range nodeKubeletPlaces() {
			if p.Name == c.path && p.In.Holds(Versions{Cluster: c.version}) == Yes {
				got = append(got, p)
			}
		}
		if len(got) != 1 || !strings.Contains(got[0].Writer, c.writer) || !strings.Contains(got[0].Doc, c.doc) {
			t.Errorf("%s in %s: want %q by %q, got %+v", c.path, c.version, c.doc, c.writer, got)
		}
	}
}

// A bundle that becomes a file on nodes from a version on says which.
func TestWhatBecomesTheKubeletsCA(t *testing.T) {
	place, ok := Lookup(ConfigMap, "openshift-config-managed", "kube-apiserver-client-ca", "ca-bundle.crt", Versions{Cluster: "4.12.3"})
	if !ok {
		t.Fatal("no row")
	}
	for _, c := range NodeCopies() {
		if c.Object == place.Ref && c.File == "/etc/kubernetes/kubelet-ca.crt" && !strings.Contains(place.Doc, "nodes of "+c.In.From.String()+" and later it becomes kubelet-ca.crt") {
			t.Errorf("copied in %s: %s", c.In, place.Doc)
		}
	}
}
