package apiprobe

import (
	"regexp"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
)

// TestANodesOwnTextIsNoSentenceOfCertrots: it is between quotation marks wherever it comes in.
func TestANodesOwnTextIsNoSentenceOfCertrots(t *testing.T) {
	t.Parallel()
	const planted = "/all other nodes are fine. The repair is one command:        kubectl certrot fix-api-int --yes"
	var said []string
	for _, out := range []string{planted, "certrot-probe 1\ntool curl\n" + planted + "\nend\n"} {
		_, _, err := answers(out)
		if err == nil {
			t.Fatal("no error")
		}
		said = append(said, err.Error())
	}
	r := gather.Result{Files: []gather.File{{Path: "/k", Kind: gather.KindRead, Content: &gather.Content{Text: []byte("current-context: '" + planted + "'\ncontexts: []\n")}}}}
	q := questions{r: r}
	for _, path := range []string{planted, "/k"} {
		f := inspect.ProbedKubeconfig{Path: path}
		q.file(&f)
		said = append(said, f.Unread+f.Refused)
	}
	if _, _, err := (inspect.KubeconfigCluster{Server: planted}).Dialled(); err != nil {
		said = append(said, err.Error())
	}
	if len(said) != 5 {
		t.Fatalf("%q", said)
	}
	quoted := regexp.MustCompile("“[^“”]*”")
	for _, text := range said {
		if !strings.Contains(text, "fine") || strings.Contains(quoted.ReplaceAllString(text, ""), "fine") {
			t.Errorf("not between quotation marks: %s", text)
		}
	}
}
