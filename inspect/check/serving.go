package check

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// The usages that allow a certificate to serve, as Cert.Usages has them.
const (
	usageServer = "server auth"
	usageAny    = "any"
)

// servers says which places servers present.
type servers struct {
	named map[pki.Location]bool // objects that the configuration has a server present
}

func serversOf(f *inspect.Facts) servers {
	s := servers{map[pki.Location]bool{}}
	for _, r := range f.Snapshot.References {
		// An OAuth names what is presented to identity providers, by a client.
		if r.To.Kind == "Secret" && r.From.Kind != "OAuth" {
			s.named[inspect.ObjectAt(r.To)] = true
		}
	}
	return s
}

// present reports whether a server presents what is at a place.
func (s servers) present(h *inspect.Entry) bool {
	return h.At.Kind == inspect.KindServer || h.Role() == string(catalog.Serving) || s.named[inspect.ObjectAt(h.At)] || h.At.Kind == inspect.KindRoute && h.At.Field == inspect.RouteCertificate
}

// servingNames finds serving certificates that name no host.
func servingNames(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	servers := serversOf(f)
	for _, c := range f.Leaves {
		if c.NotAfter.Before(f.Now) || len(c.Names.DNS)+len(c.Names.IPs)+len(c.Names.Others) > 0 {
			continue
		}
		in, current := inForce(c.Entries)
		if !current {
			continue
		}
		does, fails := "serves", "now: clients refuse it"
		switch {
		case slices.ContainsFunc(in, servers.present):
		case c.IsCA:
			continue
		case slices.Equal(c.Usages, []string{usageServer}):
		case mayServe(c.Cert) && isHost(pki.CommonName(c.Subject)) && slices.ContainsFunc(in, inTLSSecret):
			does, fails = "may serve", "clients refuse the server that presents it"
		default:
			continue
		}
		out = append(out, atLeaf(c, c.NotAfter, assess.Assessment{
			Severity:    assess.Warning,
			Reason:      ": serving certificate names no host",
			Impact:      fails,
			Evidence:    whole(c.Cert) + " " + does + ", and names no host: the common name does not count (Go 1.15, OpenSSL, browsers)",
			Remediation: advise("have it issued with the host names and addresses under which it is reached as subject alternative names", bestPlace(c.Entries)),
		}))
	}
	return out
}

// mayServe reports whether its extended key usages allow a certificate to serve.
func mayServe(c *pki.Cert) bool {
	return len(c.Usages) == 0 || slices.Contains(c.Usages, usageServer) || slices.Contains(c.Usages, usageAny)
}

// inTLSSecret reports whether a place is the certificate of a Secret of type
// kubernetes.io/tls of which the catalog does not know what it is for.
func inTLSSecret(h *inspect.Entry) bool {
	return h.At.Kind == "Secret" && h.At.Key == "tls.crt" && h.Object != nil && h.Object.Type == "kubernetes.io/tls" && h.Role() == ""
}

// isHost reports whether a common name is one that clients once took for a server's name: a
// domain name or an address. Users and components are called otherwise.
func isHost(cn string) bool {
	if _, err := netip.ParseAddr(cn); err == nil {
		return true
	}
	return strings.Contains(cn, ".") && strings.Trim(strings.ToLower(cn), "abcdefghijklmnopqrstuvwxyz0123456789.-*") == ""
}

// servingUsage finds certificates that servers present and whose usages forbid it.
func servingUsage(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	servers := serversOf(f)
	for _, c := range f.Leaves {
		if c.NotAfter.Before(f.Now) || mayServe(c.Cert) {
			continue
		}
		in, current := inForce(c.Entries)
		in = slices.DeleteFunc(slices.Clone(in), func(h *inspect.Entry) bool { return !servers.present(h) })
		if !current || len(in) == 0 {
			continue
		}
		out = append(out, atLeaf(inspect.StoredCert{Cert: c.Cert, Entries: in}, c.NotAfter, assess.Assessment{
			Severity:    assess.Warning,
			Reason:      ": serving certificate lacks usage server auth",
			Impact:      "now: clients refuse the server that presents it",
			Evidence:    fmt.Sprintf("%s may not serve: its usage is %s", whole(c.Cert), strings.Join(c.Usages, ", ")),
			Remediation: advise("have it issued with the extended key usage server auth", bestPlace(in)),
		}))
	}
	return out
}

