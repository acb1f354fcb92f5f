//go:build linux

package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/identity"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/kubeapi"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/supervisor"
)

// Stages of the incident; each includes those before it.
const (
	signerStage    = "signer"
	leafStage      = "leaf"
	reconnectStage = "reconnect"
)

func stages() []string { return []string{signerStage, leafStage, reconnectStage} }

// What the incident changes, by the names of the lab's certificates.
func signerFiles() []string {
	return append([]string{pki.LoadBalancerSigner}, pki.BundlesWith(pki.LoadBalancerSigner)...)
}

func leafFiles() []string { return []string{pki.InternalServing} }

const (
	revisionCommand = "note-revision" // of masters, inside the lab
	rollbackCommand = "rollback"      // what has been brought to them since

	incidentLimit = 4 * time.Minute
	rotateLimit   = 30 * time.Second // controllers see a change at once
	bringLimit    = 30 * time.Second
	servedLimit   = 90 * time.Second // the API server looks at its files once a minute if it misses the change
	publishLimit  = 60 * time.Second
)

// trouble is a lab with an incident that is on, or about to be.
type trouble struct {
	dir   labdir.Dir
	lab   labdir.State
	api   *kubeapi.Client
	state labdir.Incident
	w     *watch
}

// incident goes as far as a stage. What is done already is not done again.
func incident(ctx context.Context, dir labdir.Dir, args []string) error {
	stage := reconnectStage
	if len(args) > 0 {
		stage, args = args[0], args[1:]
	}
	if !slices.Contains(stages(), stage) {
		return fmt.Errorf("incident: no such stage: %q: LAB_STAGE=… is one of: %s", stage, strings.Join(stages(), ", "))
	}
	ctx, cancel := context.WithTimeout(ctx, incidentLimit)
	defer cancel()
	lab, err := running(dir)
	if err != nil {
		return err
	}
	nodes, err := reconnecting(lab, stage, args)
	if err != nil {
		return err
	}
	unlock, err := dir.Lock(ctx, func() { fmt.Println("another lab command is at work on", dir, "- waiting for it") })
	if err != nil {
		return err
	}
	defer unlock()

	t, err := openTrouble(dir, lab)
	if err != nil {
		return err
	}
	state, on, err := dir.Incident()
	switch {
	case err != nil:
		return err
	case on && state.Healing:
		return errors.New("incident: the last one is not wholly undone: `make lab-heal` finishes that")
	case on && slices.Index(stages(), stage) < slices.Index(stages(), state.Stage):
		return fmt.Errorf("incident: it is beyond %s, at %s, and nothing was changed: `make lab-heal` undoes it", stage, state.Stage)
	case on:
		t.state = state
	default:
		if err := t.begin(ctx); err != nil {
			return err
		}
	}
	for _, s := range []struct {
		name string
		do   func(context.Context) error
	}{{signerStage, t.signer}, {leafStage, t.leaf}} {
		if slices.Index(stages(), s.name) > slices.Index(stages(), stage) {
			break
		}
		if slices.Index(stages(), s.name) <= slices.Index(stages(), t.state.Stage) {
			t.w.say("%s: already done", s.name)
			continue
		}
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("incident, stage %s: %w", s.name, err)
		}
		if err := t.reached(s.name); err != nil {
			return err
		}
	}
	if stage != reconnectStage {
		return nil
	}
	if err := t.reconnect(ctx, nodes); err != nil {
		return fmt.Errorf("incident, stage %s: %w", stage, err)
	}
	return t.reached(stage)
}

// reconnecting are the nodes that arguments mean.
func reconnecting(lab labdir.State, stage string, named []string) ([]string, error) {
	nodes := strings.Fields(lab.Nodes)
	if stage != reconnectStage {
		if len(named) > 0 {
			return nil, fmt.Errorf("incident: stage %s is of no node: NODE=… goes with LAB_STAGE=%s", stage, reconnectStage)
		}
		return nil, nil
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("incident: the lab has no nodes that could lose their connection: LAB_STAGE=%s, or a lab with nodes", leafStage)
	}
	for _, n := range named {
		if !slices.Contains(nodes, n) {
			return nil, fmt.Errorf("incident: no such node: %q: NODE=… is one of: %s", n, strings.Join(nodes, ", "))
		}
	}
	if len(named) > 0 {
		return named, nil
	}
	return nodes, nil
}

func openTrouble(dir labdir.Dir, lab labdir.State) (*trouble, error) {
	api, err := kubeapi.New(dir.PKI(), hostPort(lab))
	if err != nil {
		return nil, err
	}
	return &trouble{dir: dir, lab: lab, api: api, w: &watch{began: time.Now()}}, nil
}

func hostPort(lab labdir.State) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(lab.Port))
}

