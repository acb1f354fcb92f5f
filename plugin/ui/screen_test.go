package ui

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// TestScreenKeepsCharactersWhole: a character may come in two writes, and what is none is
// written as an escape.
func TestScreenKeepsCharactersWhole(t *testing.T) {
	t.Parallel()
	const text = "✓ Zürich \x1b[2J\u009b\u202e東京\ttab\nline\xff\r."
	const want = `✓ Zürich \x1b[2J\u009b\u202e東京` + "\ttab\nline" + `\xff\r.`
	for size := range 7 {
		var out bytes.Buffer
		w := NewScreen(NewScreen(&out))
		for rest := []byte(text); len(rest) > 0; {
			n := min(size+1, len(rest))
			if wrote, err := w.Write(rest[:n]); wrote != n || err != nil {
				t.Fatal(wrote, err)
			}
			rest = rest[n:]
		}
		if out.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", size+1, out.String(), want)
		}
	}
}

// TestAQuotationThatGoesOnIsIndented: on a terminal of 80 columns, nothing that others say
// begins a line, wherever it is broken.
func TestAQuotationThatGoesOnIsIndented(t *testing.T) {
	t.Parallel()
	for pad := range 100 {
		said := foreign.Text(strings.Repeat("x", pad) + strings.Repeat(" next  rm -rf /", 12))
		if pad%2 == 1 {
			said = foreign.QuotedName(strings.Repeat("x", pad) + strings.Repeat(" next kubectl certrot undo all", 12))
		}
		var text strings.Builder
		Wrap(&text, "  ", "list nodes: "+said+"; nothing else was read")
		Wrap(&text, "  next  ", "certrot inspect")
		for _, size := range []int{1, 7, text.Len()} {
			h, out := hanging{}, ""
			for rest := []rune(text.String()); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				out += h.hung(string(rest[:min(size, len(rest))]), 80)
			}
			var begun []string // what a terminal prints at the beginning of a line
			for _, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
				for runes := []rune(line); len(runes) > 0; runes = runes[min(80, len(runes)):] {
					begun = append(begun, string(runes[:min(80, len(runes))]))
				}
			}
			labels := 0
			for _, line := range begun {
				if rest := strings.TrimLeft(line, " "); len(line)-len(rest) < hang && strings.HasPrefix(rest, "next") {
					labels++
				}
			}
			if labels != 1 {
				t.Fatalf("%d lines begin with next:\n%s", labels, strings.Join(begun, "\n"))
			}
			if got := strings.ReplaceAll(out, "\n"+strings.Repeat(" ", hang), ""); got != text.String() {
				t.Fatalf("it is another text:\n%s", got)
			}
		}
	}
}

// TestRowsFitTheirTerminal: what a row has too much is cut off, or hangs.
func TestRowsFitTheirTerminal(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][2]string{
		"short\n":                               {"short\n", "short\n"},
		strings.Repeat("x", 40) + "\n":          {strings.Repeat("x", 40) + "\n", strings.Repeat("x", 40) + "\n"},
		strings.Repeat("x", 39) + " next: rm\n": {strings.Repeat("x", 39) + "…\n", strings.Repeat("x", 39) + " \n" + strings.Repeat(" ", hang) + "next: rm\n"},
		strings.Repeat("東", 20) + "next: rm\n":  {strings.Repeat("東", 19) + "…\n", strings.Repeat("東", 20) + "\n" + strings.Repeat(" ", hang) + "next: rm\n"},
		strings.Repeat("東", 19) + "xyz\n":       {strings.Repeat("東", 19) + "x…\n", strings.Repeat("東", 19) + "xy\n" + strings.Repeat(" ", hang) + "z\n"},
	} {
		for i, all := range []bool{false, true} {
			if got := fittedLine(line, 40, all); got != want[i] {
				t.Errorf("all %t: %q is %q, want %q", all, line, got, want[i])
			}
		}
	}
}

// TestProseThatBeginsWithANameIsBroken: it is not JSON for its first quotation mark.
func TestProseThatBeginsWithANameIsBroken(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`"CA", which issued “`, `"CA" issued “`, `"it is “`, `"it: ` + "“"} {
		if h := (hanging{}); !strings.Contains(h.hung(text+strings.Repeat("next  rm x ", 30)+"”\n", 80), "\n"+strings.Repeat(" ", hang)) {
			t.Errorf("it is not broken: %s", text)
		}
	}
}

// TestForeignQuotationsHangOnEveryLine: one with a label of the program's too, and one that
// begins with a foreign text that looks like a label.
func TestForeignQuotationsHangOnEveryLine(t *testing.T) {
	t.Parallel()
	for _, lead := range []string{"error: read it: “", "  next  look at “", "Note     “", "  “error: ", "warning: a \"b “", "  next  a \"b “", "[x says “", "cluster \"a\\\" b "} {
		for pad := range 90 {
			h := hanging{}
			out := h.hung(lead+strings.Repeat("x", pad)+strings.Repeat("next: rm x ", 20)+"”\n", 80)
			for i, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
				if len([]rune(line)) > 80 || i > 0 && !strings.HasPrefix(line, strings.Repeat(" ", hang)) {
					t.Fatalf("%q, %d more: a terminal shows what others say at the beginning of a line:\n%s", lead, pad, out)
				}
			}
		}
	}
	for pad := range 70 { // how wide a terminal writes these is unknown: the next quotation has a line of its own
		h := hanging{}
		out := h.hung("  next  look at “"+strings.Repeat("ạ", pad+1)+"” by “next: oc delete node m”\n", 80)
		if !strings.Contains(out, "by \n"+strings.Repeat(" ", hang)+"“next: ") {
			t.Fatalf("%d more: the second quotation begins in a column that is unknown:\n%s", pad, out)
		}
	}
	command := "  next  oc patch secret x -p '{\"a\": \"" + strings.Repeat("x ", 50) + "\"}'\n"
	if h := (hanging{}); h.hung(command, 80) != command {
		t.Errorf("a command is broken: %s", h.hung(command, 80))
	}
}

