package trust_test

import (
	"context"
	"crypto/elliptic"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

func TestVerifyTrustsNoCAThatItsReaderSkips(t *testing.T) {
	t.Parallel()
	old, ca := pkitest.NewCA("signer@0", from(-600), from(30)), pkitest.NewCA("signer@1", from(-30), from(300))
	for _, form := range pkitest.Forms(ca.CertPEM) {
		t.Run(form.Name, func(t *testing.T) {
			t.Parallel()
			for _, e := range catalog.Edges() {
				if e.Trust.Kind == catalog.Secret { // userData is a document
					continue
				}
				w := newWorld(versions(e))
				w.stage(e, ca, form.Text, []byte("\n"), old.CertPEM)
				want, by := assess.Fail, form.Go
				switch e.Reader {
				case pki.ReaderUnknown:
					want, by = assess.Unknown, form.Go && form.OpenSSL
				case pki.ReaderOpenSSL:
					by = form.OpenSSL
				}
				if by {
					want = assess.Pass
				}
				claims := w.judge(e.ID)
				if len(claims) == 0 {
					t.Fatalf("%s: no claim", e.ID)
				}
				for _, c := range claims {
					if c.Status != want || want != assess.Pass && !strings.Contains(c.Reason, "skip") {
						t.Errorf("%s, read by %s: %s: %s", e.ID, e.Reader, c.Status, c.Reason)
					}
				}
			}
		})
	}
}

func TestANodeDoesNotComeBackByACAThatItsKubeletSkips(t *testing.T) {
	t.Parallel()
	for _, form := range pkitest.Forms(newStarting().fresh.CertPEM) {
		s := newStarting()
		s.s.Bundles, s.s.Nodes[0].Kubeconfigs = nil, nil
		s.client(from(-1), from(29))
		for _, path := range []string{ownFile, joinFile} {
			s.kubeconfig(path, "https://"+apiInt, s.old.CertPEM, []byte("\n"), form.Text)
		}
		s.serves(s.fresh)
		r := report.NewRestartReport(context.Background(), inspect.NewFacts(s.s, noon, 30*24*time.Hour))
		want := assess.Fail
		if form.Go {
			want = assess.Pass
		}
		if got := r.Nodes[0].ComesBack; got.Status != want || want == assess.Fail && !strings.Contains(got.Reason, "skip") {
			t.Errorf("%s: %s: %s", form.Name, got.Status, got.Reason)
		}
	}
}

// TestWhatAServerLoadsIsWhatIsPresented: of a place that holds what some readers skip or can't read, a
// server presents another certificate, or does not start.
func TestWhatAServerLoadsIsWhatIsPresented(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("signer", from(-600), from(300))
	forms := func(e catalog.Edge) map[string][]byte {
		good, expired := leafFor(e, ca, -1, 59).CertPEM, leafFor(e, ca, -60, -1).CertPEM
		out := map[string][]byte{"unreadable": pkitest.Bundle([]byte("-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n"), good)}
		for _, f := range pkitest.Forms(good) {
			if out[f.Name] = pkitest.Bundle(f.Text, []byte("\n"), expired); f.Go && f.OpenSSL {
				out[f.Name+", as all read it"] = f.Text
				delete(out, f.Name)
			}
		}
		return out
	}
	for _, id := range []string{"node-kubeconfig-localhost", "pods-kubernetes-service", "apiserver-csr-signer", "apiserver-validating-webhooks"} {
		e := edge(t, id)
		if e.Verify == catalog.VerifyServiceCertificate {
			e.ServerName = "hook.team.svc"
		}
		for name, text := range forms(e) {
			w := newWorld(versions(e))
			if e.Verify == catalog.VerifyServiceCertificate {
				hook := pki.Location{Kind: pki.Kind(e.Trust.Kind), Name: "policy", Field: "webhooks[0].clientConfig.caBundle"}
				w.add(hook, nil, ca.CertPEM)
				w.add(pki.Location{Kind: catalog.Secret, Namespace: "team", Name: "serving", Key: "tls.crt"}, nil, text)
				w.s.References = append(w.s.References, inspect.Reference{From: hook, To: pki.Location{Kind: "Service", Namespace: "team", Name: "hook"}})
				w.s.Sort()
			} else {
				w.show(e, text)
				w.trust(e, ca.CertPEM)
				w.signer(e, ca)
			}
			want := assess.Unknown
			if strings.HasSuffix(name, ", as all read it") {
				want = assess.Pass
			}
			for _, c := range w.judge(id) {
				if c.Status != want || want == assess.Unknown && (!strings.Contains(c.Reason, "which certificate is presented is unknown: of ") || c.Assessment.Remediation.Text == "") {
					t.Errorf("%s, %s: %s: %s", id, name, c.Status, c.Reason)
				}
			}
		}
	}
}

// TestAKubeletThatLoadsNoCAsOfItsClientsDoesNotComeBack: it loads all of the file, or does not start.
func TestAKubeletThatLoadsNoCAsOfItsClientsDoesNotComeBack(t *testing.T) {
	t.Parallel()
	const file, unreadable = "/etc/kubernetes/kubelet-ca.crt", "-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n"
	cas := pkitest.NewCA("clients", from(-9), from(300)).CertPEM
	for name, c := range map[string]struct {
		text  []byte
		there bool
		gap   bool
		want  assess.Status
		why   string
	}{
		"it holds some":                    {cas, true, false, assess.Pass, ""},
		"one of them is unreadable":        {pkitest.Bundle(cas, []byte(unreadable)), true, false, assess.Fail, "can't be parsed"},
		"all of them are":                  {[]byte(unreadable), true, false, assess.Fail, "it can't be read"},
		"behind a byte order mark":         {append([]byte("\ufeff"), cas...), true, false, assess.Fail, "byte order mark"},
		"it holds none":                    {nil, true, false, assess.Fail, "there is no CA in it"},
		"it is not there":                  {nil, false, false, assess.Fail, "there is no CA in it"},
		"whether it is there was not read": {nil, false, true, assess.Pass, ""},
	} {
		for _, asked := range []bool{true, false} {
			s := newStarting()
			n := &s.s.Nodes[0]
			if n.Kubelet.ClientCAFile = file; !asked {
				n.RestartProbe = nil
			}
			if c.there {
				n.Files = append(n.Files, inspect.NodeFile{Path: file, Whole: true})
			}
			if c.gap {
				s.s.Gaps = append(s.s.Gaps, inspect.Gap{What: "node/n1", Where: file, Reason: "refused"})
			}
			for _, f := range s.sc.Scan(c.text) {
				s.s.Bundles = append(s.s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: "n1", Path: file}, Content: f.Content})
			}
			want := c.want
			if want == assess.Pass && !asked {
				want = assess.Unknown
			}
			r := report.NewRestartReport(context.Background(), inspect.NewFacts(s.s, noon, 30*day))
			if got := r.Nodes[0].ComesBack; got.Status != want || want == assess.Fail && !strings.Contains(got.Reason, c.why) {
				t.Errorf("%s, asked %v: %s: %s", name, asked, got.Status, got.Reason)
			}
		}
	}
}

