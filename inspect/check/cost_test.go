package check

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// Tests of this file hold work to what grows with what was read: a tenant's value of some
// kilobytes unpacks to hundreds of thousands of blocks.

// numbered is a fingerprint that no other number has.
func numbered(n int) (fp pki.Fingerprint) {
	binary.BigEndian.PutUint64(fp[:], uint64(n)+1)
	return fp
}

// Not in parallel: it measures.
func TestManyKeysOfOneValue(t *testing.T) {
	for name, key := range map[string]func(n int) pki.Key{
		"unreadable": func(int) pki.Key { return pki.Key{Algorithm: "PRIVATE KEY"} },
		"distinct":   func(n int) pki.Key { return pki.Key{Algorithm: "RSA", SPKI: numbered(n)} },
	} {
		t.Run(name, func(t *testing.T) {
			inspecttest.Grows(t, 1000, func(size int) func() {
				c := &pki.Content{}
				for n := range size {
					c.Keys = append(c.Keys, key(n))
				}
				f := inspect.NewFacts(inspect.Snapshot{Bundles: []inspect.Bundle{{At: pki.Location{Kind: "ConfigMap", Namespace: "team", Name: "c", Key: "k"}, Content: c}}}, inspecttest.Noon, 0)
				return func() {
					if got := keyInPlace(f); len(got) != 1 {
						t.Errorf("%d findings", len(got))
					}
				}
			})
		})
	}
}

// places are places of one content, in two tenants' namespaces by turns.
func places(size int, key string, c func(n int) *pki.Content, namespaces ...string) []inspect.Bundle {
	out := make([]inspect.Bundle, size)
	for n := range out {
		at := pki.Location{Kind: "ConfigMap", Namespace: namespaces[n*len(namespaces)/size], Name: fmt.Sprintf("c%06d", n), Key: key}
		out[n] = inspect.Bundle{At: at, Object: &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}, Content: c(n)}
	}
	return out
}

// same is one content for all places.
func same(certs ...*pki.Cert) func(int) *pki.Content {
	c := &pki.Content{Certs: certs}
	return func(int) *pki.Content { return c }
}

// factsOf prepares bundles for judging.
func factsOf(bundles ...inspect.Bundle) *inspect.Facts {
	s := inspect.Snapshot{Bundles: bundles}
	s.Sort()
	return inspect.NewFacts(s, inspecttest.Noon, 30*inspecttest.Day)
}

// Not in parallel: it measures.
func TestManyPlacesOfAnIssuer(t *testing.T) {
	from, until := inspecttest.Noon.AddDate(0, -1, 0), inspecttest.Noon.AddDate(1, 0, 0)
	authority := pkitest.NewCA("ca", from, until)
	scan := func(pem []byte) *pki.Cert { return pki.NewScanner().Scan(pem)[0].Content.Certs[0] }
	ca, leaf := scan(authority.CertPEM), scan(authority.Issue("leaf", from, until.AddDate(1, 0, 0)).CertPEM)
	inspecttest.Grows(t, 500, func(size int) func() {
		f := factsOf(append(places(size, "tls.crt", same(leaf), "a"), places(size, "ca.crt", same(ca), "b")...)...)
		return func() {
			if got := outlivesIssuer(f); len(got) != 1 || len(got[0].At) != size {
				t.Errorf("%d findings", len(got))
			}
		}
	})
}

// Not in parallel: it measures.
func TestManyCertificatesOfOneBundleTwice(t *testing.T) {
	inspecttest.Grows(t, 2000, func(size int) func() {
		var certs []*pki.Cert
		for n := range size {
			c := &pki.Cert{Fingerprint: numbered(n), Subject: "CN=ca", IsCA: true}
			certs = append(certs, c, c)
		}
		f := factsOf(places(1, "ca.crt", same(certs...), "a")...)
		return func() {
			if got := bundleDuplicate(f); len(got) != 1 || len(got[0].Certs) != size {
				t.Errorf("%d findings", len(got))
			}
		}
	})
}

