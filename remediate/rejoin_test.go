package remediate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
)

const (
	pkiFolder = "/var/lib/kubelet/pki"
	firstCert = pkiFolder + "/kubelet-client-2026-01-01-00-00-00.pem"
	nextCert  = pkiFolder + "/kubelet-client-2026-02-02-00-00-00.pem"
)

// joining is a world of one node, with an API at which its kubelet can join.
type joining struct {
	*world
	*machine
	api *requestsAPI
	key *ecdsa.PrivateKey // of the kubelet that was started last
	// token is what the API server answers to the bootstrap file, 401 or 200.
	token int
	// accepted: whose certificate ends in this file is known to the API server.
	accepted map[string]bool
	told     *strings.Builder
}

func newJoining(t *testing.T) *joining {
	t.Helper()
	w := newWorld(t)
	j := &joining{world: w, machine: w.machines["worker-0"], api: &requestsAPI{}, token: 200, accepted: map[string]bool{firstCert: true, nextCert: true}, told: &strings.Builder{}}
	j.certificate(t, firstCert, time.Now().Add(24*time.Hour), j.newKey(t))
	w.comeback = j.answers
	return j
}

func (j *joining) newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// certificate gives the kubelet a client certificate of this key, as it writes it.
func (j *joining) certificate(t *testing.T, path string, until time.Time, key *ecdsa.PrivateKey) {
	t.Helper()
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "system:node:worker-0", Organization: []string{"system:nodes"}}, NotBefore: until.Add(-48 * time.Hour), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	j.write(t, path, pkitest.Bundle(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})))
	if err := firstOf(os.RemoveAll(j.at(inspect.KubeletClient)), os.Symlink(path, j.at(inspect.KubeletClient))); err != nil {
		t.Fatal(err)
	}
}

// lost is a node whose kubelet waits for a certificate: the one it has expired, and its
// bootstrap file is right.
func (j *joining) lost(t *testing.T) {
	t.Helper()
	j.certificate(t, firstCert, time.Now().Add(-time.Hour), j.newKey(t))
	j.write(t, bootstrapFile, j.after(bootstrapFile))
	j.aged(t, bootstrapFile)
}

// aged makes a file older than any start of the kubelet.
func (j *joining) aged(t *testing.T, path string) {
	t.Helper()
	at := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(j.at(path), at, at); err != nil {
		t.Fatal(err)
	}
}

// link is where the kubelet's certificate is; empty: nowhere.
func (j *joining) link() string {
	to, _ := os.Readlink(j.at(inspect.KubeletClient))
	return to
}

// answers are those of the API server, with the CAs that files have now.
func (j *joining) answers(n *inspect.Node) {
	file := func(path string, code int) inspect.ComebackFile {
		a := inspect.Answer{Code: code, Reason: map[int]string{401: "Unauthorized"}[code]}
		text, err := os.ReadFile(j.at(path))
		if err != nil {
			return inspect.ComebackFile{Path: path, Absent: true}
		}
		if !bytes.Contains(text, []byte(base64.StdEncoding.EncodeToString(pkitest.Bundle(j.configMap, j.old.CertPEM)))) {
			a.Code, a.Failure, a.Detail = 0, inspect.FailedTrust, "nothing was sent"
		}
		return inspect.ComebackFile{Path: path, Shows: inspect.CredentialToken, Answers: []inspect.Answer{a}}
	}
	code := 200
	if !j.accepted[j.link()] {
		code = 401
	}
	n.Comeback = &inspect.Comeback{Own: file(kubeletFile, code), Bootstrap: file(bootstrapFile, j.token)}
	n.Comeback.Own.Shows, n.Comeback.Own.Certificate = inspect.CredentialCertificate, inspect.KubeletClient
	yes := true
	n.Kubelet.RotateCertificates = &yes
}