// describe is a line about an incident that is on.
func describe(i labdir.Incident) string {
	stage := i.Stage
	switch {
	case i.Healing:
		return "partly undone: `make lab-heal` finishes that"
	case stage == "":
		stage = "begun, no stage complete"
	}
	if len(i.Nodes) > 0 {
		stage += " (" + strings.Join(i.Nodes, " ") + ")"
	}
	return fmt.Sprintf("%s, since %s: `make lab-heal` undoes it", stage, i.Began.Format(time.TimeOnly))
}

func (t *trouble) reached(stage string) error {
	if slices.Index(stages(), stage) <= slices.Index(stages(), t.state.Stage) {
		return nil
	}
	t.state.Stage = stage
	return t.dir.WriteIncident(t.state)
}

// begin puts aside what will be changed: from then on each step can be repeated and
// undone by another process.
func (t *trouble) begin(ctx context.Context) error {
	t.state = labdir.Incident{Began: time.Now()}
	names := append(signerFiles(), leafFiles()...)
	if err := t.brought(ctx, names); err != nil {
		return fmt.Errorf("before the incident: %w", err)
	}
	return t.dir.BeginIncident(t.state, func(original, _ string) error {
		if err := install(t.dir.PKI(), original, names); err != nil {
			return err
		}
		if err := t.toMasters(revisionCommand, filepath.Join(original, revisionFile)); err != nil {
			return err
		}
		before := map[string]json.RawMessage{}
		for _, path := range identity.Holders(names) {
			var err error
			if before[path], err = t.api.Get(ctx, path); err != nil {
				return fmt.Errorf("put aside what the incident changes: %w", err)
			}
		}
		text, err := json.MarshalIndent(before, "", "  ")
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(original, objectsFile), text, 0o600)
	})
}

const (
	objectsFile  = "objects.json" // Secrets and ConfigMaps as they were, by their paths
	revisionFile = "revision"     // that masters had
)

// signer is the first half of a rotation: a new CA, and trust in it wherever
// operators bring it.
func (t *trouble) signer(ctx context.Context) error {
	ca, err := t.rotate(ctx, signerStage, pki.LoadBalancerSigner)
	if err != nil {
		return err
	}
	bundles := identity.Holders(pki.BundlesWith(pki.LoadBalancerSigner))
	if err := until(ctx, rotateLimit, func() error { return t.inAll(ctx, ca, bundles) }); err != nil {
		return fmt.Errorf("wait until the new CA is in all bundles: %w: see %s", err, t.dir.Log(supervisor.CertRotation))
	}
	t.w.say("signer: its controller has made %s, and it is in %d bundles", ca.Subject.CommonName, len(bundles))
	if err := t.brought(ctx, signerFiles()); err != nil {
		return err
	}
	if err := t.publishes(ctx); err != nil {
		return err
	}
	return install(t.dir.PKI(), t.dir.IncidentFiles("rotated"), signerFiles())
}

// leaf is the second half: api-int is served by the new CA.
func (t *trouble) leaf(ctx context.Context) error {
	leaf, err := t.rotate(ctx, leafStage, pki.InternalServing)
	if err != nil {
		return err
	}
	t.w.say("leaf: its controller has had it signed by %s", leaf.Issuer.CommonName)
	if err := t.brought(ctx, leafFiles()); err != nil {
		return err
	}
	if err := install(t.dir.PKI(), t.dir.IncidentFiles("rotated"), leafFiles()); err != nil {
		return err
	}
	if err := t.served(ctx, leafStage, "rotated"); err != nil {
		return err
	}
	return t.servedByMasters(ctx, "rotated")
}

// notAfter is by what a rotation controller knows how long a certificate is valid;
// one without it is renewed at once. It is how administrators ask for that.
const notAfter = "auth.openshift.io/certificate-not-after"

// rotate has its controller make a new certificate, and returns that: once, however
// often it is called.
func (t *trouble) rotate(ctx context.Context, step, name string) (*x509.Certificate, error) {
	path := identity.Holders([]string{name})[0]
	before, err := t.certificate("original", name)
	if err != nil {
		return nil, err
	}
	now, err := t.inSecret(ctx, path)
	if err != nil {
		return nil, err
	}
	if now.Equal(before) {
		if err := t.api.Patch(ctx, path, map[string]any{"metadata": map[string]any{"annotations": map[string]any{notAfter: nil}}}); err != nil {
			return nil, err
		}
		t.w.say("%s: removed annotation %s of Secret %s", step, notAfter, name)
	}
	err = until(ctx, rotateLimit, func() error {
		if now, err = t.inSecret(ctx, path); err == nil && now.Equal(before) {
			err = fmt.Errorf("the previous certificate is still in Secret %s", name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("wait for a new certificate: %w: see %s", err, t.dir.Log(supervisor.CertRotation))
	}
	return now, nil
}
