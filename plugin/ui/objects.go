package ui

import (
	"encoding/pem"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// printNames prints each object that holds a certificate once, as kubectl does and takes it:
// secret/NAME, without its namespace. A file on a node is its node's; one of this machine is
// in no object.
func printNames(w io.Writer, inv *report.Inventory, _ assess.Severity) error {
	type object struct {
		kind            pki.Kind
		namespace, name string
	}
	seen := map[object]bool{}
	for i := range inv.Certificates {
		for _, at := range inv.Certificates[i].Locations() {
			name, ok := collect.ObjectName(at)
			o := object{at.Kind, at.Namespace, name}
			if !ok || seen[o] {
				continue
			}
			seen[o] = true
			if _, err := fmt.Fprintln(w, pki.Foreign(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// printPEM prints each certificate as PEM, behind comments that say what it is: openssl and every
// reader of PEM passes over them.
func printPEM(w io.Writer, inv *report.Inventory, _ assess.Severity) error {
	for i := range inv.Certificates {
		c := &inv.Certificates[i]
		pemComment(w, pki.Foreign(c.Subject))
		pemComment(w, "sha256 "+c.Fingerprint.String())
		pemComment(w, "valid from "+c.NotBefore.UTC().Format(time.RFC3339)+" until "+c.NotAfter.UTC().Format(time.RFC3339))
		for _, at := range inspect.Fold(c.Locations()) {
			pemComment(w, at)
		}
		if _, err := w.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.DER})); err != nil {
			return err
		}
	}
	return nil
}

// pemLine is how long a comment between PEM blocks may be, in bytes: OpenSSL takes each 254 bytes
// for a line, wherever they stand.
const pemLine = 160

// pemComment writes a text that no reader of PEM takes for the beginning of a block, or its end.
func pemComment(w io.Writer, s string) {
	line := "#"
	for _, r := range " " + strings.ReplaceAll(Clean(s), "--", `-\x2d`) {
		if len(line) > pemLine {
			Printf(w, "%s\n", line)
			line = "#     " // no line of its own begins so
		}
		line += string(r)
	}
	Printf(w, "%s\n", line)
}
