package remediatetest

import (
	"bytes"
	"crypto/x509"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesapi "k8s.io/api/certificates/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/undo"
)

func joiningFix(j *Joining) apiint.Repair {
	fix := worldFix(j.World)
	fix.Rebootstrap, fix.ApproveCSRs = true, true
	return fix
}

func joiningPlan(j *Joining, t *testing.T, run string) *remediate.Plan {
	t.Helper()
	p, err := joiningFix(j).Plan(run, j.snapshot(t, pkiFolder), j.Now())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// joiningBack plans the undo.
func joiningBack(j *Joining, t *testing.T, run string, accept bool) (*remediate.Plan, error) {
	t.Helper()
	env := j.env(t, run, nil)
	n, err := env.Connect(t.Context(), "worker-0")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := host.RunFolder{ID: run}.Backups(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return undo.Undo{Nodes: []undo.NodeBackups{{Node: "worker-0", Backups: entries}}, API: true, AcceptBreaksTrust: accept}.Plan(run, j.snapshot(t, pkiFolder, host.DefaultFolder+"/"+run), j.Now())
}

// TestRejoin has a kubelet join again that is in the incident, with client certificates of
// all kinds, goes on from there, and goes back.
func TestRejoin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		has  func(*testing.T, *Joining)
		asks bool
	}{
		"a valid certificate": {has: func(*testing.T, *Joining) {}},
		"none":                {has: func(t *testing.T, j *Joining) { _ = os.Remove(j.At(inspect.KubeletClient)) }, asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := NewJoining(t)
			c.has(t, j)
			was := j.link()
			want := []string{"replace worker-0:" + BootstrapFile, "ask worker-0:" + BootstrapFile, "take-away worker-0:" + KubeletFile, "restart worker-0:kubelet.service"}
			if c.asks {
				want = append(want, "approve-requests worker-0", "see-certificate worker-0")
			}
			p := joiningPlan(j, t, "run-1")
			if got := StepsOf(p); !slices.Equal(got, append(want, "await worker-0")) {
				t.Fatalf("steps %q", got)
			}
			story, err := j.run(t.Context(), t, j.env(t, "run-1", nil), p)
			if err != nil {
				t.Fatalf("%v\n%s", err, j.told)
			}
			if got := story.Changed()["worker-0"]; !slices.Equal(got, []string{BootstrapFile, KubeletFile}) {
				t.Errorf("the journal tells of %q", got)
			}
			if got := j.Machine.Read(t, KubeletFile); !action.KubeletWrote(got) || !bytes.Equal(got, j.After(KubeletFile)) {
				t.Errorf("its kubeconfig is\n%.300s", got)
			}
			if now := j.link(); c.asks != (now != was) || len(j.api.Log) > 0 != c.asks {
				t.Errorf("its certificate was %q and is %q, approved %q", was, now, j.api.Log)
			}
			if again := joiningPlan(j, t, "run-2"); !again.Empty() {
				t.Errorf("the second time: %q", StepsOf(again))
			}

			// Back into the incident: only by name.
			var refusal *remediate.Refusal
			if _, err := joiningBack(j, t, "run-1", false); !errors.As(err, &refusal) || refusal.Name != remediate.BreaksTrust {
				t.Errorf("undo: %v", err)
			}
			p, err = joiningBack(j, t, "run-1", true)
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
	thorough(t)
	t.Parallel()
	j := NewJoining(t)
	for _, path := range catalog.KubeletKubeconfigs() {
		j.Write(t, path, j.After(path))
	}
	delete(j.accepted, firstCert)
	p := joiningPlan(j, t, "run-1")
	if got := StepsOf(p); !slices.Equal(got, []string{"ask worker-0:" + BootstrapFile, "take-away worker-0:" + inspect.KubeletClient, "take-away worker-0:" + KubeletFile,
		"restart worker-0:kubelet.service", "approve-requests worker-0", "see-certificate worker-0", "await worker-0"}) {
		t.Fatalf("steps %q", got)
	}
	key := j.Machine.Read(t, firstCert)
	if _, err := j.run(t.Context(), t, j.env(t, "run-1", nil), p); err != nil {
		t.Fatalf("%v\n%s", err, j.told)
	}
	if j.link() != NextCert || !bytes.Equal(j.Machine.Read(t, firstCert), key) {
		t.Errorf("its certificate is %q", j.link())
	}
	if again := joiningPlan(j, t, "run-2"); !again.Empty() {
		t.Errorf("the second time: %q", StepsOf(again))
	}
	var refusal *remediate.Refusal
	if _, err := joiningBack(j, t, "run-1", false); !errors.As(err, &refusal) || refusal.Name != remediate.BreaksTrust || !strings.Contains(refusal.Reason, "the unusable one that the run removed") {
		t.Errorf("undo: %v", err)
	}
	p, err := joiningBack(j, t, "run-1", true)
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
		change func(*testing.T, *Joining, *apiint.Repair)
		facts  func(*inspect.Snapshot)
		check  string
		says   string
	}{
		"the token is not known": {func(t *testing.T, j *Joining, _ *apiint.Repair) {
			j.Write(t, BootstrapFile, j.After(BootstrapFile))
			j.Token = 401
		}, nil, csr.BootstrapCredential, "create token node-bootstrapper"},
		"no token":          {nil, func(s *inspect.Snapshot) { s.Nodes[0].RestartProbe.Bootstrap.Presents = inspect.CredentialNone }, csr.BootstrapCredential, "neither a token"},
		"it was not asked":  {nil, func(s *inspect.Snapshot) { s.Nodes[0].RestartProbe = nil }, csr.BootstrapCredential, "is unknown"},
		"it can't be asked": {nil, func(s *inspect.Snapshot) { s.Nodes[0].RestartProbe.Problem = "no curl" }, csr.BootstrapCredential, "no curl"},
		"no answer": {nil, func(s *inspect.Snapshot) {
			s.Nodes[0].RestartProbe.Bootstrap.Answers = []inspect.ProbeAnswer{{Failure: inspect.FailedTime, Detail: "no answer within 10s"}}
		}, csr.BootstrapCredential, "no answer within 10s"},
		"no bootstrap file": {func(t *testing.T, j *Joining, _ *apiint.Repair) { _ = os.Remove(j.At(BootstrapFile)) }, nil, "", BootstrapFile},
		"nobody approves": {func(t *testing.T, j *Joining, a *apiint.Repair) {
			_ = os.Remove(j.At(inspect.KubeletClient))
			a.ApproveCSRs = false
		}, nil, "approver", "is not approved automatically"},
		"no API": {func(t *testing.T, j *Joining, a *apiint.Repair) {
			_ = os.Remove(j.At(inspect.KubeletClient))
			a.API = false
		}, nil, "approver", "no API server"},
		"its certificate could not be read": {func(t *testing.T, j *Joining, _ *apiint.Repair) { _ = os.Remove(j.At(inspect.KubeletClient)) }, func(s *inspect.Snapshot) {
			s.Gaps = append(s.Gaps, inspect.Gap{What: "node/worker-0", Where: pkiFolder, Reason: "permission denied"})
		}, "client-certificate", "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := NewJoining(t)
			fix := joiningFix(j)
			if c.change != nil {
				c.change(t, j, &fix)
			}
			snapshot := j.snapshot(t, pkiFolder)
			if c.facts != nil {
				c.facts(&snapshot)
			}
			_, err := fix.Plan("run-1", snapshot, j.Now())
			var r *remediate.Refusal
			if !errors.As(err, &r) || c.check != "" && r.Name != c.check || !strings.Contains(r.Reason+r.Next, c.says) || r.Next == "" {
				t.Errorf("%+v (%v)", r, err)
			}
		})
	}
}

