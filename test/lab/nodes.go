//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	stdpath "path"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/binaries"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/identity"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/kubeapi"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/rootfs"
)

// machines are the nodes that a lab is to have.
type machines struct {
	plan  node.Plan
	noWhy string // why there are none although some are wanted
}

// wantedNodes reads LAB_NODES; set to nothing it means none.
func wantedNodes() (names string, asked bool, nodes []node.Node, err error) {
	names, asked = os.LookupEnv("LAB_NODES")
	if !asked {
		names = node.Default
	}
	nodes, err = node.Parse(names)
	return strings.Join(strings.Fields(names), " "), asked, nodes, err
}

// planNodes finds out which nodes there will be. Where the machine can't have
// any, the lab is a control plane alone, and says why.
func planNodes(ctx context.Context, components string) (machines, error) {
	multus, err := node.ParseMultus(os.Getenv("LAB_MULTUS"))
	if err != nil {
		return machines{}, err
	}
	_, _, nodes, err := wantedNodes()
	if err != nil || len(nodes) == 0 {
		return machines{}, err
	}
	if multus == node.MultusThick && !slices.ContainsFunc(nodes, func(n node.Node) bool { return n.Master }) {
		return machines{}, errors.New("LAB_MULTUS=thick needs a master among LAB_NODES: what approves multus' certificates runs on masters")
	}
	if err := rootfs.Prerequisites(); err != nil {
		return machines{noWhy: err.Error()}, nil
	}
	set, err := rootfs.Ensure(ctx, os.Stdout)
	if ctx.Err() != nil {
		return machines{}, err
	}
	if err != nil {
		return machines{noWhy: err.Error()}, nil
	}
	plan := node.Plan{Tree: set.Tree(), Images: []string{set.Images()}, Multus: multus, Nodes: nodes}
	if multus != "" {
		archive, err := binaries.EnsureMultus(ctx, components, multus, set, os.Stdout)
		if err != nil {
			return machines{}, err
		}
		plan.Images = append(plan.Images, archive)
	}
	return machines{plan: plan}, nil
}

func (m machines) names() string {
	var names []string
	for _, n := range m.plan.Nodes {
		names = append(names, n.Name)
	}
	return strings.Join(names, " ")
}

// furnish writes the machines' files, and the plan for the supervisor.
func (m machines) furnish(ctx context.Context, dir labdir.Dir) error {
	if err := m.plan.Write(dir.Plan()); err != nil || len(m.plan.Nodes) == 0 {
		return err
	}
	if err := node.MakeKeys(ctx, dir.SSH(), m.plan.Nodes); err != nil {
		return err
	}
	for _, n := range m.plan.Nodes {
		// What is mounted as a machine's own folders has those folders' modes.
		for folder, mode := range map[string]os.FileMode{"files": 0o755, "work": 0o755, "root": 0o755, "kubelet": 0o750, "containerd": 0o711} {
			path := dir.Node(n.Name, folder)
			if err := os.MkdirAll(path, 0o700); err != nil {
				return fmt.Errorf("make the folders of node %s: %w", n.Name, err)
			}
			if err := os.Chmod(path, mode); err != nil {
				return fmt.Errorf("make the folders of node %s: %w", n.Name, err)
			}
		}
		if err := node.Furnish(dir.Node(n.Name, "files"), n, m.plan.Nodes, node.Keys{PKI: dir.PKI(), SSH: dir.SSH()}, m.plan.Multus); err != nil {
			return err
		}
	}
	return nil
}

// otherNodes says what to do if the lab that is up has other nodes than asked for.
func otherNodes(state labdir.State) error {
	names, asked, _, err := wantedNodes()
	if err != nil || !asked || names == state.Nodes || state.NoNodes != "" {
		return err
	}
	return fmt.Errorf("the lab is up with LAB_NODES=%q, not %q: `make lab-down` first, or leave LAB_NODES alone", state.Nodes, names)
}

// nodesReady waits until each node is Ready and runs the stand-in for the machine
// config daemon, which is the proof that pods start.
func nodesReady(ctx context.Context, dir labdir.Dir, api *kubeapi.Client, m machines, w *watch) error {
	for _, n := range m.plan.Nodes {
		for {
			ready, err := nodeReady(ctx, api, n.Name)
			if ready {
				break
			}
			select {
			case <-ctx.Done():
				return errors.Join(fmt.Errorf("wait for node %s to be Ready: look at `%s ssh %s sudo journalctl -u kubelet` and at %s", n.Name, dir.RunScript(), n.Name, dir.Log(n.Name)), err)
			case <-time.After(200 * time.Millisecond):
			}
		}
	}
	w.say("nodes Ready: %s", m.names())
	if err := podsOf(ctx, api, "/apis/apps/v1/namespaces/openshift-machine-config-operator/daemonsets/machine-config-daemon", m); err != nil {
		return err
	}
	w.say("a pod runs on every node (the stand-in for machine-config-daemon)")
	if m.plan.Multus == "" {
		return nil
	}
	if err := podsOf(ctx, api, identity.MultusDaemonSet, m); err != nil {
		return err
	}
	w.say("%s multus runs on every node", m.plan.Multus)
	return nil
}

// podsOf waits until a DaemonSet has a ready pod on each node.
func podsOf(ctx context.Context, api *kubeapi.Client, path string, m machines) error {
	for {
		var daemons struct {
			Status struct {
				NumberReady int `json:"numberReady"`
			} `json:"status"`
		}
		text, err := api.Get(ctx, path)
		if err == nil {
			err = json.Unmarshal(text, &daemons)
		}
		if err == nil && daemons.Status.NumberReady >= len(m.plan.Nodes) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait for pods of %s: %d of %d are ready: look at `kubectl describe pods` in its namespace", stdpath.Base(path), daemons.Status.NumberReady, len(m.plan.Nodes)), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func nodeReady(ctx context.Context, api *kubeapi.Client, name string) (bool, error) {
	text, err := api.Get(ctx, "/api/v1/nodes/"+name)
	if err != nil {
		return false, err
	}
	type condition struct {
		Type   string `json:"type"`
		Status string `json:"status"`
	}
	var n struct {
		Status struct {
			Conditions []condition `json:"conditions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(text, &n); err != nil {
		return false, err
	}
	return slices.Contains(n.Status.Conditions, condition{"Ready", "True"}), nil
}
