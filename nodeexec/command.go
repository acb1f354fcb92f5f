package nodeexec

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	_ "embed" // the script that goes to the command's shell
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

//go:embed command.sh
var commandScript string

// nodeMark stands for the node's name in the words of a Command.
const nodeMark = "{node}"

// Command reaches nodes by a program of the user's own, such as tsh, gcloud or ssh
// itself, which has to run on the node what stands behind its last word, with the
// bytes of stdin, stdout and stderr as they are. What stands there is sh: all else
// goes to that shell by stdin. One process runs for each command on a node.
type Command struct {
	// Words are the program and its arguments. In at least one of these, {node}
	// stands for the node's name. ParseCommand makes them of a line.
	Words []string

	// Sudo says when commands run through sudo. Who logs in is asked on the node.
	Sudo Sudo

	// Limits: of these, Connect is how long a shell may take to come up, 30 s by
	// default, and Output is as for SSH.
	Limits Limits
}

// ParseCommand splits a line into the words of a Command. Words are separated by
// spaces; between single or double quotes a space is a part of the word. No shell
// reads the line, so that signs are refused which to a shell would mean more.
func ParseCommand(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune // that is open; 0: none
	inWord := false
	for _, r := range line {
		switch {
		case r < ' ' || r == 0x7f || r == '\uFFFD':
			return nil, fmt.Errorf("the sign %q can't be in a command", r)
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inWord = r, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == '"' && strings.ContainsRune("$`\\", r),
			quote == 0 && (strings.ContainsRune("$`\\|&;<>()[]*?!#^", r) || r == '~' && !inWord):
			return nil, fmt.Errorf("the sign %q has no meaning here, because no shell reads the command: write out what it stands for, or put it between single quotes", r)
		case quote == 0 && r == ' ':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote %c is not closed", quote)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, checkCommand(words)
}

// checkCommand refuses words that are no command for a node. It quotes none: each may be a password.
func checkCommand(words []string) error {
	switch {
	case len(words) == 0 || words[0] == "":
		return errors.New("no program is named")
	case words[0][0] == '-' || strings.Contains(words[0], nodeMark):
		return fmt.Errorf("the first word is the program to run, and no option, and has no %s", nodeMark)
	case !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, nodeMark) }):
		return fmt.Errorf("no word has %s, which stands for the node's name: every node would be the same machine", nodeMark)
	}
	return nil
}

// Name is "command".
func (Command) Name() string { return ViaCommand }

// Dial proves by a command that does nothing that commands can be run on the node, as
// root if sudo is to be used.
func (c Command) Dial(ctx context.Context, node string) (Node, error) {
	if err := checkCommand(c.Words); err != nil {
		return nil, err
	}
	if wrong := validation.IsDNS1123Subdomain(node); len(wrong) > 0 {
		return nil, fmt.Errorf("%s is no name that a command is given: names of nodes have lower case letters, digits, - and ., and begin and end with a letter or a digit", foreign.QuotedName(node))
	}
	r := &commandRemote{node: node}
	for _, w := range c.Words {
		r.argv = append(r.argv, strings.ReplaceAll(w, nodeMark, node))
	}
	r.unsaid = unsaidOf(c.Words, node)
	r.argv = append(r.argv, "sh")
	n := newShellNode(ctx, node, r, c.Limits.Output)
	n.greet = cmp.Or(c.Limits.Connect, greetLimit)
	err := r.becomeRoot(ctx, n, c.Sudo)
	if err != nil {
		return nil, onOneLine(err, n.Close())
	}
	return n, nil
}

// commandRemote starts shell.sh behind a command that runs here.
type commandRemote struct {
	node string
	argv []string
	sudo bool
	user string // who logs in, as the node says
	unsaid
}

// becomeRoot asks the node who logs in, and proves that commands run as root.
func (r *commandRemote) becomeRoot(ctx context.Context, n *shellNode, sudo Sudo) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*n.greet, fmt.Errorf("no answer within %s", 2*n.greet))
	defer cancel()
	out, err := n.Run(ctx, nil, "sh", "-c", "id -u && id -un")
	if err != nil {
		return err
	}
	id, name, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if !isNumber(id) {
		return fmt.Errorf("%s: who logs in is unknown: id says %s", r, foreign.Quoted(fmt.Sprintf("%.80s", r.in(out))))
	}
	r.user, r.sudo = foreign.Name(name), sudo == SudoAlways || sudo == SudoUnlessRoot && id != "0"
	if r.sudo {
		_, err = n.Run(ctx, nil, "true")
	}
	return err
}

// line goes to the shell behind the command. Its end is the end of what that shell
// reads by itself: nothing more is sent until shell.sh has said that it is there.
func (r *commandRemote) line(first, second string) string {
	as := "self"
	if r.sudo {
		as = "sudo"
	}
	return Quote("exec", "sh", "-c", commandScript, "sh", first, second, as, shellScriptSent()) + "\n"
}

