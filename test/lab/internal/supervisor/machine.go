//go:build linux

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/cgroup"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
)

// MachineCommand is the command line argument that makes the lab's program a
// machine: it enters control groups of its own and becomes systemd-nspawn. The
// lab's folder and the node's name follow.
const MachineCommand = "machine"

// rebootCode is systemd-nspawn's exit code for a machine that wants to boot again.
const rebootCode = 133

// plugIn gives a machine its network: a namespace of its own with one interface,
// whose other end is in the bridge.
func plugIn(ctx context.Context, c *children, n node.Node) error {
	for _, argv := range [][]string{
		{"ip", "netns", "add", n.Name},
		{"ip", "-n", n.Name, "link", "set", "lo", "up"},
		{"ip", "link", "add", n.Link, "type", "veth", "peer", "name", "eth0", "netns", n.Name},
		{"ip", "link", "set", n.Link, "master", Bridge, "up"},
		{"ip", "-n", n.Name, "address", "add", n.Address + "/24", "dev", "eth0"},
		{"ip", "-n", n.Name, "link", "set", "eth0", "up"},
		// Programs look for a default route to find out who they are. This one
		// leads to the control plane, which forwards nothing.
		{"ip", "-n", n.Name, "route", "add", "default", "via", pki.Address},
	} {
		if err := c.run(ctx, argv...); err != nil {
			return fmt.Errorf("plug in node %s: %w", n.Name, err)
		}
	}
	return nil
}

// mountRoot puts the machine's own files above the tree that all share.
func mountRoot(ctx context.Context, c *children, dir labdir.Dir, tree string, n node.Node) error {
	upper, work, root := dir.Node(n.Name, "files"), dir.Node(n.Name, "work"), dir.Node(n.Name, "root")
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", tree, upper, work)
	err := syscall.Mount("overlay", root, "overlay", 0, options)
	if err == nil {
		return nil
	}
	// An overlay can't lie on another one, which is what a container's files are
	// on: then copies it is, which take longer.
	log.Printf("node %s: overlay of %s: %v: copying instead", n.Name, options, err)
	for _, from := range []string{tree, upper} {
		if err := c.run(ctx, "cp", "--archive", "--reflink=auto", from+"/.", root); err != nil {
			return fmt.Errorf("copy the files of node %s: %w", n.Name, err)
		}
	}
	return nil
}

// keepRunning boots a machine, and again when it reboots. One that is switched
// off stays off until it is asked for (Wake).
func keepRunning(ctx context.Context, c *children, dir labdir.Dir, n node.Node) {
	for ctx.Err() == nil {
		status, err := boot(c, dir, n)
		switch {
		case err != nil:
			log.Printf("node %s: %v", n.Name, err)
		case status.Exited() && status.ExitStatus() == rebootCode:
			log.Printf("node %s reboots", n.Name)
			continue
		default:
			log.Printf("node %s is off (%s): see %s", n.Name, describe(status), dir.Log(n.Name))
		}
		for ctx.Err() == nil && os.Remove(wakeFile(dir, n.Name)) != nil {
			pause(ctx, 200*time.Millisecond)
		}
	}
}

