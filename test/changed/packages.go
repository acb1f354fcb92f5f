package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// withLab is the test packages that need a lab or have a step of their own in `make test`.
var withLab = []string{"test/e2e", "test/lab", "test/bench", "test/floors", "completions"}

// readsPages is the packages whose tests read pages, the demo's data and other files outside
// of packages.
var readsPages = []string{"inspect/check", "inspect/report", "inspect/catalog", "plugin", "remediate/preflight", "test/demo/picture"}

// pkg is what `go list` says of a package.
type pkg struct {
	ImportPath, Dir                 string
	Deps, TestImports, XTestImports []string
	Module                          struct{ Path, Dir string }
}

// dir is the package's folder below the module's, with slashes.
func (p pkg) dir() string {
	rel, err := filepath.Rel(p.Module.Dir, p.Dir)
	if err != nil {
		return p.Dir
	}
	return filepath.ToSlash(rel)
}

type packages []pkg

// list is the packages of the plugin's module.
func list() (packages, error) {
	c := exec.Command("go", "list", "-json=ImportPath,Dir,Deps,TestImports,XTestImports,Module", "./...")
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go list ./...: %w", err)
	}
	var all packages
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("what go list ./... printed: %w", err)
		}
		all = append(all, p)
	}
}

// holding is the folders ("./inspect") of the packages that hold these files: of testdata, the
// package above it. Files outside of packages belong to those that read pages, and go.mod to
// all. Other modules (a go.mod in a folder above the file) are not this module's to check.
func (all packages) holding(f files) []string {
	chosen := make(map[string]bool)
	for _, p := range all {
		if f.all || slices.ContainsFunc(f.paths, func(name string) bool { return name == "go.mod" || name == "go.sum" }) {
			chosen[p.dir()] = true
		}
	}
	dirs := make(map[string]bool)
	for _, p := range all {
		dirs[p.dir()] = true
	}
	for _, name := range f.paths {
		dir := path.Dir(name)
		for dir != "." && !dirs[dir] && !isModule(dir) {
			dir = path.Dir(dir)
		}
		switch {
		case dirs[dir] && dir != ".":
			chosen[dir] = true
		case dir == ".":
			for _, reader := range readsPages {
				if dirs[reader] {
					chosen[reader] = true
				}
			}
		}
	}
	return sorted(chosen)
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.FromSlash(path.Join(dir, "go.mod")))
	return err == nil
}

// importing is these packages and those that import them, in tests too, at any remove. Those
// that need a lab are left out.
func (all packages) importing(changed []string) []string {
	reached := make(map[string]bool)
	deps := make(map[string][]string)
	for _, p := range all {
		deps[p.ImportPath] = p.Deps
		if slices.Contains(changed, "./"+p.dir()) {
			reached[p.ImportPath] = true
		}
	}
	chosen := make(map[string]bool)
	for _, p := range all {
		uses := append([]string{p.ImportPath}, p.Deps...)
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			uses = append(append(uses, imported), deps[imported]...)
		}
		if slices.ContainsFunc(uses, func(u string) bool { return reached[u] }) && !slices.ContainsFunc(withLab, func(w string) bool {
			return p.dir() == w || strings.HasPrefix(p.dir(), w+"/")
		}) {
			chosen[p.dir()] = true
		}
	}
	return sorted(chosen)
}

func sorted(dirs map[string]bool) []string {
	var out []string
	for dir := range dirs {
		out = append(out, "./"+dir)
	}
	slices.Sort(out)
	return out
}
