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
		"a 1.2.3.4\nb\n":         "inv:2: the address is missing; a line is: node address [user] [port]",
		"a 1.2.3.4 u 22 x":       "inv:1: it has 5 words",
		"a 1.2.3.4\n\na 1.2.3.5": "inv:3: its node is also in line 1",
		"a 1.2.3.4:22":           "the address has a port, which has its own column",
		"a 1.2.3.4 core 0":       "the port is no number from 1 to 65535",
		"a 1.2.3.4 core 99999":   "the port is no number from 1 to 65535",
		"a 1.2.3.4 22 core":      "the user is a number",
		"a 1.2.3.4 k=v":          "the user has a =",
		"-o x":                   "the node is no name or IP address",
		"a core@1.2.3.4":         "the address is no name or IP address",
		"a $(id)":                "the address is no name or IP address",
	} {
		_, err := nodeexec.ParseInventory(strings.NewReader(text), "inv")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// As in a file that was written for another program: any of its words may be a password.
func TestNoWordOfAnInventoryIsQuoted(t *testing.T) {
	for _, line := range []string{
		"pw=geheim77", "pw=geheim77 a", "a pw=geheim77", "a pw=x:geheim77", "a 1.2.3.4 pw=geheim77", "a 1.2.3.4 core pw=geheim77", "a 1.2.3.4 core 22 pw=geheim77",
		"geheim77", "password: geheim77!", "a geheim77!", "a geheim77:x", "a 1.2.3.4 core geheim77", "a 1.2.3.4 core 22 geheim77", "geheim77 1.2.3.4\ngeheim77 1.2.3.5",
		"-geheim77 a", "a 1.2.3.4 core 99999999\u202egeheim77",
	} {
		_, err := nodeexec.ParseInventory(strings.NewReader(line), "inv")
		if err == nil || strings.Contains(err.Error(), "geheim77") || !strings.HasPrefix(err.Error(), "inv:") {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, line := range []string{"a 1.2.3.4 77887788 core", "a 1.2.3.4 core 77887788"} { // it may be a PIN
		if _, err := nodeexec.ParseInventory(strings.NewReader(line), "inv"); err == nil || strings.Contains(err.Error(), "77887788") {
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
