//go:build linux

package main

import (
	"context"
	"fmt"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
)

// status says on stdout whether the lab is up, and by its exit code.
func status(ctx context.Context, dir labdir.Dir) (int, error) {
	state, found, err := dir.State()
	if err != nil {
		return 2, err
	}
	if !found {
		fmt.Println("down: no lab in", dir)
		return 1, nil
	}
	if sick := dir.Sick(ctx, state); sick != nil {
		fmt.Printf("damaged: the lab in %s: %v: `make lab-up` rebuilds it\n", dir, sick)
		return 1, nil
	}
	fmt.Printf("up: %s\n  API server  https://127.0.0.1:%d\n  kubeconfig  %s\n  claims      OpenShift %s\n  supervisor  process %d\n",
		dir, state.Port, dir.Kubeconfig(), state.Version, state.Supervisor.PID)
	nodes := state.Nodes
	if nodes == "" {
		nodes = "none"
	}
	if state.NoNodes != "" {
		nodes += ": " + state.NoNodes
	}
	fmt.Println("  nodes      ", nodes)
	incident, on, err := dir.Incident()
	if err != nil {
		return 2, err
	}
	if on {
		fmt.Println("  incident   ", describe(incident))
	}
	return 0, nil
}
