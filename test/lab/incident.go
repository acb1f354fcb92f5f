//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
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
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
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
			t.w.say("%s: so already", s.name)
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

// rotate has its controller make a certificate anew, and returns that: once, however
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
			err = fmt.Errorf("in Secret %s is the certificate of before", name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("wait for a new certificate: %w: see %s", err, t.dir.Log(supervisor.CertRotation))
	}
	return now, nil
}

// until tries again and again until something is so.
func until(ctx context.Context, limit time.Duration, so func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := so()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (t *trouble) inSecret(ctx context.Context, path string) (*x509.Certificate, error) {
	h, err := getHolder(ctx, t.api, path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(h.files[certFile])
	if block == nil {
		return nil, fmt.Errorf("no certificate in %s", path)
	}
	return x509.ParseCertificate(block.Bytes)
}

// inAll says in which bundle a CA is missing.
func (t *trouble) inAll(ctx context.Context, ca *x509.Certificate, bundles []string) error {
	for _, path := range bundles {
		h, err := getHolder(ctx, t.api, path)
		if err != nil {
			return err
		}
		if !strings.Contains(string(h.files[bundleFile]), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw}))) {
			return fmt.Errorf("it is not in %s", path)
		}
	}
	return nil
}

// brought waits until the syncer has brought what the cluster has of these names to
// the lab's components and masters.
func (t *trouble) brought(ctx context.Context, names []string) error {
	err := until(ctx, bringLimit, func() error { return synced(ctx, t.dir, t.api, names) })
	if err != nil {
		return fmt.Errorf("wait for the certificate syncer: %w: see %s", err, t.dir.Log(supervisor.CertSyncer))
	}
	return nil
}

func (t *trouble) toMasters(command string, args ...string) error {
	if t.lab.Nodes == "" {
		return nil
	}
	return goInside(t.dir, t.lab, append([]string{command}, args...)...)
}

// install copies the files of certificates and bundles from one folder to another,
// each in one step: others read them at any moment. A certificate and its key can't
// come in one; the API server keeps what it has until both fit.
func install(from, to string, names []string) error {
	found := 0
	for _, name := range names {
		for _, file := range []string{pki.BundleFile(from, name), pki.KeyFile(from, name), pki.CertFile(from, name)} {
			text, err := os.ReadFile(file)
			if errors.Is(err, fs.ErrNotExist) {
				continue // a name is that of a bundle or of a pair
			}
			if err != nil {
				return fmt.Errorf("replace certificates: %w", err)
			}
			mode := os.FileMode(0o644)
			if file == pki.KeyFile(from, name) {
				mode = 0o600
			}
			target := filepath.Join(to, filepath.Base(file))
			if err := replace(target, text, mode); err != nil {
				return err
			}
			found++
		}
	}
	if found == 0 {
		return fmt.Errorf("replace certificates: %s has none of %s", from, strings.Join(names, ", "))
	}
	return nil
}

func (t *trouble) certificate(version, name string) (*x509.Certificate, error) {
	folder := t.dir.IncidentFiles(version)
	pair, err := tls.LoadX509KeyPair(pki.CertFile(folder, name), pki.KeyFile(folder, name))
	if err != nil {
		return nil, fmt.Errorf("read the %s version of %s: %w", version, name, err)
	}
	return pair.Leaf, nil
}

