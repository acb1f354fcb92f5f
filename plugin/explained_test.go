//go:build unix

package plugin_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// storyFile writes the snapshot of a fixture, and returns its path.
func storyFile(t *testing.T, s story) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), s.name+".certrot")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(collect.WriteSnapshot(f, s.read(t)), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// titleLine is a line of a first screen, or of --details, that tells of a problem or of what is unknown.
var titleLine = regexp.MustCompile(`(?m)^(?:[✗!?·-] (?:CRITICAL|WARNING|INFO|FAIL|WARN|UNKNOWN|NOT READ) +|[✗!?] )(\S.*)$`)

// TestExplainAnswersEveryTitle that a screen prints of a fixture: the line of a narrow screen with its mark,
// and the title of a wide one.
func TestExplainAnswersEveryTitle(t *testing.T) {
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			if testing.Short() && s.name != "demo" && s.name != "unread" {
				t.Skip("many commands, which -short leaves out")
			}
			file := storyFile(t, s)
			asked := map[string]bool{}
			commands := []string{"inspect --min-severity=info", "verify"}
			if s.name == "demo" {
				commands = append(commands, "inspect --details", "verify --details")
			}
			for _, command := range commands {
				for i, columns := range []int{80, 400} {
					_, screen, _ := screenOf(t, columns, append(strings.Fields(command), "--from", file))
					for _, m := range titleLine.FindAllStringSubmatch(screen, -1) {
						typed := m[i]
						if asked[typed] {
							continue
						}
						asked[typed] = true
						if code, out, errOut := screenOf(t, 80, []string{"explain", typed, "--from", file}); code != 0 || len(out) < 80 || errOut != "" {
							t.Errorf("%s: explain %q: exit code %d: %s%s", command, typed, code, out, errOut)
						}
					}
				}
			}
			if len(asked) == 0 && s.name != "well" {
				t.Error("no screen has a title")
			}
		})
	}
}