// TestAServiceWithAnothersKeyPresentsSomethingUnknown: no server in Go loads a Secret whose key is another's; and one
// with a key on P-224 does no handshake of TLS 1.3.
func TestAServiceWithAnothersKeyPresentsSomethingUnknown(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("signer", from(-600), from(300))
	for _, id := range []string{"apiserver-validating-webhooks", "apiserver-mutating-webhooks"} {
		e := edge(t, id)
		e.ServerName = "hook.team.svc"
		served, other := leafFor(e, ca, -1, 59), ca.Issue("other", from(-1), from(59))
		p224 := ca.Issue("p224", from(-1), from(59), pkitest.DNS("hook.team.svc"), pkitest.Curve(elliptic.P224()))
		for name, c := range map[string]struct {
			served pkitest.Pair
			key    []byte
			want   assess.Status
			why    string
		}{
			"its own":      {served, served.KeyPEM, assess.Pass, ""},
			"another's":    {served, other.KeyPEM, assess.Unknown, "the key in Secret/team/serving[tls.key] is not that of the certificate beside it"},
			"not read":     {served, nil, assess.Pass, ""},
			"one of P-224": {p224, p224.KeyPEM, assess.Unknown, "has a key on P-224"},
		} {
			w := newWorld(versions(e))
			hook := pki.Location{Kind: pki.Kind(e.Trust.Kind), Name: "policy", Field: "webhooks[0].clientConfig.caBundle"}
			w.add(hook, nil, ca.CertPEM)
			w.add(pki.Location{Kind: catalog.Secret, Namespace: "team", Name: "serving", Key: "tls.crt"}, nil, c.served.CertPEM)
			if c.key != nil {
				w.add(pki.Location{Kind: catalog.Secret, Namespace: "team", Name: "serving", Key: "tls.key"}, nil, c.key)
			}
			w.s.References = append(w.s.References, inspect.Reference{From: hook, To: pki.Location{Kind: "Service", Namespace: "team", Name: "hook"}})
			w.s.Sort()
			for _, claim := range w.judge(id) {
				if claim.Status != c.want || !strings.Contains(claim.Reason, c.why) {
					t.Errorf("%s, %s: %s: %s", id, name, claim.Status, claim.Reason)
				}
			}
		}
	}
}
