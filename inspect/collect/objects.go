package collect

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// objectOf keeps of an object's metadata what checks and filters ask for. Other
// annotations are left out: kubectl's last-applied-configuration can hold a
// whole Secret. Of many labels and annotations some are left out, too.
func objectOf(kind pki.Kind, meta *metav1.ObjectMeta) *inspect.Object {
	o := &inspect.Object{
		Kind: kind, Namespace: meta.Namespace, Name: meta.Name,
		Created: utc(meta.CreationTimestamp.Time),
	}
	o.Labels, o.MoreLabels = labelBound().keep(meta.Labels)
	for k, v := range meta.Annotations {
		if !speaksOfCertificates(k) {
			continue
		}
		if o.Annotations == nil {
			o.Annotations = map[string]string{}
		}
		o.Annotations[k] = v
	}
	o.Annotations, _ = annotationBound().keep(o.Annotations)
	return o
}

// speaksOfCertificates reports whether an annotation is one that certificate
// controllers write or read. Their values name certificates, hosts and owners;
// none holds a secret.
func speaksOfCertificates(annotation string) bool {
	domain, name, _ := strings.Cut(annotation, "/")
	switch domain {
	case "olmcahash":
		return name == ""
	case "auth.openshift.io", "certificates.openshift.io", "cert-manager.io",
		"service.beta.openshift.io", "service.alpha.openshift.io":
		return true
	case "openshift.io":
		return name == "owning-component" || name == "description"
	case "kubernetes.io":
		return name == "service-account.name" || name == "description"
	}
	return false
}

// certificateKey returns the key under which an object must hold certificates;
// false for most. secretType is a Secret's.
func certificateKey(kind pki.Kind, namespace, name, secretType string) (string, bool) {
	switch kind {
	case "Secret":
		return corev1.TLSCertKey, secretType == string(corev1.SecretTypeTLS)
	case "ConfigMap":
		return catalog.BundleKey(namespace, name)
	}
	return "", false
}

// scannerFor reads objects of a namespace: tenants write what is in theirs.
func scannerFor(sc *pki.Scanner, namespace string) *pki.Scanner {
	if namespace == "" || catalog.ReservedNamespace(namespace) {
		return sc
	}
	return sc.Apart(namespace)
}

// bundlesOf scans the values of one object. keyed values (of a Secret or
// ConfigMap) become Location.Key, others Location.Field.
func bundlesOf(sc *pki.Scanner, obj *inspect.Object, values map[string][]byte, keyed bool) []inspect.Bundle {
	sc = scannerFor(sc, obj.Namespace)
	var out []inspect.Bundle
	for _, k := range slices.Sorted(maps.Keys(values)) {
		found := sc.Scan(values[k])
		if len(found) == 0 && !keyed && len(values[k]) > 0 && !sc.Full() { // a field for certificates, and there is none in it
			found = []pki.Found{{Content: &pki.Content{Bad: []pki.BadBlock{{Index: -1, Type: "CERTIFICATE", Reason: "holds no certificate"}}}}}
		}
		for _, f := range found {
			at := pki.Location{Kind: obj.Kind, Namespace: obj.Namespace, Name: obj.Name}
			switch {
			case keyed:
				at.Key, at.Field = k, f.Field
			case f.Field == "":
				at.Field = k
			default:
				at.Field = k + "." + f.Field
			}
			out = append(out, inspect.Bundle{At: at, Object: obj, Content: f.Content})
		}
	}
	if len(out) > 0 {
		charge(sc, obj)
	}
	if !keyed {
		return out
	}
	if hasLocked(out) {
		var other passwordCandidates
		for k, v := range values {
			other.add([]byte(k), v)
		}
		u := newUnlocking(sc, out, other)
		for k, v := range values {
			u.value([]byte(k), v)
		}
		out = u.all()
	}
	if hasOddKey(out) {
		indexKeys(out, slices.Collect(maps.Keys(values)))
	}
	return out
}

// plainKey is a key as a place writes it; n is its index.
func plainKey(key string, n int) string {
	if pki.PlainKey(key) {
		return key
	}
	return pki.KeyIndex(n)
}

// hasOddKey reports whether one of these lies under a key that may be a secret.
func hasOddKey(found []inspect.Bundle) bool {
	return slices.ContainsFunc(found, func(b inspect.Bundle) bool { return !pki.PlainKey(b.At.Key) })
}

// indexKeys writes keys that may be secrets as their index among all keys of their
// object.
func indexKeys(found []inspect.Bundle, keys []string) {
	slices.Sort(keys)
	for i := range found {
		at := &found[i].At
		n, _ := slices.BinarySearch(keys, at.Key)
		at.Key = plainKey(at.Key, n)
	}
}

// objectID names the object that a place is in.
func objectID(at pki.Location) string {
	return pki.Location{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}.String()
}
