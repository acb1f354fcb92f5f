package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// badKeys are keys of one object of a tenant's, each with a bad block of its own.
func badKeys(name string, n int) (out []inspect.Bundle) {
	object := &inspect.Object{Kind: "ConfigMap", Namespace: "shop", Name: name}
	for i := range n {
		at := pki.Location{Kind: "ConfigMap", Namespace: "shop", Name: name, Key: fmt.Sprintf("k%05d", i)}
		out = append(out, inspect.Bundle{At: at, Object: object, Content: &pki.Content{Bad: []pki.BadBlock{{Index: 0, Type: "CERTIFICATE", Reason: fmt.Sprintf("bad %d", i)}}}})
	}
	return out
}

// TestManyBadValuesOfOneObjectAreOneFinding: an object has room for more than ten thousand. A handful are told each
// by itself, and so are those that are worse than the many.
func TestManyBadValuesOfOneObjectAreOneFinding(t *testing.T) {
	t.Parallel()
	few := unreadable(factsOf(badKeys("cm", 10)...))
	if len(few) != 10 || few[0].Reason != "unreadable block 1 in shop/cm[k00000]" {
		t.Fatalf("%d findings: %+v", len(few), few[0])
	}
	bundles := append(badKeys("cm", 11), badKeys("other", 1)...)
	bundles[5].Content.Certs = []*pki.Cert{{Subject: "CN=x"}}
	bundles = append(bundles, badKeys("cm", 12)[11])
	found := unreadable(factsOf(bundles...))
	if len(found) != 3 {
		t.Fatalf("%d findings: %+v", len(found), found)
	}
	many, worse := found[0], found[1]
	if many.Reason != "11 unreadable values in shop/cm" || many.Severity != assess.Info || len(many.At) != 11 ||
		!strings.HasPrefix(many.Evidence, "11 values of the object can't be read, the first of them: block 1 (CERTIFICATE): bad 0; keys: ") ||
		!strings.Contains(many.Evidence, "k00000") || strings.Contains(many.Evidence, "k00003") {
		t.Errorf("%+v", many)
	}
	if worse.Severity != assess.Warning || len(worse.At) != 1 || worse.At[0].Key != "k00005" {
		t.Errorf("%+v", worse)
	}
}

// TestWhatWasNotReadForOthersSakeIsToBeReadAlone: the value is not to blame, and what it holds is unknown.
func TestWhatWasNotReadForOthersSakeIsToBeReadAlone(t *testing.T) {
	t.Parallel()
	bundles := badKeys("cm", 1)
	bundles[0].Content = &pki.Content{Bad: []pki.BadBlock{{Index: -1, Type: "value", Reason: "the limit of memory for values of namespace shop was reached before it"}}}
	found := unreadable(factsOf(bundles...))
	if len(found) != 1 || found[0].Severity != assess.Warning || found[0].Impact != "now: what it holds is unknown, and what was to be read after it of namespace shop" || !strings.Contains(found[0].Remediation.Text, "object alone") {
		t.Errorf("%+v", found)
	}
}
