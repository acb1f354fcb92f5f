package apply

import "github.com/kubectl-certrot/kubectl-certrot/inspect/pki"

// CertsIn are the certificates in PEM text.
func CertsIn(text []byte) []*pki.Cert {
	var out []*pki.Cert
	for _, found := range pki.NewScanner().Scan(text) {
		out = append(out, found.Content.Certs...)
	}
	return out
}
