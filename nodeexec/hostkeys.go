package nodeexec

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// HostKeyError says why a host's key was refused.
type HostKeyError struct {
	Host    string // as it is, or would be, in known_hosts
	Key     ssh.PublicKey
	Known   []knownhosts.KnownKey // what is there for this host
	Revoked *knownhosts.KnownKey  // the line that revokes the key
	Cert    error                 // what is wrong with a certificate
	Another string                // by what the key is another host's: a line, or its certificate's names

	names []string // of the host, with ports
	file  string   // where the key is added if the user accepts it
}

// Unknown is whether known_hosts has no entry for the host. Only then can the
// user accept the key.
func (e *HostKeyError) Unknown() bool {
	return len(e.Known) == 0 && e.Revoked == nil && e.Cert == nil && e.Another == ""
}

func (e *HostKeyError) Error() string {
	presented := e.Key.Type() + " " + ssh.FingerprintSHA256(e.Key)
	check := fmt.Sprintf("to check, run on the host's own console: ssh-keygen -lf %s", hostKeyFile(e.Key))
	switch {
	case e.Revoked != nil:
		return fmt.Sprintf("host key of %s: %s is revoked by %s:%d; refused", e.Host, presented, e.Revoked.Filename, e.Revoked.Line)
	case e.Cert != nil:
		return fmt.Sprintf("host certificate of %s: %v; refused", e.Host, foreign.Error(e.Cert)) // it quotes the certificate's names
	case e.Another != "":
		return fmt.Sprintf("host key of %s: %s is another host's: %s; refused: the address is what the node's kubelet reports, and another machine answers there; "+
			"if that is the node, give its address in the inventory (--ssh-inventory)", e.Host, presented, e.Another)
	case e.Unknown():
		into := "~/.ssh/known_hosts"
		if e.file != "" && e.file != os.DevNull {
			into = Quote(e.file)
		}
		return fmt.Sprintf("host key of %s is unknown: it presents %s; %s; if that prints the same key, answer yes on a terminal, or: printf '%%s\\n' %s >>%s",
			e.Host, presented, check, Quote(knownhosts.Line(e.names, e.Key)), into)
	}
	var known, remove []string
	for _, k := range e.Known {
		known = append(known, fmt.Sprintf("%s:%d has %s %s", k.Filename, k.Line, k.Key.Type(), ssh.FingerprintSHA256(k.Key)))
		remove = append(remove, fmt.Sprintf("line %d of %s", k.Line, k.Filename))
	}
	return fmt.Sprintf("host key of %s HAS CHANGED: it presents %s, but %s; refused: the host was reinstalled, or its address was given to another host, "+
		"or the connection is intercepted; %s; only if that prints the key presented, remove %s",
		e.Host, presented, strings.Join(known, ", "), check, strings.Join(remove, ", "))
}

// hostKeyFile is where sshd usually has the public half of such a key.
func hostKeyFile(k ssh.PublicKey) string {
	kind := "*"
	switch {
	case k.Type() == ssh.KeyAlgoRSA:
		kind = "rsa"
	case k.Type() == ssh.KeyAlgoED25519:
		kind = "ed25519"
	case strings.HasPrefix(k.Type(), "ecdsa-"):
		kind = "ecdsa"
	}
	return "/etc/ssh/ssh_host_" + kind + "_key.pub"
}

// knownHosts is what some known_hosts files say.
type knownHosts struct {
	lookup   ssh.HostKeyCallback
	files    []string
	file     string // for additions
	accepted func(names []string, key ssh.PublicKey) bool
}

// globalKnownHosts is the administrator's, unless the configuration says
// otherwise.
const globalKnownHosts = "/etc/ssh/ssh_known_hosts"

// readKnownHosts reads those of the files that exist. One line that can't be
// read is an error: it might be the one that matters. New lines go to the first
// of the user's files.
func readKnownHosts(users, global []string, accepted func([]string, ssh.PublicKey) bool) (*knownHosts, error) {
	k := &knownHosts{accepted: accepted}
	var there []string
	if len(users) > 0 {
		k.file = users[0]
	}
	for _, f := range slices.Concat(users, global) {
		_, err := os.Stat(f)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		there = append(there, f)
	}
	var err error
	k.files = there
	if k.lookup, err = knownhosts.New(there...); err != nil {
		return nil, fmt.Errorf("known hosts can't be read: %w; correct or remove that line, or name another file", err)
	}
	return k, nil
}

