package remediatetest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
)

// simulated is a node: what is on its disk, what processes loaded, and
// whether its kubelet's connection works.
type simulated struct {
	*simulation
	name, role string
	gone       bool
	cut        int // questions that do not arrive from now on
	late       int // heartbeats that do not show from now on
	files      map[string][]byte
	cas        map[string][]byte // in files
	modified   map[string]time.Time
	kept       map[string]map[string]*keptFile // by run and path
	started    time.Time
	pid        int
	pending    bool // a restart that systemd was told of
	memory     []byte
	connected  bool
	multus     []byte // the CAs that a thick multus loaded
	multusOn   bool   // and whether it works by its connection
	multusUp   bool   // there is one
	multusAt   time.Time
	multusPod  int
	stuck      bool        // root there lets no new pod of multus get ready, and says that the old process runs on
	cert       *kubeletKey // the kubelet's own
	joins      []byte      // the CAs by which it asks for another one
	asked      int         // how often it did
	askedAt    time.Time
	waits      string // the request whose answer it waits for
	revised    bool   // kube-controller-manager has the CA there
	holder     string // who is at work there
	heldAt     time.Time
	touched    map[string]bool // files that others wrote
}

type keptFile struct {
	before []byte
	wrote  [][32]byte
}

// reboot has all of a node's processes read their files.
func (n *simulated) reboot() {
	n.restart()
	n.holder = ""
	if n.multusUp {
		n.startMultus()
	}
}

func (n *simulated) write(path string, text []byte) {
	ca, _ := n.known.Find(text) // without one, nothing is trusted
	n.files[path], n.cas[path], n.modified[path] = text, ca.PEM, n.clock
}

func (n *simulated) restart() {
	n.askedAt, n.waits = n.clock, "" // its process asks for nothing more
	n.pass(3 * time.Second)
	n.started, n.pid, n.pending = n.clock.Truncate(time.Second), n.pid+1, false
	n.memory, n.joins = n.cas[KubeletFile], n.cas[BootstrapFile]
	n.connected = n.trusts(n.memory) && n.certified()
	if !n.certified() && n.trusts(n.joins) && !n.gone {
		n.ask()
	}
}

// reached reports whether a question arrives at a node.
func (n *simulated) reached() error {
	n.happens()
	if n.cut > 0 {
		n.cut--
		return errSimulated
	}
	if n.gone || n.dead {
		return errSimulated
	}
	return nil
}

func (n *simulated) Name() string         { return n.name }
func (n *simulated) Path(p string) string { return p }
func (n *simulated) Close() error         { return nil }
func (n *simulated) Stream(context.Context, ...string) (nodeexec.Stream, error) {
	return nil, errSimulated
}

// Run answers what host.sh is asked for. Of some answers the end is not seen.
func (n *simulated) Run(_ context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.Index(argv, "certrot")
	op, args := argv[i+2], argv[i+3:]
	if err := n.reached(); err != nil {
		return nil, &nodeexec.RunError{Node: n.name, Argv: argv, Code: -1, Inner: err}
	}
	input, err := io.ReadAll(stdin)
	if err != nil {
		return nil, err
	}
	var lines []string
	n.ours(op+" on "+n.name, func() {
		if n.pending { // systemd is at work meanwhile
			n.restart()
		}
		lines = n.answer(op, args, input)
	})
	if n.faulty && n.rng.IntN(60) == 0 {
		return nil, &nodeexec.RunError{Node: n.name, Argv: argv, Code: -1, Inner: fmt.Errorf("%w: %w", errSimulated, nodeexec.ErrUnknownOutcome)}
	}
	return []byte("certrot-host 1\n" + strings.Join(lines, "\n") + "\nend\n"), nil
}

