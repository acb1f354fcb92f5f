package catalog

import (
	"slices"
	"testing"
)

// documentKeys is the part of docs/catalog.md about keyChoices.
func documentKeys(line func(format string, args ...any)) {
	line("")
	line("## Whose keys PKI chooses")
	line("")
	line("PKI (config.openshift.io/v1alpha1, name `cluster`) says which algorithm and size the keys of signers, serving and client certificates have, with the feature ConfigurablePKI: a preview.")
	line("It counts when a certificate is next issued, and rotates none. Mode Unmanaged is as without it: RSA with 2048 bits, mostly. Where there is no such object, and in mode Default, keys are ECDSA: P-384 of signers, P-256 of the others.")
	line("")
	line("| operator | keys of | and | holds for | source |")
	line("|---|---|---|---|---|")
	for _, k := range keyChoices() {
		line("| %s | %s | %s | %s | %s |", k.Owner, refs(k.Certs), cell(k.Doc), k.In, evidence(k.Evidence))
	}
}

// TestKeysThatPKIChoosesHaveAnOwner: each is of a place, of that operator or, where it is a copy's
// original, in its component; and each signer of a rotation in the last release is of one row.
func TestKeysThatPKIChoosesHaveAnOwner(t *testing.T) {
	t.Parallel()
	seen := map[Ref]bool{}
	for _, k := range keyChoices() {
		if k.In.From == (Minor{}) || k.In.From.Compare(Minor{4, 22}) < 0 || len(k.Certs) == 0 {
			t.Errorf("%s: from %s on", k.Owner, k.In.From)
		}
		for _, at := range k.Certs {
			i := slices.IndexFunc(Places(), func(p Place) bool { return p.Ref == at && p.Owner == k.Owner && p.In.Component == k.In.Component })
			if i < 0 {
				t.Errorf("%s: no place of %s", at, k.Owner)
			}
			if seen[at] {
				t.Errorf("%s: twice", at)
			}
			seen[at] = true
		}
	}
	for _, of := range []Ref{secret(kasOperator, "loadbalancer-serving-signer"), secret(kcmOperator, "csr-signer-signer"), secret(serviceCATarget, "signing-key"), secret(ovnTarget, "signer-ca")} {
		if !seen[of] {
			t.Errorf("%s: no row", of)
		}
	}
	if seen[secret(etcdTarget, "etcd-signer")] || seen[secret("openshift-ingress-operator", "router-ca")] {
		t.Error("etcd and ingress make their keys as before")
	}
}
