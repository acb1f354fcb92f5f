package trust_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// TestServiceCARotates: once service-ca has another signer, it presents a bridge to what trusts
// the previous one only, if there is one.
func TestServiceCARotates(t *testing.T) {
	before, after := pkitest.NewCA("service-signer@1", from(-500), from(290)), pkitest.NewCA("service-signer@2", from(-1), from(789), pkitest.KeyName("second"))
	bridge := before.CA("service-signer@2", from(-1), from(290), pkitest.KeyName("second"))
	stranger := before.CA("service-signer@2", from(-1), from(290), pkitest.KeyName("third"))
	signer := catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-service-ca", Name: "signing-key", Key: "tls.crt"}
	bridges := catalog.Ref{Kind: catalog.Secret, Namespace: signer.Namespace, Name: signer.Name, Key: "intermediate-ca.crt"}
	published := catalog.Ref{Kind: catalog.ConfigMap, Namespace: signer.Namespace, Name: "signing-cabundle", Key: "ca-bundle.crt"}
	for _, id := range []string{"service-ca", "apiserver-validating-webhooks", "apiserver-token-review", "node-registry"} {
		for name, c := range map[string]struct {
			given func(w *world)
			want  assess.Status
		}{
			"the signer is the same":                {func(w *world) { w.put(signer, before.CertPEM) }, assess.Pass},
			"another one, with a bridge":            {func(w *world) { w.put(signer, after.CertPEM); w.put(bridges, bridge.CertPEM) }, assess.Pass},
			"another one, without":                  {func(w *world) { w.put(signer, after.CertPEM) }, assess.Warn},
			"another one, with a bridge to a third": {func(w *world) { w.put(signer, after.CertPEM); w.put(bridges, stranger.CertPEM) }, assess.Warn},
			"it was not read":                       {func(*world) {}, assess.Unknown},
			"its bundle was, with a bridge":         {func(w *world) { w.put(published, before.CertPEM, after.CertPEM, bridge.CertPEM) }, assess.Pass},
			"its bundle was, without":               {func(w *world) { w.put(published, before.CertPEM, after.CertPEM) }, assess.Unknown},
		} {
			t.Run(id+"/"+name, func(t *testing.T) {
				e := edge(t, id)
				w := newWorld(catalog.Versions{Cluster: "4.15.3"})
				w.stage(e, before, before.CertPEM)
				w.s.Bundles = slices.DeleteFunc(w.s.Bundles, func(b inspect.Bundle) bool { return b.At.Name == signer.Name })
				for i := range w.s.Bundles {
					if b := &w.s.Bundles[i]; b.At.Kind == catalog.Secret && b.At.Key == "tls.crt" {
						b.Object.Annotations = map[string]string{catalog.AnnotationServiceName: "svc"}
					}
				}
				c.given(w)
				if got := one(t, w.judge(id)); got.Status != c.want || got.NextUnknown != (c.want == assess.Unknown) {
					t.Errorf("%s: %s", got.Status, got.Reason)
				}
			})
		}
	}
	w := newWorld(catalog.Versions{Cluster: "4.15.3"})
	w.put(signer, after.CertPEM)
	w.put(bridges, bridge.CertPEM)
	w.s.Sort()
	story := report.NewVerification(context.Background(), inspect.NewFacts(w.s, noon, 30*day), catalog.PartServices).Timeline
	if len(story) != 2 || !story[0].When.Equal(from(394)) || !story[1].When.Equal(from(290)) || story[0].Part != catalog.PartServices {
		t.Errorf("%+v", story)
	}
}

