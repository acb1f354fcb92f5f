package verifycmd

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// TestVerifyWaits asks until all holds, the time is over, or it is interrupted.
func TestVerifyWaits(t *testing.T) {
	away := errors.New("the server is away")
	for name, c := range map[string]struct {
		wait      time.Duration
		answers   []string // a status, or "" for an error
		want      string   // the status that counts; "": the error
		asked     int
		interrupt bool
	}{
		"without it, once":        {0, []string{"fail", "pass"}, "fail", 1, false},
		"all holds":               {time.Hour, []string{"pass", "fail"}, "pass", 1, false},
		"until it holds":          {time.Hour, []string{"fail", "unknown", "warn", "pass", "fail"}, "pass", 4, false},
		"away for a while":        {time.Hour, []string{"fail", "", "pass"}, "pass", 3, false},
		"away from the beginning": {time.Hour, []string{"", "pass"}, "", 1, false},
		"interrupted":             {time.Hour, []string{"fail", "pass"}, "fail", 1, true},
		"not long enough":         {time.Nanosecond, []string{"fail", "pass"}, "fail", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			var said strings.Builder
			o := &verifyOptions{wait: c.wait, app: cli.App{Streams: genericiooptions.IOStreams{Out: io.Discard, ErrOut: &said}}}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.interrupt {
				cancel()
			}
			asked := 0
			got, err := o.until(ctx, time.Millisecond, func() (report.Verification, error) {
				status := c.answers[asked]
				asked++
				if status == "" {
					return report.Verification{}, away
				}
				var s assess.Status
				err := s.UnmarshalText([]byte(status))
				return report.Verification{Claims: []report.VerificationClaim{{Assessment: assess.Assessment{Status: s}}}}, err
			})
			if asked != c.asked || (err != nil) != (c.want == "") || err == nil && got.Claims[0].Status.String() != c.want {
				t.Errorf("asked %d times, got %+v, %v", asked, got.Claims, err)
			}
			if c.asked > 2 && !strings.Contains(said.String(), "asking again in 0s") {
				t.Errorf("said %q", said.String())
			}
		})
	}
}

// TestVerifySaysWhen: what will break is told with the date, and with what makes
// verifiers connect again, over all nodes of a line; the events come first.
func TestVerifySaysWhen(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2024, 6, n, 12, 0, 0, 0, time.UTC) }
	on := func(node string, from, to int) report.VerificationClaim {
		breaks := day(14)
		return report.VerificationClaim{
			Assessment: assess.Assessment{ID: "kubelet-api-int", Status: assess.Warn, Reason: "signed by another next", Impact: "the node"},
			Part:       string(catalog.PartAPIInt), Claim: "kubelets trust it", Node: node,
			From: &breaks, Next: &trust.NextVerification{Verifies: "at its next connection", From: day(from), To: day(to)},
		}
	}
	r := report.Verification{
		Now:      day(1),
		Timeline: []trust.Event{{Part: catalog.PartAPIInt, What: "the signer was replaced", When: day(1).AddDate(0, 0, -1)}, {Part: catalog.PartAPIInt, What: "it is signed anew", When: day(14), Until: day(23), Remediation: assess.Advise("oc certrot fix-api-int")}},
		Claims:   []report.VerificationClaim{on("n1", 20, 26), on("n2", 18, 24)},
	}
	var out strings.Builder
	if err := (humanPrinter{hints: inspect.LiveHints("oc certrot"), details: true}).print(&out, &r); err != nil {
		t.Fatal(err)
	}
	const want = `
api-int
  The signer was replaced 2024-05-31 (24h ago). It is signed anew 2024-06-14 (in 13d), 2024-06-23 at
  the latest.
  next  oc certrot fix-api-int

! kubelets will not trust it  (n1, n2)
    signed by another next
    when  2024-06-14 12:00 UTC at the earliest (in 13d)
          then at its next connection; when its client certificate is renewed, 2024-06-18 to 06-26
          UTC
    impact  the node
`
	if !strings.Contains(out.String(), want) {
		t.Errorf("got %s", out.String())
	}
}
