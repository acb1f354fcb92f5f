package plugin

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/kubeconfigtest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// liveAPI is an API server, as far as objects are read from it: what is at which path,
// as JSON. What it does not have it does not serve.
type liveAPI map[string]string

// list is an answer with these objects.
func list(items ...string) string {
	return `{"kind":"List","metadata":{},"items":[` + strings.Join(items, ",") + `]}`
}

// ServeHTTP answers as an API server does.
func (a liveAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	text, ok := a[r.URL.Path]
	switch {
	case r.URL.Path == "/version":
		text = `{"gitVersion":"v1.28.7"}`
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		text = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
	}
	_, _ = io.WriteString(w, text)
}

// connect gets in by a kubeconfig, as everybody does.
func (a liveAPI) connect(t *testing.T) *connection {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: \"" + server.URL + "\"}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig = &file
	conn, err := connect(t.Context(), App{}, flags, pki.NewScanner(), toRead)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// settledAPI is a cluster of OpenShift with a master and a worker, in which nothing is
// under way.
func settledAPI() liveAPI {
	return liveAPI{
		"/api/v1/nodes": list(`{"metadata":{"name":"master-0","labels":{"node-role.kubernetes.io/master":""}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
			`{"metadata":{"name":"worker-0","labels":{"node-role.kubernetes.io/worker":""}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`),
		"/apis/config.openshift.io/v1/clusterversions":                  list(`{"metadata":{"name":"version"},"status":{"desired":{"version":"4.15.1"},"history":[{"state":"Completed","version":"4.15.1"}],"conditions":[{"type":"Progressing","status":"False"}]}}`),
		"/apis/operator.openshift.io/v1/etcds":                          list(`{"metadata":{"name":"cluster"},"status":{"latestAvailableRevision":8,"nodeStatuses":[{"nodeName":"master-0","currentRevision":8}],"conditions":[{"type":"EtcdMembersDegraded","status":"False"}]}}`),
		"/api/v1/namespaces/openshift-etcd/pods":                        list(),
		"/api/v1/namespaces/openshift-kube-apiserver/pods":              list(),
		"/api/v1/namespaces/openshift-kube-controller-manager/pods":     list(),
		"/api/v1/namespaces/openshift-kube-scheduler/pods":              list(),
		"/apis/machineconfiguration.openshift.io/v1/machineconfigpools": list(),
		"/apis/certificates.k8s.io/v1/certificatesigningrequests":       list(),
		"/apis/config.openshift.io/v1/clusteroperators":                 list(),
		"/apis/config.openshift.io/v1/infrastructures/cluster":          `{"status":{"controlPlaneTopology":"HighlyAvailable"}}`,
		"/apis/config.openshift.io/v1/clusterversions/version":          `{"metadata":{"name":"version"},"status":{"desired":{"version":"4.15.1"},"history":[{"state":"Completed","version":"4.15.1"}]}}`,
		"/api/v1/namespaces/openshift-config-managed/configmaps":        list(),
		"/api/v1/namespaces/openshift-kube-apiserver/configmaps":        list(),
		"/api/v1/namespaces/openshift-kube-apiserver/secrets":           list(),
		"/apis/apiregistration.k8s.io/v1/apiservices":                   list(),
		"/apis/machine.openshift.io/v1beta1/machinehealthchecks":        list(),
		"/apis/operator.openshift.io/v1/kubeapiservers":                 list(),
		"/apis/operator.openshift.io/v1/kubecontrollermanagers":         list(),
		"/apis/operator.openshift.io/v1/kubeschedulers":                 list(),
		"/apis/remediation.medik8s.io/v1alpha1/nodehealthchecks":        list(),
		"/apis/autoscaling.openshift.io/v1/clusterautoscalers":          list(),
		"/apis/machine.openshift.io/v1/controlplanemachinesets":         list(),
	}
}

// with is the same with one answer more, or another one.
func (a liveAPI) with(path, text string) liveAPI {
	all := liveAPI{path: text}
	for p, was := range a {
		if p != path {
			all[p] = was
		}
	}
	return all
}

const installerPods = "/api/v1/namespaces/openshift-kube-controller-manager/pods"

// anInstaller is a pod that puts a revision on the master.
func anInstaller() string {
	return list(`{"metadata":{"name":"installer-8-master-0","namespace":"openshift-kube-controller-manager"},"spec":{"nodeName":"master-0"},"status":{"phase":"Pending"}}`)
}

// liveNode is a node's file system without the node: what its programs do there is done.
type liveNode struct{ name, root string }

// newLiveNode makes one with busybox, and these programs of this machine.
func newLiveNode(t *testing.T, name string, programs ...string) liveNode {
	t.Helper()
	absent := ""
	if os.Geteuid() != 0 {
		absent = "needs root: commands of a node run in a chroot"
	}
	n := liveNode{name, t.TempDir()}
	for _, program := range append([]string{"busybox"}, programs...) {
		bin, err := exec.LookPath(program)
		if err != nil {
			absent = program + " is not installed"
			break
		}
		n.copied(t, "/bin/"+program, bin)
		libraries, _ := exec.Command("ldd", bin).Output() // none where it is static
		for word := range strings.FieldsSeq(string(libraries)) {
			if strings.HasPrefix(word, "/") {
				n.copied(t, word, word)
			}
		}
	}
	if absent != "" && os.Getenv("CERTROT_REQUIRE_LAB") == "1" {
		t.Fatal("CERTROT_REQUIRE_LAB=1, but " + absent)
	} else if absent != "" {
		t.Skip(absent)
	}
	for _, applet := range []string{"sh", "awk", "base64", "cat", "chmod", "chown", "cp", "cut", "date", "dd", "find", "head", "id", "ln", "ls", "mkdir", "mktemp", "mv", "nc", "od", "printf", "readlink",
		"rm", "rmdir", "sed", "sha256sum", "sleep", "stat", "sync", "tail", "timeout", "touch", "tr", "true", "uname", "wc"} {
		if err := os.Symlink("/bin/busybox", n.root+"/bin/"+applet); err != nil {
			t.Fatal(err)
		}
	}
	n.write(t, "/dev/null", "")
	n.write(t, "/var/lib/empty", "")
	if err := os.Mkdir(n.root+"/tmp", 0o755); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n liveNode) copied(t *testing.T, path, from string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	n.write(t, path, string(text))
	if err := os.Chmod(n.root+path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func (n liveNode) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(n.root+path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(n.root+path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// read is a file of the node; empty where it is not there.
func (n liveNode) read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(n.root + path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// heldFile says on a node who is at work there.
const heldFile = "/var/lib/certrot/.held"

// held is who says so.
func (n liveNode) held(t *testing.T) string {
	t.Helper()
	who, _, _ := strings.Cut(n.read(t, heldFile), "\n")
	return who
}

// kubelet gives the node a kubelet that runs, and works with these CAs at this server.
func (n liveNode) kubelet(t *testing.T, ca []byte, server string, clients *pkitest.Authority) {
	t.Helper()
	started := time.Now().Add(-time.Hour)
	entered := started.UTC().Format("Mon 2006-01-02 15:04:05 UTC")
	pair := clients.Issue("system:node:"+n.name, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	embedded := base64.StdEncoding.EncodeToString(ca)
	for path, text := range map[string]string{
		"/var/lib/kubelet/pki/kubelet-client-current.pem": string(pair.CertPEM) + string(pair.KeyPEM),
		catalog.KubeletKubeconfigs()[0]:                   kubeconfigtest.MachineConfigServer(embedded, server, "a.token"),
		catalog.KubeletKubeconfigs()[1]:                   kubeconfigtest.Kubelet(embedded, server),
		"/proc/1000/cmdline":                              "/usr/bin/kubelet\x00--bootstrap-kubeconfig=" + catalog.KubeletKubeconfigs()[0] + "\x00--kubeconfig=" + catalog.KubeletKubeconfigs()[1] + "\x00",
		"/bin/systemctl": "#!/bin/sh\ncase $* in *LoadState\\ --*) echo LoadState=loaded; exit ;; esac\nprintf '%s\\n' Id=kubelet.service LoadState=loaded ActiveState=active SubState=running Result=success MainPID=1000 \\\n" +
			"'ActiveEnterTimestamp=" + entered + "' 'ExecMainStartTimestamp=" + entered + "' NRestarts=0 NeedDaemonReload=no\n",
	} {
		n.write(t, path, text)
		if err := os.Chtimes(n.root+path, started.Add(-time.Hour), started.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(n.root+"/bin/systemctl", 0o755); err != nil {
		t.Fatal(err)
	}
}

// processes gives the node a /proc: what asks with a client certificate reads it by a
// name below /dev/fd.
func (n liveNode) processes(t *testing.T) {
	t.Helper()
	if err := os.Symlink("/proc/self/fd", n.root+"/dev/fd"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "proc", "proc", n.root+"/proc").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", n.root+"/proc").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// liveServer is what listens at api-int, and answers clients of these CAs.
func liveServer(t *testing.T, ca *pkitest.Authority, answer http.HandlerFunc) string {
	t.Helper()
	pair := ca.Issue("api-int", time.Now().Add(-time.Hour), time.Now().Add(time.Hour), pkitest.IPs("127.0.0.1"))
	cert, err := tls.X509KeyPair(pkitest.Bundle(pair.CertPEM), pair.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(answer)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequestClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that clients end
	server.StartTLS()
	t.Cleanup(server.Close)
	return "https://" + server.Listener.Addr().String()
}

// onNodes is a workplace on these nodes; conn is nil where there is no API.
func onNodes(conn *connection, out io.Writer, nodes ...liveNode) *workplace {
	w := &workplace{
		app: App{Called: "certrot", Streams: genericiooptions.IOStreams{Out: out, ErrOut: out}}, conn: conn, scanner: pki.NewScanner(), close: func() error { return nil },
		choice: nodeChoice{parallel: 1, timeout: time.Minute, served: true},
	}
	var ways []nodeexec.Transport
	for _, n := range nodes {
		o := collect.NodeObject{Name: n.name}
		if conn != nil {
			o.Ready, o.Role = "True", catalog.RoleWorker
			if o.Master = strings.HasPrefix(n.name, "master"); o.Master {
				o.Role = catalog.RoleMaster
			}
		}
		w.choice.names, w.objects = append(w.choice.names, n.name), append(w.objects, o)
		if n.root != "" {
			ways = append(ways, nodeexec.Local{Node: n.name, Root: n.root, Chroot: true})
		}
	}
	w.open = func(ctx context.Context, node string) (nodeexec.Node, error) {
		return nodeexec.Try(ways...).Dial(ctx, node)
	}
	return w
}

// transcript is what was said, while others may still say something.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
