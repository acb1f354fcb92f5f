// Package rootfs makes the files that the lab's machines boot from: a Debian root
// file system with systemd, containerd and sshd, and the container images that
// their kubelets start. Packages come from where this machine's own come from;
// images are made here, and no registry is asked.
//
// It is made once, into the cache, under the hash of how it is made, and never
// written to again: each machine has a layer of its own above it.
package rootfs
