//go:build linux

package rootfs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// mmdebstrapFlags leave out what is not read on a node, and make what is the same
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
	layer, err := set.busybox(ctx)
	if err != nil {
		return err
	}
	return writeArchive(set.Images(), imageList(), layer)
}

// busybox is the layer that all images have.
func (s Set) busybox(ctx context.Context) (file, error) {
	out, err := exec.CommandContext(ctx, "chroot", s.Tree(), "/bin/busybox", "--list").Output()
	if err != nil {
		return file{}, fmt.Errorf("ask busybox for its commands: %w", err)
	}
	program, err := os.ReadFile(s.Tree() + "/bin/busybox")
	if err != nil {
		return file{}, fmt.Errorf("read busybox: %w", err)
	}
	layer, err := busyboxLayer(program, strings.Fields(string(out)))
	if err != nil {
		return file{}, fmt.Errorf("make the container images: %w", err)
	}
	return layer, nil
}

func writeArchive(path string, images []image, layers ...file) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("write the container images: %w", err)
	}
	if err := imageArchive(f, images, layers...); err != nil {
		_ = f.Close()
		return fmt.Errorf("make the container images: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write the container images: %w", err)
	}
	return nil
}

// WriteMultusImage writes an archive of MultusImage, with programs of a folder.
func (s Set) WriteMultusImage(ctx context.Context, path, folder string, programs []string) error {
	base, err := s.busybox(ctx)
	if err != nil {
		return err
	}
	files := []file{
		{name: "hostroot/", mode: 0o755}, {name: "run/", mode: 0o755}, {name: "var/", mode: 0o755},
		// The runtime names network namespaces by it, and multus opens them itself.
		{name: "var/run", link: "../run"},
		{name: "usr/", mode: 0o755}, {name: "usr/src/", mode: 0o755}, {name: "usr/src/multus-cni/", mode: 0o755}, {name: MultusPrograms[1:] + "/", mode: 0o755},
	}
	for _, name := range programs {
		files = append(files, file{name: filepath.Join(MultusPrograms, name)[1:], mode: 0o755, from: filepath.Join(folder, name)})
	}
	layer, err := os.CreateTemp(folder, ".layer-")
	if err != nil {
		return fmt.Errorf("make the image of multus: %w", err)
	}
	defer func() { _ = os.Remove(layer.Name()) }()
	err = archive(layer, files)
	if errClose := layer.Close(); err == nil {
		err = errClose
	}
	if err != nil {
		return fmt.Errorf("make the image of multus: %w", err)
	}
	return writeArchive(path, []image{{Name: MultusImage, Cmd: []string{"/bin/sh"}}}, base, file{from: layer.Name()})
}

func lastLines(text []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
