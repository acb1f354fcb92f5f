package trust_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// TestOneWorkersWordOfAControlPlaneNode is no proof against other nodes: root on it chooses what is presented to it.
func TestOneWorkersWordOfAControlPlaneNode(t *testing.T) {
	t.Parallel()
	e := edge(t, "kubelet-api-int")
	own, other := pkitest.NewCA("own", from(-10), from(900)), pkitest.NewCA("other", from(-10), from(900))
	for name, c := range map[string]struct {
		from []string
		want assess.Status
		why  string
	}{
		"one worker":                  {[]string{"w1"}, assess.Unknown, "by m2, one of the control plane nodes, as w1 alone was presented: "},
		"two workers":                 {[]string{"w1", "w2"}, assess.Fail, "by m2, one of the control plane nodes: "},
		"a control plane node":        {[]string{"m1"}, assess.Fail, "by m2, one of the control plane nodes: "},
		"a worker, and the same node": {[]string{"n1"}, assess.Fail, "by m2, one of the control plane nodes: "},
	} {
		w := newWorld(catalog.Versions{Cluster: "4.15.3"})
		w.trust(e, own.CertPEM)
		w.signer(e, own)
		met := leafFor(e, own, -1, 29).CertPEM
		w.put(e.Presented, met)
		w.s.Served = []inspect.Served{{Node: "n1", Address: "api-int.example.com:6443", Name: "api-int.example.com", Chain: w.sc.Scan(met)[0].Content.Certs}}
		w.s.Nodes[0].Role = catalog.RoleWorker
		for _, name := range []string{"m1", "w1", "w2"} {
			role := catalog.RoleWorker
			if name == "m1" {
				role = catalog.RoleMaster
			}
			w.s.Nodes = append(w.s.Nodes, inspect.Node{Name: name, Via: "ssh", Role: role})
		}
		for _, node := range c.from {
			w.s.Served = append(w.s.Served, inspect.Served{Node: node, Of: "m2", Server: catalog.ListenerAPIServer, Address: "10.0.0.2:6443", Name: "api-int.example.com", Chain: w.sc.Scan(leafFor(e, other, -1, 29).CertPEM)[0].Content.Certs})
		}
		found := false
		for _, got := range w.judge(e.ID) {
			if got.Node != "n1" {
				continue
			}
			found = true
			if got.Status != c.want || !strings.Contains(got.Reason, c.why) {
				t.Errorf("%s: %s, %q", name, got.Status, got.Reason)
			}
		}
		if !found {
			t.Errorf("%s: no claim about n1", name)
		}
	}
}

// comesBack is the verdict on n1.
func comesBack(s *starting) trust.RestartAnswer {
	nodes := report.NewRestartReport(context.Background(), inspect.NewFacts(s.s, noon, 0)).Nodes
	return nodes[slices.IndexFunc(nodes, func(n trust.RestartNode) bool { return n.Name == "n1" })].ComesBack
}

// TestOneWorkersHandshakeIsNoCommandForOthers: whether n1 comes back is not for one worker to say. What it was
// presented leaves that unknown, without a command.
func TestOneWorkersHandshakeIsNoCommandForOthers(t *testing.T) {
	t.Parallel()
	const of, kept = "does not verify the certificate that ", "it trusts the server that answered; "
	byM2 := func(v *inspect.Served) {
		v.Of, v.Address, v.Server = "m2", "10.0.0.2:6443", catalog.ListenerAPIServer
	}
	for name, c := range map[string]struct {
		from []string // who was presented what another CA signed; n1 is a control plane node but where it is among them
		with func(v *inspect.Served)
		want assess.Status
		why  string
	}{
		"one worker":                           {[]string{"w1"}, nil, assess.Unknown, of + "was presented to worker w1 alone there (its own resolver and network choose the server: look there first): x509"},
		"one worker of a control plane node":   {[]string{"w1"}, byM2, assess.Unknown, of + "was presented to worker w1 alone there"},
		"two workers":                          {[]string{"w1", "w2"}, nil, assess.Warn, of + "was presented to w1 there: x509"},
		"two workers of a control plane node":  {[]string{"w1", "w2"}, byM2, assess.Warn, of + "m2 presents: x509"},
		"a control plane node":                 {[]string{"m1"}, nil, assess.Warn, of + "was presented to m1 there: x509"},
		"a worker, and a control plane node":   {[]string{"w1", "m1"}, nil, assess.Warn, of + "was presented to w1 there: x509"},
		"another client":                       {[]string{"w1", ""}, nil, assess.Warn, of + "was presented to w1 there: x509"},
		"the worker itself, of another server": {[]string{"n1"}, byM2, assess.Warn, of + "m2 presents: x509"},
	} {
		s := newStarting()
		s.serves(s.fresh)
		other := s.s.Served[0]
		if c.with != nil {
			c.with(&other)
		}
		s.serves(s.old)
		s.s.Nodes[0].Role = catalog.RoleMaster
		if slices.Contains(c.from, "n1") {
			s.s.Nodes[0].Role = catalog.RoleWorker
		}
		s.s.Nodes = append(s.s.Nodes, inspect.Node{Name: "m1", Via: "ssh", Role: catalog.RoleMaster}, inspect.Node{Name: "w1", Via: "ssh", Role: catalog.RoleWorker}, inspect.Node{Name: "w2", Via: "ssh", Role: catalog.RoleWorker})
		for _, other.Node = range c.from {
			s.s.Served = append(s.s.Served, other)
		}
		a := comesBack(s)
		if a.Status != c.want || !strings.Contains(a.Reason, kept) || !strings.Contains(a.Reason, c.why) || (a.Remediation.Text != "") != (c.want != assess.Unknown) {
			t.Errorf("%s: %s: %q | %q", name, a.Status, a.Reason, a.Remediation.Text)
		}
	}
}

