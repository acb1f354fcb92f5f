package nodeexec_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// shellReads is what a real shell makes of quoted arguments.
func shellReads(t *testing.T, shell string, argv ...string) string {
	t.Helper()
	cmd := exec.Command(shell, "-c", `printf '%s\000' `+nodeexec.Quote(append([]string{"-"}, argv...)...))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s refuses %q: %v %s", shell, cmd.Args[2], err, stderr.String())
	}
	return string(out)
}

func TestQuoteInEveryShellHere(t *testing.T) {
	var args []string
	for b := 1; b < 256; b++ {
		args = append(args, string([]byte{byte(b)}), "a"+string([]byte{byte(b)})+"b", string([]byte{byte(b), byte(b)}))
	}
	args = append(args, "", "'", "''", `'"'"'`, `\`, `\\`, "-n", "--", "~", "~root", "=ls", "a=b", "if", "!!", "{1..3}", "$'x'", "%1", "\r\n")
	for _, shell := range []string{"sh", "bash", "dash", "busybox"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not here", shell)
			continue
		}
		argv := args
		if shell == "busybox" {
			path = linkTo(t, path, "sh")
		}
		want := "-\x00" + strings.Join(argv, "\x00") + "\x00"
		if got := shellReads(t, path, argv...); got != want {
			t.Errorf("%s reads\n%q, not\n%q", shell, got, want)
		}
	}
}

func TestAQuotedCommandCanBePasted(t *testing.T) {
	for want, argv := range map[string][]string{
		`cat /etc/kubernetes/kubeconfig`:                    {"cat", "/etc/kubernetes/kubeconfig"},
		`systemctl restart 'kubelet service'`:               {"systemctl", "restart", "kubelet service"},
		`sh -c 'echo "it'\''s $1"' sh ''`:                   {"sh", "-c", `echo "it's $1"`, "sh", ""},
		`'if' if`:                                           {"if", "if"},
		`'A=b' A=b`:                                         {"A=b", "A=b"},
		`ssh-keygen -lf '/etc/ssh/ssh_host_*_key.pub' '=x'`: {"ssh-keygen", "-lf", "/etc/ssh/ssh_host_*_key.pub", "=x"},
	} {
		if got := nodeexec.Quote(argv...); got != want {
			t.Errorf("Quote(%q) = %s, want %s", argv, got, want)
		}
	}
}

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "'", "a'b", "$(id)", "`id`", "\\", "\n", "\xff", "-e", "*", "~"} {
		f.Add(s, "x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.ContainsRune(a+b, 0) {
			t.Skip("no argument holds a NUL byte")
		}
		if len(a)+len(b) > 50000 {
			t.Skip("longer than a command line may be")
		}
		if got, want := shellReads(t, "/bin/sh", a, b), "-\x00"+a+"\x00"+b+"\x00"; got != want {
			t.Errorf("%q and %q arrive as %q", a, b, got)
		}
	})
}
