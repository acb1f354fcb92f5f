package action

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// lacks are the pieces of the ConfigMap's text that machine-config-daemon, from 4.16 on,
// does not find in a kubeconfig's CA: one is enough, and it rewrites the file and
// restarts the kubelet. It compares text, not certificates: both texts without the white
// space around them, cut behind each end of a certificate; each piece of the one must be
// a piece of the other, with all that stands before its certificate
// (openshift/machine-config-operator pkg/daemon/certificate_writer.go).
func lacks(configMap, file []byte) (missing []string) {
	pieces := func(text []byte) []string {
		var out []string
		rest := strings.TrimSpace(string(text))
		for {
			i := strings.Index(rest, "-----END CERTIFICATE-----")
			if i < 0 {
				return append(out, rest) // what is left counts too, also where it is nothing
			}
			i += len("-----END CERTIFICATE-----")
			out, rest = append(out, rest[:i]), rest[i:]
		}
	}
	there := pieces(file)
	for _, p := range pieces(configMap) {
		if !slices.Contains(there, p) {
			missing = append(missing, p)
		}
	}
	return missing
}

// TestWhatIsWrittenIsLeftAlone: machine-config-daemon finds in what is written all that
// it looks for, however the ConfigMap's text is laid out and whatever was trusted before.
func TestWhatIsWrittenIsLeftAlone(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	var cas [][]byte
	for i := range 8 {
		to := now.Add(time.Hour)
		if i == 7 {
			to = now.Add(-time.Hour) // has expired
		}
		cas = append(cas, pkitest.NewCA(fmt.Sprintf("ca-%d", i), now.Add(-48*time.Hour), to).CertPEM)
	}
	sc := pki.NewScanner()
	told, reordered := 0, 0
	for seed := range int64(5000) {
		r := rand.New(rand.NewSource(seed))
		pick := func(options ...string) string { return options[r.Intn(len(options))] }
		text := func(n int) []byte {
			var b strings.Builder
			b.WriteString(pick("", "", "\n", "# from here on\n", "\ufeff"))
			for i, at := range r.Perm(len(cas))[:n] {
				if i > 0 {
					b.WriteString(pick("", "", "", "\n", "\r\n", "# the next one\n", "subject=CN = x\n\n"))
				}
				b.Write(cas[at])
			}
			return []byte(strings.TrimSuffix(b.String(), "\n") + pick("\n", "\n", "", "\n\n", "\r\n", "\n# the end\n", " \t\n"))
		}
		configMap, before := text(1+r.Intn(len(cas))), text(1+r.Intn(len(cas)))
		if r.Intn(4) == 0 {
			configMap = bytes.ReplaceAll(configMap, []byte("\n"), []byte("\r\n"))
		}
		want, old := pki.LoadedPEM(sc, configMap), pki.LoadedPEM(sc, before)
		value := Union(configMap, want, old, now)
		if missing := lacks(configMap, value); len(missing) > 0 {
			t.Fatalf("seed %d: it would write the file again, for want of %q, in\n%q\nConfigMap:\n%q", seed, missing, value, configMap)
		}
		after := pki.LoadedPEM(sc, value)
		for _, c := range slices.Concat(want, old) {
			if !pki.Contains(after, c) && c.NotAfter.After(now) {
				t.Fatalf("seed %d: %s is lost", seed, c.Subject)
			}
		}
		// The comparison can fail: it does for most files that hold the same certificates.
		if len(lacks(configMap, before)) > 0 {
			told++
		}
		if back := Union(before, old, want, now); len(want) > 1 && len(lacks(configMap, back)) > 0 {
			reordered++
		}
	}
	if told < 4000 || reordered < 1000 {
		t.Errorf("of 5000 files from before, %d lack something; of unions the other way round, %d", told, reordered)
	}
}
