//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
)

// enterCommand is how `run` calls itself on the other side of nsenter, which
// leaves it in the root folder: a namespace's mounts have to be walked again to
// get back to where the user is.
const enterCommand = "enter"

// run replaces this process with a command inside the lab's namespaces: all of
// them, the PID namespace too, so that the command ends with the lab and
// nothing keeps the lab's network alive after it.
func run(dir labdir.Dir, argv []string) error {
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return errors.New("run: which command? For example: run kubectl get nodes")
	}
	state, found, err := dir.State()
	if err != nil {
		return err
	}
	if !found || !dir.Alive(state.Supervisor) {
		return fmt.Errorf("the lab in %s is not up: run `make lab-up`", dir)
	}
	wd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the current folder, to be in it inside the lab: %w", err)
	}
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return fmt.Errorf("enter the lab: %w", err)
	}
	args := append([]string{"nsenter", "--target", strconv.Itoa(state.Supervisor.PID),
		"--mount", "--net", "--pid", "--ipc", "--uts", "--", dir.Bin("lab"), enterCommand, wd}, argv...)
	err = syscall.Exec(nsenter, args, innerEnv(dir, os.Environ()))
	return fmt.Errorf("enter the lab: run %s: %w", nsenter, err)
}

// innerEnv is the user's environment, pointed at the lab. A proxy could not be
// reached from inside and would only hide the API server.
func innerEnv(dir labdir.Dir, env []string) []string {
	var kept []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		switch strings.ToUpper(name) {
		case "KUBECONFIG", "LAB_DIR", "PATH", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY":
		default:
			kept = append(kept, kv)
		}
	}
	kept = append(kept, dir.KubectlEnv()...)
	return append(kept,
		"KUBECONFIG="+dir.InnerKubeconfig(),
		"LAB_DIR="+string(dir),
		"PATH="+dir.Bin("")+":"+os.Getenv("PATH"))
}

// enter is the other side: args are the folder to be in, and the command.
func enter(args []string) error {
	if len(args) < 2 {
		return errors.New("enter: want a folder and a command")
	}
	if err := os.Chdir(args[0]); err != nil {
		return fmt.Errorf("the current folder is not there inside the lab: %w", err)
	}
	program, err := exec.LookPath(args[1])
	if err != nil {
		return fmt.Errorf("run a command inside the lab: %w", err)
	}
	err = syscall.Exec(program, args[1:], os.Environ())
	return fmt.Errorf("run %s inside the lab: %w", program, err)
}
