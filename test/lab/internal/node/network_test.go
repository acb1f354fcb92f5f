package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// With multus, only multus configures the runtime's network: a file of the
// bridge's beside its own would be a way around it.
func TestMultusAloneConfiguresTheRuntime(t *testing.T) {
	nodes, err := Parse("worker-0")
	if err != nil {
		t.Fatal(err)
	}
	for _, multus := range []Multus{"", MultusThick, MultusThin} {
		root := t.TempDir()
		files := &tree{root: root}
		containerRuntime(files, multus.programs())
		network(files, nodes[0], multus)
		if files.err != nil {
			t.Fatal(files.err)
		}
		left, err := filepath.Glob(filepath.Join(root, networkConfigs, "*"))
		if err != nil || (len(left) == 0) != (multus != "") {
			t.Errorf("multus %q: configured by %v, %v", multus, left, err)
		}
		config, err := os.ReadFile(filepath.Join(root, "/etc/containerd/config.toml"))
		if err != nil || !strings.Contains(string(config), `bin_dir = "`+multus.programs()+`"`) {
			t.Errorf("multus %q: %v\n%s", multus, err, config)
		}
		boot, err := os.ReadFile(filepath.Join(root, "/etc/tmpfiles.d/lab-network.conf"))
		if (err == nil) != (multus != "") || err == nil && !strings.Contains(string(boot), defaultNetwork) {
			t.Errorf("multus %q: at boot %v\n%s", multus, err, boot)
		}
	}
}

func TestParseMultus(t *testing.T) {
	for text, valid := range map[string]bool{"": true, "thick": true, "thin": true, "thicker": false} {
		if m, err := ParseMultus(text); (err == nil) != valid || valid && string(m) != text {
			t.Errorf("%q: %q, %v", text, m, err)
		}
	}
}
