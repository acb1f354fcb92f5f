package nodeexec

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// SSH reaches nodes by SSH, with the keys and the configuration of the user who
// runs this program. Its zero value works, once Home is set. It must not be
// copied after its first Dial.
type SSH struct {
	// Home is the user's home folder: where ~ leads.
	Home string

	// Config is an ssh_config file; "" is ~/.ssh/config if there is one, and
	// "none" is none. See docs/nodes-access.md for what is read from it.
	Config string

	// SystemConfig is read after ~/.ssh/config, if it is there, and only where
	// Config names nothing: usually /etc/ssh/ssh_config. "" is none.
	SystemConfig string

	// User is who logs in on nodes, before what Config says; "" leaves it to
	// Config, and to core after that. Jump hosts go by Config alone.
	User string

	// Port is where nodes listen, before what Config says; 0 leaves it to Config, and
	// to 22 after that.
	Port int

	// Inventory says where nodes are, before everything else does.
	Inventory Inventory

	// Addresses is asked for a node that is not in the inventory and has no
	// HostName in Config. None, or a nil func: the node's name is dialled. They are
	// what the node says of itself: they are dialled, and choose no Host block.
	Addresses func(ctx context.Context, node string) ([]string, error)

	// Names are those of all nodes. A hashed name in known_hosts can only be told by
	// trying names: a key of another node is refused.
	Names []string

	Keys     Keys
	HostKeys HostKeys
	Sudo     Sudo
	Limits   Limits

	// Notice is told what a user should know although nothing failed; may be
	// nil. It may be called from several goroutines.
	Notice func(string)

	asking   sync.Mutex // one question at a time, and only once
	unlocked map[string]ssh.AlgorithmSigner
	answers  map[string]bool // to keys: each no, and each yes that could not be saved

	loopbackForTests bool // a node may claim a loopback address: tests of this package dial no others
}

// Keys are what the user can log in with.
type Keys struct {
	// Agent is the socket of an ssh-agent, usually $SSH_AUTH_SOCK; "" is none.
	Agent string

	// Files are offered before those of the configuration.
	Files []string

	// Passphrase is asked for the passphrase of a key file; nil refuses such
	// files.
	Passphrase func(file string) ([]byte, error)
}

// HostKeys are how a host proves that it is the one.
type HostKeys struct {
	// Files are read instead of the configured or usual known_hosts files. A
	// key that is new, and accepted, goes to the first.
	Files []string

	// Accept is asked whether a key that no file knows is the host's; nil
	// refuses. It is not asked about a key other than the known one.
	Accept func(host string, key ssh.PublicKey) (bool, error)
}

// Sudo says when commands run through sudo.
type Sudo int

// By default, commands run through sudo unless the user is root.
const (
	SudoUnlessRoot Sudo = iota
	SudoAlways
	SudoNever
)

// Limits are how long to wait and how much to hold; zero values are defaults.
type Limits struct {
	Connect time.Duration // for each step of getting on: 10 s, or ConnectTimeout
	Alive   time.Duration // between two questions whether the node is there: 15 s
	Misses  int           // how many of them in a row may stay unanswered: 3
	Output  int64         // bytes of a command's stdout: 64 MiB
}

const (
	defaultConnect = 10 * time.Second
	defaultAlive   = 15 * time.Second
	defaultMisses  = 3
)

// Configured reports whether the inventory or the configuration speaks of this
// node by its name. If it does not, passedOver says which blocks of the configuration
// fit an address of the node; mostly nothing.
func (s *SSH) Configured(ctx context.Context, node string) (ok bool, passedOver string) {
	if _, listed := s.Inventory[node]; listed {
		return true, ""
	}
	if c, err := s.readConfig(); err == nil && c.speaksOf([]string{node}) {
		return true, ""
	}
	return false, s.passedOver(ctx, node)
}

// Name is "ssh".
func (s *SSH) Name() string { return ViaSSH }

