package trust_test

import (
	"slices"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestMemoryAfterTheSigner: the file has the new CA, and the process is older; what is
// presented is still of the old one.
func TestMemoryAfterTheSigner(t *testing.T) {
	for started, want := range map[float64]assess.Status{-3: assess.Warn, -0.1: assess.Pass} {
		w := newWorld(catalog.Versions{Cluster: "4.15.3"})
		before, after := pkitest.NewCA("lb", from(-900), from(900)), pkitest.NewCA("lb@1", from(-1), from(900))
		e := edge(t, "kubelet-api-int")
		w.put(catalog.LoadBalancerSigner(), after.CertPEM, after.KeyPEM)
		w.put(e.Presented, leafFor(e, before, -2, 28).CertPEM)
		w.trust(e, before.CertPEM, after.CertPEM)
		n := &w.s.Nodes[0]
		n.Files[0].Modified, n.Kubelet.Started = from(-5), from(started)
		got := w.judge("kubelet-memory-api-int")
		if len(got) != 1 || got[0].Status != want || (want == assess.Warn) != got[0].From.Equal(from(13)) {
			t.Errorf("started %v: %+v", started, got)
		}
	}
}

// TestMemoryKnowsNoMoreThanTheFile: a CA that may sign next, and that the file lacks, makes
// the file unknown; the memory is unknown for the same reason.
func TestMemoryKnowsNoMoreThanTheFile(t *testing.T) {
	w := newWorld(catalog.Versions{Cluster: "4.15.3"})
	ca, fresh := pkitest.NewCA("lb", from(-10), from(900)), pkitest.NewCA("fresh", from(-1), from(900))
	e := edge(t, "kubelet-api-int")
	w.show(e, leafFor(e, ca, -2, 28).CertPEM)
	w.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: catalog.LoadBalancerSigner().Namespace, Name: "loadbalancer-serving-ca", Key: "ca-bundle.crt"}, ca.CertPEM, fresh.CertPEM)
	w.trust(e, ca.CertPEM)
	w.s.Nodes[0].Files[0].Modified, w.s.Nodes[0].Kubelet.Started = from(-5), from(-3)
	file, memory := one(t, w.judge(e.ID)), one(t, w.judge("kubelet-memory-api-int"))
	if memory.Status != assess.Unknown || !memory.NextUnknown || memory.Missing != nil || memory.Reason != file.Reason {
		t.Errorf("%s: %s; the file is %s: %s", memory.Status, memory.Reason, file.Status, file.Reason)
	}
}

// TestMemoryOfAFileWithANewMode: a new mode or label is no write; a copy that keeps the time of its
// original looks the same.
func TestMemoryOfAFileWithANewMode(t *testing.T) {
	for changed, want := range map[float64]string{
		-0.2: "whether the file was written after it started is unknown: its mode, owner, label or content changed later",
		-0.6: "",
	} {
		w := newWorld(catalog.Versions{Cluster: "4.15.3"})
		ca := pkitest.NewCA("lb", from(-2), from(900))
		e := edge(t, "kubelet-api-int")
		w.put(e.Presented, leafFor(e, ca, -1.5, 29).CertPEM)
		w.put(catalog.LoadBalancerSigner(), ca.CertPEM)
		w.trust(e, ca.CertPEM)
		n := &w.s.Nodes[0]
		n.Files[0].Modified, n.Files[0].Changed, n.Kubelet.Started, n.Kubelet.Notified = from(-1), from(changed), from(-0.5), from(-0.5)
		if got := one(t, w.judge("kubelet-memory-api-int")); got.Reason != want || (got.Status == assess.Unknown) != (want != "") {
			t.Errorf("%s: %s", got.Status, got.Reason)
		}
	}
}

