package apiint

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

func TestPlanIsProven(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewFixture("worker-1", "master-0")
	before := f.With()
	fix := fixOf(f)
	fix.Nodes = []string{"worker-1", "master-0"} // not by name
	p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(before, f.Snapshot) {
		t.Error("planning changed the facts")
	}
	var want []string
	for _, n := range fix.Nodes {
		want = append(want, "replace "+n+":"+remediatetest.BootstrapFile, "replace "+n+":"+remediatetest.KubeletFile, "restart "+n+":kubelet.service", "await "+n)
	}
	if got := remediatetest.StepsOf(p); !slices.Equal(got, want) {
		t.Errorf("steps %q", got)
	}
	if solved := checksOf(p.Solved); !slices.Contains(solved, "api-trusted") || !slices.Contains(solved, "node-file-current") || len(p.Added) > 0 {
		t.Errorf("solved %q, added %+v", solved, p.Added)
	}
	again, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
	if err != nil || !slices.Equal(remediatetest.StepsOf(again), want) {
		t.Errorf("planned again: %v", err)
	}
}

// TestNoPrefixOfAPlanIsWorse stops after each step.
func TestNoPrefixOfAPlanIsWorse(t *testing.T) {
	t.Parallel()
	missing := remediatetest.NewFixture()
	missing.Drop("worker-0", remediatetest.KubeletFile)
	half := remediatetest.NewFixture()
	half.Embed("worker-0", remediatetest.BootstrapFile, half.ConfigMap)
	for name, f := range map[string]*remediatetest.Fixture{"two nodes": remediatetest.NewFixture("worker-0", "worker-1"), "no file of the kubelet": missing, "one file is right": half} {
		p := planOf(f, t)
		critical := func(s inspect.Snapshot) (at []string) {
			for _, found := range remediate.Judge(s, remediatetest.TestNow) {
				for _, l := range found.At {
					if found.Severity == assess.Critical {
						at = append(at, found.ID+" "+l.String())
					}
				}
			}
			return at
		}
		was, snapshot, steps := critical(f.Snapshot), f.Snapshot, 0
		for _, n := range p.Nodes() {
			for _, s := range n.Steps {
				if s.Change == nil {
					continue
				}
				steps++
				snapshot = snapshot.With(s.Change.Deltas...)
				for _, is := range critical(snapshot) {
					if !slices.Contains(was, is) {
						t.Errorf("%s: after %s: %s", name, s.Action.ID(), is)
					}
				}
			}
		}
		if left := critical(snapshot); steps < 2 || len(left) > 0 {
			t.Errorf("%s: after %d steps: %q", name, steps, left)
		}
	}
}

// worsening is an action that takes the CA out of a node's kubeconfig.
type worsening struct{ action.AddKubeconfigCAs }

func (a worsening) Diff(inspect.Snapshot, time.Time) (*remediate.Change, error) {
	const field = "clusters[0].cluster.certificate-authority-data"
	return &remediate.Change{Deltas: []inspect.Delta{inspect.KubeconfigWritten{Node: a.NodeName, Path: a.Path, Field: field, CA: &pki.Content{}, At: remediatetest.TestNow}}}, nil
}

func TestPlanThatAddsAFindingIsRefused(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewFixture()
	d := remediate.NewDraft("run-1", f.Snapshot, remediatetest.TestNow)
	d.AddNode("worker-0")
	if _, err := d.Step(worsening{action.AddKubeconfigCAs{NodeName: "worker-0", Path: remediatetest.KubeletFile}}); err != nil {
		t.Fatal(err)
	}
	err := d.Finish().Proven()
	var r *remediate.Refusal
	if !errors.As(err, &r) || r.Name != "plan-proven" || r.Risk || r.Next == "" || !strings.Contains(r.Reason, remediatetest.KubeletFile) {
		t.Errorf("%v", err)
	}
}

