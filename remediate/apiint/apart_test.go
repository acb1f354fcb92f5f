package apiint

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"math/big"
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
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// unmarkedTwin is a CA of the signer's name without a subject key identifier.
func unmarkedTwin(f *remediatetest.Fixture, t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	isCA := pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Critical: true, Value: []byte{0x30, 3, 1, 1, 0xff}}
	c := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: f.Young.Cert.Subject, NotBefore: remediatetest.TestNow.AddDate(0, 0, -1), NotAfter: remediatetest.TestNow.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageCertSign, ExtraExtensions: []pkix.Extension{isCA}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestWhatOneWorkerHasStopsNoOther: what is in its files, or what is presented to it, leaves it out of a plan
// for all nodes, and is said of it.
func TestWhatOneWorkerHasStopsNoOther(t *testing.T) {
	t.Parallel()
	for check, change := range map[string]func(f *remediatetest.Fixture){
		remediate.PlanProven: func(f *remediatetest.Fixture) {
			f.Embed("worker-1", remediatetest.KubeletFile, f.Before, unmarkedTwin(f, t))
		},
		verifiesServed: func(f *remediatetest.Fixture) {
			leaf := f.Old.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour))
			for i := range f.Served {
				if f.Served[i].Node == "worker-1" {
					f.Served[i].Chain = f.Sc.Scan(leaf.CertPEM)[0].Content.Certs
				}
			}
		},
		preflight.Clocks: func(f *remediatetest.Fixture) { setClock(f, "worker-1", inspect.Clock{}) },
	} {
		f := remediatetest.NewCluster("master-0 worker-0 worker-1")
		change(f)
		p, err := wholeOf(f).Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Errorf("%s: %v", check, err)
			continue
		}
		if len(p.Unknown) != 1 || p.Unknown[0].Node != "worker-1" || p.Unknown[0].Name != check || p.Unknown[0].Next == "" || len(p.Added) > 0 || len(p.Breaks) > 0 {
			t.Errorf("%s: left out: %+v, added %+v, breaks %+v", check, p.Unknown, p.Added, p.Breaks)
		}
		steps := remediatetest.StepsOf(p)
		others := slices.ContainsFunc(steps, func(s string) bool { return s == "restart worker-0:kubelet.service" })
		if its := slices.ContainsFunc(steps, func(s string) bool { return strings.Contains(s, "worker-1") }); its || !others {
			t.Errorf("%s: steps %q", check, steps)
		}
		if check == preflight.Clocks {
			continue // named nodes are asked before the run
		}
		// Of nodes that were named, all are repaired or none, and the one that is why is named.
		named := fixOf(f)
		named.Nodes = []string{"worker-0", "worker-1"}
		_, err = named.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err == nil || !strings.Contains(err.Error(), "worker-1") || strings.Contains(err.Error(), "worker-0") {
			t.Errorf("%s, by name: %v", check, err)
		}
	}
}

func setClock(f *remediatetest.Fixture, node string, c inspect.Clock) {
	for i := range f.Nodes {
		if f.Nodes[i].Name == node {
			f.Nodes[i].Clock = c
		}
	}
}

