//go:build linux

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// asking is who asks all the time, while something is rotated.
type asking struct {
	f     *fixing
	kube  kubernetes.Interface
	ns    string
	nodes []string
	stop  context.CancelFunc
	all   sync.WaitGroup

	mu      sync.Mutex
	asked   map[string]int // by what was asked of which node
	refused []string       // a certificate was not accepted
	half    []string       // the API server read half of a new key pair, see halfRead
	lost    []string       // no answer, for another reason
	restart bool           // kubelets are restarted meanwhile
}

// pods makes a pod on each node that can be asked.
func (f *fixing) pods(t *testing.T, nodes []string) (ns string) {
	t.Helper()
	ns = namespace(t, f.lab)
	for _, n := range nodes {
		pod := object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": n, "namespace": ns}, "spec": object{
			"nodeName": n, "terminationGracePeriodSeconds": 0, "tolerations": []object{{"operator": "Exists"}},
			"containers": []object{{"name": "asked", "image": "localhost/lab/tools:1", "command": []string{"sh", "-c", "echo here; exec sleep 3600"}}},
		}}
		file := filepath.Join(t.TempDir(), "pod.json")
		if err := os.WriteFile(file, asJSON(pod), 0o600); err != nil {
			t.Fatal(err)
		}
		mustDo(t, f.lab, "create", "-f", file)
	}
	mustDo(t, f.lab, "wait", "-n", ns, "pods", "--all", "--for=condition=Ready", "--timeout=60s")
	return ns
}

// ask has each kubelet asked through the API server, by exec, logs and a request for its
// health, and api-int from each node with the CA in its kubelet's kubeconfig, until it is
// told to end. Then no certificate may have been refused, and few requests may have had no
// answer. restart: kubelets are restarted meanwhile, and then some more have none.
func (f *fixing) ask(t *testing.T, nodes []string, ns string, restart bool) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	config := restConfig(t, f.lab)
	config.QPS = -1 // who asks is not to wait for himself
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	a := &asking{f: f, kube: kube, ns: ns, nodes: nodes, stop: cancel, asked: map[string]int{}, restart: restart}
	for _, n := range nodes {
		for what, once := range map[string]func(context.Context, string) error{"exec": a.exec(t), "logs": a.logs, "request": a.health} {
			a.all.Go(func() {
				for ctx.Err() == nil {
					err := once(ctx, n)
					if ctx.Err() == nil {
						a.count(what, n, err)
					}
					time.Sleep(300 * time.Millisecond)
				}
			})
		}
	}
	said := f.askFromNodes(ctx, nodes)
	return func() {
		t.Helper()
		for _, n := range nodes {
			mustDo(t, f.lab, "ssh", n, "sudo touch "+endOfAsking)
		}
		for range nodes {
			if s := <-said; !noneFailed.MatchString(s) {
				t.Errorf("api-int from %s", s)
			} else {
				t.Logf("note: api-int from %s", s)
			}
		}
		a.stop()
		a.all.Wait()
		a.report(t)
	}
}

func (a *asking) exec(t *testing.T) func(context.Context, string) error {
	config := restConfig(t, a.f.lab)
	return func(ctx context.Context, node string) error {
		to := a.kube.CoreV1().RESTClient().Post().Resource("pods").Namespace(a.ns).Name(node).SubResource("exec").
			VersionedParams(&corev1.PodExecOptions{Command: []string{"cat", "/etc/hostname"}, Stdout: true}, scheme.ParameterCodec)
		e, err := remotecommand.NewSPDYExecutor(config, "POST", to.URL())
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		var out bytes.Buffer
		if err := e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out}); err != nil {
			return err
		}
		if strings.TrimSpace(out.String()) != node {
			return fmt.Errorf("cat /etc/hostname printed %q", out.String())
		}
		return nil
	}
}

func (a *asking) logs(ctx context.Context, node string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := a.kube.CoreV1().Pods(a.ns).GetLogs(node, &corev1.PodLogOptions{}).DoRaw(ctx)
	switch {
	case err != nil:
		err = fmt.Errorf("%w %s", err, out) // the reason is in the body alone
	case string(out) != "here\n":
		err = fmt.Errorf("the log is %q", out)
	}
	return err
}

func (a *asking) health(ctx context.Context, node string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := a.kube.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes/" + node + "/proxy/healthz").DoRaw(ctx)
	if err != nil {
		err = fmt.Errorf("%w %s", err, out)
	}
	return err
}

func (a *asking) count(what, node string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked[what+" "+node]++
	if err == nil {
		return
	}
	text := fmt.Sprintf("%s: %s on %s: %v", time.Now().UTC().Format("15:04:05.000"), what, node, err)
	switch {
	case halfRead.MatchString(text):
		a.half = append(a.half, text)
	case refused.MatchString(text):
		a.refused = append(a.refused, text)
	default:
		a.lost = append(a.lost, text)
	}
}