func (n *simulated) answer(op string, args []string, input []byte) []string {
	const same, changed = "done same", "done changed"
	regular := func(text []byte) string {
		return fmt.Sprintf("%x %d 600 0 0 ?", sha256.Sum256(text), len(text))
	}
	switch op {
	case "look":
		var lines []string
		for _, path := range args {
			lines = append(lines, "file regular "+regular(n.files[path]))
		}
		return append(lines, same)
	case "entries":
		var lines []string
		for path, k := range n.kept[args[1]] {
			var sums []string
			for _, sum := range k.wrote {
				sums = append(sums, fmt.Sprintf("%x", sum))
			}
			lines = append(lines, "entry "+regular(k.before), "path "+path, "after "+strings.Join(sums, " "), "later -")
		}
		if len(lines) == 0 {
			return []string{"fail norun nothing is kept"}
		}
		return append(lines, same)
	case "replace":
		run, path := args[1], args[2]
		now := n.files[path]
		if k := n.kept[run][path]; k != nil && k.wrote[len(k.wrote)-1] == sha256.Sum256(now) {
			return []string{"file regular " + regular(now), same}
		}
		if fmt.Sprintf("%x", sha256.Sum256(now)) != args[3] {
			return []string{"file regular " + regular(now), "fail changed its content is not what was read"}
		}
		offset, _ := strconv.Atoi(args[4])
		length, _ := strconv.Atoi(args[5])
		after := slices.Concat(now[:offset], input, now[offset+length:])
		if n.kept[run] == nil {
			n.kept[run] = map[string]*keptFile{}
		}
		if n.kept[run][path] == nil {
			n.kept[run][path] = &keptFile{before: now}
		}
		n.kept[run][path].wrote = append(n.kept[run][path].wrote, sha256.Sum256(after))
		n.write(path, after)
		return []string{"file regular " + regular(after), changed}
	case "restore":
		k := n.kept[args[1]][args[2]]
		now := n.files[args[2]]
		if bytes.Equal(now, k.before) {
			return []string{"file regular " + regular(now), same}
		}
		if !slices.Contains(k.wrote, sha256.Sum256(now)) { // as host.sh does
			return []string{"file regular " + regular(now), "fail changed it is neither what this run made of it nor what it was before"}
		}
		n.write(args[2], k.before)
		return []string{"file regular " + regular(k.before), changed}
	case "keep":
		if n.holder != "" && n.holder != args[1] && n.holder != args[2] && n.clock.Sub(n.heldAt) < host.HoldTime {
			return []string{fmt.Sprintf("locked %d %s", n.clock.Sub(n.heldAt)/time.Second, n.holder), "fail busy it is locked"}
		}
		n.holder, n.heldAt = args[1], n.clock
		return []string{changed}
	case "release":
		if n.holder == args[1] {
			n.holder = ""
		}
		return []string{changed}
	case "restart":
		n.pending = true
		return []string{changed}
	case "unit":
		at := n.started.UTC().Format("Mon 2006-01-02 15:04:05 UTC")
		return []string{
			fmt.Sprintf("now %d", n.clock.Unix()), "Id=kubelet.service", "LoadState=loaded", "ActiveState=active", "SubState=running", "Result=success",
			fmt.Sprintf("MainPID=%d", n.pid), "ActiveEnterTimestamp=" + at, "NRestarts=0", "NeedDaemonReload=no", same,
		}
	}
	return []string{same} // what changes no file
}

// Dial leads to a kube-apiserver that answers.
func (n *simulated) Dial(context.Context, string, string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.reached(); err != nil {
		return nil, err
	}
	here, there := net.Pipe()
	go func() {
		server := tls.Server(there, &tls.Config{Certificates: []tls.Certificate{n.pair}, MinVersion: tls.VersionTLS12, CurvePreferences: []tls.CurveID{tls.X25519}})
		defer func() { _ = server.Close() }()
		if _, err := http.ReadRequest(bufio.NewReader(server)); err == nil {
			_, _ = io.WriteString(server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
		}
	}()
	return here, nil
}

// snapshot are what reading a node finds.
func (n *simulated) snapshot() inspect.Snapshot {
	yes := true
	node := inspect.Node{
		Name: n.name, Hostname: n.name, Via: "ssh", Role: n.role, Clock: inspect.Clock{Sent: n.clock, Before: n.clock, After: n.clock, Received: n.clock},
		Kubelet: inspect.Kubelet{Active: "active", Sub: "running", Started: n.started, StartedByUptime: n.started, BootstrapConfig: BootstrapFile, Kubeconfig: KubeletFile, RotateCertificates: &yes},
	}
	s := inspect.Snapshot{Served: []inspect.Served{{Node: n.name, Address: APIIntHost + ":6443", Name: APIIntHost, Chain: n.shows}}}
	const field = "clusters[0].cluster.certificate-authority-data"
	for i, path := range catalog.KubeletKubeconfigs() {
		text := n.files[path]
		current := []string{"local", "default-cluster"}[i]
		node.Files = append(node.Files, inspect.NodeFile{Path: path, Mode: 0o600, Size: int64(len(text)), Modified: n.modified[path], Whole: true, SHA256: pki.FingerprintOf(text)})
		node.Kubeconfigs = append(node.Kubeconfigs, inspect.Kubeconfig{Path: path, Users: 1, Current: current, Text: text,
			Clusters: []inspect.KubeconfigCluster{{Name: current, Server: "https://" + APIIntHost + ":6443", CAData: true, Field: field}}})
		s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: n.name, Path: path, Field: field}, Content: &pki.Content{Certs: pki.LoadedPEM(n.known.Certs, n.cas[path])}})
	}
	s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: n.name, Path: inspect.KubeletClient}, Content: &pki.Content{Certs: []*pki.Cert{n.cert.cert}}})
	s.Nodes = []inspect.Node{node}
	return s
}

func (n *simulated) heartbeat() collect.Heartbeat {
	if n.late > 0 {
		n.late--
		return collect.Heartbeat{At: TestNow.Add(-time.Hour), Ready: "Unknown"}
	}
	if n.connected {
		return collect.Heartbeat{At: n.clock, Ready: "True"}
	}
	return collect.Heartbeat{At: TestNow.Add(-time.Hour), Ready: "Unknown"}
}
