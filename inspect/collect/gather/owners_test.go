package gather

import (
	"fmt"
	"strings"
	"testing"
)

const (
	multusUID = "1b6e2f5c-8d4a-4c1e-9f3b-0a7d5e2c4b61"
	tenantUID = "7c9d1e3f-2b5a-4d8c-8e6f-9a0b1c2d3e4f"
	multusLog = "/var/log/pods/openshift-multus_multus-x7k2p_" + multusUID + "/kube-multus/0.log"
	tenantLog = "/var/log/pods/tenant_multus-x7k2p_" + tenantUID + "/c/0.log"

	// afterName is what stat has after a process's name.
	afterName = " S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 6000 0\n"
)

// TestWhoseProcess: the control groups of a process name its pod, the kubelet's directory of
// logs names that. Who runs in a pod names processes, and groups below the pod's.
func TestWhoseProcess(t *testing.T) {
	t.Parallel()
	const (
		multus  = "openshift-multus/multus-x7k2p/" + multusUID
		unknown = "unknown"
		inside  = "0::/../../../../init.scope" // of process 1, seen from a namespace of control groups
	)
	filled := strings.NewReplacer("MULTUS", strings.ReplaceAll(multusUID, "-", "_"), "TENANT", strings.ReplaceAll(tenantUID, "-", "_"), "multus-uid", multusUID, "tenant-uid", tenantUID)
	cases := []struct{ name, cgroup, initial, want string }{
		{"systemd", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podMULTUS.slice/crio-0a.scope", "", multus},
		{"systemd, guaranteed", "0::/kubepods.slice/kubepods-podMULTUS.slice/cri-containerd-0a.scope", "", multus},
		{"systemd, below the kubelet's", "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-podMULTUS.slice/cri-containerd-0a.scope", "", multus},
		{"containerd's form of it", "0::/system.slice/containerd.service/kubepods-burstable-podMULTUS.slice:cri-containerd:0a", "", multus},
		{"cgroupfs", "0::/kubepods/burstable/podmultus-uid/0a", "", multus},
		{"version 1", "12:pids:/kubepods/besteffort/podmultus-uid/0a\n1:name=systemd:/kubepods/besteffort/podmultus-uid/0a\n0::/", "", multus},
		{"version 1, in a machine inside another", "4:memory:/box/certrot-lab-01234567-master-0/kubepods/besteffort/podmultus-uid/0a\n0::/", "", multus},
		{"version 1, from a namespace", "4:memory:/../../../podmultus-uid/0a", "4:memory:/../../../../..", multus},
		{"from a namespace", "0::/../../kubepods-burstable-podMULTUS.slice/crio-0a.scope", inside, multus},
		{"from a namespace, in no pod or in the reader's", "0::/../crio-0a.scope", inside, unknown},
		{"from a namespace, as the reader", "0::/", inside, unknown},
		{"a tenant's", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podTENANT.slice/crio-0a.scope", "", ""},
		{"a tenant's, cgroupfs", "0::/kubepods/burstable/podtenant-uid/0a", "", ""},
		{"a tenant's, with a group like the platform's", "0::/kubepods.slice/kubepods-podTENANT.slice/crio-0a.scope/kubepods.slice/kubepods-podMULTUS.slice", "", ""},
		{"a tenant's, cgroupfs, with a group like the platform's", "0::/kubepods/podtenant-uid/0a/kubepods/podmultus-uid", "", ""},
		{"of the host", "0::/system.slice/multus.service", "0::/init.scope", "host"},
		{"of the host, cgroupfs", "4:memory:/\n0::/", "4:memory:/", "host"},
		{"of the host, in a group with pod in its name", "0::/podruntime.slice/containerd.service", "", "host"},
		{"two pods", "4:memory:/kubepods/podmultus-uid/0a\n1:name=systemd:/kubepods/podtenant-uid/0a", "", unknown},
		{"a pod without logs", "0::/kubepods/pod00000000-0000-0000-0000-000000000000/0a", "", unknown},
		{"among pods, in none", "0::/kubepods.slice/kubepods-burstable.slice", "", unknown},
		{"not read", "", "", unknown},
	}
	everywhere(t, func(t *testing.T, w world) {
		for _, c := range cases {
			files := map[string]string{
				"/proc/stat": "btime 1000\n", multusLog: "x\n", tenantLog: "x\n",
				"/proc/43/comm": "multus-daemon\n", "/proc/43/stat": "43 (multus-daemon)" + afterName, "/proc/43/cmdline": "/bin/multus-daemon\x00",
			}
			if c.cgroup != "" {
				files["/proc/43/cgroup"] = filled.Replace(c.cgroup) + "\n"
			}
			if c.initial != "" {
				files["/proc/1/cgroup"] = c.initial + "\n"
			}
			root := newRoot(t)
			tree(t, root, files)
			_, r := w.read(t, root, Options{})
			got := ""
			for _, p := range r.Node.Processes {
				switch {
				case p.Host:
					got += "host"
				case p.Pod == "":
					got += unknown
				default:
					got += p.Namespace + "/" + p.Pod + "/" + p.PodUID
				}
			}
			if got != c.want {
				t.Errorf("%s: %q, not %q", c.name, got, c.want)
			}
		}
	})
}

// TestProcessNames: a process gives itself its name, of any bytes. One with a line feed is
// none of those asked for, and does not keep the others from being all.
func TestProcessNames(t *testing.T) {
	w := withKubelet(t)
	for _, name := range []string{"multus-daemon\nx", "multus-daemon\n", "\nmultus-daemon", "\n", "x\n43 (y) S 1", "", ") S 1 2", "multus-daemon\\nx", "$(exit)", "* ?", "-n"} {
		files := map[string]string{
			"/proc/stat": "btime 1000\n", multusLog: "x\n", tenantLog: "x\n",
			"/proc/42/comm": "kubelet\n", "/proc/42/stat": "42 (kubelet)" + afterName, "/proc/42/cmdline": "/usr/bin/kubelet\x00",
		}
		add := func(pid int, name, uid string) {
			dir := fmt.Sprintf("/proc/%d/", pid)
			files[dir+"comm"], files[dir+"stat"], files[dir+"cmdline"] = name+"\n", fmt.Sprintf("%d (%s)%s", pid, name, afterName), "/bin/multus-daemon\x00"
			files[dir+"cgroup"] = "0::/kubepods/pod" + uid + "/0a\n"
		}
		add(43, "multus-daemon", multusUID)
		add(50, name, tenantUID)
		add(51, name, multusUID)
		root := newRoot(t)
		tree(t, root, files)
		_, r := w.read(t, root, Options{})
		if !r.Node.AllProcesses || len(r.Node.Processes) != 1 || r.Node.Processes[0].Pod != "multus-x7k2p" {
			t.Errorf("%q: all %t, %+v", name, r.Node.AllProcesses, r.Node.Processes)
		}
	}
}

// TestProcessRenamedMeanwhile: the name in stat may be a later one than that in comm.
func TestProcessRenamedMeanwhile(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	tree(t, root, map[string]string{
		"/proc/stat": "btime 1000\n", "/proc/43/comm": "multus-daemon\n", "/proc/43/stat": "43 (a) b\n)" + afterName, "/proc/43/cmdline": "/bin/multus-daemon\x00",
	})
	everywhere(t, func(t *testing.T, w world) {
		_, r := w.read(t, root, Options{})
		if len(r.Node.Processes) != 1 || r.Node.Processes[0].Started.Unix() != 1060 {
			t.Errorf("%+v", r.Node.Processes)
		}
	})
}

func TestOddOwners(t *testing.T) {
	t.Parallel()
	for line, good := range map[string]bool{
		"process multus-daemon 1 uid openshift-multus multus-x": true, "process multus-daemon 1 host": true, "process multus-daemon 1 unknown": true,
		"process multus-daemon 1": false, "process multus-daemon 1 else": false, "process multus-daemon 1 uid openshift-multus": false,
		"process multus-daemon 1 uid - multus-x": false, "process multus-daemon 1 uid openshift-multus multus-x more": false,
	} {
		p := parser{others: map[string]int{}}
		if err := p.line(line); (err == nil) != good || good != (len(p.result.Node.Processes) == 1) {
			t.Errorf("%s: %v, %v", line, err, p.result.Node.Processes)
		}
	}
}
