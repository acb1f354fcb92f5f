package nodeexec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

func TestInventory(t *testing.T) {
	got, err := nodeexec.ParseInventory(strings.NewReader(`# nodes of prod
master-0.example.com  192.0.2.10
worker-1	192.0.2.11  admin   # a comment
worker-2 worker-2.lan root 2222
worker-3 2001:db8::3 2200

`), "inventory")
	if err != nil {
		t.Fatal(err)
	}
	want := nodeexec.Inventory{
		"master-0.example.com": {Host: "192.0.2.10"},
		"worker-1":             {Host: "192.0.2.11", User: "admin"},
		"worker-2":             {Host: "worker-2.lan", User: "root", Port: 2222},
		"worker-3":             {Host: "2001:db8::3", Port: 2200},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"master-0.example.com", "worker-1", "worker-2", "worker-3"}, got.Nodes()); diff != "" {
		t.Error(diff)
	}
}

func TestInventoryIsStrict(t *testing.T) {
	for text, want := range map[string]string{
		"a 1.2.3.4\nb\n":         "inv:2: node b has no address",
		"a 1.2.3.4 u 22 x":       `inv:1: "x" is too much`,
		"a 1.2.3.4\n\na 1.2.3.5": "inv:3: node a is also in line 1",
		"a 1.2.3.4:22":           "a port has its own column",
		"a 1.2.3.4 core 0":       `"0" is no port`,
		"a 1.2.3.4 core 99999":   `"99999" is no port`,
		"a 1.2.3.4 22 core":      `"22" is no user`,
		"-o x":                   `"-o" is no name`,
		"a core@1.2.3.4":         "is no name or IP address",
		"a $(id)":                "is no name or IP address",
	} {
		_, err := nodeexec.ParseInventory(strings.NewReader(text), "inv")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// As in a file that was written for another program.
func TestAPasswordInAnInventoryIsNotQuoted(t *testing.T) {
	for _, line := range []string{"pw=geheim77", "pw=geheim77 a", "a pw=geheim77", "a pw=x:geheim77", "a 1.2.3.4 pw=geheim77", "a 1.2.3.4 core pw=geheim77", "a 1.2.3.4 core 22 pw=geheim77"} {
		_, err := nodeexec.ParseInventory(strings.NewReader(line), "inv")
		if err == nil || strings.Contains(err.Error(), "geheim77") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func FuzzParseInventory(f *testing.F) {
	f.Add("a 1.2.3.4 core 22\n# x\nb ::1")
	f.Fuzz(func(t *testing.T, text string) {
		inv, err := nodeexec.ParseInventory(strings.NewReader(text), "inv")
		for node, a := range inv {
			if err != nil || node == "" || a.Host == "" || a.Port < 0 || a.Port > 65535 {
				t.Errorf("%q: %q %+v %v", text, node, a, err)
			}
		}
	})
}
