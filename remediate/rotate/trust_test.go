package rotate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// TestTrustOfWhoWasNotAsked: what nodes trust that were left out is unknown.
func TestTrustOfWhoWasNotAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title string
		but   func(*inspect.Snapshot)
		want  assess.Status
		says  string
	}{
		{"both nodes trust it", func(*inspect.Snapshot) {}, assess.Pass, "all 2"},
		{"nobody has read one of those that the API knows", func(s *inspect.Snapshot) { s.Nodes = s.Nodes[1:] }, assess.Unknown, "master-0 (the node was left out)"},
		{"since when a kubelet runs is not known", func(s *inspect.Snapshot) { s.Nodes[0].Kubelet.Active = "active" }, assess.Pass, "all 2"}, // it reads this file when that changes
		{"another one was left out", func(s *inspect.Snapshot) { s.OtherNodes = []inspect.Node{{Name: "worker-1"}} }, assess.Unknown, "worker-1 (the node was left out)"},
		{"which nodes there are is not known", func(s *inspect.Snapshot) {
			s.Gaps = append(s.Gaps, inspect.Gap{What: "nodes", Reason: "forbidden"})
		}, assess.Unknown, "forbidden"},
	} {
		r := newRotating(toKubelet, "4.15.3")
		r.put(r.rotation().Signer, "kubernetes.io/tls", r.new.CertPEM)
		both := pkitest.Bundle(r.old.CertPEM, r.new.CertPEM)
		for _, at := range append([]catalog.Ref{r.rotation().Bundle}, r.carried()...) {
			r.put(at, "", both)
		}
		r.kubeletCA("master-0", both)
		r.kubeletCA("worker-0", both)
		c.but(&r.s)
		for _, name := range []string{toKubelet, "kubelet-client"} {
			p := r.preflight(t, name)
			for _, s := range p.stages() {
				if s.ID == StageTrust && (s.Status != c.want || !strings.Contains(s.Reason, c.says)) {
					t.Errorf("%s, of %s: %s: %s", c.title, name, s.Status, s.Reason)
				}
			}
			p.Follows = true
			for _, v := range p.Check() {
				if name == "kubelet-client" && v.ID == SignerTrusted && v.Blocks() != (c.want != assess.Pass) {
					t.Errorf("%s: it may be signed: %+v", c.title, v)
				}
			}
		}
	}
}

