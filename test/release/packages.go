package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// packageFormat is a kind of package of Linux distributions.
type packageFormat struct {
	packager nfpm.Packager
	// licenses is the folder where its users look for licenses, and the name of ours there.
	licenses, license string
	zsh               string // where zsh looks for completions of packages
}

func packageFormats() []packageFormat {
	return []packageFormat{
		{deb.Default, "/usr/share/doc/kubectl-certrot", "copyright", "/usr/share/zsh/vendor-completions"},
		{rpm.DefaultRPM, "/usr/share/licenses/kubectl-certrot", "LICENSE", "/usr/share/zsh/site-functions"},
	}
}

// writePackage writes a package of a platform into the folder out, and names it.
func (f packageFormat) writePackage(root, out string, p platform, parts parts, version string, made time.Time) (name string, err error) {
	completions := filepath.Join(root, "completions")
	shim := filepath.Join(completions, "kubectl_complete-certrot")
	contents := files.Contents{
		packaged(parts.binary, "/usr/bin/kubectl-certrot", 0o755),
		packaged(shim, "/usr/bin/kubectl_complete-certrot", 0o755),
		packaged(shim, "/usr/bin/oc_complete-certrot", 0o755),
		packaged(filepath.Join(completions, "certrot.bash"), "/usr/share/bash-completion/completions/kubectl-certrot", 0o644),
		packaged(filepath.Join(completions, "certrot.fish"), "/usr/share/fish/vendor_completions.d/kubectl-certrot.fish", 0o644),
		packaged(filepath.Join(completions, "certrot.zsh"), f.zsh+"/_kubectl-certrot", 0o644),
		packaged(filepath.Join(root, "LICENSE"), f.licenses+"/"+f.license, 0o644),
		packaged(parts.notice, f.licenses+"/"+filepath.Base(parts.notice), 0o644),
	}
	for _, page := range parts.manPages {
		page, err := gzipped(page)
		if err != nil {
			return "", err
		}
		contents = append(contents, packaged(page, "/usr/share/man/man1/"+filepath.Base(page), 0o644))
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "kubectl-certrot", Arch: p.Arch, Platform: p.OS, Version: version, MTime: made,
		Section: "admin", Priority: "optional",
		Maintainer:  "The maintainers of kubectl-certrot <kubectl-certrot@users.noreply.github.com>",
		Homepage:    "https://github.com/kubectl-certrot/kubectl-certrot",
		License:     "Apache-2.0",
		Description: "Inspect and repair OpenShift and Kubernetes certificates\nA plugin of kubectl and oc.",
		Overridables: nfpm.Overridables{
			Contents: contents,
			RPM:      nfpm.RPM{BuildHost: "localhost", Summary: "Inspect and repair OpenShift and Kubernetes certificates"},
		},
	})
	name = f.packager.ConventionalFileName(info)
	file, err := os.Create(filepath.Join(out, name))
	if err != nil {
		return "", err
	}
	defer func() {
		if e := file.Close(); err == nil {
			err = e
		}
	}()
	if err := f.packager.Package(info, file); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return name, nil
}

// packaged is a file of a package, with the owner, mode and time that it has in any.
func packaged(from, to string, mode os.FileMode) *files.Content {
	return &files.Content{Source: from, Destination: to, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode}}
}
