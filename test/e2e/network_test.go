//go:build linux

package e2e

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// asAdministrator is what actions act through that need the API alone, and what reads
// their facts.
func asAdministrator(t *testing.T, lab *labtest.Lab) (*remediate.Env, *collect.Cluster) {
	t.Helper()
	config := restConfig(t, lab)
	kube, err := kubeclient.New(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := collect.NewREST(config)
	if err != nil {
		t.Fatal(err)
	}
	env := &remediate.Env{RunID: "e2e", Kube: kube, Now: time.Now, Sleep: func(ctx context.Context, d time.Duration) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(d):
			return nil
		}
	}}
	return env, &collect.Cluster{REST: client, Scanner: pki.NewScanner()}
}

// A new pod is the proof, and the only one: the node stays Ready all the time.
func TestNetworkProbe(t *testing.T) {
	lab := labtest.RequireNodes(t)
	env, cluster := asAdministrator(t, lab)
	env.EffectTimeout = 20 * time.Second
	node := lab.Workers()[0]
	probe := action.NetworkProbe{NodeName: node}
	t.Cleanup(func() { noneLeft(t, lab) })
	asked := func(ctx context.Context) error {
		began := time.Now()
		err := probe.Verify(ctx, env, nil)
		t.Logf("note: after %s: %v", time.Since(began).Round(100*time.Millisecond), err)
		return err
	}
	if err := asked(t.Context()); err != nil {
		t.Error(err)
	}
	if left := leftBehind(lab); left != "" {
		t.Errorf("left behind: %s", left)
	}

	const broken = "/etc/kubernetes/cni/net.d/00-e2e-broken.conflist"
	mustDo(t, lab, "ssh", node, `echo '{"cniVersion": "1.0.0", "name": "broken", "plugins": [{"type": "certrot-e2e-is-not-there"}]}' | sudo tee `+broken)
	mended := func() { mustDo(t, lab, "ssh", node, "sudo rm -f "+broken) }
	t.Cleanup(mended)
	err := asked(t.Context())
	says(t, err, "a new pod on "+node+" gets no network: ", "certrot-e2e-is-not-there")
	if h, err := cluster.Heartbeat(t.Context(), node); err != nil || h.Ready != "True" {
		t.Errorf("the node's heartbeat: %+v, %v", h, err)
	}
	mended()
	eventually(t, "a network again", func() string {
		if err := asked(t.Context()); err != nil {
			return err.Error()
		}
		return ""
	})

	for _, after := range []time.Duration{20 * time.Millisecond, 200 * time.Millisecond, 700 * time.Millisecond} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), after, errors.New("interrupted by the test"))
		if err := asked(ctx); err != nil && !strings.Contains(err.Error(), "interrupted by the test") && !strings.Contains(err.Error(), "context deadline") {
			t.Errorf("interrupted after %s: %v", after, err)
		}
		cancel()
		if left := leftBehind(lab); left != "" {
			t.Errorf("interrupted after %s, left behind: %s", after, left)
		}
	}
}

