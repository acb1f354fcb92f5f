package collect

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestTheRequestIsTheOneThatIsSigned: the API server and signers read the first PEM block. What
// a lenient reader finds before it is a decoy.
func TestTheRequestIsTheOneThatIsSigned(t *testing.T) {
	t.Parallel()
	decoy, _ := pkitest.Request("system:node:worker-1")
	request, _ := pkitest.Request("alice")
	lines := strings.Split(strings.TrimSpace(string(decoy)), "\n")
	for name, c := range map[string]struct {
		text, bad string
		none      bool
	}{
		"alone":           {text: string(request)},
		"with blanks":     {text: "\n" + string(request) + "\n\n"},
		"indented before": {text: " " + strings.Join(lines, "\n ") + "\n" + string(request), bad: "beside"},
		"base64 before":   {text: base64.StdEncoding.EncodeToString(decoy) + "\n" + string(request), bad: "beside"},
		"escaped before":  {text: strings.Join(lines, `\n`) + "\n" + string(request), bad: "beside"},
		"glued before":    {text: "x" + string(decoy) + string(request), bad: "beside"},
		"behind":          {text: string(request) + string(decoy), bad: "beside"},
		"bare base64":     {text: base64.StdEncoding.EncodeToString(request), bad: "no certificate request", none: true},
		"another label":   {text: strings.ReplaceAll(string(request), "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"), bad: "no certificate request", none: true},
		"no DER":          {text: string(bytes.Replace(request, []byte("\nMI"), []byte("\nAA"), 1)), bad: "can't be parsed", none: true},
	} {
		r, bad := requestOf([]byte(c.text))
		if (c.bad == "") != (bad == "") || !strings.Contains(bad, c.bad) {
			t.Errorf("%s: %q, want %q", name, bad, c.bad)
		}
		if (r == nil) != c.none || r != nil && r.Subject != "CN=alice" {
			t.Errorf("%s: read %+v", name, r)
		}
	}
}
