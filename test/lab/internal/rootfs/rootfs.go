//go:build linux

package rootfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/cgroup"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/flock"
)

// Set is one root file system and the images that go with it.
type Set struct{ folder string }

// Tree is the root file system, which must not be written to.
func (s Set) Tree() string { return filepath.Join(s.folder, "tree") }

// Images is an archive of all images, as `ctr images import` reads it.
func (s Set) Images() string { return filepath.Join(s.folder, "images.tar") }

func (s Set) built() bool {
	_, err := os.Stat(s.Images())
	return err == nil
}

// Prerequisites is nil when machines can run here, else says what is missing.
func Prerequisites() error {
	if err := cgroup.Usable(); err != nil {
		return fmt.Errorf("nodes need control groups: %w", err)
	}
	for _, tool := range []string{"mmdebstrap", "systemd-nspawn", "ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("nodes need `%s` on the PATH: `make lab-prereq` installs it on Debian", tool)
		}
	}
	_, err := source()
	return err
}

// Lookup names the set, and says whether it is built.
func Lookup() (set Set, built bool, err error) {
	set, _, _, err = find()
	return set, err == nil && set.built(), err
}

// Ensure finds the set, and builds it if it isn't in the cache; talk is told what
// it does when that takes time.
func Ensure(ctx context.Context, talk io.Writer) (Set, error) {
	set, cache, src, err := find()
	if err != nil || set.built() {
		return set, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return Set{}, fmt.Errorf("make the cache folder for the nodes' root file system: %w", err)
	}
	unlock, err := flock.Wait(ctx, filepath.Join(cache, ".nodes.lock"), func() {
		fmt.Fprintln(talk, "another command is making the nodes' root file system: waiting for it")
	})
	if err != nil {
		return Set{}, err
	}
	defer unlock()
	if set.built() { // by the process that had the lock
		return set, nil
	}
	if err := removeAborted(cache); err != nil {
		return Set{}, err
	}
	tmp, err := os.MkdirTemp(cache, ".nodes-")
	if err != nil {
		return Set{}, fmt.Errorf("make a folder for the nodes' root file system: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }() // moved away, if all went well
	fmt.Fprintf(talk, "making the nodes' root file system from Debian packages in %s: 1 to 2 minutes the first time\n", set.folder)
	start := time.Now()
	if err := build(ctx, src, Set{tmp}); err != nil {
		return Set{}, err
	}
	// It stays closed to other users, as MkdirTemp made it: there are programs in
	// it that run as root.
	if err := os.Rename(tmp, set.folder); err != nil {
		return Set{}, fmt.Errorf("move the nodes' root file system into place: %w", err)
	}
	fmt.Fprintf(talk, "made in %s\n", time.Since(start).Round(time.Second))
	return set, nil
}

// debian is where this machine's packages come from.
type debian struct {
	suite string
	file  string // in apt's format
}

func source() (debian, error) {
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return debian{}, fmt.Errorf("nodes are made of Debian's packages, and what this machine is can't be read: %w", err)
	}
	value := map[string]string{}
	for line := range strings.Lines(string(release)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		value[k] = strings.Trim(v, `"'`)
	}
	if value["ID"] != "debian" || value["VERSION_CODENAME"] == "" {
		return debian{}, fmt.Errorf("nodes are made of the packages of this machine's Debian, and it is %q", value["PRETTY_NAME"])
	}
	for _, file := range []string{"/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"} {
		if b, err := os.ReadFile(file); err == nil && strings.Contains(string(b), value["VERSION_CODENAME"]) {
			return debian{value["VERSION_CODENAME"], file}, nil
		}
	}
	return debian{}, fmt.Errorf("nodes are made of Debian's packages, and neither /etc/apt/sources.list.d/debian.sources nor /etc/apt/sources.list says where those of %s are", value["VERSION_CODENAME"])
}

// find names the set, built or not, the cache folder, and the packages' source.
func find() (Set, string, debian, error) {
	src, err := source()
	if err != nil {
		return Set{}, "", debian{}, err
	}
	list, err := os.ReadFile(src.file)
	if err != nil {
		return Set{}, "", debian{}, fmt.Errorf("read where Debian's packages are: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return Set{}, "", debian{}, fmt.Errorf("find the cache folder for the nodes' root file system: %w", err)
	}
	cache = filepath.Join(cache, "certrot-lab")
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%s\n%s\n%s\n%v\n", runtime.GOARCH, src.suite, list,
		strings.Join(packages(), " "), strings.Join(mmdebstrapFlags(), "\n"), imageList())
	return Set{filepath.Join(cache, "nodes-"+hex.EncodeToString(h.Sum(nil))[:16])}, cache, src, nil
}

// removeAborted deletes what builds that were killed have left; who has the
// lock is the only builder.
func removeAborted(cache string) error {
	left, err := filepath.Glob(filepath.Join(cache, ".nodes-*"))
	if err != nil {
		return err
	}
	for _, f := range left {
		if err := os.RemoveAll(f); err != nil {
			return fmt.Errorf("delete an aborted build: %w", err)
		}
	}
	return nil
}
