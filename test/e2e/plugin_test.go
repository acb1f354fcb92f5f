package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

// shells that are tried where they are installed: each sets the variable _ in
// its own way, by which the plugin knows whether oc started it.
var shells = []string{"bash", "zsh", "ksh", "sh"}

func (w *world) shell(t *testing.T, shell, script string) result {
	t.Helper()
	path, err := exec.LookPath(shell)
	if err != nil {
		t.Skipf("%s is not installed", shell)
	}
	return w.exec(t, w.onHost(t.Context(), path, "-c", script))
}

func TestKubectlAndOcStartThePlugin(t *testing.T) {
	t.Parallel()
	w := enter(t)
	for _, caller := range []string{"kubectl", "oc"} {
		t.Run(caller, func(t *testing.T) {
			t.Parallel()
			r := w.exec(t, w.onHost(t.Context(), caller, "certrot", "inspect", "-o", "json", "secret/serving", "-n", w.planted.fine()))
			inv := decode(t, r)
			place := "Secret/" + w.planted.fine() + "/serving[tls.crt]"
			if r.code != 0 || len(inv.sightings(t)[place]) != 1 {
				t.Errorf("ended with %d and found %v", r.code, inv.sightings(t))
			}
		})
		t.Run(caller+" passes the exit code on", func(t *testing.T) {
			t.Parallel()
			for code, args := range map[int][]string{1: {"-n", w.planted.rich()}, 2: {"--nope"}, 3: {"secret/nope"}} {
				if r := w.exec(t, w.onHost(t.Context(), append([]string{caller, "certrot", "inspect"}, args...)...)); r.code != code {
					t.Errorf("inspect %v ended with %d, want %d:\n%s", args, r.code, code, r.stderr)
				}
			}
		})
	}
}

func TestThePluginIsCalledAsItsUserCallsIt(t *testing.T) {
	t.Parallel()
	w := enter(t)
	for _, shell := range shells {
		for script, want := range map[string]string{
			"kubectl certrot inspect --help": "kubectl certrot inspect",
			"oc certrot inspect --help":      "oc certrot inspect",
		} {
			t.Run(shell+": "+script, func(t *testing.T) {
				t.Parallel()
				r := w.shell(t, shell, script+"; true") // or the shell would be replaced by it
				text := r.stdout
				if shell == "sh" && !strings.Contains(text, want+" ") {
					want = "kubectl certrot inspect" // dash sets no _, so that is unknown
				}
				for _, line := range []string{"Usage:\n  " + want + " [KIND", want + " --all -o wide"} {
					if r.code != 0 || !strings.Contains(text, line) {
						t.Errorf("ended with %d and does not say %q:\n%.3000s", r.code, line, r.said())
					}
				}
			})
		}
	}
	t.Run("bash: errors name it, too", func(t *testing.T) {
		t.Parallel()
		r := w.shell(t, "bash", "oc certrot inspect --nope; true")
		if !strings.Contains(r.stderr, "next: oc certrot inspect --help") {
			t.Errorf("says:\n%s", r.stderr)
		}
	})
	t.Run("bash: by its own name", func(t *testing.T) {
		t.Parallel()
		r := w.shell(t, "bash", "kubectl-certrot inspect --help; true")
		if !strings.Contains(r.stdout, "\n  kubectl certrot inspect [KIND") {
			t.Errorf("says:\n%s", r.stdout)
		}
	})
}

func TestKubectlCompletesThePlugin(t *testing.T) {
	t.Parallel()
	w := enter(t)
	for _, caller := range []string{"kubectl", "oc"} {
		for _, c := range []struct {
			typed []string
			want  string
		}{
			{[]string{"ins"}, "inspect\t"},
			{[]string{"inspect", "sec"}, "secrets"},
			{[]string{"inspect", "secrets,conf"}, "secrets,configmaps"},
			{[]string{"inspect", "--fail-on", ""}, "critical"},
			{[]string{"inspect", "-n", w.planted.id}, w.planted.fine()},
			{[]string{"inspect", "-o", "js"}, "json"},
			{[]string{"inspect", "no"}, "nodes"},
			{[]string{"inspect", "--nodes", "al"}, "all"},
			{[]string{"inspect", "--via", "s"}, "ssh"},
			{[]string{"inspect", "--context", ""}, "lab"},
		} {
			t.Run(caller+" certrot "+strings.Join(c.typed, " "), func(t *testing.T) {
				t.Parallel()
				r := w.exec(t, w.onHost(t.Context(), append([]string{caller, "__complete", "certrot"}, c.typed...)...))
				if !strings.Contains("\n"+r.stdout, "\n"+c.want) {
					t.Errorf("suggests %q, want %q; stderr:\n%s", r.stdout, c.want, r.stderr)
				}
			})
		}
	}
}
