// Package inspect reads what it should be given.
package inspect

import _ "github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
