//go:build linux

package cgroup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// root is where all hierarchies are mounted.
const root = "/sys/fs/cgroup"

// removeLimit is how long the kernel may take to see that a group is empty.
const removeLimit = 5 * time.Second

// Prefix is what the names of a lab's groups begin with. It follows from the
// lab's folder alone, so that `down` finds them when all else is gone.
func Prefix(labDir string) string {
	sum := sha256.Sum256([]byte(labDir))
	return "certrot-lab-" + hex.EncodeToString(sum[:])[:8] + "-"
}

// Usable says why a machine can't have control groups here; nil if it can. The
// kubelet needs controllers, and a machine can be given them without asking its
// owner only where they are in hierarchies of their own (version 1).
func Usable() error {
	groups, err := own()
	if err != nil {
		return err
	}
	for _, controller := range []string{"cpu", "memory", "pids"} {
		if !slices.ContainsFunc(groups, func(g group) bool { return slices.Contains(g.controllers, controller) }) {
			return fmt.Errorf("the control group controller %s has no hierarchy of version 1 here, and nothing else was tried", controller)
		}
	}
	return nil
}

// Enter moves this process into a group called name below its own, in every
// hierarchy. What an earlier machine of that name left in it is removed.
func Enter(name string) error {
	// All of it is read before the first move, which changes it.
	groups, err := own()
	if err != nil {
		return err
	}
	for _, g := range groups {
		child := filepath.Join(g.folder, name)
		if err := removeTree(child); err != nil {
			return err
		}
		if err := os.Mkdir(child, 0o755); err != nil {
			return fmt.Errorf("make a control group: %w", err)
		}
		if slices.Contains(g.controllers, "cpuset") {
			// A new cpuset is empty, and an empty one takes no process.
			for _, f := range []string{"cpuset.cpus", "cpuset.mems"} {
				if err := copyValue(filepath.Join(g.folder, f), filepath.Join(child, f)); err != nil {
					return fmt.Errorf("fill a new cpuset: %w", err)
				}
			}
		}
		if err := os.WriteFile(filepath.Join(child, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
			return fmt.Errorf("enter a control group: %w", err)
		}
	}
	return nil
}

// Remove removes all groups whose name begins with prefix, wherever they are: the
// lab may have been brought up from other groups than those of this process.
func Remove(prefix string) error {
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // a group that another program has just removed
		}
		if strings.HasPrefix(d.Name(), prefix) {
			found = append(found, path)
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for the lab's control groups: %w", err)
	}
	for _, path := range found {
		if err := removeTree(path); err != nil {
			return err
		}
	}
	return nil
}

// removeTree removes a group and those in it, leaves first. A group that still
// has a process stays, and that is an error.
func removeTree(path string) error {
	deadline := time.Now().Add(removeLimit)
	for {
		err := removeOnce(path)
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			if err != nil {
				return fmt.Errorf("remove control group %s (`cat` its cgroup.procs says who is in it): %w", path, err)
			}
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func removeOnce(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := removeOnce(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	if err := syscall.Rmdir(path); err != nil && !errors.Is(err, syscall.ENOENT) {
		return err
	}
	return nil
}

// group is one that this process is in.
type group struct {
	controllers []string // none for version 2
	folder      string
}

// own finds this process's groups in all hierarchies that are mounted.
func own() ([]group, error) {
	membership, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("find the control groups of this process: %w", err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find the control group hierarchies: %w", err)
	}
	var groups []group
	for line := range strings.Lines(string(membership)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		g := group{}
		if fields[1] != "" {
			g.controllers = strings.Split(fields[1], ",")
		}
		if g.folder = folder(string(mounts), g.controllers, fields[2]); g.folder != "" {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// folder is where the group called path is to be seen; empty if its hierarchy is
// not mounted.
func folder(mountinfo string, controllers []string, path string) string {
	for line := range strings.Lines(mountinfo) {
		before, after, found := strings.Cut(line, " - ")
		place, kind := strings.Fields(before), strings.Fields(after)
		if !found || len(place) < 5 || len(kind) < 3 || !strings.HasPrefix(place[4], root) {
			continue
		}
		options := strings.Split(kind[2], ",")
		same := kind[0] == "cgroup2" && len(controllers) == 0
		if kind[0] == "cgroup" && len(controllers) > 0 {
			same = !slices.ContainsFunc(controllers, func(c string) bool { return !slices.Contains(options, c) })
		}
		if !same {
			continue
		}
		// In a container, what is mounted may be a part of the hierarchy.
		below, inside := strings.CutPrefix(path, strings.TrimSuffix(place[3], "/"))
		if !inside {
			below = ""
		}
		return filepath.Join(place[4], below)
	}
	return ""
}

func copyValue(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}
