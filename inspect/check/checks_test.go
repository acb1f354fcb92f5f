package check

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// verdictCase is one fixture and what a check must say of it. An empty severity
// means: nothing.
type verdictCase struct {
	check    string
	name     string
	given    *inspecttest.Fixture
	severity string
	says     string // part of the message
	places   int    // how many the finding names; 0: not looked at
}

func TestChecks(t *testing.T) {
	t.Parallel()
	judged := map[string]map[bool]bool{} // check -> found anything -> seen
	for _, c := range verdictCases() {
		if judged[c.check] == nil {
			judged[c.check] = map[bool]bool{}
		}
		judged[c.check][c.severity != ""] = true
		t.Run(c.check+"/"+strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			got := findings(c.given, t, c.check)
			switch {
			case c.severity == "" && len(got) > 0:
				t.Fatalf("want nothing, got %v: %s at %v", got[0].Severity, got[0].Reason, got[0].At)
			case c.severity == "":
			case len(got) != 1:
				t.Fatalf("want one finding, got %d: %+v", len(got), got)
			case got[0].Severity.String() != c.severity:
				t.Errorf("severity %s, want %s: %s", got[0].Severity, c.severity, got[0].Reason)
			case !strings.Contains(got[0].Line(), c.says):
				t.Errorf("message %q does not say %q", got[0].Line(), c.says)
			case c.places > 0 && len(got[0].At) != c.places:
				t.Errorf("names %d places, want %d: %v", len(got[0].At), c.places, got[0].At)
			}
		})
	}
	for _, c := range Checks() {
		if !judged[c.ID][true] || !judged[c.ID][false] {
			t.Errorf("check %s needs a fixture that passes and one that fails", c.ID)
		}
	}
}

func TestCheckTexts(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range Checks() {
		if seen[c.ID] || c.ID != strings.ToLower(c.ID) || strings.ContainsAny(c.ID, " _") {
			t.Errorf("id %q is not unique lower-kebab", c.ID)
		}
		seen[c.ID] = true
		if c.Title == "" || strings.HasSuffix(c.Title, ".") || len(c.Doc) < 80 {
			t.Errorf("check %s: the title is a claim without a full stop, the doc explains it", c.ID)
		}
	}
}

func verdictCases() []verdictCase {
	var out []verdictCase
	for _, cases := range [][]verdictCase{timeCases(), rotationCases(), contentCases(), caCases(), issuerCases(), cryptoCases(), bundleCases(), copyCases(), requestCases(), nodeCases(), openShiftCases(), calledCases(), chainCases(), copiedCases()} {
		out = append(out, cases...)
	}
	return out
}