// TestInjected: what service-ca puts into objects that ask for it is what it publishes.
func TestInjected(t *testing.T) {
	before, after := pkitest.NewCA("service-signer@1", from(-500), from(290)), pkitest.NewCA("service-signer@2", from(-1), from(789))
	for _, at := range []catalog.Ref{
		{Kind: catalog.ConfigMap, Namespace: "team", Name: "asks", Key: "service-ca.crt"}, {Kind: "ValidatingWebhookConfiguration", Name: "asks"}, {Kind: "APIService", Name: "asks"},
	} {
		for _, annotation := range []string{catalog.AnnotationInjectCABundle, catalog.AnnotationInjectCABundleAlpha, "other"} {
			w := newWorld(catalog.Versions{Cluster: "4.15.3"})
			w.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "openshift-service-ca", Name: "signing-cabundle", Key: "ca-bundle.crt"}, before.CertPEM, after.CertPEM)
			w.put(at, before.CertPEM)
			b := &w.s.Bundles[len(w.s.Bundles)-1]
			b.Object.Annotations = map[string]string{annotation: "true"}
			want := annotation == catalog.AnnotationInjectCABundle || annotation == catalog.AnnotationInjectCABundleAlpha && at.Kind != "ValidatingWebhookConfiguration"
			if at.Kind != catalog.ConfigMap {
				b.At.Field = "spec.caBundle"
			}
			var lacking []string
			for _, c := range w.judge("bundle-parts") {
				if c.Status == assess.Fail && c.Trust[0].Name == "asks" && strings.Contains(c.Reason, "service-signer@2") {
					lacking = append(lacking, c.Trust[0].String())
				}
			}
			if (len(lacking) == 1) != want {
				t.Errorf("%s with %s: %v", at, annotation, lacking)
			}
		}
	}
}

// TestOfTooManySecretsNoneIsTheServices: a tenant who writes Secrets in its namespace makes more of
// them. Which one it presents, service-ca's annotation decides where service-ca keeps the bundle.
func TestOfTooManySecretsNoneIsTheServices(t *testing.T) {
	t.Parallel()
	before, after, own := pkitest.NewCA("service-signer@1", from(-500), from(290)), pkitest.NewCA("service-signer@2", from(-1), from(789)), pkitest.NewCA("own", from(-1), from(789))
	made := map[string]string{catalog.AnnotationServiceName: "hook"}
	for name, c := range map[string]struct {
		keeps, decoys map[string]string
		want          assess.Status
		says          string
	}{
		"service-ca keeps the bundle":             {map[string]string{catalog.AnnotationInjectCABundle: "true"}, nil, assess.Fail, "unknown authority"},
		"and decoys have its annotation":          {map[string]string{catalog.AnnotationInjectCABundle: "true"}, made, assess.Unknown, "more than 20 Secrets name this Service"},
		"something else keeps the bundle":         {nil, nil, assess.Unknown, "more than 20 Secrets name this Service"},
		"and all of them have such an annotation": {nil, made, assess.Unknown, "more than 20 Secrets name this Service"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(catalog.Versions{Cluster: "4.15.3"})
			hook := pki.Location{Kind: "ValidatingWebhookConfiguration", Name: "policy", Field: "webhooks[0].clientConfig.caBundle"}
			w.add(hook, c.keeps, before.CertPEM)
			secret := func(name string, annotations map[string]string, by *pkitest.Authority) {
				w.add(pki.Location{Kind: catalog.Secret, Namespace: "team", Name: name, Key: "tls.crt"}, annotations, by.Issue(name, from(-1), from(29), pkitest.DNS("hook.team.svc")).CertPEM)
			}
			secret("serving", made, after)
			for i := range inspect.MaxSameName {
				secret(fmt.Sprintf("decoy-%02d", i), c.decoys, own)
			}
			w.s.References = append(w.s.References, inspect.Reference{From: hook, To: pki.Location{Kind: "Service", Namespace: "team", Name: "hook"}})
			w.s.Sort()
			if got := one(t, w.judge("apiserver-validating-webhooks")); got.Status != c.want || !strings.Contains(got.Reason, c.says) {
				t.Errorf("%s: %s", got.Status, got.Reason)
			}
		})
	}
}

