package pki

import (
	"crypto/fips140"
	"encoding/asn1"
	"errors"
	"slices"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pbe"
)

const (
	// maxRounds limits the rounds of key derivation that are spent on one value,
	// whatever it asks for: a few seconds. Tools ask for 2,000 to 10,000, careful
	// people for a million.
	maxRounds = 3_000_000
	// cheapTry is what a try may cost to be one of an ordinary keystore.
	cheapTry = 100_000
	// maxRoundsOfCheap and maxRoundsOfCostly limit them for all values of the
	// platform's, each twice: for passwords that lie beside, and for the usual ones.
	// Ordinary keystores take 10,000 to 50,000 of each, so thousands of them are
	// read, however many of the worst someone put into the same cluster.
	maxRoundsOfCheap  = 300_000_000
	maxRoundsOfCostly = 100_000_000
	// roundsOfTenants leaves tenants one in so many of them: some 40 s of work, and
	// roundsOfOne one of them, or a node, one in so many of that.
	roundsOfTenants = 4
	roundsOfOne     = 2
	// maxBags limits bags in bags.
	maxBags = 4
)

// pkcs12 reads a PKCS#12 keystore in DER. What is not encrypted in it is read in
// any case; for the rest, passwords are tried, by the digest that protects the
// file where it has one.
func (w *walk) pkcs12(e *entry, index int, der []byte) {
	const format = "PKCS#12"
	if fips140.Enforced() { // most of these files use SHA-1, even to be read
		e.lock(format, lockedAlgorithm)
		return
	}
	passwords := w.candidates()
	defer func() {
		for _, p := range passwords {
			p.Clear()
		}
	}()
	k := keystore{scanner: w.scanner, parse: w.parse, rounds: w.rounds, passwords: passwords, closed: lockedPassword}
	whole := k.read(der)
	w.rounds = k.rounds
	before := len(e.content.Certs)
	e.content.Certs = keep(e, e.content.Certs, k.chain()...)
	e.skipAll(before, whyKeystore)
	e.content.CRLs = keep(e, e.content.CRLs, k.lists...)
	for _, key := range k.keys {
		e.addKey(key, format)
	}
	for _, reason := range k.bad {
		e.bad(index, format, reason)
	}
	switch {
	case !whole:
		e.bad(index, format, "keystore is cut off or damaged")
	case k.locked != "":
		e.lock(format, k.locked)
	}
}

// candidates are the passwords to try, in this order.
func (w *walk) candidates() []candidate {
	out := make([]candidate, 0, len(w.passwords)+5)
	for _, text := range w.passwords {
		out = append(out, candidate{pbe.NewPassword(text), true})
	}
	for _, usual := range []string{"", "changeit", "changeme", "password"} {
		out = append(out, candidate{Password: pbe.NewPassword([]byte(usual))})
	}
	// For some, no password is no bytes at all, without the zero that ends it.
	return append(out, candidate{})
}

// candidate is a password that may fit.
type candidate struct {
	pbe.Password
	beside bool // it lies beside the keystore; else it is a usual one
}

// The object identifiers of what a keystore is made of.
const (
	oidData        = "1.2.840.113549.1.7.1"
	oidEncrypted   = "1.2.840.113549.1.7.6"
	oidKeyBag      = "1.2.840.113549.1.12.10.1.1"
	oidShroudedBag = "1.2.840.113549.1.12.10.1.2"
	oidCertBag     = "1.2.840.113549.1.12.10.1.3"
	oidCRLBag      = "1.2.840.113549.1.12.10.1.4"
	oidContentsBag = "1.2.840.113549.1.12.10.1.6"
)

// keystore is a reading of a PKCS#12 file.
type keystore struct {
	scanner   *Scanner
	parse     func(der []byte) (*Cert, error)
	rounds    int64       // of key derivation that may still be made
	passwords []candidate // that may fit, the likeliest first
	closed    string      // why a part is locked where none of them opens it

	certs  []*Cert
	lists  []*CRL
	keys   []Key
	bad    []string // what is wrong with certificates
	locked string   // why a part was not read; empty: all of it was
}

