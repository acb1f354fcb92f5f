package main

import (
	"slices"
	"strings"
)

// target is a target of the Makefile that is too long for each `make test`.
type target struct {
	name  string
	files []string // folders, or files, below the checkout's
}

// targets is what a change of these files needs beside `make test`, the longest last. Each is
// explained in docs/testing.md.
var targets = []target{
	{"dates", []string{"test/dates", "inspect/catalog"}},
	{"fuzz-inputs", []string{"foreign", "inspect/catalog", "inspect/collect", "inspect/pki", "nodeexec", "plugin/cli", "remediate/kubeconfig"}},
	{"reproduce", []string{"test/release", "cmd", "go.mod"}},
	{"every-step", []string{"inspect/collect", "nodeexec/host", "remediate", "plugin"}},
}

// targetsOf is the names of the targets that these files concern.
func targetsOf(f files) []string {
	var out []string
	for _, t := range targets {
		if f.all || slices.ContainsFunc(f.paths, func(name string) bool {
			return slices.ContainsFunc(t.files, func(file string) bool { return name == file || strings.HasPrefix(name, file+"/") })
		}) {
			out = append(out, t.name)
		}
	}
	return out
}