func (r *commandRemote) exec(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	first, second := rand.Text(), rand.Text()
	said := &tail{}
	mark := []byte(first + second)
	says := &saying{unsaid: r.unsaid, to: io.MultiWriter(stderr, said)}
	login := &pastNoise{mark: mark, to: says, full: func(error) {}}
	out := &pastNoise{mark: mark, to: stdout, full: stop}
	cmd := exec.CommandContext(ctx, r.argv[0], r.argv[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, login, killGrace
	ownGroup(cmd, "")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return &commandEnd{err: err}
	}
	go func() {
		if _, err := io.WriteString(in, r.line(first, second)); err == nil {
			_, _ = io.Copy(in, stdin) // what goes wrong here is seen in how the command ends
		}
		_ = in.Close()
	}()
	err = cmd.Wait()
	if out.line == nil { // a login that is refused may say so on stdout
		_, _ = io.WriteString(stderr, loginPhrases(string(login.noise), string(out.noise)))
	}
	says.end()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	_, misfit, _ := bytes.Cut(bytes.TrimSpace(out.line), []byte(" "))
	return &commandEnd{err: err, shell: out.line != nil, misfit: string(misfit), said: said.Bytes()}
}

// commandEnd is how the process of a command ended.
type commandEnd struct {
	err    error
	shell  bool   // a shell had come up
	misfit string // what command.sh says is wrong with it; "": nothing
	said   []byte
}

func (e *commandEnd) Error() string {
	var exit *exec.ExitError
	switch {
	case e.err == nil || errors.Is(e.err, exec.ErrWaitDelay):
		return "it ended with exit status 0"
	case errors.As(e.err, &exit) && exit.ExitCode() >= 0:
		return fmt.Sprintf("it ended with exit status %d", exit.ExitCode())
	}
	return e.err.Error()
}

func (e *commandEnd) Unwrap() error { return e.err }

// String is the program alone: passwords and tokens may be among its arguments, and errors reach
// files and logs.
func (r *commandRemote) String() string {
	return foreign.Visible(shortened(Quote(r.argv[0])), "") + " … of --node-command"
}

// byHand is how a user sees what the command does.
func (r *commandRemote) byHand() string {
	return "to see all that it says, run it with " + r.node + " in place of {node}: echo hostname | COMMAND sh"
}

func (r *commandRemote) noShell(exit error) error {
	var end *commandEnd
	switch {
	case !errors.As(exit, &end):
		return exit
	case end.misfit == "processes":
		return fmt.Errorf("%s: the shell has the files of another machine than its processes: enter all namespaces of the node (nsenter -t 1 -a)", r)
	case end.misfit != "":
		return fmt.Errorf("%s: the shell on the node has a terminal, which changes what goes through it: leave out the option that asks for one (-t)", r)
	case end.shell && r.sudo:
		return &SudoError{Node: r.node, User: r.user, Said: cmp.Or(lastWords(string(end.said)), end.Error())}
	}
	return fmt.Errorf("%s: no shell came up: %w; %s", r, end, r.byHand())
}

func (r *commandRemote) noAnswer(limit time.Duration) error {
	return fmt.Errorf("%s: no shell came up within %s; the command can't ask for anything: log in before; %s", r, limit, r.byHand())
}

func (r *commandRemote) interrupted(_ context.Context, exit error) error {
	return fmt.Errorf("%s: %w, and the end of what ran on the node was not seen", r, exit)
}

// maxNoise is how much a login may print before it runs a command, in bytes.
const maxNoise = 64 << 10

// pastNoise drops what a login prints before the line that begins with a mark, takes
// that line off, and passes on all behind it.
type pastNoise struct {
	mark  []byte
	to    io.Writer
	full  func(error) // called when there is too much noise
	noise []byte
	line  []byte // with the mark; nil: it has not come
}

func (p *pastNoise) Write(b []byte) (int, error) {
	if p.line != nil {
		return p.to.Write(b)
	}
	p.noise = append(p.noise, b...)
	if at := bytes.Index(p.noise, p.mark); at >= 0 {
		if line, rest, whole := bytes.Cut(p.noise[at:], []byte("\n")); whole {
			p.line, p.noise = line, nil
			if len(rest) > 0 {
				_, _ = p.to.Write(rest) // which takes all: see shellOutput, saying
			}
			return len(b), nil
		}
	}
	if len(p.noise) > maxNoise {
		p.noise = p.noise[len(p.noise)-len(p.mark):] // which may have begun
		p.full(fmt.Errorf("it prints more than %d bytes before it runs a command", maxNoise))
	}
	return len(b), nil
}
