package node

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
)

// Default are the nodes of a lab when none are named.
const Default = "master-0 worker-0 worker-1"

// most is what addresses and one machine's memory allow, generously.
const most = 20

// Node is one machine.
type Node struct {
	Name       string `json:"name"`
	Address    string `json:"address"`    // its InternalIP
	PodNetwork string `json:"podNetwork"` // addresses for its pods
	Link       string `json:"link"`       // the interface that plugs it into the bridge
	Master     bool   `json:"master"`
	// APIServer: it runs one of its own. What the first master has is the control plane's.
	APIServer bool `json:"apiServer,omitempty"`
}

// Parse makes nodes of names. One whose name begins with "master" is a master.
func Parse(names string) ([]Node, error) {
	valid := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$`)
	var nodes []Node
	for i, name := range strings.Fields(names) {
		if !valid.MatchString(name) || name == pki.NodeName || name == "localhost" {
			return nil, fmt.Errorf("LAB_NODES: %q is no name for a node: use small letters, digits and hyphens, and not %s, the control plane's", name, pki.NodeName)
		}
		if slices.ContainsFunc(nodes, func(n Node) bool { return n.Name == name }) {
			return nil, fmt.Errorf("LAB_NODES: %q is there twice", name)
		}
		master := strings.HasPrefix(name, "master")
		nodes = append(nodes, Node{
			Name:       name,
			Address:    fmt.Sprintf("10.99.0.%d", 11+i),
			PodNetwork: fmt.Sprintf("10.98.%d.0/24", 11+i),
			Link:       fmt.Sprintf("lab%d", 1+i), // lab0 is the bridge
			Master:     master,
			APIServer:  master && slices.ContainsFunc(nodes, func(n Node) bool { return n.Master }),
		})
	}
	if len(nodes) > most {
		return nil, fmt.Errorf("LAB_NODES: %d nodes are more than the %d that the lab is made for", len(nodes), most)
	}
	return nodes, nil
}

// Roles are the labels that give a node its roles, as on OpenShift.
func (n Node) Roles() []string {
	if n.Master {
		return []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}
	}
	return []string{"node-role.kubernetes.io/worker"}
}

// Hosts are the lines of an /etc/hosts that name the nodes.
func Hosts(nodes []Node) string {
	var b strings.Builder
	for _, n := range nodes {
		fmt.Fprintf(&b, "%s %s\n", n.Address, n.Name)
	}
	return b.String()
}

// Plan is what `up` passes to the supervisor.
type Plan struct {
	Tree   string   `json:"tree"`   // the root file system below every machine's own files
	Images []string `json:"images"` // archives of container images
	Multus Multus   `json:"multus"`
	Nodes  []Node   `json:"nodes"`
}

// Write writes the plan down.
func (p Plan) Write(path string) error {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("write down the nodes: %w", err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write down the nodes: %w", err)
	}
	return nil
}

// ReadPlan reads what Write wrote.
func ReadPlan(path string) (Plan, error) {
	var p Plan
	b, err := os.ReadFile(path)
	if err != nil {
		return p, fmt.Errorf("read which nodes there are: %w", err)
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return p, fmt.Errorf("read which nodes there are, in %s: %w", path, err)
	}
	return p, nil
}
