package pki

import (
	"crypto/x509"
	"encoding/asn1"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// CostOrdinary is above what ordinary chains cost: three signatures by RSA keys of 2048 bits.
const CostOrdinary = 100

// Cost is what it may take to verify a chain, in units of some 15 µs: the signatures that
// crypto/x509 may verify for it, and the names, constraints and policies of each chain that these
// make. Tenants choose names, keys and their order, so that it tries a hundred of the largest.
// Ordinary chains cost less than CostOrdinary.
func Cost(chain, roots []*Cert) int {
	chain = climb(chain)
	if len(chain) == 0 {
		return 0
	}
	tried, anchors := triedIssuers(chain), anchorsOf(chain, roots)
	times := map[int]int{} // by what a signature costs
	for _, some := range [][]*Cert{chain[1:], anchors} {
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
	chains := 0
	for _, anchor := range anchors {
		chains = min(chains+tried[anchor.Subject], mostTried)
	}
	return sum + chains*eachChain(chain, anchors)
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

// extensions are the lengths of those that crypto/x509 looks at in each chain that it makes, and
// not only once, in bytes.
type extensions struct{ names, constraints, policies int32 }

func extensionsOf(x *x509.Certificate) (out extensions) {
	for _, e := range x.Extensions { // none is in it twice
		n := int32(min(len(e.Value), math.MaxInt32))
		switch {
		case e.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 17}):
			out.names = n
		case e.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 30}):
			out.constraints = n
		case e.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 32}), e.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 33}): // and their mappings
			out.policies += n
		}
	}
	return out
}

// eachChain is what it takes to look at the names, constraints and policies of one chain to one of
// these anchors, in the units of Cost. Where no certificate has constraints, names cost nothing.
//
// Measured with Go 1.26, of the costliest: 40 ns a byte of names to parse them (of three letters, in
// addresses of mail), 1 ns to look for it among the permitted or the excluded of a certificate above,
// times the logarithm of how many these are; 60 ns a byte of constraints to sort them; 560 ns a byte
// of policies. What is above that is for slower processors.
func eachChain(chain, anchors []*Cert) int {
	const namesPerUnit, stepsPerUnit, constraintsPerUnit, policiesPerUnit = 300, 7500, 200, 25
	var names, constraints, policies, sets int64
	add := func(e extensions) {
		names, constraints, policies = names+int64(e.names), constraints+int64(e.constraints), policies+int64(e.policies)
		if e.constraints > 0 {
			sets++
		}
	}
	for _, c := range chain {
		add(c.extensions)
	}
	var top extensions // a chain ends with one of the anchors
	for _, c := range anchors {
		top.names, top.constraints = max(top.names, c.extensions.names), max(top.constraints, c.extensions.constraints)
	}
	add(top)
	units := policies / policiesPerUnit
	if sets > 0 {
		steps := names * sets * int64(bits.Len64(uint64(constraints)))
		units += names/namesPerUnit + steps/stepsPerUnit + constraints/constraintsPerUnit
	}
	return int(min(units, math.MaxInt32/(2*mostTried)))
}
