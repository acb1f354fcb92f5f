package remediate

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
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
)

// The two files, as catalog.KubeletKubeconfigs has them.
// testNow is the time of plans that are made of fixtures.
var testNow = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

const (
	bootstrapFile = "/etc/kubernetes/kubeconfig"
	kubeletFile   = "/var/lib/kubelet/kubeconfig"
)

// incident are the CAs of okd-project/okd#1881: api-int's signer was replaced, and
// kubelets trust the old one alone.
type incident struct {
	old, young, localhost, service *pkitest.Authority
	configMap                      []byte // what kubelets are to trust
	before                         []byte // what they do
}

func newIncident(now time.Time) incident {
	return newIncidentBetween(now.Add(-24*time.Hour), now.Add(24*time.Hour))
}

func newIncidentBetween(from, to time.Time) incident {
	in := incident{
		old:       pkitest.NewCA("kube-apiserver-lb-signer", from, to),
		young:     pkitest.NewCA("loadbalancer-serving-signer", from, to),
		localhost: pkitest.NewCA("kube-apiserver-localhost-signer", from, to),
		service:   pkitest.NewCA("kube-apiserver-service-network-signer", from, to),
	}
	in.configMap = pkitest.Bundle(in.young.CertPEM, in.localhost.CertPEM, in.service.CertPEM)
	in.before = pkitest.Bundle(in.old.CertPEM, in.localhost.CertPEM, in.service.CertPEM)
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

// world is a cluster of nodes: folders with a busybox, that commands chroot into,
// and a fake of systemd and of the kubelet. What is changed there is changed by
// the real script in a real shell, and what is shown there is shown by a real
// server.
type world struct {
	incident
	api      *apiServer
	machines map[string]*machine
	names    []string
	token    string // in the bootstrap kubeconfigs
	scanner  *pki.Scanner
	answers  *sync.Map             // see remembering
	epoch    time.Time             // see remembering
	comeback func(n *inspect.Node) // what a node's kubelet would be told; nil: that is not asked
	skipped  atomic.Int64          // how far time was moved on in place of waiting
}

// machine is a node.
type machine struct {
	*world
	name, root string
	files      map[string][]byte // as they were
}

func newWorld(t *testing.T, names ...string) *world {
	t.Helper()
	in := newIncident(time.Now())
	w := newWorldBy(in, newAPIServer(t, in.young))
	if len(names) == 0 {
		names = []string{"worker-0"}
	}
	for _, n := range names {
		w.add(t, n)
	}
	return w
}

// newWorldBy is a world without nodes.
func newWorldBy(in incident, api *apiServer) *world {
	w := &world{incident: in, api: api, machines: map[string]*machine{}, scanner: pki.NewScanner(), answers: &sync.Map{}, epoch: time.Now().Truncate(time.Second)}
	var b [24]byte
	_, _ = rand.Read(b[:])
	w.token = "sesame-" + hex.EncodeToString(b[:])
	return w
}

func (w *world) add(t *testing.T, name string) *machine {
	t.Helper()
	m := &machine{world: w, name: name, root: newRoot(t)}
	ca := base64.StdEncoding.EncodeToString(w.before)
	m.files = map[string][]byte{
		bootstrapFile: []byte(kubeconfigtest.Older(kubeconfigtest.MachineConfigServer(ca, w.api.URL, w.token))),
		kubeletFile:   []byte(kubeconfigtest.Kubelet(ca, w.api.URL)),
	}
	for path, text := range m.files {
		m.write(t, path, text)
	}
	if err := firstOf(os.Chmod(m.at(bootstrapFile), 0o640), os.Chown(m.at(bootstrapFile), 7, 8)); err != nil {
		t.Fatal(err) // an owner that a new file would not have by itself
	}
	started := time.Now().Add(-48 * time.Hour)
	for path := range m.files {
		if err := os.Chtimes(m.at(path), started, started); err != nil {
			t.Fatal(err)
		}
	}
	m.fakeSystemd(t)
	w.machines[name] = m
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

func (m *machine) at(path string) string { return m.root + path }

func (m *machine) write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := firstOf(os.MkdirAll(filepath.Dir(m.at(path)), 0o755), os.WriteFile(m.at(path), text, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// read is a file of the node; nil where it is not there.
func (m *machine) read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(m.at(path))
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

func (m *machine) fakeSystemd(t *testing.T) {
	t.Helper()
	at := time.Now().Add(-24 * time.Hour)
	started := at.UTC().Format("Mon 2006-01-02 15:04:05 UTC")
	cmdline := []byte("/usr/bin/kubelet\x00--bootstrap-kubeconfig=" + bootstrapFile + "\x00--kubeconfig=" + kubeletFile + "\x00")
	for path, text := range map[string]string{
		"/usr/bin/systemctl": fakeSystemctl, "/usr/bin/systemd-run": fakeSystemdRun, "/fake/restart": fakeRestart, "/fake/mode": "normal\n",
		"/fake/epoch":    fmt.Sprintln(m.epoch.Unix()),
		"/fake/loaded":   string(m.files[kubeletFile]),
		"/fake/template": kubeconfigtest.Kubelet("CA-DATA", m.api.URL),
		"/fake/shown": "Id=kubelet.service\nLoadState=loaded\nActiveState=active\nSubState=running\nResult=success\nMainPID=1000\n" +
			"ActiveEnterTimestamp=" + started + "\nExecMainStartTimestamp=" + started + "\nNRestarts=0\nNeedDaemonReload=no\n",
		"/fake/cmdline": string(cmdline), "/proc/1000/cmdline": string(cmdline),
		// As if it was booted when Unix' time began.
		"/proc/stat": "btime 0\n", "/proc/1000/stat": fmt.Sprintf("1000 (kubelet) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d00 0\n", at.Unix()),
	} {
		m.write(t, path, []byte(text))
	}
	if err := firstOf(os.Chmod(m.at("/usr/bin/systemctl"), 0o755), os.Chmod(m.at("/usr/bin/systemd-run"), 0o755)); err != nil {
		t.Fatal(err)
	}
}

// restarts is how often the fake kubelet was restarted.
func (m *machine) restarts(t *testing.T) int {
	t.Helper()
	return bytes.Count(m.read(t, "/fake/restarts"), []byte("\n"))
}

// started is when the fake kubelet was started last.
func (m *machine) started(t *testing.T) time.Time {
	t.Helper()
	_, text, _ := strings.Cut(string(m.read(t, "/fake/shown")), "\nExecMainStartTimestamp=")
	text, _, _ = strings.Cut(text, "\n")
	at, err := time.Parse("Mon 2006-01-02 15:04:05 UTC", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// asked is how often systemd was told to restart it.
func (m *machine) asked(t *testing.T) int {
	t.Helper()
	return bytes.Count(m.read(t, "/fake/asked"), []byte("\n"))
}

func (m *machine) mode(t *testing.T, mode string) { m.write(t, "/fake/mode", []byte(mode+"\n")) }

// heartbeat is what the API server knows of the node: its kubelet reports as long
// as it trusts the server by what it has in memory, found out by a handshake.
func (m *machine) heartbeat(context.Context, string) (collect.Heartbeat, error) {
	lost := collect.Heartbeat{At: time.Now().Add(-25 * time.Hour), Ready: "Unknown"}
	shown, err := os.ReadFile(m.at("/fake/shown"))
	if err != nil {
		return lost, err
	}
	_, text, _ := strings.Cut(string(shown), "\nActiveEnterTimestamp=")
	text, _, _ = strings.Cut(text, "\n")
	entered, err := time.Parse("Mon 2006-01-02 15:04:05 UTC", text)
	if err != nil || !bytes.Contains(shown, []byte("\nActiveState=active\n")) {
		return lost, err
	}
	if mode, _ := os.ReadFile(m.at("/fake/mode")); string(mode) == "late\n" {
		return lost, nil
	}
	config, err := clientcmd.LoadFromFile(m.at("/fake/loaded"))
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

// now is a clock that moves on when somebody would wait.
func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.skipped.Load())) }

func (w *world) sleep(ctx context.Context, d time.Duration) error {
	w.skipped.Add(int64(d))
	return context.Cause(ctx)
}

// via is a node that says by which way it was reached.
type via struct{ nodeexec.Node }

func (via) Via() string { return "local" }

// env is what a run on the world acts through, as plugin makes it.
func (w *world) env(t *testing.T, run string, f *faults, paths ...string) *Env {
	t.Helper()
	e := &Env{
		Run: run, Now: w.now, Sleep: w.sleep,
		Open: func(ctx context.Context, name string) (nodeexec.Node, error) {
			m := w.machines[name]
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
			return w.machines[name].heartbeat(ctx, name)
		},
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// read reads a node for a plan, or for one that puts a run back.
func (w *world) read(ctx context.Context, n nodeexec.Node, paths ...string) (inspect.Snapshot, error) {
	nodes := collect.Nodes{Scanner: w.scanner, Served: true, Options: gather.Options{Only: true, Texts: true, Paths: append(catalog.KubeletKubeconfigs(), paths...)}}
	facts, _, err := nodes.Read(ctx, collect.NodeObject{Name: n.Name()}, via{n})
	for i := range facts.Nodes {
		facts.Nodes[i].Hostname = n.Name() // in a chroot it is still this machine's
		c := &facts.Nodes[i].Clock         // both clocks are this machine's, however old the answer
		c.Before = c.Sent.Truncate(time.Second)
		c.After = c.Before
		if w.comeback != nil {
			w.comeback(&facts.Nodes[i])
		}
	}
	return facts, err
}

// facts are those that a plan is made from: of the API, and of all nodes.
func (w *world) facts(t *testing.T, paths ...string) inspect.Snapshot {
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
	facts.Taken = w.now()
	facts.Sort()
	return facts
}

// cluster is what the API tells.
func (w *world) cluster() inspect.Snapshot {
	s := inspect.Snapshot{Cluster: inspect.Cluster{Server: w.api.URL, Versions: catalog.Versions{Cluster: "4.15.0"}, Topology: "HighlyAvailable"}}
	add := func(ref catalog.Ref, text []byte) {
		at := pki.Location{Kind: pki.Kind(ref.Kind), Namespace: ref.Namespace, Name: ref.Name, Key: ref.Key}
		o := &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}
		s.Bundles = append(s.Bundles, inspect.Bundle{At: at, Object: o, Content: w.scanner.Scan(text)[0].Content})
	}
	add(catalog.APIServerCA(), w.configMap)
	add(catalog.LoadBalancerSigner(), w.young.CertPEM)
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

// repair plans what mends the world.
func (w *world) repair(t *testing.T, run string) *Plan {
	t.Helper()
	p, err := w.fix().Plan(run, w.facts(t), w.now())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *world) fix() APIInt {
	return APIInt{Nodes: w.names, CA: w.configMap, From: catalog.APIServerCA().String(), API: true}
}

// run runs a plan, and returns what its journal tells.
func (w *world) run(ctx context.Context, t *testing.T, env *Env, p *Plan) (Story, error) {
	t.Helper()
	return w.runIn(ctx, t, Journals{Folder: t.TempDir()}, env, p)
}

func (w *world) runIn(ctx context.Context, t *testing.T, js Journals, env *Env, p *Plan) (Story, error) {
	t.Helper()
	run := NewRun(w.now()) // an undo has a journal of its own
	j, err := js.Begin(Header{Run: run, Nodes: w.names, Started: w.now()}, w.now)
	if err != nil {
		t.Fatal(err)
	}
	err = Runner{Env: env, Journal: j}.Run(ctx, p)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	story, readErr := js.Read(run)
	if readErr != nil {
		t.Fatal(readErr)
	}
	w.secret(t, "the journal", fmt.Sprintf("%+v", story))
	w.secret(t, "the journal", string(js.raw(t)))
	if err != nil {
		w.secret(t, "the error", err.Error(), fmt.Sprintf("%+v", err))
	}
	return story, err
}

// raw are all journals in a folder.
func (j Journals) raw(t *testing.T) (all []byte) {
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
func (w *world) secret(t *testing.T, what string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		for _, form := range []string{w.token, base64.StdEncoding.EncodeToString([]byte(w.token))[:16], hex.EncodeToString([]byte(w.token))} {
			if strings.Contains(text, form) {
				t.Errorf("%s has the token", what)
			}
		}
	}
}

// after is what a repair makes of a file.
func (m *machine) after(path string) []byte {
	was := base64.StdEncoding.EncodeToString(m.before)
	is := base64.StdEncoding.EncodeToString(pkitest.Bundle(m.configMap, m.old.CertPEM))
	return bytes.Replace(m.files[path], []byte(was), []byte(is), 1)
}

// repaired tells whether a file is as it is to be. It fails the test where it is
// neither that nor what it was.
func (m *machine) repaired(t *testing.T, path string) bool {
	t.Helper()
	switch now := m.read(t, path); {
	case bytes.Equal(now, m.after(path)):
		return true
	case !bytes.Equal(now, m.files[path]):
		t.Errorf("%s on %s is neither before nor after: %d bytes", path, m.name, len(now))
	}
	return false
}

// original fails the test unless bytes, modes and owners are those from before.
func (m *machine) original(t *testing.T) {
	t.Helper()
	for _, path := range catalog.KubeletKubeconfigs() {
		if !bytes.Equal(m.read(t, path), m.files[path]) {
			t.Errorf("%s has not the bytes that it had", path)
		}
	}
	m.dressed(t)
}

func (m *machine) dressed(t *testing.T) {
	t.Helper()
	for path, want := range map[string]string{bootstrapFile: "-rw-r----- 7:8", kubeletFile: "-rw------- 0:0"} {
		info, err := os.Lstat(m.at(path))
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

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Geteuid() == 0 {
		_ = os.RemoveAll(template().dir)
	}
	os.Exit(code)
}

// leftovers are what unfinished writes left on a node.
func (m *machine) leftovers(t *testing.T) []string {
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
