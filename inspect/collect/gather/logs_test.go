package gather

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// jwt makes a token as service accounts have them.
func (s *secrets) jwt() string {
	part := func(begin string, n int) string {
		raw := make([]byte, n)
		_, _ = rand.Read(raw)
		text := base64.RawURLEncoding.EncodeToString(raw)
		s.all = append(s.all, []byte(text))
		return begin + text
	}
	return part("eyJ", 81) + "." + part("eyJ", 300) + "." + part("", 256)
}

const daemonLogs = "/var/log/pods/openshift-machine-config-operator_machine-config-daemon-x7k2p_6f1d/machine-config-daemon/"

// runtimeLog is text as a container runtime writes it: a line each second, in pieces
// where it is longer than at.
func runtimeLog(text string, at int) string {
	var b strings.Builder
	when := time.Date(2026, 2, 3, 4, 5, 0, 123456789, time.UTC)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		stamp := when.Format("2006-01-02T15:04:05.000000000-07:00") + " stderr "
		for ; len(line) > at; line = line[at:] {
			b.WriteString(stamp + "P " + line[:at] + "\n")
		}
		b.WriteString(stamp + "F " + line + "\n")
		when = when.Add(time.Second)
	}
	return b.String()
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	if _, err := zw.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestLogsAreCountedAndStay: of lines with tokens, the node tells where they are.
func TestLogsAreCountedAndStay(t *testing.T) {
	t.Parallel()
	id := newIdentity()
	var s secrets
	s.key(id.client)
	written := func(user string) string { // by a daemon of 4.16, klog's %s of a file
		return "I0203 04:05:06.1 4014 certificate_writer.go:303] Certificate was synced from controllerconfig resourceVersion 23344\n" +
			"I0203 04:05:07.1 4014 certificate_writer.go:233] Writing new Data to /etc/kubernetes/kubeconfig: " + strings.ReplaceAll(bootstrap(id.ca.CertPEM, "@"), "    token: @", user) +
			"I0203 04:05:08.1 4014 update.go:2118] restarting kubelet due to server-ca rotation\n"
	}
	escaped := func(text string) string { return strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(text) + "\n" }
	key := "    client-key-data: " + base64.StdEncoding.EncodeToString(id.client.KeyPEM)
	plainLog := runtimeLog(written("    token: "+s.jwt()), 8192)
	type count struct{ tokens, keys int }
	want := map[string]count{}
	files := map[string]string{}
	add := func(name, text string, tokens, keys int) {
		files[daemonLogs+name] = text
		if tokens+keys > 0 {
			want[daemonLogs+strings.Split(name, " ")[0]] = count{tokens, keys}
		}
	}
	add("0.log", plainLog, 1, 0)
	add("1.log", runtimeLog(written("    token: "+s.jwt())+strings.Repeat(written("    token: "+s.jwt()), 3), 8192), 4, 0)
	add("2.log", runtimeLog(written(key), 8192), 0, 1)
	add("3.log", runtimeLog(escaped(written("    token: "+s.jwt())), 8192), 1, 0)
	add("4.log", runtimeLog("could not read {\"users\":[{\"user\":{\"token\":\""+s.jwt()+"\"}}]}\n"+escaped("{\"token\": \""+s.jwt()+"\"}"), 8192), 2, 0)
	add("5.log", written("    token: "+s.jwt()), 1, 0) // without times
	add("6.log", runtimeLog(written("    token: xxxxxxxx"), 8192)+"token: eyJhb.eyJ\ntoken: <masked>\n", 0, 0)
	add("7.log", runtimeLog("Bearer "+s.token()+"\n", 8192), 0, 0)
	for at := 1; at < 90; at += 22 { // cut anywhere
		add(fmt.Sprintf("cut%d.log", at), runtimeLog(written("    token: "+s.jwt()), at), 1, 0)
	}
	add("0.log.20260203-040506.gz", packed(t, plainLog), 1, 0)
	add("0.log.20260203-040507.gz", packed(t, plainLog)[:200], 0, 0)
	add("linked.log -> /var/lib/logs/far.log", "", 1, 0)
	files["/var/lib/logs/far.log"] = runtimeLog(written("    token: "+s.jwt()), 8192)
	add("dangling.log -> /none", "", 0, 0)
	add("dir.log/", "", 0, 0)
	files["/var/log/pods/openshift-dns_dns-default-1_2/dns/0.log"] = plainLog
	files["/var/log/pods/openshift-machine-config-operator_machine-config-daemon-x7k2p_6f1d/kube-rbac-proxy/0.log"] = plainLog
	root := newRoot(t)
	tree(t, root, files)
	if err := os.Chmod(root+daemonLogs+"0.log", 0o640); err != nil {
		t.Fatal(err)
	}
	everywhere(t, func(t *testing.T, w world) {
		n, r := w.read(t, root, Options{})
		for _, leak := range s.leaks(t, n.raw) {
			t.Error(leak)
		}
		got := map[string]Log{}
		for _, l := range r.Logs {
			got[l.Path] = l
		}
		gzip := w.path == "" || has(w.path, "gzip")
		for name, c := range want {
			if l := got[name]; !strings.HasSuffix(name, ".gz") && (l.Tokens != c.tokens || l.Keys != c.keys) || gzip && l.Tokens != c.tokens {
				t.Errorf("%s: %+v, want %+v", name, l, c)
			}
			delete(got, name)
		}
		if len(got) > 0 {
			t.Errorf("logs that hold nothing: %+v", got)
		}
		first := time.Date(2026, 2, 3, 4, 5, 15, 123456789, time.UTC)
		last := first.Add(3 * 17 * time.Second)
		for _, l := range r.Logs {
			switch l.Path {
			case daemonLogs + "0.log":
				if l.Mode != fs.FileMode(0o640) || !l.First.Equal(first) || !l.Last.Equal(first) {
					t.Errorf("%+v, want mode 0640 and %s", l, first)
				}
			case daemonLogs + "1.log":
				if !l.First.Equal(first) || !l.Last.Equal(last) {
					t.Errorf("%+v", l)
				}
			case daemonLogs + "5.log":
				if !l.First.IsZero() || !l.Last.IsZero() {
					t.Errorf("a log without times: %+v", l)
				}
			}
		}
		if !says(r, map[bool]string{true: "only its first part was read", false: "there is no gzip"}[gzip]) {
			t.Errorf("gaps: %+v", r.Gaps)
		}
		facts := facts(t, r, "worker-3")
		if len(facts.Exposed) != len(r.Logs) || facts.Exposed[0].At.Node != "worker-3" {
			t.Errorf("facts: %+v", facts.Exposed)
		}
		if _, r = w.read(t, root, Options{Only: true, Paths: []string{"/etc"}}); len(r.Logs) > 0 || says(r, "not searched") {
			t.Errorf("nobody asked: %+v, %+v", r.Logs, r.Gaps)
		}
	})
	t.Run("and the test can find something", func(t *testing.T) {
		w := shell("dash", "dash")
		if w.skip != "" {
			t.Skip(w.skip)
		}
		stdin, argv, err := buildProgram(root, Options{})
		if err != nil {
			t.Fatal(err)
		}
		n := &node{world: w, root: root, stdin: []byte(strings.Replace(stdin, "last = moment(line)", "last = line", 1))}
		if out, err := n.Run(t.Context(), nil, argv...); err != nil || len(s.leaks(t, out)) == 0 {
			t.Errorf("a line that leaves is not found: %v", err)
		}
	})
}

