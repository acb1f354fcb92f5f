//go:build linux

package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/supervisor"
)

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
