package plugintest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// CompareVersions compares what is told of each name in each version with a file of
// testdata/rotate, in which versions that are told the same stand together.
func CompareVersions(t *testing.T, file string, names []string, tell func(version, name string) string) {
	t.Helper()
	var all strings.Builder
	for _, name := range names {
		var versions []string
		last := ""
		flush := func() {
			if len(versions) > 0 {
				ui.Printf(&all, "%s in %s\n%s\n", name, strings.Join(versions, " "), last)
			}
		}
		for minor := 12; minor <= 22; minor++ {
			version := fmt.Sprintf("4.%d", minor)
			text := tell(version, name)
			if text != last {
				flush()
				versions, last = nil, text
			}
			versions = append(versions, version)
		}
		flush()
	}
	path := filepath.Join("testdata", "rotate", file)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != all.String() {
		t.Errorf("%s is not what the program says: UPDATE=1 go test -run 'TestWhatFollows|TestRotateExplained' ./plugin", path)
	}
}
