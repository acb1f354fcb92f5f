package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/rootfs"
)

const (
	multusModule  = "multus" // its folder in the components'
	multusPackage = "gopkg.in/k8snetworkplumbingwg/multus-cni.v4/cmd/"
	multusArchive = "multus.tar"
)

// multusPrograms are those of multus that a lab's nodes run.
func multusPrograms(how node.Multus) []string {
	if how == node.MultusThin {
		return []string{"thin_entrypoint", "multus"}
	}
	return []string{"multus-daemon", "multus-shim", "cert-approver"}
}

// LookupMultus says whether EnsureMultus would have nothing to build.
func LookupMultus(module string, how node.Multus, nodes rootfs.Set) (bool, error) {
	folder, _, err := findMultus(module, how, nodes)
	return err == nil && there(filepath.Join(folder, multusArchive)), err
}

// EnsureMultus finds an archive of container images with multus' programs, and builds
// it if it isn't in the cache; talk is told what it does when that takes time.
func EnsureMultus(ctx context.Context, module string, how node.Multus, nodes rootfs.Set, talk io.Writer) (archive string, err error) {
	folder, cache, err := findMultus(module, how, nodes)
	if err != nil {
		return "", err
	}
	archive = filepath.Join(folder, multusArchive)
	if there(archive) {
		return archive, nil
	}
	unlock, err := waitForBuilder(ctx, cache, talk)
	if err != nil {
		return "", err
	}
	defer unlock()
	if there(archive) { // by the process that had the lock
		return archive, nil
	}
	if err := removeAborted(cache); err != nil {
		return "", err
	}
	fmt.Fprintf(talk, "building %s multus into %s: 2 minutes the first time\n", how, folder)
	start := time.Now()
	err = inPlace(cache, folder, func(tmp string) error {
		bin := filepath.Join(tmp, "bin")
		if err := os.Mkdir(bin, 0o755); err != nil {
			return fmt.Errorf("make a folder to build in: %w", err)
		}
		argv := []string{"go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", bin + "/"}
		for _, name := range multusPrograms(how) {
			argv = append(argv, multusPackage+name)
		}
		if _, err := run(ctx, filepath.Join(module, multusModule), argv...); err != nil {
			return err
		}
		if err := nodes.WriteMultusImage(ctx, filepath.Join(tmp, multusArchive), bin, multusPrograms(how)); err != nil {
			return err
		}
		return os.RemoveAll(bin) // they are in the image
	})
	if err != nil {
		return "", err
	}
	fmt.Fprintf(talk, "built in %s\n", time.Since(start).Round(time.Second))
	return archive, nil
}

// findMultus names the folder, built or not, and the cache folder.
func findMultus(module string, how node.Multus, nodes rootfs.Set) (folder, cache string, err error) {
	// The image has busybox of the nodes' root file system.
	key, err := sourceKey(filepath.Join(module, multusModule), filepath.Base(filepath.Dir(nodes.Tree())), strings.Join(multusPrograms(how), " "))
	if err != nil {
		return "", "", err
	}
	if cache, err = os.UserCacheDir(); err != nil {
		return "", "", fmt.Errorf("find the cache folder for the lab's components: %w", err)
	}
	cache = filepath.Join(cache, "certrot-lab")
	return filepath.Join(cache, multusModule+"-"+key), cache, nil
}
