//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

const mcdNamespace = "openshift-machine-config-operator"

func TestNodesAreReadyWithRolesAndAddresses(t *testing.T) {
	lab := labtest.RequireNodes(t)
	nodes, err := node.Parse(strings.Join(lab.Nodes(), " "))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		waitReady(t, lab, n.Name)
		if got := lab.KubectlOutput(t, "get", "node", n.Name, "-o", `jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`); got != n.Address {
			t.Errorf("node %s has InternalIP %q, want %s", n.Name, got, n.Address)
		}
		labels := lab.KubectlOutput(t, "get", "node", n.Name, "-o", "jsonpath={.metadata.labels}")
		for _, role := range n.Roles() {
			if !strings.Contains(labels, `"`+role+`"`) {
				t.Errorf("node %s has not the label %s: %s", n.Name, role, labels)
			}
		}
	}
}

func TestNodesFilesAreOpenShifts(t *testing.T) {
	lab := labtest.RequireNodes(t)
	for _, name := range lab.Nodes() {
		const want = "600 root:root /etc/kubernetes/kubeconfig\n" +
			"600 root:root /var/lib/kubelet/kubeconfig\n" +
			"644 root:root /etc/kubernetes/kubelet-ca.crt\n" +
			"644 root:root /etc/kubernetes/ca.crt\n" +
			"600 root:root /var/lib/kubelet/pki/kubelet-client-current.pem\n"
		paths := "/etc/kubernetes/kubeconfig /var/lib/kubelet/kubeconfig /etc/kubernetes/kubelet-ca.crt /etc/kubernetes/ca.crt /var/lib/kubelet/pki/kubelet-client-current.pem"
		if got := lab.SSH(t, name, "sudo stat -L -c '%a %U:%G %n' "+paths); got != want {
			t.Errorf("modes and owners on %s:\n%swant\n%s", name, got, want)
		}
		args := lab.SSH(t, name, "systemctl", "show", "-p", "ExecStart", "kubelet")
		for _, flag := range []string{"--config=/etc/kubernetes/kubelet.conf", "--bootstrap-kubeconfig=/etc/kubernetes/kubeconfig", "--kubeconfig=/var/lib/kubelet/kubeconfig"} {
			if !strings.Contains(args, flag) {
				t.Errorf("the kubelet of %s runs without %s: %s", name, flag, args)
			}
		}
		bootstrap := lab.SSH(t, name, "sudo", "cat", "/etc/kubernetes/kubeconfig")
		if strings.Contains(bootstrap, "apiVersion") || !strings.HasPrefix(bootstrap, "clusters:\n- cluster:\n    certificate-authority-data: ") {
			t.Errorf("the bootstrap kubeconfig of %s has not OpenShift's shape", name)
		}
		own := lab.SSH(t, name, "sudo", "cat", "/var/lib/kubelet/kubeconfig")
		for _, want := range []string{
			"apiVersion: v1\n", "kind: Config\n", "  name: default-cluster\n", "server: https://api-int.lab.test:6443\n", "current-context: default-context\n",
			"    client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem\n", "    client-key: /var/lib/kubelet/pki/kubelet-client-current.pem\n",
		} {
			if !strings.Contains(own, want) {
				t.Errorf("the kubeconfig of the kubelet of %s lacks %q", name, want)
			}
		}
		data := func(text string) string {
			_, after, _ := strings.Cut(text, "certificate-authority-data: ")
			return strings.Fields(after)[0]
		}
		if data(bootstrap) != data(own) {
			t.Errorf("the kubelet of %s trusts others than its bootstrap kubeconfig says", name)
		}
	}
}

// A master has the control plane's certificates on its disk, and a way in that
// needs nothing but localhost.
func TestMasterHasTheControlPlanesFiles(t *testing.T) {
	lab := labtest.RequireNodes(t)
	master := lab.Nodes()[0]
	if !strings.HasPrefix(master, "master") {
		t.Skip("needs a master among the lab's nodes, which LAB_NODES left out")
	}
	const folder = "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/"
	want := secretText(t, lab, "openshift-kube-apiserver", "internal-loadbalancer-serving-certkey")
	if got := lab.SSH(t, master, "sudo", "cat", folder+"internal-loadbalancer-serving-certkey/tls.crt"); got != want {
		t.Errorf("the certificate of api-int on the disk of %s is not the one in the Secret", master)
	}
	for _, name := range []string{"localhost", "localhost-recovery", "lb-int", "lb-ext"} {
		if got := lab.SSH(t, master, "sudo", "kubectl", "--kubeconfig", folder+"node-kubeconfigs/"+name+".kubeconfig", "get", "--raw", "/readyz"); got != "ok" {
			t.Errorf("/readyz by %s.kubeconfig says %q", name, got)
		}
	}
}