// TestTheSameLeafIsNotTheSameChain: a worker says that what all are presented came to it without its intermediate.
func TestTheSameLeafIsNotTheSameChain(t *testing.T) {
	t.Parallel()
	s := newStarting()
	between := s.old.CA("between", from(-2), from(28))
	leaf := between.Issue("api-int.example.com", from(-2), from(28), pkitest.DNS("api-int.example.com")).CertPEM
	chain := s.sc.Scan(pkitest.Bundle(leaf, between.CertPEM))[0].Content.Certs
	served := func(node string, chain []*pki.Cert) {
		s.s.Served = append(s.s.Served, inspect.Served{Node: node, Address: apiInt, Name: "api-int.example.com", Chain: chain})
	}
	s.s.Served = nil
	s.s.Nodes[0].Role = catalog.RoleMaster
	s.s.Nodes = append(s.s.Nodes, inspect.Node{Name: "w1", Via: "ssh", Role: catalog.RoleWorker})
	served("n1", chain)
	served("w1", chain[:1])
	a := comesBack(s)
	if a.Status != assess.Unknown || !strings.Contains(a.Reason, "presented to worker w1 alone there") || a.Remediation.Text != "" {
		t.Errorf("%s: %q | %q", a.Status, a.Reason, a.Remediation.Text)
	}
}

// TestOneWorkersWordHidesNothing: what is known of n1 is said as ever, with its own next step; one API server presents a
// leaf of the new signer, and w1 alone met it.
func TestOneWorkersWordHidesNothing(t *testing.T) {
	t.Parallel()
	const word = "was presented to worker w1 alone there"
	e := edge(t, "kubelet-api-int")
	for name, c := range map[string]struct {
		with func(s *starting)
		want assess.Status
		says []string
		next string // empty: none
	}{
		"nothing more":                   {func(*starting) {}, assess.Unknown, []string{word}, ""},
		"the Secret of the leaf":         {func(s *starting) { s.put(e.Presented, leafFor(e, s.fresh, -1, 29).CertPEM) }, assess.Unknown, []string{word}, ""},
		"the signer's Secret":            {func(s *starting) { s.signer(e, s.fresh) }, assess.Warn, []string{"whether it comes back now is unknown", word, "in any case no longer after"}, "pretrust --nodes n1"},
		"it has to rejoin":               {func(s *starting) { s.client(from(-30), from(-1)) }, assess.Warn, []string{"it has to rejoin", "; and it trusts the server that answered", word}, "--rebootstrap"},
		"its kubeconfig does not load":   {func(s *starting) { s.c.Kubeconfig.Unread = "no rights" }, assess.Unknown, []string{"no rights"}, "look at"},
		"its credentials were not tried": {func(s *starting) { s.s.Nodes[0].RestartProbe = nil }, assess.Unknown, []string{"were not tried"}, "restart-safe"},
	} {
		s := newStarting()
		s.serves(s.fresh)
		other := s.s.Served[0]
		s.serves(s.old)
		c.with(s)
		s.s.Nodes[0].Role = catalog.RoleWorker
		s.s.Nodes = append(s.s.Nodes, inspect.Node{Name: "w1", Via: "ssh", Role: catalog.RoleWorker})
		other.Node = "w1"
		s.s.Served = append(s.s.Served, other)
		a := comesBack(s)
		for _, says := range c.says {
			if a.Status != c.want || !strings.Contains(a.Reason, says) || (a.Remediation.Text == "") != (c.next == "") || !strings.Contains(a.Remediation.Text, c.next) {
				t.Errorf("%s: %s: %q | %q, want %s, %q", name, a.Status, a.Reason, a.Remediation.Text, c.want, says)
			}
		}
	}
}
