package collect

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// network is where the servers of a cluster listen, by the addresses that they
// have there. No one answers elsewhere.
type network map[string]string

func (n network) dial(ctx context.Context, kind, addr string) (net.Conn, error) {
	to, ok := n[addr]
	if !ok {
		return nil, errors.New("connection refused")
	}
	return new(net.Dialer).DialContext(ctx, kind, to)
}

// byName listens with one certificate for each name, the first one for whoever asks
// for another, and returns its address and the certificates.
func byName(t *testing.T, clients tls.ClientAuthType, names ...string) (address string, leaves map[string]pki.Fingerprint) {
	t.Helper()
	ca := pkitest.NewCA("ca", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	config := &tls.Config{ClientAuth: clients, MinVersion: tls.VersionTLS12}
	leaves = map[string]pki.Fingerprint{}
	for _, name := range names {
		p := ca.Issue(name, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), pkitest.DNS(name))
		pair, err := tls.X509KeyPair(p.CertPEM, p.KeyPEM)
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = append(config.Certificates, pair)
		leaves[name] = pki.FingerprintOf(p.Cert.Raw)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = conn.(*tls.Conn).Handshake() // a client that ends it has seen enough
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String(), leaves
}

// readOf is a snapshot of a cluster in which these nodes were read.
func readOf(nodes ...string) *inspect.Snapshot {
	s := &inspect.Snapshot{Cluster: inspect.Cluster{
		Versions: catalog.Versions{Cluster: "4.15.3"}, Internal: "https://api-int.example.com:6443", External: "https://api.example.com:6443",
	}}
	for _, n := range nodes {
		s.Nodes = append(s.Nodes, inspect.Node{Name: n, Via: "ssh"})
	}
	return s
}

func clusterNodes() []NodeObject {
	return []NodeObject{{Name: "master-0", internal: "10.0.0.5", Master: true}, {Name: "master-1", internal: "10.0.0.6", Master: true}, {Name: "worker-0", internal: "fd00::7"}}
}

func opens(dial func(context.Context, string, string) (net.Conn, error), asked *[]string) func(context.Context, string) (OnNode, error) {
	return func(_ context.Context, node string) (OnNode, error) {
		*asked = append(*asked, node)
		return folder{dial: dial}, nil
	}
}

// byAddress are the answers of one server, by name.
func byAddress(found []inspect.Served, address string) map[string]inspect.Served {
	out := map[string]inspect.Served{}
	for _, v := range found {
		if v.Address == address {
			out[v.Name] = v
		}
	}
	return out
}

func TestEachServerIsAskedForEachName(t *testing.T) {
	t.Parallel()
	names := []string{"kubernetes.default.svc", "api-int.example.com", "api.example.com", "localhost", "localhost-recovery"}
	api, leaves := byName(t, tls.RequestClientCert, names...)
	kubelet, its := byName(t, tls.RequireAnyClientCert, "worker-0")
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	lan := network{"10.0.0.5:6443": api, "[fd00::7]:10250": kubelet, "10.0.0.5:22623": strings.TrimPrefix(plain.URL, "http://")}
	var asked []string
	told := 0
	h := Handshakes{Nodes: clusterNodes(), Open: opens(lan.dial, &asked), Observe: func(string, int) { told++ }}
	found := h.Collect(t.Context(), readOf("worker-0", "master-0"))

	master := byAddress(found, "10.0.0.5:6443")
	for _, name := range names {
		v := master[name]
		if len(v.Chain) == 0 || v.Chain[0].Fingerprint != leaves[name] || v.Of != "master-0" || v.Node != "master-0" || v.Server != "kube-apiserver" {
			t.Errorf("for %q: %+v", name, v)
		}
	}
	if v := byAddress(found, "[fd00::7]:10250")[""]; len(v.Chain) == 0 || v.Chain[0].Fingerprint != its["worker-0"] || v.Node != "master-0" || v.Of != "worker-0" {
		t.Errorf("a kubelet wants certificates, and shows its own: %+v", v)
	}
	for address, why := range map[string]string{
		"10.0.0.6:6443":  "connection refused",
		"10.0.0.5:22623": "first record does not look like a TLS handshake",
		"10.0.0.6:10250": "connection refused",
	} {
		silent := byAddress(found, address)
		if len(silent) != 1 {
			t.Fatalf("%s: %+v", address, silent)
		}
		for _, v := range silent {
			if len(v.Chain) > 0 || !strings.Contains(v.Problem, why) {
				t.Errorf("%s: %+v", address, v)
			}
		}
	}
	if want := []string{"master-0", "worker-0"}; !slices.Equal(asked, want) {
		t.Errorf("asked from %v, want %v: the second for those that did not answer", asked, want)
	}
	if told != 2 {
		t.Errorf("it was told %d times of servers that answered", told)
	}
	if (&inspect.Snapshot{Served: found}).Served[0].Server == "" {
		t.Error("taken for the server of a kubeconfig")
	}
}

// TestFromWhere: kubelets are asked from masters, else each from its own node.
func TestFromWhere(t *testing.T) {
	t.Parallel()
	api, _ := byName(t, tls.NoClientCert, "any")
	lan := network{"10.0.0.5:6443": api, "10.0.0.6:6443": api, "10.0.0.5:22623": api, "10.0.0.6:22623": api, "10.0.0.5:10250": api, "10.0.0.6:10250": api, "[fd00::7]:10250": api}
	for name, c := range map[string]struct {
		read    []string
		kubelet map[string]string // from where, by node
	}{
		"a master was read": {[]string{"master-1", "worker-0"}, map[string]string{"master-0": "master-1", "master-1": "master-1", "worker-0": "master-1"}},
		"no master was":     {[]string{"worker-0"}, map[string]string{"master-0": "", "master-1": "", "worker-0": "worker-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			found := Handshakes{Nodes: clusterNodes(), Open: opens(lan.dial, &asked)}.Collect(t.Context(), readOf(c.read...))
			masters := 0
			for _, v := range found {
				switch {
				case v.Server != "kubelet":
					masters++
				case v.Node != c.kubelet[v.Of] || (v.Node == "") != (v.Problem != ""):
					t.Errorf("%+v", v)
				}
			}
			if masters != 2*5+2 {
				t.Errorf("masters showed %d", masters)
			}
		})
	}
	var asked []string
	if found := (Handshakes{Nodes: clusterNodes(), Open: opens(lan.dial, &asked)}).Collect(t.Context(), readOf()); len(found)+len(asked) > 0 {
		t.Errorf("nobody was read: %+v from %v", found, asked)
	}
	unversioned := readOf("master-0")
	unversioned.Cluster.Versions = catalog.Versions{}
	if found := (Handshakes{Nodes: clusterNodes(), Open: opens(lan.dial, &asked)}).Collect(t.Context(), unversioned); len(found) > 0 {
		t.Errorf("of a cluster that is not known: %+v", found)
	}
}

// TestWhoNeverAnswers ends, and says so.
func TestWhoNeverAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mute := func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() { _, _ = theirs.Read(make([]byte, 4096)) }()
			t.Cleanup(func() { _ = theirs.Close() })
			return ours, nil
		}
		var asked []string
		begun := time.Now()
		found := Handshakes{Nodes: clusterNodes(), Open: opens(mute, &asked)}.Collect(t.Context(), readOf("master-0", "master-1", "worker-0"))
		if took := time.Since(begun); took > asksFrom*askTime {
			t.Errorf("it took %s", took)
		}
		if len(found) != 2+2+3 {
			t.Errorf("%d are known not to answer", len(found))
		}
		for _, v := range found {
			if !strings.Contains(v.Problem, "no handshake within 5s") {
				t.Errorf("%+v", v)
			}
		}
	})
	asked := errors.New("ssh: no route to host")
	found := Handshakes{Nodes: clusterNodes(), Open: func(context.Context, string) (OnNode, error) { return nil, asked }}.Collect(t.Context(), readOf("master-0"))
	if len(found) != 7 || found[0].Problem != asked.Error() {
		t.Errorf("%+v", found)
	}
}