// Who writes kube-root-ca.crt is told who puts it back, and what would last.
func TestPatchedKubeRootCAIsPutBack(t *testing.T) {
	lab := labtest.Require(t)
	env, cluster := asAdministrator(t, lab)
	const namespace = "openshift-multus"
	own := pkitest.NewCA("certrot e2e", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	ca := pki.NewScanner().Scan(own.CertPEM)[0].Content.Certs
	value := func() string {
		t.Helper()
		m, err := env.Kube.ConfigMaps(namespace).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return m.Data["ca.crt"]
	}
	before := value()
	a, err := action.NewPatchKubeRootCA(t.Context(), env.Kube, namespace, ca)
	var kept []byte
	a.Keep = func(manifest []byte) error { kept = manifest; return nil }
	if err != nil {
		t.Fatal(err)
	}
	if value() != before {
		t.Error("a try is not a change")
	}
	if !strings.HasPrefix(a.After, strings.TrimRight(before, "\n")) || !strings.HasSuffix(a.After, string(own.CertPEM)) {
		t.Errorf("would write %q", a.After)
	}
	c, err := a.Diff(inspect.Snapshot{}, time.Now())
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	if err := a.Apply(t.Context(), env, c); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err = a.Verify(t.Context(), env, c)
	t.Logf("note: after %s: %v", time.Since(began).Round(10*time.Millisecond), err)
	var bad *remediate.BadEffectError
	if !errors.As(err, &bad) {
		t.Errorf("it is not put back: %v", err)
	}
	says(t, err, "was put back within ", " by kube-controller-manager, ", "serviceaccount-ca")
	if value() != before {
		t.Error("it is not what it was")
	}
	if err := a.Apply(t.Context(), env, c); !errors.Is(err, remediate.ErrChanged) {
		t.Errorf("over what somebody wrote meanwhile: %v", err)
	}
	if err := remediatetest.PutBack(t.Context(), env.Kube, a.Object.Namespace, a.Object.Name, kept); err != nil || value() != before {
		t.Errorf("put back from the backup: %v", err)
	}

	// What is read of the rollout: the operator's object is there, and of no revision.
	r, err := cluster.Rollout(t.Context(), namespace, "certrot-e2e-is-not-there")
	if err != nil || !r.Operator || len(r.Masters) != 0 || len(r.RootCAs) != 1 || r.RootCAs[0].Namespace != namespace || len(r.RootCAs[0].CA) == 0 || time.Since(r.RootCAs[0].Written) > time.Minute {
		t.Errorf("rollout %+v, %v", r, err)
	}
	if r.Missing(r.RootCAs[0].CA) != nil || len(r.Missing(ca)) != 3 {
		t.Errorf("behind: %v, %v", r.Missing(r.RootCAs[0].CA), r.Missing(ca))
	}
}

// A DaemonSet's pod is another one afterwards, and no other was deleted.
func TestRestartPods(t *testing.T) {
	lab := labtest.RequireNodes(t)
	env, cluster := asAdministrator(t, lab)
	node := lab.Workers()[1]
	rows := catalog.NodeDaemonSets()
	row := rows[slices.IndexFunc(rows, func(p catalog.NodeDaemonSet) bool { return p.ID == "machine-config-daemon" })]
	root, err := cluster.Rollout(t.Context(), row.Namespace)
	if err != nil || len(root.RootCAs) != 1 {
		t.Fatal(root, err)
	}
	pods := func() (here, others []string, of []inspect.Pod) {
		all, gaps := cluster.Pods(t.Context(), row.Namespace)
		if len(gaps) > 0 {
			t.Fatal(gaps)
		}
		for _, p := range all {
			switch {
			case p.OwnerName != row.DaemonSet:
			case p.Node == node:
				here, of = append(here, p.UID), append(of, p)
			default:
				others = append(others, p.UID)
			}
		}
		return here, others, of
	}
	before, others, of := pods()
	if len(of) != 1 || !of[0].Ready || of[0].Started.IsZero() || of[0].Accepted.IsZero() || of[0].OwnerKind != "DaemonSet" {
		t.Fatalf("%+v", of)
	}
	a := action.RestartPods{NodeName: node, Row: row, Pods: of, CA: root.RootCAs[0].CA}
	began := time.Now()
	if err := a.Apply(t.Context(), env, nil); err != nil {
		t.Fatal(err)
	}
	if err := a.Verify(t.Context(), env, nil); err != nil {
		t.Fatal(err)
	}
	t.Logf("note: restarted in %s", time.Since(began).Round(100*time.Millisecond))
	after, same, _ := pods()
	if len(after) != 1 || after[0] == before[0] || !slices.Equal(same, others) {
		t.Errorf("was %v, is %v; others were %v, are %v", before, after, others, same)
	}
	// Once more, for the pods of that plan, does nothing to the new one.
	if err := a.Apply(t.Context(), env, nil); !errors.Is(err, remediate.ErrChanged) {
		t.Errorf("a second time: %v", err)
	}
	if still, _, _ := pods(); !slices.Equal(still, after) {
		t.Errorf("a second time deleted another pod: %v, %v", still, after)
	}
}