// TestEachCheckGrowsWithWhatWasRead runs all checks on what tenants may write that is the
// costliest.
//
// Not in parallel: it measures.
func TestEachCheckGrowsWithWhatWasRead(t *testing.T) {
	over, soon, later := inspecttest.Noon.AddDate(0, 0, -1), inspecttest.Noon.AddDate(0, 0, 3), inspecttest.Noon.AddDate(1, 0, 0)
	cert := func(n int, subject string, until time.Time) *pki.Cert {
		return &pki.Cert{Fingerprint: numbered(n), SPKI: numbered(n), Subject: subject, Issuer: subject, IsCA: true, SelfSigned: true, NotBefore: until.AddDate(-2, 0, 0), NotAfter: until}
	}
	many := func(size int, each func(n int) *pki.Cert) (out []*pki.Cert) {
		for n := range size {
			out = append(out, each(n))
		}
		return out
	}
	one := func(c *pki.Content) func(int) *pki.Content { return func(int) *pki.Content { return c } }
	for name, of := range map[string]func(size int) []inspect.Bundle{
		"a CA in many places": func(size int) []inspect.Bundle {
			return places(size, "ca.crt", same(cert(0, "CN=ca", later)), "a", "b")
		},
		"a CA that is in many bundles and expires soon": func(size int) []inspect.Bundle {
			return places(size, "ca.crt", func(int) *pki.Content { return &pki.Content{Certs: []*pki.Cert{cert(0, "CN=ca", soon)}} }, "a", "b")
		},
		"a CA that one tenant presents and another one trusts": func(size int) []inspect.Bundle {
			ca := cert(0, "CN=ca", soon)
			return append(places(size, "tls.crt", same(ca), "a"), places(size, "ca.crt", same(ca), "b")...)
		},
		"CAs of one name": func(size int) []inspect.Bundle {
			return places(size, "ca.crt", func(n int) *pki.Content { return &pki.Content{Certs: []*pki.Cert{cert(n, "CN=ca", later)}} }, "a", "b")
		},
		"a bundle of CAs that have expired": func(size int) []inspect.Bundle {
			return places(1, "ca.crt", same(many(size, func(n int) *pki.Cert { return cert(n, fmt.Sprintf("CN=%06d", n), over) })...), "a")
		},
		"a bundle whose CAs are in it twice": func(size int) []inspect.Bundle {
			return places(1, "ca.crt", same(many(2*size, func(n int) *pki.Cert { return cert(n/2, fmt.Sprintf("CN=%06d", n/2), later) })...), "a")
		},
		"certificates and keys of one value": func(size int) []inspect.Bundle {
			c := &pki.Content{Certs: many(size, func(n int) *pki.Cert { return cert(n, fmt.Sprintf("CN=%06d", n), later) })}
			for n := range size {
				c.Keys = append(c.Keys, pki.Key{Algorithm: "RSA", SPKI: numbered(n + size)})
			}
			return places(1, "tls.crt", one(c), "a")
		},
		"users of one kubeconfig": func(size int) (out []inspect.Bundle) {
			for n := range size {
				for what, c := range map[string]*pki.Content{"certificate": {Certs: []*pki.Cert{cert(0, "CN=user", later)}}, "key": {Keys: []pki.Key{{Algorithm: "RSA", SPKI: numbered(n)}}}} {
					b := places(1, "kubeconfig", one(c), "a")[0]
					b.At.Field = fmt.Sprintf("users[%d].user.client-%s-data", n, what)
					out = append(out, b)
				}
			}
			return out
		},
		"a revocation list in many places": func(size int) []inspect.Bundle {
			return places(size, "crl.pem", one(&pki.Content{CRLs: []*pki.CRL{{Issuer: "CN=ca", NextUpdate: over}}}), "a", "b")
		},
		"keystores in many places": func(size int) []inspect.Bundle {
			return places(size, "store", one(&pki.Content{Locked: []pki.Locked{{Format: "BKS", Reason: "locked"}, {Format: "BKS", Reason: "locked"}}}), "a", "b")
		},
		"values with bad blocks": func(size int) []inspect.Bundle {
			return places(size, "ca.crt", func(int) *pki.Content {
				return &pki.Content{Bad: []pki.BadBlock{{Index: 0, Type: "CERTIFICATE", Reason: "cut off"}}}
			}, "a", "b")
		},
		"Secrets without certificates": func(size int) []inspect.Bundle {
			out := places(size, "tls.crt", one(&pki.Content{}), "a", "b")
			for i := range out {
				out[i].At.Kind, out[i].Object.Kind, out[i].Object.Type = "Secret", "Secret", "kubernetes.io/tls"
			}
			return out
		},
	} {
		t.Run(name, func(t *testing.T) {
			prepared := map[int]*inspect.Facts{} // each check begins with the facts, and none has what another one worked out
			facts := func(size int) *inspect.Facts {
				if prepared[size] == nil {
					prepared[size] = factsOf(of(size)...)
					prepared[size].Snapshot.Reads = []inspect.Read{{What: "secrets"}, {What: "configmaps"}}
				}
				return prepared[size]
			}
			for _, c := range append(Checks(), Check{ID: "locked", Run: func(f *inspect.Facts) []assess.Finding {
				Locked(f, func(pki.Location, *inspect.Object) bool { return true })
				return nil
			}}) {
				t.Run(c.ID, func(t *testing.T) {
					inspecttest.Grows(t, 1000, func(size int) func() {
						f := facts(size)
						return func() { c.Run(f.ForWindow()) }
					})
				})
			}
		})
	}
}

