package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
)

func TestNodesHaveAddressesAndRoles(t *testing.T) {
	nodes, err := Parse(" master-0  worker-0 ")
	if err != nil {
		t.Fatal(err)
	}
	want := []Node{
		{Name: "master-0", Address: "10.99.0.11", PodNetwork: "10.98.11.0/24", Link: "lab1", Master: true},
		{Name: "worker-0", Address: "10.99.0.12", PodNetwork: "10.98.12.0/24", Link: "lab2"},
	}
	if len(nodes) != 2 || nodes[0] != want[0] || nodes[1] != want[1] {
		t.Errorf("got %+v, want %+v", nodes, want)
	}
	several, err := Parse("worker-0 master-0 master-1 worker-1 master-2")
	if err != nil {
		t.Fatal(err)
	}
	var servers []string
	for _, n := range several {
		if n.APIServer {
			servers = append(servers, n.Name)
		}
	}
	if strings.Join(servers, " ") != "master-1 master-2" {
		t.Errorf("API servers of their own have %q: the first master has the control plane's", servers)
	}
	if none, err := Parse(""); err != nil || len(none) > 0 {
		t.Errorf("no names are %v, %v", none, err)
	}
	for _, bad := range []string{"Worker", "a a", pki.NodeName, "-a", "a/b", strings.Repeat("n ", 99)} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("LAB_NODES=%q is accepted", bad)
		}
	}
}

func TestFilesHaveOpenShiftsModes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("files of other owners need root")
	}
	certs, keys, root := t.TempDir(), t.TempDir(), t.TempDir()
	if err := pki.Mint(certs, time.Now()); err != nil {
		t.Fatal(err)
	}
	nodes, err := Parse("master-0 worker-0")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"id_ed25519.pub", "master-0", "master-0.pub"} {
		if err := os.WriteFile(filepath.Join(keys, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Furnish(root, nodes[0], nodes, Keys{PKI: certs, SSH: keys}, ""); err != nil {
		t.Fatal(err)
	}
	certsDir := "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/"
	for path, want := range map[string]os.FileMode{
		"/etc": 0o755, "/etc/kubernetes": 0o755, "/home/core": 0o700, "/home/core/.ssh/authorized_keys": 0o600,
		"/etc/kubernetes/kubelet-ca.crt": 0o644, "/etc/kubernetes/ca.crt": 0o644, "/etc/kubernetes/kubelet.conf": 0o644,
		"/etc/ssh/ssh_host_ed25519_key":                                     0o600,
		certsDir + "secrets/internal-loadbalancer-serving-certkey/tls.key":  0o600,
		certsDir + "secrets/node-kubeconfigs/localhost-recovery.kubeconfig": 0o600,
		certsDir + "configmaps/client-ca/ca-bundle.crt":                     0o644,
		"/etc/systemd/system/multi-user.target.wants/kubelet.service":       0o644,
		"/etc/systemd/system/kubelet.service.requires/lab-ignition.service": 0o644,
		"/etc/systemd/system/sysinit.target.wants/lab-prepare.service":      0o644,
	} {
		info, err := os.Stat(root + path)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
	if _, err := os.Stat(root + BootstrapKubeconfig); err == nil {
		t.Error("the bootstrap kubeconfig is there before there is a token")
	}
}

// What changes comes in a new revision, whose folder holds all that is of it, and
// undoing that leaves what was there before.
func TestARevisionComesAndGoes(t *testing.T) {
	certs, root := t.TempDir(), t.TempDir()
	if err := pki.Mint(certs, time.Now()); err != nil {
		t.Fatal(err)
	}
	files := &tree{root: root}
	staticPodResources(files, certs)
	if files.err != nil {
		t.Fatal(files.err)
	}
	has := func(folder string) bool {
		_, err := os.Stat(root + staticPods + "/" + folder + "/configmaps")
		return err == nil
	}
	for want := 2; want <= 3; want++ {
		if err := Rollout(root, certs, []string{serverCA}); err != nil {
			t.Fatal(err)
		}
		if got, err := Revision(root); err != nil || got != want {
			t.Errorf("the revision is %d, %v, want %d", got, err, want)
		}
	}
	if !has("kube-apiserver-pod-3") || has("kube-controller-manager-pod-3") {
		t.Error("the third revision is not that of the API server alone")
	}
	if err := Rollback(root, certs, 2, []string{serverCA}); err != nil {
		t.Fatal(err)
	}
	if !has("kube-apiserver-pod-1") || !has("kube-apiserver-pod-2") || has("kube-apiserver-pod-3") {
		t.Error("it is not the third revision alone that is gone")
	}
}

// OpenShift's file is written by a program that sorts keys and writes neither
// apiVersion nor kind; what edits it must cope with that.
func TestBootstrapKubeconfigHasOpenShiftsShape(t *testing.T) {
	certs := t.TempDir()
	if err := pki.Mint(certs, time.Now()); err != nil {
		t.Fatal(err)
	}
	text, err := Bootstrap(certs, "a-token")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for line := range strings.Lines(text) {
		key, _, _ := strings.Cut(strings.TrimRight(line, "\n"), ":")
		keys = append(keys, key)
	}
	want := []string{
		"clusters", "- cluster", "    certificate-authority-data", "    server", "  name",
		"contexts", "- context", "    cluster", "    user", "  name", "current-context",
		"users", "- name", "  user", "    token",
	}
	if got := strings.Join(keys, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got the keys\n%s", got)
	}
}
