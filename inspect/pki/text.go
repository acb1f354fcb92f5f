package pki

import (
	"bytes"
	"encoding/pem"
	"slices"
	"strings"
)

// CutOff begins the reason of a block that ends too early.
const CutOff = "cut off"

// listedThough begins the reason of a block that is bad, though its certificate was read.
const listedThough = "standard readers (Go, OpenSSL) skip this certificate: "

// UnreadCert says why a block that may hold a certificate was not read; empty: there is none.
func (c *Content) UnreadCert() string {
	for _, b := range c.Bad {
		k := kindOf(b.Type)
		if k != kindKey && k != kindRequest && k != kindCRL && b.Type != typeValue && b.Type != unknownLabel && !strings.HasPrefix(b.Reason, listedThough) {
			return b.Type + ": " + b.Reason
		}
	}
	return ""
}

// text reads a value as text: PEM blocks, and base64 between them.
func (w *walk) text(data []byte, at place) {
	var room [2]sighting // mostly enough
	seen := room[:0]
	gap, plain, sure := 0, 0, true
	for next := 0; ; {
		b, ok := nextBlock(data, next)
		if !ok {
			break
		}
		if w.over(at) {
			return
		}
		w.runs(data[gap:b.begin], at)
		next, gap = b.end, b.end
		s := w.block(data, &b, at)
		if s.plain {
			plain++
		}
		sure = sure && s.sure
		if s.isCert {
			seen = append(seen, s)
		} else if b.open {
			// It may only look like a block, in the middle of something else.
			gap = b.bodyAt
		}
	}
	w.runs(data[gap:], at)
	if at.raw || !hasPEM(data) {
		return // of a document's text, what is new is marked by who takes it over
	}
	whole := isPlain(data, plain)
	if !whole {
		seen = append(seen, w.compare(data, seen, at)...)
	}
	w.loads(w.results.at(at.field), data, seen, at, whole && sure && bytes.IndexByte(data, 0) < 0)
}

// isPlain reports whether all that looks like PEM in a text is its plain blocks:
// then encoding/pem reads the same, and need not be asked.
func isPlain(data []byte, plain int) bool {
	return plain == bytes.Count(data, []byte(beginTag)) && plain == bytes.Count(data, []byte(endTag))
}

// runs reads the base64 in a text.
func (w *walk) runs(text []byte, at place) {
	for from := 0; ; {
		r, ok := nextRun(text, from)
		if !ok {
			return
		}
		from = r.end
		run := text[r.begin:r.end]
		if !isPromising(run, maxDepth) {
			continue
		}
		inner := decodeRun(run)
		w.value(inner, at.within())
		clear(inner)
	}
}

// sighting is what tolerant reading found in a block.
type sighting struct {
	block  block
	index  int
	isCert bool
	id     Fingerprint // of a certificate
	plain  bool        // encoding/pem is sure to find the same
	sure   bool        // a certificate that all readers are sure to load
	missed bool        // only encoding/pem found it
}

// block reads one PEM block.
func (w *walk) block(text []byte, b *block, at place) sighting {
	e := w.results.at(at.field)
	index := e.next()
	s := sighting{block: *b, index: index}
	kind := kindOf(b.label)
	if kind == kindOther {
		return s
	}
	label := StandardLabel(b.label)
	body := text[b.bodyAt:b.bodyEnd]
	a := decodeBody(body, b.plus, kind)
	defer clear(a.der)
	s.plain = a.plain && b.isPlain(text)
	switch {
	case b.open && (a.problem != "" || kind != kindCert):
		e.bad(index, label, CutOff+": it has no END line")
		return s
	case a.problem != "" && !(kind == kindKey && a.encrypted):
		e.bad(index, label, a.problem)
		return s
	}
	switch kind {
	case kindKey:
		w.key(e, index, label, a)
	case kindPKCS7, kindKeystore, kindCRL:
		w.envelope(e, index, label, kind, a.der)
	case kindRequest:
		if shapeOf(a.der) != shapeRequest {
			e.bad(index, label, misplaced(a.der, "certificate request"))
			return s
		}
		w.request(e, index, label, a.der)
	case kindCert:
		s.id, s.isCert = w.certBlock(e, index, b, a.der)
		s.plain = s.plain && b.label == "CERTIFICATE"
		s.sure = s.plain && s.isCert && hasPlainLines(body)
	}
	return s
}

