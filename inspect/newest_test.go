package inspect

import (
	"slices"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// A certificate was replaced between a snapshot and a must-gather, which has no keys:
// the new certificate and the old key are of no pair, and nobody holds them together.
func TestNewestOfAnObjectIsAllOfIt(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("a", noon.Add(-fixtureDay), noon.Add(fixtureDay*365))
	before, after := newFixture("4.16.0"), newFixture("4.16.0")
	old, renewed := ca.Issue("app", noon.Add(-fixtureDay), noon.Add(fixtureDay*90)), ca.Issue("app, renewed", noon, noon.Add(fixtureDay*91))
	before.object(Object{Kind: "Secret", Namespace: "shop", Name: "tls"}, map[string][]byte{"tls.crt": old.CertPEM, "tls.key": old.KeyPEM})
	before.object(Object{Kind: "Secret", Namespace: "shop", Name: "other"}, map[string][]byte{"tls.crt": old.CertPEM})
	after.object(Object{Kind: "Secret", Namespace: "shop", Name: "tls"}, map[string][]byte{"tls.crt": renewed.CertPEM})
	after.snapshot.Taken = noon.Add(time.Hour)
	pool := func(n int) []Reported {
		return slices.Repeat([]Reported{{At: pki.Location{Kind: "MachineConfigPool", Name: "worker"}}}, n)
	}
	before.snapshot.Reported, after.snapshot.Reported = pool(3), pool(2)
	for i := range before.snapshot.Reported {
		before.snapshot.Reported[i].At.Field = "status.certExpirys[" + string(rune('0'+i)) + "]"
	}
	m := Newest(before.snapshot, after.snapshot)
	var got []string
	for _, b := range m.Bundles {
		got = append(got, b.At.String())
	}
	if want := []string{"Secret/shop/tls[tls.crt]", "Secret/shop/other[tls.crt]"}; !slices.Equal(got, want) {
		t.Errorf("places %q, want %q", got, want)
	}
	for _, found := range Judge(NewFacts(m, m.Taken, 0)) {
		if found.Check == "key-matches" {
			t.Errorf("a key of another time is held against a certificate: %+v", found)
		}
	}
	if len(m.Reported) != 2 || !m.Taken.Equal(after.snapshot.Taken) {
		t.Errorf("reported %+v of %s", m.Reported, m.Taken)
	}
}

// What was read on a node by ssh is not lost where a newer snapshot only has what the
// API says of it; and of two that got there, files of the older are not the node's.
func TestNewestOfANodeIsFromWhoGotThere(t *testing.T) {
	t.Parallel()
	file := func(path string) Bundle {
		return Bundle{At: pki.Location{Kind: pki.KindFile, Node: "worker-0", Path: path}, Content: &pki.Content{}}
	}
	part := func(hours int, n Node, files ...string) Snapshot {
		s := Snapshot{Taken: noon.Add(time.Duration(hours) * time.Hour), Nodes: []Node{n}}
		for _, f := range files {
			s.Bundles = append(s.Bundles, file(f))
		}
		return s
	}
	first := part(0, Node{Name: "worker-0", Via: "ssh", Ready: "True", Hostname: "first"}, "/a", "/gone")
	second := part(1, Node{Name: "worker-0", Via: "exec", Ready: "True", Hostname: "second"}, "/a", "/b")
	api := part(2, Node{Name: "worker-0", Ready: "Unknown"})
	m := Newest(first, api, second)
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
