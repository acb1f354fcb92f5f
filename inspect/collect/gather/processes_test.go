package gather

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

// TestServices gives the node a systemctl and a kubelet.
func TestServices(t *testing.T) {
	root := newRoot(t)
	tree(t, root, map[string]string{
		"/etc/hostname":     "worker-3.example.com\n",
		"/opt/kubelet.conf": kubeletConf,
		"/proc/stat":        "cpu 1 2\nbtime 1000\n",
		"/proc/42/stat":     "42 (a kubelet) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 6000 0\n",
		"/proc/42/cmdline":  strings.Join([]string{"/usr/bin/kubelet", "--config=/opt/kubelet.conf", "--bootstrap-kubeconfig=/etc/kubernetes/kubeconfig", "--kubeconfig", "/var/lib/kubelet/kubeconfig", "--token-secret=abcdefghijk", "--cloud-key", "lmnopqrstuv", "--node-labels=a=b", "--anonymous-auth", "positional-wxyz"}, "\x00") + "\x00",
	})
	w := withKubelet(t)
	n, r := w.read(t, root, Options{Only: true})
	if r.Node.Hostname != "worker-3.example.com" {
		t.Errorf("hostname %q", r.Node.Hostname)
	}
	want := []Unit{
		{Name: "kubelet.service", Loaded: true, Active: "active", Sub: "running", MainPID: 42, Restarts: 3,
			Since: time.Date(2026, 11, 20, 23, 0, 2, 0, time.UTC), Started: time.Date(2026, 11, 20, 23, 0, 1, 0, time.UTC)},
		{Name: "crio.service", Active: "inactive", Sub: "dead"},
	}
	if !slices.Equal(r.Node.Units, want) {
		t.Errorf("units: %+v", r.Node.Units)
	}
	if want := time.Unix(1060, 0).UTC(); !r.Node.Began.Equal(want) {
		t.Errorf("by the uptime it began at %s, want %s", r.Node.Began, want)
	}
	flags := []Flag{{".", "/usr/bin/kubelet", true}, {"config", "/opt/kubelet.conf", true}, {"bootstrap-kubeconfig", "/etc/kubernetes/kubeconfig", true}, {"kubeconfig", "/var/lib/kubelet/kubeconfig", true},
		{"token-secret", "", false}, {"cloud-key", "", false}, {"node-labels", "", false}, {"anonymous-auth", "", false}}
	if !slices.Equal(r.Node.Flags, flags) {
		t.Errorf("flags: %+v", r.Node.Flags)
	}
	for _, secret := range []string{"abcdefgh", "lmnopqrs", "wxyz"} {
		if strings.Contains(string(n.raw), secret) {
			t.Errorf("%q left the node", secret)
		}
	}
	f, ok := r.File("/opt/kubelet.conf")
	if !ok || !strings.Contains(string(f.Content.Text), "rotateCertificates: true") || !strings.Contains(string(f.Content.Text), "clientCAFile: /etc/kubernetes/kubelet-ca.crt") || strings.Contains(string(f.Content.Text), "172.30") {
		t.Errorf("kubelet configuration: %+v", f)
	}
}

// TestAKubeletThatHasEnded has no command line any more, and systemd may name it still: the node is read all the same.
func TestAKubeletThatHasEnded(t *testing.T) {
	root := newRoot(t)
	tree(t, root, map[string]string{"/opt/ca.crt": "", "/proc/stat": "btime 1000\n", "/proc/42/cmdline": ""})
	w := withKubelet(t)
	if _, r := w.read(t, root, Options{Only: true}); len(r.Node.Units) != 2 || len(r.Node.Flags) > 0 || !slices.ContainsFunc(r.Gaps, func(g inspect.Gap) bool {
		return g.Reason == "flags of services: the kubelet's command line is not readable here"
	}) {
		t.Errorf("%+v: %+v", r.Node, r.Gaps)
	}
}

