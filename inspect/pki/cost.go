package pki

import (
	"strconv"
	"strings"
)

// CostOrdinary is above what ordinary chains cost: three signatures by RSA keys of 2048 bits.
const CostOrdinary = 100

// Cost is what it may take to verify a chain, in units of some 15 µs: the signatures that
// crypto/x509 may verify for it. Tenants choose names and keys, so that it tries a hundred of the
// largest. Ordinary chains cost less than CostOrdinary.
func Cost(chain, roots []*Cert) int {
	chain = climb(chain)
	if len(chain) == 0 {
		return 0
	}
	anchors := anchorsOf(chain, roots)
	cost, tries := 0, 0
	for _, c := range chain {
		for _, some := range [][]*Cert{chain[1:], anchors} {
			for _, issuer := range some {
				if issuer.Subject != c.Issuer || tries == mostTried {
					continue
				}
				tries++
				cost += issuer.cost()
			}
		}
	}
	return cost
}

// cost is what it takes to verify a signature with a certificate's key. RSA counts with the
// largest exponent that crypto/rsa takes: 25 for 2048 bits, where the usual one costs 5. Curves
// above P-256 are not written in assembly.
func (c *Cert) cost() int {
	kind, size, _ := strings.Cut(c.PublicKey, " ")
	bits, err := strconv.Atoi(strings.TrimPrefix(size, "P-"))
	switch {
	case err != nil || kind != "RSA" && bits <= 256:
		return 10
	case kind == "RSA":
		return 1 + 6*(bits*bits>>20)
	case bits <= 384:
		return 90
	}
	return 450
}
