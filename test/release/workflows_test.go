package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow is what the tests read of a workflow.
type workflow struct {
	Env         map[string]string `json:"env"`
	Permissions map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		Env         map[string]string `json:"env"`
		Permissions map[string]string `json:"permissions"`
		Steps       []struct {
			Uses string `json:"uses"`
			Run  string `json:"run"`
		} `json:"steps"`
	} `json:"jobs"`
}

func workflows(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("workflows: %v: %v", files, err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(text)
	}
	return texts
}

// TestWorkflowsNameWhatIsThere: targets of make, packages of go run, scripts and paths.
func TestWorkflowsNameWhatIsThere(t *testing.T) {
	makes := regexp.MustCompile(`\bmake ((?:[A-Z_]+=(?:"[^"]*"|\S*) *)*)([a-z][-a-z]*)`)
	goRuns := regexp.MustCompile(`\bgo run (\./\S+)`)
	scripts := regexp.MustCompile(`(?:^|\s)(\.ci/\S+)`)
	rules := ""
	for _, name := range []string{"Makefile", "Makefile.lab"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		rules += "\n" + string(text)
	}
	targets := 0
	exists := func(file, target string) {
		t.Helper()
		targets++
		if !strings.Contains(rules, "\n"+target+":") {
			t.Errorf("%s runs make %s, which is not there", file, target)
		}
	}
	for file, text := range workflows(t) {
		var w workflow
		if err := yaml.Unmarshal([]byte(text), &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, job := range w.Jobs {
			for _, step := range strings.Fields(job.Env["STEPS"]) {
				exists(file, step)
			}
			for _, step := range job.Steps {
				for _, m := range makes.FindAllStringSubmatch(step.Run, -1) {
					exists(file, m[2])
				}
				for _, re := range []*regexp.Regexp{goRuns, scripts} {
					for _, m := range re.FindAllStringSubmatch(step.Run, -1) {
						if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
							t.Errorf("%s: %v", file, err)
						}
					}
				}
			}
		}
	}
	if targets < 8 {
		t.Errorf("only %d targets were found", targets)
	}
}

// TestWorkflowRunsTheStepsOfMakeTest: all but those of the lab.
func TestWorkflowRunsTheStepsOfMakeTest(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	steps := regexp.MustCompile(`(?m)^STEPS \?= (.*) test-lab$`).FindStringSubmatch(string(makefile))
	if steps == nil {
		t.Fatal("the Makefile has no steps of make test with test-lab at their end")
	}
	if text := workflows(t)["ci.yml"]; !strings.Contains(text, "STEPS: "+steps[1]+"\n") {
		t.Errorf("ci.yml has not the steps %q", steps[1])
	}
}

// TestActionsArePinned by the hash of a commit, with the version as a comment.
func TestActionsArePinned(t *testing.T) {
	pinned := regexp.MustCompile(`@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	uses := 0
	for file, text := range workflows(t) {
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			if !strings.Contains(line, "uses: ") {
				continue
			}
			uses++
			if !pinned.MatchString(line) {
				t.Errorf("%s: %q is not pinned", file, strings.TrimSpace(line))
			}
		}
	}
	if uses < 5 {
		t.Errorf("only %d actions were found", uses)
	}
}

// TestWhatHasRightsRunsNoCodeOfTheRepository: a job that may write has neither the sources nor what compiles them.
func TestWhatHasRightsRunsNoCodeOfTheRepository(t *testing.T) {
	rights := 0
	for file, text := range workflows(t) {
		var w workflow
		if err := yaml.Unmarshal([]byte(text), &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for name, job := range w.Jobs {
			writes := false
			for _, of := range []map[string]string{w.Permissions, job.Permissions} {
				for _, right := range of {
					writes = writes || right == "write"
				}
			}
			if !writes {
				continue
			}
			rights++
			for _, step := range job.Steps {
				if regexp.MustCompile(`actions/(checkout|setup-go)@`).MatchString(step.Uses) || regexp.MustCompile(`\b(make|go|sh|bash)\b `).MatchString(step.Run) {
					t.Errorf("%s: job %s may write, and has %q", file, name, step.Uses+step.Run)
				}
			}
		}
	}
	if rights != 1 {
		t.Errorf("%d jobs may write", rights)
	}
}

// TestActionlint reads them as the runner does: contexts, expressions, types, keys.
func TestActionlint(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", append([]string{"tool", "actionlint"}, files...)...).CombinedOutput(); err != nil {
		t.Errorf("actionlint: %v\n%s", err, out)
	}
}