// env is that of a run; the kubelet asks when it was restarted without a certificate, and
// takes what is approved.
func (j *joining) env(t *testing.T, run string, f *faults) *Env {
	t.Helper()
	env := j.world.env(t, run, f, pkiFolder, host.DefaultFolder+"/"+run)
	j.api.nodes = map[string]*corev1.Node{"worker-0": workerZero()}
	restarts := j.restarts(t)
	j.api.before = func(string, string) *apierrors.StatusError {
		if len(j.link()) == 0 && j.restarts(t) > restarts {
			restarts = j.restarts(t)
			j.key = j.newKey(t)
			a := clientAsking(t)
			a.key, a.csr.Name, a.csr.CreationTimestamp = j.key, fmt.Sprintf("csr-%d", restarts), metav1.NewTime(j.started(t))
			j.api.add(a.made(t))
		}
		for _, name := range j.api.log {
			if name == fmt.Sprintf("csr-%d", restarts) && j.link() == "" {
				j.certificate(t, nextCert, time.Now().Add(48*time.Hour), j.key)
			}
		}
		return nil
	}
	j.api.signs = true
	env.Kube, env.Tell = j.api.client(t), func(node, text string) { fmt.Fprintf(j.told, "%s: %s\n", node, text) }
	env.Signer, env.APIClock = validSigner, exactClock
	reports := env.Heartbeat
	env.Heartbeat = func(ctx context.Context, name string) (collect.Heartbeat, error) {
		if j.link() == "" { // it waits for its certificate
			return collect.Heartbeat{Ready: "Unknown"}, nil
		}
		return reports(ctx, name)
	}
	return env
}

func (j *joining) fix() APIInt {
	fix := j.world.fix()
	fix.Rebootstrap, fix.ApproveCSRs = true, true
	return fix
}

func (j *joining) plan(t *testing.T, run string) *Plan {
	t.Helper()
	p, err := j.fix().Plan(run, j.facts(t, pkiFolder), j.now())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// back plans the way back.
func (j *joining) back(t *testing.T, run string, accept bool) (*Plan, error) {
	t.Helper()
	env := j.env(t, run, nil)
	n, err := env.onto(t.Context(), "worker-0")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := host.Run{ID: run}.Entries(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return Undo{Nodes: []Kept{{"worker-0", entries}}, API: true, AcceptBreaksTrust: accept}.Plan(run, j.facts(t, pkiFolder, host.DefaultFolder+"/"+run), j.now())
}

// TestRejoin has a kubelet join anew that is in the incident, with client certificates of
// all kinds, goes on from there, and goes back.
func TestRejoin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		has   func(*testing.T, *joining)
		asks  bool
		taken []string // beside its kubeconfig
	}{
		"a valid certificate": {has: func(*testing.T, *joining) {}},
		"none":                {has: func(t *testing.T, j *joining) { _ = os.Remove(j.at(inspect.KubeletClient)) }, asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJoining(t)
			c.has(t, j)
			was := j.link()
			want := []string{"replace worker-0:" + bootstrapFile, "ask worker-0:" + bootstrapFile, "take-away worker-0:" + kubeletFile, "restart worker-0:kubelet.service"}
			if c.asks {
				want = append(want, "approve-requests worker-0", "see-certificate worker-0")
			}
			p := j.plan(t, "run-1")
			if got := stepsOf(p); !slices.Equal(got, append(want, "await worker-0")) {
				t.Fatalf("steps %q", got)
			}
			story, err := j.run(t.Context(), t, j.env(t, "run-1", nil), p)
			if err != nil {
				t.Fatalf("%v\n%s", err, j.told)
			}
			if got := story.Changed()["worker-0"]; !slices.Equal(got, []string{bootstrapFile, kubeletFile}) {
				t.Errorf("the journal tells of %q", got)
			}
			if got := j.machine.read(t, kubeletFile); !kubeletWrote(got) || !bytes.Equal(got, j.after(kubeletFile)) {
				t.Errorf("its kubeconfig is\n%.300s", got)
			}
			if now := j.link(); c.asks != (now != was) || len(j.api.log) > 0 != c.asks {
				t.Errorf("its certificate was %q and is %q, approved %q", was, now, j.api.log)
			}
			if again := j.plan(t, "run-2"); !again.Empty() {
				t.Errorf("the second time: %q", stepsOf(again))
			}

			// Back into the incident: only by name.
			var refusal *Refusal
			if _, err := j.back(t, "run-1", false); !errors.As(err, &refusal) || refusal.Name != BreaksTrust {
				t.Errorf("undo: %v", err)
			}
			p, err = j.back(t, "run-1", true)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := j.run(t.Context(), t, j.env(t, "run-1", nil), p); err != nil {
				t.Fatal(err)
			}
			j.original(t)
		})
	}
}

