package catalog

import "strings"

// ReservedNamespace reports whether a namespace is the platform's own, where no tenant writes:
// project requests for such a name are refused (openshift-apiserver,
// pkg/project/apiserver/registry/projectrequest/delegated/delegated.go, forbiddenNames and
// forbiddenPrefixes; kubernetes.io, concepts/overview/working-with-objects/namespaces: kube-).
// Administrators may make others there.
func ReservedNamespace(name string) bool {
	for _, own := range []string{"openshift", "kubernetes", "kube"} {
		if name == own || strings.HasPrefix(name, own+"-") {
			return true
		}
	}
	return false
}
