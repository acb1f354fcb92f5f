package pki

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// Fingerprint is a sha256. Of a certificate's DER it is the certificate's
// identity; of a SubjectPublicKeyInfo's DER, the identity of a key pair.
type Fingerprint [sha256.Size]byte

// FingerprintOf returns the sha256 of data.
func FingerprintOf(data []byte) Fingerprint { return sha256.Sum256(data) }

// String returns lower-case hex, 64 characters, without colons.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// Short returns the first 12 hex characters: enough for people to tell
// certificates of one cluster apart, too few to be an identity.
func (f Fingerprint) Short() string { return hex.EncodeToString(f[:6]) }

// MarshalText writes String.
func (f Fingerprint) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads String.
func (f *Fingerprint) UnmarshalText(text []byte) error {
	// The length first: hex.Decode writes as much as it is given.
	if len(text) == 2*len(f) {
		if _, err := hex.Decode(f[:], text); err == nil {
			return nil
		}
	}
	return fmt.Errorf("fingerprint %.80q is not %d characters of hex", text, 2*len(f))
}

// Cert is one certificate: its DER and what is asked of it often. It is
// compact on purpose (a cluster holds tens of thousands); everything else is
// read again from the DER with X509.
type Cert struct {
	Fingerprint Fingerprint // sha256 of DER
	DER         []byte
	Subject     string // RFC 2253, as pkix.Name.String
	Issuer      string // RFC 2253
	Serial      string // lower-case hex, "-" in front when negative (seen in the field)
	NotBefore   time.Time
	NotAfter    time.Time
	IsCA        bool        // basic constraints say so, or a self-signed version 1 certificate
	SelfSigned  bool        // issuer equals subject, bytewise, and its own key verifies its signature
	Names       Names       // subject alternative names
	Usages      []string    // extended key usages ("server auth", "client auth", an OID); shared between certificates
	PublicKey   string      // such as "RSA 2048", "ECDSA P-256", "Ed25519"
	Signature   string      // signature algorithm, as x509.SignatureAlgorithm.String
	SPKI        Fingerprint // sha256 of the SubjectPublicKeyInfo
	SubjectKey  string      // subject key identifier, hex, may be empty
	IssuerKey   string      // authority key identifier, hex, may be empty
	extensions  extensions
}

// Names are a certificate's subject alternative names.
type Names struct {
	DNS []string
	IPs []string
	// Others are URIs and e-mail addresses.
	Others []string
}

// CommonName cuts the common name out of a Subject or Issuer; the whole of it where
// there is none.
func CommonName(subject string) string {
	for rest := subject; rest != ""; {
		end := 0 // of one attribute: what is escaped belongs to its value
		for end < len(rest) && rest[end] != ',' && rest[end] != '+' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(rest))
		if cn, found := strings.CutPrefix(rest[:end], "CN="); found {
			return cn
		}
		rest = rest[min(end+1, len(rest)):]
	}
	return subject
}

// X509 parses the certificate's DER. It can't fail for a Cert made by
// ParseCert.
func (c *Cert) X509() (*x509.Certificate, error) { return x509.ParseCertificate(c.DER) }

// Key says that a private key was seen, and which. The key itself is gone.
type Key struct {
	SPKI      Fingerprint // of the public half; zero when Encrypted or unreadable
	Algorithm string      // "RSA", "ECDSA", "Ed25519", or the PEM type when unreadable
	Encrypted bool
}

// BadBlock is a piece of input that claims to be a certificate, a request or a
// key and can't be read as one; or a certificate that can be read, and is listed
// too, but that standard readers skip.
type BadBlock struct {
	Index  int    // 0-based place among the blocks of the value; -1: the value as a whole
	Type   string // PEM type or format, such as "CERTIFICATE", "PKCS#12"; "value": reading was cut short; "PEM": further blocks of all kinds
	Reason string // for people: what is wrong with it; never quotes key bytes
}

// Content is what one value holds, in the order in which it stands there.
// Contents are shared between locations and must not be changed.
type Content struct {
	Certs    []*Cert
	Requests []*Request
	Keys     []Key
	CRLs     []*CRL
	Locked   []Locked
	Bad      []BadBlock
	// Skipped are those of Certs that some readers don't load: see LoadedBy.
	Skipped []Skipped
}

// Empty reports whether nothing was found.
func (c *Content) Empty() bool {
	return len(c.Certs) == 0 && len(c.Requests) == 0 && len(c.Keys) == 0 && len(c.CRLs) == 0 && len(c.Locked) == 0 && len(c.Bad) == 0
}

// manyReaders is more than there are.
const manyReaders = 16