// TestPodsMemory: pods that verify by what they read at their start are asked when that was,
// and where none is asked, nothing is signed by a new CA without accepting that by name.
func TestPodsMemory(t *testing.T) {
	t.Parallel()
	const daemon = "openshift-machine-config-operator"
	for _, c := range []struct {
		title  string
		signer string
		leaf   string
		young  bool // the signer is new
		due    bool // the signer is to be rotated
		pods   func(r *rotating) *action.NetworkRestarts
		want   catalog.Tristate
		says   string
		unread bool // the pods' node
	}{
		{"pods, and nothing new", "service-network-serving-signer", "service-network-serving-certkey", false, false, nil, catalog.Yes, "", false},
		{"pods, and a new signer", "service-network-serving-signer", "service-network-serving-certkey", true, false, nil, catalog.Unknown, "that can't be checked", false},
		{"pods, and a signer to come", "service-network-serving-signer", "service-network-serving-certkey", false, true, nil, catalog.Unknown, "before the new CA reached them", false},
		{"api-int, and nothing new", loadBalancer, "internal-loadbalancer-serving-certkey", false, false, nil, catalog.Yes, "", false},
		{"api-int, and a signer to come", loadBalancer, "internal-loadbalancer-serving-certkey", false, true, nil, catalog.No, daemon + "/machine-config-daemon", false},
		{"api., which no pod dials", loadBalancer, "external-loadbalancer-serving-certkey", true, false, nil, catalog.Yes, "", false},
		{"pods were not read", loadBalancer, "internal-loadbalancer-serving-certkey", true, false, nil, catalog.Unknown, "was not read", false},
		{"a daemon runs since before", loadBalancer, "internal-loadbalancer-serving-certkey", true, false, func(r *rotating) *action.NetworkRestarts {
			return r.dials(daemon, "machine-config-daemon", -48*time.Hour, r.old.CertPEM, r.new.CertPEM)
		}, catalog.No, "the-pod on worker-0 (it runs since before the CA was made)", false},
		{"the approver runs since before", loadBalancer, "internal-loadbalancer-serving-certkey", true, false, func(r *rotating) *action.NetworkRestarts {
			return r.dials("openshift-network-node-identity", "network-node-identity", -48*time.Hour, r.old.CertPEM, r.new.CertPEM)
		}, catalog.No, "the-pod on worker-0", false},
		{"a daemon was started after, by a ConfigMap without the CA", loadBalancer, "internal-loadbalancer-serving-certkey", true, false, func(r *rotating) *action.NetworkRestarts {
			return r.dials(daemon, "machine-config-daemon", -time.Minute, r.old.CertPEM)
		}, catalog.No, "it runs since before kube-root-ca.crt had the CA", false},
		{"a daemon was started after", loadBalancer, "internal-loadbalancer-serving-certkey", true, false, func(r *rotating) *action.NetworkRestarts {
			return r.dials(daemon, "machine-config-daemon", -time.Minute, r.old.CertPEM, r.new.CertPEM)
		}, catalog.Yes, "", false},
		{"a daemon was started after, and its node was not read", loadBalancer, "internal-loadbalancer-serving-certkey", true, false, func(r *rotating) *action.NetworkRestarts {
			return r.dials(daemon, "machine-config-daemon", -time.Minute, r.old.CertPEM, r.new.CertPEM)
		}, catalog.Unknown, "/var/lib/kubelet/kubeconfig was not read", true},
		{"when a daemon was started is not known", loadBalancer, "internal-loadbalancer-serving-certkey", true, false, func(r *rotating) *action.NetworkRestarts {
			n := r.dials(daemon, "machine-config-daemon", 0, r.old.CertPEM, r.new.CertPEM)
			n.Pods[0].Started, n.Pods[0].Accepted = time.Time{}, time.Time{}
			return n
		}, catalog.Unknown, "whether the-pod on worker-0 has loaded it", false},
		{"somebody else's pod", loadBalancer, "internal-loadbalancer-serving-certkey", true, false, func(r *rotating) *action.NetworkRestarts {
			return r.dials(daemon, "other", -48*time.Hour, r.old.CertPEM)
		}, catalog.Yes, "", false},
	} {
		r := newRotating(c.signer, "4.15.3")
		if c.young {
			r.put(r.rotation().Signer, "kubernetes.io/tls", r.new.CertPEM)
		}
		if !c.unread { // machine-config-daemon's NodeWriter makes a client of it at its start
			file := inspect.NodeFile{Path: catalog.KubeletKubeconfigs()[1], Modified: r.at.Add(-72 * time.Hour)}
			r.s.Nodes = []inspect.Node{{Name: "worker-0", Via: "ssh", Files: []inspect.NodeFile{file}}}
		}
		p := r.preflight(t, c.leaf)
		p.SignerFirst = c.due
		if c.pods != nil {
			p.Network = c.pods(r)
		}
		r.sameSaved(t, c.title, p)
		for _, v := range p.Check() {
			if v.ID == PodsMemory && strings.Contains(v.Remediation.Text, " delete pod ") && (!strings.Contains(v.Remediation.Text, "node by node") || !strings.Contains(v.Remediation.Text, "kube-scheduler have the CA") || strings.Contains(v.Remediation.Text, "delete pod -l") && !strings.Contains(v.Remediation.Text, "--field-selector spec.nodeName=")) {
				t.Errorf("%s: pods of all nodes at once, or too early: %s", c.title, v.Remediation.Text)
			}
			if v.ID == PodsMemory && (v.Status != (preflight.Result{Passed: c.want}).Assess("").Status || !strings.Contains(v.Reason, c.says) || !v.Risk || (v.Remediation.Text == "") != (c.want == catalog.Yes)) {
				t.Errorf("%s: %s: %s; next: %s", c.title, v.Status, v.Reason, v.Remediation.Text)
			}
		}
	}
}

// dials are the facts about one pod, started so long from now, and the CAs that are
// published to it since an hour.
func (r *rotating) dials(namespace, daemonSet string, started time.Duration, ca ...[]byte) *action.NetworkRestarts {
	root := inspect.RootCA{Namespace: namespace, Created: r.at.AddDate(-1, 0, 0), Written: r.at.Add(-time.Hour)}
	for _, f := range r.sc.Scan(pkitest.Bundle(ca...)) {
		root.CA = append(root.CA, f.Content.Certs...)
	}
	at := r.at.Add(started)
	return &action.NetworkRestarts{
		Pods:    []inspect.Pod{{Namespace: namespace, Name: "the-pod", Node: "worker-0", OwnerKind: "DaemonSet", OwnerName: daemonSet, Accepted: at, Started: at}},
		Rollout: inspect.Rollout{RootCAs: []inspect.RootCA{root}},
	}
}