// check says whether a host that goes by these names may have this key: at least
// one name is known with it, and none with another.
func (k *knownHosts) check(names []string, key ssh.PublicKey) error {
	refused := &HostKeyError{Host: knownhosts.Normalize(names[0]), Key: key, names: names, file: k.file}
	ok := false
	for _, name := range names {
		err := k.lookup(name, &net.TCPAddr{}, key)
		var other *knownhosts.KeyError
		var revoked *knownhosts.RevokedError
		switch {
		case err == nil:
			ok = true
		case errors.As(err, &revoked):
			refused.Revoked = &revoked.Revoked
			return refused
		case errors.As(err, &other):
			if len(other.Want) > 0 && len(refused.Known) == 0 {
				refused.Host = knownhosts.Normalize(name)
			}
			refused.Known = append(refused.Known, other.Want...)
		default:
			refused.Cert = err
		}
	}
	if len(refused.Known) > 0 {
		return refused
	}
	if ok || refused.Cert == nil && k.accepted(names, key) {
		return nil
	}
	return refused
}

// algorithms asks the host for the kind of key that it is known by: a host that
// has several kinds would present another one, which looks like a changed key. Any
// other kind comes last, to be refused with all reasons.
func (k *knownHosts) algorithms(names []string) []string {
	var first []string
	for _, name := range names {
		var known *knownhosts.KeyError
		if !errors.As(k.lookup(name, &net.TCPAddr{}, noKey{}), &known) {
			continue
		}
		for _, w := range known.Want {
			if isAuthority(w) {
				first = append(first, ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01,
					ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01)
				continue
			}
			if w.Key.Type() == ssh.KeyAlgoRSA {
				first = append(first, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
				continue
			}
			first = append(first, w.Key.Type())
		}
	}
	// Of what this library can do, SHA-1 signatures and certificates that no
	// authority here stands for are left out.
	var all []string
	for _, a := range append(first, ssh.SupportedAlgorithms().HostKeys...) {
		isFirst := len(all) < len(first) && slices.Contains(first, a)
		if !slices.Contains(all, a) && a != ssh.KeyAlgoRSA && (isFirst || !strings.Contains(a, "-cert-")) {
			all = append(all, a)
		}
	}
	return all
}

// isAuthority is whether the line of a known key says @cert-authority, which
// package knownhosts does not tell.
func isAuthority(k knownhosts.KnownKey) bool {
	f, err := os.Open(k.Filename)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if n == k.Line {
			return strings.HasPrefix(strings.TrimLeft(lines.Text(), " \t"), "@cert-authority")
		}
	}
	return false
}

// noKey is a key that no host has.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return []byte("none") }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }

// mayAccept asks whether an unknown key is the host's, and remembers the answer.
func (s *SSH) mayAccept(e *HostKeyError) (bool, error) {
	if s.HostKeys.Accept == nil {
		return false, nil
	}
	s.asking.Lock()
	defer s.asking.Unlock()
	// Many nodes may be behind one jump host: a user may have said yes by now.
	if e.file != "" {
		known, err := readKnownHosts([]string{e.file}, nil, s.isAcceptedLocked)
		if err != nil {
			return false, err
		}
		if known.check(e.names, e.Key) == nil {
			return true, nil
		}
	}
	if _, asked := s.answers[answerTo(e.names[0], e.Key)]; asked {
		return s.isAcceptedLocked(e.names, e.Key), nil
	}
	ok, err := s.HostKeys.Accept(e.Host, e.Key)
	if err != nil {
		return false, err
	}
	if !ok {
		s.answer(e, false)
		return false, nil
	}
	err = errors.New("no known_hosts file is named")
	if e.file != "" {
		err = addKnownHost(e.file, knownhosts.Line(e.names, e.Key))
	}
	if err != nil {
		s.notice("the key of %s is accepted until this program exits, and was not saved: %v", e.Host, err)
		s.answer(e, true)
	}
	return true, nil
}

// answer remembers what the user said of a key until the program exits.
func (s *SSH) answer(e *HostKeyError, ok bool) {
	if s.answers == nil {
		s.answers = map[string]bool{}
	}
	for _, name := range e.names {
		s.answers[answerTo(name, e.Key)] = ok
	}
}

func answerTo(name string, key ssh.PublicKey) string { return name + "\n" + string(key.Marshal()) }

func (s *SSH) isAccepted(names []string, key ssh.PublicKey) bool {
	s.asking.Lock()
	defer s.asking.Unlock()
	return s.isAcceptedLocked(names, key)
}

func (s *SSH) isAcceptedLocked(names []string, key ssh.PublicKey) bool {
	return slices.ContainsFunc(names, func(n string) bool { return s.answers[answerTo(n, key)] })
}

// addKnownHost adds a line by one write at the end of the file, which is atomic
// beside others who do the same, and which no other line can suffer from. A
// rename would lose what another ssh adds meanwhile, and break a link.
func addKnownHost(file, line string) (err error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file that could hold it", file)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	line += "\n"
	if size, err := f.Seek(0, io.SeekEnd); err == nil && size > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = "\n" + line
		}
	}
	if _, err := f.WriteString(line); err != nil {
		return err
	}
	return f.Sync()
}
