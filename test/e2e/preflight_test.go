package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// leaseHolder is set in the environment of a process that is to hold the Lease: this
// test binary again.
const leaseHolder = "CERTROT_E2E_LEASE_HOLDER"

func restOf(t *testing.T, kubeconfig string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func leaseIn(t *testing.T, kubeconfig string) remediate.Lease {
	t.Helper()
	kube, err := kubeclient.New(restOf(t, kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	return remediate.Lease{Kube: kube, Holder: nodeexec.ThisHolder().String(), Now: time.Now, Sleep: sleep}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// TestHoldsTheLease is no test but that other process: it says what became of its
// attempt, and holds the Lease until its stdin ends.
func TestHoldsTheLease(t *testing.T) {
	kubeconfig := os.Getenv(leaseHolder)
	if kubeconfig == "" {
		t.Skip("run by another test: TestTwoWhoRepair starts it as a process of its own")
	}
	lease := leaseIn(t, kubeconfig)
	if _, err := lease.Take(t.Context()); err != nil {
		fmt.Println("refused:", err)
		return
	}
	_, release := lease.Keep(t.Context())
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := release(); err != nil {
		t.Error(err)
	}
}

// another starts that process, and returns the first line that it says.
func another(t *testing.T, kubeconfig string) (said string, end func(kill bool)) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestHoldsTheLease$", "-test.count=1")
	c.Env = append(os.Environ(), leaseHolder+"="+kubeconfig)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	end = func(kill bool) {
		if kill {
			_ = c.Process.Kill()
		}
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = c.Wait()
	}
	t.Cleanup(func() { end(true) })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return strings.TrimSpace(line), end
}

func TestTwoWhoRepair(t *testing.T) {
	lab := labtest.Require(t)
	kubeconfig := filepath.Join(lab.Dir, "kubeconfig")
	mine := leaseIn(t, kubeconfig)
	said, end := another(t, kubeconfig)
	if said != "held" {
		t.Fatal(said)
	}
	var refused *remediate.Refusal
	if _, err := mine.Take(t.Context()); !errors.As(err, &refused) || refused.Name != "lease-held" || !strings.Contains(refused.Reason, "(pid ") {
		t.Errorf("while another process holds it: %v", err)
	}
	end(false)
	if _, err := mine.Take(t.Context()); err != nil {
		t.Fatalf("after it ended: %v", err)
	}
	if said, _ := another(t, kubeconfig); !strings.HasPrefix(said, "refused: lease-held: ") || !strings.Contains(said, mine.Holder) {
		t.Errorf("the other process said %q", said)
	}
	_, release := mine.Keep(t.Context())
	if err := release(); err != nil {
		t.Error(err)
	}

	if said, end = another(t, kubeconfig); said != "held" {
		t.Fatal(said)
	}
	end(true)
	if _, err := mine.Take(t.Context()); err != nil {
		t.Fatalf("after it was killed: %v", err)
	}
	kept, release := mine.Keep(t.Context())
	w, err := bare(lab, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w.mustKubectl(t, "-n", remediate.LeaseNamespace, "patch", "lease", remediate.LeaseName, "--type=merge", "-p", `{"spec":{"holderIdentity":"somebody@else"}}`)
	select {
	case <-kept.Done():
		if !errors.Is(context.Cause(kept), remediate.ErrNotHolder) {
			t.Error(context.Cause(kept))
		}
	case <-time.After(time.Minute):
		t.Error("it was not seen that somebody else has the Lease")
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	if by := w.mustKubectl(t, "-n", remediate.LeaseNamespace, "get", "lease", remediate.LeaseName, "-o", "jsonpath={.spec.holderIdentity}"); string(by) != "somebody@else" {
		t.Errorf("the Lease of somebody else is now %q's", by)
	}
	w.mustKubectl(t, "-n", remediate.LeaseNamespace, "delete", "lease", remediate.LeaseName)
}

// healthChecks are stand-ins for the two kinds that delete or reboot nodes, with their
// names and any fields: no controller acts on them here.
const healthChecks = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: machinehealthchecks.machine.openshift.io}
spec:
  group: machine.openshift.io
  scope: Namespaced
  names: {kind: MachineHealthCheck, plural: machinehealthchecks, singular: machinehealthcheck}
  versions: [{name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: nodehealthchecks.remediation.medik8s.io}
spec:
  group: remediation.medik8s.io
  scope: Cluster
  names: {kind: NodeHealthCheck, plural: nodehealthchecks, singular: nodehealthcheck}
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

const healthCheckObjects = `
apiVersion: machine.openshift.io/v1beta1
kind: MachineHealthCheck
metadata: {name: workers, namespace: openshift-machine-api}
spec: {unhealthyConditions: [{type: Ready, status: Unknown, timeout: 300s}]}
---
apiVersion: machine.openshift.io/v1beta1
kind: MachineHealthCheck
metadata: {name: theirs, namespace: openshift-machine-api, annotations: {cluster.x-k8s.io/paused: ops}}
spec: {unhealthyConditions: [{type: Ready, status: Unknown, timeout: 300s}]}
---
apiVersion: machine.openshift.io/v1beta1
kind: MachineHealthCheck
metadata: {name: machine-api-termination-handler, namespace: openshift-machine-api}
spec: {unhealthyConditions: [{type: Terminating, status: "True", timeout: 0s}]}
---
apiVersion: remediation.medik8s.io/v1alpha1
kind: NodeHealthCheck
metadata: {name: nodes}
spec: {unhealthyConditions: [{type: Ready, status: Unknown, duration: 300s}]}
`

// paused are those who paused what, as the API has it.
func paused(t *testing.T, w *world) map[string]string {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct {
				Name        string
				Annotations map[string]string
			}
			Spec struct{ PauseRequests []string }
		}
	}
	if err := json.Unmarshal(w.mustKubectl(t, "get", "machinehealthchecks,nodehealthchecks", "-A", "-o", "json"), &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, o := range list.Items {
		if by := append(slices.Clone(o.Spec.PauseRequests), o.Metadata.Annotations["cluster.x-k8s.io/paused"]); strings.Join(by, "") != "" {
			out[o.Metadata.Name] = strings.Trim(strings.Join(by, ","), ",")
		}
	}
	return out
}

func TestHealthChecksArePausedAndResumed(t *testing.T) {
	lab := labtest.Require(t)
	w, err := bare(lab, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.build(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.kubectl([]byte(healthChecks), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = w.kubectl([]byte(healthChecks), "delete", "--ignore-not-found", "-f", "-") })
	w.mustKubectl(t, "wait", "--for=condition=Established", "--timeout=60s", "crd/machinehealthchecks.machine.openshift.io", "crd/nodehealthchecks.remediation.medik8s.io")
	if _, err := w.kubectl([]byte(healthCheckObjects), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}

	config := restOf(t, filepath.Join(lab.Dir, "kubeconfig"))
	client, err := collect.NewREST(config)
	if err != nil {
		t.Fatal(err)
	}
	cluster := &collect.Cluster{REST: client, Scanner: pki.NewScanner()}
	m := cluster.ControlPlaneStatus(t.Context())
	if len(m.Gaps) > 0 {
		t.Errorf("gaps: %+v", m.Gaps)
	}
	verdict := func(pause bool) preflight.Verdict {
		all := preflight.Preflight{ControlPlane: m, Pause: pause}.Check()
		return all[slices.IndexFunc(all, func(v preflight.Verdict) bool { return v.ID == "remediation-active" })]
	}
	if v := verdict(false); !v.Blocks() || !strings.Contains(v.Reason, "MachineHealthCheck openshift-machine-api/workers") || !strings.Contains(v.Reason, "NodeHealthCheck nodes") || strings.Contains(v.Reason, "termination") {
		t.Errorf("%+v", v)
	}
	if v := verdict(true); v.Blocks() {
		t.Errorf("%+v", v)
	}

	env := &remediate.Env{Now: time.Now, Sleep: sleep}
	if env.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	run := func(steps []remediate.Step, id string) {
		t.Helper()
		j, err := remediate.Journals{Folder: filepath.Join(state, "certrot", "runs")}.Begin(remediate.Header{Run: id, Command: "fix-api-int", Nodes: []string{}, Started: time.Now()}, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		p := &remediate.Plan{RunID: id, Basis: inspect.Snapshot{}, Now: time.Now()}
		action.Frame(p, steps, nil)
		if err := (remediate.Runner{Env: env, Journal: j}).Run(t.Context(), p); err != nil {
			t.Error(err)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
	same := func(when string, want map[string]string) {
		t.Helper()
		if got := paused(t, w); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: paused: %v, want %v", when, got, want)
		}
	}
	const first, second = "20260131-120000-000001", "20260131-120000-000002"
	pauses, resumes, err := action.Pauses(m, first)
	if err != nil || len(pauses) != 2 || len(resumes) != 2 {
		t.Fatalf("%d and %d steps, %v", len(pauses), len(resumes), err)
	}
	run(pauses, first)
	same("paused", map[string]string{"workers": "certrot " + first, "theirs": "ops", "nodes": "certrot " + first})

	// Another user wants the nodes left alone, too; their request stays.
	w.mustKubectl(t, "patch", "nodehealthcheck", "nodes", "--type=merge", "-p", `{"spec":{"pauseRequests":["certrot `+first+`","an upgrade"]}}`)
	run(resumes, second) // the second journal's run does nothing to the first one's
	same("resumed", map[string]string{"theirs": "ops", "nodes": "an upgrade"})

	// undo resumes what a run paused that changed no node.
	w.mustKubectl(t, "patch", "nodehealthcheck", "nodes", "--type=merge", "-p", `{"spec":{"pauseRequests":["certrot `+first+`","an upgrade"]}}`)
	w.mustKubectl(t, "-n", "openshift-machine-api", "annotate", "machinehealthcheck", "workers", "cluster.x-k8s.io/paused=certrot "+first)
	c := w.command(t.Context(), "undo", first, "--yes")
	c.Env = append(c.Env, "XDG_STATE_HOME="+state)
	if r := w.exec(t, c); r.code != 0 || !strings.Contains(r.stdout, "resume machinehealthchecks openshift-machine-api/workers") {
		t.Errorf("undo ended with %d: %s", r.code, r.said())
	}
	same("undone", map[string]string{"theirs": "ops", "nodes": "an upgrade"})
}