func timeCases() []verdictCase {
	ca := pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000))
	leaf := func(begin, end int) pkitest.Pair {
		return ca.Issue("shop.example.com", inspecttest.DaysFromNoon(begin), inspecttest.DaysFromNoon(end), pkitest.DNS("shop.example.com"))
	}
	one := func(p pkitest.Pair) *inspecttest.Fixture {
		return inspecttest.NewFixture("").Secret("shop", "tls", nil, p)
	}
	ended := pkitest.NewCA("ended CA", inspecttest.DaysFromNoon(-100), inspecttest.DaysFromNoon(-1))
	dying := pkitest.NewCA("dying CA", inspecttest.DaysFromNoon(-3645), inspecttest.DaysFromNoon(5))
	young := pkitest.NewCA("young CA", inspecttest.DaysFromNoon(-130), inspecttest.DaysFromNoon(20))
	return []verdictCase{
		{"certificate-expired", "a valid leaf", one(leaf(-10, 300)), "", "", 0},
		{"certificate-expired", "a leaf that ended", one(leaf(-300, -3)), "critical", "expired 3d ago", 1},
		{"certificate-expired", "a bundle of an ended CA alone", inspecttest.NewFixture("").ConfigMap("shop", "ca", "ca.crt", ended.CertPEM), "critical", "readers trust no CA", 1},
		{"certificate-expired", "an ended CA beside a valid one", inspecttest.NewFixture("").ConfigMap("shop", "ca", "ca.crt", ended.CertPEM, ca.CertPEM), "", "", 0},
		{"certificate-expired", "server.crt and server.key of an Opaque secret", inspecttest.NewFixture("").Object(inspect.Object{Kind: "Secret", Namespace: "shop", Name: "x", Type: "Opaque"},
			map[string][]byte{"server.crt": leaf(-300, -3).CertPEM, "server.key": leaf(-300, -3).KeyPEM}), "critical", "expired 3d ago", 1},
		{"certificate-expired", "a leaf alone in a ConfigMap", inspecttest.NewFixture("").ConfigMap("shop", "x", "server.pem", leaf(-300, -3).CertPEM), "critical", "expired 3d ago", 1},
		{"certificate-expired", "a valid leaf with an ended chain", inspecttest.NewFixture("").Object(inspect.Object{Kind: "Secret", Namespace: "shop", Name: "tls"},
			map[string][]byte{"tls.crt": pkitest.Bundle(leaf(-10, 300).CertPEM, ended.CertPEM), "tls.key": leaf(-10, 300).KeyPEM}), "warning", "part of a chain", 1},
		{"certificate-expired", "a certificate of a request, kept for the record", inspecttest.NewFixture("").Object(inspect.Object{Kind: "CertificateSigningRequest", Name: "csr-1"},
			map[string][]byte{"status.certificate": leaf(-300, -3).CertPEM}), "", "", 0},
		{"certificate-expired", "only an older revision", inspecttest.NewFixture("4.15.1").
			Secret(inspecttest.TargetNS, "etcd-client-3", nil, leaf(-300, -3)).Secret(inspecttest.TargetNS, "etcd-client-4", nil, leaf(-10, 300)), "info", "older static pod revisions", 1},

		{"crl-current", "a list that holds", inspecttest.NewFixture("").ConfigMap("shop", "crl", "crl.pem", revocationList(ca, -1, 6)), "", "", 0},
		{"crl-current", "a list without an end", inspecttest.NewFixture("").EndlessList("shop"), "", "", 0},
		{"crl-current", "a list that ended, beside its CA, in two places", inspecttest.NewFixture("").ConfigMap("shop", "crl", "crl.pem", ca.CertPEM, revocationList(ca, -9, -2)).
			ConfigMap("zoo", "crl", "ca.crt", revocationList(ca, -9, -2)), "warning", `revocation list of “test CA” expired 2d ago (2024-05-30 12:00 UTC)`, 2},
		{"crl-current", "a list that ended, in an older revision", inspecttest.NewFixture("4.15.1").Object(inspect.Object{Kind: "Secret", Namespace: inspecttest.TargetNS, Name: "etcd-client-3"}, map[string][]byte{"x.crl": revocationList(ca, -9, -2)}).
			Object(inspect.Object{Kind: "Secret", Namespace: inspecttest.TargetNS, Name: "etcd-client-4"}, map[string][]byte{"x.crl": revocationList(ca, -1, 6)}), "info", "expired 2d ago", 1},

		{"certificate-not-yet-valid", "valid from tomorrow", one(leaf(1, 300)), "critical", "valid only from 2024-06-02", 1},
		{"certificate-not-yet-valid", "valid since yesterday", one(leaf(-1, 300)), "", "", 0},

		{"certificate-expiring", "a year's certificate with 20 days left", one(leaf(-345, 20)), "warning", "expires in 20d", 1},
		{"certificate-expiring", "a year's certificate with 3 days left", one(leaf(-362, 3)), "critical", "expires in 3d", 1},
		{"certificate-expiring", "a year's certificate with 40 days left", one(leaf(-325, 40)), "", "", 0},
		{"certificate-expiring", "a month's certificate in the middle of its life", one(leaf(-15, 15)), "", "", 0},
		{"certificate-expiring", "a bundle whose only CA has 5 days left", inspecttest.NewFixture("").ConfigMap("team", "kube-root-ca.crt", "ca.crt", dying.CertPEM), "critical", "the last one of its bundle", 1},
		{"certificate-expiring", "a bundle with a dying CA and its successor", inspecttest.NewFixture("").ConfigMap("team", "kube-root-ca.crt", "ca.crt", dying.CertPEM, ca.CertPEM), "", "", 0},
		// Any tenant puts a certificate, which is public, into a Secret of theirs, with any annotation.
		{"certificate-expiring", "a tenant's copy that says it is renewed", inspecttest.NewFixture("4.15.1").Secret("shop", "tls", nil, leaf(-345, 20)).Secret("a-team", "mine", map[string]string{catalog.AnnotationServiceName: "x"}, pkitest.Pair{CertPEM: leaf(-345, 20).CertPEM}), "warning", "nothing is known to renew it", 2},
		{"certificate-expiring", "the platform's, and such a copy", inspecttest.NewFixture("4.15.1").Secret("openshift-ingress", "wildcard", nil, leaf(-345, 20)).Secret("a-team", "mine", map[string]string{catalog.AnnotationServiceName: "x"}, leaf(-345, 20)), "warning", "nothing is known to renew it", 2},
		{"rotation-overdue", "the platform's, and a tenant's copy that says when", inspecttest.NewFixture("4.15.1").Secret("openshift-ingress", "wildcard", nil, leaf(-345, 20)).Secret("a-team", "mine", map[string]string{catalog.AnnotationRefreshPeriod: "24h"}, leaf(-345, 20)), "", "", 0},
		{"rotation-overdue", "one in a tenant's namespace, and a copy in another one", inspecttest.NewFixture("4.15.1").Secret("shop", "mine", map[string]string{catalog.AnnotationRefreshPeriod: "24h"}, leaf(-345, 20)).Secret("a-team", "copy", nil, leaf(-345, 20)), "critical", "should have been renewed", 2},
		{"certificate-expiring", "the platform's last CA, which a tenant presents as renewed", inspecttest.NewFixture("4.15.1").ConfigMap("openshift-config", "user-ca-bundle", "ca-bundle.crt", young.CertPEM).
			Secret("a-team", "mine", map[string]string{catalog.AnnotationRefreshPeriod: "87600h"}, pkitest.Pair{CertPEM: young.CertPEM}), "warning", "the last one of its bundle", 1},
		{"certificate-expiring", "a tenant's last CA, which it presents itself", inspecttest.NewFixture("4.15.1").ConfigMap("a-team", "ca", "ca.crt", young.CertPEM).
			Secret("a-team", "mine", map[string]string{catalog.AnnotationRefreshPeriod: "87600h"}, pkitest.Pair{CertPEM: young.CertPEM}), "", "", 0},
		{"certificate-expiring", "the platform's last CA, which it presents itself", inspecttest.NewFixture("4.15.1").ConfigMap("openshift-config", "user-ca-bundle", "ca-bundle.crt", young.CertPEM).
			Secret("openshift-config", "mine", map[string]string{catalog.AnnotationRefreshPeriod: "87600h"}, pkitest.Pair{CertPEM: young.CertPEM}), "", "", 0},
		{"certificate-expiring", "one that its operator renews", inspecttest.NewFixture("4.15.1").Secret(inspecttest.TargetNS, "aggregator-client", inspecttest.Rotation(leaf(-12, 18)), leaf(-12, 18)), "", "", 0},
	}
}