var (
	noneFailed = regexp.MustCompile(`\b[1-9][0-9]* asked, 0 failed`)

	// refused is what is said where a certificate is not accepted: by who connects (x509), by
	// who is connected to (an alert of TLS), or by a kubelet that does not authenticate its client
	// (401, which the API server tells as "provide credentials", or 403).
	refused = regexp.MustCompile(`(?i)x509|tls: |certificate|unauthorized|provide credentials|forbidden`)
	// halfRead is what the API server says that read a certificate before it was replaced and
	// its key after: client-go reads the two files one after the other, and keeps the error for
	// a second (client-go, transport/transport.go, cachingCertificateLoader).
	halfRead = regexp.MustCompile(`tls: private key (type )?does not match public key`)
)

// halvesAtMost is how many requests are begun within the second that the API server keeps
// the error: each of those that ask pauses for 300 ms.
func (a *asking) halvesAtMost() int { return 12 * len(a.nodes) }

// lostAtMost is how many requests may have no answer. At the first handshake with a new
// client certificate the API server closes all its connections to kubelets (client-go,
// transport/cert_rotation.go), also where the signer is the same: that ends what is under way, an
// exec even without an error. A kubelet that is restarted does not answer for some seconds.
func (a *asking) lostAtMost(asked int) int {
	if a.restart {
		return asked / 10
	}
	return 6*len(a.nodes) + asked/100
}

func (a *asking) report(t *testing.T) {
	t.Helper()
	t.Logf("note: asked %v, without an answer %d, with half a key pair %d", a.asked, len(a.lost), len(a.half))
	all := 0
	for _, n := range a.nodes {
		for _, what := range []string{"exec", "logs", "request"} {
			asked := a.asked[what+" "+n]
			all += asked
			if asked < 10 {
				t.Errorf("%s on %s was asked %d times only", what, n, asked)
			}
		}
	}
	for _, of := range []struct {
		what  string
		texts []string
		most  int
	}{
		{"refused a certificate", a.refused, 0},
		{"read half a key pair", a.half, a.halvesAtMost()},
		{"had no answer", a.lost, a.lostAtMost(all)},
	} {
		if len(of.texts) > of.most {
			t.Errorf("of %d requests %d %s, at most %d may:\n%s", all, len(of.texts), of.what, of.most, strings.Join(of.texts, "\n"))
		}
	}
}

const endOfAsking = "/run/certrot-e2e-end"

// askFromNodes asks api-int from each node until endOfAsking is there. What it says at
// the end is noneFailed.
func (f *fixing) askFromNodes(ctx context.Context, nodes []string) <-chan string {
	ask := `rm -f ` + endOfAsking + `; n=0 bad=0
while [ ! -e ` + endOfAsking + ` ]; do
	sed -n 's/^ *certificate-authority-data: *//p' ` + ownConfig + ` | base64 -d >/run/certrot-e2e-ca
	curl -sS --max-time 5 --cacert /run/certrot-e2e-ca -o /dev/null https://api-int.lab.test:6443/readyz || bad=$((bad + 1))
	n=$((n + 1)); sleep 0.3
done
rm -f ` + endOfAsking + ` /run/certrot-e2e-ca; echo "$n asked, $bad failed"`
	said := make(chan string, len(nodes))
	for _, n := range nodes {
		go func() {
			out, err := f.lab.SSHCommand(ctx, n, "sudo sh -c "+nodeexec.Quote(ask)).CombinedOutput()
			said <- fmt.Sprintf("%s: %s%v", n, out, err)
		}()
	}
	return said
}

// TestWhatARefusalIs has no lab: it is about the words that the others ask by.
func TestWhatARefusalIs(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"error dialing backend: x509: certificate signed by unknown authority", "refused"},
		{"error dialing backend: tls: failed to verify certificate: x509: certificate has expired or is not yet valid", "refused"},
		{"error dialing backend: remote error: tls: unknown certificate authority", "refused"},
		{"the server has asked for the client to provide credentials ( pods/log worker-0)", "refused"},
		{`unable to upgrade connection: Unauthorized`, "refused"},
		{`unknown (get nodes worker-0) {"code":403,"message":"Forbidden (user=kube-apiserver, verb=get)"}`, "refused"},
		{"error dialing backend: tls: private key does not match public key", "half"},
		{"an error on the server (\"tls: private key type does not match public key type\") has prevented the request from succeeding", "half"},
		{"error reading from error stream: next reader: read tcp 10.0.0.1:2->10.0.0.3:10250: use of closed network connection", "lost"},
		{`cat /etc/hostname printed ""`, "lost"},
		{"dial tcp 10.0.0.3:10250: connect: connection refused", "lost"},
		{"context deadline exceeded", "lost"},
	} {
		a := &asking{asked: map[string]int{}}
		a.count("exec", "worker-0", errors.New(c.text))
		got := map[string]int{"refused": len(a.refused), "half": len(a.half), "lost": len(a.lost)}
		if got[c.want] != 1 || len(a.refused)+len(a.half)+len(a.lost) != 1 {
			t.Errorf("%q: %v, want it %s", c.text, got, c.want)
		}
	}
}
