// Package collect is fine.
package collect

import (
	_ "net/http"
	_ "os"

	_ "github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)
