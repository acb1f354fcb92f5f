package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	etcdPackage = "go.etcd.io/etcd/server/v3"
	crdModule   = "github.com/openshift/api"
)

// crdFolders are the API groups of crdModule whose CRDs the lab may want.
func crdFolders() []string {
	return []string{"config/v1", "machineconfiguration/v1", "operator/v1", "route/v1"}
}

type builder struct {
	module  string
	out     Set
	ldflags string
	talk    io.Writer
}

func (b builder) build(ctx context.Context) error {
	if err := os.Mkdir(filepath.Join(b.out.folder, "bin"), 0o755); err != nil {
		return fmt.Errorf("make a folder to build in: %w", err)
	}
	if err := b.copyCRDs(ctx); err != nil {
		return err
	}
	fmt.Fprintln(b.talk, "  Kubernetes "+KubernetesVersion)
	if _, err := run(ctx, b.module, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags", b.ldflags, "-o", b.out.Bin("hyperkube"), "."); err != nil {
		return err
	}
	for _, name := range Names() {
		if name == "etcd" {
			continue
		}
		if err := os.Symlink("hyperkube", b.out.Bin(name)); err != nil {
			return fmt.Errorf("name a component: %w", err)
		}
	}
	fmt.Fprintln(b.talk, "  etcd")
	_, err := run(ctx, b.module, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", b.out.Bin("etcd"), etcdPackage)
	return err
}

// copyCRDs takes the CRDs as a cluster without feature gates has them: those
// that exist in one variant, and the Default one of the others.
func (b builder) copyCRDs(ctx context.Context) error {
	if _, err := run(ctx, b.module, "go", "mod", "download", crdModule); err != nil {
		return err
	}
	out, err := run(ctx, b.module, "go", "list", "-m", "-f", "{{.Dir}}", crdModule)
	if err != nil {
		return err
	}
	if err := os.Mkdir(b.out.CRDs(), 0o755); err != nil {
		return fmt.Errorf("make the folder for CRDs: %w", err)
	}
	for _, folder := range crdFolders() {
		pattern := filepath.Join(strings.TrimSpace(string(out)), folder, "zz_generated.crd-manifests", "*.yaml")
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			return fmt.Errorf("copy OpenShift's CRDs: nothing at %s: has %s moved them?", pattern, crdModule)
		}
		for _, f := range files {
			if !defaultVariant(filepath.Base(f)) {
				continue
			}
			text, err := os.ReadFile(f)
			if err != nil {
				return fmt.Errorf("copy OpenShift's CRDs: %w", err)
			}
			if err := os.WriteFile(filepath.Join(b.out.CRDs(), filepath.Base(f)), text, 0o644); err != nil {
				return fmt.Errorf("copy OpenShift's CRDs: %w", err)
			}
		}
	}
	return nil
}

// defaultVariant reads the variant off a manifest's name, such as
// 0000_10_config-operator_01_apiservers-TechPreviewNoUpgrade.crd.yaml.
func defaultVariant(file string) bool {
	name := file[strings.LastIndexByte(file, '_')+1:]
	for _, other := range []string{"-CustomNoUpgrade", "-DevPreviewNoUpgrade", "-TechPreviewNoUpgrade", "-OKD", "-Hypershift"} {
		if strings.Contains(name, other) {
			return false
		}
	}
	return true
}
