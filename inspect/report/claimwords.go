package report

import (
	"regexp"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
)

// verb is that of a claim, with what stands around it. The first one counts, and a trust store is none.
var verb = regexp.MustCompile(`^(.+?) (trusts?|verif(?:y|ies)|presents?|accepts?|holds?|ha(?:s|ve)(?: loaded)?)(,? .*)$`)

// Said is the claim as its status is: what passes is said as it is, of what fails the opposite, so
// that no mark has to be read to know which.
func (c VerificationClaim) Said() string { return Said(c.Claim, c.Status) }

// Said is a claim as its status is.
func Said(claim string, status assess.Status) string {
	switch status {
	case assess.Pass:
		return claim
	case assess.Unknown:
		return "whether " + claim
	}
	if rest, ok := strings.CutPrefix(claim, "no client refuses "); ok {
		if status == assess.Warn {
			return "clients will refuse " + rest
		}
		return "clients refuse " + rest
	}
	m := verb.FindStringSubmatch(strings.Replace(claim, "trust store", "trust\u00a0store", 1))
	if m == nil {
		return "not so: " + claim
	}
	subject, does, rest := strings.ReplaceAll(m[1], "\u00a0", " "), m[2], m[3]
	if one, ok := strings.CutPrefix(subject, "each "); ok { // not all of them fail
		article := "a "
		if strings.ContainsRune("aeiou", rune(one[0])) {
			article = "an "
		}
		subject = article + one
	}
	rest, _, _ = strings.Cut(rest, ", and none of ") // what it is beside that
	perfect := strings.HasSuffix(does, " loaded")
	singular := strings.HasSuffix(strings.TrimSuffix(does, " loaded"), "s")
	plain := strings.TrimSuffix(does, "s")
	switch does {
	case "has", "has loaded":
		plain = strings.Replace(does, "has", "have", 1)
	case "verifies":
		plain = "verify"
	}
	not := "do not " + plain
	switch {
	case status == assess.Warn:
		not = "will not " + plain
	case perfect:
		not = strings.Replace(does, " loaded", " not loaded", 1)
	case singular:
		not = "does not " + plain
	}
	return subject + " " + not + rest
}
