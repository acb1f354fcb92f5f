package pki

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// CostOrdinary is above what ordinary chains cost: three signatures by RSA keys of 2048 bits.
const CostOrdinary = 100

// Cost is what it may take to verify a chain, in units of some 15 µs: the signatures that
// crypto/x509 may verify for it. Tenants choose names, keys and their order, so that it tries a
// hundred of the largest. Ordinary chains cost less than CostOrdinary.
func Cost(chain, roots []*Cert) int {
	chain = climb(chain)
	if len(chain) == 0 {
		return 0
	}
	tried := triedIssuers(chain)
	times := map[int]int{} // by what a signature costs
	for _, some := range [][]*Cert{chain[1:], anchorsOf(chain, roots)} {
		for _, issuer := range some {
			if n := tried[issuer.Subject]; n > 0 {
				times[issuer.cost()] += n
			}
		}
	}
	sum, left := 0, mostTried
	for _, cost := range slices.Backward(slices.Sorted(maps.Keys(times))) {
		n := min(times[cost], left)
		sum, left = sum+n*cost, left-n
	}
	return sum
}

// triedIssuers is how often issuers of a name are tried, by name, each up to mostTried: once for
// each way that leads there from the leaf. crypto/x509 goes down one way before it tries the next.
func triedIssuers(chain []*Cert) map[string]int {
	selfIssued := map[string]int{}
	for _, c := range chain[1:] {
		if c.Subject == c.Issuer {
			selfIssued[c.Subject]++
		}
	}
	tried, ways := map[string]int{}, map[string]int{chain[0].Issuer: 1}
	for range chain { // no way has a certificate twice
		next := map[string]int{}
		for name, n := range ways {
			tried[name] = min(tried[name]+n, mostTried)
		}
		for _, c := range chain[1:] {
			if c.Subject == c.Issuer && selfIssued[c.Subject] == 1 {
				continue // it leads to itself
			}
			if n := ways[c.Subject]; n > 0 {
				next[c.Issuer] = min(next[c.Issuer]+n, mostTried)
			}
		}
		ways = next
	}
	return tried
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
