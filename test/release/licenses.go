package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowedLicenses are those under which a module may be linked, by their SPDX identifiers.
// Each lets the whole be given on under Apache-2.0, with its text beside it.
func allowedLicenses() []string {
	return []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}
}

// licensed is a module that is linked, with the files that say under which license.
type licensed struct {
	path, version string
	files         []string
}

// linkedModules are the modules of all packages that the plugin of a platform is made of,
// and Go's own library, in order.
func linkedModules(root string, p platform) ([]licensed, error) {
	list := exec.Command("go", "list", "-deps", "-json=Dir,Standard,Module", "./cmd/kubectl-certrot")
	list.Dir = root
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOOS="+p.OS, "GOARCH="+p.Arch)
	out, err := output(list)
	if err != nil {
		return nil, err
	}
	goroot, err := output(exec.Command("go", "env", "GOROOT", "GOVERSION"))
	if err != nil {
		return nil, err
	}
	std := strings.Fields(string(goroot))
	modules := map[string]*licensed{"std": {path: "std", version: std[1], files: []string{filepath.Join(std[0], "LICENSE")}}}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg struct {
			Dir      string
			Standard bool
			Module   *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := decoder.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if pkg.Standard || pkg.Module == nil || pkg.Module.Main {
			continue
		}
		m := modules[pkg.Module.Path]
		if m == nil {
			m = &licensed{path: pkg.Module.Path, version: pkg.Module.Version}
			modules[pkg.Module.Path] = m
		}
		// A folder may have a license of its own, for what its module copied.
		for dir := pkg.Dir; strings.HasPrefix(dir, pkg.Module.Dir); dir = filepath.Dir(dir) {
			files, err := licenseFiles(dir)
			if err != nil {
				return nil, err
			}
			m.files = append(m.files, files...)
		}
	}
	var all []licensed
	for _, m := range modules {
		slices.Sort(m.files)
		m.files = slices.Compact(m.files)
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b licensed) int { return cmp.Compare(a.path, b.path) })
	return all, nil
}

var (
	licenseName = regexp.MustCompile(`(?i)^(licen[cs]es?|copying|notice|patents)([-._].*)?$`)
	noticeName  = regexp.MustCompile(`(?i)^(notice|patents)`) // which say more than a license, and are none
)

// licenseFiles are the files of a folder that are named as licenses and notices are.
func licenseFiles(dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && licenseName.MatchString(e.Name()) && filepath.Ext(e.Name()) != ".go" {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}

// licensesOf are the licenses in some files, by their SPDX identifiers.
func licensesOf(files []string) (ids []string, err error) {
	for _, file := range files {
		if noticeName.MatchString(filepath.Base(file)) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found := licensecheck.Scan(text)
		if found.Percent < 60 { // lists of whose each part is are not a license's text
			return nil, fmt.Errorf("%s: only %.0f %% of it are the text of a license", file, found.Percent)
		}
		for _, m := range found.Match {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// checkLicenses says which modules may not be linked, and why.
func checkLicenses(modules []licensed) error {
	var bad []error
	for _, m := range modules {
		ids, err := licensesOf(m.files)
		switch {
		case err != nil:
			bad = append(bad, fmt.Errorf("%s %s: %w", m.path, m.version, err))
		case len(ids) == 0:
			bad = append(bad, fmt.Errorf("%s %s has no license", m.path, m.version))
		}
		for _, id := range ids {
			if !slices.Contains(allowedLicenses(), id) {
				bad = append(bad, fmt.Errorf("%s %s is under %s, which is not one of %v", m.path, m.version, id, allowedLicenses()))
			}
		}
	}
	return errors.Join(bad...)
}

// writeNotice writes the licenses and notices of all modules to a file, each text once.
func writeNotice(path string, modules []licensed) error {
	var texts []string
	of := map[string][]string{}
	for _, m := range modules {
		for _, file := range m.files {
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			text := strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
			if of[text] == nil {
				texts = append(texts, text)
			}
			if name := m.path + " " + m.version; !slices.Contains(of[text], name) {
				of[text] = append(of[text], name)
			}
		}
	}
	var b strings.Builder
	b.WriteString("kubectl-certrot is linked with these modules, under these licenses.\n")
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(of[text], "\n"), text)
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// output is what a command prints; an error has what it complained of.
func output(cmd *exec.Cmd) ([]byte, error) {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return out, nil
}
