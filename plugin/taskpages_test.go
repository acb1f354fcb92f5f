package plugin_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin"
)

// TestTaskPagesShowRealOutput: what a page of docs/tasks prints below "$ oc certrot …" is what
// the program prints for the demo data, or for the must-gather that the scripts read. A line
// "…" stands for lines that are left out; columns may have other widths.
func TestTaskPagesShowRealOutput(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	t.Setenv("LINES", "24")
	t.Setenv("_", "/usr/bin/oc")
	demo, err := filepath.Abs("../testdata/demo/okd-4.15-api-int.certrot")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	files, err := filepath.Glob("../docs/tasks/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(file)] = string(text)
	}
	mustGather(t)
	checked := 0
	for page, text := range pages {
		for _, block := range shownCommands(text) {
			var out bytes.Buffer
			args := offline(block[0], demo)
			plugin.MainAt(context.Background(), demoTime, "test", args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
			// The page has a cluster in place of the file.
			printed := strings.Split(strings.ReplaceAll(out.String(), " --from "+demo, ""), "\n")
			for _, line := range block[1:] {
				if line == "…" {
					continue
				}
				checked++
				at := slices.IndexFunc(printed, func(p string) bool { return slices.Equal(strings.Fields(p), strings.Fields(line)) })
				if at < 0 {
					t.Errorf("%s: %s does not print, or not there:\n%s", page, strings.Join(args, " "), line)
					break
				}
				printed = printed[at+1:]
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d lines were compared", checked)
	}
}

// The weekly job ends with 1 where inspect or verify does, and with 0 only where both do.
func TestWeeklyJobFailsWhereEitherDoes(t *testing.T) {
	page, err := os.ReadFile("../docs/tasks/weekly-check.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```\n#!/bin/sh\n")
	job, _, ok := strings.Cut(rest, "```\n")
	if !ok {
		t.Fatal("the page has no job")
	}
	bin := t.TempDir()
	// A stand-in for oc: what the job makes of exit codes is tested, not certrot.
	fake := "#!/bin/sh\ncase $2 in inspect) exit $INSPECT ;; verify) exit $VERIFY ;; snapshot) exit $SNAPSHOT ;; esac\n"
	if err := os.WriteFile(filepath.Join(bin, "oc"), []byte(fake), 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, c := range []struct{ snapshot, inspect, verify, want int }{
		{0, 0, 0, 0}, {0, 1, 0, 1}, {0, 0, 1, 1}, {0, 3, 1, 1}, {0, 1, 3, 1}, {0, 3, 0, 3}, {0, 0, 3, 3}, {0, 2, 0, 2}, {0, 0, 2, 2}, {0, 2, 1, 1}, {3, 0, 0, 2},
	} {
		run := exec.CommandContext(t.Context(), "sh", "-c", job)
		run.Dir = t.TempDir()
		run.Env = append(os.Environ(), fmt.Sprint("SNAPSHOT=", c.snapshot), fmt.Sprint("INSPECT=", c.inspect), fmt.Sprint("VERIFY=", c.verify))
		if err := run.Run(); run.ProcessState.ExitCode() != c.want {
			t.Errorf("snapshot %d, inspect %d, verify %d: the job ended with %d (%v), want %d", c.snapshot, c.inspect, c.verify, run.ProcessState.ExitCode(), err, c.want)
		}
	}
}

// mustGather puts the must-gather of the scripts where the pages have it, and goes there.
func mustGather(t *testing.T) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/script/mustgather.txtar")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, f := range archive.Files {
		name, ok := strings.CutPrefix(f.Name, "mg/")
		if !ok {
			continue
		}
		name = filepath.Join("must-gather.local.5621", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// shownCommands are the commands of a page that have lines of output below them: a command,
// then its lines.
func shownCommands(page string) (out [][]string) {
	for _, m := range regexp.MustCompile("(?ms)^```\n(.*?)^```").FindAllStringSubmatch(page, -1) {
		var block []string
		for _, line := range append(strings.Split(strings.TrimSuffix(m[1], "\n"), "\n"), "$") {
			if strings.HasPrefix(line, "$") {
				if len(block) > 1 && strings.HasPrefix(block[0], "$ oc certrot ") {
					out = append(out, block)
				}
				block = nil
			}
			block = append(block, line)
		}
	}
	return out
}

// offline is a command of a page that reads a file in place of a cluster.
func offline(line, demo string) []string {
	args := []string{"kubectl-certrot"}
	words := strings.Fields(line)[3:]
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "--via", "--nodes":
			i++ // its value
		default:
			args = append(args, words[i])
		}
	}
	if !slices.Contains(args, "--from") {
		args = append(args, "--from", demo)
	}
	return args
}