// chain returns the certificates, the first one whose key is here in front.
func (k *keystore) chain() []*Cert {
	known := make(map[Fingerprint]bool, len(k.keys))
	for _, key := range k.keys {
		known[key.SPKI] = true
	}
	leaf := slices.IndexFunc(k.certs, func(c *Cert) bool { return known[c.SPKI] })
	if leaf > 0 {
		first := k.certs[leaf]
		copy(k.certs[1:leaf+1], k.certs[:leaf])
		k.certs[0] = first
	}
	return k.certs
}

// read reads the file. It reports false where that is malformed; what came
// before stays.
func (k *keystore) read(der []byte) bool {
	var file, info, content, safe, mac cryptobyte.String
	in := cryptobyte.String(der)
	ok := in.ReadASN1(&file, cbasn1.SEQUENCE) &&
		file.SkipASN1(cbasn1.INTEGER) && // version
		file.ReadASN1(&info, cbasn1.SEQUENCE) &&
		file.ReadOptionalASN1(&mac, nil, cbasn1.SEQUENCE)
	if !ok {
		return false
	}
	switch kind, ok := readTyped(&info, &content); {
	case !ok:
		return false
	case kind != oidData: // signed, and perhaps for the holder of a key only
		k.locked = lockedAlgorithm
		return true
	case !content.ReadASN1(&safe, cbasn1.OCTET_STRING):
		return false
	}
	k.choose(safe, mac)
	parts, ok := readSequence(safe)
	for ok && !parts.Empty() {
		ok = parts.ReadASN1(&info, cbasn1.SEQUENCE) && k.part(info)
	}
	return ok
}

// readTyped reads what a ContentInfo, a bag, and a certificate in a bag have in
// common: a type, and a content with a tag of its own.
func readTyped(from, content *cryptobyte.String) (kind string, ok bool) {
	var oid asn1.ObjectIdentifier
	ok = from.ReadASN1ObjectIdentifier(&oid) && from.ReadASN1(content, cbasn1.Tag(0).ContextSpecific().Constructed())
	return oid.String(), ok
}

// readSequence returns the elements of a SEQUENCE that is all of data, in BER or
// DER.
func readSequence(data []byte) (elements cryptobyte.String, ok bool) {
	if isOpen(data) {
		if data, _, ok = berToDER(data); !ok {
			return nil, false
		}
	}
	in := cryptobyte.String(data)
	ok = in.ReadASN1(&elements, cbasn1.SEQUENCE) && in.Empty()
	return elements, ok
}

// choose finds the password by the digest over the file. Where none fits,
// encrypted parts are not tried: the same password opens them.
func (k *keystore) choose(safe []byte, data cryptobyte.String) {
	m, ok := pbe.ReadMAC(data)
	if !ok {
		return // there is none, or of a kind that is unknown: the parts will tell
	}
	for i, p := range k.passwords {
		if why := k.charge(m.CostOf(safe), p); why != "" {
			k.closed = why // others may be of another budget
			continue
		}
		if m.Verifies(safe, p.Password) {
			k.passwords, k.closed = k.passwords[i:i+1], lockedPassword
			return
		}
	}
	k.passwords = nil
}

// charge charges for one try of a password, or says why it is not affordable. A
// try that is not made costs nothing.
func (k *keystore) charge(rounds int64, p candidate) (why string) {
	if err := k.scanner.Over(); err != nil {
		return err.Error()
	}
	const least = 100 // what a try costs beside
	rounds = max(rounds, 0) + least
	if rounds > k.rounds {
		return lockedRounds
	}
	budgetOf := func(s *smallness) *budget { return s.rounds.forTry(rounds, p.beside) }
	if !budgetOf(k.scanner.small).take(rounds) {
		return lockedLimit(k.scanner.spentBy(budgetOf, rounds))
	}
	k.rounds -= rounds
	return ""
}

// part reads one part of the file. Each is encrypted as a whole or not at all.
func (k *keystore) part(info cryptobyte.String) bool {
	var content, bags, encrypted, algorithm cryptobyte.String
	kind, ok := readTyped(&info, &content)
	switch {
	case !ok:
		return false
	case kind == oidData:
		return content.ReadASN1(&bags, cbasn1.OCTET_STRING) && k.bags(bags, maxBags)
	case kind != oidEncrypted: // for the holder of a key
		k.locked = lockedAlgorithm
		return true
	}
	ok = content.ReadASN1(&encrypted, cbasn1.SEQUENCE) &&
		encrypted.SkipASN1(cbasn1.INTEGER) && // version
		encrypted.ReadASN1(&info, cbasn1.SEQUENCE) &&
		info.SkipASN1(cbasn1.OBJECT_IDENTIFIER) &&
		info.ReadASN1(&algorithm, cbasn1.SEQUENCE)
	if !ok {
		return false
	}
	secret, ok := readOctets(&info, cbasn1.Tag(0).ContextSpecific())
	if !ok {
		return false
	}
	plain, why := k.open(algorithm, secret)
	defer clear(plain)
	if why != "" {
		k.locked = why
		return true
	}
	return k.bags(plain, maxBags)
}

