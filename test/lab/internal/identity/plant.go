package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
)

// Cluster is what Plant needs.
type Cluster struct {
	// Kubectl runs the lab's kubectl as the cluster's administrator.
	Kubectl func(ctx context.Context, stdin []byte, args ...string) error
	PKI     string // folder of the lab's certificates
	CRDs    string // folder of OpenShift's CRDs
	Version string // the OpenShift version to claim
	Nodes   []node.Node
	Multus  node.Multus
	Now     time.Time
}

// object is an API object as it is sent.
type object map[string]any

// Plant writes everything, by server-side apply; done is told what is there.
func Plant(ctx context.Context, c Cluster, done func(what string)) error {
	var crds []string
	for _, pattern := range crdFiles() {
		files, err := filepath.Glob(filepath.Join(c.CRDs, pattern))
		if err != nil || len(files) != 1 {
			return fmt.Errorf("find OpenShift's CRD %s in %s: found %d: has the module renamed it?", pattern, c.CRDs, len(files))
		}
		crds = append(crds, "--filename="+files[0])
	}
	certificates, err := certificates(c.PKI)
	if err != nil {
		return err
	}
	kubeconfigs, err := NodeKubeconfigs(c.PKI)
	if err != nil {
		return err
	}
	objects := append(namespaces(), kubeletAccess(), kubeconfigs)
	objects = append(objects, recoveryClients()...)
	objects = append(objects, machineConfig()...)
	objects = append(objects, certificates...)
	if len(c.Nodes) > 0 { // for pods to run on
		objects = append(objects, machineConfigDaemon())
	}
	if c.Multus != "" {
		objects = append(objects, multus(c.Multus)...)
	}

	// CRDs take the API server a while of mostly waiting: the rest goes beside.
	planted := make(chan error, 1)
	go func() { planted <- c.apply(ctx, objects) }()
	errCRDs := c.insist(ctx, nil, append([]string{"apply", "--server-side", "--field-manager=" + manager}, crds...)...)
	if err := <-planted; err != nil {
		return fmt.Errorf("plant namespaces and certificates: %w", err)
	}
	done(fmt.Sprintf("%d namespaces, Secrets and ConfigMaps of OpenShift", len(objects)))
	if errCRDs != nil {
		return fmt.Errorf("plant OpenShift's CRDs: %w", errCRDs)
	}
	if err := c.Kubectl(ctx, nil, append([]string{"wait", "--for=condition=Established", "--timeout=60s"}, crds...)...); err != nil {
		return fmt.Errorf("wait for OpenShift's CRDs: %w", err)
	}
	done(fmt.Sprintf("%d CustomResourceDefinitions of OpenShift", len(crds)))
	resources := clusterResources(c.Version, c.masters(), c.Now)
	if err := c.apply(ctx, without("status", resources)); err != nil {
		return fmt.Errorf("plant the cluster's version and operators: %w", err)
	}
	if err := c.apply(ctx, withStatus(resources), "--subresource=status"); err != nil {
		return fmt.Errorf("plant the status of the cluster's version and operators: %w", err)
	}
	done("claims to be OpenShift " + c.Version)
	return nil
}

// masters are the names of the cluster's masters. Where no machine is one, operators name
// one all the same: there is no cluster of OpenShift's without.
func (c Cluster) masters() []string {
	var names []string
	for _, n := range c.Nodes {
		if n.Master {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		return []string{"master-0"}
	}
	return names
}

// manager is the field manager of what the lab writes itself.
const manager = "certrot-lab"

func (c Cluster) apply(ctx context.Context, objects []object, flags ...string) error {
	text, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		return fmt.Errorf("encode objects: %w", err)
	}
	args := append([]string{"apply", "--server-side", "--field-manager=" + manager, "--filename=-"}, flags...)
	return c.insist(ctx, bytes.TrimSpace(text), args...)
}

// insist runs kubectl up to three times: on a busy machine the API server's answer to what
// it validates by may take longer than kubectl waits. Applying twice is safe.
func (c Cluster) insist(ctx context.Context, stdin []byte, args ...string) error {
	err := c.Kubectl(ctx, stdin, args...)
	for range 2 {
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
		err = c.Kubectl(ctx, stdin, args...)
	}
	return err
}

func without(key string, objects []object) []object {
	var all []object
	for _, o := range objects {
		kept := object{}
		for k, v := range o {
			if k != key {
				kept[k] = v
			}
		}
		all = append(all, kept)
	}
	return all
}

func withStatus(objects []object) []object {
	var kept []object
	for _, o := range objects {
		if o["status"] != nil {
			kept = append(kept, o)
		}
	}
	return kept
}
