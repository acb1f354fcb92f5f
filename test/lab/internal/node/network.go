package node

import (
	"fmt"
	"path"
)

// Multus is how multus-cni runs on a lab's nodes; empty: it doesn't, and the bridge
// plugin is the whole network.
type Multus string

// As OpenShift has it.
const (
	MultusThick Multus = "thick" // a daemon, which plugins of a few lines ask: from 4.14 on
	MultusThin  Multus = "thin"  // a plugin alone: up to 4.13
)

// ParseMultus reads what LAB_MULTUS says.
func ParseMultus(text string) (Multus, error) {
	switch m := Multus(text); m {
	case "", MultusThick, MultusThin:
		return m, nil
	}
	return "", fmt.Errorf("LAB_MULTUS: %q is not one of: %s, %s", text, MultusThick, MultusThin)
}

// Where network plugins and their configuration are on OpenShift's nodes. What the
// runtime reads is written by multus alone, and multus is told of the network below it
// by that one's own file, which is in /run and so is gone after a reboot.
const (
	networkConfigs  = "/etc/kubernetes/cni/net.d"
	networkPrograms = "/var/lib/cni/bin"
	defaultNetwork  = "/run/multus/cni/net.d/10-ovn-kubernetes.conf"
	packagePrograms = "/usr/lib/cni" // where Debian's package has them
)

// programs is the folder of network plugins.
func (m Multus) programs() string {
	if m == "" {
		return packagePrograms
	}
	return networkPrograms
}

// network configures the node's network of pods: a bridge of its own, in the place of
// OVN-Kubernetes, below multus or without it.
func network(t *tree, n Node, multus Multus) {
	const kept = "/etc/lab/10-ovn-kubernetes.conf"
	plugin := `"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false,
  "ipam": {"type": "host-local", "ranges": [[{"subnet": "` + n.PodNetwork + `"}]], "routes": [{"dst": "0.0.0.0/0"}]}`
	if multus == "" {
		t.file(path.Join(networkConfigs, "10-lab.conflist"), `{"cniVersion": "1.0.0", "name": "lab", "plugins": [{
  `+plugin+`
}]}
`, 0o644)
		return
	}
	t.folder(path.Join(t.root, networkConfigs))
	// One plugin, as OVN-Kubernetes writes it: multus takes a list for a mistake in a
	// file with this ending.
	t.file(kept, `{"cniVersion": "0.4.0", "name": "ovn-kubernetes", `+plugin+"}\n", 0o644)
	// At boot, in the place of ovnkube-node and of what copies plugins. Links are not
	// enough: multus sees this folder in its container, too.
	lines := "C " + defaultNetwork + " 0644 root root - " + kept + "\n"
	for _, name := range []string{"bridge", "host-local", "loopback"} {
		lines += "C " + path.Join(networkPrograms, name) + " 0755 root root - " + path.Join(packagePrograms, name) + "\n"
	}
	t.file("/etc/tmpfiles.d/lab-network.conf", lines, 0o644)
}
