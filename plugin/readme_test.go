package plugin_test

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin"
)

// demoTime is soon after the first of the files was made: in what is compared, none is old.
func demoTime() time.Time { return time.Date(2024, 1, 2, 10, 30, 0, 0, time.UTC) }

// TestReadmeShowsRealOutput verifies that the README's text is what the program prints for
// the demo data when oc calls it; UPDATE=1 puts it there. test/demo/picture draws the same.
func TestReadmeShowsRealOutput(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	t.Setenv("LINES", "24")
	t.Setenv("_", "/usr/bin/oc")
	data, err := os.ReadFile("../testdata/demo/okd-4.15-api-int.certrot")
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("demo.certrot", data, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	args := []string{"kubectl-certrot", "inspect", "--from", "demo.certrot"}
	plugin.MainAt(context.Background(), demoTime, "test", args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	t.Chdir(here)
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)\\$ oc certrot inspect --from demo.certrot\n.*?```")
	if !block.Match(readme) {
		t.Fatal("README.md has no output of inspect")
	}
	current := block.ReplaceAllLiteralString(string(readme), "$ oc certrot inspect --from demo.certrot\n"+out.String()+"```")
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
