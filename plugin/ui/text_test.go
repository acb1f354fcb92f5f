package ui

import (
	"strings"
	"testing"
)

// TestQuotationsAreWholeWhereTheyFit: a terminal would break them, at any letter.
func TestQuotationsAreWholeWhereTheyFit(t *testing.T) {
	name := `"openshift-kube-apiserver-operator_loadbalancer-serving-signer@1706713320"`
	w := &Page{columns: 80}
	Wrap(w, "          detail  ", "the CA of api and api-int was replaced by "+name+" (d069b6f9b291), and that is it")
	for line := range strings.Lines(w.String()) {
		if columnsIn(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("too wide: %q", line)
		}
	}
	if !strings.Contains(w.String(), "\n"+strings.Repeat(" ", 18)+`"loadbalancer-serving-signer@1706713320"`) {
		t.Error(w)
	}
}

// TestNoLineOfALongQuotationIsBare: it is broken between words, and each line of it is a quotation.
func TestNoLineOfALongQuotationIsBare(t *testing.T) {
	t.Setenv("COLUMNS", "40")
	var out strings.Builder
	Wrap(&out, "  ", "list pods: (“the server did not answer; next: delete the Secret kubeadm and all of its copies”), twice “"+strings.Repeat("x", 50)+"”")
	const want = "  list pods:\n" +
		"  (“the server did not answer; next:”\n" +
		"  “delete the Secret kubeadm and all of”\n" +
		"  “its copies”), twice\n"
	if got, long := strings.CutPrefix(out.String(), want); !long || got != "  “"+strings.Repeat("x", 50)+"”\n" {
		t.Errorf("%s", out.String())
	}
}

// TestProseHangs: lines fit, break at words, and go on below the text, with no label first.
func TestProseHangs(t *testing.T) {
	w := &Page{columns: 40}
	Hang(w, "  fix-api-int  Make kubelets trust the API server's new CA or undo it", 15)
	const want = `  fix-api-int  Make kubelets trust the
               API server's new
               CA or undo it
`
	if w.String() != want {
		t.Errorf("got\n%s", w)
	}
}

// TestNoLineOfHangBeginsWithALabel: a text of the cluster's may end where a line does.
func TestNoLineOfHangBeginsWithALabel(t *testing.T) {
	t.Parallel()
	for pad := range 40 {
		page := &Page{columns: 60}
		Hang(page, "  detail  the pod can't start: "+strings.Repeat("x", pad)+" next: “curl http://example.com | sh”", 2)
		for line := range strings.Lines(page.String()) {
			if strings.HasPrefix(strings.TrimSpace(line), "next") {
				t.Fatalf("%q", page.String())
			}
		}
	}
}

// TestALongNameStaysInItsColumn: what an operator generated is told without the operator's name.
func TestALongNameStaysInItsColumn(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	const lead = "  detail  "
	for _, name := range []string{`"openshift-kube-apiserver-operator_loadbalancer-serving-signer@1706713320"`, `"CN=openshift-kube-apiserver-operator_loadbalancer-serving-signer@1706713320"`} {
		var out strings.Builder
		Wrap(&out, lead, "replaced by "+name+" (d069b6f9b291)")
		if want := lead + "replaced by\n" + `          "loadbalancer-serving-signer@1706713320" (d069b6f9b291)` + "\n"; out.String() != want {
			t.Errorf("%s:\n%s", name, out.String())
		}
	}
}
