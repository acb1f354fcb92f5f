// Package completions holds what makes the Tab key work: the shim that kubectl
// and oc look for on PATH, and the completion scripts of the common shells,
// which `make generate` writes with the plugin itself.
//
// kubectl asks a program named kubectl_complete-certrot what may follow "kubectl
// certrot", and oc asks oc_complete-certrot: the same script under two names.
package completions

import _ "embed" // for the shim

//go:embed kubectl_complete-certrot
var shim string

// Shim is the POSIX sh script to put on PATH, executable, under each of
// ShimNames.
func Shim() string { return shim }

// ShimNames are the names by which kubectl and oc find the shim.
func ShimNames() []string { return []string{"kubectl_complete-certrot", "oc_complete-certrot"} }
