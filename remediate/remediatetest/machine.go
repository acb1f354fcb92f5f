package remediatetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/kubeconfigtest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// heartbeatOnce is the heartbeat of a node whose kubelet reports from some moment on.
func (m *Machine) heartbeatOnce(works func() bool) func(ctx context.Context, node string) (collect.Heartbeat, error) {
	return func(ctx context.Context, node string) (collect.Heartbeat, error) {
		if !works() {
			return collect.Heartbeat{At: time.Now().Add(-25 * time.Hour), Ready: "Unknown"}, nil
		}
		return m.heartbeat(ctx, node)
	}
}

// state is all that reading a node finds of it; empty while a restart is due, since
// systemd is asked too.
func (m *Machine) state(argv []string) string {
	h := sha256.New()
	if _, err := os.Lstat(m.At("/fake/pending")); err == nil {
		return ""
	}
	fmt.Fprintln(h, m.name, argv)
	paths := []string{"/proc", "/fake/shown"}
	for _, arg := range argv {
		if strings.HasPrefix(arg, "r/") {
			paths = append(paths, arg[1:])
		}
	}
	for _, path := range paths {
		_ = filepath.WalkDir(m.At(path), func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // what is gone is no part of it
			}
			info, err := d.Info()
			if err != nil || d.IsDir() {
				return nil //nolint:nilerr // what is gone, or a folder, is no part of it
			}
			data, _ := os.ReadFile(path)
			modified := info.ModTime()
			if strings.HasPrefix(path[len(m.root):], "/fake/") || strings.HasPrefix(path[len(m.root):], "/proc/") {
				modified = time.Time{} // no one looks
			}
			st := info.Sys().(*syscall.Stat_t)
			fmt.Fprintf(h, "%s %s %d %d %d %x\n", path[len(m.root):], info.Mode(), st.Uid, st.Gid, modified.UnixNano(), sha256.Sum256(data))
			return nil
		})
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// immutable keeps a node's file from being replaced, as chattr +i does. lift ends that.
func (m *Machine) immutable(t *testing.T, path string) (lift func()) {
	t.Helper()
	if out, err := exec.Command("chattr", "+i", m.At(path)).CombinedOutput(); err != nil {
		t.Skipf("chattr +i: %v %s", err, out)
	}
	lift = func() { _ = exec.Command("chattr", "-i", m.At(path)).Run() }
	t.Cleanup(lift)
	return lift
}

// repaired fails the test unless a node is repaired and reports.
func (m *Machine) repaired(t *testing.T) {
	t.Helper()
	for _, path := range catalog.KubeletKubeconfigs() {
		if !m.fileRepaired(t, path) {
			t.Errorf("%s is not repaired", path)
		}
	}
	m.dressed(t)
	if h, err := m.heartbeat(t.Context(), m.name); h.Ready != "True" {
		t.Errorf("its kubelet has not read it: %+v, %v", h, err)
	}
}

// honest fails the test unless a node is in one of the states that a plan's steps
// lead through, and the journal tells which.
func (m *Machine) honest(t *testing.T, story remediate.RunRecord, err error) {
	t.Helper()
	bootstrap, own := m.fileRepaired(t, BootstrapFile), m.fileRepaired(t, KubeletFile)
	asked := m.asked(t) > 0
	m.dressed(t)
	if own && !bootstrap || asked && !own {
		t.Errorf("out of order: %s changed: %v, %s: %v, restart: %v", BootstrapFile, bootstrap, KubeletFile, own, asked)
	}
	said := story.Changed()[m.name]
	for path, changed := range map[string]bool{BootstrapFile: bootstrap, KubeletFile: own} {
		if changed && !slices.Contains(said, path) {
			t.Errorf("%s was changed, and the journal says %q", path, said)
		}
	}
	finished := false
	for _, r := range story.Records {
		switch {
		case r.Event == remediate.Finished:
			finished = true
		case r.Node != m.name:
		case r.Event == remediate.Done && r.Path != "" && !m.fileRepaired(t, r.Path), r.Event == remediate.Undone && m.fileRepaired(t, r.Path),
			r.Event == remediate.Done && strings.HasPrefix(r.Action, "restart") && m.restarts(t) == 0:
			t.Errorf("the journal says %+v", r)
		}
	}
	if asked && !slices.ContainsFunc(story.Records, func(r remediate.Record) bool {
		return r.Event == remediate.Begun && strings.HasPrefix(r.Action, "restart")
	}) {
		t.Error("the journal does not say that a restart was begun")
	}
	var s *remediate.Stopped
	if finished != (err == nil) || err != nil && !errors.As(err, &s) {
		t.Errorf("%v, and the journal says %+v", err, story.Records)
	}
	if err == nil {
		m.repaired(t)
	}
}

// disk is what is in the node's folders with kubeconfigs.
func (m *Machine) disk(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range []string{"/etc", "/var/lib/kubelet"} {
		_ = filepath.WalkDir(m.At(dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				t.Error(err)
				return nil
			}
			info, err := d.Info()
			if err == nil && !d.IsDir() {
				data, _ := os.ReadFile(path)
				fmt.Fprintf(&b, "%s %s %d %x\n", path[len(m.root):], info.Mode(), info.Sys().(*syscall.Stat_t).Ino, sha256.Sum256(data))
			}
			return err
		})
	}
	return b.String()
}

