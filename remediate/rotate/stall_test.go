package rotate

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// TestStallsAreNamed: a stage that is late says by what was read why, and gives general
// advice only where nothing was.
func TestStallsAreNamed(t *testing.T) {
	t.Parallel()
	operator := inspect.Workload{Kind: inspect.Deployment, Namespace: "openshift-kube-apiserver-operator", Name: "kube-apiserver-operator", Desired: 1, Ready: 1}
	daemon := func(node string) inspect.Workload {
		return inspect.Workload{Kind: inspect.DaemonPod, Namespace: "openshift-machine-config-operator", Name: "machine-config-daemon-" + node, Node: node, Desired: 1, Ready: 1}
	}
	for _, c := range []struct {
		title, version, stage string
		but                   func(*inspect.ControlPlaneStatus)
		want                  string
		never                 string
	}{
		{"nothing speaks against the owner", "4.15.3", StageSigner, func(m *inspect.ControlPlaneStatus) { m.Workloads = []inspect.Workload{operator} }, "check that kube-apiserver-operator runs: ", ""},
		{"the owner is scaled to nothing", "4.15.3", StageSigner, func(m *inspect.ControlPlaneStatus) {
			operator := operator
			operator.Desired, operator.Ready = 0, 0
			m.Workloads = []inspect.Workload{operator}
		}, "is scaled to 0: oc -n openshift-kube-apiserver-operator scale deployment/kube-apiserver-operator --replicas=1", "is it there"},
		{"the owner does not get up", "4.15.3", StageSigner, func(m *inspect.ControlPlaneStatus) {
			operator := operator
			operator.Ready = 0
			m.Workloads = []inspect.Workload{operator}
		}, "no pod of its Deployment openshift-kube-apiserver-operator/kube-apiserver-operator is ready", "is it there"},
		{"the owner says it is degraded", "4.15.3", StageSigner, func(m *inspect.ControlPlaneStatus) {
			m.Operators[0].Degraded, m.Operators[0].Message = "True", "no quorum"
		}, "ClusterOperator kube-apiserver is Degraded: “no quorum”", "is it there"},
		{"a master holds up a revision", "4.15.3", StageAggregates, func(m *inspect.ControlPlaneStatus) {
			m.StaticPods[0].Latest, m.Nodes[0].Ready = 8, "Unknown"
		}, "revision 8 of kubeapiservers waits for master-0, which is not Ready", "its publisher is to"},
		{"nothing speaks against the publishers", "4.15.3", StageAggregates, func(*inspect.ControlPlaneStatus) {}, "its publisher is to bring it there", ""},
		{"a node is lost", "4.15.3", StageTrust, func(m *inspect.ControlPlaneStatus) { m.Nodes[1].Ready = "False" }, "not Ready: worker-0", "does it run there?"},
		{"a node is Ready, without a heartbeat", "4.15.3", StageTrust, func(m *inspect.ControlPlaneStatus) {
			m.Nodes[1].Heartbeat = m.Nodes[1].Heartbeat.Add(-14 * time.Minute)
		}, "worker-0 has no heartbeat for 14m (Lease)", "does it run there?"},
		{"a master without a heartbeat holds up a revision", "4.15.3", StageAggregates, func(m *inspect.ControlPlaneStatus) {
			m.StaticPods[0].Latest, m.Nodes[0].Heartbeat = 8, m.Nodes[0].Heartbeat.Add(-14*time.Minute)
		}, "revision 8 of kubeapiservers waits for master-0, which has no heartbeat for 14m (Lease)", "its publisher is to"},
		{"machine-config-daemon is not on the node", "4.15.3", StageTrust, func(m *inspect.ControlPlaneStatus) { m.Workloads = []inspect.Workload{daemon("master-0")} }, "machine-config-daemon does not run on worker-0", "does it run there?"},
		{"machine-config-daemon is there", "4.15.3", StageTrust, func(m *inspect.ControlPlaneStatus) {
			m.Workloads = []inspect.Workload{daemon("master-0"), daemon("worker-0")}
		}, "does it run there?", "does not run on"},
		{"where it runs was not read", "4.15.3", StageTrust, func(*inspect.ControlPlaneStatus) {}, "does it run there?", "does not run on"},
		{"a paused pool", "4.12.3", StageTrust, func(m *inspect.ControlPlaneStatus) { m.Pools[0].Paused = true }, "the pool worker is paused", "is one paused"},
		{"a paused pool holds nothing up", "4.15.3", StageTrust, func(m *inspect.ControlPlaneStatus) { m.Pools[0].Paused = true }, "does it run there?", "is paused"},
		{"a pool that is degraded", "4.15.3", StageTrust, func(m *inspect.ControlPlaneStatus) { m.Pools[0].Degraded = "True" }, "the pool worker is degraded", "does it run there?"},
	} {
		r := newRotating(toKubelet, c.version)
		row := r.rotation()
		r.put(row.Signer, "kubernetes.io/tls", r.new.CertPEM)
		if c.stage == StageSigner {
			r.annotate(toKubelet, catalog.AnnotationNotAfter, "")
		}
		r.kubeletCA("worker-0", r.old.CertPEM)
		c.but(r.m)
		p := r.preflight(t, toKubelet)
		p.Claims = trust.Judge(context.Background(), p.Facts)
		for _, s := range p.stages() {
			if s.ID != c.stage {
				continue
			}
			if s.Status != assess.Warn || !strings.Contains(s.Remediation.Text, c.want) || c.never != "" && strings.Contains(s.Remediation.Text, c.never) {
				t.Errorf("%s: %s: %s\nnext: %s\nwant %q, and not %q", c.title, s.Status, s.Reason, s.Remediation.Text, c.want, c.never)
			}
		}
	}
}

