package connect

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// TestFilesOfTwoClusters: where a cluster gave itself no ID, its server tells it from others,
// unless both names may be of one cluster.
func TestFilesOfTwoClusters(t *testing.T) {
	t.Parallel()
	at := func(server string) inspect.Cluster { return inspect.Cluster{Server: server} }
	for title, c := range map[string]struct {
		a, b    inspect.Cluster
		refused bool
	}{
		"two IDs":                        {inspect.Cluster{ID: "1111"}, inspect.Cluster{ID: "2222"}, true},
		"one ID by two names":            {inspect.Cluster{ID: "1111", Server: "https://a.example.com:6443"}, inspect.Cluster{ID: "1111", Server: "https://b.example.com:6443"}, false},
		"two servers":                    {at("https://k8s.one.example.com:6443"), at("https://k8s.two.example.com:6443"), true},
		"two servers, and one has an ID": {inspect.Cluster{ID: "1111", Server: "https://api.one.example.com:6443"}, at("https://api.two.example.com:6443"), true},
		"api of two domains":             {at("https://api.one.example.com:6443"), at("https://api-int.two.example.com:6443"), true},
		"a domain and its api":           {at("https://one.example.com:6443"), at("https://api.one.example.com:6443"), true},
		"one server":                     {at("https://k8s.example.com:6443"), at("https://k8s.example.com:6443"), false},
		"written in another way":         {at(" https://K8s.example.com./"), at("k8s.example.com:443"), false},
		"another port":                   {at("https://k8s.example.com:6443"), at("https://k8s.example.com"), false},
		"another path of a proxy":        {at("https://proxy.example.com/k8s/clusters/c-1"), at("https://proxy.example.com/k8s/clusters/c-2"), true},
		"api and api-int":                {at("https://api.one.example.com:6443"), at("https://api-int.one.example.com:6443"), false},
		"localhost":                      {at("https://api.one.example.com:6443"), at("https://localhost:6443"), false},
		"an IP":                          {at("https://10.0.0.1:6443"), at("https://k8s.one.example.com:6443"), false},
		"two IPs":                        {at("https://10.0.0.1:6443"), at("https://[fd00::1]:6443"), false},
		"from a pod":                     {at("https://kubernetes.default.svc"), at("https://k8s.one.example.com:6443"), false},
		"the cluster names the other":    {inspect.Cluster{Server: "https://k8s.one.example.com:6443", External: "https://lb.example.com:443"}, at("https://lb.example.com"), false},
		"one server is not known":        {at("https://k8s.one.example.com:6443"), at(""), false},
		"a server that is no URL":        {at("https://k8s.one.example.com:6443"), at("https://[k8s"), true},
	} {
		var paths []string
		for _, cluster := range []inspect.Cluster{c.a, c.b} {
			var file bytes.Buffer
			if err := collect.WriteSnapshot(&file, inspect.Snapshot{Cluster: cluster, Taken: time.Unix(1_700_000_000, 0).UTC()}); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, filepath.Join(t.TempDir(), "f.certrot"))
			if err := os.WriteFile(paths[len(paths)-1], file.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}}
			_, err := Reading{App: cli.App{ProgramName: "certrot", Streams: streams}, From: paths}.Read(t.Context())
			if got := err != nil && strings.Contains(err.Error(), " is of cluster "); got != c.refused || err != nil && !got {
				t.Errorf("%s: %v", title, err)
			}
			paths[0], paths[1] = paths[1], paths[0]
		}
	}
}

// TestOneClusterForSure: an ID tells, or else a server that is not on this machine.
func TestOneClusterForSure(t *testing.T) {
	t.Parallel()
	at := func(server string) inspect.Cluster { return inspect.Cluster{Server: server} }
	for title, c := range map[string]struct {
		a, b inspect.Cluster
		same bool
	}{
		"one ID by two names":           {inspect.Cluster{ID: "1111", Server: "https://a.example.com:6443"}, inspect.Cluster{ID: "1111", Server: "https://b.example.com:6443"}, true},
		"two IDs by one tunnel":         {inspect.Cluster{ID: "1111", Server: "https://a.example.com:6443"}, inspect.Cluster{ID: "2222", Server: "https://a.example.com:6443"}, false},
		"one server":                    {at("https://k8s.example.com:6443"), at("https://k8s.example.com:6443"), true},
		"one server, and one has an ID": {inspect.Cluster{ID: "1111", Server: "https://k8s.example.com:6443"}, at("https://k8s.example.com:6443"), true},
		"one IP":                        {at("https://192.0.2.1:6443"), at("https://192.0.2.1:6443"), true},
		"this machine":                  {at("https://127.0.0.1:6443"), at("https://127.0.0.1:6443"), false},
		"this machine by name":          {at("https://localhost:6443"), at("https://localhost:6443"), false},
		"from a pod":                    {at("https://kubernetes.default.svc"), at("https://kubernetes.default.svc"), false},
		"another port":                  {at("https://k8s.example.com:6443"), at("https://k8s.example.com:6444"), false},
		"no server":                     {at(""), at(""), false},
	} {
		if got := SameCluster(c.a, c.b); got != c.same || got && OtherCluster(c.a, c.b) {
			t.Errorf("%s: %v", title, got)
		}
	}
}
