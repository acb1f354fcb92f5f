package collect

import (
	"slices"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestOpenShiftsIngressIsInNoNamespace: of the two kinds of that name, -n chooses
// Kubernetes' own alone.
func TestOpenShiftsIngressIsInNoNamespace(t *testing.T) {
	for at, want := range map[pki.Location][]string{
		{Kind: "Ingress", Name: "cluster"}:                 {"ingresses"},
		{Kind: "Ingress", Namespace: "shop", Name: "shop"}: {"ingresses.networking.k8s.io"},
		{Kind: "Secret", Namespace: "shop", Name: "shop"}:  {"secrets"},
		{Kind: "Secret", Name: "of-a-file"}:                {"secrets"},
	} {
		var got []string
		for _, r := range Resources() {
			if r.Has(at) {
				got = append(got, r.Plural)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}
