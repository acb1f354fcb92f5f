//go:build unix

package plugin_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// anyCommand is a line that is a command, or ends with one.
var anyCommand = regexp.MustCompile(`^ *((next|then|undo|details|or|Next|Undo):? )? *(worker-[0-9]: |[0-9]\. )?(kubectl|oc|certrot|sh|sudo|date|systemctl|journalctl) |^- remove |: (kubectl|oc) certrot `)

// hasLongName is a line with a place, a name or a fingerprint, which details have whole.
func hasLongName(line string) bool {
	return slices.ContainsFunc(strings.Fields(line), func(word string) bool { return ui.Width(word) > 50 })
}

// TestEveryTableFits: summaries and tables of each fixture have no line of more than 80 columns but commands; nor
// have details, but for names.
func TestEveryTableFits(t *testing.T) {
	details := []string{
		"inspect --details", "inspect -v", "verify --details", "verify restart-safe --details", "rotate --list --details", "rotate loadbalancer-serving-signer --explain",
		"rotate status loadbalancer-serving-signer --details", "fix-api-int --dry-run=client --details", "fix-api-int status --details",
	}
	tables := []string{
		"inspect", "inspect --all", "inspect --expiring-within 30d", "inspect nodes", "inspect --min-severity info", "verify", "verify restart-safe", "rotate --list",
	}
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			if testing.Short() && s.name != "demo" {
				t.Skip("many commands, which -short leaves out")
			}
			snapshot := s.read(t)
			t.Chdir(t.TempDir())
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			f, err := os.Create("a.certrot")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(collect.WriteSnapshot(f, snapshot), f.Close()); err != nil {
				t.Fatal(err)
			}
			for _, command := range append(tables, details...) {
				_, screen, _ := screenOf(t, 80, append(strings.Fields(command), "--from", "a.certrot"))
				for line := range strings.Lines(screen) {
					line = strings.TrimSuffix(line, "\n")
					if ui.Width(line) > 80 && !anyCommand.MatchString(line) && !(slices.Contains(details, command) && hasLongName(line)) {
						t.Errorf("%s: %d columns: %s", command, ui.Width(line), line)
					}
				}
			}
		})
	}
}
