package collect

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestReadServerLog reads lines as they were seen, and such as are none.
func TestReadServerLog(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time { return time.Date(2024, 1, 31, 9, 0, second, 500_000_000, time.UTC) }
	text := gatheredLog(
		"I0131 09:00:00.500000      17 log.go:32] http: TLS handshake error from 10.0.1.5:43210: remote error: tls: bad certificate",
		"http: TLS handshake error from 10.0.1.5:43211: EOF",
		`{"ts":1,"msg":"http: TLS handshake error from [fd00::7]:1: remote error: tls: unknown certificate authority\n"}`,
		"http: TLS handshake error from 10.0.1.5:43212: remote error: tls: bad certificate",
		"http: TLS handshake error from 10.0.1.5:43213: remote error: tls: protocol version not supported",
		"http: TLS handshake error from 10.0.1.6:43213: tls: failed to verify certificate: x509: of a client",
		"http: TLS handshake error from token.eyJhbGci:1: remote error: tls: bad certificate",
		"http: TLS handshake error from 999.0.0.1:1: remote error: tls: bad certificate",
		"http: TLS handshake error from ::ffff:10.0.1.9:1: remote error: tls: expired certificate",
		`I0131 09:00:00.5      17 httplog.go:134] "HTTP" verb="GET" userAgent="http: TLS handshake error from 10.0.1.10:1: remote error: tls: bad certificate" resp=200`,
		`{"msg":"HTTP","userAgent":"\"msg\":\"http: TLS handshake error from 10.0.1.10:1: remote error: tls: bad certificate"}`,
		strings.Repeat("x", 100_000)+"http: TLS handshake error from 10.0.1.7:1: remote error: tls: bad certificate",
		"the end",
	)
	var l inspect.ServerLog
	if err := readServerLog(strings.NewReader(text), &l); err != nil {
		t.Fatal(err)
	}
	want := []inspect.Refused{
		{Client: "10.0.1.5", Reason: "bad certificate", Count: 2, First: at(0), Last: at(3)},
		{Client: "fd00::7", Reason: "unknown certificate authority", Count: 1, First: at(2), Last: at(2)},
		{Client: "10.0.1.9", Reason: "expired certificate", Count: 1, First: at(8), Last: at(8)},
	}
	if !reflect.DeepEqual(l.Refused, want) || !l.From.Equal(at(0)) || !l.To.Equal(at(12)) {
		t.Errorf("got %+v", l)
	}
}

// TestReadServerLogOfACrowd: where more clients refuse than are kept, those stay that refused
// last. The program that runs on nodes keeps the same (TestClientsThatRefuse of gather).
func TestReadServerLogOfACrowd(t *testing.T) {
	t.Parallel()
	begin := time.Date(2024, 1, 31, 9, 0, 0, 0, time.UTC)
	var text strings.Builder
	lines := 0
	refuse := func(client string) {
		fmt.Fprintf(&text, "%s http: TLS handshake error from %s:1: remote error: tls: bad certificate\n", begin.Add(time.Duration(lines)*time.Second).Format(time.RFC3339), client)
		lines++
	}
	for i := range 300 {
		if i%50 == 0 {
			refuse("10.0.1.5")
		}
		refuse(fmt.Sprintf("10.9.%d.%d", i/200, i%200))
	}
	var l inspect.ServerLog
	if err := readServerLog(strings.NewReader(text.String()), &l); err != nil {
		t.Fatal(err)
	}
	if !l.LeftOut || len(l.Refused) != 200 {
		t.Fatalf("%d clients, left out: %t", len(l.Refused), l.LeftOut)
	}
	slices.SortFunc(l.Refused, func(a, b inspect.Refused) int { return a.Last.Compare(b.Last) })
	for i, r := range l.Refused[:148] {
		if want := fmt.Sprintf("10.9.%d.%d", (i+101)/200, (i+101)%200); r.Client != want {
			t.Errorf("client %d is %s, want %s", i, r.Client, want)
		}
	}
	if r := l.Refused[149]; r.Client != "10.0.1.5" || r.Count != 6 || !r.First.Equal(begin) || !r.Last.Equal(begin.Add(255*time.Second)) {
		t.Errorf("got %+v", r)
	}
}