// TestMemoryWhereNotEachProcessWasLookedAt: an older one may be among them, or the only one.
func TestMemoryWhereNotEachProcessWasLookedAt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		days float64 // when multus was started; 0: it was not seen
		node string
		want []assess.Status
	}{
		"not seen":          {0, "n1", []assess.Status{assess.Unknown}},
		"restarted":         {-0.2, "n1", []assess.Status{assess.Unknown}},
		"old":               {-3, "n1", []assess.Status{assess.Fail}},
		"of another node":   {-0.2, "n2", []assess.Status{assess.Pass}},
		"another, not seen": {0, "n2", nil},
	} {
		w := newWorld(catalog.Versions{Cluster: "4.15.3"})
		ca := pkitest.NewCA("lb", from(-1), from(900))
		e := edge(t, "kubelet-api-int")
		w.put(e.Presented, leafFor(e, ca, -0.9, 29).CertPEM)
		w.put(catalog.LoadBalancerSigner(), ca.CertPEM)
		w.trust(e, ca.CertPEM)
		for _, row := range catalog.StartupReaders() {
			if where := edge(t, row.EdgeID).OnlyIfExists; row.ID == "multus-memory-api-int" && where != (catalog.Ref{}) {
				w.put(where, ca.CertPEM)
			}
		}
		n := &w.s.Nodes[0]
		n.Files[0].Modified = from(-0.5)
		if c.days != 0 {
			n.Processes = append(n.Processes, inspecttest.Process("multus-daemon", from(c.days)))
		}
		if c.node == "n1" {
			c.node = n.Name
		}
		w.s.Gaps = append(w.s.Gaps, inspect.Gap{What: "node/" + c.node, Reason: "processes of services: not all were looked at: it took too long"})
		var got []assess.Status
		for _, claim := range w.judge("multus-memory-api-int") {
			got = append(got, claim.Status)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestMemory: the file has the CA, which was made at -1 d, and was written at -0.5 d.
func TestMemory(t *testing.T) {
	running := func(command string, days float64) func(*inspect.Node) {
		return func(n *inspect.Node) {
			n.Processes = append(n.Processes, inspecttest.Process(command, from(days)))
		}
	}
	only := func(p inspect.Process) func(*inspect.Node) {
		return func(n *inspect.Node) { n.Processes = append(n.Processes, p) }
	}
	beside := func(p inspect.Process) func(*inspect.Node) {
		return func(n *inspect.Node) { running("multus-daemon", -0.2)(n); only(p)(n) }
	}
	kubelet := func(started, running float64) func(*inspect.Node) {
		return func(n *inspect.Node) { n.Kubelet.Started, n.Kubelet.Notified = from(started), from(running) }
	}
	for name, c := range map[string]struct {
		id      string
		node    func(*inspect.Node)
		trusts  bool            // the file has the CA
		want    []assess.Status // of the claim; none: nothing is claimed
		lacking bool
		unread  bool // who signs next
	}{
		"multus runs since before the CA":   {"multus-memory-api-int", running("multus-daemon", -3), true, []assess.Status{assess.Fail}, true, false},
		"multus runs since before the file": {"multus-memory-api-int", running("multus-daemon", -0.7), true, []assess.Status{assess.Unknown}, false, false},
		"multus was restarted":              {"multus-memory-api-int", running("multus-daemon", -0.2), true, []assess.Status{assess.Pass}, false, false},
		"who signs next was not read":       {"multus-memory-api-int", running("multus-daemon", -0.2), true, []assess.Status{assess.Unknown}, false, true},
		"one of two multus is old":          {"multus-memory-api-int", func(n *inspect.Node) { running("multus-daemon", -0.2)(n); running("multus-daemon", -3)(n) }, true, []assess.Status{assess.Fail}, true, false},
		"a tenant's multus is old":          {"multus-memory-api-int", beside(inspecttest.TenantsProcess("multus-daemon", from(-3))), true, []assess.Status{assess.Pass}, false, false},
		"only a tenant runs a multus":       {"multus-memory-api-int", only(inspecttest.TenantsProcess("multus-daemon", from(-3))), true, nil, false, false},
		"only a host runs a multus":         {"multus-memory-api-int", only(inspect.Process{Command: "multus-daemon", Started: from(-3), Host: true}), true, nil, false, false},
		"a tenant's multus is young": {"multus-memory-api-int", func(n *inspect.Node) {
			only(inspecttest.TenantsProcess("multus-daemon", from(-0.2)))(n)
			running("multus-daemon", -3)(n)
		}, true, []assess.Status{assess.Fail}, true, false},
		"whose old multus it is was not read":                           {"multus-memory-api-int", beside(inspect.Process{Command: "multus-daemon", Started: from(-3)}), true, []assess.Status{assess.Unknown}, false, false},
		"whose restarted multus it is was not read":                     {"multus-memory-api-int", only(inspect.Process{Command: "multus-daemon", Started: from(-0.2)}), true, []assess.Status{assess.Pass}, false, false},
		"another pod of the namespace runs one":                         {"multus-memory-api-int", only(inspect.Process{Command: "multus-daemon", Started: from(-3), Namespace: "openshift-multus", Pod: "network-metrics-daemon-x7k2p"}), true, nil, false, false},
		"the file is wrong, too":                                        {"multus-memory-api-int", running("multus-daemon", -3), false, nil, false, false},
		"no multus was seen":                                            {"multus-memory-api-int", running("ovnkube", -3), true, nil, false, false},
		"machine-config-daemon's NodeWriter runs since before the CA":   {"machine-config-daemon-memory-api-int", running("machine-config-daemon", -3), true, []assess.Status{assess.Fail}, true, false},
		"machine-config-daemon's NodeWriter runs since before the file": {"machine-config-daemon-memory-api-int", running("machine-config-daemon", -0.7), true, []assess.Status{assess.Unknown}, false, false},
		"machine-config-daemon was restarted":                           {"machine-config-daemon-memory-api-int", running("machine-config-daemon", -0.2), true, []assess.Status{assess.Pass}, false, false},
		"ovnkube-node":                                                  {"ovnkube-node-memory-api-int", running("ovnkube", -3), true, []assess.Status{assess.Fail}, true, false},
		"the kubelet runs since before the CA":                          {"kubelet-memory-api-int", kubelet(-3, -3), true, []assess.Status{assess.Fail}, true, false},
		"the kubelet wrote the file":                                    {"kubelet-memory-api-int", kubelet(-0.5001, -0.4999), true, []assess.Status{assess.Pass}, false, false},
		"nothing is known of the kubelet":                               {"kubelet-memory-api-int", func(*inspect.Node) {}, true, nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(catalog.Versions{Cluster: "4.15.3"})
			before, after := pkitest.NewCA("lb", from(-900), from(900)), pkitest.NewCA("lb", from(-1), from(900))
			e := edge(t, "kubelet-api-int")
			w.put(e.Presented, leafFor(e, after, -0.9, 29).CertPEM)
			if !c.unread {
				w.put(catalog.LoadBalancerSigner(), after.CertPEM)
			}
			anchors := [][]byte{before.CertPEM}
			if c.trusts {
				anchors = append(anchors, after.CertPEM)
			}
			w.trust(e, anchors...)
			for _, row := range catalog.StartupReaders() {
				if where := edge(t, row.EdgeID).OnlyIfExists; row.ID == c.id && where != (catalog.Ref{}) {
					w.put(where, before.CertPEM)
				}
			}
			w.s.Nodes[0].Files[0].Modified = from(-0.5)
			c.node(&w.s.Nodes[0])
			got := w.judge(c.id)
			if len(got) != len(c.want) {
				t.Fatalf("want %v, got %+v", c.want, got)
			}
			for i, want := range c.want {
				if got[i].Edge.Presented != e.Presented { // who asks about that certificate asks about memory, too
					t.Errorf("it is about %s", got[i].Edge.Presented)
				}
				if got[i].Status != want || got[i].NextUnknown != c.unread || (got[i].Missing != nil) != c.lacking || (want == assess.Pass) != (got[i].Reason == "") {
					t.Errorf("want %s, got %s: %s (lacks %v)", want, got[i].Status, got[i].Reason, got[i].Missing)
				}
			}
		})
	}
}
