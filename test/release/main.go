// Command release makes what a release publishes: an archive for each platform,
// their checksums, and .krew.yaml rendered to the manifest of the krew index.
// Its tests install that with krew itself. Run it by `make dist`.
//
// The same sources give the same bytes: times are those of the commit, the order
// is fixed, and the binaries hold neither paths nor times.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func main() {
	version := flag.String("version", "", "semantic version with a leading v")
	root := flag.String("root", "../..", "the checkout")
	out := flag.String("out", "../../dist", "folder to write to")
	only := flag.String("platforms", "", "such as linux/amd64,linux/s390x; empty: all, and the manifest of the krew index")
	flag.Parse()
	if err := run(*root, *out, *version, *only); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(root, out, version, only string) error {
	if !semver.MatchString(version) {
		return fmt.Errorf("version %q: krew wants something like v1.2.3", version)
	}
	wanted, err := platformsNamed(only)
	if err != nil {
		return err
	}
	made, err := sourceTime(root)
	if err != nil {
		return err
	}
	return release{root: root, out: out, version: version, made: made}.dist(wanted)
}

var semver = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// release is what is made of which sources.
type release struct {
	root    string // the checkout
	out     string // folder to write to
	version string
	made    time.Time // the time of each file that is written
}

// sourceTime is when the sources were made: SOURCE_DATE_EPOCH, which says it for any
// build (reproducible-builds.org), else the time of the commit.
func sourceTime(root string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.Command("git", "-C", root, "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("the time of the commit, for lack of SOURCE_DATE_EPOCH: git log in %s: %w", root, err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the time of the sources in seconds since 1970: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// dist writes everything for these platforms; for all of them, the manifest too.
func (r release) dist(wanted []platform) error {
	if err := r.clear(); err != nil {
		return err
	}
	pages, err := writeManPages(filepath.Join(r.out, "man", "man1"), r.version, r.made)
	if err != nil {
		return err
	}
	published := published{dir: r.out}
	images := map[platform]v1.Image{}
	for _, p := range wanted {
		parts, err := r.parts(p)
		if err != nil {
			return err
		}
		parts.manPages = pages
		names, err := r.publish(p, parts)
		if err != nil {
			return err
		}
		if p.OS == "linux" {
			if images[p], err = image(r.root, r.version, p, parts, r.made); err != nil {
				return err
			}
		}
		for _, name := range names {
			if err := published.add(name); err != nil {
				return err
			}
		}
	}
	if len(images) > 0 {
		name := "kubectl-certrot_" + r.version + "_image.tar"
		if err := writeImages(filepath.Join(r.out, name), images, r.made); err != nil {
			return err
		}
		if err := published.add(name); err != nil {
			return err
		}
	}
	if len(wanted) == len(platforms()) {
		if err := r.writeManifest(published.sumOf); err != nil {
			return err
		}
		if err := published.add(manifestFile); err != nil {
			return err
		}
	}
	return published.writeChecksums()
}

// clear makes the folder, without what an earlier release left there. Other files stay: the folder may be a user's.
func (r release) clear() error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	patterns := []string{"kubectl-certrot_v*", "kubectl-certrot_*.deb", "kubectl-certrot-*.rpm", manifestFile, "checksums.txt*", "man/man1/kubectl-certrot*.1", "man/man1/kubectl-certrot*.1.gz"}
	for _, p := range platforms() {
		patterns = append(patterns, p.folder()+"/"+p.binary(), p.folder()+"/"+noticeFile)
	}
	for _, pattern := range patterns {
		old, err := filepath.Glob(filepath.Join(r.out, pattern))
		if err != nil {
			return err
		}
		for _, path := range old {
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("remove what an earlier release left: %w", err)
			}
		}
	}
	return nil
}

// noticeFile has the licenses of what is linked.
const noticeFile = "THIRD_PARTY_LICENSES"

// parts makes the program of a platform, and the licenses of what is linked.
func (r release) parts(p platform) (parts, error) {
	dir := filepath.Join(r.out, p.folder())
	made := parts{binary: filepath.Join(dir, p.binary()), notice: filepath.Join(dir, noticeFile)}
	modules, err := linkedModules(r.root, p)
	if err != nil {
		return parts{}, err
	}
	if err := checkLicenses(modules); err != nil {
		return parts{}, err
	}
	if err := build(r.root, made.binary, p, r.version); err != nil {
		return parts{}, err
	}
	return made, writeNotice(made.notice, modules)
}

// publish writes what users of a platform download, and names it in order.
func (r release) publish(p platform, parts parts) ([]string, error) {
	archive := p.archive(r.version)
	if err := pack(filepath.Join(r.out, archive), p, contents(r.root, p, parts), r.made); err != nil {
		return nil, err
	}
	names := []string{archive, archive + ".cdx.json"}
	if err := writeSBOM(filepath.Join(r.out, names[1]), parts.binary, r.version, r.made); err != nil {
		return nil, err
	}
	if p.OS != "linux" {
		return names, nil
	}
	for _, format := range packageFormats() {
		name, err := format.writePackage(r.root, r.out, p, parts, r.version, r.made)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// writeManifest writes the manifest of the krew index.
func (r release) writeManifest(sumOf func(archive string) (string, error)) error {
	text, err := os.ReadFile(filepath.Join(r.root, ".krew.yaml"))
	if err != nil {
		return err
	}
	manifest, err := render(string(text), r.version, sumOf)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, manifestFile), []byte(manifest), 0o644)
}

// manifestFile is named as the krew index names it.
const manifestFile = "certrot.yaml"

// build compiles the plugin for a platform, as `make build` does.
func build(root, binary string, p platform, version string) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+version, "-o", binary, "./cmd/kubectl-certrot")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOOS="+p.OS, "GOARCH="+p.Arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build for %s/%s: %w\n%s", p.OS, p.Arch, err, out)
	}
	return nil
}
