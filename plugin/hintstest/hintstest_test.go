package hintstest

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestCheck: what does not run is found, as it stands in a text.
func TestCheck(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"look: {} auth can-i list pods -n NAMESPACE; and again":    "",
		"look: {} auth can-i list pods -n default, or not":         "",
		"`kubectl auth can-i --list`":                              "",
		"oc auth can-i list":                                       "needs one verb and one resource",
		"oc auth can-i get,list pods":                              "needs one verb and one resource",
		"oc authorize":                                             `no command "authorize"`,
		"oc auth can-i list pods --namespaces x":                   "no flag --namespaces",
		"oc auth can-i list pods --count many":                     "invalid syntax",
		"oc auth can-i list pods --old":                            "hidden or deprecated",
		"(kubectl auth secret)":                                    "hidden or deprecated",
		"kubectl and oc wait for --nothing":                        "no command at all",
		"certrot auth can-i list pods -q=1. Then it has --nothing": "no flag -q",
	} {
		root := &cobra.Command{Use: "kubectl"}
		auth, hidden := &cobra.Command{Use: "auth"}, &cobra.Command{Use: "secret", Hidden: true, Run: func(*cobra.Command, []string) {}}
		can := &cobra.Command{Use: "can-i", Run: func(*cobra.Command, []string) {}}
		root.PersistentFlags().StringP("namespace", "n", "", "")
		can.Flags().Bool("list", false, "")
		can.Flags().Bool("old", false, "")
		can.Flags().Int("count", 0, "")
		if err := can.Flags().MarkDeprecated("old", "gone"); err != nil {
			t.Fatal(err)
		}
		root.AddCommand(auth)
		auth.AddCommand(can, hidden)
		got := "no command at all"
		for _, c := range commandsOf(text{where: "here", s: line}) {
			got = ""
			if err := Check(root, c); err != nil {
				got = err.Error()
			}
		}
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
