//go:build unix

package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin"
)

// document runs certrot and reads what it prints as JSON, whatever its exit code.
func document(t *testing.T, into any, args ...string) {
	t.Helper()
	var out, talk bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &talk}
	code := plugin.Main(context.Background(), "test", append([]string{"kubectl-certrot"}, args...), streams)
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		t.Fatalf("%v: exit code %d: %v\n%s", args, code, err, talk.String())
	}
}

// rotate --list and inspect say the same of the next renewal of each certificate, in the
// demonstration's cluster at each version, and in the sample must-gather.
func TestRotateListAndInspectAgree(t *testing.T) {
	t.Parallel()
	demo, err := collect.File{Path: "../testdata/demo/okd-4.15-api-int.certrot", Scanner: pki.NewScanner()}.Read()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := map[string]string{}
	_, last := inspecttest.ReviewedVersions(t)
	for _, version := range []string{"4.8.13", "4.12.3", "4.13.1", "4.14.1", "4.15.1", "4.16.1", "4.17.1", "4.18.1", "4.19.1", "4.20.1", "4.21.1", "4.22.1", "4.99.0", "5.0.0", last + ".0", inspecttest.NextVersion(t) + ".0", ""} {
		demo.Cluster.Versions.Cluster = version
		for name := range demo.Cluster.Versions.Operators {
			demo.Cluster.Versions.Operators[name] = version
		}
		name := filepath.Join(dir, "demo-"+version)
		file, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := collect.WriteSnapshot(file, demo); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		files["the demonstration at version "+version] = name
	}
	if sample := os.Getenv("CERTROT_MUST_GATHER"); sample != "" {
		files["the sample must-gather"] = sample
	}
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var inventory struct {
				Certificates []struct {
					SHA256  string
					Renewal struct{ Due string }
				}
			}
			var list struct {
				Rotations []struct{ Name, SHA256, NextRotation string }
			}
			document(t, &inventory, "inspect", "--from", file, "-o", "json", "--fail-on", "none", "--allow-unknown")
			document(t, &list, "rotate", "--list", "--from", file, "-o", "json")
			due := map[string]string{}
			for _, c := range inventory.Certificates {
				due[c.SHA256] = c.Renewal.Due
			}
			compared := 0
			for _, r := range list.Rotations {
				if r.SHA256 == "" {
					continue
				}
				compared++
				if due[r.SHA256] != r.NextRotation {
					t.Errorf("%s: inspect says %q, rotate --list says %q", r.Name, due[r.SHA256], r.NextRotation)
				}
			}
			if compared < 5 {
				t.Errorf("only %d certificates were compared", compared)
			}
		})
	}
}
