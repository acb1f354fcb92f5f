package rotate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// trusted has the new CA with every verifier of what aggregator-client-signer signs.
func (r *rotating) trusted(pem ...[]byte) {
	extension := catalog.Ref{Kind: catalog.ConfigMap, Namespace: "kube-system", Name: "extension-apiserver-authentication", Key: "requestheader-client-ca-file"}
	for _, at := range append([]catalog.Ref{r.rotation().Bundle, extension}, r.carried()...) {
		r.put(at, "", pem...)
	}
}

// TestLeft: the same line goes on wherever it was interrupted, and makes no second signer.
func TestLeft(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title string
		but   func(*rotating)
		want  string // "signer", then the leaves; "-": nothing
		says  string
	}{
		{"nothing was done yet", func(*rotating) {}, "signer aggregator-client", ""},
		{"the annotation is gone", func(r *rotating) { r.annotate(aggregator, catalog.AnnotationNotAfter, "") }, "aggregator-client", "its annotation is gone"},
		{"the annotation is no time", func(r *rotating) {
			r.annotate(aggregator, catalog.AnnotationNotAfter, "force-regeneration")
		}, "aggregator-client", "its annotation is gone"},
		{"the signer was made anew", func(r *rotating) { r.put(r.rotation().Signer, "kubernetes.io/tls", r.new.CertPEM) }, "aggregator-client", "has not signed all"},
		{"a signer of long ago has not signed yet", func(r *rotating) {
			r.put(r.rotation().Signer, "kubernetes.io/tls", r.new.CertPEM)
			r.at = r.at.AddDate(0, 0, 9)
		}, "aggregator-client", "has not signed all"},
		{"all was done just now", func(r *rotating) { r.turned() }, "-", "less than 36 hours ago"},
		{"all was done two days ago", func(r *rotating) { r.turned(); r.at = r.at.AddDate(0, 0, 2) }, "signer aggregator-client", ""},
		{"the signer was not read", func(r *rotating) { r.take(r.rotation().Signer); r.s.Reads = nil }, "signer aggregator-client", ""},
		{"what it signs was not read", func(r *rotating) { r.take(r.rotation().Targets[0]); r.s.Reads = nil }, "aggregator-client", "is unknown: Secret/openshift-kube-apiserver/aggregator-client[tls.crt] was not read"},
	} {
		r := newRotating(aggregator, "4.15.3")
		c.but(r)
		p := r.preflight(t, aggregator)
		l := p.left(rotatables(p.Facts))
		var got []string
		if l.Signer {
			got = append(got, "signer")
		}
		for _, leaf := range l.Leaves {
			got = append(got, leaf.Name)
		}
		if text := strings.Join(got, " "); text != strings.TrimPrefix(c.want, "-") || !strings.Contains(l.Why, c.says) || l.Signer != (l.Why == "") {
			t.Errorf("%s: %q because %q, want %q because %q", c.title, text, l.Why, c.want, c.says)
		}
	}
}

// TestTold: whose annotation is gone is rotated in any case, and not told once more.
func TestTold(t *testing.T) {
	t.Parallel()
	r := newRotating(aggregator, "4.15.3")
	for value, want := range map[string]bool{"": true, "soon": true, "2026-04-01T00:00:00Z": false} {
		r.put(r.rotation().Targets[0], "kubernetes.io/tls", r.old.Issue("leaf", r.at, r.at.AddDate(0, 0, 30)).CertPEM)
		r.annotate("aggregator-client", catalog.AnnotationNotAfter, value)
		if got := r.preflight(t, "aggregator-client").Of.Triggered(); got != want {
			t.Errorf("%q: told: %t", value, got)
		}
	}
	r.take(r.rotation().Targets[0])
	if r.preflight(t, "aggregator-client").Of.Triggered() {
		t.Error("what was not read is not known to be told")
	}
}