// envelope reads a block of something that holds certificates, or speaks of them.
func (w *walk) envelope(e *entry, index int, label string, kind kind, der []byte) {
	if isBER(der) {
		if closed, rest, ok := berToDER(der); ok && len(rest) == 0 {
			der = closed
			defer clear(closed)
		}
	}
	element, rest, ok := cutElement(der)
	switch s := shapeOf(element); {
	case !ok || len(rest) > 0:
		e.bad(index, label, misplaced(der, kind.noun()))
	case kind == kindPKCS7 && s == shapePKCS7:
		w.pkcs7(e, index, label, der)
	case kind == kindKeystore && s == shapePKCS12:
		w.pkcs12(e, index, der)
	case kind == kindCRL && s == shapeCRL:
		w.crl(e, index, label, der)
	default:
		e.bad(index, label, misplaced(der, kind.noun()))
	}
}

func (w *walk) certBlock(e *entry, index int, b *block, der []byte) (id Fingerprint, ok bool) {
	if b.label == "TRUSTED CERTIFICATE" {
		// OpenSSL appends its trust settings.
		if element, _, ok := cutElement(der); ok {
			der = element
		}
	}
	if element, _, whole := cutElement(der); !whole || shapeOf(element) != shapeCert {
		reason := misplaced(der, "certificate")
		if b.open {
			reason = CutOff + ": it has no END line"
		}
		e.bad(index, b.label, reason)
		return id, false
	}
	return w.cert(e, index, b.label, der)
}

// misplaced says what is wrong with DER that is not what its block is for.
func misplaced(der []byte, want string) string {
	element, _, ok := cutElement(der)
	if !ok {
		if len(der) > 1 && der[0] == 0x30 && der[1] >= 0x80 {
			return CutOff + ": the DER is longer than the block"
		}
		return "not DER: it holds no " + want
	}
	if s := shapeOf(element); s != shapeUnknown {
		return "it holds " + s.describe() + ", not a " + want
	}
	return "it holds DER, but no " + want
}

// key identifies a private key. Whatever it is, that a key lies here is said.
func (w *walk) key(e *entry, index int, label string, a armored) {
	if a.encrypted {
		key := Key{Encrypted: true}
		if word, _, ok := strings.Cut(label, " PRIVATE KEY"); ok {
			key.Algorithm = algorithmOf(word)
		}
		e.addKey(key, label)
		return
	}
	read := readKey
	if label == "OPENSSH PRIVATE KEY" {
		read = readOpenSSH
	}
	key, err := read(a.der)
	if err != nil {
		reason := err.Error()
		if s := shapeOf(a.der); s != shapeUnknown && !s.isKey() {
			reason = misplaced(a.der, "private key")
			e.bad(index, label, reason)
			return
		}
		e.bad(index, label, reason)
	}
	e.addKey(key, label)
}

// algorithmOf turns the word before "PRIVATE KEY" into an algorithm's name.
func algorithmOf(word string) string {
	switch word {
	case "RSA":
		return "RSA"
	case "EC":
		return "ECDSA"
	}
	return ""
}

// kind groups PEM labels by what is done with them.
type kind int

const (
	kindOther kind = iota // known and of no interest, or unknown
	kindCert
	kindRequest
	kindKey
	kindPKCS7
	kindKeystore
	kindCRL
)

// noun names what a block of the kind holds.
func (k kind) noun() string {
	switch k {
	case kindRequest:
		return "request"
	case kindKey:
		return "key"
	case kindPKCS7:
		return "PKCS#7 message"
	case kindKeystore:
		return "PKCS#12 keystore"
	case kindCRL:
		return "revocation list"
	}
	return "certificate"
}

