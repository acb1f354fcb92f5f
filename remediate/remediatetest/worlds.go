package remediatetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/kubeconfigtest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// heartbeatOnce is that of a node whose kubelet reports from some moment on.
func (m *Machine) heartbeatOnce(works func() bool) func(ctx context.Context, node string) (collect.Heartbeat, error) {
	return func(ctx context.Context, node string) (collect.Heartbeat, error) {
		if !works() {
			return collect.Heartbeat{At: time.Now().Add(-25 * time.Hour), Ready: "Unknown"}, nil
		}
		return m.heartbeat(ctx, node)
	}
}

// state is all that reading a node shows of it; empty while a restart is due, since
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
				return nil //nolint:nilerr // as above
			}
			data, _ := os.ReadFile(path)
			modified := info.ModTime()
			if strings.HasPrefix(path[len(m.root):], "/fake/") || strings.HasPrefix(path[len(m.root):], "/proc/") {
				modified = time.Time{} // nobody looks
			}
			st := info.Sys().(*syscall.Stat_t)
			fmt.Fprintf(h, "%s %s %d %d %d %x\n", path[len(m.root):], info.Mode(), st.Uid, st.Gid, modified.UnixNano(), sha256.Sum256(data))
			return nil
		})
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// clone is the same world once more: what is done there is not done here. They
// share the API server.
func (w *World) clone(t *testing.T) *World {
	t.Helper()
	c := &World{Incident: w.Incident, api: w.api, Machines: map[string]*Machine{}, names: w.names, token: w.token, scanner: pki.NewScanner(), answers: w.answers, epoch: w.epoch}
	c.Skipped.Store(w.Skipped.Load())
	for _, name := range w.names {
		m := w.Machines[name]
		copied := &Machine{World: c, name: name, root: newRoot(t), files: m.files}
		args := []string{"-a"}
		for _, dir := range []string{"/etc", "/var", "/fake", "/proc", "/usr"} {
			args = append(args, m.root+dir)
		}
		if out, err := exec.Command("cp", append(args, copied.root)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		c.Machines[name] = copied
	}
	return c
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

// unspoken fails the test if the token is in what a plan holds.
func (w *World) unspoken(t *testing.T, p *remediate.Plan) {
	t.Helper()
	w.secret(t, "the plan", fmt.Sprintf("%+v", p))
	for _, n := range p.Nodes() {
		for _, s := range n.Steps {
			if s.Change == nil || s.Change.File == nil {
				continue
			}
			f := s.Change.File
			w.secret(t, "the change of "+f.Path, fmt.Sprintf("%+v", s), string(f.Before), string(f.After), string(f.Edit.Insert))
			if f.Path == BootstrapFile && !strings.Contains(string(f.After), "token: "+strings.Repeat("x", len(w.token))+"\n") {
				t.Errorf("the text has no token of that length:\n%s", f.After)
			}
		}
	}
	for _, k := range p.Basis.Nodes {
		w.secret(t, "the facts", fmt.Sprintf("%+v", k))
		for _, k := range k.Kubeconfigs {
			w.secret(t, "the facts", string(k.Text))
		}
	}
}

// mended fails the test unless a node is repaired and reports.
func (m *Machine) mended(t *testing.T) {
	t.Helper()
	for _, path := range catalog.KubeletKubeconfigs() {
		if !m.repaired(t, path) {
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
func (m *Machine) honest(t *testing.T, story remediate.Story, err error) {
	t.Helper()
	bootstrap, own := m.repaired(t, BootstrapFile), m.repaired(t, KubeletFile)
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
		case r.Event == remediate.Done && r.Path != "" && !m.repaired(t, r.Path), r.Event == remediate.Undone && m.repaired(t, r.Path),
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
		m.mended(t)
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

// TestNow is the time of plans that are made of fixtures.
var TestNow = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// The kubeconfigs of a kubelet, as catalog.KubeletKubeconfigs has them.
const (
	BootstrapFile = "/etc/kubernetes/kubeconfig"
	KubeletFile   = "/var/lib/kubelet/kubeconfig"
)

// Incident are the CAs of okd-project/okd#1881: api-int's signer was replaced, and
// kubelets trust the old one alone.
type Incident struct {
	Old, Young, Localhost, Service *pkitest.Authority
	ConfigMap                      []byte // what kubelets are to trust
	Before                         []byte // what they do
}

// NewIncident is a CA that was replaced, an hour ago.
func NewIncident(now time.Time) Incident {
	return newIncidentBetween(now.Add(-24*time.Hour), now.Add(24*time.Hour))
}

func newIncidentBetween(from, to time.Time) Incident {
	in := Incident{
		Old:       pkitest.NewCA("kube-apiserver-lb-signer", from, to),
		Young:     pkitest.NewCA("loadbalancer-serving-signer", from, to),
		Localhost: pkitest.NewCA("kube-apiserver-localhost-signer", from, to),
		Service:   pkitest.NewCA("kube-apiserver-service-network-signer", from, to),
	}
	in.ConfigMap = pkitest.Bundle(in.Young.CertPEM, in.Localhost.CertPEM, in.Service.CertPEM)
	in.Before = pkitest.Bundle(in.Old.CertPEM, in.Localhost.CertPEM, in.Service.CertPEM)
	return in
}

// apiServer is what listens at api-int: real TLS, and one answer to whatever is asked.
type apiServer struct {
	URL  string
	pair atomic.Pointer[tls.Certificate]
	old  atomic.Bool // it speaks no TLS above 1.2
	net.Listener
}

func newAPIServer(t *testing.T, ca *pkitest.Authority) *apiServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, l, ca)
}

// serve is an API server behind a listener.
func serve(t *testing.T, l net.Listener, ca *pkitest.Authority) *apiServer {
	t.Helper()
	s := &apiServer{Listener: l, URL: "https://" + l.Addr().String()}
	s.show(t, ca)
	t.Cleanup(func() { _ = s.Close() })
	config := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.pair.Load(), nil }}
	old := config.Clone()
	old.MaxVersion = tls.VersionTLS12
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if s.old.Load() {
			return old, nil
		}
		return nil, nil
	}
	go func() {
		for {
			conn, err := s.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
				shown := tls.Server(conn, config)
				if shown.Handshake() == nil { // a client that ends it has its reasons
					if n, _ := shown.Read(make([]byte, 1)); n > 0 { // until the client has seen it
						_, _ = io.WriteString(shown, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
					}
				}
				_ = shown.Close()
			}()
		}
	}()
	return s
}

// show makes it show a certificate of another CA from now on.
func (s *apiServer) show(t *testing.T, ca *pkitest.Authority) {
	t.Helper()
	host, _, _ := net.SplitHostPort(s.Addr().String())
	s.showAs(t, ca, "api-int", pkitest.IPs(host))
}

// showAs is the same with a certificate of this name.
func (s *apiServer) showAs(t *testing.T, ca *pkitest.Authority, cn string, opts ...pkitest.Option) {
	t.Helper()
	p := ca.Issue(cn, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), opts...)
	pair, err := tls.X509KeyPair(pkitest.Bundle(p.CertPEM, ca.CertPEM), p.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	s.pair.Store(&pair)
}

// World is a cluster of nodes: folders with a busybox, that commands chroot into,
// and a fake of systemd and of the kubelet. What is changed there is changed by
// the real script in a real shell, and what is shown there is shown by a real
// server.
type World struct {
	Incident
	api      *apiServer
	Machines map[string]*Machine
	names    []string
	token    string // in the bootstrap kubeconfigs
	scanner  *pki.Scanner
	answers  *sync.Map             // see remembering
	epoch    time.Time             // see remembering
	Comeback func(n *inspect.Node) // what a node's kubelet would be told; nil: that is not asked
	Skipped  atomic.Int64          // how far time was moved on in place of waiting
}

// Machine is a node.
type Machine struct {
	*World
	name, root string
	files      map[string][]byte // as they were
}

// NewWorld has these nodes; none: worker-0.
func NewWorld(t *testing.T, names ...string) *World {
	t.Helper()
	in := NewIncident(time.Now())
	w := newWorldBy(in, newAPIServer(t, in.Young))
	if len(names) == 0 {
		names = []string{"worker-0"}
	}
	for _, n := range names {
		w.add(t, n)
	}
	return w
}

// newWorldBy is a world without nodes.
func newWorldBy(in Incident, api *apiServer) *World {
	w := &World{Incident: in, api: api, Machines: map[string]*Machine{}, scanner: pki.NewScanner(), answers: &sync.Map{}, epoch: time.Now().Truncate(time.Second)}
	var b [24]byte
	_, _ = rand.Read(b[:])
	w.token = "sesame-" + hex.EncodeToString(b[:])
	return w
}

func (w *World) add(t *testing.T, name string) *Machine {
	t.Helper()
	m := &Machine{World: w, name: name, root: newRoot(t)}
	ca := base64.StdEncoding.EncodeToString(w.Before)
	m.files = map[string][]byte{
		BootstrapFile: []byte(kubeconfigtest.Older(kubeconfigtest.MachineConfigServer(ca, w.api.URL, w.token))),
		KubeletFile:   []byte(kubeconfigtest.Kubelet(ca, w.api.URL)),
	}
	for path, text := range m.files {
		m.Write(t, path, text)
	}
	if err := firstOf(os.Chmod(m.At(BootstrapFile), 0o640), os.Chown(m.At(BootstrapFile), 7, 8)); err != nil {
		t.Fatal(err) // an owner that a new file would not have by itself
	}
	started := time.Now().Add(-48 * time.Hour)
	for path := range m.files {
		if err := os.Chtimes(m.At(path), started, started); err != nil {
			t.Fatal(err)
		}
	}
	m.fakeSystemd(t)
	w.Machines[name] = m
	w.names = append(w.names, name)
	return m
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
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

// The fakes know one unit, whose state is in /fake. A restart shows when somebody
// looked twice, as the real one takes three seconds; as for its time, see remembering.
// What the kubelet has in memory is what it read then: /fake/loaded.
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
// as it trusts the server by what it has in memory, found out by a handshake.
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

// Now is a clock that moves on when somebody would wait.
func (w *World) Now() time.Time { return time.Now().Add(time.Duration(w.Skipped.Load())) }

// Sleep passes time without waiting.
func (w *World) Sleep(ctx context.Context, d time.Duration) error {
	w.Skipped.Add(int64(d))
	return context.Cause(ctx)
}

// via is a node that says by which way it was reached.
type via struct{ nodeexec.Node }

func (via) Via() string { return "local" }

// env is what a run on the world acts through, as plugin makes it.
func (w *World) env(t *testing.T, run string, f *faults, paths ...string) *remediate.Env {
	t.Helper()
	e := &remediate.Env{
		Run: run, Now: w.Now, Sleep: w.Sleep,
		Open: func(ctx context.Context, name string) (nodeexec.Node, error) {
			m := w.Machines[name]
			if m == nil {
				return nil, nodeexec.ErrNoWay
			}
			if err := f.open(); err != nil {
				return nil, err
			}
			n, err := nodeexec.Local{Node: name, Root: m.root, Chroot: true}.Dial(ctx, name)
			if err != nil {
				return nil, err
			}
			return f.on(remembering{n, m}), nil
		},
		Facts: func(ctx context.Context, n nodeexec.Node) (inspect.Snapshot, error) {
			return w.read(ctx, n, paths...)
		},
		Heartbeat: func(ctx context.Context, name string) (collect.Heartbeat, error) {
			return w.Machines[name].heartbeat(ctx, name)
		},
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// read reads a node for a plan, or for one that puts a run back.
func (w *World) read(ctx context.Context, n nodeexec.Node, paths ...string) (inspect.Snapshot, error) {
	nodes := collect.Nodes{Scanner: w.scanner, Served: true, Options: gather.Options{Only: true, Texts: true, Paths: append(catalog.KubeletKubeconfigs(), paths...)}}
	facts, _, err := nodes.Read(ctx, collect.NodeObject{Name: n.Name()}, via{n})
	for i := range facts.Nodes {
		facts.Nodes[i].Hostname = n.Name() // in a chroot it is still this machine's
		c := &facts.Nodes[i].Clock         // both clocks are this machine's, however old the answer
		c.Before = c.Sent.Truncate(time.Second)
		c.After = c.Before
		if w.Comeback != nil {
			w.Comeback(&facts.Nodes[i])
		}
	}
	return facts, err
}

// facts are those that a plan is made from: of the API, and of all nodes.
func (w *World) facts(t *testing.T, paths ...string) inspect.Snapshot {
	t.Helper()
	env := w.env(t, "", nil, paths...)
	facts := w.cluster()
	for _, name := range w.names {
		node, err := env.Read(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		h, err := env.Heartbeat(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		node.Nodes[0].Heartbeat, node.Nodes[0].Ready = h.At, h.Ready
		facts = inspect.Merge(facts, node)
	}
	facts.Taken = w.Now()
	facts.Sort()
	return facts
}

// cluster is what the API tells.
func (w *World) cluster() inspect.Snapshot {
	s := inspect.Snapshot{Cluster: inspect.Cluster{Server: w.api.URL, Versions: catalog.Versions{Cluster: "4.15.0"}, Topology: "HighlyAvailable"}}
	add := func(ref catalog.Ref, text []byte) {
		at := pki.Location{Kind: pki.Kind(ref.Kind), Namespace: ref.Namespace, Name: ref.Name, Key: ref.Key}
		o := &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}
		s.Bundles = append(s.Bundles, inspect.Bundle{At: at, Object: o, Content: w.scanner.Scan(text)[0].Content})
	}
	add(catalog.APIServerCA(), w.ConfigMap)
	add(catalog.LoadBalancerSigner(), w.Young.CertPEM)
	leaf := w.api.pair.Load().Certificate[0]
	if c, err := pki.ParseCert(leaf); err == nil {
		ref := catalog.InternalLoadBalancerServing()
		s.Bundles = append(s.Bundles, inspect.Bundle{
			At:     pki.Location{Kind: "Secret", Namespace: ref.Namespace, Name: ref.Name, Key: ref.Key},
			Object: &inspect.Object{Kind: "Secret", Namespace: ref.Namespace, Name: ref.Name}, Content: &pki.Content{Certs: []*pki.Cert{c}},
		})
	}
	return s
}

// run runs a plan, and returns what its journal tells.
func (w *World) run(ctx context.Context, t *testing.T, env *remediate.Env, p *remediate.Plan) (remediate.Story, error) {
	t.Helper()
	return w.runIn(ctx, t, remediate.Journals{Folder: t.TempDir()}, env, p)
}

func (w *World) runIn(ctx context.Context, t *testing.T, js remediate.Journals, env *remediate.Env, p *remediate.Plan) (remediate.Story, error) {
	t.Helper()
	run := remediate.NewRun(w.Now()) // an undo has a journal of its own
	j, err := js.Begin(remediate.Header{Run: run, Nodes: w.names, Started: w.Now()}, w.Now)
	if err != nil {
		t.Fatal(err)
	}
	err = remediate.Runner{Env: env, Journal: j}.Run(ctx, p)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	story, readErr := js.Read(run)
	if readErr != nil {
		t.Fatal(readErr)
	}
	w.secret(t, "the journal", fmt.Sprintf("%+v", story))
	w.secret(t, "the journal", string(rawJournal(js, t)))
	if err != nil {
		w.secret(t, "the error", err.Error(), fmt.Sprintf("%+v", err))
	}
	return story, err
}

// rawJournal are all journals in a folder.
func rawJournal(j remediate.Journals, t *testing.T) (all []byte) {
	t.Helper()
	names, err := filepath.Glob(j.Folder + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return all
}

// secret fails the test where the token of the bootstrap kubeconfigs is in a text.
func (w *World) secret(t *testing.T, what string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		for _, form := range []string{w.token, base64.StdEncoding.EncodeToString([]byte(w.token))[:16], hex.EncodeToString([]byte(w.token))} {
			if strings.Contains(text, form) {
				t.Errorf("%s has the token", what)
			}
		}
	}
}

// After is what a repair makes of a file.
func (m *Machine) After(path string) []byte {
	was := base64.StdEncoding.EncodeToString(m.Before)
	is := base64.StdEncoding.EncodeToString(pkitest.Bundle(m.ConfigMap, m.Old.CertPEM))
	return bytes.Replace(m.files[path], []byte(was), []byte(is), 1)
}

// repaired tells whether a file is as it is to be. It fails the test where it is
// neither that nor what it was.
func (m *Machine) repaired(t *testing.T, path string) bool {
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

// newRoot is a node's file system without the node: a busybox, the libraries that
// it loads, and links for its applets. There is no /proc, so that the shell does
// not find itself there, and takes the programs that are in PATH.
func newRoot(t *testing.T) string {
	t.Helper()
	made := template()
	if made.skip != "" && os.Getenv("CERTROT_REQUIRE_LAB") == "1" {
		t.Fatal("CERTROT_REQUIRE_LAB=1, but " + made.skip)
	} else if made.skip != "" {
		t.Skip(made.skip)
	}
	root, err := os.MkdirTemp(made.dir, "node-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	for path, from := range made.files {
		if err := firstOf(os.MkdirAll(filepath.Dir(root+path), 0o755), os.Link(from, root+path)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range applets() {
		if err := os.Symlink("/bin/busybox", root+"/bin/"+name); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"/tmp", "/usr/bin", "/var/lib", "/dev"} {
		if err := os.MkdirAll(root+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(root+"/dev/null", nil, 0o666); err != nil { // what is written there is not looked at
		t.Fatal(err)
	}
	return root
}

// applets are what the scripts use of a node; chcon and lsattr are not there.
func applets() []string {
	return []string{"sh", "awk", "cat", "chmod", "chown", "chroot", "cp", "cut", "date", "dd", "find", "head", "id", "kill", "ln", "ls", "mkdir", "mktemp", "mv", "nc",
		"od", "printf", "readlink", "rm", "rmdir", "sed", "sha256sum", "sleep", "stat", "sync", "tail", "timeout", "touch", "tr", "true", "uname", "wc"}
}

type rootTemplate struct {
	dir   string
	files map[string]string // path in the node: file in dir
	skip  string
}

// template copies what all nodes share, once: links to it are made in no time.
var template = sync.OnceValue(func() rootTemplate {
	bin, err := exec.LookPath("busybox")
	switch {
	case os.Geteuid() != 0:
		return rootTemplate{skip: "needs root: commands of a node run in a chroot"}
	case err != nil:
		return rootTemplate{skip: "busybox is not installed"}
	}
	made := rootTemplate{files: map[string]string{}}
	if made.dir, err = os.MkdirTemp("", "certrot-remediate-"); err != nil {
		return rootTemplate{skip: err.Error()}
	}
	from := map[string]string{"/bin/busybox": bin}
	if flock, err := exec.LookPath("flock"); err == nil { // many a busybox has none
		from["/bin/flock"] = flock
	}
	for _, program := range slices.Collect(maps.Values(from)) {
		libraries, _ := exec.Command("ldd", program).Output() // none where it is static
		for word := range strings.FieldsSeq(string(libraries)) {
			if strings.HasPrefix(word, "/") {
				from[word] = word
			}
		}
	}
	for path, file := range from {
		made.files[path] = made.dir + "/" + strconv.Itoa(len(made.files))
		data, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(made.files[path], data, 0o755)
		}
		if err != nil {
			return rootTemplate{skip: err.Error()}
		}
	}
	return made
})

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
