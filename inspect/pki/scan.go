package pki

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"strings"
)

const (
	// maxDepth limits values in values: base64, gzip, documents in documents.
	maxDepth = 6
	// maxUnpacked limits what one value may unpack to, all gzip in it together.
	maxUnpacked = 32 << 20
	// workPerByte and workAtLeast limit how many bytes are looked at in one
	// value, counting a byte again for each layer in which it is seen. Honest
	// values need a tenth of it.
	workPerByte = 32
	workAtLeast = 1 << 20
)

// walk is one reading of one value, with what it may still spend.
type walk struct {
	scanner   *Scanner
	results   *results
	passwords [][]byte // that are tried on keystores before the usual ones
	work      int
	unpacked  int
	// ownUnpacked is what it may unpack to before it takes from what all values share.
	ownUnpacked int
	// ownCerts is how many certificates it may hold before it takes from what all values share.
	ownCerts int
	// ownWork is what verifying self-signed certificates in it may cost before it takes from what
	// all values share.
	ownWork int
	// ownYAML is how many bytes of YAML in it are parsed before it takes from what all values share.
	ownYAML int
	rounds  int64 // of key derivation
}

// place is where in the value the walk is.
type place struct {
	field string
	depth int
	raw   bool // read as text only: the documents inside were read already
	// layers are how often what is read was encoded, since the value or the string of a
	// document; inDocument: it is the latter.
	layers     int
	inDocument bool
}

func scan(s *Scanner, data []byte, passwords [][]byte) []Found {
	w := &walk{
		scanner:   s,
		results:   &results{},
		passwords: passwords,
		work:      workAtLeast + workPerByte*len(data),
		unpacked:  maxUnpacked,

		ownUnpacked: unpackedAtLeast + unpackedPerByte*len(data),
		ownCerts:    thingsAtLeast + len(data)/(bytesPerThing*thingsPerCert),
		ownWork:     workAtLeastPerValue + len(data)/bytesPerWork,
		ownYAML:     yamlAtLeast + yamlPerByte*len(data),
		rounds:      maxRounds,
	}
	w.value(data, place{})
	return w.results.found()
}

// value reads one value, whatever it is.
func (w *walk) value(data []byte, at place) {
	if !mayHold(data) || !w.afford(data, at) {
		return
	}
	// What a structure holds is collected apart, to compare two readings of it.
	outer, inner := w.results, &results{}
	w.results = inner
	again := true
	switch {
	case w.container(data, at):
		again = hasPEM(data)
	case !at.raw && w.document(data, at):
	default:
		w.results = outer
		w.text(data, at)
		return
	}
	inner = w.results
	if again {
		// What the structure does not show: comments, keys, broken ends.
		w.results = &results{}
		raw := at
		raw.raw = true
		w.text(data, raw)
		inner.addMissing(at.field, w.results)
	}
	w.results = outer
	outer.absorb(inner)
}

// container reads a value that is an encoding of something else, or DER. It
// reports false if the value is none.
func (w *walk) container(data []byte, at place) bool {
	switch {
	case isGzip(data):
		return w.gzip(data, at)
	case isJavaStore(data):
		w.javaStore(data, at)
		return true
	case isBouncyStore(data):
		w.locked(at, "BKS", lockedFormat)
		return true
	case isBER(data):
		der, rest, ok := berToDER(data)
		defer clear(der)
		if !ok || len(w.elements(der, at)) > 0 {
			return false
		}
		w.text(rest, at)
		return true
	case isDER(data):
		rest := w.elements(data, at)
		if len(rest) == len(data) {
			return false
		}
		w.text(rest, at)
		return true
	}
	inner, ok := decodeDataURL(data)
	if !ok && isWholeBase64(data) {
		inner, ok = decodeLoose(data), true
	}
	if ok {
		w.value(inner, at.deeper())
		clear(inner)
	}
	return ok
}

func (p place) deeper() place {
	p.depth++
	p.layers++
	return p
}

// within is deeper for a piece of a text, which is no value of its own.
func (p place) within() place {
	p.depth++
	p.layers += 2
	return p
}

// afford charges for looking at data, and says so if that is too much.
func (w *walk) afford(data []byte, at place) bool {
	if at.depth > maxDepth {
		w.stop(at, "values are nested too deeply: the innermost were not read")
		return false
	}
	if w.over(at) {
		return false
	}
	if w.work -= len(data); w.work < 0 {
		w.stop(at, "values are nested too often: the last were not read")
		return false
	}
	return true
}

// stop notes, once, that reading was cut short.
func (w *walk) stop(at place, reason string) {
	w.results.at(at.field).badOnce(BadBlock{Index: -1, Type: typeValue, Reason: reason})
}

// over reports that the time for reading is over, and notes it.
func (w *walk) over(at place) bool {
	err := w.scanner.Over()
	if err != nil {
		w.stop(at, err.Error())
	}
	return err != nil
}

// gzip reads what gzip data unpacks to. It reports false if it is no gzip.
func (w *walk) gzip(data []byte, at place) bool {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return false
	}
	r.Multistream(false)
	// What comes before an error is still worth reading.
	unpacking := &unpacking{from: r, w: w}
	inner, err := io.ReadAll(unpacking)
	defer clear(inner)
	if len(inner) > 0 {
		w.work += workPerByte * len(inner)
		w.value(inner, at.deeper())
	}
	switch {
	case unpacking.over > 0:
		whose := w.scanner.spentBy(func(s *smallness) *budget { return &s.unpacked }, int64(unpacking.over))
		w.stop(at, "the limit to which compressed values of "+whose+" unpack was reached: the rest was not read")
	case w.unpacked == 0:
		w.stop(at, "unpacks to more than 32 MiB: the rest was not read")
	case len(inner) == 0:
		return err == nil
	}
	return true
}