func rotationCases() []verdictCase {
	ca := pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000))
	leaf := func(begin, end int) pkitest.Pair {
		return ca.Issue("localhost", inspecttest.DaysFromNoon(begin), inspecttest.DaysFromNoon(end))
	}
	localhost := func(annotations map[string]string, p pkitest.Pair) *inspecttest.Fixture {
		return inspecttest.NewFixture("4.15.1").Secret(inspecttest.TargetNS, "localhost-serving-cert-certkey", annotations, p)
	}
	young, late := leaf(-10, 20), leaf(-17, 13)
	yearly := pkitest.NewCA(inspecttest.OperatorNS+"_kube-apiserver-to-kubelet-signer@1711000000", inspecttest.DaysFromNoon(-70), inspecttest.DaysFromNoon(295))
	rotated := pkitest.NewCA(inspecttest.OperatorNS+"_loadbalancer-serving-signer@1716400000", inspecttest.DaysFromNoon(-10), inspecttest.DaysFromNoon(3640))
	installers := pkitest.NewCA("kube-apiserver-lb-signer", inspecttest.Noon.AddDate(-4, 0, 0), inspecttest.Noon.AddDate(6, 0, 0))
	veteran := pkitest.NewCA(inspecttest.OperatorNS+"_loadbalancer-serving-signer@1708600000", inspecttest.DaysFromNoon(-100), inspecttest.DaysFromNoon(3550))
	story := func(version string, signer, issuer *pkitest.Authority) *inspecttest.Fixture {
		api := issuer.Issue("api-int.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(29))
		return inspecttest.NewFixture(version).
			Secret(inspecttest.OperatorNS, "loadbalancer-serving-signer", inspecttest.Rotation(signer.Pair), signer.Pair).
			Secret(inspecttest.TargetNS, "internal-loadbalancer-serving-certkey", inspecttest.Rotation(api), api)
	}
	return []verdictCase{
		{"rotation-overdue", "within its refresh period", localhost(inspecttest.Rotation(young), young), "", "", 0},
		{"rotation-overdue", "past refresh period and signer's grace", localhost(inspecttest.Rotation(late), late), "warning", "should have been renewed 2d", 1},
		{"rotation-overdue", "past refresh, within the grace of a young signer", localhost(inspecttest.Rotation(leaf(-16, 14)), leaf(-16, 14)), "", "", 0},
		{"rotation-overdue", "about to expire", localhost(inspecttest.Rotation(leaf(-28, 2)), leaf(-28, 2)), "critical", "expires in 2d", 1},
		{"rotation-overdue", "renewed an hour before its end, ten minutes before it", inspecttest.NewFixture("4.15.1").Secret("team", "served", map[string]string{catalog.AnnotationServiceName: "svc"},
			ca.Issue("svc.team.svc", inspecttest.Noon.Add(10*time.Minute-730*inspecttest.Day), inspecttest.Noon.Add(10*time.Minute))), "critical", "should have been renewed", 1},
		{"rotation-overdue", "a signer that this patch version renews at 30 days", inspecttest.NewFixture("4.19.30").Secret(inspecttest.OperatorNS, "kube-apiserver-to-kubelet-signer", inspecttest.Rotation(yearly.Pair), yearly.Pair), "warning", "should have been renewed 40d ago", 1},
		{"rotation-overdue", "a signer that some builds of this version renew at 30 days, others at 292", inspecttest.NewFixture("4.22.1").Secret(inspecttest.OperatorNS, "kube-apiserver-to-kubelet-signer", inspecttest.Rotation(yearly.Pair), yearly.Pair), "", "", 0},
		{"rotation-overdue", "an annotated refresh period goes before the catalog's", localhost(inspecttest.With(inspecttest.Rotation(late), catalog.AnnotationRefreshPeriod, "600h0m0s"), late), "", "", 0},
		{"rotation-overdue", "unknown object with rotation annotations past 80 %", inspecttest.NewFixture("4.15.1").Secret("team", "own", inspecttest.Rotation(leaf(-90, 10)), leaf(-90, 10)), "warning", "80 % of its validity", 1},
		{"rotation-overdue", "unknown object that nobody renews", inspecttest.NewFixture("4.15.1").Secret("team", "own", nil, leaf(-90, 10)), "", "", 0},

		{"rotation-annotations", "annotations as the certificate", localhost(inspecttest.Rotation(young), young), "", "", 0},
		{"rotation-annotations", "another end", localhost(inspecttest.With(inspecttest.Rotation(young), catalog.AnnotationNotAfter, "2024-12-24T00:00:00Z"), young), "warning", "annotation certificate-not-after says 2024-12-24", 1},
		{"rotation-annotations", "no end", localhost(inspecttest.Without(inspecttest.Rotation(young), catalog.AnnotationNotAfter), young), "warning", "certificate-not-after is missing", 1},
		{"rotation-annotations", "an end that is no time", localhost(inspecttest.With(inspecttest.Rotation(young), catalog.AnnotationNotAfter, "force-regeneration"), young), "warning", "is no time", 1},
		{"rotation-annotations", "another issuer", localhost(inspecttest.With(inspecttest.Rotation(young), catalog.AnnotationIssuer, "somebody"), young), "warning", "certificate-issuer says \"somebody\"", 1},
		{"rotation-annotations", "no annotations at all", localhost(nil, young), "", "", 0},

		{"api-ca-delivered", "4.15, new signer, leaf still of the old one", story("4.15.0-0.okd-2024-01-27-070424", rotated, installers), "warning", "was replaced 10d ago", 1},
		{"api-ca-delivered", "4.15, new signer, and one of its name elsewhere", story("4.15.1", rotated, installers).Secret("backup", "loadbalancer-serving-signer", nil, installers.Pair), "warning", "was replaced 10d ago", 1},
		{"api-ca-delivered", "4.15, new signer, leaf signed by it", story("4.15.0-0.okd-2024-01-27-070424", rotated, rotated), "critical", "a kubelet that reconnects or restarts", 2},
		{"api-ca-delivered", "4.15, signer replaced long ago", story("4.15.1", veteran, veteran), "info", "was replaced 100d ago", 2},
		{"api-ca-delivered", "4.15, the installer's signer", story("4.15.1", installers, installers), "", "", 0},
		{"api-ca-delivered", "4.16 delivers it", story("4.16.1", rotated, rotated), "", "", 0},
		{"api-ca-delivered", "unknown version", story("", rotated, rotated), "", "", 0},
	}
}