// open decrypts by the first password that fits, or says why none does. The
// caller clears what it gets.
func (k *keystore) open(algorithm cryptobyte.String, secret []byte) (plain []byte, why string) {
	c, ok := pbe.Read(algorithm)
	if !ok {
		return nil, lockedAlgorithm
	}
	closed := k.closed
	for _, p := range k.passwords {
		if why := k.charge(c.CostOf(secret), p); why != "" {
			closed = why
			continue
		}
		plain := c.Decrypt(secret, p.Password)
		if _, ok := readSequence(plain); ok {
			k.passwords = []candidate{p} // what opens one part opens the others
			return plain, ""
		}
		clear(plain)
	}
	return nil, closed
}

// bags reads a SafeContents.
func (k *keystore) bags(data []byte, depth int) bool {
	if isOpen(data) {
		closed, _, ok := berToDER(data)
		defer clear(closed) // a key may be in it
		if !ok {
			return false
		}
		data = closed
	}
	list, ok := readSequence(data)
	for ok && !list.Empty() {
		if err := k.scanner.Over(); err != nil {
			k.locked = err.Error()
			return true
		}
		if len(k.certs)+len(k.lists)+len(k.keys)+len(k.bad) >= maxInField {
			k.locked = lockedLimit("this value")
			return true
		}
		var bag, content cryptobyte.String
		if !list.ReadASN1(&bag, cbasn1.SEQUENCE) {
			return false
		}
		var kind string
		if kind, ok = readTyped(&bag, &content); ok {
			ok = k.bag(kind, content, depth)
		}
	}
	return ok
}

func (k *keystore) bag(kind string, content cryptobyte.String, depth int) bool {
	switch kind {
	case oidKeyBag:
		k.key(content)
	case oidShroudedBag:
		return k.shrouded(content)
	case oidCertBag, oidCRLBag:
		var typed, value, der cryptobyte.String
		if !content.ReadASN1(&typed, cbasn1.SEQUENCE) {
			return false
		}
		if _, ok := readTyped(&typed, &value); !ok {
			return false
		}
		if !value.ReadASN1(&der, cbasn1.OCTET_STRING) {
			return true // SDSI, which no one has
		}
		k.public(kind, der)
	case oidContentsBag:
		return depth > 0 && k.bags(content, depth-1)
	}
	return true
}

// public reads a certificate or a revocation list.
func (k *keystore) public(kind string, der []byte) {
	var err error
	if kind == oidCertBag {
		var c *Cert
		if c, err = k.parse(der); err == nil {
			k.certs = append(k.certs, c)
		}
	} else {
		var l *CRL
		if l, err = parseCRL(der); err == nil {
			k.lists = append(k.lists, l)
		}
	}
	switch {
	case errors.As(err, new(overLimit)):
		k.locked = err.Error() // and so is the rest
	case err != nil:
		k.bad = append(k.bad, err.Error())
	}
}

// key identifies a private key.
func (k *keystore) key(der []byte) {
	key, err := readKey(der)
	if err != nil {
		k.bad = append(k.bad, err.Error())
	}
	k.keys = append(k.keys, key)
}

// shrouded reads a private key that is encrypted by itself.
func (k *keystore) shrouded(content cryptobyte.String) bool {
	var info, algorithm, secret cryptobyte.String
	ok := content.ReadASN1(&info, cbasn1.SEQUENCE) &&
		info.ReadASN1(&algorithm, cbasn1.SEQUENCE) &&
		info.ReadASN1(&secret, cbasn1.OCTET_STRING)
	if !ok {
		return false
	}
	plain, why := k.open(algorithm, secret)
	defer clear(plain)
	if why != "" {
		k.keys = append(k.keys, Key{Encrypted: true})
		return true
	}
	k.key(plain)
	return true
}
