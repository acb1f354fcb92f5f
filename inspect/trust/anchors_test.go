package trust_test

import (
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// The kubeconfigs on masters hold an administrator's key beside the CA: no key makes a CA
// trusted, and none has to be.
func TestKeyBesideTrustAnchors(t *testing.T) {
	for _, e := range catalog.Edges() {
		if e.ID != "node-kubeconfig-localhost" {
			continue
		}
		w := newWorld(versions(e))
		ca := pkitest.NewCA("localhost-signer", from(-100), from(1000))
		w.stage(e, ca, ca.CertPEM)
		w.put(e.Trust, ca.Issue("system:admin", from(-1), from(29)).KeyPEM)
		if got := w.judge(e.ID); len(got) != 1 || got[0].Status != assess.Pass {
			t.Errorf("%+v", got)
		}
		return
	}
	t.Fatal("there is no such edge")
}

// A place of trust anchors that holds nothing readable trusts no server, and it is that place
// which is wrong.
func TestTrustAnchorsThatCannotBeRead(t *testing.T) {
	e := edge(t, "pods-kubernetes-service")
	w := newWorld(versions(e))
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	w.show(e, leafFor(e, ca, -1, 59).CertPEM)
	w.put(e.Trust, []byte("-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n"))
	if got := one(t, w.judge(e.ID)); got.Status != assess.Fail || len(got.Trust) != 1 || got.Trust[0].Name != e.Trust.Name {
		t.Errorf("%s at %v: %s", got.Status, got.Trust, got.Reason)
	}
}
