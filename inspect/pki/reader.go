package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// Reader is how a program reads the certificates that it trusts. Scan finds more
// than any of them: what a verifier trusts is what its own reader loads.
type Reader string

// The readers.
const (
	// ReaderGo is crypto/x509's AppendCertsFromPEM, by which client-go reads the CA of
	// a kubeconfig: blocks that encoding/pem finds, of type CERTIFICATE, without
	// headers. It skips what it can't parse.
	ReaderGo Reader = "go"
	// ReaderGoAll is client-go's ParseCertsPEM, by which CA files of servers are read:
	// the same blocks, and none of them where one can't be parsed.
	ReaderGoAll Reader = "go, all or none"
	// ReaderOpenSSL is OpenSSL's X509_load_cert_crl_file: curl, haproxy, Python.
	ReaderOpenSSL Reader = "openssl"
	// ReaderUnknown is several programs, or one whose reader was not looked at: it
	// loads at least what all of the others do.
	ReaderUnknown Reader = "unknown"
)

// Readers returns those that are told apart.
func Readers() []Reader { return []Reader{ReaderGo, ReaderGoAll, ReaderOpenSSL} }

// Skipped is a certificate of a Content that some readers don't load from its value.
type Skipped struct {
	*Cert
	By     []Reader
	Reason string // for people
}

// String says it for people.
func (s Skipped) String() string {
	return fmt.Sprintf("the certificate %s (%s) stands there, and its reader skips it: %s", foreign.Called(CommonName(s.Subject)), s.Fingerprint.Short(), s.Reason)
}

// InPEM reports whether it stands in a text of PEM, where its reader looks for it, and
// not in a file of another format.
func (s Skipped) InPEM() bool {
	return !slices.Contains([]string{whyWrapped, whyBinary, whyKeystore, whyMessage, whyBeside}, s.Reason)
}

// Needed is the first of what is skipped with which something succeeds; nil: none.
func Needed(skipped []Skipped, succeeds func(with *Cert) bool) *Skipped {
	for i := range skipped {
		if succeeds(skipped[i].Cert) {
			return &skipped[i]
		}
	}
	return nil
}

// skip is one copy of a certificate that readers don't load.
type skip struct {
	id     Fingerprint
	by     []Reader
	reason string
}

// LoadedBy returns the certificates that a reader loads, and of those that it does
// not, or of which that is not known, why. The result is shared.
func (c *Content) LoadedBy(r Reader) (loaded []*Cert, skipped []Skipped) {
	if len(c.Skipped) == 0 {
		return c.Certs, nil
	}
	for _, s := range c.Skipped {
		if r == ReaderUnknown || slices.Contains(s.By, r) {
			skipped = append(skipped, s)
		}
	}
	if len(skipped) == 0 {
		return c.Certs, nil
	}
	out := make(map[Fingerprint]bool, len(skipped))
	for _, s := range skipped {
		out[s.Fingerprint] = true
	}
	for _, cert := range c.Certs {
		if !out[cert.Fingerprint] {
			loaded = append(loaded, cert)
		}
	}
	return loaded, skipped
}

// skip notes that readers don't load a certificate where it stands.
func (e *entry) skip(id Fingerprint, reason string, by ...Reader) {
	e.skips = append(e.skips, skip{id, by, reason})
}

// skipAll is skip for all readers, of the certificates that were added since there
// were so many.
func (e *entry) skipAll(since int, reason string) {
	for _, c := range e.content.Certs[since:] {
		e.skip(c.Fingerprint, reason, Readers()...)
	}
}

// skipped are the certificates of which no copy in the value is loaded, by reader.
func (e *entry) skipped() []Skipped {
	if len(e.skips) == 0 {
		return nil
	}
	copies, certs := map[Fingerprint]int{}, map[Fingerprint]*Cert{}
	for _, c := range e.content.Certs {
		copies[c.Fingerprint]++
		certs[c.Fingerprint] = c
	}
	type loss struct {
		id Fingerprint
		by Reader
	}
	lost := map[loss]int{}
	for _, s := range e.skips {
		for _, r := range s.by {
			lost[loss{s.id, r}]++
		}
	}
	var out []Skipped
	seen := map[Fingerprint]bool{}
	for _, s := range e.skips {
		if !isNew(seen, s.id) {
			continue
		}
		var by []Reader
		for _, r := range Readers() {
			if lost[loss{s.id, r}] >= copies[s.id] {
				by = append(by, r)
			}
		}
		if len(by) > 0 && certs[s.id] != nil {
			out = append(out, Skipped{certs[s.id], by, s.reason})
		}
	}
	return out
}