// withKubelet is a shell whose systemctl says that the kubelet's main process is 42.
func withKubelet(t *testing.T) world {
	t.Helper()
	dir := tools(t, nil)
	const answer = "#!/bin/sh\n[ \"$2\" = systemctl ] || exit 1\ncat <<'E'\n" +
		"MainPID=42\nNRestarts=3\nExecMainStartTimestamp=Fri 2026-11-20 23:00:01 UTC\nId=kubelet.service\nLoadState=loaded\nActiveState=active\nSubState=running\nActiveEnterTimestamp=Fri 2026-11-20 23:00:02 UTC\nNeedDaemonReload=no\n\n" +
		"MainPID=0\nNRestarts=0\nExecMainStartTimestamp=\nId=crio.service\nLoadState=not-found\nActiveState=inactive\nSubState=dead\nActiveEnterTimestamp=\nNeedDaemonReload=no\nE\n"
	if err := os.WriteFile(dir+"/chroot", []byte(answer), 0o755); err != nil {
		t.Fatal(err)
	}
	cat, err := filepath.EvalSymlinks("/bin/cat")
	if err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(cat, dir+"/cat"); err != nil {
		t.Fatal(err)
	}
	w := shell("dash", "dash")
	if w.skip != "" {
		t.Skip(w.skip)
	}
	w.path = dir
	return w
}

