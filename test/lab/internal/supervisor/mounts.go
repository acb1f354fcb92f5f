//go:build linux

package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
)

// isolateMounts makes the mount namespace the lab's own: the same files as
// outside, so that a command in the lab finds the user's, but with a /proc for
// the lab's processes, a /run that keeps what is made in it, and names that
// resolve to the lab.
func isolateMounts(dir labdir.Dir, nodes []node.Node) error {
	// Mounts made outside may come in; none made here may go out.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep the lab's mounts from the host: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc for the lab's PID namespace: %w", err)
	}
	if err := privateRun(dir.Inner("run")); err != nil {
		return err
	}
	hosts := fmt.Sprintf("127.0.0.1 localhost %s\n%s %s %s %s\n", pki.RecoveryHost, pki.Address, pki.NodeName, pki.ExternalHost, pki.InternalHost) + node.Hosts(nodes)
	if err := replaceFile("/etc/hosts", dir.Inner("hosts"), hosts); err != nil {
		return err
	}
	if len(nodes) > 0 {
		// ssh's configuration for every user; a user's own goes before it.
		config, err := os.ReadFile(node.SSHConfig(dir.SSH()))
		if err != nil {
			return fmt.Errorf("read ssh's configuration: %w", err)
		}
		if err := replaceFile("/etc/ssh/ssh_config", dir.Inner("ssh_config"), string(config)); err != nil {
			return err
		}
	}
	// No name server: what isn't in hosts fails at once, not after a time-out.
	return replaceFile("/etc/resolv.conf", dir.Inner("resolv.conf"), "")
}

// privateRun mounts a tmpfs on /run that has what the host has there, entry by
// entry, except for what programs in the lab make themselves: the named network
// namespaces of `ip netns` and the state of systemd-nspawn.
func privateRun(stage string) error {
	if err := os.MkdirAll(stage, 0o755); err != nil {
		return fmt.Errorf("prepare the lab's /run: %w", err)
	}
	if err := syscall.Mount("tmpfs", stage, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("mount the lab's /run: %w", err)
	}
	entries, err := os.ReadDir("/run")
	if err != nil {
		return fmt.Errorf("read the host's /run: %w", err)
	}
	for _, e := range entries {
		if e.Name() == "netns" || e.Name() == "systemd" {
			continue
		}
		if err := show(filepath.Join("/run", e.Name()), filepath.Join(stage, e.Name()), e.Type()); err != nil {
			return fmt.Errorf("show the host's /run in the lab: %w", err)
		}
	}
	for _, own := range []string{"netns", "systemd"} {
		if err := os.Mkdir(filepath.Join(stage, own), 0o755); err != nil {
			return fmt.Errorf("prepare the lab's /run: %w", err)
		}
	}
	if err := syscall.Mount(stage, "/run", "", syscall.MS_MOVE, ""); err != nil {
		return fmt.Errorf("mount the lab's /run: %w", err)
	}
	return nil
}

func show(from, to string, t fs.FileMode) error {
	if t&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	if t.IsDir() {
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
	} else if err := os.WriteFile(to, nil, 0o600); err != nil {
		return err
	}
	err := syscall.Mount(from, to, "", syscall.MS_BIND|syscall.MS_REC, "")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gone since it was listed
	}
	return err
}

// replaceFile mounts a file of the lab's in place of one of the host's, if the
// host has it.
func replaceFile(path, with, text string) error {
	if err := os.WriteFile(with, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the lab's %s: %w", path, err)
	}
	err := syscall.Mount(with, path, "", syscall.MS_BIND, "")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("show the lab's %s: %w", path, err)
	}
	return nil
}
