// Package nodeexec knows what it carries.
package nodeexec

import _ "github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
