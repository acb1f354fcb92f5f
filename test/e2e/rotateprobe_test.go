//go:build linux

package e2e

import (
	"bytes"
	"context"
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
	failed  []string
	cut     []string // by a change of the API server's client certificate, see cutOff
	half    []string // the API server read half of a new key pair, see halfRead
	absent  int      // a kubelet was being restarted
	restart bool     // kubelets are
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
// told to end. Then nothing may have failed. restart: kubelets are restarted meanwhile,
// and while nobody listens it does not count.
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
	case a.restart && nobodyThere.MatchString(text):
		a.absent++
	case cutOff.MatchString(text):
		a.cut = append(a.cut, text)
	case halfRead.MatchString(text):
		a.half = append(a.half, text)
	default:
		a.failed = append(a.failed, text)
	}
}

var (
	noneFailed = regexp.MustCompile(`\b[1-9][0-9]* asked, 0 failed`)

	// cutOff is what Kubernetes does to itself, whoever signs what: at the first handshake
	// with a new client certificate the API server closes all its connections to kubelets,
	// that one too (client-go, transport/cert_rotation.go).
	// An exec whose stream it closes ends without an error, and has printed nothing.
	cutOff = regexp.MustCompile(`use of closed network connection|printed ""$`)
	// halfRead is what the API server says that read a certificate before it was replaced and
	// its key after: client-go reads the two files one after the other, and keeps the error for
	// a second (client-go, transport/transport.go, cachingCertificateLoader).
	halfRead = regexp.MustCompile(`tls: private key (type )?does not match public key`)
	// nobodyThere is a kubelet that is being restarted, which ends what it carries without
	// an error, and one that does not know its pods yet. It is never one that refuses somebody.
	nobodyThere = regexp.MustCompile(`printed ""$|connection refused|connection reset by peer|\bEOF\b|broken pipe|pod does not exist|container not found|\(get pods|server closed|context deadline exceeded`)
)

// cutsAtMost is how many requests may be under way while the API server closes its
// connections: each of those that ask has one at a time.
func (a *asking) cutsAtMost() int { return 3 * len(a.nodes) }

// halvesAtMost is how many requests are begun within the second that the API server keeps
// the error: each of those that ask pauses for 300 ms.
func (a *asking) halvesAtMost() int { return 4 * a.cutsAtMost() }

func (a *asking) report(t *testing.T) {
	t.Helper()
	t.Logf("note: asked %v, %d of them while a kubelet was restarted, cut off: %q, with half a key pair: %q", a.asked, a.absent, a.cut, a.half)
	for _, n := range a.nodes {
		for _, what := range []string{"exec", "logs", "request"} {
			if a.asked[what+" "+n] < 10 {
				t.Errorf("%s on %s was asked %d times only", what, n, a.asked[what+" "+n])
			}
		}
	}
	if len(a.failed) > 0 {
		t.Errorf("%d failed:\n%s", len(a.failed), strings.Join(a.failed, "\n"))
	}
	if len(a.half) > a.halvesAtMost() {
		t.Errorf("%d failed for a key pair that does not match, and no more than %d begin within a second:\n%s", len(a.half), a.halvesAtMost(), strings.Join(a.half, "\n"))
	}
	if len(a.cut) > a.cutsAtMost() {
		t.Errorf("%d were cut off, and no more than %d may be under way at a time:\n%s", len(a.cut), a.cutsAtMost(), strings.Join(a.cut, "\n"))
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
