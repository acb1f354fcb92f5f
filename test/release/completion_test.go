package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/sassoftware/go-rpmutils"
)

// TestTabInShells types into each shell, on a terminal, a word that Tab makes a command of:
// what then runs prints the version. Each has the completions of the package.
func TestTabInShells(t *testing.T) {
	runnable(t)
	data, err := os.ReadFile(filepath.Join(releaseOf(t), "kubectl-certrot-0.1.2~rc.3-1.x86_64.rpm"))
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := rpmutils.ReadRpm(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	unpackRPM(t, pkg, dir)
	for shell, c := range map[string]struct{ args, setup string }{
		"bash": {"--noprofile --norc -i", ". /usr/share/bash-completion/bash_completion; . '%s/usr/share/bash-completion/completions/kubectl-certrot'"},
		"zsh":  {"-f -i", "fpath=('%s/usr/share/zsh/site-functions' $fpath); autoload -Uz compinit; compinit -u -D"},
		"fish": {"--no-config -i", "set -p fish_complete_path '%s/usr/share/fish/vendor_completions.d'"},
	} {
		t.Run(shell, func(t *testing.T) {
			program := tool(t, shell)
			if shell == "bash" {
				if _, err := os.Stat("/usr/share/bash-completion/bash_completion"); err != nil {
					t.Skip("bash-completion is not installed")
				}
			}
			cmd := exec.Command(program, strings.Fields(c.args)...)
			cmd.Env = []string{"HOME=" + t.TempDir(), "TERM=xterm", "PATH=" + filepath.Join(dir, "usr/bin") + ":/usr/bin:/bin", "LANG=C.UTF-8"}
			terminal, err := pty.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			screen := make(chan string, 1000)
			go func() {
				defer close(screen)
				buffer := make([]byte, 4096)
				for {
					n, err := terminal.Read(buffer)
					if n > 0 {
						screen <- string(buffer[:n])
					}
					if err != nil {
						return
					}
				}
			}()
			defer func() {
				terminal.Close()
				if err := cmd.Process.Kill(); err != nil {
					t.Error(err)
				}
				_ = cmd.Wait() // it was killed
			}()
			all := ""
			typed := func(text, want string) {
				t.Helper()
				if _, err := terminal.WriteString(text); err != nil {
					t.Fatal(err)
				}
				for limit := time.After(time.Minute); !strings.Contains(all, want); {
					select {
					case more, open := <-screen:
						if all += more; !open {
							t.Fatalf("the shell is gone, without %q:\n%q", want, all)
						}
					case <-limit:
						t.Fatalf("no %q on the screen:\n%q", want, all)
					}
				}
			}
			typed(fmt.Sprintf(c.setup, dir)+"; echo re''ady\n", "ready")
			typed("kubectl-certrot vers\t\n", "certrot "+tag+" ")
		})
	}
}
