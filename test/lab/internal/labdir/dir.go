package labdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Dir is the absolute path of a lab's folder.
type Dir string

// marker says that a folder is a lab's, so that `down` may delete it.
const marker = "this-is-a-certrot-lab"

// Find is the folder named by $LAB_DIR, else .lab in the checkout.
func Find(checkout string) (Dir, error) {
	path := os.Getenv("LAB_DIR")
	if path == "" {
		path = filepath.Join(checkout, ".lab")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find the lab's folder %q: %w", path, err)
	}
	return Dir(abs), nil
}

func (d Dir) path(elem ...string) string {
	return filepath.Join(append([]string{string(d)}, elem...)...)
}

// Kubeconfig is the cluster administrator's, for the host.
func (d Dir) Kubeconfig() string { return d.path("kubeconfig") }

// InnerKubeconfig is the same administrator's, for commands inside the lab.
func (d Dir) InnerKubeconfig() string { return d.path("inner", "kubeconfig") }

// KubectlEnv keeps kubectl to the lab. It caches what it learns of a cluster by
// the cluster's address, and another one may have had this address; and the
// user's own preferences (kuberc) are for the user's own clusters.
func (d Dir) KubectlEnv() []string {
	return []string{"KUBECACHEDIR=" + d.Inner("cache"), "KUBERC=off"}
}

// ComponentKubeconfig is what a control plane component logs in with.
func (d Dir) ComponentKubeconfig(name string) string { return d.path("inner", name+".kubeconfig") }

// Inner is the folder of files that are mounted or read inside the lab only.
func (d Dir) Inner(name string) string { return d.path("inner", name) }

// PKI is the folder of certificates and keys.
func (d Dir) PKI() string { return d.path("pki") }

// Etcd is etcd's data folder.
func (d Dir) Etcd() string { return d.path("etcd") }

// Bin is one of the lab's programs; Bin("") is their folder.
func (d Dir) Bin(name string) string { return d.path("bin", name) }

// Log is a component's log; Log("") is the folder of logs.
func (d Dir) Log(name string) string {
	if name == "" {
		return d.path("log")
	}
	return d.path("log", name+".log")
}

// Node is a folder of one node; Node("") holds them all.
func (d Dir) Node(name string, elem ...string) string {
	return d.path(append([]string{"nodes", name}, elem...)...)
}

// SSH is the folder of the SSH keys for the nodes.
func (d Dir) SSH() string { return d.path("ssh") }

// Plan says which nodes there are, for the supervisor.
func (d Dir) Plan() string { return d.path("inner", "nodes.json") }

// RunScript is the script that runs a command inside the lab.
func (d Dir) RunScript() string { return d.path("run") }

func (d Dir) stateFile() string  { return d.path("state.json") }
func (d Dir) statusFile() string { return d.path("status.json") }

// Prepare makes the lab's folders. It refuses a folder that holds anything and
// isn't a lab's.
func (d Dir) Prepare() error {
	if err := d.ours(); err != nil {
		return err
	}
	for _, f := range []string{d.path("inner"), d.PKI(), d.Etcd(), d.Bin(""), d.Log("")} {
		if err := os.MkdirAll(f, 0o700); err != nil {
			return fmt.Errorf("make the lab's folder: %w", err)
		}
	}
	return os.WriteFile(d.path(marker), []byte("go run ./test/lab down removes this folder\n"), 0o644)
}

// Clear deletes everything in the lab's folder, and the folder if all is set.
func (d Dir) Clear(all bool) error {
	if err := d.ours(); err != nil {
		return err
	}
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the lab's folder: %w", err)
	}
	for _, e := range entries {
		if e.Name() == marker {
			continue // last, so that an interrupted Clear can be repeated
		}
		if err := os.RemoveAll(d.path(e.Name())); err != nil {
			return fmt.Errorf("clear the lab's folder: %w", err)
		}
	}
	if !all {
		return nil
	}
	if err := os.RemoveAll(string(d)); err != nil {
		return fmt.Errorf("remove the lab's folder: %w", err)
	}
	return nil
}

// ours refuses a folder with anything in it but a lab.
func (d Dir) ours() error {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(entries) == 0) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the lab's folder: %w", err)
	}
	if _, err := os.Stat(d.path(marker)); err != nil {
		return fmt.Errorf("%s holds files and is not a lab (no file %s in it): set LAB_DIR to a new folder", d, marker)
	}
	return nil
}