func TestFromHere(t *testing.T) {
	t.Parallel()
	api, leaves := byName(t, tls.NoClientCert, "api.example.com", "api-int.example.com")
	lan := folder{dial: network{"api.example.com:6443": api}.dial}
	cluster := readOf().Cluster
	found := ServedToUser(t.Context(), lan, inspect.KubeconfigCluster{Server: "https://api.example.com:6443"}, cluster)
	if len(found) != 2 {
		t.Fatalf("%+v", found)
	}
	for _, v := range found {
		if len(v.Chain) == 0 || v.Chain[0].Fingerprint != leaves[v.Name] || v.Server != catalog.ListenerUserKubeconfig || v.Node != "" {
			t.Errorf("%+v", v)
		}
	}
	if found = ServedToUser(t.Context(), lan, inspect.KubeconfigCluster{Server: "https://elsewhere:6443"}, cluster); len(found) != 2 || found[0].Problem != "connection refused" {
		t.Errorf("%+v", found)
	}
	if found = ServedToUser(t.Context(), lan, inspect.KubeconfigCluster{Server: "http://localhost:8080"}, cluster); len(found) > 0 {
		t.Errorf("without TLS: %+v", found)
	}
}

// TestAControlPlaneNodeIsAskedFromTwoWorkers where none of its kind was read: one worker may answer in its place.
// A node without a master's label is not believed before those that have it.
func TestAControlPlaneNodeIsAskedFromTwoWorkers(t *testing.T) {
	t.Parallel()
	api, _ := byName(t, tls.NoClientCert, "any")
	lan := network{"10.0.0.5:6443": api, "10.0.0.6:6443": api}
	nodes := clusterNodes()
	nodes = append(nodes, NodeObject{Name: "a-worker", Master: true, Role: catalog.RoleWorker})
	for want, read := range map[string][]string{"a-worker worker-0": {"a-worker", "worker-0"}, "master-1": {"a-worker", "worker-0", "master-1"}, "worker-0": {"worker-0"}} {
		var asked []string
		from := map[string]bool{}
		for _, v := range (Handshakes{Nodes: nodes, Twice: true, Open: opens(lan.dial, &asked)}).Collect(t.Context(), readOf(read...)) {
			if v.Of == "master-0" && v.Server == catalog.ListenerAPIServer && len(v.Chain) > 0 {
				from[v.Node] = true
			}
		}
		if got := strings.Join(slices.Sorted(maps.Keys(from)), " "); got != want {
			t.Errorf("%v were read, and it was asked from %s, want %s", read, got, want)
		}
	}
}
