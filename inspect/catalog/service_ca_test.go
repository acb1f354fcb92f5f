package catalog

import (
	"slices"
	"testing"
)

// TestServiceCAInjects: by the alpha annotation only into ConfigMaps and APIServices, and by the value
// "true" alone (openshift/service-ca-operator pkg/controller/cabundleinjector @ release-4.12 46487800f
// to release-4.22 9fff46a57).
func TestServiceCAInjects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, annotation, value string
		want                    bool
	}{
		{ConfigMap, AnnotationInjectCABundle, "true", true},
		{ConfigMap, AnnotationInjectCABundleAlpha, "true", true},
		{ConfigMap, AnnotationInjectCABundle, "True", true},
		{ConfigMap, AnnotationInjectCABundle, "false", false},
		{ConfigMap, "other", "true", false},
		{"APIService", AnnotationInjectCABundle, "true", true},
		{"APIService", AnnotationInjectCABundleAlpha, "true", true},
		{"MutatingWebhookConfiguration", AnnotationInjectCABundle, "true", true},
		{"MutatingWebhookConfiguration", AnnotationInjectCABundleAlpha, "true", false},
		{"ValidatingWebhookConfiguration", AnnotationInjectCABundle, "true", true},
		{"ValidatingWebhookConfiguration", AnnotationInjectCABundleAlpha, "true", false},
		{"CustomResourceDefinition", AnnotationInjectCABundle, "true", true},
		{"CustomResourceDefinition", AnnotationInjectCABundleAlpha, "true", false},
	} {
		annotations := map[string]string{c.annotation: c.value}
		if got := ServiceCAInjects(c.kind, annotations); got != c.want {
			t.Errorf("%s with %s=%s: %v", c.kind, c.annotation, c.value, got)
		}
		if got := slices.ContainsFunc(Aggregates(), func(a Aggregate) bool {
			return a.Target.Kind == c.kind && a.Selector.Annotated(annotations)
		}); got != c.want {
			t.Errorf("what %s with %s=%s must contain: %v", c.kind, c.annotation, c.value, got)
		}
	}
	v := Versions{Cluster: "4.15.3"}
	for value, want := range map[string]bool{"true": true, "false": false, "": false} {
		o := Object{Kind: ConfigMap, Namespace: "team", Name: "ca", Annotations: map[string]string{AnnotationInjectCABundle: value}}
		if p, ok := LookupObject(o, "service-ca.crt", v); ok != want {
			t.Errorf("a ConfigMap with the annotation %q: %v %v", value, p.Owner, ok)
		}
		o = Object{Kind: ConfigMap, Namespace: "team", Name: "ca", Labels: map[string]string{labelInjectTrustedCA: value}}
		if p, ok := LookupObject(o, "ca-bundle.crt", v); ok != want {
			t.Errorf("a ConfigMap with the label %q: %v %v", value, p.Owner, ok)
		}
	}
}

// TestServiceCASecretsOfEitherAnnotation: what is made for a Service that asked by the alpha annotation
// has the alpha one alone (pkg/controller/servingcert/controller/secret_creating_controller.go,
// toBaseSecret): it has the same signer, and the same edges judge it.
func TestServiceCASecretsOfEitherAnnotation(t *testing.T) {
	t.Parallel()
	for _, annotation := range []string{AnnotationServiceName, AnnotationServiceNameAlpha} {
		annotations := map[string]string{annotation: "api"}
		p, ok := LookupObject(Object{Kind: Secret, Namespace: "openshift-oauth-apiserver", Name: "serving-cert", Annotations: annotations}, "tls.crt", Versions{Cluster: "4.15.3"})
		if !ok || p.Owner != serviceCAOwner || p.Role != Serving {
			t.Errorf("%s: %v %s %s", annotation, ok, p.Owner, p.Role)
		}
		if !slices.ContainsFunc(Rotations(), func(r Rotation) bool { return r.Selector == p.Selector && r.Selector.Annotated(annotations) }) {
			t.Errorf("%s: no rotation signs it", annotation)
		}
		for _, id := range []string{"service-ca", "router-services"} {
			if !slices.ContainsFunc(Edges(), func(e Edge) bool { return e.ID == id && e.Selector == p.Selector }) {
				t.Errorf("%s: %s does not judge it", annotation, id)
			}
		}
	}
}

// TestOldClustersPublishMoreThanTheServiceCA: clusters born in 4.7 or earlier have the API server's CAs
// in openshift-service-ca.crt, too (newVulnerableLegacyConfigMapInjectorConfig): no copy of one bundle.
func TestOldClustersPublishMoreThanTheServiceCA(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(Aggregates(), func(a Aggregate) bool { return a.Target.Name == "openshift-service-ca.crt" })
	if i < 0 || Aggregates()[i].Relation != Union {
		t.Errorf("openshift-service-ca.crt is said to be a copy, or of nothing (%d)", i)
	}
}