// Dial logs in on a node, and proves by a command that does nothing that commands
// can be run there.
func (s *SSH) Dial(ctx context.Context, node string) (Node, error) {
	n, err := s.logIn(ctx, node)
	if err != nil {
		if blocks := s.passedOver(ctx, node); blocks != "" {
			err = fmt.Errorf("%w; %s", err, blocks)
		}
		return nil, err
	}
	return n, nil
}

func (s *SSH) logIn(ctx context.Context, node string) (*sshNode, error) {
	route, err := s.route(ctx, node)
	if err != nil {
		return nil, err
	}
	links, err := s.connectAsking(ctx, route)
	if err != nil {
		return nil, err
	}
	last := route[len(route)-1]
	n := newSSHNode(ctx, node, links, s.Limits)
	n.user = last.user
	n.sudo = s.Sudo == SudoAlways || s.Sudo == SudoUnlessRoot && last.user != "root"
	trial, cancel := context.WithTimeoutCause(ctx, last.timeout, fmt.Errorf("no command starts within %s", last.timeout))
	defer cancel()
	if _, err := n.Run(trial, nil, "true"); err != nil {
		_ = n.Close()
		return nil, fmt.Errorf("logged in as %s, and can't run commands: %w", last.user, err)
	}
	return n, nil
}

// connectAsking connects, and again after each key that a user accepted. The
// question is asked between two attempts and not within one, because a server
// does not wait while a person goes to look at a console.
func (s *SSH) connectAsking(ctx context.Context, route []hop) (links []*ssh.Client, err error) {
	for range len(route) + 1 {
		links, err = s.connect(ctx, route)
		var unknown *HostKeyError
		if err == nil || !errors.As(err, &unknown) || !unknown.Unknown() {
			return links, err
		}
		ok, askErr := s.mayAccept(unknown)
		if askErr != nil {
			return nil, fmt.Errorf("%w: %w", err, askErr)
		}
		if !ok {
			return nil, err
		}
	}
	return nil, err
}

// connect opens one connection inside of the other, to the last of the hops.
func (s *SSH) connect(ctx context.Context, route []hop) ([]*ssh.Client, error) {
	var links []*ssh.Client
	for i, h := range route {
		c, err := s.connectHop(ctx, links, h)
		if err != nil {
			closeLinks(links)
			if i < len(route)-1 {
				var none *noConnectionError
				if errors.As(err, &none) {
					err = none.inner // with the jump host, not with the node
				}
				return nil, fmt.Errorf("jump host %s (for %s): %w", h.name, route[len(route)-1].name, err)
			}
			return nil, err
		}
		links = append(links, c)
	}
	return links, nil
}

// closeLinks closes the outermost first, which is the one that can't block: to
// close one inside of another is to write to that one, and to wait for an
// answer, and it may be dead.
func closeLinks(links []*ssh.Client) {
	for _, c := range links {
		_ = c.Close() // closed already, where the one around it is gone
	}
}

// connectHop tries a hop's addresses until one answers. What that one says
// counts: another address is no way around a key that is not the known one.
func (s *SSH) connectHop(ctx context.Context, links []*ssh.Client, h hop) (*ssh.Client, error) {
	var failed []error
	for _, host := range h.hosts {
		addr := net.JoinHostPort(host, strconv.Itoa(h.port))
		raw, err := dialTCP(ctx, s.dialer(h), links, addr, h.timeout)
		if err == nil {
			return s.handshake(ctx, links, raw, h, addr)
		}
		failed = append(failed, fmt.Errorf("connect to %s: %w", addr, err))
		if ctx.Err() != nil {
			return nil, errors.Join(failed...)
		}
	}
	return nil, &noConnectionError{errors.Join(failed...)}
}

// noConnectionError means that at no address of a node a connection was made.
type noConnectionError struct{ inner error }

func (e *noConnectionError) Error() string { return e.inner.Error() }
func (e *noConnectionError) Unwrap() error { return e.inner }

// NoConnection reports whether an error of Dial says that the node was tried by ssh and no
// connection was made: no answer, no route, or refused.
func NoConnection(err error) bool {
	var none *noConnectionError
	return errors.As(err, &none)
}

