package catalog

import (
	"slices"
	"strconv"
	"strings"
)

// RevisionOf tells a static pod's revisioned copy from its original: the
// operators of kube-apiserver, kube-controller-manager, kube-scheduler and
// etcd copy what a pod reads to "name-12" for revision 12. Revisions have no
// leading zero ("user-serving-cert-003" is none), and a name that is a row of
// its own (a node's "etcd-peer-master-0") is none either.
func RevisionOf(kind, namespace, name string) (base string, revision int, ok bool) {
	if kind != Secret && kind != ConfigMap || !slices.Contains(revisionedNamespaces(), namespace) {
		return "", 0, false
	}
	dash := strings.LastIndexByte(name, '-')
	if dash <= 0 {
		return "", 0, false
	}
	digits := name[dash+1:]
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || strconv.Itoa(n) != digits {
		return "", 0, false
	}
	ix := indexed()
	if len(ix.exact[Ref{Kind: kind, Namespace: namespace, Name: name}]) > 0 {
		return "", 0, false
	}
	base = name[:dash]
	if len(ix.exact[Ref{Kind: kind, Namespace: namespace, Name: base}]) > 0 {
		return base, n, true
	}
	for _, p := range ix.patterns {
		if p.Namespace == namespace && p.matches(kind, namespace, name) {
			return "", 0, false
		}
	}
	return base, n, true
}

// revisionedNamespaces are where the static pods' operators write copies
// (openshift/library-go pkg/operator/staticpod/controller/revision @ 93ac9206a).
func revisionedNamespaces() []string {
	return []string{"openshift-kube-apiserver", "openshift-kube-controller-manager", "openshift-kube-scheduler", "openshift-etcd"}
}
