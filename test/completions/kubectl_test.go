// Package completions tests the Tab key through a real kubectl, which finds the
// plugin and its shim on PATH as it does on a user's machine.
package completions

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

func TestTabAfterKubectlCertrot(t *testing.T) {
	lab := labtest.Require(t)
	bin := install(t)
	for _, c := range []struct {
		name  string
		words []string
		want  []string
	}{
		{"the plugin itself", []string{"certr"}, []string{"certrot"}},
		{"a command", []string{"certrot", "ins"}, []string{"inspect"}},
		{"what may be inspected", []string{"certrot", "inspect", "secr"}, []string{"secrets"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for program, path := range map[string]string{"kubectl": lab.Kubectl, "oc": lab.OC} {
				if got := complete(t, lab, path, bin, c.words); !slices.Equal(got, c.want) {
					t.Errorf("%s %s<TAB> suggests %q, want %q", program, strings.Join(c.words, " "), got, c.want)
				}
			}
		})
	}
}

// TestTabAsksTheCluster: namespaces come from the cluster of the kubeconfig.
func TestTabAsksTheCluster(t *testing.T) {
	lab := labtest.Require(t)
	got := complete(t, lab, lab.Kubectl, install(t), []string{"certrot", "inspect", "-n", "kube-sys"})
	if !slices.Contains(got, "kube-system") { // what does not begin so, the shell leaves out
		t.Errorf("kubectl certrot inspect -n kube-sys<TAB> suggests %q, want kube-system", got)
	}
}

// install puts plugin and shim where nothing else is, as make install does.
func install(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	plugin := filepath.Join(dir, "kubectl-certrot")
	if built := os.Getenv("CERTROT_BIN"); built != "" {
		if err := os.Symlink(built, plugin); err != nil {
			t.Fatal(err)
		}
	} else if out, err := exec.Command("go", "build", "-o", plugin, "../../cmd/kubectl-certrot").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	shim, err := os.ReadFile("../../completions/kubectl_complete-certrot")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubectl_complete-certrot", "oc_complete-certrot"} {
		if err := os.WriteFile(filepath.Join(dir, name), shim, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// complete returns the suggestions that program gives for the last of words,
// without their descriptions and the directive for the shell.
func complete(t *testing.T, lab *labtest.Lab, program, bin string, words []string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"__complete"}, words...)...)
	cmd.Env = append(os.Environ(),
		"PATH="+bin+":"+filepath.Dir(program)+":/usr/bin:/bin",
		"KUBECONFIG="+lab.Kubeconfig,
		"HOME="+t.TempDir())
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	var suggestions []string
	for line := range strings.Lines(string(out)) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if word != "" && !strings.HasPrefix(word, ":") {
			suggestions = append(suggestions, word)
		}
	}
	return suggestions
}
