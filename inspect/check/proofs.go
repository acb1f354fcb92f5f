package check

import (
	"strconv"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// proofs are the signatures that were verified, each once. Tenants choose keys and names: what
// all of them may cost is bounded.
type proofs struct {
	known  map[[2]*pki.Cert]bool // by what is signed and the CA
	budget *inspect.Budget
}

func newProofs(f *inspect.Facts) *proofs {
	return &proofs{map[[2]*pki.Cert]bool{}, inspect.NewBudget(len(f.Certs))}
}

// costOf is what it costs to verify a signature with a key, in units of some 15 µs. RSA counts
// with the largest exponent that crypto/rsa takes: 25 for 2048 bits, where the usual one costs
// 5. Curves above P-256 are not written in assembly. Nothing is parsed for it, which is paid for too.
func costOf(ca *pki.Cert) int {
	switch algorithm, size, _ := strings.Cut(ca.PublicKey, " "); {
	case algorithm == "RSA":
		bits, _ := strconv.Atoi(size)
		return max(10, 1+6*(bits*bits>>20)) // both certificates are parsed
	case algorithm != "ECDSA", size == "P-224", size == "P-256":
		return 10
	case size == "P-384":
		return 90
	}
	return 450
}

// ordinaryPair is more bytes than a certificate and its CA have.
const ordinaryPair = 3 << 10

// signed reports whether a CA has signed a certificate; told is false where that is too costly for
// who pays.
func (p *proofs) signed(payer string, c, ca *pki.Cert) (ok, told bool) {
	pair := [2]*pki.Cert{c, ca}
	if ok, told = p.known[pair]; told {
		return ok, true
	}
	if !p.budget.Pay(payer, costOf(ca)+pki.CostParsing(ordinaryPair, pair[:])) {
		return false, false
	}
	ok = signedBy(c, ca)
	p.known[pair] = ok
	return ok, true
}

// payerOf is who pays for what is in some places: the platform where it writes one of them, else the
// first tenant.
func payerOf(in []*inspect.Entry) string {
	for _, h := range in {
		if h.Payer() == "" {
			return ""
		}
	}
	if len(in) == 0 {
		return ""
	}
	return in[0].Payer()
}
