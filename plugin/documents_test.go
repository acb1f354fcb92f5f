package plugin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report/reporttest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

const demo = "../testdata/demo/okd-4.15-api-int.certrot"

// documents are the command lines that print a document without a cluster.
func documents(t *testing.T) [][]string {
	t.Helper()
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	run := remediate.Header{Run: "20260131-120000-1a2b3c", Command: "fix-api-int", Started: time.Date(2026, 1, 31, 13, 0, 0, 123456789, time.FixedZone("", 3600)), Nodes: []string{"worker-1"}}
	j, err := remediate.Journals{Folder: filepath.Join(state, "certrot", "runs")}.Begin(run, time.Now)
	if err := errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	odd := oddTimes(t)
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	t.Setenv("KUBECONFIG", filepath.Join(state, "none"))
	return [][]string{
		{"inspect", server.Listener.Addr().String()},
		{"inspect", "--all", "--from", odd},
		{"verify", "--from", odd},
		{"verify", "restart-safe", "--from", odd},
		{"rotate", "--list", "--from", odd},
		{"rotate", "status", "loadbalancer-serving-signer", "--from", odd},
		{"inspect", "--from", demo},
		{"inspect", "--all", "--from", demo},
		{"verify", "--from", demo},
		{"verify", "restart-safe", "--from", demo},
		{"rotate", "--list", "--from", demo},
		{"rotate", "loadbalancer-serving-signer", "--from", demo, "--dry-run=client"},
		{"rotate", "aggregator-client-signer", "--from", demo, "--dry-run=client", "--accept-risk=nodes-ready"},
		{"rotate", "status", "loadbalancer-serving-signer", "--from", demo},
		{"rotate", "loadbalancer-serving-signer", "--explain", "--for-version", "4.15"},
		{"fix-api-int", "--nodes", "worker-2", "--from", demo, "--dry-run=client"},
		{"fix-api-int", "status", "--from", demo},
		{"pretrust", "--from", demo, "--dry-run=client"},
		{"runs"},
		{"version"},
	}
}

// eachText calls see for each text in each document, with where it is.
func eachText(t *testing.T, see func(t *testing.T, at, text string)) {
	t.Helper()
	printed := 0
	for _, args := range documents(t) {
		for _, format := range []string{"json", "yaml"} {
			t.Run(strings.Join(args, " ")+" -o "+format, func(t *testing.T) {
				_, out, errOut := certrot(append(args, "-o", format)...)
				if out == "" && errOut != "" { // refused: then there is no document
					return
				}
				for part := range strings.SplitSeq(out, "\n---\n") {
					var doc any
					if err := yaml.Unmarshal([]byte(part), &doc); err != nil {
						t.Fatal(err)
					}
					printed++
					walkTexts("", doc, func(at, text string) { see(t, at, text) })
				}
			})
		}
	}
	if printed < 16 {
		t.Errorf("only %d documents were printed", printed)
	}
}

func walkTexts(at string, v any, see func(at, text string)) {
	switch v := v.(type) {
	case string:
		see(at, v)
	case []any:
		for i := range v {
			walkTexts(fmt.Sprintf("%s[%d]", at, i), v[i], see)
		}
	case map[string]any:
		for k := range v {
			see(at, k)
			walkTexts(at+"."+k, v[k], see)
		}
	}
}

// TestDocumentsAreAsTheirSchemasSay: docs/schema is what scripts are written by.
func TestDocumentsAreAsTheirSchemasSay(t *testing.T) {
	kinds := map[any]bool{}
	for _, args := range documents(t) {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			_, out, _ := certrot(append(args, "-o", "yaml")...)
			for part := range strings.SplitSeq(out, "\n---\n") {
				var doc map[string]any
				if err := yaml.Unmarshal([]byte(part), &doc); err != nil {
					t.Fatal(err)
				}
				if doc != nil { // refused: then there is no document
					kinds[doc["kind"]] = true
					reporttest.Validate(t, doc)
				}
			}
		})
	}
	schemas, err := filepath.Glob("../docs/schema/*.json")
	if err != nil || len(schemas) != len(kinds) {
		t.Errorf("%d kinds were printed, and %d have schemas (%v)", len(kinds), len(schemas), err)
	}
}