// TestToldLeaf: a signer is not rotated while the owner of what it signs is told to.
func TestToldLeaf(t *testing.T) {
	t.Parallel()
	r := newRotating(aggregator, "4.15.3")
	r.annotate("aggregator-client", catalog.AnnotationNotAfter, "")
	p := r.preflight(t, aggregator)
	if s := p.settled(); s.Status != assess.Warn || s.ID != StageLeaf {
		t.Errorf("it is settled: %s %s", s.Status, s.Reason)
	}
	if l := p.left(rotatables(p.Facts)); l.Signer || len(l.Leaves) != 1 {
		t.Errorf("left: %+v", l)
	}
	for wanted, says := range map[int32]string{0: "kube-apiserver-operator does not run: its Deployment openshift-kube-apiserver-operator/kube-apiserver-operator is scaled to 0", 1: lookAtOperator("kube-apiserver-operator")} {
		p.ControlPlane = &inspect.ControlPlaneStatus{Workloads: []inspect.Workload{{Kind: inspect.Deployment, Namespace: "openshift-kube-apiserver-operator", Name: "kube-apiserver-operator", Desired: int(wanted), Ready: int(wanted)}}}
		for _, s := range p.stages() {
			if s.ID == StageLeaf && !strings.Contains(s.Remediation.Text, says) {
				t.Errorf("told, of an owner with %d replicas: %s", wanted, s.Remediation.Text)
			}
		}
	}
}

// TestTrustInMemory: a kubelet that has not read its file again does not trust the new CA,
// and where that is unknown it is not taken to.
func TestTrustInMemory(t *testing.T) {
	t.Parallel()
	counted := 0
	for _, row := range catalog.StartupReaders() {
		r := newRotating(loadBalancer, "4.15.3")
		p := r.preflight(t, "internal-loadbalancer-serving-certkey")
		e := row.Edge
		e.Presented = catalog.InternalLoadBalancerServing() // as trust.Judge has it, of the edge row.Of
		p.Claims = []trust.Claim{{Edge: e, Node: "worker-0", Assessment: assess.Assessment{Reason: "it was not restarted"}}}
		for _, s := range p.stages() {
			if s.ID == StageTrust && strings.Contains(s.Reason, "it was not restarted") {
				counted++
			}
		}
	}
	if counted == 0 || counted != len(catalog.StartupReaders()) {
		t.Errorf("%d of %d processes count", counted, len(catalog.StartupReaders()))
	}
}

// TestTrustOfWhoWasNotSeen: of who verifies by what it had read at its start, a file that
// is right tells nothing where it was not read whether it runs.
func TestTrustOfWhoWasNotSeen(t *testing.T) {
	t.Parallel()
	counted := 0
	for _, row := range catalog.StartupReaders() {
		if row.Command == "kubelet" {
			continue
		}
		for title, c := range map[string]struct {
			but     func(*inspect.Snapshot)
			unknown bool
		}{
			"it does not run": {func(*inspect.Snapshot) {}, false},
			"it runs": {func(s *inspect.Snapshot) {
				s.Nodes[0].Processes = []inspect.Process{inspecttest.Process(row.Command, s.Nodes[0].Kubelet.Started)}
			}, false},
			"processes were not read": {func(s *inspect.Snapshot) {
				s.Gaps = append(s.Gaps, inspect.Gap{What: "node/worker-0", Reason: "processes of services: /proc does not tell when the system was started"})
			}, true},
			"those of another node were not read": {func(s *inspect.Snapshot) {
				s.Gaps = append(s.Gaps, inspect.Gap{What: "node/worker-1", Reason: "processes of services: /proc does not tell when the system was started"})
			}, false},
			"nothing that runs was read": {func(s *inspect.Snapshot) { s.Nodes[0].Kubelet, s.Nodes[0].AllProcesses = inspect.Kubelet{}, false }, true},
			"not all that runs was read": {func(s *inspect.Snapshot) { s.Nodes[0].AllProcesses = false }, true},
		} {
			r := newRotating(loadBalancer, "4.15.3")
			r.s.Nodes = []inspect.Node{{Name: "worker-0", Via: "exec", Kubelet: inspect.Kubelet{Active: "active", Started: r.at}, AllProcesses: true}}
			c.but(&r.s)
			p := r.preflight(t, "internal-loadbalancer-serving-certkey")
			i := slices.IndexFunc(catalog.Edges(), func(e catalog.Edge) bool { return e.ID == row.EdgeID })
			p.Claims = []trust.Claim{{Edge: catalog.Edges()[i], Node: "worker-0", Assessment: assess.Assessment{Status: assess.Pass}}}
			for _, s := range p.stages() {
				if s.ID != StageTrust {
					continue
				}
				counted++
				if got := strings.Contains(s.Reason, row.Verifier+" on worker-0 (neither whether it runs nor its start time was read"); got != c.unknown || got && s.Status != assess.Unknown {
					t.Errorf("%s, %s: %s: %s", row.Command, title, s.Status, s.Reason)
				}
			}
		}
	}
	if counted != 6*(len(catalog.StartupReaders())-1) {
		t.Errorf("it was asked %d times", counted)
	}
}
