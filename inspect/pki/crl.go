package pki

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

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
