package check

import (
	"crypto/elliptic"
	"crypto/x509"
	"fmt"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

func issuerCases() []verdictCase {
	ca := pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(100))
	ending := pkitest.NewCA("ending CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(20))
	renewed := pkitest.NewCA("ending CA", inspecttest.DaysFromNoon(-10), inspecttest.DaysFromNoon(3000), pkitest.KeyName("ending"))
	first := pkitest.NewCA("ending CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(20), pkitest.KeyName("ending"))
	leaf := func(by *pkitest.Authority, end int) pkitest.Pair {
		return by.Issue("a.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(end), pkitest.DNS("a.example.com"))
	}
	with := func(by *pkitest.Authority, end int) *inspecttest.Fixture {
		return inspecttest.NewFixture("").Secret("shop", "tls", nil, leaf(by, end)).ConfigMap("shop", "ca", "ca.crt", by.CertPEM)
	}
	served := func(by *pkitest.Authority, begin, end int) *inspecttest.Fixture { // service-ca renews it an hour before it expires
		p := by.Issue("svc.team.svc", inspecttest.DaysFromNoon(begin), inspecttest.DaysFromNoon(end), pkitest.DNS("svc.team.svc"))
		return inspecttest.NewFixture("4.15.1").Secret("team", "served", map[string]string{catalog.AnnotationServiceName: "svc"}, p).ConfigMap("team", "ca", "ca.crt", by.CertPEM)
	}
	middle := ca.CA("middle CA", inspecttest.DaysFromNoon(-100), inspecttest.DaysFromNoon(90))
	chained := middle.Issue("b.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(50), pkitest.DNS("b.example.com"))
	chain := func(root *pkitest.Authority) *inspecttest.Fixture {
		return inspecttest.NewFixture("").Whole().Object(inspect.Object{Kind: "Secret", Namespace: "shop", Name: "tls"},
			map[string][]byte{"tls.crt": pkitest.Bundle(chained.CertPEM, middle.CertPEM), "tls.key": chained.KeyPEM}).ConfigMap("shop", "ca", "ca.crt", root.CertPEM)
	}
	twin := pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-300), inspecttest.DaysFromNoon(3000))
	forged := func(i int) []byte { // with the key identifier of ending, which any tenant can write
		return pkitest.NewCA("ending CA", inspecttest.DaysFromNoon(-300), inspecttest.DaysFromNoon(3000), pkitest.KeyName(fmt.Sprint("forged ", i)), pkitest.Template(func(c *x509.Certificate) { c.SubjectKeyId = ending.Cert.SubjectKeyId })).CertPEM
	}
	among := func(f *inspecttest.Fixture, many int) *inspecttest.Fixture {
		for i := range many {
			f.ConfigMap("a-team", fmt.Sprint("ca-", i), "ca.crt", forged(i))
		}
		return f
	}
	many := among(inspecttest.NewFixture("").Secret("shop", "tls", nil, leaf(ending, 101)).ConfigMap("openshift-config", "ca", "ca.crt", ending.CertPEM), inspect.MaxSameName+1)
	two := func(cas ...*pkitest.Authority) *inspecttest.Fixture {
		f := inspecttest.NewFixture("")
		for i, c := range cas {
			f.ConfigMap("team-"+string(rune('a'+i)), "ca", "ca.crt", c.CertPEM)
		}
		return f
	}
	onNode := func(role string) *inspecttest.Fixture { // root writes it
		return inspecttest.NewFixture("").Secret("openshift-ingress", "tls", nil, leaf(first, 101)).ConfigMap("openshift-config", "ca", "ca.crt", first.CertPEM).
			OnNode("/etc/kubernetes/x-ca.crt", 0o644, renewed.CertPEM).With(func(n *inspect.Node) { n.Role = role })
	}
	return []verdictCase{
		{"certificate-outlives-ca", "a leaf that ends before its CA", with(ca, 99), "", "", 0},
		{"certificate-outlives-ca", "a leaf that ends after its CA", with(ca, 101), "info", "before \"a.example.com\"", 1},
		{"certificate-outlives-ca", "a leaf that ends after its CA, which ends soon", with(ending, 101), "warning", "“ending CA”", 1},
		{"certificate-outlives-ca", "a CA renewed with its key", with(first, 101).ConfigMap("shop", "new", "ca.crt", renewed.CertPEM), "", "", 0},
		{"certificate-outlives-ca", "another CA of its issuer's name", with(ca, 101).ConfigMap("shop", "new", "ca.crt", twin.CertPEM), "info", "“test CA”", 1},
		{"certificate-outlives-ca", "a tenant's CA of that name and key identifier", with(ending, 101).ConfigMap("a-team", "ca", "ca.crt", forged(0)), "warning", "“ending CA”", 1},
		{"certificate-outlives-ca", "more of them than are tried", many, "warning", "“ending CA”", 1},
		{"certificate-outlives-ca", "more of another tenant's than are tried", among(with(ending, 101), inspect.MaxSameName+1), "warning", "CA “ending CA”", 1},
		{"certificate-outlives-ca", "more of another tenant's than are tried, and its own is in a third namespace", among(inspecttest.NewFixture("").Secret("shop", "tls", nil, leaf(ending, 101)).ConfigMap("third", "ca", "ca.crt", ending.CertPEM), inspect.MaxSameName+1), "warning", "whether the CA that issued \"a.example.com\"", 1},
		{"certificate-outlives-ca", "more of them, all of which expire later", among(inspecttest.NewFixture("").Secret("shop", "tls", nil, leaf(ending, 101)), inspect.MaxSameName+1), "", "", 0},
		{"certificate-outlives-ca", "a tenant's CA with that public key", with(first, 101).ConfigMap("a-team", "ca", "ca.crt", renewed.CertPEM), "warning", "“ending CA”", 1},
		{"certificate-outlives-ca", "a tenant's CA with that public key, beside a copy of the platform's leaf", inspecttest.NewFixture("").Secret("openshift-ingress", "tls", nil, leaf(first, 101)).ConfigMap("openshift-config", "ca", "ca.crt", first.CertPEM).
			ConfigMap("a-team", "ca", "ca.crt", renewed.CertPEM).Secret("a-team", "copy", nil, pkitest.Pair{CertPEM: leaf(first, 101).CertPEM}), "warning", "“ending CA”", 2},
		{"certificate-outlives-ca", "the same of another tenant's leaf", with(first, 101).ConfigMap("a-team", "ca", "ca.crt", renewed.CertPEM).Secret("a-team", "copy", nil, pkitest.Pair{CertPEM: leaf(first, 101).CertPEM}), "warning", "“ending CA”", 2},
		{"certificate-outlives-ca", "a leaf that is made anew later, and a copy that says sooner", served(ending, -1, 700).
			Secret("a-team", "copy", map[string]string{catalog.AnnotationRefreshPeriod: "360h"}, pkitest.Pair{CertPEM: ending.Issue("svc.team.svc", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(700), pkitest.DNS("svc.team.svc")).CertPEM}), "warning", "“ending CA”", 2},
		{"certificate-outlives-ca", "the platform's CA with that key", with(first, 101).ConfigMap("openshift-config", "ca", "ca.crt", renewed.CertPEM), "", "", 0},
		{"certificate-outlives-ca", "the platform's leaf, and a CA with that key in a file of a worker", onNode("worker"), "warning", "“ending CA”", 1},
		{"certificate-outlives-ca", "the same in a file of a control plane node", onNode(catalog.RoleMaster), "", "", 0},
		{"certificate-outlives-ca", "a leaf that is made anew before", inspecttest.NewFixture("4.15.1").
			Secret(inspecttest.TargetNS, "aggregator-client", inspecttest.Rotation(leaf(ending, 29)), leaf(ending, 29)).ConfigMap("shop", "ca", "ca.crt", ending.CertPEM), "", "", 0},
		{"certificate-outlives-ca", "a leaf that is made anew, but later", served(ending, -1, 700), "warning", "\"svc.team.svc\"", 1},

		{"issuer-seen", "a leaf and its CA", with(ca, 99).Whole(), "", "", 0},
		{"issuer-seen", "a leaf without its CA", inspecttest.NewFixture("").Whole().Secret("shop", "tls", nil, leaf(ca, 99)), "info", "“test CA”, which issued \"a.example.com\"", 1},
		{"issuer-seen", "a leaf whose CA lies in a signer's Secret only", inspecttest.NewFixture("").Whole().Secret("shop", "tls", nil, leaf(ca, 99)).Secret("shop", "ca", nil, ca.Pair), "info", "no CA bundle", 1},
		{"issuer-seen", "the platform's leaf without its CA, and a tenant's CA of that name and key identifier", inspecttest.NewFixture("").Whole().Secret("openshift-ingress", "tls", nil, leaf(ending, 99)).ConfigMap("a-team", "ca", "ca.crt", forged(0)), "info", "no CA bundle", 1},
		{"issuer-seen", "the platform's leaf, and its CA in a tenant's bundle", inspecttest.NewFixture("").Whole().Secret("openshift-ingress", "tls", nil, leaf(ending, 99)).ConfigMap("a-team", "ca", "ca.crt", ending.CertPEM), "", "", 0},
		{"issuer-seen", "a leaf, and more CAs of that name than are tried", among(inspecttest.NewFixture("").Whole().Secret("shop", "tls", nil, leaf(ending, 99)), inspect.MaxSameName+1), "info", "whether the issuer of \"a.example.com\"", 1},
		{"issuer-seen", "a leaf and its CA, and more CAs of that name than are tried", among(with(ending, 99).Whole(), inspect.MaxSameName+1), "", "", 0},
		{"issuer-seen", "a leaf without its CA, where not all was read", inspecttest.NewFixture("").Secret("shop", "tls", nil, leaf(ca, 99)), "", "", 0},
		{"issuer-seen", "a chain to a CA in a bundle", chain(ca), "", "", 0},
		{"issuer-seen", "a chain to a CA in no bundle", chain(ending), "info", "“test CA”, which issued \"b.example.com\"", 1},
		{"issuer-seen", "a bundle with another CA of that name", inspecttest.NewFixture("").Whole().Secret("shop", "tls", nil, leaf(ca, 99)).ConfigMap("shop", "ca", "ca.crt", twin.CertPEM), "info", "no CA bundle", 1},

		{"ca-names", "one CA in two places", two(ca, ca), "", "", 0},
		{"ca-names", "two CAs of one name", two(ca, twin), "info", "2 CAs with different keys are named “test CA”", 2},
		{"ca-names", "a CA renewed with its key", two(first, renewed), "", "", 0},
		{"ca-names", "two CAs of one name, one of which can't be told by its key", inspecttest.NewFixture("").ConfigMap("team", "ca", "ca.crt", ca.CertPEM, twin.CertPEM).Unmarked(), "warning", "OpenSSL takes the first", 1},
		{"ca-names", "two CAs of one name in one bundle, which can be told by their keys", inspecttest.NewFixture("").ConfigMap("team", "ca", "ca.crt", ca.CertPEM, twin.CertPEM), "info", "2 CAs", 1},
		{"ca-names", "two CAs of one name, which nobody reads together", two(ca, twin).Unmarked(), "info", "2 CAs", 2},
		{"ca-names", "one of which has ended", two(ca, pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(-1))), "", "", 0},
	}
}

func cryptoCases() []verdictCase {
	ca := pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000))
	tls := func(options ...pkitest.Option) *inspecttest.Fixture {
		return inspecttest.NewFixture("").Secret("shop", "tls", nil, ca.Issue("a.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99), options...))
	}
	named, server := pkitest.DNS("a.example.com"), pkitest.Usages(x509.ExtKeyUsageServerAuth)
	client, any := pkitest.Usages(x509.ExtKeyUsageClientAuth), pkitest.Usages()
	external := func(options ...pkitest.Option) *inspecttest.Fixture {
		return inspecttest.NewFixture("4.15.1").Secret("shop", "tls", nil, ca.Issue("a.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99), options...)).Names(inspect.KindRoute, "spec.tls.externalCertificate.name", "shop", "tls")
	}
	sha1 := pkitest.Template(func(c *x509.Certificate) { c.SignatureAlgorithm = x509.ECDSAWithSHA1 })
	small := pkitest.NewCA("small CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000), pkitest.Curve(elliptic.P224()))
	old := pkitest.NewCA("old CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000), sha1)
	sub := ca.CA("sub CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000), sha1)
	signer := func(version, secretType string) *inspecttest.Fixture {
		lb := pkitest.NewCA("lb", inspecttest.DaysFromNoon(-3), inspecttest.DaysFromNoon(3000))
		return inspecttest.NewFixture(version).Object(inspect.Object{Kind: "Secret", Namespace: inspecttest.OperatorNS, Name: "loadbalancer-serving-signer", Type: secretType},
			map[string][]byte{"tls.crt": lb.CertPEM, "tls.key": lb.KeyPEM})
	}
	return []verdictCase{
		{"serving-names", "a serving certificate with a name", tls(named, server), "", "", 0},
		{"serving-names", "a serving certificate with an address", tls(pkitest.IPs("10.0.0.1"), server), "", "", 0},
		{"serving-names", "a serving certificate with a URI", tls(pkitest.URIs("spiffe://a"), server), "", "", 0},
		{"serving-names", "a serving certificate without names", tls(server), "warning", "names no host", 1},
		{"serving-names", "a client certificate without names", tls(pkitest.Usages(x509.ExtKeyUsageClientAuth)), "", "", 0},
		{"serving-names", "a TLS Secret's certificate for any usage, named like a host in its common name only", tls(any), "warning", "names no host", 1},
		{"serving-names", "a TLS Secret's certificate for server and client, named like a host in its common name only", tls(), "warning", "names no host", 1},
		{"serving-names", "a TLS Secret's certificate for any usage, named like a user", inspecttest.NewFixture("").Secret("shop", "tls", nil, ca.Issue("system:shop", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99), any)), "", "", 0},
		{"serving-names", "an Opaque Secret's certificate for any usage", inspecttest.NewFixture("").Object(inspect.Object{Kind: "Secret", Namespace: "shop", Name: "x", Type: "Opaque"},
			map[string][]byte{"tls.crt": ca.Issue("a.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99), any).CertPEM}), "", "", 0},
		{"serving-names", "kubelet-client, which the catalog knows as a client", inspecttest.NewFixture("4.15.1").Secret(inspecttest.TargetNS, "kubelet-client", nil, ca.Issue("kube.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(29))), "", "", 0},
		{"serving-names", "a self-signed CA that a Route's certificate is", inspecttest.NewFixture("4.15.1").Object(inspect.Object{Kind: inspect.KindRoute, Namespace: "shop", Name: "r"},
			map[string][]byte{inspect.RouteCertificate: pkitest.NewCA("shop", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99)).CertPEM}), "warning", "names no host", 1},
		{"serving-names", "a signer's Secret", inspecttest.NewFixture("").Secret("shop", "ca", nil, pkitest.NewCA("shop.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99)).Pair), "", "", 0},

		{"serving-usage", "a client's certificate in a Secret that nothing serves", tls(named, client), "", "", 0},
		{"serving-usage", "kubelet-client, which the catalog knows as a client", inspecttest.NewFixture("4.15.1").Secret(inspecttest.TargetNS, "kubelet-client", nil, ca.Issue("system:kube-apiserver", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(29), client)), "", "", 0},
		{"serving-usage", "a certificate for any usage behind a Route", external(named, any), "", "", 0},
		{"serving-usage", "a server's certificate behind a Route", external(named, server), "", "", 0},
		{"serving-usage", "one for anyExtendedKeyUsage behind a Route", external(named, pkitest.Usages(x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageAny)), "", "", 0},
		{"serving-usage", "a client's certificate in a Secret that a Route names", external(named, client), "warning", "may not serve: its usage is client auth", 1},
		{"serving-usage", "a client's certificate in a Route", inspecttest.NewFixture("4.15.1").Object(inspect.Object{Kind: inspect.KindRoute, Namespace: "shop", Name: "r"},
			map[string][]byte{inspect.RouteCertificate: ca.Issue("a.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99), named, client).CertPEM}), "warning", "may not serve", 1},
		{"serving-usage", "a client's certificate in a place that serves", inspecttest.NewFixture("4.15.1").
			Secret(inspecttest.TargetNS, "localhost-serving-cert-certkey", nil, ca.Issue("localhost", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(29), pkitest.DNS("localhost"), client)), "warning", "may not serve", 1},
		{"serving-usage", "a client's certificate that an identity provider is presented", inspecttest.NewFixture("4.15.1").Secret("openshift-config", "idp", nil, ca.Issue("oauth", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99), client)).
			Names("OAuth", "spec.identityProviders[0].keystone.tlsClientCert.name", "openshift-config", "idp"), "", "", 0},
		{"serving-names", "one that may do both, in a place that serves", inspecttest.NewFixture("4.15.1").
			Secret(inspecttest.TargetNS, "localhost-serving-cert-certkey", nil, ca.Issue("localhost", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(29))), "warning", "\"localhost\"", 1},

		{"strong-keys", "ECDSA P-256 and SHA-256", tls(named), "", "", 0},
		{"strong-keys", "RSA 2048", tls(named, pkitest.RSA(2048)), "", "", 0},
		{"strong-keys", "Ed25519", tls(named, pkitest.Ed25519()), "", "", 0},
		{"strong-keys", "RSA 1024", tls(named, pkitest.RSA(1024)), "warning", "RSA key of 1024 bits", 1},
		{"strong-keys", "SHA-1", tls(named, sha1), "warning", "ECDSA-SHA1", 1},
		{"strong-keys", "P-224 and SHA-1", tls(named, sha1, pkitest.Curve(elliptic.P224())), "warning", "ECDSA key on P-224: today's systems refuse it by default; signature by ECDSA-SHA1: Go refuses it since 1.18", 1},
		{"strong-keys", "a CA on P-224 in a bundle", inspecttest.NewFixture("").ConfigMap("shop", "ca", "ca.crt", small.CertPEM), "info", "P-224", 1},
		{"strong-keys", "a root with SHA-1 in a bundle", inspecttest.NewFixture("").ConfigMap("shop", "ca", "ca.crt", old.CertPEM), "", "", 0},
		{"strong-keys", "a trusted CA that another one signed with SHA-1", inspecttest.NewFixture("").ConfigMap("shop", "ca", "ca.crt", sub.CertPEM), "", "", 0},

		{"signer-type", "kubernetes.io/tls", signer("4.15.1", "kubernetes.io/tls"), "", "", 0},
		{"signer-type", "the literal of old installers, 4.15", signer("4.15.0-0.okd-2024-01-27-070424", "SecretTypeTLS"), "warning", "SecretTypeTLS", 1},
		{"signer-type", "the literal of old installers, before 4.15", signer("4.14.3", "SecretTypeTLS"), "info", "a rotation deletes it and creates it again", 1},
		{"signer-type", "the literal of old installers, 4.15.9", signer("4.15.9", "SecretTypeTLS"), "warning", "SecretTypeTLS", 1},
		{"signer-type", "the literal of old installers, 4.15.10", signer("4.15.10", "SecretTypeTLS"), "info", "right type", 1},
		{"signer-type", "the literal of old installers, after 4.15", signer("4.16.0", "SecretTypeTLS"), "info", "right type", 1},
		{"signer-type", "the literal of old installers, version unknown", signer("", "SecretTypeTLS"), "", "", 0},
	}
}

func calledCases() []verdictCase {
	ca, other := pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-300), inspecttest.DaysFromNoon(300)), pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-30), inspecttest.DaysFromNoon(300))
	const kind = "MutatingWebhookConfiguration"
	serving := func(by *pkitest.Authority, begin, end int) pkitest.Pair {
		return by.Issue("hook.team.svc", inspecttest.DaysFromNoon(begin), inspecttest.DaysFromNoon(end), pkitest.DNS("hook.team.svc", "hook.team.svc.cluster.local"))
	}
	fresh := serving(ca, -1, 99)
	injected := func(by *pkitest.Authority) *inspecttest.Fixture {
		return inspecttest.NewFixture("4.15.1").Secret("team", "tls", map[string]string{catalog.AnnotationServiceName: "hook"}, fresh).Calls(kind, "team/hook", by).Annotated(catalog.AnnotationInjectCABundle)
	}
	among := func(f *inspecttest.Fixture, annotations map[string]string) *inspecttest.Fixture {
		for i := range inspect.MaxSameName {
			f.Secret("team", fmt.Sprintf("a-decoy-%02d", i), annotations, serving(other, -1, 9+i))
		}
		return f
	}
	return []verdictCase{
		{"called-trusted", "its CA", inspecttest.NewFixture("").Secret("team", "tls", nil, fresh).Calls(kind, "team/hook", ca), "", "", 0},
		{"called-trusted", "another CA of that name", inspecttest.NewFixture("").Secret("team", "tls", nil, fresh).Calls(kind, "team/hook", other), "warning", "does not verify what the Service hook.team.svc has to present", 2},
		{"called-trusted", "another CA, and a certificate that service-ca made for the Service's other port", inspecttest.NewFixture("4.15.1").
			Secret("team", "tls", map[string]string{catalog.AnnotationServiceName: "hook"}, fresh).Calls(kind, "team/hook", other), "warning", "hook.team.svc", 2},
		{"called-trusted", "another CA where service-ca keeps both", inspecttest.NewFixture("4.15.1").
			Secret("team", "tls", map[string]string{catalog.AnnotationServiceName: "hook"}, fresh).Calls(kind, "team/hook", other).Annotated(catalog.AnnotationInjectCABundle), "critical", "hook.team.svc", 2},
		{"called-trusted", "an old certificate beside one that fits", inspecttest.NewFixture("").Secret("team", "old", nil, serving(other, -1, 9)).Secret("team", "tls", nil, fresh).Calls(kind, "team/hook", ca), "", "", 0},
		{"called-trusted", "a certificate that ended", inspecttest.NewFixture("").Secret("team", "tls", nil, serving(ca, -99, -1)).Calls(kind, "team/hook", ca), "warning", "expired", 2},
		{"called-trusted", "no certificate of that name", inspecttest.NewFixture("").Secret("team", "tls", nil, ca.Issue("x", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(9), pkitest.DNS("x.team.svc"))).Calls(kind, "team/hook", other), "", "", 0},
		{"called-trusted", "a certificate of that name in another namespace", inspecttest.NewFixture("").Secret("else", "tls", nil, fresh).Calls(kind, "team/hook", other), "", "", 0},
		{"called-trusted", "another CA where service-ca keeps both, among decoys", among(injected(other), nil), "critical", "hook.team.svc", 2},
		{"called-trusted", "its CA where service-ca keeps both, among decoys", among(injected(ca), nil), "", "", 0},
		{"called-trusted", "another CA where service-ca keeps both, among decoys that say so too", among(injected(other), map[string]string{catalog.AnnotationServiceName: "hook"}), "warning", "is unknown: more than 20 Secrets name this Service", 1},
		{"called-trusted", "another CA, among decoys", among(inspecttest.NewFixture("").Secret("team", "tls", nil, fresh).Calls(kind, "team/hook", other), nil), "warning", "is unknown: more than 20 Secrets name this Service", 1},
		{"called-trusted", "another CA, and a certificate that says its name often", inspecttest.NewFixture("").Secret("team", "tls", nil, ca.Issue("hook", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(9), pkitest.DNS(slices.Repeat([]string{"hook.team.svc"}, inspect.MaxSameName+1)...))).
			Calls(kind, "team/hook", other), "warning", "does not verify what the Service hook.team.svc has to present", 2},
		{"called-trusted", "no CA bundle", inspecttest.NewFixture("").Secret("team", "tls", nil, fresh).Calls(kind, "team/hook", nil), "warning", "names no CA for the Service", 1},
	}
}