// isTrustText reports whether a reader is given the text at this place: the value
// itself, or a string of a document, which may be base64 once, as in a kubeconfig.
func (p place) isTrustText() bool {
	return p.layers == 0 || p.layers == 1 && p.inDocument
}

// Why a certificate is skipped.
const (
	whyWrapped  = "it is encoded once more (base64, gzip or a data: URL), which no reader of CA bundles undoes"
	whyBinary   = "it is DER and not PEM"
	whyKeystore = "it is in a keystore"
	whyMessage  = "it is in a PKCS#7 message"
	whyBeside   = "it stands beside the document's fields, such as in a comment"
	whyFurther  = "it is in a further document of the file, and client-go reads the first"
	whyBesideIt = "a block of the bundle can't be parsed, and this reader then loads none"
)

// loads compares what was found in a text with what readers load from it. sure: its
// blocks are certificates that all readers are sure to load.
func (w *walk) loads(e *entry, data []byte, seen []sighting, at place, sure bool) {
	switch {
	case len(seen) == 0:
		return
	case !at.isTrustText():
		for _, s := range seen {
			e.skip(s.id, whyWrapped, Readers()...)
		}
		return
	case sure:
		return
	}
	byGo, whole := goLoads(data)
	byOpenSSL, some := openSSLLoads(data, w.scanner.cert)
	for _, s := range seen {
		var by []Reader
		if !byGo[s.id] {
			by = append(by, ReaderGo)
		}
		if !byGo[s.id] || !whole {
			by = append(by, ReaderGoAll)
		}
		if !some || !byOpenSSL[s.id] {
			by = append(by, ReaderOpenSSL)
		}
		if len(by) > 0 {
			e.skip(s.id, s.whySkipped(data, byGo[s.id]), by...)
		}
	}
}

// whySkipped says what is odd about a block, for people.
func (s *sighting) whySkipped(text []byte, byGo bool) string {
	before := text[:s.block.begin]
	switch {
	case s.block.label != "CERTIFICATE":
		return "its BEGIN line says " + s.block.label
	case byGo:
		return whyBesideIt
	case bytes.HasSuffix(before, []byte(byteOrderMark)):
		return "a byte order mark stands before its BEGIN line"
	}
	if why := s.block.standalone(text); why != "" {
		return why
	}
	if bytes.Contains(text[s.block.bodyAt:s.block.bodyEnd], []byte(":")) {
		return "it has PEM headers"
	}
	return "it is escaped or its lines are not those of PEM"
}

const byteOrderMark = "\ufeff"

// goLoads is what ReaderGo loads from a text; whole: ReaderGoAll loads that too.
func goLoads(text []byte) (loaded map[Fingerprint]bool, whole bool) {
	loaded, whole = map[Fingerprint]bool{}, true
	for {
		var p *pem.Block
		if p, text = pem.Decode(text); p == nil {
			return loaded, whole
		}
		if p.Type == "CERTIFICATE" && len(p.Headers) == 0 {
			if _, err := x509.ParseCertificate(p.Bytes); err == nil {
				loaded[FingerprintOf(p.Bytes)] = true
			} else {
				whole = false
			}
		}
		clear(p.Bytes) // it may be a key
	}
}

// openSSLLine is how much of a line OpenSSL reads at once: it takes the rest for a line.
const openSSLLine = 254

// openSSLLoads is what OpenSSL 3 loads from a text; some is false where it gives up on
// all of it, as it does at the first block that it can't read (crypto/pem/pem_lib.c,
// crypto/pem/pem_info.c, crypto/x509/by_file.c), and where it may.
func openSSLLoads(text []byte, parse func(der []byte) (*Cert, error)) (loaded map[Fingerprint]bool, some bool) {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, false // to some of its releases, a line or the file ends there
	}
	loaded = map[Fingerprint]bool{}
	for {
		label, rest, ok := openSSLBegin(text)
		if !ok {
			return loaded, len(loaded) > 0
		}
		der, rest, ok := openSSLBody(rest, label)
		if ok {
			ok = openSSLBlock(label, der, parse, loaded)
		}
		clear(der) // it may be a key
		if !ok {
			return nil, false
		}
		text = rest
	}
}

// openSSLBegin finds the next BEGIN line. A byte order mark may stand before the first
// line behind each block. Where bytes from 0x80 on end the line, OpenSSL trims them like
// blanks on machines whose char is signed: its label is then one that no block can match.
func openSSLBegin(text []byte) (label string, rest []byte, ok bool) {
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	for len(text) > 0 {
		var line []byte
		line, text = cutOpenSSLLine(text)
		line, odd := trimOpenSSLLine(line)
		name, found := bytes.CutPrefix(line, []byte(beginTag+" "))
		if name, closed := bytes.CutSuffix(name, []byte(dashes)); found && closed {
			if odd {
				return "\n", text, true
			}
			return string(name), text, true
		}
	}
	return "", nil, false
}

