package host

import (
	"bytes"
	"context"
	_ "embed" // the script that works on nodes
	"errors"
	"fmt"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

//go:embed host.sh
var script string

// Script is the text that works on nodes: what it does under which name is said at
// its start. It is for scripts that do without certrot.
func Script() string { return script }

// ErrChanged means that a file is not what its caller expects, so nothing was written.
// Read it again, and decide again.
var ErrChanged = errors.New("it is not as expected")

// ErrNothingChanged means that an operation failed before it changed the file.
var ErrNothingChanged = errors.New("nothing was changed")

// ErrBusy means that another certrot changes files of this node at this moment.
var ErrBusy = errors.New("busy")

// ErrNoRun means that the node has no folder of this run, or that the run did not
// change this file: there is nothing to put back.
var ErrNoRun = errors.New("nothing to put back")

// request is an operation of host.sh.
type request struct {
	op      string
	args    []string
	stdin   []byte
	changes bool // something on the node
}

// answer is what host.sh says.
type answer struct {
	lines []string // what it found
	code  string   // how it failed; "" if it did not
	why   string   // in its own words
}

// ask runs an operation on the node, with the node's own tools. Its error means
// that there is no answer; an answer may be that it failed.
//
// Where the operation may have changed something and its end was not seen, the
// error is ErrUnknownOutcome.
func ask(ctx context.Context, n nodeexec.Node, r request) (answer, error) {
	var argv []string
	if root := n.Path("/"); root != "/" {
		argv = []string{"chroot", root}
	}
	argv = append(argv, "/bin/sh", "-c", `eval "$1"`, "certrot", strings.TrimSuffix(script, "\n"), r.op)
	out, err := n.Run(ctx, bytes.NewReader(r.stdin), append(argv, r.args...)...)
	var failed *nodeexec.RunError
	if errors.As(err, &failed) { // the script's text helps no one
		brief := *failed
		brief.Argv = append([]string{"host.sh", r.op}, r.args...)
		err = &brief
	}
	if err == nil {
		var a answer
		if a, err = parseAnswer(string(out)); err == nil {
			return a, nil
		}
	} else if !begun(err) {
		return answer{}, err
	}
	if r.changes && !errors.Is(err, nodeexec.ErrUnknownOutcome) {
		err = fmt.Errorf("%w: %w", nodeexec.ErrUnknownOutcome, err)
	}
	return answer{}, err
}

// begun reports whether the script may have done something before this happened.
// It always exits with 0. What never began is told by env, chroot and the shell
// that was to start it, and by the transport; which also knows what it lost.
func begun(err error) bool {
	var e *nodeexec.RunError
	if !errors.As(err, &e) {
		return false
	}
	return e.Signal != "" || e.Code > 0 && (e.Code < 125 || e.Code > 127)
}

// parseAnswer reads "certrot-host 1", lines, one that says how it ended, and
// "end". An answer without its end is none.
func parseAnswer(out string) (answer, error) {
	rest, ok := strings.CutPrefix(out, "certrot-host 1\n")
	rest, whole := strings.CutSuffix(rest, "\nend\n")
	if !ok || !whole {
		return answer{}, fmt.Errorf("the answer of the node is not whole: %s", quoted(out))
	}
	lines := strings.Split(rest, "\n")
	last := lines[len(lines)-1]
	a := answer{lines: lines[:len(lines)-1]}
	switch how, rest, _ := strings.Cut(last, " "); {
	case last == "done changed" || last == "done same":
		return a, nil
	case how == "fail":
		a.code, a.why, _ = strings.Cut(rest, " ")
		return a, nil
	}
	return answer{}, fmt.Errorf("the answer of the node does not say how it ended: %s", quoted(last))
}

// failure is the error that an answer tells; nil if all went well.
func (a answer) failure() error {
	if a.code == "" {
		return nil
	}
	why := foreign.Text(a.why)
	switch a.code {
	case "changed":
		return fmt.Errorf("%w: %s", ErrChanged, why)
	case "busy":
		return fmt.Errorf("%w: %s", ErrBusy, why)
	case "norun":
		return fmt.Errorf("%w: %s", ErrNoRun, why)
	case "unknown":
		return fmt.Errorf("%w: %s", nodeexec.ErrUnknownOutcome, why)
	}
	return errors.New(why)
}

// quoted is the beginning of what a node answered: it may hold anything.
func quoted(answer string) string { return foreign.Quoted(answer[:min(len(answer), 200)]) }
