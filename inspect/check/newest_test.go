package check

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// A certificate was replaced between a snapshot and a must-gather, which has no keys:
// the new certificate and the old key are of no pair, and are not held together.
func TestNewestOfAnObjectIsAllOfIt(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("a", inspecttest.Noon.Add(-inspecttest.Day), inspecttest.Noon.Add(inspecttest.Day*365))
	before, after := inspecttest.NewFixture("4.16.0"), inspecttest.NewFixture("4.16.0")
	old, renewed := ca.Issue("app", inspecttest.Noon.Add(-inspecttest.Day), inspecttest.Noon.Add(inspecttest.Day*90)), ca.Issue("app, renewed", inspecttest.Noon, inspecttest.Noon.Add(inspecttest.Day*91))
	before.Object(inspect.Object{Kind: "Secret", Namespace: "shop", Name: "tls"}, map[string][]byte{"tls.crt": old.CertPEM, "tls.key": old.KeyPEM})
	before.Object(inspect.Object{Kind: "Secret", Namespace: "shop", Name: "other"}, map[string][]byte{"tls.crt": old.CertPEM})
	after.Object(inspect.Object{Kind: "Secret", Namespace: "shop", Name: "tls"}, map[string][]byte{"tls.crt": renewed.CertPEM})
	after.Snapshot.Taken = inspecttest.Noon.Add(time.Hour)
	pool := func(n int) []inspect.Reported {
		return slices.Repeat([]inspect.Reported{{At: pki.Location{Kind: "MachineConfigPool", Name: "worker"}}}, n)
	}
	before.Snapshot.Reported, after.Snapshot.Reported = pool(3), pool(2)
	for i := range before.Snapshot.Reported {
		before.Snapshot.Reported[i].At.Field = "status.certExpirys[" + string(rune('0'+i)) + "]"
	}
	m := inspect.Newest(before.Snapshot, after.Snapshot)
	var got []string
	for _, b := range m.Bundles {
		got = append(got, b.At.String())
	}
	if want := []string{"Secret/shop/tls[tls.crt]", "Secret/shop/other[tls.crt]"}; !slices.Equal(got, want) {
		t.Errorf("places %q, want %q", got, want)
	}
	for _, found := range Judge(context.Background(), inspect.NewFacts(m, m.Taken, 0)) {
		if found.ID == "key-matches" {
			t.Errorf("a key of another time is held against a certificate: %+v", found)
		}
	}
	if len(m.Reported) != 2 || !m.Taken.Equal(after.Snapshot.Taken) {
		t.Errorf("reported %+v of %s", m.Reported, m.Taken)
	}
}

// What was read on a node by ssh is not lost where a newer snapshot only has what the
// API says of it; and of two that got there, files of the older are not the node's.
func TestNewestOfANodeIsFromWhoGotThere(t *testing.T) {
	t.Parallel()
	file := func(path string) inspect.Bundle {
		return inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: "worker-0", Path: path}, Content: &pki.Content{}}
	}
	part := func(hours int, n inspect.Node, files ...string) inspect.Snapshot {
		s := inspect.Snapshot{Taken: inspecttest.Noon.Add(time.Duration(hours) * time.Hour), Nodes: []inspect.Node{n}}
		for _, f := range files {
			s.Bundles = append(s.Bundles, file(f))
		}
		return s
	}
	first := part(0, inspect.Node{Name: "worker-0", Via: "ssh", Ready: "True", Hostname: "first"}, "/a", "/gone")
	second := part(1, inspect.Node{Name: "worker-0", Via: "exec", Ready: "True", Hostname: "second"}, "/a", "/b")
	api := part(2, inspect.Node{Name: "worker-0", Ready: "Unknown"})
	m := inspect.Newest(first, api, second)
	if len(m.Nodes) != 1 || m.Nodes[0].Hostname != "second" || m.Nodes[0].Via != "exec" || m.Nodes[0].Ready != "Unknown" {
		t.Errorf("nodes %+v", m.Nodes)
	}
	var got []string
	for _, b := range m.Bundles {
		got = append(got, b.At.Path)
	}
	if !slices.Equal(got, []string{"/a", "/b"}) {
		t.Errorf("files %q", got)
	}
}