// Things is how many certificates, keys and the like it holds, by which what it costs is bounded.
func (c *Content) Things() int {
	if c == nil {
		return 0
	}
	n := len(c.Certs) + len(c.Requests) + len(c.Keys) + len(c.CRLs) + len(c.Locked) + len(c.Bad)
	for _, s := range c.Skipped {
		n += 1 + len(s.By)/manyReaders
	}
	return n
}

// Request is a PKCS#10 certificate request.
type Request struct {
	Subject string // RFC 2253
	Names   Names
	SPKI    Fingerprint // of the requested public key
	KeyAlgo string      // such as "ECDSA P-256"
}

// CRL is a certificate revocation list: whose, and for which time. Which
// certificates it revokes is counted only.
type CRL struct {
	Fingerprint Fingerprint // sha256 of its DER
	Issuer      string      // RFC 2253, as of a Cert
	IssuerKey   string      // authority key identifier, hex, may be empty
	ThisUpdate  time.Time
	NextUpdate  time.Time // zero: it does not say
	Revoked     int       // number of certificates
}

// Locked is a keystore, or a part of one, whose certificates are unknown.
type Locked struct {
	Format string // "PKCS#12", "JKS", "JCEKS", "BKS", "BCFKS"
	Reason string // for people: why it was not read
}

// Found is what one value of a document holds.
type Found struct {
	// Field leads to the value inside a structured document, such as
	// "clusters[0].cluster.certificate-authority-data"; empty for the document
	// itself. A key that is not a plain word is quoted: `data["ca.crt"]`. The
	// second and further documents of a stream start with their number:
	// "(2).data". Inside a document that is itself a string of a document, the
	// two fields are joined by '#': "data.kubeconfig#clusters[0].cluster".
	// Encodings (base64, gzip, data: URLs) leave no trace. Each field occurs
	// once in the results of a value.
	Field   string
	Content *Content
}

// EncodePEM is PEM as OpenShift's operators write it.
func EncodePEM(certs []*Cert) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.DER})...)
	}
	return out
}

// Without are those of certs that are not among others.
func Without(certs, others []*Cert) []*Cert {
	return slices.DeleteFunc(slices.Clone(certs), func(c *Cert) bool { return Contains(others, c) })
}

// Named is a certificate for people: its subject and the first digits of its fingerprint.
func Named(c *Cert) string {
	return fmt.Sprintf("%s (sha256 %s)", Foreign(c.Subject), c.Fingerprint.Short())
}

// LoadedPEM returns the certificates in PEM text that client-go loads, in its order.
func LoadedPEM(sc *Scanner, text []byte) []*Cert {
	var out []*Cert
	for _, found := range sc.Scan(text) {
		if found.Field == "" { // a document is no PEM
			loaded, _ := found.Content.LoadedBy(ReaderGo)
			out = append(out, loaded...)
		}
	}
	return out
}

// Contains reports whether a certificate is among others, by its bytes.
func Contains(certs []*Cert, c *Cert) bool {
	return slices.ContainsFunc(certs, func(x *Cert) bool { return x.Fingerprint == c.Fingerprint })
}

// Foreign is foreign.Text.
func Foreign(s string) string { return foreign.Text(s) }

// Quoted is foreign.Quoted.
func Quoted(s string) string { return foreign.Quoted(s) }

// Visible is foreign.Visible.
func Visible(s, allowed string) string { return foreign.Visible(s, allowed) }

// parseCRL reads the frame of one DER revocation list. Its signature is not
// checked, and what it revokes is counted without being kept: a list may be
// larger than all the certificates of a cluster, and crypto/x509 would make an
// object of each of its lines.
func parseCRL(der []byte) (*CRL, error) {
	malformed := errKey("revocation list can't be parsed")
	in := cryptobyte.String(der)
	var list, signed, issuer cryptobyte.String
	ok := in.ReadASN1(&list, cbasn1.SEQUENCE) && in.Empty() &&
		list.ReadASN1(&signed, cbasn1.SEQUENCE) &&
		signed.SkipOptionalASN1(cbasn1.INTEGER) && // version 1 has none
		signed.SkipASN1(cbasn1.SEQUENCE) && // algorithm
		signed.ReadASN1Element(&issuer, cbasn1.SEQUENCE)
	if !ok {
		return nil, malformed
	}
	if err := boundedDER(issuer); err != nil {
		return nil, err
	}
	c := &CRL{Fingerprint: FingerprintOf(der)}
	var name pkix.RDNSequence
	if rest, err := asn1.Unmarshal(issuer, &name); err != nil || len(rest) > 0 {
		return nil, malformed
	}
	var n pkix.Name // by which a certificate's issuer is written, too
	n.FillFromRDNSequence(&name)
	if err := boundedName("issuer", n); err != nil {
		return nil, err
	}
	c.Issuer = n.String()
	if !readTime(&signed, &c.ThisUpdate) {
		return nil, malformed
	}
	if isTime(signed) && !readTime(&signed, &c.NextUpdate) {
		return nil, malformed
	}
	if signed.PeekASN1Tag(cbasn1.SEQUENCE) {
		var revoked cryptobyte.String
		signed.ReadASN1(&revoked, cbasn1.SEQUENCE)
		for !revoked.Empty() {
			if !revoked.SkipASN1(cbasn1.SEQUENCE) {
				return nil, malformed
			}
			c.Revoked++
		}
	}
	if err := boundedDER(signed); err != nil { // its extensions
		return nil, err
	}
	if c.IssuerKey, ok = authorityKey(signed); !ok {
		return nil, malformed
	}
	return c, nil
}

