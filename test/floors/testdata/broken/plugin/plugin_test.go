package plugin

import _ "github.com/kubectl-certrot/kubectl-certrot/test/lab"