// TestACallByExpiredCAsFails, whatever is called, and whether what it presents was read or not.
func TestACallByExpiredCAsFails(t *testing.T) {
	expired, valid := pkitest.NewCA("webhook-ca", from(-500), from(-22)), pkitest.NewCA("webhook-ca@2", from(-22), from(500))
	for _, id := range []string{"apiserver-validating-webhooks", "apiserver-aggregated-apis", "apiserver-conversion-webhooks"} {
		e := edge(t, id)
		at := pki.Location{Kind: pki.Kind(e.Trust.Kind), Name: "policy", Field: "webhooks[0].clientConfig.caBundle"}
		for name, c := range map[string]struct {
			cas     [][]byte
			service bool
			want    []assess.Status
		}{
			"expired, of a URL":              {[][]byte{expired.CertPEM}, false, []assess.Status{assess.Fail}},
			"expired, of a Service not read": {[][]byte{expired.CertPEM}, true, []assess.Status{assess.Fail}},
			"one is valid, of a URL":         {[][]byte{expired.CertPEM, valid.CertPEM}, false, nil},
			"one is valid, of a Service":     {[][]byte{expired.CertPEM, valid.CertPEM}, true, []assess.Status{assess.Unknown}},
		} {
			w := newWorld(catalog.Versions{Cluster: "4.15.3"})
			w.s.Bundles = append(w.s.Bundles, inspect.Bundle{At: at, Object: &inspect.Object{Kind: at.Kind, Name: at.Name}, Content: pki.NewScanner().Scan(pkitest.Bundle(c.cas...))[0].Content})
			if c.service {
				w.s.References = []inspect.Reference{{From: at, To: pki.Location{Kind: "Service", Namespace: "team", Name: "policy"}}}
			}
			var got []assess.Status
			for _, claim := range w.judge(id) {
				got = append(got, claim.Status)
				if claim.Status == assess.Fail && !strings.Contains(claim.Reason, `CA "webhook-ca" expired `) {
					t.Errorf("%s, %s: %s", id, name, claim.Reason)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, %s: %q, want %q", id, name, got, c.want)
			}
		}
	}
}

// TestAClaimAboutACopyNamesItsFile: other files of the node may lack what this one has.
func TestAClaimAboutACopyNamesItsFile(t *testing.T) {
	ca := pkitest.NewCA("client-ca", from(-500), from(500))
	w := newWorld(catalog.Versions{Cluster: "4.15.3"})
	w.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "openshift-config-managed", Name: "kube-apiserver-client-ca", Key: "ca-bundle.crt"}, ca.CertPEM)
	w.s.Bundles = append(w.s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: "n1", Path: "/etc/kubernetes/kubelet-ca.crt"}, Content: pki.NewScanner().Scan(ca.CertPEM)[0].Content})
	w.s.Nodes = []inspect.Node{{Name: "n1", Via: "ssh"}}
	want := "kubelet-ca.crt on nodes holds all CAs of ConfigMap openshift-config-managed/kube-apiserver-client-ca"
	if got := one(t, w.judge("file-copies")); got.Statement != want {
		t.Errorf("%q", got.Statement)
	}
}

// TestASecretThatIsLeftOverSpeaksForNoService: which of two the Service presents, no Secret says. An expired
// one is left over, and so is the one that service-ca did not make where service-ca keeps the bundle.
func TestASecretThatIsLeftOverSpeaksForNoService(t *testing.T) {
	t.Parallel()
	before, after := pkitest.NewCA("hook-ca@1", from(-500), from(290)), pkitest.NewCA("hook-ca@2", from(-1), from(789))
	for name, c := range map[string]struct {
		end   float64
		keeps map[string]string
		want  assess.Status
	}{
		"two are valid":                {29, nil, assess.Unknown},
		"the other one has expired":    {-0.5, nil, assess.Pass},
		"service-ca keeps one of them": {29, map[string]string{catalog.AnnotationInjectCABundle: "true"}, assess.Pass},
	} {
		w := newWorld(catalog.Versions{Cluster: "4.15.3"})
		hook := pki.Location{Kind: "ValidatingWebhookConfiguration", Name: "policy", Field: "webhooks[0].clientConfig.caBundle"}
		w.add(hook, c.keeps, before.CertPEM)
		for name, leaf := range map[string]pkitest.Pair{
			"first": before.Issue("first", from(-9), from(200), pkitest.DNS("hook.openshift-hooks.svc")), "second": after.Issue("second", from(-1), from(c.end), pkitest.DNS("hook.openshift-hooks.svc")),
		} {
			made := map[string]string{}
			if name == "first" && c.keeps != nil {
				made[catalog.AnnotationServiceName] = "hook"
			}
			w.add(pki.Location{Kind: catalog.Secret, Namespace: "openshift-hooks", Name: name, Key: "tls.crt"}, made, leaf.CertPEM)
		}
		w.s.References = append(w.s.References, inspect.Reference{From: hook, To: pki.Location{Kind: "Service", Namespace: "openshift-hooks", Name: "hook"}})
		w.s.Sort()
		got := one(t, w.judge("apiserver-validating-webhooks"))
		if got.NextUnknown { // no service-ca was read
			got.Status = assess.Pass
		}
		if got.Status != c.want || c.want == assess.Unknown && !strings.Contains(got.Reason, "not that of Secret/openshift-hooks/second[tls.crt]") {
			t.Errorf("%s: %s: %s", name, got.Status, got.Reason)
		}
	}
}