func contentCases() []verdictCase {
	ca := pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000))
	a, b := ca.Issue("a.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99)), ca.Issue("b.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99))
	rsa, ed := ca.Issue("rsa.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99), pkitest.RSA(2048)), ca.Issue("ed.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99), pkitest.Ed25519())
	again := ca.Issue("a.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(400), pkitest.KeyName("kept"))
	before := ca.Issue("a.example.com", inspecttest.DaysFromNoon(-9), inspecttest.DaysFromNoon(99), pkitest.KeyName("kept"))
	encrypted := []byte("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n")
	opaque := func(values map[string][]byte) *inspecttest.Fixture {
		return inspecttest.NewFixture("").Object(inspect.Object{Kind: "Secret", Namespace: "shop", Name: "x", Type: "Opaque"}, values)
	}
	tls := func(namespace string, created time.Time) inspect.Object {
		return inspect.Object{Kind: "Secret", Namespace: namespace, Name: "x", Type: "kubernetes.io/tls", Created: created}
	}
	cut := ca.CertPEM[:len(ca.CertPEM)-100]
	return []verdictCase{
		{"key-matches", "certificate and key of one pair", inspecttest.NewFixture("").Secret("shop", "tls", nil, a), "", "", 0},
		{"key-matches", "the key of another", inspecttest.NewFixture("").Secret("shop", "tls", nil, pkitest.Pair{CertPEM: a.CertPEM, KeyPEM: b.KeyPEM}), "critical", "do not belong together", 1},
		{"key-matches", "the issuer first", opaque(map[string][]byte{"tls.crt": pkitest.Bundle(ca.CertPEM, a.CertPEM), "tls.key": a.KeyPEM}), "critical", "certificate 2", 1},
		{"key-matches", "server.crt and server.key of two pairs", opaque(map[string][]byte{"server.crt": a.CertPEM, "server.key": b.KeyPEM}), "critical", "do not belong together", 1},
		{"key-matches", "cert.pem and key.pem of one pair", opaque(map[string][]byte{"cert.pem": a.CertPEM, "key.pem": a.KeyPEM}), "", "", 0},
		{"key-matches", "cert.pem and key.pem of two pairs", opaque(map[string][]byte{"cert.pem": a.CertPEM, "key.pem": b.KeyPEM}), "critical", "do not belong together", 1},
		{"key-matches", "two pairs in one secret", opaque(map[string][]byte{"a.crt": a.CertPEM, "a.key": a.KeyPEM, "b.crt": b.CertPEM, "b.key": b.KeyPEM}), "", "", 0},
		{"key-matches", "one file of certificate and foreign key", opaque(map[string][]byte{"both.pem": pkitest.Bundle(a.CertPEM, b.KeyPEM)}), "critical", "do not belong together", 1},
		{"key-matches", "a CA bundle beside a pair", opaque(map[string][]byte{"ca.crt": ca.CertPEM, "tls.crt": a.CertPEM, "tls.key": a.KeyPEM}), "", "", 0},

		{"key-in-place", "a key in a Secret", inspecttest.NewFixture("").Secret("shop", "tls", nil, a), "", "", 0},
		{"key-in-place", "a key in a ConfigMap", inspecttest.NewFixture("").ConfigMap("shop", "x", "server.pem", a.CertPEM, a.KeyPEM), "critical", "ECDSA) lies in a ConfigMap", 1},
		{"key-in-place", "the key of a Secret's certificate in a ConfigMap", inspecttest.NewFixture("").Secret("zoo", "tls", nil, a).ConfigMap("shop", "x", "server.key", a.KeyPEM),
			"critical", fmt.Sprintf("it is the key of %q (%s) in Secret/zoo/tls[tls.crt]", "a.example.com", pki.FingerprintOf(a.Cert.Raw).Short()), 1},
		{"key-in-place", "the RSA key of a certificate in a ConfigMap", inspecttest.NewFixture("").Secret("zoo", "tls", nil, rsa).ConfigMap("shop", "x", "server.key", rsa.KeyPEM), "critical", "(RSA) lies in a ConfigMap; it is the key of \"rsa.example.com\"", 1},
		{"key-in-place", "the Ed25519 key of a certificate in a ConfigMap", inspecttest.NewFixture("").Secret("zoo", "tls", nil, ed).ConfigMap("shop", "x", "server.key", ed.KeyPEM), "critical", "(Ed25519) lies in a ConfigMap; it is the key of \"ed.example.com\"", 1},
		{"key-in-place", "the key of two certificates, one renewed with its key", inspecttest.NewFixture("").Secret("zoo", "tls", nil, before).Secret("zoo", "tls-new", nil, again).ConfigMap("shop", "x", "server.key", again.KeyPEM), "critical", "Secret/zoo/tls-new[tls.crt]", 1},
		{"key-in-place", "a key of no certificate", inspecttest.NewFixture("").Secret("zoo", "tls", nil, a).ConfigMap("shop", "x", "server.key", b.KeyPEM), "critical", "it matches no certificate that was read", 1},
		{"key-in-place", "the second key of a value", inspecttest.NewFixture("").Secret("zoo", "tls", nil, a).ConfigMap("shop", "x", "keys", b.KeyPEM, a.KeyPEM), "critical", "2 private keys (ECDSA) lie in a ConfigMap; among them the key of \"a.example.com\"", 1},
		{"key-in-place", "a key that is encrypted", inspecttest.NewFixture("").Secret("zoo", "tls", nil, a).ConfigMap("shop", "x", "server.key", encrypted), "warning", "which certificate it belongs to is unknown", 1},
		{"key-in-place", "a key in a CA bundle", opaque(map[string][]byte{"ca.crt": pkitest.Bundle(ca.CertPEM, ca.KeyPEM)}), "critical", "lies in a CA bundle", 1},
		{"key-in-place", "a key in a webhook", inspecttest.NewFixture("").Object(inspect.Object{Kind: "ValidatingWebhookConfiguration", Name: "w"},
			map[string][]byte{"webhooks[0].clientConfig.caBundle": pkitest.Bundle(ca.CertPEM, ca.KeyPEM)}), "critical", "lies in a CA bundle", 1},

		{"pem-readable", "a whole block", inspecttest.NewFixture("").ConfigMap("shop", "ca", "ca.crt", ca.CertPEM), "", "", 0},
		{"pem-readable", "a block cut short", inspecttest.NewFixture("").ConfigMap("shop", "ca", "ca.crt", cut), "warning", "block 1", 1},
		{"pem-readable", "the same cut block in two places", inspecttest.NewFixture("").ConfigMap("a", "ca", "ca.crt", cut).ConfigMap("b", "ca", "ca.crt", cut), "warning", "block 1", 2},
		{"pem-readable", "a manual that shows a placeholder", inspecttest.NewFixture("").ConfigMap("shop", "readme", "README.md", []byte("put it so:\n-----BEGIN CERTIFICATE-----\n...\n-----END CERTIFICATE-----\n")), "info", "block 1", 1},
		{"pem-readable", "a tls Secret without a certificate, in two namespaces", inspecttest.NewFixture("").Hollow(tls("a", inspecttest.DaysFromNoon(-1)), "tls.crt").Hollow(tls("b", inspecttest.DaysFromNoon(-2)), "tls.crt"), "warning", "holds no certificate", 2},
		{"pem-readable", "a tls Secret with its key in the place of the certificate", inspecttest.NewFixture("").Object(tls("a", inspecttest.DaysFromNoon(-1)), map[string][]byte{"tls.crt": a.KeyPEM, "tls.key": a.KeyPEM}), "warning", "holds no certificate", 1},
		{"pem-readable", "a tls Secret that a controller has just made", inspecttest.NewFixture("").Hollow(tls("a", inspecttest.Noon.Add(-time.Minute)), "tls.crt"), "info", "no certificate yet", 1},
		{"pem-readable", "an older revision of a tls Secret without a certificate", inspecttest.NewFixture("4.15.1").
			Hollow(inspect.Object{Kind: "Secret", Namespace: inspecttest.TargetNS, Name: "etcd-client-7", Type: "kubernetes.io/tls"}, "tls.crt").Secret(inspecttest.TargetNS, "etcd-client-8", nil, a), "info", "holds no certificate", 1},
		{"pem-readable", "an emptied CA bundle of OpenShift's", inspecttest.NewFixture("4.15.1").Hollow(inspect.Object{Kind: "ConfigMap", Namespace: inspecttest.ManagedNS, Name: "kube-apiserver-server-ca"}, "ca-bundle.crt"), "warning", "readers trust no CA", 1},
		{"pem-readable", "a ConfigMap named like one, where there is no OpenShift", inspecttest.NewFixture("").Hollow(inspect.Object{Kind: "ConfigMap", Namespace: inspecttest.ManagedNS, Name: "kube-apiserver-server-ca"}, "ca-bundle.crt"), "", "", 0},
		{"pem-readable", "an emptied copy, which copies-agree sees", inspecttest.NewFixture("4.15.1").Hollow(inspect.Object{Kind: "ConfigMap", Namespace: "a", Name: "kube-root-ca.crt"}, "ca.crt"), "", "", 0},
	}
}