// TestSubjectsOfManyFindingsAreBounded: a snapshot of 15 kB has 1,500 CAs that have expired in 1,500
// places with long names. Each is a finding about each place.
func TestSubjectsOfManyFindingsAreBounded(t *testing.T) {
	t.Parallel()
	const size = 400
	over := inspecttest.Noon.AddDate(0, 0, -1)
	var certs []*pki.Cert
	for n := range size {
		subject := fmt.Sprintf("CN=%06d", n)
		certs = append(certs, &pki.Cert{Fingerprint: numbered(n), SPKI: numbered(n), Subject: subject, Issuer: subject, IsCA: true, SelfSigned: true, NotBefore: over.AddDate(-2, 0, 0), NotAfter: over})
	}
	for name, content := range map[string]func(n int) *pki.Content{
		"one content":         same(certs...),
		"each its own places": func(n int) *pki.Content { return &pki.Content{Certs: certs[:n+1]} },
	} {
		s := inspect.Snapshot{Bundles: places(size, "ca.crt", content, "team")}
		for i := range s.Bundles {
			s.Bundles[i].At.Name = strings.Repeat("n", 240) + s.Bundles[i].At.Name
			s.Bundles[i].Object.Name = s.Bundles[i].At.Name
		}
		s.Sort()
		written, at, counted := map[*byte]int{}, map[*pki.Location]bool{}, false
		found := Judge(t.Context(), inspect.NewFacts(s, inspecttest.Noon, 30*inspecttest.Day))
		for _, f := range found {
			if len(f.At) > 0 {
				at[&f.At[0]] = true
			}
			counted = counted || strings.HasSuffix(f.Subject, " more places")
			for _, text := range []string{f.Subject, f.Reason, f.Impact, f.Evidence} {
				written[unsafe.StringData(text)] = len(text)
			}
		}
		sum := 0
		for _, n := range written {
			sum += n
		}
		if len(found) < size || sum > maxSubjects+4<<20 {
			t.Errorf("%s: %d findings have texts of %d bytes", name, len(found), sum)
		}
		if name == "one content" && len(at) > size/10 {
			t.Errorf("%s: %d lists of places", name, len(at))
		}
		if name != "one content" && !counted {
			t.Errorf("%s: what is left out is not counted", name)
		}
	}
}

