//go:build linux

package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/kubeapi"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
)

// startMachines boots the lab's machines; they come up beside the control plane. The flags
// are more of them for the API servers of masters.
func startMachines(ctx context.Context, dir labdir.Dir, plan node.Plan, flags []string, c *children) error {
	for _, n := range plan.Nodes {
		if err := plugIn(ctx, c, n); err != nil {
			return err
		}
		if err := mountRoot(ctx, c, dir, plan.Tree, n); err != nil {
			return err
		}
		if n.APIServer {
			unit := node.APIServerUnit(append(masterAPIServerFlags(n), flags...))
			if err := os.WriteFile(dir.Node(n.Name, "root")+node.APIServerUnitPath, []byte(unit), 0o644); err != nil {
				return fmt.Errorf("give node %s its API server: %w", n.Name, err)
			}
		}
		go keepRunning(ctx, c, dir, n)
	}
	return nil
}

// joinNodes does for machines what installer and operators do on OpenShift: it
// brings them the kubeconfig to join with, approves their certificates and gives
// them their roles.
func joinNodes(ctx context.Context, dir labdir.Dir, plan node.Plan) error {
	if len(plan.Nodes) == 0 {
		return nil
	}
	api, err := kubeapi.New(dir.PKI(), "localhost:"+apiPort)
	if err != nil {
		return err
	}
	approver := &machineApprover{api: api, nodes: plan.Nodes, pending: map[string]waiting{}}
	go approver.run(ctx)
	go func() {
		if err := ignite(ctx, dir, plan, api); err != nil && ctx.Err() == nil {
			log.Printf("nodes can't join: %v", err)
		}
	}()
	for _, n := range plan.Nodes {
		go giveRoles(ctx, api, n)
	}
	return nil
}

// ignite stands in for Ignition: it writes the kubeconfig with the bootstrap
// token, as soon as the cluster has made one.
func ignite(ctx context.Context, dir labdir.Dir, plan node.Plan, api *kubeapi.Client) error {
	token := ""
	for token == "" {
		var secret struct {
			Data struct {
				Token []byte `json:"token"`
			} `json:"data"`
		}
		text, err := api.Get(ctx, "/api/v1/namespaces/openshift-machine-config-operator/secrets/node-bootstrapper-token")
		if err == nil {
			err = json.Unmarshal(text, &secret)
		}
		token = string(secret.Data.Token)
		if err != nil || token == "" {
			pause(ctx, 200*time.Millisecond)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	text, err := node.Bootstrap(dir.PKI(), token)
	if err != nil {
		return err
	}
	for _, n := range plan.Nodes {
		// By way of the mounted tree: what lies below it is the machine's alone.
		path := dir.Node(n.Name, "root") + node.BootstrapKubeconfig
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			return fmt.Errorf("bring node %s its kubeconfig: %w", n.Name, err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			return fmt.Errorf("bring node %s its kubeconfig: %w", n.Name, err)
		}
	}
	return nil
}

// giveRoles labels a node once it is there. OpenShift's kubelets do that
// themselves; a kubelet of plain Kubernetes may not.
func giveRoles(ctx context.Context, api *kubeapi.Client, n node.Node) {
	labels := map[string]string{}
	for _, role := range n.Roles() {
		labels[role] = ""
	}
	for ctx.Err() == nil {
		err := api.Patch(ctx, "/api/v1/nodes/"+n.Name, map[string]any{"metadata": map[string]any{"labels": labels}})
		if err == nil {
			return
		}
		var status *kubeapi.StatusError
		if !errors.As(err, &status) {
			log.Printf("label node %s: %v", n.Name, err)
		}
		pause(ctx, 500*time.Millisecond)
	}
}
