// Package completions holds what makes the Tab key work: the shim that kubectl
// and oc look for on PATH, and the completion scripts of the common shells,
// which `make generate` writes with the plugin itself.
//
// kubectl asks a program named kubectl_complete-certrot what may follow "kubectl
// certrot", and oc asks oc_complete-certrot: the same script under two names.
package completions
