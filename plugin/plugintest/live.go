package plugintest

import (
	"bytes"
	"crypto/sha256"
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

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/kubeconfigtest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
)

// LiveAPI is an API server, as far as objects are read from it: what is at which path,
// as JSON. What it does not have it does not serve.
type LiveAPI map[string]string

// List is an answer with these objects.
func List(items ...string) string {
	return `{"kind":"List","metadata":{},"items":[` + strings.Join(items, ",") + `]}`
}

// ServeHTTP answers as an API server does.
func (a LiveAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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

// SettledAPI is a cluster of OpenShift with a master and a worker, in which nothing is
// under way.
func SettledAPI() LiveAPI {
	return LiveAPI{
		"/api/v1/nodes": List(`{"metadata":{"name":"master-0","labels":{"node-role.kubernetes.io/master":""}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
			`{"metadata":{"name":"worker-0","labels":{"node-role.kubernetes.io/worker":""}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`),
		"/apis/config.openshift.io/v1/clusterversions":                  List(`{"metadata":{"name":"version"},"status":{"desired":{"version":"4.15.1"},"history":[{"state":"Completed","version":"4.15.1"}],"conditions":[{"type":"Progressing","status":"False"}]}}`),
		"/apis/operator.openshift.io/v1/etcds":                          List(`{"metadata":{"name":"cluster"},"status":{"latestAvailableRevision":8,"nodeStatuses":[{"nodeName":"master-0","currentRevision":8}],"conditions":[{"type":"EtcdMembersDegraded","status":"False"}]}}`),
		"/api/v1/namespaces/openshift-etcd/pods":                        List(),
		"/api/v1/namespaces/openshift-kube-apiserver/pods":              List(),
		"/api/v1/namespaces/openshift-kube-controller-manager/pods":     List(),
		"/api/v1/namespaces/openshift-kube-scheduler/pods":              List(),
		"/apis/machineconfiguration.openshift.io/v1/machineconfigpools": List(),
		"/apis/certificates.k8s.io/v1/certificatesigningrequests":       List(),
		"/apis/config.openshift.io/v1/clusteroperators":                 List(),
		"/apis/config.openshift.io/v1/infrastructures/cluster":          `{"status":{"controlPlaneTopology":"HighlyAvailable"}}`,
		"/apis/config.openshift.io/v1/clusterversions/version":          `{"metadata":{"name":"version"},"status":{"desired":{"version":"4.15.1"},"history":[{"state":"Completed","version":"4.15.1"}]}}`,
		"/api/v1/namespaces/openshift-config-managed/configmaps":        List(),
		"/api/v1/namespaces/openshift-kube-apiserver/configmaps":        List(),
		"/api/v1/namespaces/openshift-kube-apiserver/secrets":           List(),
		"/apis/apiregistration.k8s.io/v1/apiservices":                   List(),
		"/apis/machine.openshift.io/v1beta1/machinehealthchecks":        List(),
		"/apis/operator.openshift.io/v1/kubeapiservers":                 List(),
		"/apis/operator.openshift.io/v1/kubecontrollermanagers":         List(),
		"/apis/operator.openshift.io/v1/kubeschedulers":                 List(),
		"/apis/remediation.medik8s.io/v1alpha1/nodehealthchecks":        List(),
		"/apis/autoscaling.openshift.io/v1/clusterautoscalers":          List(),
		"/apis/machine.openshift.io/v1/controlplanemachinesets":         List(),
	}
}

// With is the same with one answer more, or another one.
func (a LiveAPI) With(path, text string) LiveAPI {
	all := LiveAPI{path: text}
	for p, was := range a {
		if p != path {
			all[p] = was
		}
	}
	return all
}

// InstallerPods is where the API lists installer pods.
const InstallerPods = "/api/v1/namespaces/openshift-kube-controller-manager/pods"

// AnInstaller is a pod that puts a revision on the master.
func AnInstaller() string {
	return List(`{"metadata":{"name":"installer-8-master-0","namespace":"openshift-kube-controller-manager"},"spec":{"nodeName":"master-0"},"status":{"phase":"Pending"}}`)
}

// LiveNode is a node's file system without the node: what its programs do there is done.
type LiveNode struct{ Name, Root string }

// NewLiveNode makes one with busybox, and these programs of this machine.
func NewLiveNode(t *testing.T, name string, programs ...string) LiveNode {
	t.Helper()
	absent := ""
	if os.Geteuid() != 0 {
		absent = "needs root: commands of a node run in a chroot"
	}
	n := LiveNode{name, t.TempDir()}
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
		if err := os.Symlink("/bin/busybox", n.Root+"/bin/"+applet); err != nil {
			t.Fatal(err)
		}
	}
	n.Write(t, "/dev/null", "")
	n.Write(t, "/var/lib/empty", "")
	if err := os.Mkdir(n.Root+"/tmp", 0o755); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n LiveNode) copied(t *testing.T, path, from string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	n.Write(t, path, string(text))
	if err := os.Chmod(n.Root+path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func (n LiveNode) Write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(n.Root+path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(n.Root+path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Read is a file of the node; empty where it is not there.
func (n LiveNode) Read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(n.Root + path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// HeldFile says on a node who is at work there.
const HeldFile = "/var/lib/certrot/.held"

// Held is who says so.
func (n LiveNode) Held(t *testing.T) string {
	t.Helper()
	who, _, _ := strings.Cut(n.Read(t, HeldFile), "\n")
	return who
}

// Kubelet gives the node a kubelet that runs, and works with these CAs at this server.
func (n LiveNode) Kubelet(t *testing.T, ca []byte, server string, clients *pkitest.Authority) {
	t.Helper()
	started := time.Now().Add(-time.Hour)
	entered := started.UTC().Format("Mon 2006-01-02 15:04:05 UTC")
	pair := clients.Issue("system:node:"+n.Name, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	embedded := base64.StdEncoding.EncodeToString(ca)
	for path, text := range map[string]string{
		"/var/lib/kubelet/pki/kubelet-client-current.pem": string(pair.CertPEM) + string(pair.KeyPEM),
		catalog.KubeletKubeconfigs()[0]:                   kubeconfigtest.MachineConfigServer(embedded, server, "a.token"),
		catalog.KubeletKubeconfigs()[1]:                   kubeconfigtest.Kubelet(embedded, server),
		"/proc/1000/cmdline":                              "/usr/bin/kubelet\x00--bootstrap-kubeconfig=" + catalog.KubeletKubeconfigs()[0] + "\x00--kubeconfig=" + catalog.KubeletKubeconfigs()[1] + "\x00",
		"/bin/systemctl": "#!/bin/sh\ncase $* in *LoadState\\ --*) echo LoadState=loaded; exit ;; esac\nprintf '%s\\n' Id=kubelet.service LoadState=loaded ActiveState=active SubState=running Result=success MainPID=1000 \\\n" +
			"'ActiveEnterTimestamp=" + entered + "' 'ExecMainStartTimestamp=" + entered + "' NRestarts=0 NeedDaemonReload=no\n",
	} {
		n.Write(t, path, text)
		if err := os.Chtimes(n.Root+path, started.Add(-time.Hour), started.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(n.Root+"/bin/systemctl", 0o755); err != nil {
		t.Fatal(err)
	}
}

// Processes gives the node a /proc: what asks with a client certificate reads it by a
// name below /dev/fd.
func (n LiveNode) Processes(t *testing.T) {
	t.Helper()
	if err := os.Symlink("/proc/self/fd", n.Root+"/dev/fd"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "proc", "proc", n.Root+"/proc").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", n.Root+"/proc").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// LiveServer is what listens at api-int, and answers clients of these CAs.
func LiveServer(t *testing.T, ca *pkitest.Authority, answer http.HandlerFunc) string {
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

// Transcript is what was said, while others may still say something.
type Transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *Transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *Transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Edited has a run put another CA into the kubelet's kubeconfig.
func (n LiveNode) Edited(t *testing.T, run string, before, after []byte) {
	t.Helper()
	path := catalog.KubeletKubeconfigs()[1]
	text := []byte(n.Read(t, path))
	was := []byte(base64.StdEncoding.EncodeToString(before))
	node, err := nodeexec.Local{Node: n.Name, Root: n.Root, Chroot: true}.Dial(t.Context(), n.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = node.Close() }()
	_, err = host.RunFolder{ID: run}.Replace(t.Context(), node, host.Edit{
		Path: path, Before: sha256.Sum256(text), Offset: int64(bytes.Index(text, was)), Length: int64(len(was)), Insert: []byte(base64.StdEncoding.EncodeToString(after)),
	})
	if err != nil {
		t.Fatal(err)
	}
}
