package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"strings"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

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
// certain to be read. An empty block is never read.
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
		if len(der) > maxBytes { // crypto/x509 would make an object of each of its lines
			_, err := parseCRL(der)
			return err == nil
		}
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