// TestRejoinWithACertificateThatIsNotAccepted is of a kubelet whose files are all right,
// and that is refused nevertheless.
func TestRejoinWithACertificateThatIsNotAccepted(t *testing.T) {
	t.Parallel()
	j := newJoining(t)
	for _, path := range catalog.KubeletKubeconfigs() {
		j.write(t, path, j.after(path))
	}
	delete(j.accepted, firstCert)
	p := j.plan(t, "run-1")
	if got := stepsOf(p); !slices.Equal(got, []string{"ask worker-0:" + bootstrapFile, "take-away worker-0:" + inspect.KubeletClient, "take-away worker-0:" + kubeletFile,
		"restart worker-0:kubelet.service", "approve-requests worker-0", "see-certificate worker-0", "await worker-0"}) {
		t.Fatalf("steps %q", got)
	}
	key := j.machine.read(t, firstCert)
	if _, err := j.run(t.Context(), t, j.env(t, "run-1", nil), p); err != nil {
		t.Fatalf("%v\n%s", err, j.told)
	}
	if j.link() != nextCert || !bytes.Equal(j.machine.read(t, firstCert), key) {
		t.Errorf("its certificate is %q", j.link())
	}
	if again := j.plan(t, "run-2"); !again.Empty() {
		t.Errorf("the second time: %q", stepsOf(again))
	}
	var refusal *Refusal
	if _, err := j.back(t, "run-1", false); !errors.As(err, &refusal) || refusal.Name != BreaksTrust || !strings.Contains(refusal.Reason, "as it was of no more use") {
		t.Errorf("undo: %v", err)
	}
	p, err := j.back(t, "run-1", true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.run(t.Context(), t, j.env(t, "run-1", nil), p); err != nil {
		t.Fatal(err)
	}
	if j.link() != firstCert {
		t.Errorf("put back, its certificate is %q", j.link())
	}
}

// TestRejoinIsRefused where a kubelet would be left without an answer.
func TestRejoinIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*testing.T, *joining, *APIInt)
		facts  func(*inspect.Snapshot)
		check  string
		says   string
	}{
		"the token is not known": {func(t *testing.T, j *joining, _ *APIInt) {
			j.write(t, bootstrapFile, j.after(bootstrapFile))
			j.token = 401
		}, nil, bootstrapCredential, "create token node-bootstrapper"},
		"no token":          {nil, func(s *inspect.Snapshot) { s.Nodes[0].Comeback.Bootstrap.Shows = inspect.CredentialNone }, bootstrapCredential, "neither a token"},
		"it was not asked":  {nil, func(s *inspect.Snapshot) { s.Nodes[0].Comeback = nil }, bootstrapCredential, "not known"},
		"it can't be asked": {nil, func(s *inspect.Snapshot) { s.Nodes[0].Comeback.Problem = "no curl" }, bootstrapCredential, "no curl"},
		"no answer": {nil, func(s *inspect.Snapshot) {
			s.Nodes[0].Comeback.Bootstrap.Answers = []inspect.Answer{{Failure: inspect.FailedTime, Detail: "no answer within 10s"}}
		}, bootstrapCredential, "no answer within 10s"},
		"no bootstrap file": {func(t *testing.T, j *joining, _ *APIInt) { _ = os.Remove(j.at(bootstrapFile)) }, nil, "", bootstrapFile},
		"nobody approves": {func(t *testing.T, j *joining, a *APIInt) {
			_ = os.Remove(j.at(inspect.KubeletClient))
			a.ApproveCSRs = false
		}, nil, "approver", "nobody approves that"},
		"no API": {func(t *testing.T, j *joining, a *APIInt) {
			_ = os.Remove(j.at(inspect.KubeletClient))
			a.API = false
		}, nil, "approver", "no API server"},
		"its certificate could not be read": {func(t *testing.T, j *joining, _ *APIInt) { _ = os.Remove(j.at(inspect.KubeletClient)) }, func(s *inspect.Snapshot) {
			s.Gaps = append(s.Gaps, inspect.Gap{What: "node/worker-0", Where: pkiFolder, Reason: "permission denied"})
		}, "client-certificate", "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJoining(t)
			fix := j.fix()
			if c.change != nil {
				c.change(t, j, &fix)
			}
			facts := j.facts(t, pkiFolder)
			if c.facts != nil {
				c.facts(&facts)
			}
			_, err := fix.Plan("run-1", facts, j.now())
			var r *Refusal
			if !errors.As(err, &r) || c.check != "" && r.Name != c.check || !strings.Contains(r.Reason+r.Next, c.says) || r.Next == "" {
				t.Errorf("%+v (%v)", r, err)
			}
		})
	}
}

