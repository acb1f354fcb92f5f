package pki_test

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// A certificate's strings are on one line each, wherever they stand; all else is as it was.
func TestOneLineStrings(t *testing.T) {
	t.Parallel()
	comment, err := asn1.MarshalWithParams("note\nnext: c", "ia5")
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC)
	block, _ := pem.Decode(pkitest.NewCA("x\nnext: a", from, from.AddDate(1, 0, 0), pkitest.Template(func(c *x509.Certificate) {
		c.Subject.Organization = []string{"o\r\nnext: b"}
		c.DNSNames, c.OCSPServer, c.SubjectKeyId = []string{"d\nnext: d"}, []string{"http://o\nnext: e"}, []byte{1, '\n', 0xff, '\n'}
		c.ExtraExtensions = []pkix.Extension{
			{Id: asn1.ObjectIdentifier{2, 16, 840, 1, 113730, 1, 13}, Value: comment},
			{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}, Value: []byte("issuer\nnext: f")},
		}
	})).CertPEM)
	cert := block.Bytes
	was, err := x509.ParseCertificate(cert)
	if err != nil {
		t.Fatal(err)
	}
	der := pki.OneLineStrings(cert)
	now, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(der, []byte("\nnext")) || len(der) != len(cert) {
		t.Errorf("a line feed stays: %q", der)
	}
	if now.Subject.CommonName != "x?next: a" || strings.Join(now.Subject.Organization, "") != "o??next: b" || now.DNSNames[0] != "d?next: d" {
		t.Errorf("got %q, %q", now.Subject, now.DNSNames)
	}
	if now.SerialNumber.Cmp(was.SerialNumber) != 0 || !bytes.Equal(now.SubjectKeyId, was.SubjectKeyId) || !bytes.Equal(now.RawSubjectPublicKeyInfo, was.RawSubjectPublicKeyInfo) || !bytes.Equal(now.Signature, was.Signature) {
		t.Error("what is no string has changed")
	}
}
