package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sassoftware/go-rpmutils"
)

// TestDeb installs the package into an empty root by dpkg, runs what it installed, and
// removes it.
func TestDeb(t *testing.T) {
	runnable(t)
	dpkg := tool(t, "dpkg")
	if os.Getuid() != 0 {
		t.Skip("not on this platform: dpkg --root changes its root, which needs the right to")
	}
	dir := t.TempDir()
	for _, sub := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(dir, "var/lib/dpkg", sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "var/lib/dpkg/status"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(dpkg, append([]string{"--root=" + dir, "--log=/dev/null"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("dpkg %v: %v\n%s", args, err, out)
		}
	}
	run("--install", "--force-architecture", filepath.Join(releaseOf(t), "kubectl-certrot_0.1.2~rc.3_amd64.deb"))
	run("--verify", "kubectl-certrot")
	installed(t, dir, "usr/share/doc/kubectl-certrot/copyright", "usr/share/doc/kubectl-certrot/THIRD_PARTY_LICENSES", "usr/share/zsh/vendor-completions/_kubectl-certrot")
	run("--remove", "kubectl-certrot")
	if _, err := os.Lstat(filepath.Join(dir, "usr")); err == nil {
		t.Error("dpkg --remove left files below /usr")
	}
}

// TestRPM reads the package, and runs what is in it.
func TestRPM(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(releaseOf(t), "kubectl-certrot-0.1.2~rc.3-1.x86_64.rpm"))
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := rpmutils.ReadRpm(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	name, err := pkg.Header.GetNEVRA()
	if err != nil {
		t.Fatal(err)
	}
	if got := name.String(); !strings.Contains(got, "kubectl-certrot-0:0.1.2~rc.3-1.x86_64") && !strings.Contains(got, "kubectl-certrot-0.1.2~rc.3-1.x86_64") {
		t.Errorf("it is %s", got)
	}
	if built, err := pkg.Header.GetInt(rpmutils.BUILDTIME); err != nil || int64(built) != made.Unix() {
		t.Errorf("built at %d: %v, want the time of the sources", built, err)
	}
	dir := t.TempDir()
	unpackRPM(t, pkg, dir)
	runnable(t)
	installed(t, dir, "usr/share/licenses/kubectl-certrot/LICENSE", "usr/share/licenses/kubectl-certrot/THIRD_PARTY_LICENSES", "usr/share/zsh/site-functions/_kubectl-certrot")
}

// unpackRPM puts a package's files below a folder, with the modes that it gives them.
func unpackRPM(t *testing.T, pkg *rpmutils.Rpm, dir string) {
	t.Helper()
	if err := pkg.ExpandPayload(dir); err != nil {
		t.Fatal(err)
	}
	files, err := pkg.Header.GetFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.UserName() != "root" || f.GroupName() != "root" {
			t.Errorf("%s belongs to %s of %s", f.Name(), f.UserName(), f.GroupName())
		}
		if err := os.Chmod(filepath.Join(dir, f.Name()), os.FileMode(f.Mode()&0o777)); err != nil {
			t.Fatal(err)
		}
	}
}

// installed checks what a package put below a root, and runs the program there.
func installed(t *testing.T, dir string, also ...string) {
	t.Helper()
	for _, name := range append(also, "usr/share/man/man1/kubectl-certrot-inspect.1.gz",
		"usr/share/bash-completion/completions/kubectl-certrot", "usr/share/fish/vendor_completions.d/kubectl-certrot.fish") {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != 0o644 || info.Size() == 0 {
			t.Errorf("%s: mode %s, %d bytes", name, info.Mode(), info.Size())
		}
	}
	bin := filepath.Join(dir, "usr/bin")
	out, err := exec.Command(filepath.Join(bin, "kubectl-certrot"), "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "certrot "+tag+" ") {
		t.Errorf("kubectl-certrot version: %v\n%s", err, out)
	}
	for _, shim := range []string{"kubectl_complete-certrot", "oc_complete-certrot"} {
		cmd := exec.Command(filepath.Join(bin, shim), "ins")
		cmd.Env = append(os.Environ(), "PATH="+bin+":/usr/bin:/bin")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "inspect") {
			t.Errorf("%s ins: %v\n%s", shim, err, out)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "usr"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"bin", "share"}; !slices.Equal(names, want) {
		t.Errorf("below /usr are %v, want %v", names, want)
	}
}

func TestPackagesOfEveryLinux(t *testing.T) {
	dir := t.TempDir()
	var got []string
	for _, p := range platforms() {
		if p.OS != "linux" {
			continue
		}
		for _, f := range packageFormats() {
			name, err := f.writePackage(root, dir, p, placeholders(t, p), tag, made)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, name)
		}
	}
	want := []string{
		"kubectl-certrot_0.1.2~rc.3_amd64.deb", "kubectl-certrot-0.1.2~rc.3-1.x86_64.rpm",
		"kubectl-certrot_0.1.2~rc.3_arm64.deb", "kubectl-certrot-0.1.2~rc.3-1.aarch64.rpm",
		"kubectl-certrot_0.1.2~rc.3_ppc64el.deb", "kubectl-certrot-0.1.2~rc.3-1.ppc64le.rpm",
		"kubectl-certrot_0.1.2~rc.3_s390x.deb", "kubectl-certrot-0.1.2~rc.3-1.s390x.rpm",
	}
	if !slices.Equal(got, want) {
		t.Errorf("packages are %v, want %v", got, want)
	}
}
