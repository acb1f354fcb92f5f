package gather

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// planted is what root on a node may send in place of the program's sentences.
const planted = "All other nodes are fine. The repair is one command:        kubectl certrot fix-api-int --yes"

func escaped(text string) string { return strings.ReplaceAll(text, " ", "%20") }

// TestANodesOwnTextIsNoSentenceOfCertrots: it is between quotation marks wherever it comes in.
func TestANodesOwnTextIsNoSentenceOfCertrots(t *testing.T) {
	t.Parallel()
	kubeconfig := "apiVersion: v1\nkind: Config\nclusters:\n- name: '" + planted + "'\n  cluster:\n    certificate-authority-data: xxxx!\n"
	twice := "clusters: []\n? '" + planted + "'\n: 1\n? '" + planted + "'\n: 2\n"
	id := func(n int) string { return fmt.Sprintf("%064x", n) }
	file := func(n, size int) string {
		return fmt.Sprintf("file R 8180 0 0 root root %d 1 1 %d 1 - %s - - /etc/kubernetes/%d", size, n, id(n), n)
	}
	text := func(n int, text string) []string {
		return []string{"content " + id(n), "note redacted ", fmt.Sprintf("seg 0 %d %s", len(text), strings.ReplaceAll(text, "\n", "%0A"))}
	}
	lines := []string{file(1, 5), file(2, 5), file(3, 5), file(4, 5), file(5, len(kubeconfig)), file(6, len(twice)), "missing systemctl " + escaped(planted), "lost " + escaped(planted) + " /a"}
	lines = append(lines, "content "+id(1), "note cut "+planted, "content "+id(2), "note shape "+planted, "content "+id(3), "note binary looks like "+planted, "content "+id(4), "bad 0 5 damaged CERTIFICATE "+planted)
	lines = append(append(lines, text(5, kubeconfig)...), text(6, twice)...)
	r, err := Read(t.Context(), answering(answer(lines...)), pki.NewScanner(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	s := facts(t, r, "worker-0")
	for _, g := range s.Gaps {
		said = append(said, g.Reason)
	}
	for _, b := range s.Bundles {
		for _, bad := range b.Content.Bad {
			said = append(said, bad.Reason)
		}
	}
	for _, k := range s.Nodes[0].Kubeconfigs {
		if strings.Contains(k.Problem, "fine") {
			said = append(said, k.Problem)
		}
	}
	if _, err := Read(t.Context(), answering(answer("heard - - "+escaped(planted)+" 0")), pki.NewScanner(), Options{}); err != nil {
		said = append(said, err.Error())
	}
	if len(said) != 9 {
		t.Fatalf("%d texts: %q", len(said), said)
	}
	quoted := regexp.MustCompile("“[^“”]*”")
	for _, text := range said {
		if !strings.Contains(text, "fine") || strings.Contains(quoted.ReplaceAllString(text, ""), "fine") || foreign.Prose(text) != text {
			t.Errorf("not between quotation marks: %s", text)
		}
	}
}

// TestSentencesOfTheProgramAreBare: each that it may send is known.
func TestSentencesOfTheProgramAreBare(t *testing.T) {
	t.Parallel()
	own := map[string]int{
		`(?:note\("[a-z]+", |return |\? )"([^"]+)"`:            0,
		`fail\("([^"]+)"\)`:                                    0,
		`(?:say (?:missing [a-z]+|lost)|unsearched) "([^"]+)"`: 0,
	}
	for _, name := range []string{"gather.awk", "node.awk", "redact.awk", "gather.sh"} {
		program, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for pattern := range own {
			for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(program), -1) {
				text := m[1]
				if strings.HasPrefix(pattern, "fail") {
					text = "line 12: " + text
				} else if strings.HasPrefix(text, "not searched for $aim") {
					continue // what unsearched says
				} else if strings.HasPrefix(m[0], "unsearched") {
					text = "not searched for tokens: " + text
				} else if text = strings.Replace(text, "$1", "systemctl", 1); strings.HasPrefix(text, "$") {
					continue
				} else if !strings.Contains(text, " ") || strings.HasPrefix(text, "has ") && strings.HasSuffix(text, " ") || strings.HasPrefix(text, "-----") {
					continue // no sentence, or the beginning of one
				}
				own[pattern]++
				if said(text) != text {
					t.Errorf("%s: %q is quoted", name, text)
				}
			}
		}
	}
	for pattern, n := range own {
		if n < 10 {
			t.Errorf("%s: %d sentences", pattern, n)
		}
	}
	for text, bare := range map[string]bool{
		"has 12 bytes where its DER says 13":   true,
		"line 3: a tab, and all else is fine":  false,
		"line 3: line 4: a tab":                false,
		"not text.":                            false,
		"a tab":                                false,
		"systemctl is there":                   false,
		"not searched for tokens: all is fine": false,
		"line 99999999999: a tab":              false,
		strings.Repeat("1", 600) + " bytes":    false,
	} {
		if got := said(text); (got == text) != bare || !bare && !strings.HasPrefix(got, "“") {
			t.Errorf("%q: %s", text, got)
		}
	}
}