// caCases are Secrets with a ca.crt beside their tls.crt.
func caCases() []verdictCase {
	ca, other := pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000)), pkitest.NewCA("other CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000))
	named := pkitest.DNS("a.example.com")
	a := ca.Issue("a.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99), named)
	with := func(ca []byte, leaf ...[]byte) *inspecttest.Fixture {
		return inspecttest.NewFixture("4.15.1").Object(inspect.Object{Kind: "Secret", Namespace: "shop", Name: "x", Type: "kubernetes.io/tls"}, map[string][]byte{"ca.crt": ca, "tls.crt": pkitest.Bundle(leaf...), "tls.key": a.KeyPEM})
	}
	middle := ca.CA("middle CA", inspecttest.DaysFromNoon(-100), inspecttest.DaysFromNoon(90))
	below := middle.Issue("a.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(50), named)
	alone := pkitest.SelfSigned("a.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99), named)
	ended := pkitest.NewCA("ended CA", inspecttest.DaysFromNoon(-100), inspecttest.DaysFromNoon(-1))
	late := ended.Issue("a.example.com", inspecttest.DaysFromNoon(-10), inspecttest.DaysFromNoon(99), named)
	first := pkitest.NewCA("renewed CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(-1), pkitest.KeyName("renewed"))
	renewed := pkitest.NewCA("renewed CA", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(3000), pkitest.KeyName("renewed"))
	twin := pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-300), inspecttest.DaysFromNoon(3000))
	return []verdictCase{
		{"secret-ca-verifies", "the CA that issued it", with(ca.CertPEM, a.CertPEM), "", "", 0},
		{"secret-ca-verifies", "another CA", with(other.CertPEM, a.CertPEM), "warning", "ca.crt does not verify the certificate beside it, \"a.example.com\"", 2},
		{"secret-ca-verifies", "another CA of the issuer's name", with(twin.CertPEM, a.CertPEM), "warning", "does not verify", 2},
		{"secret-ca-verifies", "two CAs, one of which issued it", with(pkitest.Bundle(other.CertPEM, ca.CertPEM), a.CertPEM), "", "", 0},
		{"secret-ca-verifies", "the root of a chain in tls.crt", with(ca.CertPEM, below.CertPEM, middle.CertPEM), "", "", 0},
		{"secret-ca-verifies", "root and intermediate CA, and tls.crt has its certificate only", with(pkitest.Bundle(ca.CertPEM, middle.CertPEM), below.CertPEM), "", "", 0},
		{"secret-ca-verifies", "the root only, and the intermediate CA is nowhere", with(ca.CertPEM, below.CertPEM), "warning", "does not verify", 2},
		{"secret-ca-verifies", "the certificate itself, self-signed", with(alone.CertPEM, alone.CertPEM), "", "", 0},
		{"secret-ca-verifies", "a CA that expired: another check says it", with(ended.CertPEM, late.CertPEM), "", "", 0},
		{"secret-ca-verifies", "a CA that was renewed with its key", with(renewed.CertPEM, first.Issue("a.example.com", inspecttest.DaysFromNoon(-10), inspecttest.DaysFromNoon(99), named).CertPEM), "", "", 0},
		{"secret-ca-verifies", "a certificate that expired: another check says it", with(other.CertPEM, ca.Issue("a.example.com", inspecttest.DaysFromNoon(-10), inspecttest.DaysFromNoon(-1), named).CertPEM), "", "", 0},
		{"secret-ca-verifies", "a client's certificate: ca.crt is for its server", with(other.CertPEM, ca.Issue("system:x", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99), pkitest.Usages(x509.ExtKeyUsageClientAuth)).CertPEM), "", "", 0},
		{"secret-ca-verifies", "a CA that issued a client's certificate is there to verify clients", with(other.CertPEM, a.CertPEM).
			Secret("shop", "client", nil, other.Issue("user", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99), pkitest.Usages(x509.ExtKeyUsageClientAuth))), "info", "verifies clients", 2},
		{"secret-ca-verifies", "an empty ca.crt", with([]byte{}, a.CertPEM), "", "", 0},
		{"secret-ca-verifies", "a ca.crt that the catalog knows", inspecttest.NewFixture("4.15.1").Object(inspect.Object{Kind: "Secret", Namespace: "openshift-machine-config-operator", Name: "node-bootstrapper-token", Type: "kubernetes.io/service-account-token"},
			map[string][]byte{"ca.crt": other.CertPEM, "tls.crt": a.CertPEM}), "", "", 0},
		{"secret-ca-verifies", "an older revision", inspecttest.NewFixture("4.15.1").Object(inspect.Object{Kind: "Secret", Namespace: inspecttest.TargetNS, Name: "etcd-client-3"}, map[string][]byte{"ca.crt": other.CertPEM, "tls.crt": a.CertPEM}).
			Object(inspect.Object{Kind: "Secret", Namespace: inspecttest.TargetNS, Name: "etcd-client-4"}, map[string][]byte{"ca.crt": ca.CertPEM, "tls.crt": a.CertPEM}), "", "", 0},
	}
}

