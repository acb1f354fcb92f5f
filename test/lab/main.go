//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/checkout"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/supervisor"
)

const usage = `usage: go run ./test/lab build | up | down | status | run CMD… | reboot NODE | cut NODE |
                          incident [STAGE [NODE…]] | heal

  build     build what labs consist of, with a thick multus; up does it, too
  up        bring the lab up; nothing to do if it is up
  down      end it and delete all of it
  status    say whether it is up; exit code 1 if it isn't
  run       run a command inside it (the same as .lab/run CMD…)
  reboot    reboot a node, or switch it on
  cut       cut a node off the network
  incident  rotate the CA of api-int, as far as a stage, each after those before it:
            signer     its controller makes a new CA, and it is in all bundles of the
                       cluster
            leaf       its controller has api-int's certificate signed by that, and it
                       is served
            reconnect  kubelets, of all nodes or of those named, have to connect
                       again; they trust the old CA alone, so that nodes become
                       NotReady (when no stage is given, it is this one)
  heal      undo all of that, and switch on nodes that are off

LAB_DIR      the lab's folder (.lab in the checkout)
LAB_VERSION  the OpenShift version that ClusterVersion and ClusterOperators of the lab
             claim, a label: nothing of that version runs (` + defaultVersion + `)
LAB_GOAWAY   the share of requests, such as 0.001, after which the API server has a
             client connect again (its --goaway-chance); not set: none
LAB_MULTUS   thick or thin: the nodes' pods get their network from multus; not set: from
             a bridge alone
LAB_NODES    the nodes' names (` + node.Default + `); set to nothing: none
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code, err := dispatch(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
	}
	os.Exit(code)
}

func dispatch(ctx context.Context, args []string) (int, error) {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return 2, nil
	}
	// These run inside the lab, started by the others.
	switch args[0] {
	case supervisor.Command:
		if len(args) < 2 {
			return 2, errors.New("supervise: want the lab's folder")
		}
		return exitCode(supervisor.Run(labdir.Dir(args[1]), args[2:]))
	case supervisor.SyncCommand:
		if len(args) != 2 {
			return 2, fmt.Errorf("%s: want the lab's folder", supervisor.SyncCommand)
		}
		syncCertificates(ctx, labdir.Dir(args[1]))
		return 0, nil
	case enterCommand:
		return exitCode(enter(args[1:]))
	case supervisor.MachineCommand:
		if len(args) != 3 {
			return 2, errors.New("machine: want the lab's folder and a node")
		}
		return exitCode(supervisor.BecomeMachine(labdir.Dir(args[1]), args[2]))
	case insideCommand:
		return exitCode(inside(labdir.Dir(os.Getenv("LAB_DIR")), args[1:]))
	}

	root := ""
	if os.Getenv("LAB_DIR") == "" || args[0] == "up" || args[0] == "build" {
		var err error
		if root, err = checkout.Root(); err != nil {
			return 2, err
		}
	}
	dir, err := labdir.Find(root)
	if err != nil {
		return 2, err
	}
	switch args[0] {
	case "build":
		return exitCode(build(ctx, checkout.Components(root)))
	case "up":
		return exitCode(up(ctx, dir, root))
	case "down":
		return exitCode(down(ctx, dir))
	case "status":
		return status(ctx, dir)
	case "run":
		return exitCode(run(dir, args[1:]))
	case "reboot", "cut":
		return exitCode(disturb(dir, args))
	case "incident":
		return exitCode(incident(ctx, dir, args[1:]))
	case "heal":
		return exitCode(heal(ctx, dir, args))
	}
	fmt.Fprint(os.Stderr, usage)
	return 2, fmt.Errorf("no such command: %q", args[0])
}

func exitCode(err error) (int, error) {
	if err != nil {
		return 1, err
	}
	return 0, nil
}