// Machine is a node.
type Machine struct {
	*World
	name, root string
	files      map[string][]byte // as they were
}

// At is where a path of the node is on this machine.
func (m *Machine) At(path string) string { return m.root + path }

func (m *Machine) Write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := firstOf(os.MkdirAll(filepath.Dir(m.At(path)), 0o755), os.WriteFile(m.At(path), text, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// Read is a file of the node; nil where it is not there.
func (m *Machine) Read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(m.At(path))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return text
}

// The fakes know one unit, whose state is in /fake. A restart is seen when someone
// looked twice, as the real one takes three seconds; as for its time, see remembering.
// What the kubelet loaded is what it read then: /fake/loaded.
const (
	fakeSystemctl = `#!/bin/sh
case $* in
*"-p LoadState -- kubelet.service") echo LoadState=loaded; exit ;;
show*) ;;
*) echo "fake systemctl: $*" >&2; exit 1 ;;
esac
if [ -s /fake/pending ]; then
	read -r looks </fake/pending
	if [ "$looks" -gt 0 ]; then
		echo $((looks - 1)) >/fake/pending
	else
		rm /fake/pending
		/bin/sh /fake/restart
	fi
fi
cat /fake/shown
case $* in *crio.service*) printf '\nId=crio.service\nLoadState=not-found\nActiveState=inactive\nSubState=dead\nMainPID=0\n' ;; esac
exit 0
`
	fakeSystemdRun = `#!/bin/sh
case $* in
--help) echo '  --collect'; exit ;;
*"--on-active=3 "*" systemctl restart kubelet.service") echo 1 >/fake/pending ;;
*) echo "fake systemd-run: $*" >&2; exit 1 ;;
esac
echo x >>/fake/asked
`
	fakeRestart = `read -r mode </fake/mode
[ "$mode" != never ] || exit 0
echo x >>/fake/restarts
pid=$((1000 + $(wc -l </fake/restarts)))
read -r epoch </fake/epoch
at=$((epoch + 20 * $(wc -l </fake/restarts) - 10))
entered=$(date -u -d "@$at" '+%a %Y-%m-%d %H:%M:%S UTC')
active=active sub=running result=success
case $mode in
fails) active=failed sub=failed result=exit-code pid=0 entered=$(sed -n 's/^ActiveEnterTimestamp=//p' /fake/shown) ;;
ends) active=activating sub=auto-restart result=exit-code pid=0 ;;
*)
	if ! [ -e /var/lib/kubelet/kubeconfig ]; then
		(umask 077; sed "s|CA-DATA|$(sed -n 's/.*certificate-authority-data: //p' /etc/kubernetes/kubeconfig)|" /fake/template >/var/lib/kubelet/kubeconfig)
	fi
	cp /var/lib/kubelet/kubeconfig /fake/loaded
	mkdir -p /proc/$pid
	cp /fake/cmdline /proc/$pid/cmdline
	echo "$pid (kubelet) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 $((at * 100)) 0" >/proc/$pid/stat
	;;
esac
printf '%s\n' Id=kubelet.service LoadState=loaded ActiveState=$active SubState=$sub Result=$result MainPID=$pid \
	"ActiveEnterTimestamp=$entered" "ExecMainStartTimestamp=$entered" NRestarts=0 NeedDaemonReload=no >/fake/new
mv /fake/new /fake/shown
`
)

func (m *Machine) fakeSystemd(t *testing.T) {
	t.Helper()
	at := time.Now().Add(-24 * time.Hour)
	started := at.UTC().Format("Mon 2006-01-02 15:04:05 UTC")
	cmdline := []byte("/usr/bin/kubelet\x00--bootstrap-kubeconfig=" + BootstrapFile + "\x00--kubeconfig=" + KubeletFile + "\x00")
	for path, text := range map[string]string{
		"/usr/bin/systemctl": fakeSystemctl, "/usr/bin/systemd-run": fakeSystemdRun, "/fake/restart": fakeRestart, "/fake/mode": "normal\n",
		"/fake/epoch":    fmt.Sprintln(m.epoch.Unix()),
		"/fake/loaded":   string(m.files[KubeletFile]),
		"/fake/template": kubeconfigtest.Kubelet("CA-DATA", m.api.URL),
		"/fake/shown": "Id=kubelet.service\nLoadState=loaded\nActiveState=active\nSubState=running\nResult=success\nMainPID=1000\n" +
			"ActiveEnterTimestamp=" + started + "\nExecMainStartTimestamp=" + started + "\nNRestarts=0\nNeedDaemonReload=no\n",
		"/fake/cmdline": string(cmdline), "/proc/1000/cmdline": string(cmdline),
		// As if it was booted when Unix' time began.
		"/proc/stat": "btime 0\n", "/proc/1000/stat": fmt.Sprintf("1000 (kubelet) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d00 0\n", at.Unix()),
	} {
		m.Write(t, path, []byte(text))
	}
	if err := firstOf(os.Chmod(m.At("/usr/bin/systemctl"), 0o755), os.Chmod(m.At("/usr/bin/systemd-run"), 0o755)); err != nil {
		t.Fatal(err)
	}
}

// restarts is how often the fake kubelet was restarted.
func (m *Machine) restarts(t *testing.T) int {
	t.Helper()
	return bytes.Count(m.Read(t, "/fake/restarts"), []byte("\n"))
}

// Started is when the fake kubelet was started last.
func (m *Machine) Started(t *testing.T) time.Time {
	t.Helper()
	_, text, _ := strings.Cut(string(m.Read(t, "/fake/shown")), "\nExecMainStartTimestamp=")
	text, _, _ = strings.Cut(text, "\n")
	at, err := time.Parse("Mon 2006-01-02 15:04:05 UTC", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// asked is how often systemd was told to restart it.
func (m *Machine) asked(t *testing.T) int {
	t.Helper()
	return bytes.Count(m.Read(t, "/fake/asked"), []byte("\n"))
}

func (m *Machine) mode(t *testing.T, mode string) { m.Write(t, "/fake/mode", []byte(mode+"\n")) }

// heartbeat is what the API server knows of the node: its kubelet reports as long
// as it trusts the server by what it loaded, found out by a handshake.
func (m *Machine) heartbeat(context.Context, string) (collect.Heartbeat, error) {
	lost := collect.Heartbeat{At: time.Now().Add(-25 * time.Hour), Ready: "Unknown"}
	shown, err := os.ReadFile(m.At("/fake/shown"))
	if err != nil {
		return lost, err
	}
	_, text, _ := strings.Cut(string(shown), "\nActiveEnterTimestamp=")
	text, _, _ = strings.Cut(text, "\n")
	entered, err := time.Parse("Mon 2006-01-02 15:04:05 UTC", text)
	if err != nil || !bytes.Contains(shown, []byte("\nActiveState=active\n")) {
		return lost, err
	}
	if mode, _ := os.ReadFile(m.At("/fake/mode")); string(mode) == "late\n" {
		return lost, nil
	}
	config, err := clientcmd.LoadFromFile(m.At("/fake/loaded"))
	if err != nil {
		return lost, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.Clusters["default-cluster"].CertificateAuthorityData)
	conn, err := tls.Dial("tcp", strings.TrimPrefix(config.Clusters["default-cluster"].Server, "https://"), &tls.Config{RootCAs: roots})
	if err != nil {
		return lost, nil //nolint:nilerr // so its kubelet does not reach the API
	}
	return collect.Heartbeat{At: entered.Add(5 * time.Second), Ready: "True"}, conn.Close()
}

// via is a node that says by which way it was reached.
type via struct{ nodeexec.Node }

func (via) Via() string { return "local" }

// After is what a repair makes of a file.
func (m *Machine) After(path string) []byte {
	was := base64.StdEncoding.EncodeToString(m.Before)
	is := base64.StdEncoding.EncodeToString(pkitest.Bundle(m.ConfigMap, m.Old.CertPEM))
	return bytes.Replace(m.files[path], []byte(was), []byte(is), 1)
}

// fileRepaired tells whether a file is as it is to be. It fails the test where it is
// neither that nor what it was.
func (m *Machine) fileRepaired(t *testing.T, path string) bool {
	t.Helper()
	switch now := m.Read(t, path); {
	case bytes.Equal(now, m.After(path)):
		return true
	case !bytes.Equal(now, m.files[path]):
		t.Errorf("%s on %s is neither before nor after: %d bytes", path, m.name, len(now))
	}
	return false
}

// original fails the test unless bytes, modes and owners are those from before.
func (m *Machine) original(t *testing.T) {
	t.Helper()
	for _, path := range catalog.KubeletKubeconfigs() {
		if !bytes.Equal(m.Read(t, path), m.files[path]) {
			t.Errorf("%s has not the bytes that it had", path)
		}
	}
	m.dressed(t)
}

func (m *Machine) dressed(t *testing.T) {
	t.Helper()
	for path, want := range map[string]string{BootstrapFile: "-rw-r----- 7:8", KubeletFile: "-rw------- 0:0"} {
		info, err := os.Lstat(m.At(path))
		if err != nil {
			t.Fatal(err)
		}
		st := info.Sys().(*syscall.Stat_t)
		if got := fmt.Sprintf("%s %d:%d", info.Mode(), st.Uid, st.Gid); got != want {
			t.Errorf("%s is %s, and was %s", path, got, want)
		}
	}
}

// leftovers are what unfinished writes left on a node.
func (m *Machine) leftovers(t *testing.T) []string {
	t.Helper()
	var left []string
	err := filepath.WalkDir(m.root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		if err == nil && (strings.HasPrefix(name, ".certrot-") || strings.HasPrefix(name, "tmp-") || name == "pending" && !strings.HasSuffix(path, "/fake/pending")) {
			left = append(left, strings.TrimPrefix(path, m.root))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(left)
	return left
}