// served waits until a handshake shows that api-int serves its certificate in this
// version, and that the CA of the same version is enough to trust it.
func (t *trouble) served(ctx context.Context, step, version string) error {
	ca, err := t.certificate(version, pki.LoadBalancerSigner)
	if err != nil {
		return err
	}
	leaf, err := t.certificate(version, pki.InternalServing)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	ctx, cancel := context.WithTimeout(ctx, servedLimit)
	defer cancel()
	for {
		got, err := handshake(ctx, hostPort(t.lab), pki.InternalHost, roots)
		if err == nil && got.Equal(leaf) {
			t.w.say("%s: %s serves a certificate of %s", step, pki.InternalHost, got.Issuer.CommonName)
			return nil
		}
		if err == nil {
			err = fmt.Errorf("it serves serial %s, not %s", got.SerialNumber, leaf.SerialNumber)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s serves what is in %s: %w: see %s", pki.InternalHost, pki.CertFile(t.dir.PKI(), pki.InternalServing), err, t.dir.Log("kube-apiserver"))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// servedByMasters waits for the same of the masters that have an API server of their own:
// what they serve is in their files, and comes a moment later.
func (t *trouble) servedByMasters(ctx context.Context, version string) error {
	leaf, err := t.certificate(version, pki.InternalServing)
	if err != nil {
		return err
	}
	nodes, err := node.Parse(t.lab.Nodes)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, servedLimit)
	defer cancel()
	for _, n := range nodes {
		for n.APIServer {
			shown, err := t.ssh(ctx, n.Name, "openssl s_client -connect 127.0.0.1:6443 -servername "+pki.InternalHost+" </dev/null 2>/dev/null | openssl x509")
			if block, _ := pem.Decode([]byte(shown)); block != nil && bytes.Equal(block.Bytes, leaf.Raw) {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("wait until the API server of %s serves serial %s for %s: %w: see %s", n.Name, leaf.SerialNumber, pki.InternalHost, errors.Join(ctx.Err(), err), t.dir.Log("kube-apiserver-"+n.Name))
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return nil
}

// handshake is what a server shows to who asks for a name and trusts roots. The server
// does not hear whether it is trusted: it would write into its log who does not.
func handshake(ctx context.Context, address, name string, roots *x509.CertPool) (*x509.Certificate, error) {
	dialer := tls.Dialer{Config: &tls.Config{ServerName: name, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}} // verified below
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("shake hands with %s: %w", name, err)
	}
	defer func() { _ = conn.Close() }()
	c, ok := conn.(*tls.Conn)
	if !ok {
		return nil, fmt.Errorf("shake hands with %s: not TLS", name)
	}
	chain := c.ConnectionState().PeerCertificates
	between := x509.NewCertPool()
	for _, cert := range chain[1:] {
		between.AddCert(cert)
	}
	if _, err := chain[0].Verify(x509.VerifyOptions{DNSName: name, Roots: roots, Intermediates: between}); err != nil {
		return nil, fmt.Errorf("shake hands with %s: %w", name, err)
	}
	return chain[0], nil
}

// restartClients returns when the controller manager has published what it trusts to
// all namespaces.
func (t *trouble) restartClients(ctx context.Context) error {
	if err := restartClients(ctx, t.dir); err != nil {
		return err
	}
	return t.publishes(ctx)
}

// publishes waits until the controller manager has published what it trusts.
func (t *trouble) publishes(ctx context.Context) error {
	want, err := os.ReadFile(pki.BundleFile(t.dir.PKI(), "serviceaccount-ca"))
	if err != nil {
		return fmt.Errorf("read what is to be published: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, publishLimit)
	defer cancel()
	for {
		namespaces, lacking, err := t.published(ctx, string(want))
		if err == nil && len(lacking) == 0 {
			t.w.say("kube-controller-manager and kube-scheduler trust these bundles after a restart; kube-root-ca.crt is in %d namespaces", namespaces)
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait until kube-root-ca.crt is what serviceaccount-ca is: not in %s: see %s", strings.Join(lacking, ", "), t.dir.Log("kube-controller-manager")), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// published says in which namespaces kube-root-ca.crt is another.
func (t *trouble) published(ctx context.Context, want string) (namespaces int, lacking []string, err error) {
	text, err := t.api.Get(ctx, "/api/v1/configmaps?fieldSelector=metadata.name%3Dkube-root-ca.crt")
	if err != nil {
		return 0, nil, err
	}
	var list struct {
		Items []struct {
			Metadata struct {
				Namespace string `json:"namespace"`
			} `json:"metadata"`
			Data map[string]string `json:"data"`
		} `json:"items"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return 0, nil, fmt.Errorf("read kube-root-ca.crt of all namespaces: %w", err)
	}
	for _, i := range list.Items {
		if i.Data["ca.crt"] != want {
			lacking = append(lacking, i.Metadata.Namespace)
		}
	}
	return len(list.Items), lacking, nil
}