// TestATokenThatEndsMeanwhile: it is asked again before anything is taken away.
func TestATokenThatEndsMeanwhile(t *testing.T) {
	t.Parallel()
	j := NewJoining(t)
	p := joiningPlan(j, t, "run-1") // nothing could be asked yet, with this CA
	j.Token = 401
	_, err := j.run(t.Context(), t, j.env(t, "run-1", nil), p)
	var r *remediate.Refusal
	if !errors.As(err, &r) || r.Name != "bootstrap-credential" {
		t.Fatal(err)
	}
	if !bytes.Equal(j.Machine.Read(t, KubeletFile), j.files[KubeletFile]) || j.link() != firstCert || j.asked(t) > 0 {
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
				j := NewJoining(t)
				for _, path := range catalog.KubeletKubeconfigs() {
					j.Write(t, path, j.After(path))
				}
				delete(j.accepted, firstCert)
				f := &faults{how: how, op: op, delay: 20 * time.Millisecond}
				_, err := j.run(t.Context(), t, j.env(t, "run-1", f), joiningPlan(j, t, "run-1"))
				if f.hit() != op {
					t.Fatalf("nothing was hit: %v", err)
				}
				own := j.Machine.Read(t, KubeletFile)
				if own == nil || !bytes.Equal(own, j.After(KubeletFile)) {
					if _, err := os.Stat(j.At(host.DefaultFolder + "/run-1/before-" + pki.FingerprintOf(j.After(KubeletFile)).String())); err != nil {
						t.Errorf("it is away, and is not kept: %v", err)
					}
				}
				if again := joiningPlan(j, t, "run-2"); !again.Empty() {
					if _, err := j.run(t.Context(), t, j.env(t, "run-2", nil), again); err != nil {
						t.Fatalf("the next attempt: %v\n%s", err, j.told)
					}
				}
				if !action.KubeletWrote(j.Machine.Read(t, KubeletFile)) || j.link() != NextCert {
					t.Errorf("its certificate is %q", j.link())
				}
				if left := j.leftovers(t); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
			})
		}
	}
}