// TestAWorkersClockStopsNoOther: its root sets it. That of a control plane node and of a node that was named
// stops all, and so it is where it is accepted.
func TestAWorkersClockStopsNoOther(t *testing.T) {
	t.Parallel()
	late := remediatetest.TestNow.Add(5 * time.Minute)
	off := inspect.Clock{Sent: remediatetest.TestNow, Before: late, After: late, Received: remediatetest.TestNow}
	for _, c := range []struct {
		node    string
		change  func(f *Repair)
		leftOut bool
	}{
		{"worker-1", func(*Repair) {}, true},
		{"master-0", func(*Repair) {}, false},
		{"worker-1", func(fix *Repair) { fix.Nodes = []string{"worker-0", "worker-1"} }, false},
		{"worker-1", func(fix *Repair) { fix.Order.Accept = []string{preflight.Clocks} }, false},
	} {
		f := remediatetest.NewCluster("master-0 worker-0 worker-1")
		fix := wholeOf(f)
		c.change(&fix)
		setClock(f, c.node, off)
		p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Errorf("%s: %v", c.node, err)
			continue
		}
		var planned []string
		for _, n := range p.Nodes() {
			planned = append(planned, n.Name)
		}
		left := len(p.Unknown) == 1 && p.Unknown[0].Node == c.node && strings.Contains(p.Unknown[0].Reason, "ahead of")
		ask := preflight.Preflight{Snapshot: f.Snapshot, Nodes: planned, Now: remediatetest.TestNow}
		passes := !slices.ContainsFunc(ask.Check(), func(v preflight.Verdict) bool { return v.ID == preflight.Clocks && v.Blocks() })
		if left != c.leftOut || slices.Contains(planned, c.node) == c.leftOut || passes != c.leftOut || !slices.Contains(planned, "worker-0") {
			t.Errorf("%s: planned %q, clocks pass: %t, left out %+v", c.node, planned, passes, p.Unknown)
		}
	}
	// Where nothing is done, no clock matters: not of one worker,
	one := remediatetest.NewCluster("master-0 worker-0 worker-1")
	one.Right("worker-1")
	setClock(one, "worker-1", off)
	if p, err := wholeOf(one).Plan("run-1", one.Snapshot, remediatetest.TestNow); err != nil || p.Empty() || len(p.Unknown) > 0 {
		t.Errorf("nothing to do on worker-1: left out %+v, %v", p.Unknown, err)
	}
	// and not of all.
	f := remediatetest.NewCluster("master-0 worker-1")
	f.Right("master-0")
	f.Right("worker-1")
	setClock(f, "worker-1", off)
	if p, err := wholeOf(f).Plan("run-1", f.Snapshot, remediatetest.TestNow); err != nil || !p.Empty() || len(p.Unknown) > 0 {
		t.Errorf("nothing to do: %+v, %v", p, err)
	}
}

