package plugin_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin"
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
		if err := hintstest.Check(plugin.NewCommand(plugin.App{Called: "oc certrot", Streams: streams}), c); err != nil {
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
	hint := regexp.MustCompile("auth can-i ([^-\\s\"`]\\S*) ([^\\s\"`;)]+)")
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
				if !slices.Contains(verbs, m[1]) || strings.Contains(m[2], ",") {
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
