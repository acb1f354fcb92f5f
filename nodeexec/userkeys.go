package nodeexec

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// keyring is the keys that are offered to one host, and what became of others.
type keyring struct {
	offers []offer
	passed []string // why a key is not offered
	agent  io.Closer
}

type offer struct {
	key    ssh.PublicKey
	signer ssh.Signer
	from   string // a file, or the agent
}

// identity is what an IdentityFile holds.
type identity struct {
	offer
	closed error // why the file is of no use without an agent that has its key
}

// keyring collects keys in the order in which they are offered: those of named
// files first, by the agent if it has them, then the agent's others, then the
// files that every user has. A server gives up after a few (MaxAuthTries), so the
// likely ones come first.
func (s *SSH) keyring(ctx context.Context, h hop, w *watch) *keyring {
	k := &keyring{}
	inAgent := k.askAgent(ctx, s.Keys.Agent, h.timeout)
	var named []offer
	for _, f := range h.keys.files {
		id, err := s.identity(f, w)
		if err != nil {
			if !h.keys.usual || !errors.Is(err, fs.ErrNotExist) {
				k.passed = append(k.passed, err.Error())
			}
			continue
		}
		if i := slices.IndexFunc(inAgent, id.sameKey); i >= 0 {
			id.offer = inAgent[i] // needs no passphrase
			id.from = f + " in the ssh-agent"
		} else if id.closed != nil {
			k.passed = append(k.passed, id.closed.Error())
			continue
		}
		named = append(named, id.offer)
	}
	others := inAgent
	if h.keys.only {
		others = nil
		for _, o := range inAgent {
			if !slices.ContainsFunc(named, o.sameKey) {
				k.passed = append(k.passed, fmt.Sprintf("%s (%s): IdentitiesOnly leaves it out", ssh.FingerprintSHA256(o.key), o.from))
			}
		}
	}
	order := slices.Concat(named, others)
	if h.keys.usual {
		order = slices.Concat(others, named)
	}
	for _, o := range order {
		if slices.ContainsFunc(k.offers, o.sameKey) {
			continue
		}
		if as, ok := o.signer.(ssh.AlgorithmSigner); ok {
			o.signer = patientSigner{as, w}
		}
		k.offers = append(k.offers, o)
	}
	return k
}

func (o offer) sameKey(other offer) bool {
	return string(o.key.Marshal()) == string(other.key.Marshal())
}

func (k *keyring) signers() ([]ssh.Signer, error) {
	signers := make([]ssh.Signer, len(k.offers))
	for i, o := range k.offers {
		signers[i] = o.signer
	}
	return signers, nil
}

func (k *keyring) close() {
	if k.agent != nil {
		_ = k.agent.Close()
	}
}

// refused is the server's no, with the keys it was offered.
func (k *keyring) refused(err error) error {
	var offered []string
	onlyEd25519 := len(k.offers) > 0
	for _, o := range k.offers {
		onlyEd25519 = onlyEd25519 && o.key.Type() == ssh.KeyAlgoED25519
		offered = append(offered, fmt.Sprintf("%s %s (%s)", o.key.Type(), ssh.FingerprintSHA256(o.key), o.from))
	}
	var b strings.Builder
	b.WriteString("refused; ")
	if len(offered) == 0 {
		b.WriteString("there was no key to offer")
	} else {
		b.WriteString("keys offered: " + strings.Join(offered, ", "))
	}
	if len(k.passed) > 0 {
		b.WriteString("; not offered: " + strings.Join(k.passed, ", "))
	}
	if onlyEd25519 {
		b.WriteString("; a node in FIPS mode takes no ed25519 keys, but ecdsa and rsa")
	}
	return fmt.Errorf("%s (%w)", b.String(), err)
}

// askAgent lists the agent's keys. The connection stays until close, for the
// keys sign through it.
func (k *keyring) askAgent(ctx context.Context, socket string, limit time.Duration) []offer {
	if socket == "" {
		return nil
	}
	c, err := (&net.Dialer{Timeout: limit}).DialContext(ctx, "unix", socket) // a stuck agent's queue may be full
	if err != nil {
		k.passed = append(k.passed, fmt.Sprintf("the ssh-agent's: %v", err))
		return nil
	}
	unhook := context.AfterFunc(ctx, func() { _ = c.Close() })
	k.agent = closer(func() error { unhook(); return c.Close() })
	late := time.AfterFunc(limit, func() { _ = c.Close() })
	signers, err := agent.NewClient(c).Signers()
	late.Stop()
	if err != nil {
		k.passed = append(k.passed, fmt.Sprintf("the ssh-agent's: %s: %v", socket, err))
		return nil
	}
	offers := make([]offer, len(signers))
	for i, s := range signers {
		offers[i] = offer{s.PublicKey(), s, "ssh-agent"}
	}
	return offers
}