// secretCA finds Secrets whose ca.crt does not verify their tls.crt.
func secretCA(f *inspect.Facts) []assess.Finding {
	cas := map[pki.Location]*inspect.Entry{} // by Secret
	for i := range f.Entries {
		h := &f.Entries[i]
		if h.At.Kind == "Secret" && h.At.Key == "ca.crt" && h.At.Field == "" && h.Row == nil && !h.Superseded && len(h.Content.Certs) > 0 {
			cas[inspect.ObjectAt(h.At)] = h
		}
	}
	if len(cas) == 0 {
		return nil
	}
	clients := clientsOf(f)
	proofs := newProofs(f)
	type pair struct {
		ca, leaf *pki.Content
		payer    string // of one that was too costly; another one may afford it
	}
	known := map[pair]int{} // copies of one Secret are one finding
	var out []assess.Finding
	for i := range f.Entries {
		if f.Over() {
			break
		}
		h := &f.Entries[i]
		ca := cas[inspect.ObjectAt(h.At)]
		if ca == nil || h.At.Key != "tls.crt" || h.At.Field != "" || h.Leaf() == nil {
			continue
		}
		of := pair{ca.Content, h.Content, ""}
		n, ok := known[of]
		if costly := (pair{of.ca, of.leaf, h.At.Namespace}); !ok {
			if n, ok = known[costly]; !ok {
				finding, found := secretCACosts(h), true
				if proofs.budget.Pay(h.Payer(), pki.Cost(h.Content.Certs, ca.Content.Certs)) {
					finding, found = secretCAFails(f, ca, h, clients, proofs)
				} else {
					of = costly
				}
				n = -1
				if found {
					n, out = len(out), append(out, finding)
				}
				known[of] = n
			}
		}
		if n >= 0 {
			out[n].At = append(out[n].At, ca.At, h.At)
		}
	}
	for i := range out {
		a := out[i].Assessment
		out[i].Of = func(at []pki.Location) assess.Assessment {
			secrets := make([]pki.Location, len(at))
			for j := range at {
				secrets[j] = inspect.ObjectAt(at[j])
			}
			of := a
			of.Reason = subject(secrets) + ": " + a.Reason
			return of
		}
		out[i].Assessment = out[i].Of(out[i].At)
	}
	return out
}

// secretCACosts is the finding about a tls.crt that was not compared with the ca.crt beside it.
func secretCACosts(h *inspect.Entry) assess.Finding {
	return assess.Finding{
		Assessment: assess.Assessment{
			Severity:    assess.Warning,
			Reason:      "whether ca.crt verifies tls.crt is unknown",
			Impact:      "if it does not: clients that trust this ca.crt refuse the certificate",
			Evidence:    fmt.Sprintf("whether ca.crt verifies the certificate beside it, %s, is unknown: this and others before it have many CAs of one name, large keys, or many names, constraints or policies, and verifying them costs too much", inspect.CertName(h.Leaf())),
			Remediation: assess.Advise("compare them: openssl verify -CAfile ca.crt -untrusted tls.crt tls.crt"),
		},
		Certs: []pki.Fingerprint{h.Leaf().Fingerprint}, Due: h.Leaf().NotAfter,
	}
}

