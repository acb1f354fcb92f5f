package plugin_test

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin"
)

// TestReadmeShowsRealOutput verifies that the README's picture is what the
// program prints for the demo data, up to its first two problems, and the plan
// for one of its nodes; UPDATE=1 puts it there.
func TestReadmeShowsRealOutput(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	args := []string{"kubectl-certrot", "inspect", "--from", "../testdata/demo/okd-4.15-api-int.certrot"}
	plugin.Main(context.Background(), "test", args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	problems := strings.SplitN(out.String(), "\n! ", 3)
	table := out.String()[strings.Index(out.String(), "\nExpires within"):]
	lines := strings.SplitN(table, "\n", 7)
	picture := problems[0] + "\n! " + problems[1] + "…\n" + strings.Join(lines[:6], "\n") + "\n…\n"

	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)\\$ oc certrot inspect\n.*?```")
	current := block.ReplaceAllLiteralString(string(readme), "$ oc certrot inspect\n"+picture+"```")
	const command = "$ oc certrot fix-api-int --nodes worker-2 --via ssh --dry-run=client\n"
	out.Reset()
	args = []string{"kubectl-certrot", "fix-api-int", "--from", "../testdata/demo/okd-4.15-api-int.certrot", "--nodes", "worker-2", "--dry-run=client"}
	plugin.Main(context.Background(), "test", args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	block = regexp.MustCompile("(?s)" + regexp.QuoteMeta(command) + ".*?```")
	if !block.MatchString(current) {
		t.Error("README.md has no picture of a plan")
	}
	plan, _, _ := strings.Cut(out.String(), "\nSolves")
	current = block.ReplaceAllLiteralString(current, command+plan+"```")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("../README.md", []byte(current), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if current != string(readme) {
		t.Error("README.md does not show what the program prints: UPDATE=1 go test ./plugin")
	}
}
