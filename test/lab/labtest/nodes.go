package labtest

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/binaries"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/checkout"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/rootfs"
)

// RequireNodes is the shared lab as Require gives it, with nodes. A test that cuts
// or reboots one leaves it Ready.
func RequireNodes(t testing.TB) *Lab {
	t.Helper()
	requireMachines(t)
	lab := Require(t)
	if len(lab.Nodes()) == 0 {
		why := lab.state().NoNodes
		if why == "" {
			why = "it was brought up without: `make lab-down lab-up`, without LAB_NODES, brings it up with them"
		}
		Unmet(t, "the lab in %s has no nodes: %s", lab.Dir, why)
	}
	return lab
}

// TemporaryNodes is Temporary with nodes of these names.
func TemporaryNodes(t testing.TB, names ...string) *Lab {
	t.Helper()
	requireMachines(t)
	return temporary(t, strings.Join(names, " "), "")
}

// TemporaryMultus is TemporaryNodes with multus, thick or thin. A thick one needs a
// master.
func TemporaryMultus(t testing.TB, multus string, names ...string) *Lab {
	t.Helper()
	requireMachines(t)
	if root := require(t); !multusBuilt(multus, root) && os.Getenv("CERTROT_REQUIRE_LAB") != "1" {
		t.Skipf("needs the lab with multus, which is not built yet: `make lab-up LAB_MULTUS=%s` does it, in some minutes, once", multus)
	}
	return temporary(t, strings.Join(names, " "), multus)
}

// multusBuilt is false only if there is something to build.
func multusBuilt(multus, root string) bool {
	set, built, err := rootfs.Lookup()
	if multus == "" || err != nil || !built {
		return multus == ""
	}
	built, err = binaries.LookupMultus(checkout.Components(root), node.Multus(multus), set)
	return err == nil && built
}

// requireMachines ends the test unless nodes can be had here.
func requireMachines(t testing.TB) {
	t.Helper()
	require(t)
	if err := rootfs.Prerequisites(); err != nil {
		Unmet(t, "%v", err)
	}
	if !machinesBuilt() && os.Getenv("CERTROT_REQUIRE_LAB") != "1" {
		t.Skip("needs the lab with nodes, but their root file system is not made yet: `make lab-up` does it, in 1 to 2 minutes, once")
	}
}

// machinesBuilt is false only if there is something to build.
func machinesBuilt() bool {
	if rootfs.Prerequisites() != nil {
		return true
	}
	_, built, err := rootfs.Lookup()
	return err != nil || built
}

// Nodes are the names of the lab's nodes.
func (l *Lab) Nodes() []string { return strings.Fields(l.state().Nodes) }

// Workers are those of Nodes that are no masters.
func (l *Lab) Workers() []string {
	nodes, err := node.Parse(l.state().Nodes)
	if err != nil {
		return nil
	}
	var names []string
	for _, n := range nodes {
		if !n.Master {
			names = append(names, n.Name)
		}
	}
	return names
}

func (l *Lab) state() labdir.State {
	state, _, err := labdir.Dir(l.Dir).State()
	if err != nil {
		return labdir.State{}
	}
	return state
}

// SSHCommand is a command on a node, as the user core. As with any ssh, the words
// are joined and a shell on the node reads them.
func (l *Lab) SSHCommand(ctx context.Context, node string, words ...string) *exec.Cmd {
	return l.Command(ctx, append([]string{"ssh", node}, words...)...)
}

// SSH runs a command on a node and returns what it printed; if it fails, so does
// the test.
func (l *Lab) SSH(t testing.TB, node string, words ...string) string {
	t.Helper()
	return l.output(t, l.SSHCommand(t.Context(), node, words...))
}

// Reboot reboots a node, or switches it on, and returns at once.
func (l *Lab) Reboot(t testing.TB, node string) {
	t.Helper()
	l.disturb(t, "reboot", node)
}

// Cut cuts a node off the network. Heal undoes it, and is called at the end of the
// test in any case.
func (l *Lab) Cut(t testing.TB, node string) {
	t.Helper()
	t.Cleanup(func() { l.Heal(t) })
	l.disturb(t, "cut", node)
}

// Heal plugs in all nodes that were cut off and switches on those that are off. If
// there is an incident, it undoes that too, and waits until all nodes are Ready.
func (l *Lab) Heal(t testing.TB) {
	t.Helper()
	l.disturb(t, "heal")
}

func (l *Lab) disturb(t testing.TB, verb ...string) {
	t.Helper()
	if out, err := l.tool(incidentLimit, verb...); err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(verb, " "), err, out)
	}
}
