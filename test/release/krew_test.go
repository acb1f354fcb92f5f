package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestInstall does what a user of this platform does: krew installs the archive
// by the rendered manifest, and what it linked runs.
func TestInstall(t *testing.T) {
	runnable(t)
	p := linux
	k := newKrew(t)
	archives, manifest := publish(t, tag, filepath.Join(releaseOf(t), p.archive(tag)))
	k.install(t, p, manifest, archives[p])

	linked := filepath.Join(k.root, "bin", "kubectl-certrot")
	out, err := exec.Command(linked, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "certrot "+tag+" ") {
		t.Errorf("%s version: %v\n%s, want certrot %s", linked, err, out, tag)
	}
	shim := filepath.Join(k.root, "store", "certrot", tag, "kubectl_complete-certrot")
	info, err := os.Stat(shim)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode()&0o111 == 0 {
		t.Errorf("%s is not executable: %s", shim, info.Mode())
	}
	// The same as the caveats of .krew.yaml tell the user to do.
	cmd := exec.Command(shim, "ins")
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(linked)+":/usr/bin:/bin")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "inspect") {
		t.Errorf("%s ins: %v\n%s", shim, err, out)
	}

	// Uninstalling is the only thing here that wants an index; an empty one will do.
	if out, err := exec.Command("git", "init", "-q", filepath.Join(k.root, "index", "default")).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	k.run(t, p, "uninstall", "certrot")
	if _, err := os.Lstat(linked); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after krew uninstall: %v", err)
	}
}

// TestInstallEveryPlatform has krew take itself for each platform in turn, so
// that selectors, names, sums and archive kinds are what it wants. The programs
// are placeholders: what can't be run here need not be built here.
func TestInstallEveryPlatform(t *testing.T) {
	archives, manifest := publish(t, tag)
	for _, p := range platforms() {
		if p.Arch == "s390x" { // TestKrewsValidator: the index takes none
			continue
		}
		t.Run(p.String(), func(t *testing.T) {
			k := newKrew(t)
			k.install(t, p, manifest, archives[p])
			link := "kubectl-certrot"
			if p.OS == "windows" {
				link += ".exe"
			}
			got, err := os.ReadFile(filepath.Join(k.root, "bin", link))
			if err != nil {
				t.Fatal(err)
			}
			if want := p.String(); string(got) != want {
				t.Errorf("installed the program of %s, want %s", got, want)
			}
			if _, err := os.Stat(filepath.Join(k.root, "store", "certrot", tag, "LICENSE")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestKrewRefusesAnotherArchive(t *testing.T) {
	archives, manifest := publish(t, tag)
	p := platform{"linux", "amd64"}
	out, err := newKrew(t).command(p, "install", "--manifest="+manifest, "--archive="+archives[platform{"linux", "arm64"}]).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "checksum") {
		t.Errorf("krew took an archive with another sum: %v\n%s", err, out)
	}
}

func TestArchiveContents(t *testing.T) {
	for _, p := range platforms() {
		path := filepath.Join(t.TempDir(), p.archive(tag))
		if err := pack(path, p, contents(root, p, placeholders(t, p)), made); err != nil {
			t.Fatal(err)
		}
		want := "LICENSE 644, THIRD_PARTY_LICENSES 644, kubectl-certrot 755, kubectl_complete-certrot 755, man/man1/kubectl-certrot.1 644"
		if p.OS == "windows" {
			want = "LICENSE 644, THIRD_PARTY_LICENSES 644, kubectl-certrot.exe 755"
		}
		if got := strings.Join(listing(t, path), ", "); got != want {
			t.Errorf("%v: got %s, want %s", p, got, want)
		}
	}
}

func TestRenderNamesWhatIsMissing(t *testing.T) {
	_, err := render(`{{addURIAndSha "https://example.com/{{ .TagName }}/a.zip" .TagName }}`, tag, func(archive string) (string, error) {
		return "", fmt.Errorf("no archive is named %s", archive)
	})
	if err == nil || !strings.Contains(err.Error(), "no archive is named a.zip") {
		t.Errorf("got %v", err)
	}
}

// publish packs archives of a version, of placeholders where there is no real one, and renders the
// manifest with their sums.
func publish(t *testing.T, version string, real ...string) (archives map[platform]string, manifest string) {
	t.Helper()
	dir := t.TempDir()
	archives = map[platform]string{}
	published := published{dir: dir}
	for _, p := range platforms() {
		name := p.archive(version)
		archives[p] = filepath.Join(dir, name)
		if i := slices.IndexFunc(real, func(path string) bool { return filepath.Base(path) == name }); i >= 0 {
			data, err := os.ReadFile(real[i])
			if err == nil {
				err = os.WriteFile(archives[p], data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		} else if err := pack(archives[p], p, contents(root, p, placeholders(t, p)), made); err != nil {
			t.Fatal(err)
		}
		if err := published.add(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := (release{root: root, out: dir, version: version, made: made}).writeManifest(published.sumOf); err != nil {
		t.Fatal(err)
	}
	return archives, filepath.Join(dir, manifestFile)
}

// krew is the real one, with an empty home of its own.
type krew struct{ program, root string }

func newKrew(t *testing.T) krew {
	t.Helper()
	return krew{goTool(t, "krew"), t.TempDir()}
}

// goTool gives a program of ../tools.
func goTool(t *testing.T, name string) string {
	t.Helper()
	tools, err := filepath.Abs("../tools/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	// go tool -n builds the tool if need be, and prints where it is.
	out, err := exec.Command("go", "tool", "-modfile="+tools, "-n", name).Output()
	if err != nil {
		t.Fatalf("go tool %s: %v\n%s", name, err, stderrOf(err))
	}
	return strings.TrimSpace(string(out))
}

// command runs krew as if on p. With --manifest and --archive it needs neither
// an index nor the network; it has neither a proxy nor a home to look into.
func (k krew) command(p platform, args ...string) *exec.Cmd {
	cmd := exec.Command(k.program, args...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + k.root,
		"TMPDIR=" + os.TempDir(),
		"KREW_ROOT=" + k.root,
		"KREW_OS=" + p.OS,
		"KREW_ARCH=" + p.Arch,
		"KREW_NO_UPGRADE_CHECK=1",
	}
	return cmd
}

func (k krew) run(t *testing.T, p platform, args ...string) {
	t.Helper()
	if out, err := k.command(p, args...).CombinedOutput(); err != nil {
		t.Fatalf("krew %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (k krew) install(t *testing.T, p platform, manifest, archive string) {
	t.Helper()
	k.run(t, p, "install", "--manifest="+manifest, "--archive="+archive)
}

func stderrOf(err error) []byte {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.Stderr
	}
	return nil
}

// listing is the names and modes in an archive.
func listing(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	if strings.HasSuffix(path, ".zip") {
		r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			names = append(names, fmt.Sprintf("%s %o", f.Name, f.Mode().Perm()))
		}
		return names
	}
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(zr); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, fmt.Sprintf("%s %o", h.Name, h.Mode))
	}
}