func dialTCP(ctx context.Context, d *net.Dialer, links []*ssh.Client, addr string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer cancel()
	if len(links) == 0 {
		return d.DialContext(ctx, "tcp", addr)
	}
	c, err := links[len(links)-1].DialContext(ctx, "tcp", addr)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var refused *ssh.OpenChannelError
	if errors.As(err, &refused) {
		return nil, fmt.Errorf("the jump host says: %w", foreign.Error(err))
	}
	if err != nil {
		return nil, foreign.Error(err)
	}
	return through(c, addr), nil
}

// handshake makes an SSH connection of a TCP one, which it owns. If it takes too
// long, it also ends the links through which that one goes.
func (s *SSH) handshake(ctx context.Context, links []*ssh.Client, raw net.Conn, h hop, addr string) (*ssh.Client, error) {
	watch := newWatch(ctx, h.timeout, func() {
		closeLinks(links)
		_ = raw.Close()
	})
	defer watch.stop()
	known, err := readKnownHosts(h.known, h.global, s.isAccepted)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	ring := s.keyring(ctx, h, watch)
	defer ring.close()

	names := h.knownAs(addr)
	proved := false
	var keyErr error
	config := &ssh.ClientConfig{
		User: h.user,
		Auth: []ssh.AuthMethod{ssh.PublicKeysCallback(ring.signers)},
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			if keyErr = known.check(names, key); keyErr == nil && h.claimed {
				keyErr = known.another(h, addr, key)
			}
			proved = keyErr == nil
			return keyErr
		},
		HostKeyAlgorithms: known.algorithms(names),
	}
	c, chans, reqs, err := ssh.NewClientConn(raw, addr, config)
	switch {
	case err == nil && watch.stop():
		return ssh.NewClient(c, chans, reqs), nil
	case err == nil: // its time was up just now
		_ = c.Close()
		return nil, fmt.Errorf("ssh to %s: %w", addr, watch.why())
	case keyErr != nil:
		return nil, keyErr
	case watch.why() != nil:
		return nil, fmt.Errorf("ssh to %s: %w", addr, watch.why())
	case proved && !isTransport(err):
		return nil, fmt.Errorf("log in as %s on %s: %w", h.user, addr, ring.refused(foreign.Error(err)))
	default:
		return nil, fmt.Errorf("ssh to %s: %w", addr, foreign.Error(err))
	}
}

// isTransport tells a connection that broke from a server that said no. sshd
// closes the connection after too many keys, with a message of its own.
func isTransport(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) || strings.HasSuffix(err.Error(), "EOF")
}

func (s *SSH) notice(format string, args ...any) {
	if s.Notice != nil {
		s.Notice(fmt.Sprintf(format, args...))
	}
}

// watch ends a handshake that takes too long, or is no longer wanted. While a
// person is asked for something, time stands still.
type watch struct {
	hangUp  func()
	limit   time.Duration
	timer   *time.Timer
	unhook  func() bool
	mu      sync.Mutex
	reason  error
	stopped bool
}

func newWatch(ctx context.Context, limit time.Duration, hangUp func()) *watch {
	w := &watch{hangUp: hangUp, limit: limit}
	w.unhook = context.AfterFunc(ctx, func() { w.fire(context.Cause(ctx)) })
	w.timer = time.AfterFunc(limit, func() {
		w.fire(fmt.Errorf("connected, and no end of the handshake within %s: sshd is there and does not answer", limit))
	})
	return w
}

func (w *watch) fire(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reason == nil && !w.stopped {
		w.reason = why
		w.hangUp()
	}
}

// pause runs ask with the clock stopped.
func (w *watch) pause(ask func() error) error {
	w.timer.Stop()
	defer w.timer.Reset(w.limit)
	return ask()
}

// stop ends the watching; false means that it was too late. It may be called
// more than once.
func (w *watch) stop() bool {
	w.timer.Stop()
	w.unhook()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	return w.reason == nil
}

func (w *watch) why() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reason
}
