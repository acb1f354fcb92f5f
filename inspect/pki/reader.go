package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

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
	return fmt.Sprintf("the certificate %s (%s) stands there, and its reader skips it: %s", foreign.QuotedName(CommonName(s.Subject)), s.Fingerprint.Short(), s.Reason)
}

// InPEM reports whether it stands in a text of PEM, where its reader looks for it, and
// not in a file of another format.
func (s Skipped) InPEM() bool {
	return !slices.Contains([]string{whyWrapped, whyBinary, whyKeystore, whyMessage, whyBeside}, s.Reason)
}

// HasHeaders reports whether it has PEM headers, with which crypto/tls loads what is to be presented.
func (s Skipped) HasHeaders() bool { return s.Reason == whyHeaders }

// mostNeeded bounds how many skipped certificates of one name are tried: tenants choose names.
const mostNeeded = 20

// Needed is the first of what is skipped with which something succeeds that is about these
// certificates: that they verify, or that they are there. nil: none does, of those that were
// tried; all says whether they were. No other certificate than an issuer of theirs, by its name,
// or one of them makes a difference.
func Needed(skipped []Skipped, of []*Cert, succeeds func(with *Cert) bool) (needed *Skipped, all bool) {
	related := relatedTo(of)
	tried := 0
	for i := range skipped {
		if !related.to(skipped[i].Cert) {
			continue
		}
		if tried++; tried > mostNeeded {
			return nil, false
		}
		if succeeds(skipped[i].Cert) {
			return &skipped[i], true
		}
	}
	return nil, true
}

// ErrCostly is why something was not verified.
var ErrCostly = errors.New("verifying it costs too much: " + WhyCostly)

// Refuses says why a client with these roots does not trust what verify asks for, which is about
// certificates; nil: it does. Each judge of clients and servers asks here. needed is what stands beside
// the roots that the client's reader skips, and that would do; all: each of those was tried. pay
// takes what verifying by some roots costs: where it says no, the error is ErrCostly.
func Refuses(roots []*Cert, skipped []Skipped, of []*Cert, pay func(roots []*Cert) bool, verify func(roots []*Cert) error) (needed *Skipped, all bool, err error) {
	if !pay(roots) {
		return nil, false, ErrCostly
	}
	if err = verify(roots); err == nil {
		return nil, true, nil
	}
	paid := true
	needed, all = Needed(skipped, of, func(c *Cert) bool {
		one := []*Cert{c} // a chain ends in one root, and in none of the others
		if !pay(one) {
			paid = false
			return false
		}
		return verify(one) == nil
	})
	return needed, all && paid, err
}

// skip is one copy of a certificate that readers don't load.
type skip struct {
	id     Fingerprint
	by     []Reader
	reason string
}