func bundleCases() []verdictCase {
	ca, other := pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000)), pkitest.NewCA("other CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000))
	ended := pkitest.NewCA("ended CA", inspecttest.DaysFromNoon(-100), inspecttest.DaysFromNoon(-1))
	leaf := ca.Issue("a.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99))
	alone := pkitest.SelfSigned("self.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99))
	cm := func(blocks ...[]byte) *inspecttest.Fixture {
		return inspecttest.NewFixture("").ConfigMap("shop", "trust", "ca-bundle.crt", blocks...)
	}
	return []verdictCase{
		{"bundle-expired-ca", "two valid CAs", cm(ca.CertPEM, other.CertPEM), "", "", 0},
		{"bundle-expired-ca", "an ended CA beside a valid one", cm(ca.CertPEM, ended.CertPEM), "info", "“ended CA”", 1},
		{"bundle-duplicate", "two CAs", cm(ca.CertPEM, other.CertPEM), "", "", 0},
		{"bundle-duplicate", "one CA twice", cm(ca.CertPEM, other.CertPEM, ca.CertPEM), "info", "“test CA”", 1},
		{"bundle-not-ca", "two CAs", cm(ca.CertPEM, other.CertPEM), "", "", 0},
		{"bundle-not-ca", "a leaf beside its CA, as in default-ingress-cert", cm(leaf.CertPEM, ca.CertPEM), "info", "\"a.example.com\"", 1},
		{"bundle-not-ca", "a leaf alone", cm(leaf.CertPEM), "info", "no CA at all", 1},
		{"bundle-not-ca", "a self-signed leaf", cm(ca.CertPEM, alone.CertPEM), "info", "verify themselves only", 1},
	}
}

func copyCases() []verdictCase {
	lb, localhost := pkitest.NewCA("lb", inspecttest.DaysFromNoon(-3), inspecttest.DaysFromNoon(3000)), pkitest.NewCA("localhost", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000))
	ended := pkitest.NewCA("ended lb", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(-1))
	newborn := pkitest.NewCA("newborn", inspecttest.Noon.Add(-time.Minute), inspecttest.DaysFromNoon(3650))
	parts := func() *inspecttest.Fixture {
		return inspecttest.NewFixture("4.15.1").
			ConfigMap(inspecttest.OperatorNS, "loadbalancer-serving-ca", "ca-bundle.crt", lb.CertPEM, ended.CertPEM).
			ConfigMap(inspecttest.OperatorNS, "localhost-serving-ca", "ca-bundle.crt", localhost.CertPEM)
	}
	rootCA := func(f *inspecttest.Fixture, n int, blocks ...[]byte) *inspecttest.Fixture {
		for i := range n {
			f.ConfigMap("team-"+string(rune('a'+i)), "kube-root-ca.crt", "ca.crt", blocks...)
		}
		return f
	}
	admin := localhost.Issue("system:admin", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(20))
	emergency := func(ca []byte) *inspecttest.Fixture {
		encoded := base64.StdEncoding.EncodeToString
		text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n    server: https://api-int:6443\n    certificate-authority-data: %s\nusers:\n- name: u\n  user:\n    client-certificate-data: %s\n    client-key-data: %s\n",
			encoded(ca), encoded(admin.CertPEM), encoded(admin.KeyPEM))
		return inspecttest.NewFixture("4.15.1").ConfigMap(inspecttest.TargetNS, "kube-apiserver-server-ca", "ca-bundle.crt", lb.CertPEM).
			Object(inspect.Object{Kind: "Secret", Namespace: inspecttest.TargetNS, Name: "node-kubeconfigs"}, map[string][]byte{"lb-int.kubeconfig": []byte(text)})
	}
	return []verdictCase{
		{"bundle-complete", "a kubeconfig has the CA for its cluster; its user needs none", emergency(lb.CertPEM), "", "", 0},
		{"bundle-complete", "a kubeconfig lacks the CA for its cluster", emergency(localhost.CertPEM), "warning", "lacks \"lb\"", 1},
		{"bundle-complete", "all parts, but the expired one", parts().ConfigMap(inspecttest.TargetNS, "kube-apiserver-server-ca", "ca-bundle.crt", localhost.CertPEM, lb.CertPEM), "", "", 0},
		{"bundle-complete", "without the new CA", parts().ConfigMap(inspecttest.TargetNS, "kube-apiserver-server-ca", "ca-bundle.crt", localhost.CertPEM), "warning", "lacks \"lb\"", 1},
		{"bundle-complete", "the copy lacks what its source has", parts().
			ConfigMap(inspecttest.TargetNS, "kube-apiserver-server-ca", "ca-bundle.crt", localhost.CertPEM, lb.CertPEM).
			ConfigMap(inspecttest.ManagedNS, "kube-apiserver-server-ca", "ca-bundle.crt", localhost.CertPEM), "warning", "kube-apiserver-server-ca", 1},
		{"bundle-complete", "kube-root-ca.crt in three namespaces lacks the new CA", rootCA(inspecttest.NewFixture("4.15.1").
			ConfigMap("openshift-kube-controller-manager", "serviceaccount-ca", "ca-bundle.crt", localhost.CertPEM, lb.CertPEM), 3, localhost.CertPEM), "warning", "lacks \"lb\"", 3},

		{"copies-agree", "the same certificates with another comment", rootCA(inspecttest.NewFixture(""), 4, lb.CertPEM).ConfigMap("zebra", "kube-root-ca.crt", "ca.crt", []byte("# here\n"), lb.CertPEM), "", "", 0},
		{"bundle-complete", "a CA made a minute ago", inspecttest.NewFixture("4.15.1").
			ConfigMap(inspecttest.OperatorNS, "loadbalancer-serving-ca", "ca-bundle.crt", newborn.CertPEM).
			ConfigMap(inspecttest.TargetNS, "kube-apiserver-server-ca", "ca-bundle.crt", localhost.CertPEM), "info", "lacks \"newborn\"", 1},
		{"copies-agree", "the same everywhere", rootCA(inspecttest.NewFixture(""), 4, lb.CertPEM), "", "", 0},
		{"copies-agree", "one namespace differs", rootCA(inspecttest.NewFixture(""), 4, lb.CertPEM).ConfigMap("zebra", "kube-root-ca.crt", "ca.crt", localhost.CertPEM), "warning", "differs from the 4 other copies", 1},
	}
}

