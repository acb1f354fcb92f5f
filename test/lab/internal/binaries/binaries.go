package binaries

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

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/flock"
)

// KubernetesVersion is what the components say of themselves. It must be the one
// in components/go.mod, which is why Ensure compares the two.
const KubernetesVersion = "v1.35.4"

// Names are the programs of a built set.
func Names() []string {
	return []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl", "oc", rotation}
}

// rotation is a program that is built from a module of its own, and so is its folder
// in the components': what library-go asks for would change Kubernetes' dependencies.
const (
	rotation       = "cert-rotation"
	rotationModule = "rotation"
)

// Set is one built set of components: folders in the cache.
type Set struct{ folder, rotation string }

// Folder is the set's places in the cache.
func (s Set) Folder() string { return s.folder + " " + s.rotation }

// Cache is the folder of all sets, of each lab on this machine.
func (s Set) Cache() string { return filepath.Dir(s.folder) }

// Bin is one of the programs.
func (s Set) Bin(name string) string {
	if name == rotation {
		return filepath.Join(s.rotation, name)
	}
	return filepath.Join(s.folder, "bin", name)
}

// CRDs is the folder of OpenShift's CustomResourceDefinitions.
func (s Set) CRDs() string { return filepath.Join(s.folder, "crds") }

// Lookup names the set for the components' module, and says whether it is built.
func Lookup(module string) (set Set, built bool, err error) {
	set, _, err = find(module)
	return set, err == nil && set.built(), err
}

// Ensure finds the set for the components' module, and builds it if it isn't in
// the cache; talk is told what it does when that takes time.
func Ensure(ctx context.Context, module string, talk io.Writer) (Set, error) {
	set, cache, err := find(module)
	if err != nil {
		return Set{}, err
	}
	if set.built() {
		return set, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return Set{}, fmt.Errorf("make the cache folder for the lab's components: %w", err)
	}
	unlock, err := waitForBuilder(ctx, cache, talk)
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
	start := time.Now()
	b := builder{module: module, ldflags: kubernetesLdflags(), talk: talk}
	if !there(set.Bin("etcd")) {
		fmt.Fprintf(talk, "building the lab's components into %s: 5 to 8 minutes the first time\n", set.folder)
		if err := inPlace(cache, set.folder, func(tmp string) error { return b.build(ctx, Set{folder: tmp}) }); err != nil {
			return Set{}, err
		}
	}
	if !there(set.Bin(rotation)) {
		fmt.Fprintf(talk, "building %s into %s: a minute the first time\n", rotation, set.rotation)
		if err := inPlace(cache, set.rotation, func(tmp string) error { return b.rotation(ctx, Set{rotation: tmp}) }); err != nil {
			return Set{}, err
		}
	}
	fmt.Fprintf(talk, "built in %s\n", time.Since(start).Round(time.Second))
	return set, nil
}

// inPlace makes a folder in the cache as a whole or not at all.
func inPlace(cache, folder string, build func(tmp string) error) error {
	tmp, err := os.MkdirTemp(cache, ".build-")
	if err != nil {
		return fmt.Errorf("make a folder to build in: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }() // moved away, if all went well
	if err := build(tmp); err != nil {
		return err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return fmt.Errorf("open the built folder to readers: %w", err)
	}
	if err := os.Rename(tmp, folder); err != nil {
		return fmt.Errorf("move the built components into place: %w", err)
	}
	return nil
}

// find names the set for the module, built or not, and the cache folder.
func find(module string) (set Set, cache string, err error) {
	key, err := key(module, kubernetesLdflags())
	if err != nil {
		return Set{}, "", err
	}
	rotationKey, err := sourceKey(filepath.Join(module, rotationModule))
	if err != nil {
		return Set{}, "", err
	}
	if cache, err = os.UserCacheDir(); err != nil {
		return Set{}, "", fmt.Errorf("find the cache folder for the lab's components: %w", err)
	}
	cache = filepath.Join(cache, "certrot-lab")
	return Set{filepath.Join(cache, key), filepath.Join(cache, rotationModule+"-"+rotationKey)}, cache, nil
}

// built is true for folders that were moved into place, which happens as a whole.
func (s Set) built() bool { return there(s.Bin("etcd")) && there(s.Bin(rotation)) }

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// removeAborted deletes what builds that were killed have left; who has the
// lock is the only builder.
func removeAborted(cache string) error {
	left, err := filepath.Glob(filepath.Join(cache, ".build-*"))
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

// key is the hash of what the build depends on: the module's files and this
// package's own idea of how to build them. The Go version is this program's: it
// was built by the same command a moment ago.
func key(module, ldflags string) (string, error) {
	text, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err == nil && !strings.Contains(string(text), "k8s.io/kubernetes "+KubernetesVersion) {
		return "", fmt.Errorf("%s does not ask for k8s.io/kubernetes %s: change KubernetesVersion in package binaries with it", filepath.Join(module, "go.mod"), KubernetesVersion)
	}
	return sourceKey(module, ldflags, strings.Join(crdFolders(), " "))
}

// sourceKey is the hash of a module's files and of what else is said of its build.
func sourceKey(module string, how ...string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, text := range how {
		fmt.Fprintln(h, text)
	}
	files, err := filepath.Glob(filepath.Join(module, "*.go"))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("find the components' source in %s: no Go files: run this from the checkout", module)
	}
	for _, f := range append(files, filepath.Join(module, "go.mod"), filepath.Join(module, "go.sum")) {
		b, err := os.ReadFile(f)
		if err != nil {
			return "", fmt.Errorf("hash the components' source: %w", err)
		}
		fmt.Fprintf(h, "%s %d\n%s", filepath.Base(f), len(b), b)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// kubernetesLdflags set the version, else every component says v0.0.0-master and
// kubectl warns about the difference. Nothing here may change from day to day.
func kubernetesLdflags() string {
	const pkg = "k8s.io/component-base/version"
	parts := strings.SplitN(strings.TrimPrefix(KubernetesVersion, "v"), ".", 3)
	flags := []string{"-s", "-w"}
	for _, kv := range [][2]string{
		{"gitVersion", KubernetesVersion},
		{"gitMajor", parts[0]},
		{"gitMinor", parts[1]},
		{"gitTreeState", "clean"},
		{"gitCommit", strings.Repeat("0", 40)},
		{"buildDate", "2026-01-01T00:00:00Z"},
	} {
		flags = append(flags, "-X", pkg+"."+kv[0]+"="+kv[1])
	}
	return strings.Join(flags, " ")
}

// waitForBuilder makes this process the one that builds.
func waitForBuilder(ctx context.Context, cache string, talk io.Writer) (unlock func(), err error) {
	return flock.Wait(ctx, filepath.Join(cache, ".lock"), func() {
		fmt.Fprintln(talk, "another command is building the lab's components: waiting for it")
	})
}

// run runs a build command in the module; its output is in the error.
func run(ctx context.Context, dir string, argv ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Dir = dir
	// GOWORK off: the module stands for itself, whatever workspace is around it.
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly")
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("run `%s` in %s: %w\n%s", strings.Join(argv, " "), dir, err, stderr.String())
	}
	return out, nil
}