type closer func() error

func (c closer) Close() error { return c() }

// patientSigner stops the clock while it signs: an agent may ask for a touch, a
// key file for a passphrase.
type patientSigner struct {
	ssh.AlgorithmSigner
	w *watch
}

func (p patientSigner) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (sig *ssh.Signature, err error) {
	err = p.w.pause(func() error {
		sig, err = p.AlgorithmSigner.SignWithAlgorithm(rand, data, algorithm)
		return err
	})
	return sig, err
}

// identity reads a key file. An encrypted one asks for its passphrase once a
// server wants to see a signature. One that holds the public half only, or of
// which only that is there, means the agent's key.
func (s *SSH) identity(file string, w *watch) (identity, error) {
	id := identity{offer: offer{from: file}}
	data, err := os.ReadFile(file)
	if err != nil {
		if id.key = publicHalf(file + ".pub"); id.key == nil {
			return id, err
		}
		id.closed = fmt.Errorf("%w, and the ssh-agent does not have it", err)
		return id, nil
	}
	id.signer, err = ssh.ParsePrivateKey(data)
	if err == nil {
		id.key = id.signer.PublicKey()
		return id, nil
	}
	var locked *ssh.PassphraseMissingError
	if !errors.As(err, &locked) {
		if id.key = publicHalf(file); id.key == nil {
			return id, fmt.Errorf("%s: %w", file, err)
		}
		id.closed = fmt.Errorf("%s: a public key, and the ssh-agent does not have its private half", file)
		return id, nil
	}
	id.key = locked.PublicKey
	if id.key == nil { // the older formats
		id.key = publicHalf(file + ".pub")
	}
	refusal := fmt.Errorf("%s: the key has a passphrase, and there is no terminal to ask for it; add it to the agent: ssh-add %s", file, Quote(file))
	switch {
	case id.key != nil && s.Keys.Passphrase != nil:
		id.signer = &lockedKey{s: s, file: file, data: data, pub: id.key}
	case id.key != nil:
		id.closed = refusal
	case s.Keys.Passphrase == nil:
		return id, refusal
	default:
		err := w.pause(func() (err error) { id.signer, err = s.unlock(file, data); return err })
		if err != nil {
			return id, err
		}
		id.key = id.signer.PublicKey()
	}
	return id, nil
}

// publicHalf reads a public key; nil if there is none.
func publicHalf(file string) ssh.PublicKey {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(data)
	if err != nil {
		return nil
	}
	return key
}

// lockedKey is a key file that is opened when it is needed.
type lockedKey struct {
	s    *SSH
	file string
	data []byte
	pub  ssh.PublicKey
}

func (l *lockedKey) PublicKey() ssh.PublicKey { return l.pub }

func (l *lockedKey) Sign(rand io.Reader, data []byte) (*ssh.Signature, error) {
	return l.SignWithAlgorithm(rand, data, "")
}

func (l *lockedKey) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	signer, err := l.s.unlock(l.file, l.data)
	if err != nil {
		return nil, err
	}
	return signer.SignWithAlgorithm(rand, data, algorithm)
}

const passphraseTries = 3

// unlock opens an encrypted key file, once for all nodes.
func (s *SSH) unlock(file string, data []byte) (ssh.AlgorithmSigner, error) {
	s.asking.Lock()
	defer s.asking.Unlock()
	if signer, ok := s.unlocked[file]; ok {
		return signer, nil
	}
	for range passphraseTries {
		phrase, err := s.Keys.Passphrase(file)
		if err != nil {
			return nil, fmt.Errorf("passphrase of %s: %w", file, err)
		}
		signer, err := ssh.ParsePrivateKeyWithPassphrase(data, phrase)
		clear(phrase)
		if errors.Is(err, x509.IncorrectPasswordError) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		as, ok := signer.(ssh.AlgorithmSigner)
		if !ok {
			return nil, fmt.Errorf("%s: a key of type %s can't sign here", file, signer.PublicKey().Type())
		}
		if s.unlocked == nil {
			s.unlocked = map[string]ssh.AlgorithmSigner{}
		}
		s.unlocked[file] = as
		return as, nil
	}
	return nil, fmt.Errorf("%s: the passphrase is wrong, %d times", file, passphraseTries)
}