func TestLogsThatAreNotSearchedAreGaps(t *testing.T) {
	t.Parallel()
	var s secrets
	root := newRoot(t)
	line := runtimeLog("    token: "+s.jwt()+"\n", 8192)
	files := map[string]string{daemonLogs + "a.log": line + strings.Repeat(strings.Repeat("x", 127)+"\n", 17<<20/128), daemonLogs + "b.log": line}
	tree(t, root, files)
	somewhere(t, func(t *testing.T, w world) {
		n, r := w.read(t, root, Options{})
		if len(r.Logs) != 1 || r.Logs[0].Path != daemonLogs+"a.log" || !says(r, "only its first part was read") || !says(r, "enough was read of other logs") {
			t.Errorf("logs %+v, gaps %+v", r.Logs, r.Gaps)
		}
		t.Logf("16 MiB: %s", n.timed)
	})
	other := newRoot(t)
	tree(t, other, map[string]string{daemonLogs + "a.log": line})
	if err := os.Chmod(other+daemonLogs+"a.log", 0); err != nil {
		t.Fatal(err)
	}
	somewhere(t, func(t *testing.T, w world) {
		if os.Getuid() == 0 {
			w.uid = 65534
		}
		if _, r := w.read(t, other, Options{}); len(r.Logs) != 0 || !says(r, "not searched for tokens: not readable") {
			t.Errorf("logs %+v, gaps %+v", r.Logs, r.Gaps)
		}
	})
}

