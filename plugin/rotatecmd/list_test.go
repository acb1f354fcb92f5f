package rotatecmd

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// TestWhyNotNowInFewWords: each check before a rotation has a reason that fits on a line of 80 columns,
// with its name.
func TestWhyNotNowInFewWords(t *testing.T) {
	t.Parallel()
	known := map[string]notNow{}
	for _, w := range whyNotNow() {
		known[w.id] = w
		for _, reason := range []string{w.fail, w.unknown} {
			if line := "✗ " + reason + " (" + w.id + ")"; ui.Width(line) > 80 {
				t.Errorf("%d columns: %s", ui.Width(line), line)
			}
		}
	}
	for _, id := range rotate.Risks() {
		if id != remediate.NoLease && id != preflight.UnauthenticatedAPI && known[id].fail == "" {
			t.Errorf("%s: no reason in few words", id)
		}
	}
}

// TestWhyNotNowOfOneEntry: what does not exist has that reason alone; the checks that say the same of
// its signer are one reason; a check without few words has its own.
func TestWhyNotNowOfOneEntry(t *testing.T) {
	t.Parallel()
	check := func(id, reason string) rotationCheck {
		return rotationCheck{Assessment: assess.Assessment{ID: id, Status: assess.Fail, Reason: reason}, blocks: true}
	}
	for _, c := range []struct {
		checks []rotationCheck
		want   string
	}{
		{[]rotationCheck{check("signer-age", "young"), check("annotations-agree", "Secret/n/a[tls.crt] is not there")}, "it does not exist in this cluster (annotations-agree)"},
		{[]rotationCheck{check("signer-type", "Secret/n/s[tls.crt] is not there"), check("signer-age", "Secret/n/s[tls.crt] is not there"), {}}, "its signer does not exist (signer-type, signer-age)"},
		{[]rotationCheck{check("signer-age", "young"), check("new", "Secret/n/a[tls.crt] of Secret/n/s[tls.crt]\nis odd")}, "its signer is too new to be trusted everywhere (signer-age); it of its signer is odd (new)"},
	} {
		var got []string
		for _, w := range (rotationEntry{Secret: "n/a", By: "n/s", Checks: c.checks}).whys() {
			got = append(got, w.reason+" ("+w.ids+")")
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("got  %s\nwant %s", text, c.want)
		}
	}
}
