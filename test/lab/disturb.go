//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/supervisor"
)

// insideCommand is how commands call themselves inside the lab, where machines, their
// interfaces and their files are to be seen.
const insideCommand = "inside"

// disturb runs reboot or cut, or heal of what they did.
func disturb(dir labdir.Dir, args []string) error {
	state, err := running(dir)
	if err != nil {
		return err
	}
	if state.Nodes == "" {
		return fmt.Errorf("the lab in %s has no nodes: `make lab-down lab-up`, without LAB_NODES, brings it up with them", dir)
	}
	if _, err := disturbed(dir, args); err != nil {
		return err
	}
	return goInside(dir, state, args...)
}

// running is the state of a lab that is up.
func running(dir labdir.Dir) (labdir.State, error) {
	state, found, err := dir.State()
	if err != nil {
		return state, err
	}
	if !found || !dir.Alive(state.Supervisor) {
		return state, fmt.Errorf("the lab in %s is not up: run `make lab-up`", dir)
	}
	return state, nil
}

// goInside runs this program inside the lab, in the copy that the lab has of it.
func goInside(dir labdir.Dir, state labdir.State, args ...string) error {
	argv := append([]string{"--target", strconv.Itoa(state.Supervisor.PID), "--mount", "--net", "--pid", "--",
		dir.Bin("lab"), insideCommand}, args...)
	c := exec.Command("nsenter", argv...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.Env = append(os.Environ(), "LAB_DIR="+string(dir))
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// disturbed are the nodes that the arguments mean: the one that is named, or all
// of them for heal.
func disturbed(dir labdir.Dir, args []string) ([]node.Node, error) {
	plan, err := node.ReadPlan(dir.Plan())
	if err != nil {
		return nil, err
	}
	if args[0] == "heal" && len(args) == 1 {
		return plan.Nodes, nil
	}
	var names []string
	for _, n := range plan.Nodes {
		names = append(names, n.Name)
	}
	if len(args) != 2 || !slices.Contains(names, args[1]) {
		return nil, fmt.Errorf("%s: which node? NODE=… is one of: %s", args[0], strings.Join(names, ", "))
	}
	i := slices.Index(names, args[1])
	return plan.Nodes[i : i+1], nil
}

// inside is the other side of goInside.
func inside(dir labdir.Dir, args []string) error {
	switch args[0] {
	case rollbackCommand:
		return rollback(dir, args[1], args[2:])
	case revisionCommand:
		return noteRevision(dir, args[1])
	}
	nodes, err := disturbed(dir, args)
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range nodes {
		switch args[0] {
		case "reboot":
			errs = append(errs, supervisor.Reboot(dir, n.Name))
		case "cut":
			errs = append(errs, link(n, "down"))
		case "heal":
			errs = append(errs, link(n, "up"), supervisor.Wake(dir, n.Name))
		}
	}
	return errors.Join(errs...)
}

// masters does something with each master's files, which it is given the root of.
func masters(dir labdir.Dir, do func(root string) error) error {
	plan, err := node.ReadPlan(dir.Plan())
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range plan.Nodes {
		if !n.Master {
			continue
		}
		// By way of the mounted tree, as ssh would; and it is there when the machine
		// is off.
		if err := do(dir.Node(n.Name, "root")); err != nil {
			errs = append(errs, fmt.Errorf("node %s: %w", n.Name, err))
		}
	}
	return errors.Join(errs...)
}

// noteRevision writes down which revision masters have before the incident, and
// rollback, which reads it, undoes what was brought to them since.
func noteRevision(dir labdir.Dir, file string) error {
	latest := 0
	if err := masters(dir, func(root string) error {
		found, err := node.Revision(root)
		latest = max(latest, found)
		return err
	}); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strconv.Itoa(latest)), 0o600)
}

func rollback(dir labdir.Dir, file string, names []string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read which revision there was: %w", err)
	}
	keep, err := strconv.Atoi(string(text))
	if err != nil {
		return fmt.Errorf("read which revision there was: %w", err)
	}
	return masters(dir, func(root string) error { return node.Rollback(root, dir.PKI(), keep, names) })
}

// link pulls a node's cable or plugs it in again; the node keeps its address.
func link(n node.Node, state string) error {
	if out, err := exec.Command("ip", "link", "set", n.Link, state).CombinedOutput(); err != nil {
		return fmt.Errorf("set the link of node %s %s: %w: %s", n.Name, state, err, out)
	}
	return nil
}