// TestClientsThatRefuse counts them on the node; nothing else of a line leaves it.
func TestClientsThatRefuse(t *testing.T) {
	t.Parallel()
	var s secrets
	const pod = "/var/log/pods/openshift-kube-apiserver_kube-apiserver-m1_1f2e/kube-apiserver/"
	const refused = "TLS handshake error from "
	text := "I0203 04:05:00.1      17 log.go:32] http: " + refused + "10.0.1.5:43210: remote error: tls: bad certificate\n" +
		"http: " + refused + "10.0.1.5:43211: EOF\n" +
		"{\"msg\":\"http: " + refused + "[fd00::7]:1: remote error: tls: unknown certificate authority\\n\"}\n" +
		"http: " + refused + "10.0.1.5:43212: remote error: tls: bad certificate\n" +
		"http: " + refused + "10.0.1.5:43213: remote error: tls: protocol version not supported\n" +
		"http: " + refused + s.jwt() + ":1: remote error: tls: bad certificate\n" +
		"http: " + refused + "10.0.1.8:1: remote error: tls: bad certificate " + s.jwt() + "\n" +
		"token: " + s.jwt() + "\n" +
		"I0203 04:05:00.1      17 httplog.go:134] \"HTTP\" verb=\"GET\" userAgent=\"http: " + refused + "10.0.1.10:1: remote error: tls: bad certificate\" resp=200\n" +
		`{"msg":"HTTP","userAgent":"\"msg\":\"http: ` + refused + `10.0.1.10:1: remote error: tls: bad certificate"}` + "\n"
	var crowd, among strings.Builder
	for i := range 300 {
		fmt.Fprintf(&crowd, "http: %s10.9.%d.%d:1: remote error: tls: bad certificate\n", refused, i/200, i%200)
		if i%50 == 0 {
			fmt.Fprintf(&among, "http: %s10.0.1.5:1: remote error: tls: bad certificate\n", refused)
		}
		fmt.Fprintf(&among, "http: %s10.9.%d.%d:1: remote error: tls: bad certificate\n", refused, i/200, i%200)
	}
	root := newRoot(t)
	tree(t, root, map[string]string{
		pod + "0.log":                    runtimeLog(text, 8192),
		pod + "1.log":                    runtimeLog(crowd.String(), 8192),
		pod + "2.log":                    "no times, nothing refused\n",
		pod + "3.log":                    "",
		pod + "4.log":                    runtimeLog(among.String(), 8192),
		pod + "0.log.20260203-040506.gz": packed(t, runtimeLog(text, 8192)),
		"/var/log/pods/team_kube-apiserver-m1_1f2e/kube-apiserver/0.log": runtimeLog(text, 8192),
	})
	begin := time.Date(2026, 2, 3, 4, 5, 0, 123456789, time.UTC)
	second := func(n int) time.Time { return begin.Add(time.Duration(n) * time.Second) }
	everywhere(t, func(t *testing.T, w world) {
		n, r := w.read(t, root, Options{})
		for _, leak := range s.leaks(t, n.raw) {
			t.Error(leak)
		}
		logs := map[string]ServerLog{}
		for _, l := range r.ServerLogs {
			logs[strings.TrimPrefix(l.Path, pod)] = l
		}
		if len(logs) != 5 {
			t.Fatalf("logs: %+v, gaps: %+v", r.ServerLogs, r.Gaps)
		}
		want := []Refused{
			{netip.MustParseAddr("10.0.1.5"), "bad certificate", 2, second(0), second(3)},
			{netip.MustParseAddr("fd00::7"), "unknown certificate authority", 1, second(2), second(2)},
		}
		if l := logs["0.log"]; !slices.Equal(l.Refused, want) || l.LeftOut || !l.From.Equal(second(0)) || !l.To.Equal(second(9)) {
			t.Errorf("got %+v", l)
		}
		if l := logs["1.log"]; len(l.Refused) != 200 || !l.LeftOut || !l.To.Equal(second(299)) {
			t.Errorf("%d clients, left out: %t, up to %s", len(l.Refused), l.LeftOut, l.To)
		}
		// The same as in TestReadServerLogOfACrowd of collect.
		l := logs["4.log"]
		if !l.LeftOut || len(l.Refused) != 200 {
			t.Fatalf("%d clients, left out: %t", len(l.Refused), l.LeftOut)
		}
		slices.SortFunc(l.Refused, func(a, b Refused) int { return a.Last.Compare(b.Last) })
		for i, r := range l.Refused[:148] {
			if want := fmt.Sprintf("10.9.%d.%d", (i+101)/200, (i+101)%200); r.Client.String() != want {
				t.Errorf("client %d is %s, want %s", i, r.Client, want)
			}
		}
		if want := (Refused{netip.MustParseAddr("10.0.1.5"), "bad certificate", 6, second(0), second(255)}); l.Refused[149] != want {
			t.Errorf("got %+v", l.Refused[149])
		}
		if l := logs["2.log"]; len(l.Refused) != 0 || !l.To.IsZero() {
			t.Errorf("got %+v", l)
		}
		facts := facts(t, r, "m1")
		if len(facts.ServerLogs) != 5 || facts.ServerLogs[0].Row != "apiserver-refused" || facts.ServerLogs[0].At.Node != "m1" || facts.ServerLogs[0].LeftOut || !facts.ServerLogs[1].LeftOut {
			t.Errorf("facts: %+v", facts.ServerLogs)
		}
		if _, r = w.read(t, root, Options{Only: true, Paths: []string{"/etc"}}); len(r.ServerLogs) > 0 {
			t.Errorf("nobody asked: %+v", r.ServerLogs)
		}
	})
}
