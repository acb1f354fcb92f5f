package trust_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// TestWhatWouldDoIsLookedForWhereItCostsLittle: whether a kubelet trusts its server is needed in any case, and which
// of the certificates that it skips would do is not.
func TestWhatWouldDoIsLookedForWhereItCostsLittle(t *testing.T) {
	t.Parallel()
	own, other := pkitest.NewCA("X", from(-10), from(900)), pkitest.NewCA("Y", from(-10), from(900))
	w := newWorld(catalog.Versions{Cluster: "4.15.3"})
	w.s.Nodes[0].Role = catalog.RoleWorker
	skipped := bytes.ReplaceAll(own.CertPEM, []byte(" CERTIFICATE"), []byte(" TRUSTED CERTIFICATE"))
	w.kubeconfig(catalog.KubeletKubeconfigs()[1], "https://api-int.example.com:6443", append(bytes.Clone(other.CertPEM), skipped...))
	w.s.Sort()
	leaf := own.Issue("x", from(-1), from(29), pkitest.DNS("api-int.example.com"))
	for large, said := range map[int]bool{0: true, 100: false} {
		chain := pki.LoadedPEM(w.sc, leaf.CertPEM)
		for i := range large { // a key that is only said to be large costs nothing here
			one := *pki.LoadedPEM(w.sc, own.CertPEM)[0]
			one.Fingerprint, one.PublicKey = pki.FingerprintOf([]byte{byte(i)}), "ECDSA P-521"
			chain = append(chain, &one)
		}
		f := inspect.NewFacts(w.s, noon, 0)
		client, err := trust.ClientOf(f, &f.Snapshot.Nodes[0], f.Snapshot.Nodes[0].Kubeconfigs[0])
		if err != nil {
			t.Fatal(err)
		}
		for how, err := range map[string]error{"one": client.Refuses(chain, noon), "of all": trust.NewRefusals(f).Of(client, chain)} {
			if err == nil || errors.Is(err, pki.ErrCostly) || strings.Contains(err.Error(), "stands there") != said {
				t.Errorf("%s, %d large keys: %v", how, large, err)
			}
		}
	}
}
