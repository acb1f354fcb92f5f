// Package plugin has a dependency that is too big.
package plugin

import (
	_ "example.com/third"
	_ "github.com/spf13/cobra"
)
