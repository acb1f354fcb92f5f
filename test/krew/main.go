// Command krew makes what a release publishes: an archive for each platform,
// their checksums, and .krew.yaml rendered to the manifest of the krew index.
// Its tests install that with krew itself. Run it by `make dist`.
//
// The same sources give the same bytes: file times and order are fixed, and the
// binaries hold neither paths nor times.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

func main() {
	version := flag.String("version", "", "semantic version with a leading v")
	out := flag.String("out", "dist", "folder to write to")
	flag.Parse()
	if err := dist(".", *out, *version); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

var semver = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// dist writes everything to the folder out; root is the checkout.
func dist(root, out, version string) error {
	if !semver.MatchString(version) {
		return fmt.Errorf("version %q: krew wants something like v1.2.3", version)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	sums := map[string]string{}
	checksums := ""
	for _, p := range platforms() {
		binary := filepath.Join(out, p.OS+"_"+p.Arch, p.binary())
		if err := build(root, binary, p, version); err != nil {
			return err
		}
		name := p.archive(version)
		sum, err := pack(filepath.Join(out, name), p, contents(root, p, binary))
		if err != nil {
			return err
		}
		sums[name] = sum
		checksums += sum + "  " + name + "\n"
		fmt.Fprintf(os.Stdout, "%s  %s\n", sum, filepath.Join(out, name))
	}
	if err := os.WriteFile(filepath.Join(out, "checksums.txt"), []byte(checksums), 0o644); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, ".krew.yaml"))
	if err != nil {
		return err
	}
	manifest, err := render(string(text), version, func(archive string) (string, error) {
		if sum, ok := sums[archive]; ok {
			return sum, nil
		}
		return "", fmt.Errorf("no archive is named %s", archive)
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "certrot.yaml"), []byte(manifest), 0o644)
}

// build compiles the plugin for a platform, as `make build` does.
func build(root, binary string, p platform, version string) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+version, "-o", binary, "./cmd/kubectl-certrot")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build for %s/%s: %w\n%s", p.OS, p.Arch, err, out)
	}
	return nil
}