// TestWhatAWorkerHasOfAnAPIServerStopsNoOther where operators, or else labels of a plain cluster, say which nodes have
// one: root there writes files, and its kubelet a pod.
func TestWhatAWorkerHasOfAnAPIServerStopsNoOther(t *testing.T) {
	t.Parallel()
	has := map[string]func(f *remediatetest.Fixture, fix *Repair){
		"a file": func(f *remediatetest.Fixture, _ *Repair) {
			f.Pem("worker-1", "/etc/kubernetes/pki/apiserver.crt", f.Young.CertPEM)
		},
		"a pod": func(_ *remediatetest.Fixture, fix *Repair) { fix.APIServers = []string{"master-0", "worker-1"} },
	}
	for of, cluster := range map[string]struct {
		plain, left bool // worker-1 is left out
		knows       func(f *remediatetest.Fixture, fix *Repair)
	}{
		"the rollout": {false, true, func(_ *remediatetest.Fixture, fix *Repair) {
			fix.FollowUp.RootCA = &action.AwaitRootCA{Planned: inspect.Rollout{Operator: true, Masters: []inspect.Revision{{Node: "master-0"}}}}
		}},
		"operators, and no rollout is waited for": {false, true, func(f *remediatetest.Fixture, fix *Repair) {
			f.Right("master-0")
			fix.Order.Only, fix.StaticPodNodes = []string{remediate.WaveWorkers}, []string{"master-0"}
		}},
		"an operator that puts one there": {false, false, func(_ *remediatetest.Fixture, fix *Repair) {
			fix.StaticPodNodes = []string{"master-0", "worker-1"}
		}},
		"operators that did not say": {false, false, func(*remediatetest.Fixture, *Repair) {}},
		"labels of a plain cluster":  {true, true, func(*remediatetest.Fixture, *Repair) {}},
		"a plain cluster without labels of control plane nodes": {true, false, func(f *remediatetest.Fixture, _ *Repair) {
			f.Nodes[0].Role = catalog.RoleWorker
		}},
	} {
		for name, change := range has {
			name = of + ", " + name
			f := remediatetest.NewCluster("master-0 worker-0 worker-1")
			if cluster.plain {
				f = plainCluster("master-0", "worker-0", "worker-1")
			}
			fix := wholeOf(f)
			cluster.knows(f, &fix)
			change(f, &fix)
			p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
			if !cluster.left {
				if err == nil || !strings.Contains(err.Error(), "node-role on ") {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			steps := remediatetest.StepsOf(p)
			its := slices.ContainsFunc(steps, func(s string) bool { return strings.Contains(s, "worker-1") })
			if len(p.Unknown) != 1 || p.Unknown[0].Node != "worker-1" || p.Unknown[0].Name != "node-role" || its || !slices.Contains(steps, "restart worker-0:kubelet.service") {
				t.Errorf("%s: left out %+v, steps %q", name, p.Unknown, steps)
			}
		}
	}
}

// plainCluster is one of kubeadm with the API's labels: the first node is its control plane.
func plainCluster(names ...string) *remediatetest.Fixture {
	f := remediatetest.KubeadmFixture(names...)
	for i := range f.Nodes {
		f.Nodes[i].Role, f.Nodes[i].Ready = catalog.RoleWorker, "True"
	}
	f.Nodes[0].Role = catalog.RoleMaster
	return f
}

// TestAWorkerWhoseRepairBreaksATrustEdgeIsLeftOut: a control plane node refuses the whole plan.
func TestAWorkerWhoseRepairBreaksATrustEdgeIsLeftOut(t *testing.T) {
	t.Parallel()
	const file = "/etc/kubernetes/kubelet-ca.crt"
	f := remediatetest.NewCluster("master-0 worker-0")
	breaks := func(node string) trust.Claim {
		return trust.Claim{Assessment: assess.Assessment{ID: "kubelet-client-ca", Status: assess.Fail, Subject: node, Reason: "x509: certificate signed by unknown authority"}, Node: node, Trust: []pki.Location{{Kind: pki.KindFile, Node: node, Path: file}}}
	}
	fix := Repair{apart: map[string]*remediate.Refusal{}}
	p := &remediate.Plan{Basis: f.Snapshot, Breaks: []trust.Claim{breaks("master-0"), breaks("worker-0")}}
	if !fix.setApart(p) || fix.setApart(p) {
		t.Error("it is left out once")
	}
	r := fix.apart["worker-0"]
	if len(fix.apart) != 1 || r == nil || r.Name != remediate.PlanProven || !strings.Contains(r.Reason, "would break a trust edge: kubelet-client-ca fails: x509: ") || !strings.Contains(r.Next, file) {
		t.Errorf("left out: %+v", fix.apart)
	}
	var refused *remediate.Refusal
	if err := (&remediate.Plan{Basis: f.Snapshot, Breaks: []trust.Claim{breaks("master-0")}}).Proven(); !errors.As(err, &refused) || refused.Name != remediate.PlanProven {
		t.Errorf("a control plane node: %v", err)
	}
}

// TestWhatOneWorkerHasStopsNoOthersScript: a set of scripts for all nodes leaves it out as a plan does, for the same reason.
func TestWhatOneWorkerHasStopsNoOthersScript(t *testing.T) {
	t.Parallel()
	for node, leftOut := range map[string]bool{"worker-1": true, "master-0": false} {
		f := remediatetest.NewCluster("master-0 worker-0 worker-1")
		f.Embed(node, remediatetest.KubeletFile, f.Before, unmarkedTwin(f, t))
		fix := wholeOf(f)
		fix.Nodes = []string{"master-0", "worker-0", "worker-1"}
		set, err := fix.Scripts("run-1", f.Snapshot, remediatetest.TestNow, true)
		var r *remediate.Refusal
		if !leftOut {
			if !errors.As(err, &r) || r.Name != remediate.PlanProven || len(set.Scripts) > 0 {
				t.Errorf("%s: %v, %d scripts", node, err, len(set.Scripts))
			}
			continue
		}
		if err != nil || len(set.Scripts) != 2 || len(set.LeftOut) != 1 {
			t.Fatalf("%s: %v, %d scripts, left out %v", node, err, len(set.Scripts), set.LeftOut)
		}
		p, err := wholeOf(f).Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Fatal(err)
		}
		if r := set.LeftOut[0]; r.Node != node || r.Name != remediate.PlanProven || len(p.Unknown) != 1 || r.Error() != p.Unknown[0].Error() || r.Next != p.Unknown[0].Next {
			t.Errorf("left out %+v, and of the plan %+v", r, p.Unknown)
		}
	}
}

// TestWhatATenantHasStopsNoPlan: the CA that a plan takes out of kubeconfigs, since it has expired, is the only one that
// a chain in a tenant's Secret leads to, by its signature, or by a name that a weak signature is behind.
func TestWhatATenantHasStopsNoPlan(t *testing.T) {
	t.Parallel()
	hour := func(n int) time.Time { return remediatetest.TestNow.Add(time.Duration(n) * time.Hour) }
	ended := pkitest.NewCA("loadbalancer-serving-signer@1", hour(-9000), hour(-1))
	forger := pkitest.NewCA("loadbalancer-serving-signer@1", hour(-9000), hour(-1), pkitest.KeyName("forger"), pkitest.Template(func(c *x509.Certificate) { c.SubjectKeyId = ended.Cert.SubjectKeyId }))
	signed := ended.Issue("shop", hour(-2), hour(900), pkitest.DNS("shop")).CertPEM
	forged := forger.Issue("shop", hour(-2), hour(900), pkitest.DNS("shop"), pkitest.Template(func(c *x509.Certificate) { c.SignatureAlgorithm = x509.ECDSAWithSHA1 })).CertPEM
	stray := pkitest.NewCA("stray", hour(-20), hour(900)).CertPEM
	for name, c := range map[string]struct {
		leaf  []byte
		put   func(f *remediatetest.Fixture, chain []byte)
		notes int
		out   string // the worker that is left out
	}{
		"a tenant, signed": {signed, inShop, 1, ""},
		"a tenant, forged": {forged, inShop, 0, ""},
		"a worker, signed": {signed, onWorker, 0, "worker-1"},
		"a worker, forged": {forged, onWorker, 0, ""},
	} {
		f := remediatetest.NewCluster("master-0 worker-0 worker-1")
		for _, n := range f.Nodes {
			f.Embed(n.Name, remediatetest.KubeletFile, f.Before, ended.CertPEM)
			f.Embed(n.Name, remediatetest.BootstrapFile, f.Before, ended.CertPEM)
		}
		c.put(f, pkitest.Bundle(c.leaf, stray))
		p, err := wholeOf(f).Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var notes, left []string
		for _, n := range p.Notes.Texts() {
			if strings.Contains(n, "checks find something new in what only tenants write, which refuses no plan: serving-chain: shop/copy: the chain lacks CA loadbalancer-serving-signer@1. Look at it: kubectl certrot inspect --all") {
				notes = append(notes, n)
			}
		}
		for _, r := range p.Unknown {
			left = append(left, r.Node)
		}
		if len(notes) != c.notes || strings.Join(left, " ") != c.out || len(p.Added) > 0 {
			t.Errorf("%s: notes %q, left out %q, added %+v", name, p.Notes.Texts(), left, p.Added)
		}
		one := wholeOf(f)
		one.Nodes = []string{"master-0"}
		if _, err := one.Plan("run-1", f.Snapshot, remediatetest.TestNow); err != nil {
			t.Errorf("%s: --nodes master-0: %v", name, err)
		}
		scripts := fixOf(f)
		set, err := scripts.Scripts("run-1", f.Snapshot, remediatetest.TestNow, true)
		if err != nil || len(set.Scripts) != 3 {
			t.Errorf("%s: %d scripts: %v", name, len(set.Scripts), err)
		}
	}
}

// inShop is a tenant's Secret that a server presents.
func inShop(f *remediatetest.Fixture, chain []byte) {
	f.Object(catalog.Ref{Kind: catalog.Secret, Namespace: "shop", Name: "copy", Key: "tls.crt"}, chain)
	f.Bundles[len(f.Bundles)-1].Object.Type = "kubernetes.io/tls"
	f.Sort()
}

// onWorker is what a worker's kubelet presents.
func onWorker(f *remediatetest.Fixture, chain []byte) {
	f.Pem("worker-1", "/var/lib/kubelet/pki/kubelet-server-current.pem", chain)
}
