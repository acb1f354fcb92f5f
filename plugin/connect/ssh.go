package connect

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"
	"golang.org/x/term"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// SSHFlags say how nodes are reached by ssh, as far as ~/.ssh/config does not.
type SSHFlags struct {
	user       string
	Keys       []string
	Config     string
	KnownHosts []string
	Inventory  string

	nodes nodeexec.Inventory // of the inventory, once it was read
}

// AddFlags adds the flags of ssh.
func (f *SSHFlags) AddFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.user, "ssh-user", "", "User on nodes; else what the ssh configuration says, else core.")
	flags.StringArrayVar(&f.Keys, "ssh-key", nil, "Private key file to log in with; repeatable. Else the ssh-agent's, and those of the ssh configuration.")
	flags.StringVar(&f.Config, "ssh-config", "", "ssh configuration file; none for none. Else ~/.ssh/config and /etc/ssh/ssh_config.")
	flags.StringArrayVar(&f.KnownHosts, "ssh-known-hosts", nil, "Known hosts file; repeatable. Host keys are always checked.")
	flags.StringVar(&f.Inventory, "ssh-inventory", "", "File with a line for each node, \"node address [user] [port]\": for when the API is down.")
	for _, flag := range []string{"ssh-key", "ssh-config", "ssh-known-hosts", "ssh-inventory"} {
		ui.Must(cmd.MarkFlagFilename(flag))
	}
}

// Given reports whether the user said anything about ssh.
func (f *SSHFlags) Given() bool { return f.given() != "" }

// given is the first flag of ssh that was typed; empty: none was.
func (f *SSHFlags) given() string {
	switch {
	case f.user != "":
		return "--ssh-user"
	case len(f.Keys) > 0:
		return "--ssh-key"
	case f.Config != "":
		return "--ssh-config"
	case len(f.KnownHosts) > 0:
		return "--ssh-known-hosts"
	case f.Inventory != "":
		return "--ssh-inventory"
	}
	return ""
}

// check refuses files that can't be read, and reads the inventory.
func (f *SSHFlags) check(ctx context.Context) error {
	if err := f.checkFiles(); err != nil {
		return err
	}
	if f.Inventory != "" && f.nodes == nil { // a pipe has its lines once
		text, err := collect.ReadNamed(ctx, f.Inventory, nil, maxInventory)
		if err == nil {
			f.nodes, err = nodeexec.ParseInventory(bytes.NewReader(text), f.Inventory)
		}
		if err != nil {
			return fmt.Errorf("--ssh-inventory: %w", err)
		}
	}
	return nil
}

// transport returns the way by ssh, of flags that were checked.
func (f SSHFlags) transport(q *Prompter) *nodeexec.SSH {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // then nothing is read there
	}
	s := &nodeexec.SSH{
		Home: home, Config: f.Config, User: f.user,
		Limits: nodeexec.Limits{Output: MaxAnswer},
		Keys:   nodeexec.Keys{Agent: os.Getenv("SSH_AUTH_SOCK"), Files: f.Keys},
	}
	if runtime.GOOS != "windows" {
		s.SystemConfig = "/etc/ssh/ssh_config"
	}
	s.HostKeys.Files, s.Inventory = f.KnownHosts, f.nodes
	s.HostKeys.Accept, s.Keys.Passphrase, s.Notice = q.hostKey, q.passphrase, q.notice
	return s
}

// maxInventory bounds an inventory, in bytes: many times what the largest clusters need.
const maxInventory = 16 << 20

// checkFiles is the error for files that ssh can't read for one node after the other.
func (f *SSHFlags) checkFiles() error {
	for _, file := range f.Keys {
		if err := collect.CheckRegular(file); err != nil {
			return cli.WithHint(fmt.Errorf("--ssh-key: %w", err), "put the key into the ssh-agent instead: ssh-add FILE; ssh-add - reads standard input")
		}
	}
	for _, file := range f.KnownHosts {
		if err := collect.CheckRegular(file); err != nil {
			return fmt.Errorf("--ssh-known-hosts: %w", err)
		}
	}
	if f.Config != "" && f.Config != "none" {
		if err := collect.CheckRegular(f.Config); err != nil {
			return fmt.Errorf("--ssh-config: %w", err)
		}
	}
	return nil
}

// configuredSSH is ssh for those nodes of which the ssh configuration speaks:
// what auto may try without being told to.
type configuredSSH struct{ *nodeexec.SSH }