// kubeletCA is a node that was read, with the CAs of its kubelet's clients.
func (r *rotating) kubeletCA(node string, pem []byte) {
	at := pki.Location{Kind: pki.KindFile, Node: node, Path: "/etc/kubernetes/kubelet-ca.crt"}
	r.s.Nodes = append(r.s.Nodes, inspect.Node{Name: node, Via: "ssh", Files: []inspect.NodeFile{{Path: at.Path}}})
	r.s.Bundles = append(r.s.Bundles, inspect.Bundle{At: at, Content: r.sc.Scan(pem)[0].Content})
}

// TestTrustIsOfTheRevisionThatRuns: a static pod reads the copy of its revision, and the original is of the next one,
// which may wait for a control plane node.
func TestTrustIsOfTheRevisionThatRuns(t *testing.T) {
	t.Parallel()
	const resource = "kubecontrollermanagers"
	masters := func(current ...int) func(*inspect.ControlPlaneStatus) {
		return func(m *inspect.ControlPlaneStatus) {
			s := inspect.StaticPods{Resource: resource, Latest: 8}
			for i, revision := range current {
				s.Masters = append(s.Masters, inspect.StaticPodState{Node: "master-" + string(rune('0'+i)), Current: revision})
			}
			m.StaticPods = append(m.StaticPods, s)
		}
	}
	for title, c := range map[string]struct {
		but    func(*inspect.ControlPlaneStatus)
		status assess.Status
		says   string
	}{
		"each runs the new revision":          {masters(8, 8, 8), assess.Pass, ""},
		"two run the one before":              {masters(8, 7, 7), assess.Warn, "serviceaccount-ca lacks it in revision 7 on master-1, revision 7 on master-2"},
		"a revision whose copy was not read":  {masters(8, 6), assess.Unknown, "serviceaccount-ca was not read of revision 6 on master-1"},
		"a node on which none was put so far": {masters(8, 0), assess.Unknown, "not read of revision 0 on master-1"},
		"the operator's status was not read": {func(m *inspect.ControlPlaneStatus) {
			m.Gaps = append(m.Gaps, inspect.Gap{What: resource, Reason: "forbidden"})
		}, assess.Unknown, "which revision it runs: forbidden"},
		"no revision was made so far": {func(m *inspect.ControlPlaneStatus) {
			m.StaticPods = append(m.StaticPods, inspect.StaticPods{Resource: resource, Masters: []inspect.StaticPodState{{Node: "master-0"}}})
		}, assess.Pass, ""},
		"no operator rolls it out in this one": {func(*inspect.ControlPlaneStatus) {}, assess.Pass, ""},
	} {
		r := newRotating(loadBalancer, "4.16.3")
		r.put(r.rotation().Signer, "kubernetes.io/tls", r.new.CertPEM)
		at := catalog.ServiceAccountCA()
		r.put(at, "", r.old.CertPEM, r.new.CertPEM)
		at.Name += "-7"
		r.put(at, "", r.old.CertPEM)
		at.Name = catalog.ServiceAccountCA().Name + "-8"
		r.put(at, "", r.old.CertPEM, r.new.CertPEM)
		c.but(r.m)
		p := r.preflight(t, loadBalancer)
		i := slices.IndexFunc(catalog.Edges(), func(e catalog.Edge) bool { return e.ID == "controller-manager-api-int" })
		both := r.sc.Scan(pkitest.Bundle(r.old.CertPEM, r.new.CertPEM))[0].Content.Certs
		p.Claims = []trust.Claim{{Edge: catalog.Edges()[i], Roots: both, Assessment: assess.Assessment{Status: assess.Pass}}}
		reason, known := p.revisions(p.Claims[0], both[1:])
		s := p.trustStage(both[1:])
		if !strings.Contains(reason, c.says) || c.says == "" && reason != "" || known != (c.status != assess.Unknown) || c.says != "" && (s.Status != c.status || !strings.Contains(s.Reason, c.says)) {
			t.Errorf("%s: %q, %v; %s: %s", title, reason, known, s.Status, s.Reason)
		}
	}
}