func TestPodsAreReachedThroughTheAPI(t *testing.T) {
	lab := labtest.RequireNodes(t)
	for _, name := range lab.Nodes() {
		pod := mcdPod(t, lab, name)
		if got := lab.KubectlOutput(t, "-n", mcdNamespace, "exec", pod, "--", "ls", "/rootfs/etc/kubernetes"); !strings.Contains(got, "kubeconfig\n") {
			t.Errorf("/rootfs/etc/kubernetes in the pod on %s holds %q", name, got)
		}
		if got := lab.KubectlOutput(t, "-n", mcdNamespace, "logs", pod); !strings.Contains(got, "stand-in") {
			t.Errorf("the log of the pod on %s is %q", name, got)
		}
	}
	name := worker(t, lab)
	// Without a terminal kubectl may lose what the command prints: the pod's log
	// has it. In a chroot busybox would run its own commands, so: by full path.
	created := lab.KubectlOutput(t, "debug", "node/"+name, "--profile=sysadmin", "--image=localhost/lab/tools:1", "--", "chroot", "/host", "/bin/hostname")
	_, after, _ := strings.Cut(created, "debugging pod ")
	pod, _, _ := strings.Cut(after, " ")
	defer lab.KubectlOutput(t, "delete", "pod", pod, "--force", "--grace-period=0")
	lab.KubectlOutput(t, "wait", "pod", pod, "--for=jsonpath={.status.phase}=Succeeded", "--timeout=30s")
	if got := lab.KubectlOutput(t, "logs", pod); got != name+"\n" {
		t.Errorf("hostname in a debug pod on %s says %q", name, got)
	}
}

func TestPodsHaveANetworkOfTheirOwn(t *testing.T) {
	lab := labtest.RequireNodes(t)
	const pod = "with-a-network"
	defer lab.KubectlOutput(t, "delete", "pod", pod, "--force", "--grace-period=0")
	lab.KubectlOutput(t, "run", pod, "--image=localhost/lab/tools:1", "--restart=Never", "--command", "--", "sleep", "600")
	lab.KubectlOutput(t, "wait", "pod", pod, "--for=condition=Ready", "--timeout=30s")
	if ip := lab.KubectlOutput(t, "get", "pod", pod, "-o", "jsonpath={.status.podIP}"); !strings.HasPrefix(ip, "10.98.") {
		t.Errorf("the pod's address is %q", ip)
	}
	if on := lab.KubectlOutput(t, "get", "pod", pod, "-o", "jsonpath={.spec.nodeName}"); strings.HasPrefix(on, "master") {
		t.Errorf("a pod that tolerates nothing is on %s", on)
	}
}

func TestSSHNeedsOnlyTheNodesName(t *testing.T) {
	lab := labtest.RequireNodes(t)
	home := t.TempDir()
	for _, name := range lab.Nodes() {
		c := lab.SSHCommand(t.Context(), name, "hostname; id -un; sudo -n id -un")
		c.Env = append(os.Environ(), "HOME="+home)
		out, err := c.CombinedOutput()
		if want := name + "\ncore\nroot\n"; err != nil || string(out) != want {
			t.Errorf("ssh %s: %v: got %q, want %q", name, err, out, want)
		}
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("ssh left something in the user's home: %v, %v", left, err)
	}
}

func TestKubeletRestartShowsInTheHeartbeat(t *testing.T) {
	lab := labtest.RequireNodes(t)
	name := worker(t, lab)
	pid := func() string { return lab.SSH(t, name, "systemctl", "show", "-p", "MainPID", "--value", "kubelet") }
	before := pid()
	lab.SSH(t, name, "sudo", "systemctl", "restart", "kubelet")
	restarted := time.Now()
	if after := pid(); after == before {
		t.Errorf("the kubelet of %s has the same process after its restart: %s", name, after)
	}
	eventually(t, "the heartbeat is newer than the restart", func() bool { return heartbeat(t, lab, name).After(restarted) })
	waitReady(t, lab, name)
}