// TestLeftOfWhatIsThere: no owner is asked to rotate what is known not to be there.
func TestLeftOfWhatIsThere(t *testing.T) {
	t.Parallel()
	const absent = "control-plane-node-admin-client-cert-key"
	for title, but := range map[string]func(*rotating){
		"nothing was done yet":      func(*rotating) {},
		"the annotation is gone":    func(r *rotating) { r.annotate(r.signer, catalog.AnnotationNotAfter, "") },
		"the signer was made anew":  func(r *rotating) { r.put(r.rotation().Signer, "kubernetes.io/tls", r.new.CertPEM) },
		"the signer is not there":   func(r *rotating) { r.take(r.rotation().Signer) },
		"the signer was not read":   func(r *rotating) { r.take(r.rotation().Signer); r.s.Reads = nil },
		"what it signs is unread":   func(r *rotating) { r.s.Reads = nil },
		"all was done two days ago": func(r *rotating) { r.at = r.at.AddDate(0, 0, 2) },
	} {
		r := newRotating("kube-control-plane-signer", "4.20.3")
		but(r)
		r.take(catalog.Ref{Kind: catalog.Secret, Name: absent})
		p := r.preflight(t, r.signer)
		l := p.left(rotatables(p.Facts))
		named := slices.ContainsFunc(l.Leaves, func(leaf Rotatable) bool { return leaf.At.Name == absent })
		if unread := r.s.Reads == nil; named != unread || len(l.Leaves) < 1 {
			t.Errorf("%s: %d are left, with %s: %v (it was not read: %v)", title, len(l.Leaves), absent, named, unread)
		}
	}
}

// TestOutsideLast: what only people outside verify delays nothing that the cluster does.
func TestOutsideLast(t *testing.T) {
	t.Parallel()
	r := newRotating(loadBalancer, "4.15.3")
	r.put(r.rotation().Signer, "kubernetes.io/tls", r.new.CertPEM)
	p := r.preflight(t, loadBalancer)
	var got []string
	for _, leaf := range p.left(rotatables(p.Facts)).Leaves {
		got = append(got, leaf.Name)
	}
	if want := "internal-loadbalancer-serving-certkey external-loadbalancer-serving-certkey"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// turned is at the end of a rotation, an hour after its begin.
func (r *rotating) turned() {
	r.put(r.rotation().Signer, "kubernetes.io/tls", r.new.CertPEM)
	r.trusted(r.old.CertPEM, r.new.CertPEM)
	r.put(r.rotation().Targets[0], "kubernetes.io/tls", r.new.Issue("leaf", r.at, r.at.AddDate(0, 0, 30)).CertPEM)
}

// TestLeafFollows: after a rotation, what is rotated next waits for trust that is seen, and
// not for the signer's age; and no user may accept that it is not.
func TestLeafFollows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title string
		but   func(*rotating)
		want  string
	}{
		{"everybody trusts the new CA", func(r *rotating) { r.trusted(r.old.CertPEM, r.new.CertPEM) }, ""},
		{"nobody does", func(*rotating) {}, "chain-settled no, signer-trusted no"},
		{"one does not", func(r *rotating) {
			r.trusted(r.old.CertPEM, r.new.CertPEM)
			r.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "kube-system", Name: "extension-apiserver-authentication", Key: "requestheader-client-ca-file"}, "", r.old.CertPEM)
		}, "signer-trusted no"},
		{"of one it is not known", func(r *rotating) {
			r.trusted(r.old.CertPEM, r.new.CertPEM)
			r.take(catalog.Ref{Kind: catalog.ConfigMap, Name: "extension-apiserver-authentication"})
			r.s.Reads = nil
		}, "chain-settled unknown, signer-trusted unknown"},
		{"it may still be made once more", func(r *rotating) {
			fresh := pkitest.NewCA("fresh", r.at.Add(-time.Minute), r.at.AddDate(1, 0, 0), pkitest.KeyName("fresh"))
			r.put(r.rotation().Signer, "kubernetes.io/tls", fresh.CertPEM)
			r.trusted(r.old.CertPEM, fresh.CertPEM)
		}, "chain-settled no"},
		{"two were made, and one does not trust the first of them", func(r *rotating) {
			other := pkitest.NewCA("other", r.at.Add(-2*time.Hour), r.at.AddDate(1, 0, 0), pkitest.KeyName("other"))
			r.trusted(r.old.CertPEM, other.CertPEM, r.new.CertPEM)
			r.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "kube-system", Name: "extension-apiserver-authentication", Key: "requestheader-client-ca-file"}, "", r.old.CertPEM, r.new.CertPEM)
		}, "signer-trusted no"},
		{"two were made, and one of the bundles lacks the first of them", func(r *rotating) {
			other := pkitest.NewCA("other", r.at.Add(-2*time.Hour), r.at.AddDate(1, 0, 0), pkitest.KeyName("other"))
			r.trusted(r.old.CertPEM, r.new.CertPEM)
			r.put(r.rotation().Bundle, "", r.old.CertPEM, other.CertPEM, r.new.CertPEM)
		}, "chain-settled no, signer-trusted no"},
	} {
		r := newRotating(aggregator, "4.15.3")
		r.put(r.rotation().Signer, "kubernetes.io/tls", r.new.CertPEM)
		c.but(r)
		p := r.preflight(t, "aggregator-client")
		p.Follows = true
		var stops []string
		for _, v := range p.Check() {
			if v.ID == SignerTrusted && v.Risk {
				t.Errorf("%s: %s may be accepted", c.title, v.ID)
			}
			if v.Blocks() {
				stops = append(stops, v.ID+" "+answerOf(v))
			}
		}
		if got := strings.Join(stops, ", "); got != c.want {
			t.Errorf("%s: stopped by %q, want %q", c.title, got, c.want)
		}
	}
}