// TestAllProcesses: that a process does not run is told only where each was read, in the
// /proc in which the kubelet is.
func TestAllProcesses(t *testing.T) {
	w := withKubelet(t)
	const stat, of = "/proc/42/stat", " S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 6000 0\n"
	for name, c := range map[string]struct {
		change map[string]string // of the files; empty: not there
		folder string            // a path that can't be read
		want   bool
	}{
		"each":                          {want: true},
		"multus does not run":           {change: map[string]string{"/proc/43/comm": "", "/proc/43/cmdline": "", "/proc/43/stat": ""}, want: true},
		"the kubelet is not there":      {change: map[string]string{"/proc/42/comm": ""}},
		"a name can't be read":          {folder: "/proc/44/comm"},
		"a command line can't be read":  {change: map[string]string{"/proc/43/cmdline": ""}, folder: "/proc/43/cmdline"},
		"a start can't be read":         {change: map[string]string{"/proc/43/stat": ""}, folder: "/proc/43/stat"},
		"a start is not told":           {change: map[string]string{"/proc/43/stat": "43 (multus-daemon) S 1 2\n"}},
		"when the system was started":   {change: map[string]string{"/proc/stat": "cpu 1 2\n"}},
		"another's name can't be found": {change: map[string]string{"/proc/45/stat": "x\n"}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{
				"/proc/stat":    "cpu 1 2\nbtime 1000\n",
				"/proc/42/comm": "kubelet\n", stat: "42 (kubelet)" + of, "/proc/42/cmdline": "/usr/bin/kubelet\x00",
				"/proc/43/comm": "multus-daemon\n", "/proc/43/stat": "43 (multus-daemon)" + of, "/proc/43/cmdline": "/bin/multus-daemon\x00",
			}
			for path, text := range c.change {
				if files[path] = text; text == "" {
					delete(files, path)
				}
			}
			root := newRoot(t)
			tree(t, root, files)
			if c.folder != "" {
				if err := os.MkdirAll(filepath.Join(root, c.folder), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if _, r := w.read(t, root, Options{}); r.Node.AllProcesses != c.want {
				t.Errorf("all were read: %v", r.Node.AllProcesses)
			}
		})
	}
}

// TestProcesses gives the node some: of their command lines nothing leaves it.
func TestProcesses(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/proc/stat": "cpu  1 2 3\nbtime 1700000000\nprocesses 9\n", "/proc/meminfo": "x\n", "/proc/self/comm": "ovnkube\n"}
	add := func(pid int, comm, cmdline string, start int) {
		dir := fmt.Sprintf("/proc/%d/", pid)
		files[dir+"comm"] = comm + "\n"
		files[dir+"cmdline"] = strings.ReplaceAll(cmdline, " ", "\x00") + "\x00"
		files[dir+"stat"] = fmt.Sprintf("%d (%s) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 %d 20 21\n", pid, comm, start)
	}
	add(10, "multus-daemon", "/usr/src/multus-cni/bin/multus-daemon --token=secretsecret", 100)
	add(11, "multus-daemon", "/bin/multus-daemon", 7250)
	add(12, "multus-daemon", "/bin/sh /bin/multus-daemon", 100) // an interpreter's
	add(13, "ovnkube", "/usr/bin/ovnkube --init-cluster-manager m1", 100)
	add(14, "ovnkube", "/usr/bin/ovnkube --init-ovnkube-controller w1 --init-node w1", 200)
	add(15, "ovnkube", "/usr/bin/ovnkube --init-node=w1", 300)
	add(16, "a) b (c", "/x", 1)
	add(17, "ovnkube", "/usr/bin/ovnkube --init-node", 1)
	add(18, "machine-config-", "/usr/bin/machine-config-daemon start --payload-version=x", 400)
	add(19, "machine-config-", "/usr/bin/machine-config-daemon firstboot-complete-machineconfig", 400)
	add(20, "machine-config-", "/usr/bin/machine-config-server start", 400)
	files["/proc/17/stat"] = "17 (ovnkube) S 1 2\n"
	root := newRoot(t)
	tree(t, root, files)
	everywhere(t, func(t *testing.T, w world) {
		n, r := w.read(t, root, Options{})
		if strings.Contains(string(n.raw), "secretsecret") {
			t.Error("a command line left the node")
		}
		var got []string
		for _, p := range r.Node.Processes {
			if p.Pod != "" || p.Host {
				t.Errorf("there is no control group: %+v", p)
			}
			got = append(got, fmt.Sprint(p.Command, " ", p.Started.Unix()))
		}
		slices.Sort(got)
		want := []string{"machine-config-daemon 1700000004", "multus-daemon 1700000001", "multus-daemon 1700000072", "ovnkube 1700000002", "ovnkube 1700000003"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if _, r := w.read(t, root, Options{Only: true, Paths: []string{"/etc"}}); len(r.Node.Processes) > 0 {
			t.Errorf("nobody asked: %+v", r.Node.Processes)
		}
	})
}

// TestManyProcesses: a tenant's may be so many that they take all of the time: what else is on the node is read.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	count := filepath.Join(t.TempDir(), "count")
	slow := filepath.Join(t.TempDir(), "date")
	// From its fourth call on, that in the loop, half of the time is over.
	const clock = "#!/bin/sh\nn=0\n[ ! -e %[1]s ] || read -r n <%[1]s\necho $((n + 1)) >%[1]s\necho $((1000 + (n > 2) * 30))\n"
	if err := os.WriteFile(slow, fmt.Appendf(nil, clock, count), 0o755); err != nil {
		t.Fatal(err)
	}
	w := shell("dash", "dash")
	if w.skip != "" {
		t.Skip(w.skip)
	}
	w.path = tools(t, map[string]string{"date": slow})
	files := map[string]string{"/proc/stat": "btime 1000\n", "/etc/kubernetes/ca.crt": "x\n", tenantLog: "x\n"}
	for pid := range 300 {
		dir := fmt.Sprintf("/proc/%d/", 1000+pid)
		files[dir+"comm"], files[dir+"cgroup"] = "multus-daemon\n", "0::/kubepods/pod"+tenantUID+"/0a\n"
	}
	root := newRoot(t)
	tree(t, root, files)
	_, r := w.read(t, root, Options{})
	if f, ok := r.File("/etc/kubernetes/ca.crt"); !ok || f.Kind != KindRead {
		t.Errorf("what else is there was not read: %+v", f)
	}
	said := slices.ContainsFunc(r.Gaps, func(g inspect.Gap) bool {
		return g.Where == "" && g.Reason == "processes of services: not all were looked at: it took too long"
	})
	if r.Node.AllProcesses || !said {
		t.Errorf("all %t, %+v", r.Node.AllProcesses, r.Gaps)
	}
}