// TestAChainThatIsParsedOftenCosts: one tls.crt is beside another ca.crt in each Secret.
func TestAChainThatIsParsedOftenCosts(t *testing.T) {
	t.Parallel()
	const secrets = 5
	leaf := &pki.Cert{Fingerprint: numbered(0), DER: make([]byte, 1000), Subject: "CN=leaf", Issuer: "CN=ca", PublicKey: "ECDSA P-256", NotAfter: inspecttest.Noon.AddDate(1, 0, 0)}
	chain := &pki.Content{Certs: []*pki.Cert{leaf}}
	for n := range 20 {
		chain.Certs = append(chain.Certs, &pki.Cert{Fingerprint: numbered(n + 1), DER: make([]byte, 200_000), Subject: fmt.Sprint("CN=x", n), Issuer: "CN=y", IsCA: true, NotAfter: leaf.NotAfter})
	}
	tls := places(secrets, "tls.crt", func(int) *pki.Content { return chain }, "team")
	cas := places(secrets, "ca.crt", func(n int) *pki.Content {
		return &pki.Content{Certs: []*pki.Cert{{Fingerprint: numbered(n + 100), DER: make([]byte, 500), Subject: "CN=other", Issuer: "CN=other", IsCA: true, NotAfter: leaf.NotAfter}}}
	}, "team")
	all := append(tls, cas...)
	for i := range all {
		all[i].At.Kind, all[i].Object.Kind = "Secret", "Secret"
	}
	unknown := 0
	for _, f := range secretCA(factsOf(all...)) {
		if f.Reason == "" || strings.Contains(f.Reason, "is unknown") {
			unknown += len(f.At) / 2
		}
	}
	if unknown != secrets-1 {
		t.Errorf("of %d Secrets %d cost too much", secrets, unknown)
	}
}

// TestChecksOfNodesGrowWithThem: each node has kubeconfigs, and the places of all nodes are not looked through
// for each.
//
// Not in parallel: it measures.
func TestChecksOfNodesGrowWithThem(t *testing.T) {
	const path, field = "/var/lib/kubelet/kubeconfig", "clusters[0].cluster.certificate-authority-data"
	c := &pki.Content{Certs: []*pki.Cert{{Fingerprint: numbered(0), Subject: "CN=ca", NotAfter: inspecttest.Noon.AddDate(1, 0, 0)}}}
	inspecttest.Grows(t, 150, func(size int) func() {
		var s inspect.Snapshot
		for n := range size {
			node := fmt.Sprintf("n%05d", n)
			s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: node, Path: path, Field: field}, Content: c})
			s.Nodes = append(s.Nodes, inspect.Node{Name: node, Via: "ssh", Files: []inspect.NodeFile{{Path: path}}, Kubeconfigs: []inspect.Kubeconfig{{
				Path: path, Current: "a", Clusters: []inspect.KubeconfigCluster{{Name: "a", Server: "https://api-int.example.com:6443", CAData: true, Field: field}},
			}}})
			s.Served = append(s.Served, inspect.Served{Node: node, Address: "api-int.example.com:6443", Name: "api-int.example.com", Chain: c.Certs})
		}
		s.Sort()
		f := inspect.NewFacts(s, inspecttest.Noon, 30*inspecttest.Day)
		return func() {
			if got := kubeconfigSound(f); len(got) != size { // its certificate is no CA
				t.Errorf("%d findings", len(got))
			}
			if got := apiTrusted(f); len(got) != 1 {
				t.Errorf("%d findings", len(got))
			}
		}
	})
}

// TestReportsOfManyCertificates are not each compared with each.
//
// Not in parallel: it measures.
func TestReportsOfManyCertificates(t *testing.T) {
	inspecttest.Grows(t, 300, func(size int) func() {
		at := pki.Location{Kind: inspect.KindControllerConfig, Name: "machine-config-controller"}
		content, at2 := &pki.Content{}, at
		var s inspect.Snapshot
		for n := range size {
			c := &pki.Cert{Fingerprint: numbered(n), Subject: fmt.Sprintf("CN=ca-%d", n), IsCA: true, NotBefore: inspecttest.Noon.AddDate(-1, 0, 0), NotAfter: inspecttest.Noon.AddDate(1, 0, 0)}
			content.Certs = append(content.Certs, c)
			at2.Field = fmt.Sprintf("status.controllerCertificates[%d]", n)
			subject := c.Subject
			if n == 0 {
				subject = "CN=gone"
			}
			s.Reported = append(s.Reported, inspect.Reported{At: at2, Bundle: "RootCAData", Subject: subject, NotBefore: c.NotBefore.In(time.FixedZone("", 3600)), NotAfter: c.NotAfter})
		}
		at.Field = "spec.rootCAData"
		s.Bundles = []inspect.Bundle{{At: at, Object: &inspect.Object{Kind: at.Kind, Name: at.Name}, Content: content}}
		s.Sort()
		f := inspect.NewFacts(s, inspecttest.Noon, 30*inspecttest.Day)
		return func() {
			if got := reportsAgree(f); len(got) != 1 || len(got[0].Certs) != 1 || !strings.Contains(got[0].Evidence, "which it does not hold") {
				t.Errorf("%d findings: %v", len(got), got)
			}
		}
	})
}