// TestWhatServersWrite holds the pattern against what Go's server writes today when a
// client does not trust it.
func TestWhatServersWrite(t *testing.T) {
	t.Parallel()
	lines := make(firstLine, 1)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(lines, "", 0)
	server.StartTLS()
	defer server.Close()
	conn, err := tls.Dial("tcp", server.Listener.Addr().String(), &tls.Config{ServerName: "example.com", MinVersion: tls.VersionTLS12})
	if err == nil {
		_ = conn.Close()
		t.Fatal("a client that has no CA trusts the server")
	}
	var text string
	select {
	case text = <-lines:
	case <-t.Context().Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the server has written nothing")
	}
	var l inspect.ServerLog
	if err := readServerLog(strings.NewReader(text), &l); err != nil {
		t.Fatal(err)
	}
	if len(l.Refused) != 1 || !netip.MustParseAddr(l.Refused[0].Client).IsLoopback() || l.Refused[0].Reason == "" {
		t.Errorf("of %q: %+v", text, l.Refused)
	}
}

func TestServerLogsInAMustGather(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"mg/img/namespaces/openshift-kube-apiserver/pods/kube-apiserver-m1/kube-apiserver/kube-apiserver/logs/current.log":                       "apiserver-refused",
		"namespaces/openshift-machine-config-operator/pods/machine-config-server-x/machine-config-server/machine-config-server/logs/current.log": "config-server-refused",
		"namespaces/openshift-kube-apiserver/pods/kube-apiserver-m1/kube-apiserver/kube-apiserver/logs/previous.log":                             "",
		"namespaces/openshift-kube-apiserver/pods/kube-apiserver-guard-m1/guard/guard/logs/current.log":                                          "",
		"namespaces/team/pods/kube-apiserver-m1/kube-apiserver/kube-apiserver/logs/current.log":                                                  "",
	} {
		row, ok := serverLogIn(name)
		if row.ID != want || ok != (want != "") {
			t.Errorf("%s: %q", name, row.ID)
		}
	}
}

func TestSnapshotKeepsServerLogs(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 1, 31, 9, 0, 0, 0, time.UTC)
	want := []inspect.ServerLog{{
		At: pki.Location{Kind: pki.KindFile, Node: "m1", Path: "/var/log/pods/x/0.log"}, Row: "apiserver-refused", From: at, To: at.Add(time.Hour),
		Refused: []inspect.Refused{{Client: "10.0.1.5", Reason: "bad certificate", Count: 3, First: at, Last: at.Add(time.Minute)}},
	}, {
		At: pki.Location{Kind: pki.KindFile, Node: "m1", Path: "/var/log/pods/x/1.log"}, Row: "apiserver-refused", From: at, To: at.Add(time.Hour), LeftOut: true,
	}}
	nodes := []inspect.Node{{Name: "m1", Via: "ssh", Reached: "10.0.1.5", Addresses: []string{"10.0.1.5", "m1"}, PodNetworks: []string{"10.128.0.0/23"}, Processes: []inspect.Process{inspecttest.Process("multus-daemon", at)}, AllProcesses: true}}
	var file bytes.Buffer
	if err := WriteSnapshot(&file, inspect.Snapshot{Taken: at, ServerLogs: want, Nodes: nodes}); err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/s"
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := File{Path: path, Scanner: pki.NewScanner()}.Read()
	if err != nil || !reflect.DeepEqual(got.ServerLogs, want) || !reflect.DeepEqual(got.Nodes, nodes) {
		t.Errorf("got %+v, %+v, %v", got.ServerLogs, got.Nodes, err)
	}
}

func FuzzServerLog(f *testing.F) {
	f.Add([]byte(gatheredLog("http: TLS handshake error from [fd00::7]:1: remote error: tls: bad certificate")))
	f.Fuzz(func(t *testing.T, text []byte) {
		var l inspect.ServerLog
		if err := readServerLog(strings.NewReader(string(text)), &l); err != nil {
			t.Fatal(err)
		}
		for _, r := range l.Refused {
			if _, err := netip.ParseAddr(r.Client); err != nil || r.Count < 1 || strings.Trim(r.Reason, "abcdefghijklmnopqrstuvwxyz ") != "" {
				t.Errorf("%+v", r)
			}
		}
	})
}

// firstLine is of what a server writes into its log.
type firstLine chan string

func (w firstLine) Write(p []byte) (int, error) {
	select {
	case w <- string(p):
	default:
	}
	return len(p), nil
}
