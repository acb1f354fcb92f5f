//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/kubeapi"
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
	if sick := health(ctx, dir, state); sick != nil {
		fmt.Printf("broken: the lab in %s: %v: `make lab-up` builds it anew\n", dir, sick)
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

// health is nil for a lab that is whole, else says what is wrong with it.
func health(ctx context.Context, dir labdir.Dir, state labdir.State) error {
	if !dir.Alive(state.Supervisor) {
		return errors.New("its supervisor is gone")
	}
	if !state.Ready {
		return errors.New("`up` did not finish")
	}
	if s, found, err := dir.Status(); err != nil || !found || !s.Ready {
		return errors.New("its supervisor does not say that it is ready")
	}
	for _, f := range []string{dir.Kubeconfig(), dir.InnerKubeconfig(), dir.RunScript(), dir.Bin("kubectl")} {
		if _, err := os.Stat(f); err != nil {
			return fmt.Errorf("a file of it is missing: %w", err)
		}
	}
	api, err := kubeapi.New(dir.PKI(), net.JoinHostPort("127.0.0.1", strconv.Itoa(state.Port)))
	if err != nil {
		return err
	}
	if _, err := api.Get(ctx, "/readyz"); err != nil {
		return fmt.Errorf("its API server does not answer: %w", err)
	}
	return nil
}