// TestATokenThatEndsMeanwhile: it is asked again before anything is taken away.
func TestATokenThatEndsMeanwhile(t *testing.T) {
	t.Parallel()
	j := newJoining(t)
	p := j.plan(t, "run-1") // nothing could be asked yet, with this CA
	j.token = 401
	_, err := j.run(t.Context(), t, j.env(t, "run-1", nil), p)
	var r *Refusal
	if !errors.As(err, &r) || r.Name != "bootstrap-credential" {
		t.Fatal(err)
	}
	if !bytes.Equal(j.machine.read(t, kubeletFile), j.files[kubeletFile]) || j.link() != firstCert || j.asked(t) > 0 {
		t.Error("something was taken away, or the kubelet was restarted")
	}
}

// TestRejoinFaults: whatever goes wrong with a call, its kubeconfig is what it was, or away
// with its bytes kept, or made by the kubelet; and the same command goes on. Each fault
// happens to each call with CERTROT_EVERY_STEP=1, else to one of them.
func TestRejoinFaults(t *testing.T) {
	thorough(t)
	t.Parallel()
	ops, all := []operation{"aside", "unlink", "restart"}, everyFault()
	for i, op := range ops {
		for n, name := range slices.Sorted(maps.Keys(all)) {
			if n%len(ops) != i && !everything() {
				continue
			}
			how := all[name]
			t.Run(string(op)+": "+name, func(t *testing.T) {
				t.Parallel()
				j := newJoining(t)
				for _, path := range catalog.KubeletKubeconfigs() {
					j.write(t, path, j.after(path))
				}
				delete(j.accepted, firstCert)
				f := &faults{how: how, op: op, delay: 20 * time.Millisecond}
				_, err := j.run(t.Context(), t, j.env(t, "run-1", f), j.plan(t, "run-1"))
				if f.hit() != op {
					t.Fatalf("nothing was hit: %v", err)
				}
				own := j.machine.read(t, kubeletFile)
				if own == nil || !bytes.Equal(own, j.after(kubeletFile)) {
					if _, err := os.Stat(j.at(host.DefaultFolder + "/run-1/before-" + pki.FingerprintOf(j.after(kubeletFile)).String())); err != nil {
						t.Errorf("it is away, and is not kept: %v", err)
					}
				}
				if again := j.plan(t, "run-2"); !again.Empty() {
					if _, err := j.run(t.Context(), t, j.env(t, "run-2", nil), again); err != nil {
						t.Fatalf("the next attempt: %v\n%s", err, j.told)
					}
				}
				if !kubeletWrote(j.machine.read(t, kubeletFile)) || j.link() != nextCert {
					t.Errorf("its certificate is %q", j.link())
				}
				if left := j.leftovers(t); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
			})
		}
	}
}

