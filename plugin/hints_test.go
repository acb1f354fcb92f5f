package plugin_test

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/hintstest"
)

// TestHintsNameCommandsThatExist: a line that is typed as it was printed is parsed. Those
// of kubectl and oc are test/kubectl's.
func TestHintsNameCommandsThatExist(t *testing.T) {
	t.Parallel()
	commands, err := hintstest.Commands("..")
	if err != nil {
		t.Fatal(err)
	}
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	found := 0
	for _, c := range commands {
		if c.Program != "certrot" {
			continue
		}
		found++
		if err := hintstest.Check(plugin.NewCommand(cli.App{ProgramName: "oc certrot", Streams: streams}), c); err != nil {
			t.Errorf("%s\n\t%v", c, err)
		}
	}
	if found < 200 {
		t.Errorf("only %d commands were found", found)
	}
}

// TestHintsOfCanIAskOneThing: kubectl auth can-i takes one verb and one resource; of
// "configmaps,secrets" it says that the server has no such resource.
func TestHintsOfCanIAskOneThing(t *testing.T) {
	t.Parallel()
	// inspect.Hints print them, from values with one verb and one resource each.
	hint := regexp.MustCompile("auth can-i ([^-\\s\"`]\\S*) ([^\\s\"`;)]+)|inspect\\.May(List|Get)\\(\"([^\"]+)\"|inspect\\.May{Verb: \"([^\"]*)\", Resource: \"([^\"]+)\"")
	verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete", "approve"}
	found := 0
	for _, folder := range []string{".", "../inspect", "../remediate", "../nodeexec", "../docs", "../README.md"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || strings.HasSuffix(path, "_test.go") || !slices.Contains([]string{".go", ".md", ".txtar"}, filepath.Ext(path)) {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range hint.FindAllStringSubmatch(string(text), -1) {
				found++
				verb, resource := cmp.Or(m[1], strings.ToLower(m[3]), m[5]), cmp.Or(m[2], m[4], m[6])
				if !slices.Contains(verbs, verb) || strings.Contains(resource, ",") {
					t.Errorf("%s: %s", path, m[0])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 20 {
		t.Errorf("only %d hints were found", found)
	}
}

// TestAccessIsAskedForInOnePlace: what helps against what was not read depends on where the
// facts are from, which inspect.Hints know. A text that names it anywhere else is printed for
// files, too.
func TestAccessIsAskedForInOnePlace(t *testing.T) {
	t.Parallel()
	live := []string{ // nothing of these is reached with facts from a file
		"../inspect/hints.go", "../remediate/csr/approve.go", "cli/exit.go", "hintstest/hintstest.go",
		"inspectcmd/explainrefusals.go", // a page of reference
	}
	bare := regexp.MustCompile("(^|[^-./\\w{}`])certrot (explain|fix-api-int|fix-kubeconfig|inspect|pretrust|rotate|runs|snapshot|undo|verify)\\b")
	seen := 0
	for _, folder := range []string{".", "../inspect", "../remediate", "../nodeexec"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || strings.HasSuffix(path, "_test.go") || filepath.Ext(path) != ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			for n, line := range strings.Split(string(text), "\n") {
				code, _, _ := strings.Cut(line, "// ")
				if strings.Contains(code, "auth can-i") {
					if seen++; !slices.Contains(live, path) {
						t.Errorf("%s:%d asks for access, and does not know whether there is a cluster to ask: use inspect.Hints", path, n+1)
					}
				}
				if m := bare.FindString(code); m != "" && !strings.HasPrefix(path, "hintstest") {
					t.Errorf("%s:%d prints %q, which no shell finds: use inspect.Hints.Next, or App.Called", path, n+1, m)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen == 0 {
		t.Error("nothing asks for access any more")
	}
}
