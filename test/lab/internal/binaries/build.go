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
	ldflags string
	talk    io.Writer
}

func (b builder) build(ctx context.Context, out Set) error {
	if err := os.Mkdir(filepath.Join(out.folder, "bin"), 0o755); err != nil {
		return fmt.Errorf("make a folder to build in: %w", err)
	}
	if err := b.copyCRDs(ctx, out); err != nil {
		return err
	}
	fmt.Fprintln(b.talk, "  Kubernetes "+KubernetesVersion)
	if _, err := run(ctx, b.module, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags", b.ldflags, "-o", out.Bin("hyperkube"), "."); err != nil {
		return err
	}
	for _, name := range Names() {
		if name == "etcd" || name == rotation {
			continue
		}
		if err := os.Symlink("hyperkube", out.Bin(name)); err != nil {
			return fmt.Errorf("name a component: %w", err)
		}
	}
	fmt.Fprintln(b.talk, "  etcd")
	_, err := run(ctx, b.module, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", out.Bin("etcd"), etcdPackage)
	return err
}

func (b builder) rotation(ctx context.Context, out Set) error {
	_, err := run(ctx, filepath.Join(b.module, rotationModule), "go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", out.Bin(rotation), ".")
	return err
}

// copyCRDs takes the CRDs as a cluster without feature gates has them: those
// that exist in one variant, and the Default one of the others.
func (b builder) copyCRDs(ctx context.Context, out Set) error {
	if _, err := run(ctx, b.module, "go", "mod", "download", crdModule); err != nil {
		return err
	}
	listed, err := run(ctx, b.module, "go", "list", "-m", "-f", "{{.Dir}}", crdModule)
	if err != nil {
		return err
	}
	if err := os.Mkdir(out.CRDs(), 0o755); err != nil {
		return fmt.Errorf("make the folder for CRDs: %w", err)
	}
	for _, folder := range crdFolders() {
		pattern := filepath.Join(strings.TrimSpace(string(listed)), folder, "zz_generated.crd-manifests", "*.yaml")
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
			if err := os.WriteFile(filepath.Join(out.CRDs(), filepath.Base(f)), text, 0o644); err != nil {
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