// TestSomebodyElseAsksInANodesName: of two who ask after the restart none gets an answer,
// and who asked before it neither.
func TestSomebodyElseAsksInANodesName(t *testing.T) {
	t.Parallel()
	n := asker{name: "worker-0", object: workerZero(), versions: catalog.Versions{Cluster: "4.15.0"}, kubelet: &joiner{}, earlier: map[string]bool{"csr-earlier": true}}
	api := &requestsAPI{nodes: map[string]*corev1.Node{"worker-0": workerZero()}}
	add := func(name string, a *asking) {
		a.csr.Name = name
		api.add(a.made(t))
	}
	names := func() (out []string) {
		requests, err := pendingOf(t.Context(), api.client(t), n)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range current(requests) {
			out = append(out, r.Name)
		}
		return out
	}
	add("csr-earlier", clientAsking(t))
	if got := names(); len(got) > 0 {
		t.Errorf("before the restart: %q", got)
	}
	add("csr-one", clientAsking(t))
	if got := names(); !slices.Equal(got, []string{"csr-one"}) {
		t.Errorf("one after it: %q", got)
	}
	add("csr-two", clientAsking(t))
	if got := names(); len(got) > 0 {
		t.Errorf("two after it: %q", got)
	}
	n.earlier = nil // nothing was restarted: a kubelet that waits for long has made several
	if got := names(); len(got) > 0 {
		t.Errorf("without a restart: %q", got)
	}
	j := newJoining(t)
	j.lost(t)
	env, _ := approvals(t, j.world, api)
	if text := waiting(t.Context(), env, n); !strings.Contains(text, "--nodes worker-0 --rebootstrap") || strings.Contains(text, "certificate approve") {
		t.Errorf("what to do is not said: %s", text)
	}
	// Those who were refused in a node's step are not approved among what is left over.
	api.signs = true
	left := NewLeftCSRs([]string{"worker-0"}, true, true)
	if err := left.Apply(t.Context(), env, &Change{versions: n.versions}); err != nil {
		t.Fatal(err)
	}
	if len(api.log) > 0 {
		t.Errorf("approved among what is left over: %q", api.log)
	}

	// One more, later, when the kubelet has its answer.
	s := newApproving()
	for _, name := range []string{"csr-a", "csr-b"} {
		api.mu.Lock()
		api.requests = slices.DeleteFunc(api.requests, func(*certificatesapi.CertificateSigningRequest) bool { return true })
		api.mu.Unlock()
		add(name, clientAsking(t))
		requests, err := pendingOf(t.Context(), env.Kube, n)
		for range 2 { // seen, and settled
			if err == nil {
				err = cmp.Or(s.approve(t.Context(), env, &Change{}, n, requests), env.Sleep(t.Context(), settling))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(api.log, []string{"csr-a"}) {
		t.Errorf("approved %q", api.log)
	}
}

// TestACertificateThatNeverComes: of what was approved it is said who asked, for which key,
// how to look, and what can still be done.
func TestACertificateThatNeverComes(t *testing.T) {
	t.Parallel()
	j := newJoining(t)
	j.lost(t)
	api := &requestsAPI{signs: true}
	env, _ := approvals(t, j.world, api)
	asked := clientAsking(t)
	asked.csr.Spec.Extra = map[string]certificatesapi.ExtraValue{"authentication.kubernetes.io/credential-id": {"JTI=7"}}
	api.add(asked.made(t))
	left := NewLeftCSRs([]string{"worker-0"}, true, true)
	change, err := left.Diff(j.facts(t), j.now())
	if err != nil {
		t.Fatal(err)
	}
	change.versions = catalog.Versions{Cluster: "4.15.0"}
	if err := left.Apply(t.Context(), env, change); err != nil || len(api.log) != 1 {
		t.Fatalf("%v, approved %q", err, api.log)
	}
	own := clientAsking(t)
	own.csr.Name = "csr-own"
	api.add(own.made(t)) // the kubelet's, with another key
	err = left.Verify(t.Context(), env, change)
	var late *Late
	if !errors.As(err, &late) {
		t.Fatalf("%v", err)
	}
	sum := func(a *asking) string {
		der, err := x509.MarshalPKIXPublicKey(a.key.Public())
		if err != nil {
			t.Fatal(err)
		}
		return pki.FingerprintOf(der).String()
	}
	for _, want := range []string{
		"has no new client certificate", "somebody else may have asked", "asked by " + bootstrapper + ", in " + mcoAccounts, "credential-id JTI=7", asked.csr.CreationTimestamp.UTC().Format(time.RFC3339), "the key with sha256 " + sum(asked),
		"kubectl get csr csr-client -o jsonpath", "audit logs", "Kubernetes revokes no certificate", "certrot explain token-in-logs", "kubectl delete node worker-0",
		"csr-own is pending, for the key with sha256 " + sum(own),
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
}

// TestAnApprovalOfAnotherKeyIsSeen: who asked is known when the kubelet has a certificate,
// also where the approval was among what is left over.
func TestAnApprovalOfAnotherKeyIsSeen(t *testing.T) {
	t.Parallel()
	j := newJoining(t)
	j.lost(t)
	api := &requestsAPI{signs: true}
	env, told := approvals(t, j.world, api)
	api.add(clientAsking(t).made(t)) // with a key that is not the kubelet's
	left := NewLeftCSRs([]string{"worker-0"}, true, true)
	change, err := left.Diff(j.facts(t), j.now())
	if err != nil {
		t.Fatal(err)
	}
	change.versions = catalog.Versions{Cluster: "4.15.0"}
	if err := left.Apply(t.Context(), env, change); err != nil {
		t.Fatal(err)
	}
	if len(api.log) != 1 {
		t.Fatalf("approved %q\n%s", api.log, told)
	}
	j.certificate(t, nextCert, time.Now().Add(24*time.Hour), j.newKey(t))
	if err := left.Verify(t.Context(), env, change); err == nil || !strings.Contains(err.Error(), "somebody else asked in its name") {
		t.Errorf("%v", err)
	}
}

// TestAnInterruptedApprovalGoesOn: a run was killed between the restart and the kubelet's
// request; the same line again plans the answer.
func TestAnInterruptedApprovalGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.run(t.Context(), t, w.env(t, "run-1", nil), w.repair(t, "run-1")); err != nil {
		t.Fatal(err)
	}
	fix := w.fix()
	fix.ApproveCSRs, fix.Nodes = true, []string{"worker-0"}
	facts := w.facts(t)
	pending := inspect.SigningRequest{
		Object: &inspect.Object{Kind: "CertificateSigningRequest", Name: "csr-1"}, Signer: catalog.KubeletClientSigner, Requester: bootstrapper, Condition: inspect.Pending,
		Request: &pki.Request{Subject: "CN=system:node:worker-0,O=system:nodes"},
	}
	for name, c := range map[string]struct {
		requests []inspect.SigningRequest
		want     []string
	}{
		"pending": {[]inspect.SigningRequest{pending}, []string{"approve-requests worker-0"}},
		"none":    {nil, nil},
	} {
		facts.Requests = c.requests
		p, err := fix.Plan("run-2", facts, w.now())
		if err != nil {
			t.Fatal(err)
		}
		if got := stepsOf(p); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestAServersNamesAreNoOtherNodes: a Node's addresses are written by its own kubelet.
func TestAServersNamesAreNoOtherNodes(t *testing.T) {
	t.Parallel()
	rogue, other := workerZero(), workerZero()
	rogue.Status.Addresses = append(rogue.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "192.0.2.10"}, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: "master-0"})
	other.Name = "master-0"
	other.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.10"}, {Type: corev1.NodeHostName, Address: "master-0"}}
	for name, change := range map[string]func(*x509.CertificateRequest){
		"address": func(r *x509.CertificateRequest) { r.IPAddresses = append(r.IPAddresses, net.ParseIP("192.0.2.10")) },
		"name":    func(r *x509.CertificateRequest) { r.DNSNames = append(r.DNSNames, "MASTER-0") },
	} {
		api := &requestsAPI{nodes: map[string]*corev1.Node{"worker-0": rogue, "master-0": other}}
		a := servingAsking(t)
		change(&a.asks)
		api.add(a.made(t))
		requests, err := pendingOf(t.Context(), api.client(t), asker{name: "worker-0", versions: catalog.Versions{Cluster: "4.15.0"}})
		if err != nil || len(requests) != 1 || !strings.Contains(requests[0].why, " of Node master-0, too") {
			t.Errorf("%s: %+v, %v", name, requests, err)
		}
	}
	forbidden := &requestsAPI{nodes: map[string]*corev1.Node{"worker-0": workerZero()}}
	forbidden.before = func(_, path string) *apierrors.StatusError {
		if path == "/api/v1/nodes" {
			return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "no"}}
		}
		return nil
	}
	forbidden.add(servingAsking(t).made(t))
	if _, err := pendingOf(t.Context(), forbidden.client(t), asker{name: "worker-0", versions: catalog.Versions{Cluster: "4.15.0"}}); err == nil || !strings.Contains(err.Error(), "no other one's certificate") {
		t.Errorf("with Nodes that can't be listed: %v", err)
	}
}