// TestKubeconfigsOfAWorkerCostLittle: root on it makes copies, and chooses what is presented to it. What its kubelet
// goes by is judged whatever it costs, and so is all on control plane nodes.
func TestKubeconfigsOfAWorkerCostLittle(t *testing.T) {
	t.Parallel()
	const copies, field, server = 40, "clusters[0].cluster.certificate-authority-data", "api-int.example.com:6443"
	until := inspecttest.Noon.AddDate(1, 0, 0)
	chain := []*pki.Cert{{Fingerprint: numbered(0), DER: make([]byte, 1000), Subject: "CN=leaf", Issuer: "CN=X", PublicKey: "ECDSA P-256", NotAfter: until}}
	for n := range 99 { // their keys are only said to be large
		chain = append(chain, &pki.Cert{Fingerprint: numbered(n + 1), DER: make([]byte, 300), Subject: "CN=X", Issuer: "CN=X", PublicKey: "ECDSA P-521", IsCA: true, NotAfter: until})
	}
	var s inspect.Snapshot
	for _, role := range []string{catalog.RoleMaster, catalog.RoleWorker} {
		n := inspect.Node{Name: role, Via: "ssh", Role: role}
		for i := range copies + 1 {
			path := fmt.Sprintf("/etc/kubernetes/copies/%04d", i)
			if i == copies {
				path = catalog.KubeletKubeconfigs()[1]
			}
			n.Files = append(n.Files, inspect.NodeFile{Path: path, Mode: 0o600})
			n.Kubeconfigs = append(n.Kubeconfigs, inspect.Kubeconfig{Path: path, Current: "a", Clusters: []inspect.KubeconfigCluster{{Name: "a", Server: "https://" + server, CAData: true, Field: field}}})
			ca := &pki.Cert{Fingerprint: numbered(1000 + i), Subject: "CN=X", Issuer: "CN=X", PublicKey: "ECDSA P-521", IsCA: true, NotAfter: until}
			s.Bundles = append(s.Bundles, inspect.Bundle{At: inspect.OnNode(&n, path), Content: &pki.Content{Certs: []*pki.Cert{ca}}})
			s.Bundles[len(s.Bundles)-1].At.Field = field
		}
		s.Nodes = append(s.Nodes, n)
		s.Served = append(s.Served, inspect.Served{Node: n.Name, Address: server, Name: "api-int.example.com", Chain: chain})
	}
	s.Sort()
	unknown, refused := map[string]int{}, map[string]int{}
	for _, f := range apiTrusted(inspect.NewFacts(s, inspecttest.Noon, 0)) {
		for _, at := range f.At {
			if strings.HasSuffix(f.Reason, ": trust in "+server+" is unknown") && f.Severity == assess.Warning {
				unknown[at.Node]++
			} else {
				refused[at.Node]++
			}
			if at.Path == catalog.KubeletKubeconfigs()[1] && f.Severity != assess.Critical {
				t.Errorf("the kubelet's own of %s: %s", at.Node, f.Reason)
			}
		}
	}
	if unknown[catalog.RoleMaster] != 0 || refused[catalog.RoleMaster] != copies+1 || refused[catalog.RoleWorker] > 4 || unknown[catalog.RoleWorker]+refused[catalog.RoleWorker] != copies+1 {
		t.Errorf("unknown: %v, refused: %v", unknown, refused)
	}
}