// TestDocumentsNameTheProgram: "{} fix-api-int" in JSON runs nowhere.
func TestDocumentsNameTheProgram(t *testing.T) {
	eachText(t, func(t *testing.T, at, text string) {
		if strings.Contains(text, "{}") {
			t.Errorf("%s holds a placeholder: %q", at, text)
		}
	})
}

// TestTimesInDocumentsAreWholeSeconds: jq's fromdate reads no fractions and no zones.
func TestTimesInDocumentsAreWholeSeconds(t *testing.T) {
	times := 0
	eachText(t, func(t *testing.T, at, text string) {
		when, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return
		}
		times++
		if want := when.UTC().Truncate(time.Second).Format("2006-01-02T15:04:05Z"); text != want {
			t.Errorf("%s is %s, want %s", at, text, want)
		}
	})
	if times < 100 {
		t.Errorf("only %d times were seen", times)
	}
}

// TestCompletionOffersCommandsThatExist: what <TAB> offers prints its help.
func TestCompletionOffersCommandsThatExist(t *testing.T) {
	t.Parallel()
	_, out, _ := certrot("__complete", "")
	words := 0
	for line := range strings.Lines(out) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if word == "" || strings.HasPrefix(word, ":") {
			continue
		}
		words++
		code, help, errOut := certrot("help", word)
		if code != 0 || !strings.Contains(help, "certrot "+word) || strings.HasPrefix(word, "no-") {
			t.Errorf("%q is offered, and is no command: %d %s", word, code, errOut)
		}
	}
	if words < 10 {
		t.Errorf("%d commands: %s", words, out)
	}
	if code, _, errOut := certrot("help", "nonsense"); code != 2 || !strings.Contains(errOut, "--help") {
		t.Errorf("help nonsense: %d %s", code, errOut)
	}
	if _, out, _ := certrot("__complete", "help", "rotate", ""); !strings.HasPrefix(out, "prune\nstatus\n") {
		t.Errorf("help rotate <TAB> offers %q", out)
	}
}

// TestVerifyCountsWhatItPrints: the summary and --details end with the same numbers, which are those of
// the claims in JSON: a check by its worst claim, and the places in which it is so.
func TestVerifyCountsWhatItPrints(t *testing.T) {
	t.Parallel()
	for _, from := range []string{demo, oddVerified(t)} {
		for _, part := range []string{"", "api-int", "control-plane", "nodes", "services", "access", "bundles"} {
			args := []string{"verify", "--from", from}
			if part != "" {
				args = append(args, part)
			}
			_, out, _ := certrot(append(args, "-o", "json")...)
			var report struct{ Claims []struct{ ID, Status string } }
			if err := json.Unmarshal([]byte(out), &report); err != nil {
				t.Fatal(err)
			}
			statuses := []string{"fail", "warn", "unknown", "pass"} // the worst first
			worst, places := map[string]int{}, make([]int, len(statuses))
			for _, c := range report.Claims {
				rank := slices.Index(statuses, c.Status)
				if before, ok := worst[c.ID]; !ok || rank < before {
					worst[c.ID] = rank
				}
				places[rank]++
			}
			if len(worst) == 0 {
				continue
			}
			checks := make([]int, len(statuses))
			for _, rank := range worst {
				checks[rank]++
			}
			var parts []string
			for rank, word := range []string{"fail", "will fail", "unknown", "pass"} {
				if checks[rank] == 0 {
					continue
				}
				of, in := "", ""
				if len(parts) == 0 {
					of = " of " + ui.Count(len(worst), "check")
				}
				if rank < 2 {
					in = " (in " + ui.Count(places[rank], "place") + ")"
				}
				parts = append(parts, fmt.Sprintf("%d%s %s%s", checks[rank], of, word, in))
			}
			want := strings.Join(parts, ", ")
			for _, form := range [][]string{nil, {"--details"}, {"-o", "wide"}} {
				t.Run(filepath.Base(from)+" "+part+strings.Join(form, ""), func(t *testing.T) {
					_, out, _ := certrot(append(args, form...)...)
					if !strings.Contains(out, "\n"+want+"\n") {
						t.Errorf("%q is not in\n%s", want, out)
					}
				})
			}
		}
	}
}

