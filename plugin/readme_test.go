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

// TestReadmeShowsRealOutput verifies that the README's picture is what the program prints for
// the demo data; UPDATE=1 puts it there.
func TestReadmeShowsRealOutput(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	var out bytes.Buffer
	args := []string{"kubectl-certrot", "inspect", "--from", "../testdata/demo/okd-4.15-api-int.certrot"}
	plugin.Main(context.Background(), "test", args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)\\$ oc certrot inspect\n.*?```")
	if !block.Match(readme) {
		t.Fatal("README.md has no picture")
	}
	current := block.ReplaceAllLiteralString(string(readme), "$ oc certrot inspect\n"+out.String()+"```")
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