func kindOf(label string) kind {
	switch label {
	case "CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE":
		return kindCert
	case "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST":
		return kindRequest
	case "PKCS7", "PKCS #7 SIGNED DATA", "CMS":
		return kindPKCS7
	case "PKCS12": // as GnuTLS writes it
		return kindKeystore
	case "X509 CRL":
		return kindCRL
	}
	if strings.HasSuffix(label, "PRIVATE KEY") {
		return kindKey
	}
	return kindOther
}

// unknownLabel stands for a label that is not printed.
const unknownLabel = "unknown label"

// StandardLabel is the label of a PEM block as it is printed and kept: who writes a block
// may write a secret there, so a label that no standard has is not said.
func StandardLabel(label string) string {
	if kindOf(label) == kindKey && !slices.Contains(keyLabels(), label) || kindOf(label) == kindOther && !slices.Contains(otherLabels(), label) {
		return unknownLabel
	}
	return label
}

// keyLabels are those of private keys: RFC 7468's, those of OpenSSL's pem.h, and OpenSSH's.
func keyLabels() []string {
	return []string{
		"PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "ANY PRIVATE KEY", "RSA PRIVATE KEY", "DSA PRIVATE KEY", "EC PRIVATE KEY", "SM2 PRIVATE KEY",
		"OPENSSH PRIVATE KEY",
	}
}

// otherLabels are the other ones of the same lists that kindOf says nothing about.
func otherLabels() []string {
	return []string{
		"ATTRIBUTE CERTIFICATE", "PUBLIC KEY", "RSA PUBLIC KEY", "DSA PUBLIC KEY", "ECDSA PUBLIC KEY", "PARAMETERS", "DH PARAMETERS", "X9.42 DH PARAMETERS",
		"DSA PARAMETERS", "EC PARAMETERS", "SM2 PARAMETERS", "SSL SESSION PARAMETERS",
	}
}

// compare checks tolerant reading against encoding/pem, which reads as the
// programs of a cluster do: a certificate that they skip is listed, and is also
// a bad block. It returns what only encoding/pem found: that does not say that a
// program loads it.
func (w *walk) compare(data []byte, seen []sighting, at place) (missed []sighting) {
	e := w.results.at(at.field)
	standard := map[Fingerprint]bool{}
	listed := map[Fingerprint]bool{}
	for _, s := range seen {
		listed[s.id] = true
	}
	for rest := data; ; {
		var p *pem.Block
		if p, rest = pem.Decode(rest); p == nil {
			break
		}
		if kindOf(p.Type) == kindCert {
			der := p.Bytes
			if element, _, ok := cutElement(der); ok && p.Type == "TRUSTED CERTIFICATE" {
				der = element
			}
			id := FingerprintOf(der)
			standard[id] = true
			if !listed[id] && p.Type == "CERTIFICATE" {
				if c, err := w.scanner.cert(der, w.verify); err == nil {
					listed[id] = true
					e.content.Certs = keep(e, e.content.Certs, c)
					missed = append(missed, sighting{id: id, isCert: true, missed: true})
				}
			}
		}
		clear(p.Bytes)
	}
	pure := isArmor(data)
	for _, s := range seen {
		if standard[s.id] {
			continue
		}
		why := s.block.standalone(data)
		glued := bytes.HasSuffix(data[:s.block.begin], []byte(dashes))
		if !pure && !glued {
			continue // an excerpt in some other text, which no program reads as PEM
		}
		if why == "" {
			why = notPEMLines
		}
		e.bad(s.index, s.block.label, listedThough+why)
	}
	return missed
}

// isArmor reports whether a value is meant to be PEM, as opposed to a text in
// which PEM occurs: apart from comments, it starts with a BEGIN line.
func isArmor(data []byte) bool {
	for {
		data = bytes.TrimLeft(data, " \t\r\n\"'\\")
		if len(data) == 0 || data[0] != '#' {
			return bytes.HasPrefix(data, []byte(beginTag))
		}
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
}