// TestEachLeafFollows: whatever a signer signs may follow it, once every verifier trusts it.
func TestEachLeafFollows(t *testing.T) {
	t.Parallel()
	for _, signer := range []string{"kube-control-plane-signer", "csr-signer-signer"} {
		r := newRotating(signer, "4.20.3")
		r.put(r.rotation().Signer, "kubernetes.io/tls", r.new.CertPEM)
		places := append([]catalog.Ref{r.rotation().Bundle}, r.carried()...)
		slices.SortStableFunc(places, func(a, b catalog.Ref) int { // of one name, the last one stays: kube-apiserver's own
			return strings.Compare(strings.TrimPrefix(b.Namespace, "openshift-kube-apiserver"), strings.TrimPrefix(a.Namespace, "openshift-kube-apiserver"))
		})
		for _, at := range places {
			r.put(at, "", r.old.CertPEM, r.new.CertPEM)
			if catalog.RevisionsOf(at, r.s.Cluster.Versions) != "" {
				at.Name += "-7"
				r.put(at, "", r.old.CertPEM, r.new.CertPEM)
			}
		}
		for _, leaf := range r.rotation().Targets {
			p := r.preflight(t, leaf.Namespace+"/"+leaf.Name)
			p.Follows = true
			for _, v := range p.Check() {
				if v.Blocks() {
					t.Errorf("%s: %s %s: %s", leaf, v.ID, v.Status, v.Reason)
				}
			}
		}
	}
}

// TestServedByTheNewSigner: what servers present counts, and what no handshake told is unknown.
func TestServedByTheNewSigner(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title string
		shows func(old, now []byte) [][]byte // of two masters; nil: the handshake failed
		want  string
	}{
		{"no handshake", func(_, _ []byte) [][]byte { return nil }, "unknown: unknown: service-network-serving-certkey (no handshake was made)"},
		{"both show the new one", func(_, now []byte) [][]byte { return [][]byte{now, now} }, "pass: all 2 handshakes"},
		{"one shows the old one", func(old, now []byte) [][]byte { return [][]byte{now, old} }, "warn: 1 of 2 handshakes"},
		{"one does not answer", func(_, now []byte) [][]byte { return [][]byte{now, nil} }, "unknown: 1 of 2 handshakes"},
	} {
		r := newRotating("service-network-serving-signer", "4.16.3")
		row := r.rotation()
		old := r.old.Issue("api", r.at.AddDate(0, 0, -5), r.at.AddDate(0, 0, 25), pkitest.DNS("kubernetes.default.svc"))
		now := r.new.Issue("api", r.at.Add(-10*time.Minute), r.at.AddDate(0, 0, 30), pkitest.DNS("kubernetes.default.svc"), pkitest.KeyName("now"))
		r.put(row.Signer, "kubernetes.io/tls", r.new.CertPEM)
		for _, at := range append([]catalog.Ref{row.Bundle}, r.carried()...) {
			r.put(at, "", r.old.CertPEM, r.new.CertPEM)
		}
		r.put(row.Targets[0], "kubernetes.io/tls", now.CertPEM)
		for i, id := range c.shows(old.CertPEM, now.CertPEM) {
			node := []string{"master-0", "master-1"}[i]
			v := inspect.Served{Node: node, Of: node, Server: catalog.ListenerAPIServer, Address: node + ":6443", Name: "kubernetes.default.svc"}
			if id == nil {
				v.Problem = "connection refused"
			} else {
				v.Chain = r.sc.Scan(id)[0].Content.Certs
			}
			r.s.Served = append(r.s.Served, v)
		}
		for _, s := range r.preflight(t, r.signer).stages() {
			if s.ID != StageServed {
				continue
			}
			if got := s.Status.String() + ": " + s.Reason; !strings.HasPrefix(got, c.want) || (s.Remediation.Text == "") != (s.Status == assess.Pass) {
				t.Errorf("%s: %s (next: %s), want %s", c.title, got, s.Remediation.Text, c.want)
			}
		}
	}
}

