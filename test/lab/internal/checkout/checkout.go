// Package checkout finds the project's own files and says what the lab needs of
// the machine.
package checkout

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

const module = "module github.com/kubectl-certrot/kubectl-certrot\n"

// Root is the folder of the project's go.mod, at or above the current one.
func Root() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		if b, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(b), module) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find the checkout: no go.mod of this project at or above %s: run this inside the checkout, or set LAB_DIR", wd)
		}
	}
}

// Components is the folder of the components' module.
func Components(root string) string { return filepath.Join(root, "test", "lab", "components") }

// Prerequisites is nil when this machine can run a lab, else says what is missing.
func Prerequisites() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the lab needs Linux (namespaces), this is %s", runtime.GOOS)
	}
	if os.Geteuid() != 0 {
		return errors.New("the lab needs root, for network and mount namespaces")
	}
	for _, tool := range []string{"ip", "nsenter", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("the lab needs `%s` on the PATH: `make lab-prereq` installs what it can", tool)
		}
	}
	return nil
}