// boot runs a machine until it ends.
func boot(c *children, dir labdir.Dir, n node.Node) (syscall.WaitStatus, error) {
	console, err := os.OpenFile(dir.Log(n.Name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return 0, fmt.Errorf("open its log: %w", err)
	}
	defer func() { _ = console.Close() }()
	cmd := exec.Command(dir.Bin("lab"), MachineCommand, string(dir), n.Name)
	cmd.Stdout, cmd.Stderr = console, console
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = "/"
	pid, ended, err := c.start(cmd)
	if err != nil {
		return 0, fmt.Errorf("boot it: %w", err)
	}
	if err := os.WriteFile(pidFile(dir, n.Name), []byte(strconv.Itoa(pid)), 0o644); err != nil {
		log.Printf("node %s: %v", n.Name, err)
	}
	return <-ended, nil
}

// clearMachines removes the machines' control groups, the one thing that outlives
// the namespaces. For that they have to be empty. `down` does the same again: a
// supervisor that is killed doesn't get here.
func clearMachines(dir labdir.Dir) {
	if os.Getpid() != 1 {
		return
	}
	_ = syscall.Kill(-1, syscall.SIGKILL) // to all in this PID namespace but process 1
	if err := cgroup.Remove(cgroup.Prefix(string(dir))); err != nil {
		log.Print(err)
	}
}

// BecomeMachine replaces this process by a booting machine.
func BecomeMachine(dir labdir.Dir, name string) error {
	if err := cgroup.Enter(cgroup.Prefix(string(dir)) + name); err != nil {
		return err
	}
	kubernetes, err := filepath.EvalSymlinks(dir.Bin("kubelet"))
	if err != nil {
		return fmt.Errorf("find the kubelet: %w", err)
	}
	plan, err := node.ReadPlan(dir.Plan())
	if err != nil {
		return err
	}
	nspawn, err := exec.LookPath("systemd-nspawn")
	if err != nil {
		return fmt.Errorf("boot a machine: %w", err)
	}
	bind := func(flag, from, to string) string {
		return flag + "=" + strings.ReplaceAll(from, ":", `\:`) + ":" + to
	}
	args := []string{
		"systemd-nspawn", "--directory=" + dir.Node(name, "root"), "--machine=" + name, "--hostname=" + name, "--boot",
		// No systemd on the host is asked for a scope or told about the machine.
		"--keep-unit", "--register=no",
		"--network-namespace-path=/run/netns/" + name,
		"--console=pipe", "--capability=all", "--system-call-filter=@known",
		"--link-journal=no", "--resolv-conf=off", "--timezone=off",
		"--bind=/dev/kmsg", // the kubelet reads of processes killed for memory
		// Overlays on overlays don't work: containers are on plain folders.
		bind("--bind", dir.Node(name, "kubelet"), "/var/lib/kubelet"),
		bind("--bind", dir.Node(name, "containerd"), "/var/lib/containerd"),
	}
	programs := []string{"kubelet", "kubectl", "oc"}
	if i := slices.IndexFunc(plan.Nodes, func(n node.Node) bool { return n.Name == name && n.Master }); i >= 0 {
		of, flag := apiServer, "--bind-ro"
		if plan.Nodes[i].APIServer {
			of, flag = apiServer+"-"+name, "--bind"
			programs = append(programs, apiServer)
			args = append(args, bind("--bind-ro", dir.PKI(), node.PKI))
		}
		log, err := os.OpenFile(dir.Log(of), os.O_CREATE|os.O_RDONLY, 0o644)
		if err != nil {
			return fmt.Errorf("show the API server's log to a master: %w", err)
		}
		_ = log.Close()
		args = append(args, bind(flag, dir.Log(of), node.APIServerLog))
	}
	for _, archive := range plan.Images {
		args = append(args, bind("--bind-ro", archive, filepath.Join(node.ImagesPath, filepath.Base(archive))))
	}
	for _, program := range programs {
		args = append(args, bind("--bind-ro", kubernetes, "/usr/bin/"+program))
	}
	// Without this, /sys and /proc/sys are read-only inside.
	env := append(os.Environ(), "SYSTEMD_NSPAWN_API_VFS_WRITABLE=network")
	err = syscall.Exec(nspawn, args, env)
	return fmt.Errorf("boot a machine: run %s: %w", nspawn, err)
}

// Reboot reboots a machine in an orderly way, or switches it on. To be called
// inside the lab.
func Reboot(dir labdir.Dir, name string) error {
	leader, err := leaderOf(dir, name)
	if err != nil {
		return Wake(dir, name)
	}
	// SIGRTMIN+5 makes systemd start reboot.target: no program in the machine has
	// to work for that.
	const reboot = syscall.Signal(34 + 5)
	if err := syscall.Kill(leader, reboot); err != nil {
		return fmt.Errorf("reboot node %s, process %d inside the lab: %w", name, leader, err)
	}
	return nil
}

// Wake switches a machine on; one that runs doesn't notice.
func Wake(dir labdir.Dir, name string) error {
	if _, err := leaderOf(dir, name); err == nil {
		return nil
	}
	if err := os.WriteFile(wakeFile(dir, name), nil, 0o644); err != nil {
		return fmt.Errorf("switch on node %s: %w", name, err)
	}
	return nil
}

// leaderOf finds a machine's process 1, as it is called inside the lab.
func leaderOf(dir labdir.Dir, name string) (int, error) {
	b, err := os.ReadFile(pidFile(dir, name))
	if err != nil {
		return 0, err
	}
	pid := string(b)
	cmdline, err := os.ReadFile("/proc/" + pid + "/cmdline")
	if err != nil {
		return 0, err
	}
	if !strings.Contains(string(cmdline), "\x00--machine="+name+"\x00") {
		return 0, errors.New("not booted yet")
	}
	kids, err := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(kids))
	if len(fields) == 0 {
		return 0, errors.New("not booted yet")
	}
	return strconv.Atoi(fields[0])
}

func pidFile(dir labdir.Dir, name string) string  { return dir.Node(name, "pid") }
func wakeFile(dir labdir.Dir, name string) string { return dir.Node(name, "wake") }
