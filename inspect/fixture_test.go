package inspect

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// noon is the time of every fixture.
var noon = time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)

const fixtureDay = 24 * time.Hour

// fixture is a snapshot in the making.
type fixture struct {
	sc       *pki.Scanner
	snapshot Snapshot
}

func newFixture(version string) *fixture {
	f := &fixture{sc: pki.NewScanner()}
	f.snapshot.Taken = noon
	f.snapshot.Cluster.Created = noon.AddDate(-4, 0, 0)
	if version == "" {
		f.snapshot.Cluster.Versions = catalog.Versions{Kubernetes: "v1.35.4", Plain: true}
	} else {
		f.snapshot.Cluster.Versions = catalog.Versions{Cluster: version}
	}
	return f
}

// object adds an object with these values.
func (f *fixture) object(o Object, values map[string][]byte) *fixture {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		for _, found := range f.sc.Scan(values[key]) {
			at := pki.Location{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Key: key, Field: found.Field}
			if o.Kind != "Secret" && o.Kind != "ConfigMap" {
				at.Key, at.Field = "", key
			}
			f.snapshot.Bundles = append(f.snapshot.Bundles, Bundle{At: at, Object: &o, Content: found.Content})
		}
	}
	return f
}

// hollow adds an object that holds nothing where certificates belong.
func (f *fixture) hollow(o Object, key string) *fixture {
	at := pki.Location{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Key: key}
	f.snapshot.Bundles = append(f.snapshot.Bundles, Bundle{At: at, Object: &o, Content: &pki.Content{}})
	return f
}

func (f *fixture) secret(namespace, name string, annotations map[string]string, p pkitest.Pair) *fixture {
	return f.object(Object{Kind: "Secret", Namespace: namespace, Name: name, Type: "kubernetes.io/tls", Annotations: annotations},
		map[string][]byte{"tls.crt": p.CertPEM, "tls.key": p.KeyPEM})
}

func (f *fixture) configMap(namespace, name, key string, blocks ...[]byte) *fixture {
	return f.object(Object{Kind: "ConfigMap", Namespace: namespace, Name: name}, map[string][]byte{key: pkitest.Bundle(blocks...)})
}

// endlessList adds a revocation list that does not say until when it holds.
func (f *fixture) endlessList(namespace string) *fixture {
	o := Object{Kind: "ConfigMap", Namespace: namespace, Name: "crl"}
	f.snapshot.Bundles = append(f.snapshot.Bundles, Bundle{
		At: pki.Location{Kind: o.Kind, Namespace: namespace, Name: o.Name, Key: "crl.pem"}, Object: &o,
		Content: &pki.Content{CRLs: []*pki.CRL{{Issuer: "CN=test CA", ThisUpdate: noon.AddDate(-1, 0, 0)}}},
	})
	return f
}

func (f *fixture) request(name string, condition Condition, age time.Duration) *fixture {
	f.snapshot.Requests = append(f.snapshot.Requests, SigningRequest{
		Object: &Object{Kind: "CertificateSigningRequest", Name: name}, Signer: "kubernetes.io/kubelet-serving",
		Requester: "system:node:worker-1", Condition: condition, Since: noon.Add(-age),
	})
	return f
}

// findings runs one check.
func (f *fixture) findings(t *testing.T, id string) []Finding {
	t.Helper()
	f.snapshot.Sort()
	for i := range f.snapshot.Nodes {
		slices.SortFunc(f.snapshot.Nodes[i].Files, func(a, b NodeFile) int { return strings.Compare(a.Path, b.Path) })
	}
	facts := NewFacts(f.snapshot, noon, 30*fixtureDay)
	var out []Finding
	for _, found := range Judge(facts) {
		if found.Check == id {
			out = append(out, found)
		}
	}
	return out
}

// rotation are the annotations that library-go writes for p.
func rotation(p pkitest.Pair) map[string]string {
	return map[string]string{
		catalog.AnnotationNotBefore: p.Cert.NotBefore.Format(time.RFC3339),
		catalog.AnnotationNotAfter:  p.Cert.NotAfter.Format(time.RFC3339),
		catalog.AnnotationIssuer:    p.Cert.Issuer.CommonName,
	}
}

func with(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	m[key] = value
	return m
}

func without(m map[string]string, key string) map[string]string {
	m = maps.Clone(m)
	delete(m, key)
	return m
}