// explainNames are all that explain lists, and what tables of the demo name.
func explainNames(t *testing.T) []string {
	t.Helper()
	_, list, _ := screenOf(t, 400, []string{"explain", "--no-headers"})
	var names []string
	add := func(name string) {
		if name = strings.TrimSpace(name); name != "" && name != "-" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for line := range strings.Lines(list) {
		name, _, _ := strings.Cut(line, " ")
		add(name)
	}
	if len(names) < 150 {
		t.Fatalf("only %d names", len(names))
	}
	gap := regexp.MustCompile(` {2,}`)
	_, table, _ := screenOf(t, 400, []string{"inspect", "--all", "--from", demo})
	_, rows, _ := strings.Cut(table, "\nEXPIRES ")
	rows, requests, _ := strings.Cut(rows, "\n\n")
	for line := range strings.Lines(rows) {
		if cells := gap.Split(strings.TrimSpace(line), -1); len(cells) == 6 && cells[2] != "CERTIFICATE" {
			add(cells[2])
			add(cells[5])
		}
	}
	for _, request := range regexp.MustCompile(`(?m)^csr-\S+`).FindAllString(requests, -1) {
		add(request)
	}
	_, rotations, _ := screenOf(t, 80, []string{"rotate", "--list", "--from", demo})
	for line := range strings.Lines(rotations) {
		cells := gap.Split(strings.TrimSpace(line), -1)
		if len(cells) != 4 || cells[0] == "NAME" {
			continue
		}
		add(cells[0])
		add(cells[3])
	}
	return names
}

// printedWords are what screens of the demo say that is no title of a problem: questions of verify restart-safe,
// reasons of rotate --list, and checks of a plan of fix-api-int; with the words that other clusters have.
func printedWords(t *testing.T) map[string]string {
	t.Helper()
	words := map[string]string{"restart-safe": "an argument of verify"}
	screen := func(args ...string) string {
		_, out, _ := screenOf(t, 80, append(args, "--from", demo))
		return out
	}
	lines := func(screen, where string, is *regexp.Regexp) {
		n := len(words)
		for _, m := range is.FindAllStringSubmatch(screen, -1) {
			words[m[1]] = where
		}
		if len(words) == n {
			t.Errorf("%s prints nothing that matches %s:\n%s", where, is, screen)
		}
	}
	lines(screen("verify", "restart-safe"), "the verdicts of restart-safe", regexp.MustCompile(`(?m)^([✗✓!?–] [a-z ]+: .*)$`))
	restart := screen("verify", "restart-safe", "--details")
	lines(restart, "the table of restart-safe", regexp.MustCompile(`(?m)^(\S.*?) {2,}[✗✓!?–].*$`))
	lines(restart, "the details of restart-safe", regexp.MustCompile(`(?m)^  ([✗✓!?–] .*)$`))
	lines(restart, "the questions below restart-safe", regexp.MustCompile(`(?m)^([✗✓!?–] .*\?  .*)$`))
	lines(restart, "the result of restart-safe", regexp.MustCompile(`(?m)^([✗✓!?–] \d+ .*)$`))
	for _, details := range []string{"--list", "--details"} {
		lines(screen("rotate", "--list", details), "rotate --list", regexp.MustCompile(`(?m)^.* (?:no|unknown|yes) {2,}(\S.*)$`))
	}
	for _, q := range trust.RestartQuestions() {
		words[q.Short] = "the header of restart-safe, of many nodes"
	}
	_, plan, _ := screenOf(t, 400, []string{"fix-api-int", "--dry-run=client", "--from", demo})
	for _, m := range regexp.MustCompile(`(?m)^(?:\? UNKNOWN +(this file has no status): |✓ PASS +)([^;\n]+)`).FindAllStringSubmatch(plan, -1) {
		words[m[1]] = "the plan"
		for word := range strings.SplitSeq(m[2], ", ") {
			words[word] = "the plan"
		}
	}
	for _, s := range slices.Concat(preflight.CheckStatements(), rotate.CheckStatements()) {
		words[s.Name] = "a check before a change"
	}
	for _, risk := range slices.Concat(preflight.Risks(), rotate.Risks()) {
		words[risk] = "a risk"
	}
	delete(words, "")
	return words
}

// TestExplainAnswersEveryWord that a screen prints, with and without the file.
func TestExplainAnswersEveryWord(t *testing.T) {
	words := printedWords(t)
	for _, word := range []string{"not checked", "4 not checked", "this file has no status", "no API server was asked", "etcd health", "node remediation", "Would a node added now join?", "would a node added now join", "ROTATION RUNNING"} {
		words[word] = "a variant"
	}
	if len(words) < 60 {
		t.Errorf("only %d words: %q", len(words), words)
	}
	for word, where := range words {
		for _, from := range [][]string{nil, {"--from", demo}} {
			if from != nil && (testing.Short() || where == "a check before a change" || where == "a risk") {
				continue // a file does not change these
			}
			args := append([]string{"explain", word}, from...)
			if code, out, errOut := screenOf(t, 80, args); code != 0 || len(out) < 80 || errOut != "" {
				t.Errorf("%s, of %s: exit code %d: %s%s", args, where, code, out, errOut)
			}
		}
	}
}

// TestExplainAnswersEveryName, and each command in its answers reads the same file, or is said to be live;
// no answer has a template without its values.
func TestExplainAnswersEveryName(t *testing.T) {
	var commands []string
	for names := range slices.Chunk(explainNames(t), 25) {
		code, out, errOut := screenOf(t, 80, append([]string{"explain", "--from", demo}, names...))
		if code != 0 || errOut != "" {
			t.Errorf("explain %q: exit code %d: %s", names, code, errOut)
		}
		wellExplained(t, out)
		commands = append(commands, commandsIn(out)...)
	}
	slices.Sort(commands)
	commands = slices.Compact(commands)
	if len(commands) < 40 {
		t.Errorf("only %d commands", len(commands))
	}
	for _, command := range commands {
		readsTheFile(t, command)
	}
}

// TestExplainOfTitlesReadsTheFile: the same of the titles of the demo.
func TestExplainOfTitlesReadsTheFile(t *testing.T) {
	var commands []string
	for _, command := range []string{"inspect --min-severity=info", "verify"} {
		_, screen, _ := screenOf(t, 400, append(strings.Fields(command), "--from", demo))
		for _, m := range titleLine.FindAllStringSubmatch(screen, -1) {
			_, out, _ := screenOf(t, 80, []string{"explain", m[0], "--from", demo})
			wellExplained(t, out)
			commands = append(commands, commandsIn(out)...)
		}
	}
	slices.Sort(commands)
	for _, command := range slices.Compact(commands) {
		readsTheFile(t, command)
	}
}

// hollow is a template without its values.
var hollow = regexp.MustCompile(`(^| )/,|/\[|\[\]|\(\)|(^|\s)[A-Z][A-Za-z]+/( |,|$)|%!|\S\x20+$`)

func wellExplained(t *testing.T, out string) {
	t.Helper()
	label := regexp.MustCompile(`^ +([a-z][a-z ]{1,8} +)?`)
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if hollow.MatchString(line) || strings.Contains(label.ReplaceAllString(line, ""), "  ") {
			t.Errorf("a template without its values: %q", line)
		}
	}
}

// liveLine says that the next command is of the live cluster, or of this machine.
var liveLine = regexp.MustCompile(`\blive\b|take the snapshot again`)

// commandsIn are the commands of this program in an answer, but for those that are said to be live.
func commandsIn(out string) (commands []string) {
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "kubectl certrot ")
		if ok && !liveLine.MatchString(lines[i-1]) {
			commands = append(commands, command)
		}
	}
	return commands
}

// readsTheFile: a command of an answer names the file, and is accepted.
func readsTheFile(t *testing.T, command string) {
	t.Helper()
	if !strings.Contains(command, " --from "+demo) {
		t.Errorf("%s: reads no file", command)
		return
	}
	filled := strings.NewReplacer("CHECK", "csr-answered", "NAME", "loadbalancer-serving-signer", "NODE", "worker-1", "FILE", caFile(t)).Replace(command)
	_, _, errOut := screenOf(t, 80, strings.Fields(filled))
	if regexp.MustCompile(`goes with a live cluster|unknown (short)?hand|unknown flag|unknown command|leave one of them out|must be |--help`).MatchString(errOut) {
		t.Errorf("%s: %s", command, errOut)
	}
}

// caFile is a file with a CA.
func caFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	ca := pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(1000))
	if err := os.WriteFile(path, ca.CertPEM, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