// decodeDataURL decodes a data: URL, in which Ignition keeps files.
func decodeDataURL(data []byte) (inner []byte, ok bool) {
	rest, ok := bytes.CutPrefix(data, []byte(dataScheme))
	if !ok {
		return nil, false
	}
	comma := bytes.IndexByte(rest[:min(len(rest), 200)], ',')
	if comma < 0 || bytes.ContainsAny(rest[:comma], " \t\r\n") {
		return nil, false
	}
	if bytes.HasSuffix(rest[:comma], []byte(";base64")) {
		return decodeLoose(undoPercent(rest[comma+1:])), true
	}
	return undoPercent(rest[comma+1:]), true
}

// undoPercent undoes one layer of percent-encoding, in a copy.
func undoPercent(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' {
			if decoded, ok := hexByte(text[i+1:]); ok {
				c = decoded
				i += 2
			}
		}
		out = append(out, c)
	}
	return out
}

// elements reads the DER at the start of data, one element after another, and
// returns what follows, which is all of data if that is no DER.
func (w *walk) elements(data []byte, at place) []byte {
	for {
		if w.over(at) {
			return nil
		}
		element, rest, ok := cutElement(data)
		if !ok {
			return data
		}
		switch s := shapeOf(element); s {
		case shapeCert, shapeRequest:
			e := w.results.at(at.field)
			index := e.next()
			if s == shapeCert {
				if id, ok := w.cert(e, index, "CERTIFICATE", element); ok {
					e.skip(id, whyBinary, Readers()...)
				}
			} else {
				w.request(e, index, "CERTIFICATE REQUEST", element)
			}
		case shapeCRL:
			e := w.results.at(at.field)
			w.crl(e, e.next(), "X509 CRL", element)
		case shapePKCS7:
			e := w.results.at(at.field)
			w.pkcs7(e, e.next(), "PKCS7", element)
		case shapePKCS1, shapeSEC1, shapePKCS8, shapeEncryptedKey:
			e := w.results.at(at.field)
			e.next()
			if key, err := readKey(element); err == nil && (key.Algorithm != "" || key.Encrypted) {
				e.addKey(key, "PRIVATE KEY")
			}
		case shapePKCS12:
			e := w.results.at(at.field)
			w.pkcs12(e, e.next(), element)
		case shapeBCFKS:
			w.locked(at, "BCFKS", lockedFormat)
		case shapeUnknown:
			// Not ours after all.
			return data
		}
		data = rest
		if len(bytes.TrimSpace(data)) == 0 {
			return nil
		}
	}
}

// Why a keystore, or a part of one, was not read.
const (
	lockedPassword  = "none of the usual passwords, nor any that lies beside it, opens it"
	lockedRounds    = "to open it takes more work than is spent on one value"
	lockedAlgorithm = "it is encrypted in a way that is not read"
	lockedFormat    = "keystores of this format are not read"
	lockedBehindKey = "it holds a secret key, and what stands behind that can't be found without its password"
)

// LockedLimit ends the reason where a keystore is not to blame: others were before it.
const LockedLimit = "was reached before it was tried with all passwords"

// lockedLimit is such a reason, by whose keystores were before it.
func lockedLimit(whose string) string {
	return lockedBegin + whose + " " + LockedLimit
}

const lockedBegin = "the limit of work for all keystores of "

// lockedByLimit reports whether a keystore may be opened elsewhere, where less was spent.
func (c *Content) lockedByLimit() bool {
	return slices.ContainsFunc(c.Locked, func(l Locked) bool { return strings.HasSuffix(l.Reason, LockedLimit) })
}

// locked notes a keystore of which not all was read.
func (w *walk) locked(at place, format, reason string) {
	w.results.at(at.field).lock(format, reason)
}

func (e *entry) lock(format, reason string) {
	e.content.Locked = keep(e, e.content.Locked, Locked{Format: format, Reason: reason})
}

// cert adds a certificate, or says why it can't.
func (w *walk) cert(e *entry, index int, kind string, der []byte) (id Fingerprint, ok bool) {
	if len(e.content.Certs) >= maxInField { // parsing one, and its signature, costs most
		e.left++
		return Fingerprint{}, false
	}
	c, err := w.parse(der)
	if errors.As(err, new(overLimit)) {
		e.badOnce(BadBlock{Index: -1, Type: typeValue, Reason: err.Error()})
		return Fingerprint{}, false
	}
	if err != nil {
		e.bad(index, kind, err.Error())
		return Fingerprint{}, false
	}
	e.content.Certs = append(e.content.Certs, c)
	return c.Fingerprint, true
}

func (w *walk) crl(e *entry, index int, kind string, der []byte) {
	c, err := parseCRL(der)
	if err != nil {
		e.bad(index, kind, err.Error())
		return
	}
	e.content.CRLs = keep(e, e.content.CRLs, c)
}

func (w *walk) request(e *entry, index int, kind string, der []byte) {
	if err := w.keepNames(der, "certificate requests"); err != nil {
		e.badOnce(BadBlock{Index: -1, Type: typeValue, Reason: err.Error()})
		return
	}
	r, err := ParseRequest(der)
	if err != nil {
		e.bad(index, kind, err.Error())
		return
	}
	e.content.Requests = keep(e, e.content.Requests, r)
}

// addKey adds a key; one of an unknown kind gets the PEM type for a name.
func (e *entry) addKey(key Key, kind string) {
	if key.Algorithm == "" {
		key.Algorithm = kind
	}
	e.content.Keys = keep(e, e.content.Keys, key)
}