// LoadedBy returns the certificates that a reader loads, and of those that it does
// not, or of which that is unknown, why. The result is shared.
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
	skipped := map[loss]int{}
	for _, s := range e.skips {
		for _, r := range s.by {
			skipped[loss{s.id, r}]++
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
			if skipped[loss{s.id, r}] >= copies[s.id] {
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
	whyHeaders  = "it has PEM headers"
	whyMark     = "a byte order mark stands before its BEGIN line"
	whyBesideIt = "a block of the bundle can't be parsed, and this reader then loads none"
)

// Says reports whether a text is a reason that a scan gives, which others chose no word of.
func Says(reason string) bool {
	return slices.Contains(whyNotStandalone(), strings.TrimPrefix(reason, listedThough)) || slices.Contains([]string{
		whyWrapped, whyBinary, whyKeystore, whyMessage, whyBeside, whyFurther, whyBesideIt, whyHeaders, whyMark, WhyCostly,
		lockedPassword, lockedRounds, lockedAlgorithm, lockedFormat, lockedBehindKey,
	}, reason) || len(reason) < longestForm && reasonForms().MatchString(reason)
}

// longestForm is longer than a reason with the names of two namespaces.
const longestForm = 500

// reasonForms are reasons with numbers, names of namespaces and nodes, and what was looked for.
var reasonForms = sync.OnceValue(func() *regexp.Regexp { //nolint:gochecknoglobals // a constant, made when it is needed
	var nouns, shapes []string
	for k := kindOther; k <= kindCRL; k++ {
		nouns = append(nouns, regexp.QuoteMeta(k.noun()))
	}
	for s := shapeUnknown; s <= shapeBCFKS; s++ {
		shapes = append(shapes, regexp.QuoteMeta(s.describe()))
	}
	const owner = `(namespace|node) [-a-z0-9.]+`
	const whose = `(this value|this run|this node|tenants|` + owner + `|tenants \(most: ` + owner + `\))`
	noun := `(certificate request|private key|` + strings.Join(nouns, "|") + `)`
	return regexp.MustCompile(`^(` + strings.Join([]string{
		`its BEGIN line says (TRUSTED|X509) CERTIFICATE`,
		CutOff + `: (it has no END line|the DER is longer than the block)`,
		`values are nested too (deeply: the innermost|often: the last) were not read|unpacks to more than 32 MiB: the rest was not read|reading ended before its end: not done after [0-9hms.]+`,
		`(nested too deeply|it has more than [0-9]+ lines that begin with %TAG, and is not read as YAML): what it holds was looked for in its text`,
		`more than [0-9]+ fields of it hold certificates or keys: the others were not read|[0-9]+ more blocks can't be read`,
		`it holds more than [0-9]+ certificates or keys: [0-9]+ were left out`,
		`the limit to which compressed values of ` + whose + ` unpack was reached: the rest was not read`,
		`the limit of memory for values of ` + whose + ` was reached before it: it was not read, nor what was to be read after it of ` + whose,
		`the limit of (certificates|certificate requests) in compressed values of ` + whose + ` was reached before it: it holds others, which were not read`,
		`the limit of work for self-signed certificates of ` + whose + ` was reached before it: it holds others, which were not read`,
		`the limit of YAML in compressed values of ` + whose + ` was reached before it(: what it holds was looked for in its text)?`,
		`the limit of certificates, keys and fields in compressed values of ` + whose + ` was reached before it: what it holds was not all read`,
		lockedBegin + whose + ` ` + LockedLimit,
		`(a placeholder|empty): it holds no ` + noun + ` data|not base64(: a character is missing or too many|: unexpected '(.|\\[a-z][0-9a-f]*)')?`,
		`not DER: it holds no ` + noun + `|it holds DER, but no ` + noun + `|it holds (` + strings.Join(shapes, "|") + `), not a ` + noun,
		`keystore is cut off or damaged|the PKCS#7 message is malformed|revocation list can't be parsed`,
		`not (the DER of a|an RSA|an EC|a PKCS#8|an Ed25519|an OpenSSH) private key|its public half can't be computed|its curve [0-9.]+ is unknown`,
		`its (curve is (written out as numbers instead of being named|not named)|curve can't be read|number (is too large for|does not fit) its curve)`,
		`it has [0-9]+ bytes: above [0-9]+ it is not read|it has more than [0-9]+ elements: it is not read`,
		`its RSA key has [0-9]+ bits: above [0-9]+ bits it is neither read nor verified|its (issuer|subject) has [0-9]+ parts: above [0-9]+ it is not read`,
	}, "|") + `)$`)
})

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
	byOpenSSL, some := openSSLLoads(data, func(der []byte) (*Cert, error) { return w.scanner.cert(der, w.verify) })
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
	case s.missed && !byGo:
		return whyHeaders
	case !s.missed && s.block.label != "CERTIFICATE":
		return "its BEGIN line says " + s.block.label
	case byGo:
		return whyBesideIt
	case bytes.HasSuffix(before, []byte(byteOrderMark)):
		return whyMark
	}
	if why := s.block.standalone(text); why != "" {
		return why
	}
	if bytes.Contains(text[s.block.bodyAt:s.block.bodyEnd], []byte(":")) {
		return whyHeaders
	}
	return notPEMLines
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
			if boundedDER(p.Bytes) != nil { // a bad block, which other readers parse
			} else if _, err := x509.ParseCertificate(p.Bytes); err == nil {
				loaded[FingerprintOf(p.Bytes)] = true
			} else {
				whole = false
			}
		}
		clear(p.Bytes) // it may be a key
	}
}