func isTime(s cryptobyte.String) bool {
	return s.PeekASN1Tag(cbasn1.UTCTime) || s.PeekASN1Tag(cbasn1.GeneralizedTime)
}

// readTime reads either of X.509's two forms of time.
func readTime(s *cryptobyte.String, t *time.Time) (ok bool) {
	if s.PeekASN1Tag(cbasn1.UTCTime) {
		ok = s.ReadASN1UTCTime(t)
	} else {
		ok = s.ReadASN1GeneralizedTime(t)
	}
	*t = WritableTime(*t)
	return ok
}

// authorityKey finds the authority key identifier among the extensions of a
// revocation list, which end it; empty where there is none.
func authorityKey(rest cryptobyte.String) (id string, ok bool) {
	var wrapped, list cryptobyte.String
	var present bool
	if !rest.ReadOptionalASN1(&wrapped, &present, cbasn1.Tag(0).ContextSpecific().Constructed()) {
		return "", false
	}
	if !present {
		return "", true
	}
	if !wrapped.ReadASN1(&list, cbasn1.SEQUENCE) {
		return "", false
	}
	for !list.Empty() {
		var extension, value, seq, key cryptobyte.String
		var oid asn1.ObjectIdentifier
		ok := list.ReadASN1(&extension, cbasn1.SEQUENCE) &&
			extension.ReadASN1ObjectIdentifier(&oid) &&
			extension.SkipOptionalASN1(cbasn1.BOOLEAN) &&
			extension.ReadASN1(&value, cbasn1.OCTET_STRING)
		if !ok {
			return "", false
		}
		if oid.String() == "2.5.29.35" && value.ReadASN1(&seq, cbasn1.SEQUENCE) && seq.ReadASN1(&key, cbasn1.Tag(0).ContextSpecific()) {
			id = hex.EncodeToString(key)
		}
	}
	return id, true
}

// RequestCommonName is the common name for which one DER PKCS#10 request asks, without its key, its other names and
// its attributes, which take most of the time to read. among: of another subject than one with these bytes it is not
// read. False where ParseX509Request reads none, or it is not read.
func RequestCommonName(der []byte, among string) (name string, ok bool) {
	var request struct {
		Info struct { // elements behind these are left alone
			Version int
			Subject asn1.RawValue
		}
	}
	if _, err := asn1.Unmarshal(der, &request); err != nil {
		return "", false
	}
	var subject pkix.RDNSequence
	text := request.Info.Subject.FullBytes
	if !holdsText(text, among) || parts(text) > maxParts {
		return "", false
	}
	if rest, err := asn1.Unmarshal(text, &subject); err != nil || len(rest) > 0 {
		return "", false
	}
	var of pkix.Name
	of.FillFromRDNSequence(&subject)
	return of.CommonName, true
}

// holdsText reports whether DER has a text in ASCII, as most of its strings write it, or in the two bytes a
// letter of a BMPString.
func holdsText(der []byte, text string) bool {
	wide := make([]byte, 0, 2*len(text))
	for _, c := range []byte(text) {
		wide = append(wide, 0, c)
	}
	return bytes.Contains(der, []byte(text)) || bytes.Contains(der, wide)
}

// parts is how many parts a name in DER has, as far as it can be read.
func parts(name cryptobyte.String) (n int) {
	var sets, set cryptobyte.String
	name.ReadASN1(&sets, cbasn1.SEQUENCE)
	for sets.ReadASN1(&set, cbasn1.SET) {
		for set.SkipASN1(cbasn1.SEQUENCE) {
			n++
		}
	}
	return n
}
