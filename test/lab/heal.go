//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/supervisor"
)

// heal undoes what reboot, cut and incident did.
func heal(ctx context.Context, dir labdir.Dir, args []string) error {
	_, on, err := dir.Incident()
	if err != nil {
		return err
	}
	lab, err := running(dir)
	if err != nil {
		return err
	}
	if lab.Nodes != "" {
		if err := disturb(dir, args); err != nil {
			return err
		}
	}
	if !on {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, incidentLimit)
	defer cancel()
	unlock, err := dir.Lock(ctx, func() { fmt.Println("another lab command is at work on", dir, "- waiting for it") })
	if err != nil {
		return err
	}
	defer unlock()
	t, err := openTrouble(dir, lab)
	if err != nil {
		return err
	}
	if t.state, on, err = dir.Incident(); err != nil || !on {
		return err // another process has done it
	}
	if err := t.undo(ctx); err != nil {
		return fmt.Errorf("undo the incident: %w", err)
	}
	return nil
}

// undo puts back every byte that the incident changed, and has kubelets find their
// way. Nothing on a node is changed but a master's copies of certificates; so one
// that was repaired meanwhile trusts a CA more than it needs, and is Ready too.
func (t *trouble) undo(ctx context.Context) error {
	t.state.Healing = true
	if err := t.dir.WriteIncident(t.state); err != nil {
		return err
	}
	// Who would rotate again what is put back meanwhile, or bring halves of it about.
	for _, name := range []string{supervisor.CertRotation, supervisor.CertSyncer} {
		if err := supervisor.Hold(ctx, t.dir, name); err != nil {
			return err
		}
	}
	original := t.dir.IncidentFiles("original")
	// First what is served: all trust it, now as before.
	if err := install(original, t.dir.PKI(), leafFiles()); err != nil {
		return err
	}
	if err := t.served(ctx, "heal", "original"); err != nil {
		return err
	}
	since, disconnected := time.Now(), t.disconnected(ctx)
	if err := install(original, t.dir.PKI(), signerFiles()); err != nil {
		return err
	}
	if err := t.restore(ctx, filepath.Join(original, objectsFile)); err != nil {
		return err
	}
	names := append(signerFiles(), leafFiles()...)
	if err := t.toMasters(rollbackCommand, append([]string{filepath.Join(original, revisionFile)}, names...)...); err != nil {
		return err
	}
	if err := t.servedByMasters(ctx, "original"); err != nil {
		return err
	}
	if err := publishNodeKubeconfigs(ctx, t.dir, t.api); err != nil {
		return err
	}
	t.w.say("heal: Secrets, bundles and the masters' files are what they were")
	if err := t.restartClients(ctx); err != nil {
		return err
	}
	for _, name := range []string{supervisor.CertRotation, supervisor.CertSyncer} {
		if err := supervisor.Release(t.dir, name); err != nil {
			return err
		}
	}
	if err := each(strings.Fields(t.lab.Nodes), func(n string) error { return t.awaitReady(ctx, n, slices.Contains(disconnected, n), since) }); err != nil {
		return err
	}
	nodes, err := node.Parse(t.lab.Nodes)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Master {
			if err := t.forgetRefusals(ctx, n.Name); err != nil {
				return err
			}
		}
	}
	return t.dir.EndIncident()
}

// forgetRefusals empties a master's log of the API server: who refused it in the
// incident would be held against nodes for a while.
func (t *trouble) forgetRefusals(ctx context.Context, master string) error {
	if _, err := t.ssh(ctx, master, "sudo sh -c 'truncate --no-create --size=0 /var/log/pods/openshift-kube-apiserver_*/kube-apiserver/*.log'"); err != nil {
		return fmt.Errorf("empty the log of the API server on %s: %w", master, err)
	}
	return nil
}

// restore writes Secrets and ConfigMaps as they were put aside.
func (t *trouble) restore(ctx context.Context, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read what was put aside: %w", err)
	}
	var before map[string]map[string]any
	if err := json.Unmarshal(text, &before); err != nil {
		return fmt.Errorf("read what was put aside in %s: %w", file, err)
	}
	for path, o := range before {
		if metadata, ok := o["metadata"].(map[string]any); ok {
			// What the API server says of an object, and checks when it is written.
			for _, key := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp"} {
				delete(metadata, key)
			}
		}
		if err := t.api.Put(ctx, path, o); err != nil {
			return err
		}
	}
	return nil
}