// oddTimes is the demo's cluster with fractions in its times, as clocks, kubelets and shares
// of a validity have them.
func oddTimes(t *testing.T) string {
	t.Helper()
	return edited(t, func(s *inspect.Snapshot) {
		const odd = 123456789 * time.Nanosecond
		s.Taken = s.Taken.Add(odd).In(time.FixedZone("", 3600))
		s.Cluster.Created = s.Taken.AddDate(-1, 0, 0)
		for i := range s.Nodes {
			s.Nodes[i].Kubelet.Started = s.Taken.Add(-time.Hour)
		}
		ca := pkitest.NewCA("odd", s.Taken.AddDate(0, -1, 0).Truncate(time.Second), s.Taken.AddDate(0, 1, 0).Truncate(time.Second).Add(time.Second))
		content := pki.NewScanner().Scan(ca.CertPEM)[0].Content
		object := &inspect.Object{Kind: "Secret", Namespace: "odd", Name: "odd", Annotations: map[string]string{catalog.AnnotationNotAfter: "2026-01-31T12:00:00Z"}}
		s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Kind: "Secret", Namespace: "odd", Name: "odd", Key: "tls.crt"}, Object: object, Content: content})
	})
}

// oddVerified is the demo's cluster with one bundle that is not read, so that a claim
// holds in some places and is unknown in one.
func oddVerified(t *testing.T) string {
	t.Helper()
	return edited(t, func(s *inspect.Snapshot) {
		there := len(s.Bundles)
		s.Bundles = slices.DeleteFunc(s.Bundles, func(b inspect.Bundle) bool { return strings.HasPrefix(b.At.String(), oddBundle) })
		s.Reads = slices.DeleteFunc(s.Reads, func(r inspect.Read) bool { return r.What == "configmaps" })
		if len(s.Bundles) == there {
			t.Fatal("there is no " + oddBundle)
		}
	})
}

// edited is a file with the demo's facts, changed.
func edited(t *testing.T, change func(*inspect.Snapshot)) string {
	t.Helper()
	s, err := collect.File{Path: demo, Scanner: pki.NewScanner()}.Read()
	if err != nil {
		t.Fatal(err)
	}
	change(&s)
	file := filepath.Join(t.TempDir(), "odd.certrot")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(collect.WriteSnapshot(out, s), out.Close()); err != nil {
		t.Fatal(err)
	}
	return file
}

const oddBundle = "ConfigMap/openshift-kube-apiserver/aggregator-client-ca"

// TestRenewalIsNoneOrUnknown: that nothing renews a certificate is another fact than that
// it is unknown.
func TestRenewalIsNoneOrUnknown(t *testing.T) {
	t.Parallel()
	_, out, _ := certrot("inspect", "--all", "--from", demo, "-o", "json")
	var inv struct {
		Certificates []struct {
			Subject string
			Renewal struct {
				By    string
				Known bool
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &inv); err != nil {
		t.Fatal(err)
	}
	renewal := map[string]string{}
	for _, c := range inv.Certificates {
		switch {
		case c.Renewal.Known && c.Renewal.By != "":
			renewal[c.Subject] = "automatic"
		case c.Renewal.Known:
			renewal[c.Subject] = "manual"
		case c.Renewal.By == "":
			renewal[c.Subject] = "unknown"
		default:
			t.Errorf("%s: renewal is not known, and by %q", c.Subject, c.Renewal.By)
		}
	}
	_, table, _ := certrot("inspect", "--all", "--from", demo)
	for subject, want := range map[string]string{
		"CN=shop.example.com": "unknown", "CN=ingress-operator@1690000000": "manual", "CN=system:kube-apiserver": "automatic",
	} {
		if renewal[subject] != want {
			t.Errorf("%s: renewal is %q, want %q", subject, renewal[subject], want)
		}
		row := regexp.MustCompile(`(?m)^in \S+ +(.*?)  +` + strings.TrimPrefix(subject, "CN=") + " ").FindStringSubmatch(table)
		if row == nil || row[1] == "-" || want != "automatic" && row[1] != want {
			t.Errorf("%s: the table says %q, want %s", subject, row, want)
		}
	}
}
