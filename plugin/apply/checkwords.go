package apply

import (
	"cmp"
	"maps"
)

// What a plan's screen says of checks that no API server answered.
const (
	notCheckedInFile = "not checked in a file"
	noServerAsked    = "no API server asked"
)

// NotChecked are the words for checks that only an API server answers, where none was asked.
func NotChecked() []string { return []string{notCheckedInFile, noServerAsked, "not checked"} }

// CheckWords are the checks of the whole cluster by the words that a plan's screen has of them, as explain takes
// both.
func CheckWords() map[string]string {
	out := map[string]string{}
	for _, words := range []map[string]string{plainWords(), passedWords()} {
		for id, words := range words {
			out[words] = id
		}
	}
	return out
}

// plainWords are checks as people call what is checked.
func plainWords() map[string]string {
	return map[string]string{
		"etcd-healthy": "etcd health", "static-pods-settled": "static Pods", "upgrade-running": "upgrades",
		"pools-settled": "MachineConfigPools", "remediation-active": "node remediation", "operators-settled": "operators",
	}
}

// passedWords are checks that passed, as what they found.
func passedWords() map[string]string {
	return map[string]string{
		"server-side-consistent": "published CA verifies api-int", "named-certificate": "no custom certificate", "clocks": "clocks agree",
	}
}

// inPlainWords are checks of the whole cluster in plainWords; one without them by its name.
func inPlainWords(checks []string) []string { return inWords(checks, plainWords()) }

// passedInWords are the same for checks that passed.
func passedInWords(checks []string) []string {
	words := plainWords()
	maps.Copy(words, passedWords())
	return inWords(checks, words)
}

func inWords(checks []string, words map[string]string) []string {
	out := make([]string, len(checks))
	for i, check := range checks {
		out[i] = cmp.Or(words[check], check)
	}
	return out
}