// TestACertificateThatNeverComes: of what was approved it is said who asked, for which key,
// how to look, and what can still be done.
func TestACertificateThatNeverComes(t *testing.T) {
	t.Parallel()
	j := NewJoining(t)
	j.Lost(t)
	api := &RequestsAPI{Signs: true}
	env, _ := Approvals(t, j.World, api)
	asked := ClientAsking(t)
	asked.CSR.Spec.Extra = map[string]certificatesapi.ExtraValue{"authentication.kubernetes.io/credential-id": {"JTI=7"}}
	api.Add(asked.Made(t))
	left := csr.NewApprovePending([]string{"worker-0"}, true, true)
	change, err := left.Diff(j.snapshot(t), j.Now())
	if err != nil {
		t.Fatal(err)
	}
	change.Versions = catalog.Versions{Cluster: "4.15.0"}
	if err := left.Apply(t.Context(), env, change); err != nil || len(api.Log) != 1 {
		t.Fatalf("%v, approved %q", err, api.Log)
	}
	own := ClientAsking(t)
	own.CSR.Name = "csr-own"
	api.Add(own.Made(t)) // the kubelet's, with another key
	err = left.Verify(t.Context(), env, change)
	var late *remediate.LateEffectError
	if !errors.As(err, &late) {
		t.Fatalf("%v", err)
	}
	sum := func(a *Asking) string {
		der, err := x509.MarshalPKIXPublicKey(a.Key.Public())
		if err != nil {
			t.Fatal(err)
		}
		return pki.FingerprintOf(der).String()
	}
	for _, want := range []string{
		"has no new client certificate", "another client may have asked", "asked by " + Bootstrapper + ", in " + MCOAccounts, "credential-id JTI=7", asked.CSR.CreationTimestamp.UTC().Format(time.RFC3339), "the key with sha256 " + sum(asked),
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
	j := NewJoining(t)
	j.Lost(t)
	api := &RequestsAPI{Signs: true}
	env, told := Approvals(t, j.World, api)
	api.Add(ClientAsking(t).Made(t)) // with a key that is not the kubelet's
	left := csr.NewApprovePending([]string{"worker-0"}, true, true)
	change, err := left.Diff(j.snapshot(t), j.Now())
	if err != nil {
		t.Fatal(err)
	}
	change.Versions = catalog.Versions{Cluster: "4.15.0"}
	if err := left.Apply(t.Context(), env, change); err != nil {
		t.Fatal(err)
	}
	if len(api.Log) != 1 {
		t.Fatalf("approved %q\n%s", api.Log, told)
	}
	j.Certificate(t, NextCert, time.Now().Add(24*time.Hour), j.NewKey(t))
	if err := left.Verify(t.Context(), env, change); err == nil || !strings.Contains(err.Error(), "another client asked in its name") {
		t.Errorf("%v", err)
	}
}

// TestAnInterruptedApprovalGoesOn: a run was killed between the restart and the kubelet's
// request; the same line again plans the answer.
func TestAnInterruptedApprovalGoesOn(t *testing.T) {
	t.Parallel()
	w := NewWorld(t)
	if _, err := w.run(t.Context(), t, w.env(t, "run-1", nil), repair(w, t, "run-1")); err != nil {
		t.Fatal(err)
	}
	fix := worldFix(w)
	fix.ApproveCSRs, fix.Nodes = true, []string{"worker-0"}
	snapshot := w.snapshot(t)
	pending := inspect.SigningRequest{
		Object: &inspect.Object{Kind: "CertificateSigningRequest", Name: "csr-1"}, Signer: catalog.KubeletClientSigner, Requester: Bootstrapper, Condition: inspect.Pending,
		Request: &pki.Request{Subject: "CN=system:node:worker-0,O=system:nodes"},
	}
	for name, c := range map[string]struct {
		requests []inspect.SigningRequest
		want     []string
	}{
		"pending": {[]inspect.SigningRequest{pending}, []string{"approve-requests worker-0"}},
		"none":    {nil, nil},
	} {
		snapshot.Requests = c.requests
		p, err := fix.Plan("run-2", snapshot, w.Now())
		if err != nil {
			t.Fatal(err)
		}
		if got := StepsOf(p); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
