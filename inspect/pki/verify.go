package pki

import (
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// Verify says whether someone who trusts these roots accepts this chain, the
// leaf first, from a server of that name at that time. It is the judgement of
// crypto/x509, which kubelets, and most of Kubernetes, use. roots and chain are
// only read.
func Verify(chain, roots []*Cert, name string, now time.Time) error {
	if err := handshakes(chain); err != nil {
		return err
	}
	return verify(chain, roots, x509.VerifyOptions{DNSName: name, CurrentTime: now}) // no usage: a server's
}

// VerifyClient is Verify for the certificate of a client.
func VerifyClient(chain, roots []*Cert, now time.Time) error {
	if err := handshakes(chain); err != nil {
		return err
	}
	return verify(chain, roots, x509.VerifyOptions{CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

// handshakes is the error for a chain that crypto/tls refuses whatever verifies it: it computes with no
// larger RSA key of a peer (crypto/tls, handshake_client.go, checkKeySize), and crypto/rsa neither signs
// a handshake with a smaller one nor verifies it (crypto/rsa, checkKeySize).
func handshakes(chain []*Cert) error {
	const least, most = 1024, 8192
	for i, c := range chain {
		size, ok := strings.CutPrefix(c.PublicKey, "RSA ")
		bits, err := strconv.Atoi(size)
		switch {
		case !ok || err != nil:
		case bits > most:
			return fmt.Errorf("certificate %d of the chain has an RSA key of %d bits: crypto/tls takes up to %d", i+1, bits, most)
		case i == 0 && bits < least: // of the others, crypto/x509 says it
			return fmt.Errorf("certificate 1 of the chain has an RSA key of %d bits: crypto/tls takes no handshake below %d", bits, least)
		}
	}
	return nil
}

// VerifyChain is Verify for any usage and any name.
func VerifyChain(chain, roots []*Cert, now time.Time) error {
	return verify(chain, roots, x509.VerifyOptions{CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
}

// VerifyCA says whether a client that trusts these roots would accept what this CA
// signs.
func VerifyCA(ca *Cert, roots []*Cert, now time.Time) error {
	return VerifyChain([]*Cert{ca}, roots, now)
}

func verify(chain, roots []*Cert, opts x509.VerifyOptions) error {
	if len(chain) == 0 {
		return errors.New("no certificate was presented")
	}
	opts.Roots, opts.Intermediates = x509.NewCertPool(), x509.NewCertPool()
	chain = climb(chain)
	for _, c := range anchorsOf(chain, roots) {
		parsed, err := c.X509()
		if err != nil {
			return fmt.Errorf("trusted certificate %s: %w", c.Fingerprint.Short(), err)
		}
		opts.Roots.AddCert(parsed)
	}
	var leaf *x509.Certificate
	for i, c := range chain {
		parsed, err := c.X509()
		if err != nil {
			return fmt.Errorf("certificate %d of the chain: %w", i+1, err)
		}
		if i == 0 {
			leaf = parsed
			continue
		}
		opts.Intermediates.AddCert(parsed)
	}
	_, err := leaf.Verify(opts)
	if isFixed(err) {
		return err
	}
	return foreign.Error(err) // the names in the certificate are in it
}

// isFixed reports whether an error of crypto/x509 has no name of a certificate's in it.
func isFixed(err error) bool {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &invalid):
		return invalid.Detail == "" || invalid.Reason == x509.Expired
	default:
		return err != nil && err.Error() == x509.UnknownAuthorityError{}.Error()
	}
}

// mostTried is how many signatures crypto/x509 verifies of one chain, at most (verify.go,
// maxChainSignatureChecks): of more certificates, most are not looked at. Parsing them costs more
// than all the rest.
const mostTried = 100

// climb is the leaf of a chain and what may lead from it to a trust anchor.
func climb(chain []*Cert) []*Cert {
	if len(chain) <= mostTried {
		return chain
	}
	by := bySubject(chain[1:])
	out, seen := chain[:1:1], map[Fingerprint]bool{}
	for n := 0; n < len(out) && len(out) <= mostTried; n++ {
		for _, c := range likeliest(out[n], by[out[n].Issuer]) {
			if isNew(seen, c.Fingerprint) {
				out = append(out, c)
			}
		}
	}
	return out[:min(len(out), mostTried+1)]
}

// anchorsOf are the trust anchors that may make a difference to a chain.
func anchorsOf(chain, roots []*Cert) []*Cert {
	related := relatedTo(chain)
	var out []*Cert
	for _, c := range roots {
		if related.to(c) {
			out = append(out, c)
		}
	}
	if len(out) <= mostTried {
		return out
	}
	by, chosen := bySubject(out), map[Fingerprint]bool{}
	for _, c := range chain {
		for _, issuer := range likeliest(c, by[c.Issuer]) {
			chosen[issuer.Fingerprint] = true
		}
	}
	return slices.DeleteFunc(out, func(c *Cert) bool { return !chosen[c.Fingerprint] && !related.certs[c.Fingerprint] })
}

func bySubject(certs []*Cert) map[string][]*Cert {
	out := map[string][]*Cert{}
	for _, c := range certs {
		out[c.Subject] = append(out[c.Subject], c)
	}
	return out
}

// likeliest are the first of those that may have issued a certificate, in the order in which
// crypto/x509 tries them: by their key identifiers.
func likeliest(c *Cert, issuers []*Cert) []*Cert {
	if len(issuers) <= mostTried {
		return issuers
	}
	rank := func(issuer *Cert) int {
		switch {
		case issuer.SubjectKey == c.IssuerKey:
			return 0
		case issuer.SubjectKey == "" || c.IssuerKey == "":
			return 1
		}
		return 2
	}
	return slices.SortedStableFunc(slices.Values(issuers), func(a, b *Cert) int { return rank(a) - rank(b) })[:mostTried]
}

// related are the names of those who issued some certificates, and these certificates.
type related struct {
	issuers map[string]bool
	certs   map[Fingerprint]bool
}

func relatedTo(certs []*Cert) related {
	r := related{make(map[string]bool, len(certs)), make(map[Fingerprint]bool, len(certs))}
	for _, c := range certs {
		r.issuers[c.Issuer], r.certs[c.Fingerprint] = true, true
	}
	return r
}

// to reports whether a trust anchor may make a difference to what verifies them: crypto/x509
// looks for issuers by their names, and for the certificates themselves.
func (r related) to(anchor *Cert) bool {
	return r.issuers[anchor.Subject] || r.certs[anchor.Fingerprint]
}

// CostOrdinary is above what ordinary chains cost: three signatures by RSA keys of 2048 bits.
const CostOrdinary = 100

// CostOfAnother is what verifying a chain may cost that another node was presented: no CA of a cluster
// signs what costs more, and each node would pay for what one of them says.
const CostOfAnother = 10 * CostOrdinary

// WhyCostly is what makes Cost high, for people.
const WhyCostly = "there are many CAs of one name, large keys, or many names, constraints or policies"

// Cost is what it may take to verify a chain, in units of some 15 µs: the signatures that
// crypto/x509 may verify for it, the certificates that are parsed for it, and the names, constraints
// and policies of each chain that these make. Tenants choose names, keys and their order, so that it
// tries a hundred of the largest. Ordinary chains cost less than CostOrdinary.
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
	return sum + CostParsing(ordinaryChain, chain, anchors) + chains*eachChain(chain, anchors)
}

// ordinaryChain is up to how many bytes a chain and its anchors cost nothing to parse.
const ordinaryChain = 16 << 10

// CostParsing is what it takes to parse certificates beyond so many bytes that cost nothing, in the units of Cost:
// some 230 ns a byte where these are the shortest names, and 15 ns in ordinary ones.
func CostParsing(free int, certs ...[]*Cert) int {
	const bytesPerUnit = 64
	n := -free
	for _, some := range certs {
		for _, c := range some {
			n += len(c.DER)
		}
	}
	return max(n, 0) / bytesPerUnit
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