// secretCAFails judges a tls.crt by the ca.crt beside it. What has expired, or has a
// signature that is refused, is for other checks to say.
func secretCAFails(f *inspect.Facts, ca, h *inspect.Entry, clients clients, proofs *proofs) (assess.Finding, bool) {
	leaf := h.Leaf()
	err := error(nil)
	if mayServe(leaf) && weakSignature(leaf.Signature).what == "" {
		verify := pki.VerifyChain
		if slices.Contains(leaf.Usages, usageServer) {
			verify = verifyServer
		}
		err = verify(h.Content.Certs, ca.Content.Certs, f.Now)
	}
	var unknown x509.UnknownAuthorityError
	if !errors.As(err, &unknown) && !constrained(err) {
		return assess.Finding{}, false
	}
	finding := assess.Finding{
		Assessment: assess.Assessment{
			Severity: assess.Warning,
			Reason:   "ca.crt does not verify tls.crt",
			Impact:   "now: clients that trust this ca.crt refuse the certificate",
			Evidence: fmt.Sprintf("ca.crt does not verify the certificate beside it, %s (%v): ca.crt holds %s, and the certificate was issued by %s",
				inspect.CertName(leaf), err, names(ca.Content.Certs), foreign.QuotedName(pki.CommonName(leaf.Issuer))),
			Remediation: assess.Advise("have what issues it write the Secret again, or put the CA there that issued it. If ca.crt is there to verify clients, nothing is wrong"),
		},
		Certs: []pki.Fingerprint{leaf.Fingerprint}, Due: leaf.NotAfter,
	}
	if constrained(err) {
		finding.Remediation = assess.Advise("have it issued by CAs that allow its names, its usage and so many CAs below them: openssl verify -purpose sslserver -CAfile ca.crt -untrusted tls.crt tls.crt")
	}
	if client := clients.issuedBy(ca.Content.Certs, h.Payer(), proofs); client != nil {
		finding.Severity, finding.Impact = assess.Info, ""
		finding.Evidence = fmt.Sprintf("ca.crt does not verify the certificate beside it, %s; it verifies clients, such as %s", inspect.CertName(leaf), inspect.CertName(client))
		finding.Remediation = assess.Remediation{}
	}
	return finding, true
}

func verifyServer(chain, roots []*pki.Cert, now time.Time) error {
	return pki.Verify(chain, roots, "", now)
}

// constrained reports whether a CA of a chain does not allow what is below it: its names, its usage, or so many
// CAs.
func constrained(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && slices.Contains([]x509.InvalidReason{
		x509.NotAuthorizedToSign, x509.CANotAuthorizedForThisName, x509.TooManyIntermediates, x509.IncompatibleUsage, x509.NameConstraintsWithoutSANs, x509.CANotAuthorizedForExtKeyUsage,
	}, invalid.Reason)
}

// clients are certificates for clients only, by their issuer's name and key identifier, which may be
// empty, and by the name and anyKey.
type clients map[[2]string][]*pki.Cert

// anyKey stands for each key identifier, as no certificate has it.
const anyKey = "any"

func clientsOf(f *inspect.Facts) clients {
	out := clients{}
	for _, c := range f.Leaves {
		if !mayServe(c.Cert) {
			for _, key := range []string{c.IssuerKey, anyKey} {
				out[[2]string{c.Issuer, key}] = append(out[[2]string{c.Issuer, key}], c.Cert)
			}
		}
	}
	return out
}

// issuedBy returns a certificate for clients that one of these CAs has issued; nil: none
// was read. A few are tried: names alone prove nothing, and signatures cost.
func (c clients) issuedBy(cas []*pki.Cert, payer string, proofs *proofs) *pki.Cert {
	tries := 3
	for _, ca := range cas {
		candidates := [][]*pki.Cert{c[[2]string{ca.Subject, anyKey}]}
		if ca.SubjectKey != "" {
			candidates = [][]*pki.Cert{c[[2]string{ca.Subject, ca.SubjectKey}], c[[2]string{ca.Subject, ""}]}
		}
		for _, some := range candidates {
			for _, client := range some {
				if ok, _ := proofs.signed(payer, client, ca); ok {
					return client
				}
				if tries--; tries == 0 {
					return nil
				}
			}
		}
	}
	return nil
}