// trimOpenSSLLine cuts blanks and bytes from 0x80 on off the end of a line; odd: there were
// any of the latter.
func trimOpenSSLLine(line []byte) (trimmed []byte, odd bool) {
	end := len(line)
	for end > 0 && (line[end-1] <= ' ' || line[end-1] >= 0x80) {
		end--
		odd = odd || line[end] >= 0x80
	}
	return line[:end], odd
}

func cutOpenSSLLine(text []byte) (line, rest []byte) {
	once := text[:min(len(text), openSSLLine)]
	if i := bytes.IndexByte(once, '\n'); i >= 0 {
		return text[:i], text[i+1:]
	}
	return once, text[len(once):]
}

// openSSLBody reads a block up to its END line. What stands before an empty line are
// headers, and after it OpenSSL is strict about the length of lines: such a block is not
// known to be read. An empty block is never read.
func openSSLBody(text []byte, label string) (der, rest []byte, ok bool) {
	var body strings.Builder
	defer body.Reset()
	for len(text) > 0 {
		var line []byte
		line, text = cutOpenSSLLine(text)
		line = bytes.TrimRight(line, " \t\r")
		switch {
		case bytes.HasPrefix(line, []byte(endTag+" ")):
			der, err := base64.StdEncoding.DecodeString(body.String())
			return der, text, string(line) == endTag+" "+label+dashes && err == nil && len(der) > 0
		case len(line) == 0, bytes.Contains(line, []byte(":")):
			return nil, nil, false
		}
		body.Write(bytes.TrimLeft(line, " \t"))
	}
	return nil, nil, false
}

// openSSLBlock parses what OpenSSL parses of a bundle, and notes the certificate. It
// reports whether OpenSSL reads on.
func openSSLBlock(label string, der []byte, parse func(der []byte) (*Cert, error), loaded map[Fingerprint]bool) bool {
	switch kindOf(label) {
	case kindCRL:
		_, err := x509.ParseRevocationList(der)
		return err == nil
	case kindKey:
		return isOpenSSLKey(label, der)
	case kindCert:
		element, settings, ok := cutElement(der)
		if !ok {
			return false
		}
		cert, err := parse(element)
		if err != nil {
			return false
		}
		if len(settings) > 0 {
			// Who has trust settings may be trusted for something else; they are not read.
			_, rest, ok := cutElement(settings)
			return ok && len(rest) == 0 && label == "TRUSTED CERTIFICATE"
		}
		loaded[cert.Fingerprint] = true
	case kindOther, kindRequest, kindPKCS7, kindKeystore: // decoded and passed over
	}
	return true
}

// isOpenSSLKey reports whether OpenSSL reads on behind a private key: whether the key is
// well formed, or of a kind that is passed over.
func isOpenSSLKey(label string, der []byte) bool {
	switch label {
	case "RSA PRIVATE KEY":
		return isRSAKey(der)
	case "EC PRIVATE KEY":
		_, err := readSEC1(der, nil)
		return err == nil && isWhole(der, shapeSEC1)
	case "PRIVATE KEY":
		key, err := readPKCS8(der)
		if err != nil || !isWhole(der, shapePKCS8) {
			return false
		}
		in := cryptobyte.String(der)
		var seq, inner cryptobyte.String
		ok := in.ReadASN1(&seq, cbasn1.SEQUENCE) && seq.SkipASN1(cbasn1.INTEGER) && seq.SkipASN1(cbasn1.SEQUENCE) && seq.ReadASN1(&inner, cbasn1.OCTET_STRING)
		return ok && key.Algorithm != "" && (key.Algorithm != "RSA" || isRSAKey(inner))
	}
	// OpenSSL decodes what has any other label with these words, too, and stops where it
	// can't. That is not judged here.
	return label == "ENCRYPTED PRIVATE KEY" // passed over
}

// isRSAKey reports whether a PKCS#1 key has all of its numbers.
func isRSAKey(der []byte) bool {
	in := cryptobyte.String(der)
	var seq cryptobyte.String
	var version int
	if !in.ReadASN1(&seq, cbasn1.SEQUENCE) || !in.Empty() || !seq.ReadASN1Integer(&version) || version != 0 {
		return false
	}
	for range 8 {
		if !seq.SkipASN1(cbasn1.INTEGER) {
			return false
		}
	}
	return seq.Empty()
}

// isWhole reports whether DER is one element of a shape.
func isWhole(der []byte, want shape) bool {
	_, rest, ok := cutElement(der)
	return ok && len(rest) == 0 && shapeOf(der) == want
}
