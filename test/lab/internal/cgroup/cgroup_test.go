//go:build linux

package cgroup

import "testing"

func TestFolderOfAGroup(t *testing.T) {
	const host = `31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`
	const container = `35 31 0:32 /box/7 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
`
	for _, c := range []struct {
		name, mounts string
		controllers  []string
		path, want   string
	}{
		{"a hierarchy of one controller", host, []string{"memory"}, "/a/b", "/sys/fs/cgroup/memory/a/b"},
		{"a hierarchy of two", host, []string{"cpu", "cpuacct"}, "/", "/sys/fs/cgroup/cpu,cpuacct"},
		{"systemd's own", host, []string{"name=systemd"}, "/x", "/sys/fs/cgroup/systemd/x"},
		{"version 2", host, nil, "/x", "/sys/fs/cgroup/unified/x"},
		{"one that is not mounted", host, []string{"pids"}, "/x", ""},
		{"a part of the hierarchy, in a container", container, []string{"memory"}, "/box/7/sub", "/sys/fs/cgroup/memory/sub"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := folder(c.mounts, c.controllers, c.path); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestLabsHaveDifferentPrefixes(t *testing.T) {
	if one, other := Prefix("/a/.lab"), Prefix("/b/.lab"); one == other {
		t.Errorf("two labs' control groups begin with %s", one)
	}
}
