package kubectl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/hintstest"
)

// ownOfOC are the commands that oc has and kubectl has not, or has another one of that name,
// with the flags that hints give them. Read in openshift/oc at release-4.12, 4.16, 4.22 and
// 6b8e30c5b: pkg/cli/cli.go, pkg/cli/admin/admin.go,
// pkg/cli/admin/ocpcertificates/ocp_certificates.go, and each command's own Use and flags.
func ownOfOC() map[string][]string {
	return map[string][]string{
		"debug": nil, "extract": nil, "login": nil, "logout": nil, "project": nil, "rsh": {"-c"}, "whoami": nil,
		"adm inspect": nil, "adm must-gather": nil, "adm node-logs": nil, "adm reboot-machine-config-pool": nil, "adm release": nil, "adm top": nil, "adm upgrade": nil, "adm wait-for-stable-cluster": {"--minimum-stable-period"},
		"adm ocp-certificates": nil,
		"adm ocp-certificates regenerate-machine-config-server-serving-cert":       nil,
		"adm ocp-certificates update-ignition-ca-bundle-for-machine-config-server": nil,
	}
}

// belowAdm are kubectl's commands that oc has below adm, and not at its root.
func belowAdm() []string { return []string{"certificate", "cordon", "drain", "taint", "uncordon"} }

// notInOC are the other commands of kubectl that oc has not at its root: top is below adm,
// and another one.
func notInOC() []string { return append(belowAdm(), "alpha", "top") }

// globalFlags stand before a command, and take a value.
func globalFlags() []string { return []string{"-n", "--namespace", "--kubeconfig", "--context"} }

// checkOC holds a command of oc against what oc has, and what is kubectl's in it against kubectl.
func checkOC(kubectl *cobra.Command, c hintstest.Command) error {
	at := 0
	for at+1 < len(c.Words) && slices.Contains(globalFlags(), c.Words[at]) {
		at += 2
	}
	words := c.Words[at:]
	for n := min(3, len(words)); n > 0; n-- {
		flags, own := ownOfOC()[strings.Join(words[:n], " ")]
		if !own {
			continue
		}
		if own := strings.Join(words[:n], " "); own == "adm ocp-certificates" && n < len(words) {
			return fmt.Errorf("oc %s has no command %q", own, words[n])
		}
		for _, word := range words[n:] {
			if word == "--" {
				break
			}
			if strings.HasPrefix(word, "-") && !slices.Contains(flags, word) && words[0] != "rsh" { // rsh has the flags of what it runs, too
				return fmt.Errorf("oc %s: whether it has the flag %s was not looked up: add it to ownOfOC", strings.Join(words[:n], " "), word)
			}
		}
		return nil
	}
	switch {
	case words[0] == "adm" && len(words) > 1 && slices.Contains(belowAdm(), words[1]):
		words = words[1:]
	case slices.Contains(notInOC(), words[0]):
		return fmt.Errorf("oc has no command %q; some are below adm", words[0])
	}
	return hintstest.Check(kubectl, hintstest.Command{Where: c.Where, Program: c.Program, Words: append(slices.Clone(c.Words[:at]), words...)})
}

// TestOCHasNotAllOfKubectl: what is printed as oc is looked for in oc.
func TestOCHasNotAllOfKubectl(t *testing.T) {
	t.Parallel()
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	for line, want := range map[string]string{
		"get pods -o wide": "",
		"-n openshift-etcd rsh -c etcdctl POD etcdctl":  "",
		"adm certificate approve NAME":                  "",
		"adm drain NODE --force":                        "",
		"adm upgrade":                                   "",
		"certificate approve NAME":                      "oc has no command",
		"-n default drain NODE":                         "oc has no command",
		"adm ocp-certificates regenerate-everything":    "has no command",
		"adm wait-for-the-cluster":                      "no command",
		"adm upgrade --to-nowhere":                      "was not looked up",
		"get pods --widely":                             "no flag --widely",
		"adm certificate approve NAME --without-asking": "no flag",
	} {
		err := checkOC(cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{IOStreams: streams}), hintstest.Command{Program: "oc", Words: strings.Fields(line)})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("oc %s: %v, want %q", line, err, want)
		}
	}
}

// TestHintsNameKubectlCommandsThatExist: kubectl's are parsed by kubectl; oc has most of
// them, and commands of its own.
func TestHintsNameKubectlCommandsThatExist(t *testing.T) {
	t.Parallel()
	commands, err := hintstest.Commands("../..")
	if err != nil {
		t.Fatal(err)
	}
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	found := 0
	for _, c := range commands {
		if c.Program == "certrot" || slices.Contains([]string{"certrot", "krew"}, c.Words[0]) { // plugins
			continue
		}
		found++
		kubectl := cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{IOStreams: streams})
		check := hintstest.Check
		if c.Program == "oc" {
			check = checkOC
		}
		if err := check(kubectl, c); err != nil {
			t.Errorf("%s\n\t%v", c, err)
		}
	}
	if found < 100 {
		t.Errorf("only %d commands were found", found)
	}
}