func (c configuredSSH) Dial(ctx context.Context, node string) (nodeexec.Node, error) {
	if ok, passedOver := c.Configured(ctx, node); !ok {
		if passedOver != "" {
			passedOver = "; " + passedOver
		}
		return nil, fmt.Errorf("%w: neither ssh configuration nor inventory speak of node %s (--via ssh tries all the same)%s", nodeexec.ErrNoTransport, node, passedOver)
	}
	return c.SSH.Dial(ctx, node)
}

// identified is a way onto machines that are proven to be the node before anything
// else is read or done there.
type identified struct{ nodeexec.Transport }

func (i identified) Dial(ctx context.Context, node string) (nodeexec.Node, error) {
	n, err := i.Transport.Dial(ctx, node)
	if err != nil {
		return nil, err
	}
	if err := collect.IsNode(ctx, n, node); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// Drawing is what is drawn on a terminal, and has to make room there.
type Drawing interface {
	Hold()
	Release()
}

// Prompter asks the user, one question at a time. Where no one can answer, the
// answer is no.
type Prompter struct {
	App      cli.App
	mu       sync.Mutex
	printed  map[string]bool
	Progress Drawing         // while the user is asked; may be nil
	Ended    <-chan struct{} // closed when the program is interrupted; may be nil
}

// Lock makes room on the terminal until the function it returns is called.
func (q *Prompter) Lock() func() {
	q.mu.Lock()
	if q.Progress == nil {
		return q.mu.Unlock
	}
	q.Progress.Hold()
	return func() {
		q.Progress.Release()
		q.mu.Unlock()
	}
}

// Terminal returns the terminal to ask on: standard input and error both.
func (q *Prompter) Terminal() (*os.File, bool) {
	in, isFile := q.App.Streams.In.(*os.File)
	out, outIsFile := ui.StreamFile(q.App.Streams.ErrOut)
	return in, isFile && outIsFile && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}

func (q *Prompter) hostKey(host string, key ssh.PublicKey) (bool, error) {
	defer q.Lock()()
	in, ok := q.Terminal()
	if !ok {
		return false, nil
	}
	_, _ = fmt.Fprintf(q.App.Streams.ErrOut, "The host key of %s is unknown: %s %s\nCompare it on the node's console: for f in /etc/ssh/ssh_host_*_key.pub; do ssh-keygen -lf $f; done\nIs it this one? Type yes to go on and add it to known_hosts: ", pki.Foreign(host), key.Type(), ssh.FingerprintSHA256(key))
	answer, err := q.Await(in, func() ([]byte, error) {
		line, err := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return []byte(line), err
	})
	return strings.TrimSpace(string(answer)) == "yes", err
}

func (q *Prompter) passphrase(file string) ([]byte, error) {
	defer q.Lock()()
	in, ok := q.Terminal()
	if !ok {
		return nil, errors.New("no terminal to ask for its passphrase (ssh-add it)")
	}
	_, _ = fmt.Fprintf(q.App.Streams.ErrOut, "Passphrase of %s: ", pki.Foreign(file))
	phrase, err := q.Await(in, func() ([]byte, error) { return term.ReadPassword(int(in.Fd())) })
	_, _ = fmt.Fprintln(q.App.Streams.ErrOut) // the user's own line end is not printed
	return phrase, err
}

// Await waits for an answer, and no longer than the program runs: after Ctrl-C the
// terminal is as it was before.
func (q *Prompter) Await(in *os.File, read func() ([]byte, error)) ([]byte, error) {
	before, err := term.GetState(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("ask on the terminal: %w", err)
	}
	type answer struct {
		text []byte
		err  error
	}
	given := make(chan answer, 1)
	go func() { // nothing ends a read from a terminal but its user
		text, err := read()
		given <- answer{text, err}
	}()
	select {
	case a := <-given:
		return a.text, a.err
	case <-q.Ended:
		return nil, errors.Join(errors.New("interrupted at a question"), term.Restore(int(in.Fd()), before))
	}
}

// notice says each thing once.
func (q *Prompter) notice(text string) {
	defer q.Lock()()
	if q.printed[text] {
		return
	}
	if q.printed == nil {
		q.printed = map[string]bool{}
	}
	q.printed[text] = true
	_, _ = fmt.Fprintf(q.App.Streams.ErrOut, "note: %s\n", ui.Clean(text))
}
