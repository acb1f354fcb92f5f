package nodeexec_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// sshd is a real sshd that runs for one test, and lets in the user of the test.
type sshd struct {
	port int
	user string
	keys []ssh.PublicKey // its own
	log  *lockedBuffer
}

func (d *sshd) addr() string { return fmt.Sprintf("127.0.0.1:%d", d.port) }

// home is a user's home folder with a key that sshd knows.
type home struct {
	dir string
	key ssh.PublicKey
}

func newHome(t *testing.T) home {
	t.Helper()
	h := home{dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(h.dir, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.key = writeKey(t, filepath.Join(h.dir, ".ssh", "id_ed25519"), "ed25519", "")
	return h
}

func (h home) file(name string) string { return filepath.Join(h.dir, ".ssh", name) }

// writeKey makes a key, with a .pub beside.
func writeKey(t *testing.T, file, kind, passphrase string) ssh.PublicKey {
	t.Helper()
	var private any
	var err error
	switch kind {
	case "ed25519":
		_, private, err = ed25519.GenerateKey(rand.Reader)
	case "ecdsa":
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "rsa":
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(pem.EncodeToMemory(block)))
	write(t, file+".pub", string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	return signer.PublicKey()
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// startSSHD runs an sshd with some more lines of configuration, which lets in
// these keys. hostKeys are kinds of keys; none is ed25519.
func startSSHD(t *testing.T, lines string, hostKeys []string, in ...ssh.PublicKey) *sshd {
	t.Helper()
	binary, err := exec.LookPath("sshd")
	if err != nil {
		binary = "/usr/sbin/sshd"
	}
	if _, err := os.Stat(binary); err != nil {
		if os.Getenv("CERTROT_REQUIRE_LAB") == "1" {
			t.Fatal("CERTROT_REQUIRE_LAB=1, but sshd is not installed (apt-get install openssh-server)")
		}
		t.Skip("sshd is not installed (apt-get install openssh-server)")
	}
	if os.Geteuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // it insists, when root runs it
			t.Fatal(err)
		}
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	d := &sshd{user: me.Username, log: &lockedBuffer{}}
	var authorized, config strings.Builder
	for _, k := range in {
		authorized.Write(ssh.MarshalAuthorizedKey(k))
	}
	write(t, filepath.Join(dir, "authorized_keys"), authorized.String())
	if len(hostKeys) == 0 {
		hostKeys = []string{"ed25519"}
	}
	for _, kind := range hostKeys {
		file := filepath.Join(dir, "host_"+kind)
		d.keys = append(d.keys, writeKey(t, file, kind, ""))
		fmt.Fprintf(&config, "HostKey %s\n", file)
	}
	d.port = freePort(t)
	fmt.Fprintf(&config, "%s\nListenAddress 127.0.0.1\nPort %d\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"+
		"PermitRootLogin yes\nSetEnv HOME=%s\nAuthorizedKeysFile %s\n", lines, d.port, dir, // no ~/.bashrc of this machine
		filepath.Join(dir, "authorized_keys"))
	write(t, filepath.Join(dir, "sshd_config"), config.String())

	cmd := exec.Command(binary, "-D", "-e", "-f", filepath.Join(dir, "sshd_config"))
	cmd.Stderr = d.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("sshd says:\n%.3000s", d.log.String())
		}
	})
	answers := func() bool {
		c, err := net.Dial("tcp", d.addr())
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}
	if !await(answers) {
		t.Fatalf("sshd does not start:\n%s", d.log.String())
	}
	return d
}

func freePort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().(*net.TCPAddr).Port
}

// trust writes a known_hosts that knows these servers.
func (h home) trust(t *testing.T, ds ...*sshd) {
	t.Helper()
	var text strings.Builder
	for _, d := range ds {
		for _, k := range d.keys {
			text.WriteString(knownhosts.Line([]string{d.addr()}, k) + "\n")
		}
	}
	write(t, h.file("known_hosts"), text.String())
}

// ssh is a transport with node-1 at a server, whatever user runs the tests.
func (h home) ssh(d *sshd) *nodeexec.SSH {
	return &nodeexec.SSH{
		Home:      h.dir,
		Sudo:      nodeexec.SudoNever,
		Inventory: nodeexec.Inventory{"node-1": {Host: "127.0.0.1", User: d.user, Port: d.port}},
	}
}

// lockedBuffer may be written to and read at the same time.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// needsSudo skips a test where sudo asks the user of the test for a password.
func needsSudo(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("sudo", "-n", "--", "true").CombinedOutput(); err != nil {
		t.Skipf("sudo without a password is not possible here: %v %s", err, out)
	}
}

// linkTo is a link to a program that goes by its name.
func linkTo(t *testing.T, program, name string) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	return link
}
