//go:build linux

package rootfs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// packages are what a node needs, and what people use on one: curl and openssl
// are on OpenShift's nodes, too. busybox-static is what images are made of.
func packages() []string {
	return []string{
		"systemd", "systemd-sysv", "dbus", "openssh-server", "sudo", "containerd", "runc", "containernetworking-plugins",
		"iproute2", "iptables", "procps", "openssl", "util-linux", "mount", "ca-certificates", "conntrack", "ethtool",
		"socat", "kmod", "curl", "busybox-static",
	}
}

// mmdebstrapFlags leave out what nobody reads on a node, and make what is the same
// on all of them. Keys and ids are each node's own, so none are here.
func mmdebstrapFlags() []string {
	flags := []string{"--mode=root", "--variant=minbase", "--skip=check/empty", "--quiet"}
	for _, folder := range []string{"doc", "man", "locale", "info"} {
		flags = append(flags, "--dpkgopt=path-exclude=/usr/share/"+folder+"/*")
	}
	for _, hook := range []string{
		`chroot "$1" useradd --create-home --shell /bin/bash --uid 1000 core`,
		`printf 'core ALL=(ALL) NOPASSWD: ALL\n' > "$1/etc/sudoers.d/coreos-sudo-group" && chmod 0440 "$1/etc/sudoers.d/coreos-sudo-group"`,
		// With a password that no one has the account is open to keys; locked it isn't.
		`chroot "$1" usermod --password '*' core`,
		`rm -f "$1"/etc/ssh/ssh_host_* "$1/etc/machine-id" "$1/etc/hostname" "$1/etc/resolv.conf"`,
		`chroot "$1" systemctl mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer fstrim.timer e2scrub_all.timer systemd-networkd-wait-online.service console-getty.service`,
		`mkdir -p "$1/var/lib/kubelet" "$1/var/lib/containerd" "$1/etc/kubernetes"`,
	} {
		flags = append(flags, "--customize-hook="+hook)
	}
	return flags
}

func build(ctx context.Context, src debian, set Set) error {
	args := append(mmdebstrapFlags(), "--include="+strings.Join(packages(), ","), src.suite, set.Tree(), src.file)
	out, err := exec.CommandContext(ctx, "mmdebstrap", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("make the nodes' root file system with mmdebstrap, packages from where %s says: %w\n%s", src.file, err, lastLines(out, 15))
	}
	return writeImages(ctx, set)
}

func writeImages(ctx context.Context, set Set) error {
	out, err := exec.CommandContext(ctx, "chroot", set.Tree(), "/bin/busybox", "--list").Output()
	if err != nil {
		return fmt.Errorf("ask busybox for its commands: %w", err)
	}
	busybox, err := os.ReadFile(set.Tree() + "/bin/busybox")
	if err != nil {
		return fmt.Errorf("read busybox: %w", err)
	}
	archive, err := imageArchive(busybox, strings.Fields(string(out)))
	if err != nil {
		return fmt.Errorf("make the container images: %w", err)
	}
	if err := os.WriteFile(set.Images(), archive, 0o644); err != nil {
		return fmt.Errorf("write the container images: %w", err)
	}
	return nil
}

func lastLines(text []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
