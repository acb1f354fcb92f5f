// Package pkitest is fine: only tests import it.
package pkitest

import (
	_ "os"
	_ "testing"
)
