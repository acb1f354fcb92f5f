package inspectcmd

import (
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// todo prints what repairs, then steps; commands stand on lines of their own, whole.
func (e explainer) todo(w io.Writer, steps []string, fixes ...assess.Remediation) {
	steps = e.ofFiles(slices.DeleteFunc(slices.Clone(steps), func(s string) bool { return s == "" }))
	if len(steps)+len(fixes) == 0 {
		return
	}
	section(w, "What to do", func() {
		for _, fix := range fixes {
			remedy(w, fix)
		}
		for _, step := range steps {
			text := e.reading.Hints().Next(step)
			if e.isCommand(step) {
				ui.Printf(w, "%s%s\n", indent, text)
			} else {
				ui.Wrap(w, indent, text)
			}
		}
	})
}

// isCommand reports whether a step is a command that runs as it stands, but for NAME, NODE and FILE.
func (e explainer) isCommand(step string) bool {
	if from := e.reading.Hints().From(); from != "" { // a path has what else is prose
		step = strings.ReplaceAll(step, from, "")
	}
	if flags := e.reading.App.Connection.Flags(); len(flags) > 0 { // nor has the URL of a server a sentence
		step = strings.ReplaceAll(step, " "+strings.Join(flags, " "), "")
	}
	for _, program := range []string{"{} ", e.program + " ", "oc ", "kubectl "} {
		if strings.HasPrefix(step, program) && !strings.ContainsAny(step, ",:;") {
			return true
		}
	}
	return false
}

// Steps whose command reads nodes of a live cluster.
const (
	readAgain = "read it in another way:"
	readNodes = "where nodes were not read, read them:"
)

const (
	// takeAgain stands before the commands that make files have what they lack.
	takeAgain = "live, take the snapshot again with the nodes:"
	// isLive stands before a command that reads no file.
	isLive = "live, without --from:"
)

// ofFiles are steps whose commands read the files that were named; before those that read none stands
// that they are live.
func (e explainer) ofFiles(steps []string) []string {
	if e.reading.Hints().From() == "" {
		return steps
	}
	var out []string
	add := func(lines ...string) { // two may be the same without the way onto nodes
		if !slices.Contains(out, lines[len(lines)-1]) {
			out = append(out, lines...)
		}
	}
	for i := 0; i < len(steps); i++ {
		step := steps[i]
		if step == readAgain || step == readNodes {
			add(takeAgain, "{} snapshot --nodes all -o FILE")
			i++
			continue
		}
		command, ok := strings.CutPrefix(e.reading.Hints().Next(step), e.program+" ")
		switch read, is := e.fileCommand(command); {
		case !ok || !e.isCommand(step):
			out = append(out, step)
		case is:
			add(e.program + " " + read)
		default:
			add(isLive, step)
		}
	}
	return out
}

// liveFlags say how to get onto nodes, and of which commands a file takes none: --nodes.
var (
	liveFlags = regexp.MustCompile(` --via \S+`)
	nodesFlag = regexp.MustCompile(` --nodes \S+`)
)

// fileCommand is a command of this program that reads the files; false: it reads none.
func (e explainer) fileCommand(command string) (string, bool) {
	name, _, _ := strings.Cut(command, " ")
	from := e.reading.Hints().From()
	parts := strings.Split(command, from) // a path may have what looks like a flag
	for i := range parts {
		parts[i] = liveFlags.ReplaceAllString(parts[i], "")
		if name != "fix-api-int" && name != "pretrust" { // these choose from the nodes of a file
			parts[i] = nodesFlag.ReplaceAllString(parts[i], "")
		}
	}
	command = strings.Join(parts, from)
	switch {
	case strings.Contains(command, "HOST:PORT"):
		return "", false
	case strings.Contains(command, from): // a preview has it
		return command, true
	case slices.Contains([]string{"inspect", "verify", "explain"}, name), command == "fix-api-int status", strings.HasPrefix(command, "rotate status "),
		name == "rotate" && (strings.Contains(command, "--list") || strings.Contains(command, "--explain")):
		return command + from, true
	}
	return "", false
}