// revocationList is an empty one of ca, in PEM.
func revocationList(ca *pkitest.Authority, begin, end int) []byte {
	issuer := *ca.Cert
	issuer.KeyUsage |= x509.KeyUsageCRLSign
	der, err := x509.CreateRevocationList(nil, &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: inspecttest.DaysFromNoon(begin), NextUpdate: inspecttest.DaysFromNoon(end)}, &issuer, ca.Key)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der})
}

func requestCases() []verdictCase {
	return []verdictCase{
		{"csr-answered", "pending for a minute", inspecttest.NewFixture("").Request("csr-1", inspect.Pending, time.Minute), "", "", 0},
		{"csr-answered", "issued long ago", inspecttest.NewFixture("").Request("csr-1", inspect.Issued, time.Hour), "", "", 0},
		{"csr-answered", "pending for an hour", inspecttest.NewFixture("").Request("csr-1", inspect.Pending, time.Hour), "warning", "pending since 60m ago", 1},
		{"csr-answered", "three of one node pending", inspecttest.NewFixture("").Request("csr-1", inspect.Pending, time.Hour).Request("csr-2", inspect.Pending, 2*time.Hour).Request("csr-3", inspect.Pending, 3*time.Hour), "warning", "3 requests of system:node:worker-1", 3},
		{"csr-answered", "approved, never issued", inspecttest.NewFixture("").Request("csr-1", inspect.Approved, time.Hour), "warning", "no certificate was issued", 1},
		{"csr-answered", "denied", inspecttest.NewFixture("").Request("csr-1", inspect.Denied, time.Hour), "info", "denied", 1},
	}
}

