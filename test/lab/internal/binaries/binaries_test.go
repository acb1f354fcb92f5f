package binaries

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOnlyDefaultVariantsOfCRDsAreTaken(t *testing.T) {
	for name, want := range map[string]bool{
		"routes.crd.yaml": true,
		"0000_00_cluster-version-operator_01_clusteroperators.crd.yaml":                    true,
		"0000_10_config-operator_01_apiservers-Default.crd.yaml":                           true,
		"0000_10_config-operator_01_schedulers-SelfManagedHA-Default.crd.yaml":             true,
		"0000_10_config-operator_01_apiservers-TechPreviewNoUpgrade.crd.yaml":              false,
		"0000_10_config-operator_01_apiservers-OKD.crd.yaml":                               false,
		"0000_10_config-operator_01_schedulers-Hypershift.crd.yaml":                        false,
		"0000_10_config-operator_01_schedulers-SelfManagedHA-DevPreviewNoUpgrade.crd.yaml": false,
		"0000_80_machine-config_01_machineconfignodes-Hypershift-CustomNoUpgrade.crd.yaml": false,
	} {
		if got := defaultVariant(name); got != want {
			t.Errorf("defaultVariant(%s) = %v, want %v", name, got, want)
		}
	}
}

func TestKeyFollowsTheSource(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := key(dir, ""); err == nil {
		t.Error("a folder without source has a key")
	}
	write("main.go", "package main\n")
	write("go.sum", "")
	write("go.mod", "require k8s.io/kubernetes "+KubernetesVersion+"\n")
	first, err := key(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	write("main.go", "package main // changed\n")
	if second, err := key(dir, ""); err != nil || second == first {
		t.Errorf("the key of changed source is %s (%v), as before", second, err)
	}
	write("go.mod", "require k8s.io/kubernetes v1.2.3\n")
	if _, err := key(dir, ""); err == nil {
		t.Error("another Kubernetes in go.mod than in KubernetesVersion is accepted")
	}
}

func TestComponentsModuleHasAKey(t *testing.T) {
	if _, _, err := Lookup(filepath.Join("..", "..", "components")); err != nil {
		t.Error(err)
	}
}
