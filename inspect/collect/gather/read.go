package gather

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Runner runs commands on one node.
type Runner interface {
	// Run runs a command with this standard input and returns its standard output.
	Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error)
	// Path returns a path of the node as commands that Run runs see it.
	Path(string) string
}

// grace is what the program and the way there may take beyond Limits.Time, to
// finish a group of files and to send 3 MB.
const grace = time.Minute

// Read runs the program on a node, once, and returns its answer.
func Read(ctx context.Context, node Runner, sc *pki.Scanner, o Options) (Result, error) {
	stdin, argv, err := buildProgram(node.Path("/"), o)
	if err != nil {
		return Result{}, err
	}
	// The program ends by itself in time, unless the node or the way there is stuck.
	patience := o.limits().Time + grace
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the node gives no answer within %s", patience))
	defer cancel()
	out, err := node.Run(ctx, strings.NewReader(stdin), argv...)
	if err != nil && len(out) == 0 {
		return Result{}, fmt.Errorf("gather program: %w", err)
	}
	// What is not asked for is not read: an endless answer is cut here.
	if limit := o.limits().Output; int64(len(out)) > 2*limit+(1<<20) {
		return Result{}, fmt.Errorf("gather program: the answer has %d bytes, and was to have at most %d", len(out), limit)
	}
	r, parseErr := parseOutput(out, sc.Within(ctx))
	if ctx.Err() != nil { // what was cut short is not what lies there
		return Result{}, fmt.Errorf("read the answer of the gather program: %w", context.Cause(ctx))
	}
	if parseErr != nil { // a broken connection explains half an answer
		return Result{}, fmt.Errorf("gather program: %w", errors.Join(parseErr, err))
	}
	if most := o.limits().Files; len(r.Files) > 2*most {
		return Result{}, fmt.Errorf("gather program: the answer has %d files, and was to have at most %d", len(r.Files), most)
	}
	r.Texts, r.Asked = o.Texts, o.paths()
	return r, nil
}

// File returns the file at a path of the node, its links followed.
func (r Result) File(name string) (File, bool) {
	if real, ok := r.Aliases[name]; ok {
		name = real
	}
	f, ok := r.at(name)
	if ok && f.Kind == KindLink && f.Target.Path != "" {
		return r.at(f.Target.Path)
	}
	return f, ok
}

func (r Result) at(name string) (File, bool) {
	i, ok := slices.BinarySearchFunc(r.Files, name, func(f File, name string) int { return strings.Compare(f.Path, name) })
	if !ok {
		return File{}, false
	}
	return r.Files[i], true
}

// maxParts is how many certificates, keys, lists and notes a node's files have, counted at each path: the
// node alone says how many paths a content has. A master with ten revisions has some ten thousand.
const maxParts = 300_000

// maxGaps is how many gaps of a node are named.
const maxGaps = 1000

// bound leaves out files that bring more parts than all may.
func (r *Result) bound() {
	left := maxParts
	for i := range r.Files {
		f := &r.Files[i]
		content := f.Content
		if f.Kind == KindLink {
			if target, ok := r.at(f.Target.Path); ok {
				content = target.Content
			}
		}
		parts := content.parts()
		if left -= parts; parts > 0 && left < 0 {
			f.Kind, f.Content = KindTooMuch, nil
		}
	}
}

// parts is how many certificates, keys, lists and notes are in a content.
func (c *Content) parts() (n int) {
	if c == nil {
		return 0
	}
	for _, found := range c.Found {
		n += 1 + found.Content.Things()
	}
	return n + len(c.Notes)
}

// gaps adds what the files themselves say is missing.
func (r *Result) gaps() {
	add := func(f File, reason, next string) {
		r.Gaps = append(r.Gaps, inspect.Gap{Where: f.Path, Reason: reason, Next: next})
	}
	devices, entered := map[string]uint64{}, map[string]bool{}
	for _, f := range r.Files {
		entered[path.Dir(f.Path)] = true
	}
	for _, f := range r.Files {
		switch f.Kind {
		case KindTooLarge:
			add(f, fmt.Sprintf("not read: its %d bytes are more than a file of certificates has", f.Meta.Size), "")
		case KindTooMuch:
			add(f, "not read: enough was read of other files", nextRoom)
		case KindUnreadable, KindClosed:
			add(f, fmt.Sprintf("not readable for user %d", r.Node.UID), "connect as a user that may become root")
		case KindDirectory:
			devices[f.Path] = f.Meta.Inode.Device
			parent, ok := devices[path.Dir(f.Path)]
			if ok && parent != f.Meta.Inode.Device && !entered[f.Path] {
				add(f, "another file system is mounted there: not entered", "name it as a path of its own")
			}
		case KindRead:
			for _, n := range f.Content.Notes {
				if reason, next := n.gap(); reason != "" {
					add(f, reason, next)
				}
			}
		}
	}
}

// gap says what a note means for what is known of certificates.
func (n Note) gap() (reason, next string) {
	switch n.Code {
	case "shape":
		return "its shape is not understood, so its text did not leave the node (" + n.Text + ")", nextNode
	case "omitted":
		return n.Text, nextRoom
	case "binary":
		if strings.HasPrefix(strings.TrimPrefix(n.Text, "“"), looksLike) {
			return n.Text, ""
		}
		return "", ""
	}
	return n.Text, ""
}
