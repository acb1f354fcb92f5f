// Package pki reads files and asks the catalog.
package pki

import (
	_ "crypto/x509" // fine, although it imports net itself
	_ "os"

	_ "github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)
