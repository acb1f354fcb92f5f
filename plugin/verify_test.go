package plugin

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
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
		"without it, once":        {0, []string{"broken", "holds"}, "broken", 1, false},
		"all holds":               {time.Hour, []string{"holds", "broken"}, "holds", 1, false},
		"until it holds":          {time.Hour, []string{"broken", "unknown", "will break", "holds", "broken"}, "holds", 4, false},
		"away for a while":        {time.Hour, []string{"broken", "", "holds"}, "holds", 3, false},
		"away from the beginning": {time.Hour, []string{"", "holds"}, "", 1, false},
		"interrupted":             {time.Hour, []string{"broken", "holds"}, "broken", 1, true},
		"not long enough":         {time.Nanosecond, []string{"broken", "holds"}, "broken", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			var said strings.Builder
			f := &verifyFlags{wait: c.wait, app: App{Streams: genericiooptions.IOStreams{Out: io.Discard, ErrOut: &said}}}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.interrupt {
				cancel()
			}
			asked := 0
			got, err := f.until(ctx, time.Millisecond, func() (trust.Report, error) {
				status := c.answers[asked]
				asked++
				if status == "" {
					return trust.Report{}, away
				}
				return trust.Report{Claims: []trust.ReportClaim{{Status: status}}}, nil
			})
			if asked != c.asked || (err != nil) != (c.want == "") || err == nil && got.Claims[0].Status != c.want {
				t.Errorf("asked %d times, got %+v, %v", asked, got.Claims, err)
			}
			if c.asked > 2 && !strings.Contains(said.String(), "asking again in 1ms") {
				t.Errorf("said %q", said.String())
			}
		})
	}
}
