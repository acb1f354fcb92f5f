package collect

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/check"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestWhatAWebhookWithAnExpiredCARejects is said by its failurePolicy: of the object, and of a snapshot of it. A word
// that Kubernetes does not know says nothing.
func TestWhatAWebhookWithAnExpiredCARejects(t *testing.T) {
	t.Parallel()
	now := time.Now()
	expired := base64.StdEncoding.EncodeToString(pkitest.NewCA("policy", now.Add(-48*time.Hour), now.Add(-24*time.Hour)).CertPEM)
	const fails, ignores, unsaid = "now: writes it matches are rejected (failurePolicy: Fail)", "now: writes it matches are accepted without it (failurePolicy: Ignore)", "now: writes it matches are rejected unless failurePolicy is Ignore"
	for name, c := range map[string]struct {
		policies []string // of its webhooks; empty: it has none
		want     string
	}{
		"it fails":             {[]string{"Fail"}, fails},
		"it is ignored":        {[]string{"Ignore"}, ignores},
		"each is ignored":      {[]string{"Ignore", "Ignore"}, ignores},
		"one of them fails":    {[]string{"Ignore", "Fail"}, fails},
		"none is said":         {[]string{""}, unsaid},
		"one of them is open":  {[]string{"", "Ignore"}, unsaid},
		"a policy of its own":  {[]string{"Ignore\\nnext: rm"}, unsaid},
		"the last one is open": {[]string{"Ignore", ""}, unsaid},
	} {
		var hooks []string
		for _, policy := range c.policies {
			hooks = append(hooks, fmt.Sprintf(`{"clientConfig":{"caBundle":%q},"failurePolicy":"%s"}`, expired, policy))
		}
		m, ok := readObjects(pki.NewScanner(), []byte(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","metadata":{"name":"policy"},"webhooks":[`+strings.Join(hooks, ",")+`]}`))
		if !ok || len(m.Bundles) != len(hooks) {
			t.Fatalf("%s: %+v", name, m.Snapshot)
		}
		for from, s := range map[string]inspect.Snapshot{"object": m.Snapshot, "snapshot": saved(t, m.Snapshot)} {
			said := 0
			for _, f := range check.Judge(context.Background(), inspect.NewFacts(s, now, 0)) {
				if f.Impact == c.want {
					said++
				}
			}
			if said != 1 {
				t.Errorf("%s, from the %s: it is said %d times: %q", name, from, said, c.want)
			}
		}
	}
}