// rewriting is an action that leaves other certificates in a file on a node.
type rewriting struct {
	action.AddKubeconfigCAs
	to *pki.Content
}

func (a rewriting) Diff(inspect.Snapshot, time.Time) (*remediate.Change, error) {
	return &remediate.Change{Deltas: []inspect.Delta{inspect.KubeconfigWritten{Node: a.NodeName, Path: a.Path, CA: a.to, At: remediatetest.TestNow}}}, nil
}

// TestPlanThatBreaksATrustEdgeIsRefused: no check asks by which CAs kubelets verify clients, and a trust edge does.
func TestPlanThatBreaksATrustEdgeIsRefused(t *testing.T) {
	t.Parallel()
	const file = "/etc/kubernetes/kubelet-ca.crt"
	client := catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-kube-apiserver", Name: "kubelet-client", Key: "tls.crt"}
	for name, trusted := range map[string]bool{"it passed": true, "it was failing": false} {
		f := remediatetest.NewFixture()
		f.Object(client, f.Young.Issue("system:kube-apiserver", remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour)).CertPEM)
		ca := f.Service
		if trusted {
			ca = f.Young
		}
		f.Pem("worker-0", file, ca.CertPEM)
		d := remediate.NewDraft("run-1", f.Snapshot, remediatetest.TestNow)
		d.AddNode("worker-0")
		if _, err := d.Step(rewriting{action.AddKubeconfigCAs{NodeName: "worker-0", Path: file}, f.Sc.Scan(f.Localhost.CertPEM)[0].Content}); err != nil {
			t.Fatal(err)
		}
		p := d.Finish()
		err := p.Proven()
		var r *remediate.Refusal
		switch {
		case len(p.Added) > 0:
			t.Errorf("%s: a check finds it, too: %+v", name, p.Added)
		case !trusted && err != nil:
			t.Errorf("%s: %v", name, err)
		case trusted && (!errors.As(err, &r) || r.Name != remediate.PlanProven || r.Risk || r.Next == "" || !strings.Contains(r.Reason, "would break a trust edge: kubelet-client-ca fails: x509: ") || !strings.Contains(r.Reason, "(worker-0, Secret/openshift-kube-apiserver/kubelet-client[tls.crt])")):
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestACertificateThatIsRefusedMayBeRemoved: by the CA bundle alone the API server trusts it, and answers 401. What
// the kubelet presents then is unknown until it has joined again, by what the plan does on purpose.
func TestACertificateThatIsRefusedMayBeRemoved(t *testing.T) {
	t.Parallel()
	for _, nodes := range [][]string{{"worker-0"}, {"worker-0", "worker-1"}} {
		f := remediatetest.NewFixture(nodes...)
		f.Joins(nodes...)
		f.Object(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "openshift-kube-apiserver", Name: "client-ca", Key: "ca-bundle.crt"}, f.Old.CertPEM)
		f.Object(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-kube-controller-manager-operator", Name: "csr-signer", Key: "tls.crt"}, f.Old.CertPEM)
		n, _ := f.Snapshot.Node("worker-0")
		n.Files = append(n.Files, inspect.NodeFile{Path: inspect.KubeletClient, Link: "/var/lib/kubelet/pki/kubelet-client-2024-06-01-00-00-00.pem", Modified: remediatetest.TestNow.Add(-time.Hour)})
		n.RestartProbe.Kubeconfig.Answers = []inspect.ProbeAnswer{{Code: 401}}
		f.Sort()
		fix := fixOf(f)
		fix.Nodes, fix.API, fix.Rebootstrap, fix.ApproveCSRs = []string{"worker-0"}, true, true, true
		p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Errorf("%q: %v", nodes, err)
		} else if got := remediatetest.StepsOf(p); !slices.Contains(got, "take-away worker-0:"+inspect.KubeletClient) {
			t.Errorf("%q: steps %q", nodes, got)
		}
	}
}