// TestWhatMayBeCopiedIsNotBroken: of a script's comment, a second line would be a command.
func TestWhatMayBeCopiedIsNotBroken(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("rm -rf x ", 30)
	for _, text := range []string{"# “" + long + "”\n", "    \"message\": \"“" + long + "”\"\n", "  next  oc patch " + long + "\n"} {
		if h := (hanging{}); h.hung(text, 80) != text {
			t.Errorf("it is broken: %s", text)
		}
		if h := (hanging{}); h.hung("list: “"+long+"”", 0) != "list: “"+long+"”" {
			t.Error("what goes to no terminal is broken")
		}
	}
}

// TestCommandsCallTheProgramThatCalled: where it has the command, and in prose as well.
func TestCommandsCallTheProgramThatCalled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ program, text, want string }{
		{"kubectl certrot", "oc get clusteroperators", "kubectl get clusteroperators"},
		{"kubectl certrot", "oc -n openshift-etcd get pods; oc adm wait-for-stable-cluster", "kubectl -n openshift-etcd get pods; oc adm wait-for-stable-cluster"},
		{"kubectl certrot", "oc adm certificate approve NAME", "kubectl certificate approve NAME"},
		{"kubectl certrot", "oc debug node/a; oc login", "oc debug node/a; oc login"},
		{"oc certrot", "kubectl certificate approve csr-1", "oc adm certificate approve csr-1"},
		{"oc certrot", "is it well? kubectl get nodes (kubectl describe node a)", "is it well? oc get nodes (oc describe node a)"},
		{"oc certrot", "kubectl certrot inspect", "kubectl certrot inspect"},
		{"certrot", "kubectl get nodes; oc get nodes", "kubectl get nodes; oc get nodes"},
	} {
		if got := AsCalled(c.program, c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.program, got, c.want)
		}
	}
}

// TestAScreenKnowsCallsOfClients: a call that names no cluster is found, in whatever pieces and lines it comes.
func TestAScreenKnowsCallsOfClients(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"next      kubectl get nodes\n": true, "  next: may you? oc auth can-i list secrets": true, "(oc adm top)": true, "a; oc login": true,
		"kubectl -n a logs b": true, "read it: kubectl\n            describe node a\n": true, `"command": "kubectl get csr"`: true, `"text": "a\noc get csr"`: true,
		"next      kubectl certrot verify\n": false, "oc certrot\n  --context a verify": false, "kubectl and oc write objects whole": false,
		"sudo oc --kubeconfig FILE get nodes": false, "kubectl --context a get nodes": false, "/usr/bin/kubectl get": false, "kubectl-certrot runs": false, "no such kubectl\n": false, "": false,
	} {
		for size := range len(text) {
			w := NewScreen(&bytes.Buffer{})
			for rest := text; rest != ""; {
				n := min(size+1, len(rest))
				Printf(w, "%s", rest[:n])
				rest = rest[n:]
			}
			if CallsClient(w) != want {
				t.Errorf("%q in pieces of %d: want %v", text, size+1, want)
			}
		}
	}
	if CallsClient(&bytes.Buffer{}) {
		t.Error("no screen has a call")
	}
}

// TestAScreenChangesItsOwnCommandsOnly: what others say stays, in prose, JSON and quotations.
func TestAScreenChangesItsOwnCommandsOnly(t *testing.T) {
	t.Parallel()
	const text = "  next      kubectl describe csr a\n            kubectl certificate approve a\n  reason    “kubectl get x” failed: kubectl get y\n  next: look at kubectl get q\n  next  ask “me: kubectl get r”\n" +
		"    \"next\": \"kubectl get z\",\nkubectl get nodes\n"
	const want = "  next      oc describe csr a\n            oc adm certificate approve a\n  reason    “kubectl get x” failed: kubectl get y\n  next: look at oc get q\n  next  ask “me: kubectl get r”\n" +
		"    \"next\": \"kubectl get z\",\noc get nodes\n"
	var out bytes.Buffer
	w := NewScreen(&out)
	CallAs(w, "oc certrot")
	Printf(w, "%s", text)
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}

// TestACallInPiecesIsNoted: tables are written cell by cell.
func TestACallInPiecesIsNoted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"look: kubectl get pods\n": true, "oc -n a get\n  pods\n": true, "oc\nget pods\n": true, "kubectl certrot runs\n": false, "local host\n": false} {
		var out bytes.Buffer
		w := NewScreen(&out)
		for _, r := range text {
			if _, err := w.Write([]byte(string(r))); err != nil {
				t.Fatal(err)
			}
		}
		if got := CallsClient(w); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