func TestRebootBringsANodeBack(t *testing.T) {
	lab := labtest.RequireNodes(t)
	t.Parallel()
	name := worker(t, lab)
	booted := func() string {
		out, _ := lab.SSHCommand(t.Context(), name, "systemctl", "show", "-p", "UserspaceTimestampMonotonic", "--value").Output()
		return string(out)
	}
	before := booted()
	began := time.Now()
	lab.Reboot(t, name)
	eventually(t, "the node has booted again", func() bool { now := booted(); return now != "" && now != before })
	back := time.Now()
	eventually(t, "the heartbeat is newer than the reboot", func() bool { return heartbeat(t, lab, name).After(back) })
	waitReady(t, lab, name)
	t.Logf("note: Ready %s after the reboot", time.Since(began).Round(time.Second))
	pod := mcdPod(t, lab, name)
	eventually(t, "its pod can be reached again", func() bool {
		return lab.OnHost(t.Context(), "kubectl", "-n", mcdNamespace, "exec", pod, "--", "true").Run() == nil
	})
}

func TestCutOffNodeIsNotReadyUntilHealed(t *testing.T) {
	lab := labtest.RequireNodes(t)
	t.Parallel()
	worker(t, lab)
	workers := lab.Workers()
	name := workers[len(workers)-1] // another than the one that reboots meanwhile
	lab.Cut(t, name)
	began := time.Now()
	lab.KubectlOutput(t, "wait", "node", name, "--for=condition=Ready=Unknown", "--timeout=60s")
	t.Logf("note: NotReady %s after the cut", time.Since(began).Round(time.Second))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if out, err := lab.SSHCommand(ctx, name, "true").CombinedOutput(); err == nil {
		t.Errorf("ssh reaches a node that is cut off: %s", out)
	}
	lab.Heal(t)
	waitReady(t, lab, name)
}

func TestAnUnknownNodeIsAnError(t *testing.T) {
	lab := labtest.RequireNodes(t)
	c := exec.Command("go", "run", ".", "cut", "no-such-node")
	c.Env = append(os.Environ(), "LAB_DIR="+lab.Dir)
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), lab.Nodes()[0]) {
		t.Errorf("cut of a node that isn't there: %v: %s", err, out)
	}
}

func TestUpWithOtherNodesSaysWhatToDo(t *testing.T) {
	lab := labtest.RequireNodes(t)
	c := exec.Command("go", "run", ".", "up")
	c.Env = append(os.Environ(), "LAB_DIR="+lab.Dir, "LAB_NODES=somebody-else")
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "make lab-down") {
		t.Errorf("up with other nodes than the lab has: %v: %s", err, out)
	}
}

// worker is the first node that is no master.
func worker(t *testing.T, lab *labtest.Lab) string {
	t.Helper()
	workers := lab.Workers()
	if len(workers) == 0 {
		t.Skip("needs a worker among the lab's nodes, which LAB_NODES left out")
	}
	return workers[0]
}

func mcdPod(t *testing.T, lab *labtest.Lab, node string) string {
	t.Helper()
	pod := lab.KubectlOutput(t, "-n", mcdNamespace, "get", "pods", "-l", "k8s-app=machine-config-daemon", "--field-selector", "spec.nodeName="+node, "-o", "jsonpath={.items[*].metadata.name}")
	if pod == "" || strings.Contains(pod, " ") {
		t.Fatalf("pods of machine-config-daemon on %s: %q, want one", node, pod)
	}
	return pod
}

func waitReady(t *testing.T, lab *labtest.Lab, node string) {
	t.Helper()
	lab.KubectlOutput(t, "wait", "node", node, "--for=condition=Ready", "--timeout=60s")
}

// heartbeat is when a node last renewed its lease.
func heartbeat(t *testing.T, lab *labtest.Lab, node string) time.Time {
	t.Helper()
	var lease struct {
		Spec struct {
			RenewTime time.Time `json:"renewTime"`
		} `json:"spec"`
	}
	text := lab.KubectlOutput(t, "-n", "kube-node-lease", "get", "lease", node, "-o", "json")
	if err := json.Unmarshal([]byte(text), &lease); err != nil {
		t.Fatal(fmt.Errorf("read the lease of node %s: %w", node, err))
	}
	return lease.Spec.RenewTime
}