// TestQuietByTheClusterClock: how old a signer is, is told by the clock that dated it.
func TestQuietByTheClusterClock(t *testing.T) {
	t.Parallel()
	r := newRotating(aggregator, "4.15.3")
	fresh := pkitest.NewCA("fresh", r.at.Add(-time.Minute), r.at.AddDate(1, 0, 0), pkitest.KeyName("fresh"))
	r.put(r.rotation().Signer, "kubernetes.io/tls", fresh.CertPEM)
	for off, want := range map[time.Duration]assess.Status{0: assess.Warn, 5 * time.Minute: assess.Pass, -5 * time.Minute: assess.Warn} {
		r.s.Cluster.Clock = inspect.Clock{Sent: r.at, Received: r.at, Before: r.at.Add(off), After: r.at.Add(off)}
		if s := r.preflight(t, aggregator).stages()[0]; s.Status != want {
			t.Errorf("its clock is %s ahead: %s: %s", off, s.Status, s.Reason)
		}
	}
}

// TestCSRSignersHaveTwoWriters: kube-controller-manager-operator and the
// cert-recovery-controller may each issue csr-signer-signer and csr-signer.
func TestCSRSignersHaveTwoWriters(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"csr-signer-signer", "openshift-kube-controller-manager-operator/csr-signer"} {
		stage := StageSigner
		r := newRotating("csr-signer-signer", "4.15.3")
		issued := func(age time.Duration) Stage {
			fresh := pkitest.NewCA("fresh", r.at.Add(-age), r.at.AddDate(0, 2, 0), pkitest.KeyName("fresh"))
			at := r.rotation().Signer
			if name != "csr-signer-signer" {
				stage, at = StageLeaf, r.rotation().Targets[0]
				fresh = r.old.CA("fresh", r.at.Add(-age), r.at.AddDate(0, 1, 0))
			}
			r.put(at, "kubernetes.io/tls", fresh.CertPEM)
			stages := r.preflight(t, name).stages()
			return stages[slices.IndexFunc(stages, func(s Stage) bool { return s.ID == stage })]
		}
		s := issued(time.Minute)
		if s.Status != assess.Warn || !strings.Contains(s.Reason, "cert-recovery-controller") || !strings.Contains(s.Reason, "it counts if it is still there") || s.Remediation.Text == "" {
			t.Errorf("%s, one minute old: %+v", name, s)
		}
		if s := r.preflight(t, name).settled(); s.Status != assess.Warn || s.ID != stage {
			t.Errorf("%s, one minute old, is settled: %s %+v", name, s.Status, s)
		}
		if s := issued(3 * time.Minute); s.Status != assess.Pass {
			t.Errorf("%s, three minutes old: %+v", name, s)
		}
		if s := r.preflight(t, name).settled(); s.ID == stage { // of a signer, the rest of the chain follows
			t.Errorf("%s, three minutes old, is not settled: %s %+v", name, s.Status, s)
		}
	}
}
