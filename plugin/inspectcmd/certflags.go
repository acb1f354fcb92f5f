package inspectcmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// certFlags choose certificates, and their order.
type certFlags struct {
	expiringWithin string
	expired        bool
	caOnly         bool
	subject        string
	issuer         string
	owner          string
	sha256         []string
	sortBy         string
}

func (f *certFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.expiringWithin, "expiring-within", "", "Only certificates and CAs that have expired or expire within this time, such as 30d, 2w or 720h; each is a finding: a warning, or info where it is renewed automatically and not overdue. Without it: a warning for what nothing renews, in its last 30 days and last fifth of its life.")
	flags.BoolVar(&f.expired, "expired", false, "Only certificates that have expired.")
	flags.BoolVar(&f.caOnly, "ca-only", false, "Only CA certificates.")
	flags.StringVar(&f.subject, "subject", "", "Only certificates with this text in their subject or in one of their names, such as api-int; case does not count.")
	flags.StringVar(&f.issuer, "issuer", "", "Only certificates with this text in their issuer, such as loadbalancer-serving-signer; case does not count.")
	flags.StringVar(&f.owner, "owner", "", "Only certificates of this owner, such as kube-apiserver-operator or user; a part of the name will do.")
	flags.StringSliceVar(&f.sha256, "sha256", nil, "Only certificates with one of these fingerprints; the first 8 hex digits will do, and colons do not count.")
	flags.StringVar(&f.sortBy, "sort-by", "", "Order of the certificates: a field of theirs as JSONPath, such as .subject or .notBefore (.notAfter).")
	ui.Must(cmd.RegisterFlagCompletionFunc("sort-by", ui.CompleteFields))
}

// chooses reports whether any flag is given that chooses certificates.
func (f *certFlags) chooses() bool {
	return f.expiringWithin != "" || f.expired || f.caOnly || f.subject != "" || f.issuer != "" || f.owner != "" || len(f.sha256) > 0
}

// fewestDigits of a fingerprint: with fewer, two certificates of one cluster
// could share them.
const fewestDigits = 8

// certChoice is what the flags say, understood.
type certChoice struct {
	certFlags
	fingerprints []string  // as Fingerprint.String begins
	order        *ui.Order // nil: as the inventory has it
}

func (f certFlags) toChoice() (certChoice, error) {
	c := certChoice{certFlags: f}
	for _, typed := range f.sha256 {
		digits := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(typed), ":", ""))
		if len(digits) < fewestDigits || len(digits) > 2*len(pki.Fingerprint{}) || strings.Trim(digits, "0123456789abcdef") != "" {
			return c, fmt.Errorf("--sha256 %q is no fingerprint: %d to %d hex digits", typed, fewestDigits, 2*len(pki.Fingerprint{}))
		}
		c.fingerprints = append(c.fingerprints, digits)
	}
	if f.sortBy != "" {
		path, err := ui.FieldPath(f.sortBy)
		if err != nil {
			return c, fmt.Errorf("--sort-by %s: %w", f.sortBy, err)
		}
		c.order = &ui.Order{Path: path}
	}
	return c, nil
}

// filter adds to fi what is chosen, as of now.
func (c certChoice) filter(fi report.Filter, within time.Duration, now time.Time) report.Filter {
	if c.owner != "" {
		fi.Owner = func(owner string) bool { return hasPart(owner, c.owner) }
	}
	itself := c.certFlags
	itself.owner = ""
	if !itself.chooses() { // a Cert that lets all pass would leave findings out that are about none
		return fi
	}
	fi.Cert = func(cert *pki.Cert) bool {
		return (!c.caOnly || cert.IsCA) &&
			(!c.expired || cert.NotAfter.Before(now)) &&
			(c.expiringWithin == "" || cert.NotAfter.Sub(now) <= within) && // what has expired, too: it is the worst of them
			hasPart(cert.Issuer, c.issuer) &&
			(hasPart(cert.Subject, c.subject) || named(cert.Names, c.subject)) &&
			begins(cert.Fingerprint.String(), c.fingerprints)
	}
	return fi
}

// hasPart reports whether a part occurs in a text, whatever their case.
func hasPart(text, part string) bool {
	return part == "" || strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

func named(n pki.Names, part string) bool {
	for _, names := range [][]string{n.DNS, n.IPs, n.Others} {
		for _, name := range names {
			if hasPart(name, part) {
				return true
			}
		}
	}
	return false
}

func begins(fingerprint string, with []string) bool {
	for _, digits := range with {
		if strings.HasPrefix(fingerprint, digits) {
			return true
		}
	}
	return len(with) == 0
}
