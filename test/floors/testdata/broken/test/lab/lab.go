// Package lab is fine: tests may import anything.
package lab

import (
	_ "net/http"
	_ "testing"
)
