package collect

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
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

// TestALargeRequestIsNotParsed: anybody who is authenticated makes some of 1 MB, with 500,000 names each.
//
// Not in parallel: it measures.
func TestALargeRequestIsNotParsed(t *testing.T) {
	const size = 2 * pki.MaxRequest
	request, _ := pkitest.Request("alice", pkitest.DNS(slices.Repeat([]string{"x"}, size/3)...))
	if len(request) < size {
		t.Fatalf("it has %d bytes", len(request))
	}
	var r *pki.Request
	var bad string
	if n := testing.AllocsPerRun(1, func() { r, bad = requestOf(request) }); n > 100 {
		t.Errorf("%v allocations", n)
	}
	if want := fmt.Sprintf("spec.request was not read: it has %d bytes", len(request)); r != nil || bad != want {
		t.Errorf("read: %t, %q", r != nil, bad)
	}
	few, _ := pkitest.Request("alice", pkitest.DNS(slices.Repeat([]string{"x.example.com"}, 1000)...))
	if r, bad := requestOf(few); r == nil || bad != "" || len(r.Names.DNS) != 1000 {
		t.Errorf("one with a thousand names: %q", bad)
	}
}