func TestFoldKeepsListsShort(t *testing.T) {
	t.Parallel()
	in := func(ns string) pki.Location {
		return pki.Location{Kind: "ConfigMap", Namespace: ns, Name: "kube-root-ca.crt", Key: "ca.crt"}
	}
	revision := func(n string) pki.Location {
		return pki.Location{Kind: "Secret", Namespace: inspecttest.TargetNS, Name: "etcd-client" + n, Key: "tls.crt"}
	}
	got := inspect.Fold([]pki.Location{in("a"), in("b"), in("c"), in("d"), revision("-9"), revision("-10"), revision("")})
	want := []string{"ConfigMap/<4 namespaces>/kube-root-ca.crt[ca.crt]", "Secret/openshift-kube-apiserver/etcd-client[tls.crt]", "Secret/openshift-kube-apiserver/etcd-client-{9,10}[tls.crt]"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestACertificateThatGoSkipsIsAFinding(t *testing.T) {
	ca := pkitest.NewCA("ca", inspecttest.Noon.AddDate(0, -1, 0), inspecttest.Noon.AddDate(5, 0, 0))
	leaf := ca.Issue("hook", inspecttest.Noon.AddDate(0, -1, 0), inspecttest.Noon.AddDate(1, 0, 0), pkitest.DNS("hook.team.svc"))
	for i, form := range pkitest.Forms(ca.CertPEM) {
		headers := strings.HasPrefix(form.Name, "with PEM headers") // crypto/tls loads that, and no pool of CAs does
		for f, skips := range map[*inspecttest.Fixture]bool{
			inspecttest.NewFixture("").ConfigMap("team", "ca-bundle", "ca-bundle.crt", form.Text):                                 !form.Go,
			inspecttest.NewFixture("").Secret("team", "serving", nil, pkitest.Pair{CertPEM: pkitest.Forms(leaf.CertPEM)[i].Text}): !form.Go && !headers,
		} {
			found := unreadable(inspect.NewFacts(f.Snapshot, inspecttest.Noon, inspecttest.Day))
			if skips != (len(found) > 0) || skips && !strings.Contains(found[0].Line(), "skip") {
				t.Errorf("%s: %+v", form.Name, found)
			}
		}
	}
}
