package plugin_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// hostileRuns are journals with hostile text wherever a journal has text.
func hostileRuns(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	js, err := apply.Journals()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []remediate.Header{
		{Run: "20260101-000000-aaaaaa", Command: "fix-api-int " + hostile},
		{Run: "20260101-000000-bbbbbb", Command: "undo", Undoes: hostile},
		{Run: "20260101-000000-cccccc", Command: "rotate " + hostile},
		{Run: "20260101-000000-dddddd", Command: hostile, Undoes: "20260101-000000-aaaaaa"},
	} {
		h.Server, h.Lapsed, h.Certrot, h.Nodes, h.Started = "https://"+hostile, hostile, hostile, []string{"worker-0", hostile}, time.Now()
		j, err := js.Begin(h, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(
			j.Add(remediate.Record{Event: remediate.Begun, Node: "worker-0", Path: "/etc/" + hostile, Action: "replace " + hostile}),
			j.Add(remediate.Record{Event: remediate.Done, Node: hostile, Path: "/etc/" + hostile, Action: "replace " + hostile}),
			j.Add(remediate.Record{Event: remediate.Failed, Action: "patch a/" + hostile, Error: hostile}),
			j.Close())
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPrintersObeyNoTerminal has a hostile name in what is typed, in journals, in names of files, and in
// facts, and runs each printer: texts, tables, names, documents, next steps, errors.
// TestForeignTextForgesNoLines plants facts one by one.
func TestPrintersObeyNoTerminal(t *testing.T) {
	hostileRuns(t)
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	facts := edited(t, func(s *inspect.Snapshot) {
		enrich(s)
		planted := 0
		for _, together := range batches(textFields(reflect.TypeFor[inspect.Snapshot](), map[reflect.Type]bool{})) {
			if len(together) > 1 { // by the others, things are known
				for _, field := range together {
					plant(reflect.ValueOf(s).Elem(), field, &planted)
				}
			}
		}
		if planted < 100 {
			t.Fatalf("planted in %d places", planted)
		}
	})
	dir := t.TempDir()
	copied, err := os.ReadFile(demo)
	broken, good := filepath.Join(dir, hostile), filepath.Join(dir, "y"+hostile)
	if err = errors.Join(err, os.WriteFile(broken, []byte("a: [\n}"), 0o600), os.WriteFile(good, copied, 0o600)); err != nil {
		t.Fatal(err)
	}
	for source, c := range map[string]struct {
		lines   [][]string
		oneLine bool // what is hostile stands on one line: also of an error, no later line is of it
	}{
		"typed": {[][]string{
			{hostile}, {"help", hostile}, {"inspect", "--" + hostile}, {"inspect", "-n", hostile, "--from", demo}, {"inspect", "--nodes", hostile, "--from", demo}, {"inspect", "secret/" + hostile, "--from", demo},
			{"inspect", "-o", hostile, "--from", demo}, {"inspect", "-o", "custom-columns=A:." + hostile, "--from", demo}, {"inspect", "-o", "go-template={{" + hostile, "--from", demo}, {"inspect", "--server", hostile}, {"inspect", "--context", hostile},
			{"explain", hostile}, {"explain", "secret/" + hostile}, {"explain", "secret/a/" + hostile}, {"explain", "secret/openshift-a/b[" + hostile + "]"}, {"explain", "--sources", "configmap/" + hostile + "/kube-root-ca.crt"}, {"explain", "/etc/" + hostile},
			{"verify", hostile, "--from", demo}, {"verify", "restart-safe", "--nodes", hostile, "--from", demo}, {"rotate", hostile, "--dry-run=client", "--from", demo}, {"rotate", hostile, "--explain"}, {"rotate", "status", hostile, "--from", demo},
			{"rotate", "prune", hostile, "--dry-run=client", "--from", demo}, {"rotate", "--list", "--for-version", hostile}, {"fix-api-int", "--dry-run=client", "--nodes", hostile, "--from", demo}, {"fix-api-int", "--dry-run=client", "--accept-risk=" + hostile, "--from", demo},
			{"fix-api-int", "--dry-run=client", "--ca-file", hostile}, {"fix-api-int", "--via", hostile}, {"fix-api-int", "--via", "command", "--node-command", hostile + " {node}"}, {"fix-api-int", "--via", "ssh", "--ssh-inventory", hostile},
			{"undo", hostile}, {"runs", "prune", hostile}, {"runs", "-o", hostile}, {"snapshot", "-o", filepath.Join(hostile, "a")}, {"fix-kubeconfig", "--context", hostile}, {"completion", hostile}, {"version", "-o", hostile},
		}, false},
		"journals": {[][]string{
			{"runs"}, {"runs", "--no-headers"}, {"runs", "-o", "json"}, {"runs", "-o", "yaml"}, {"runs", "-o", "name"}, {"runs", "-o", "jsonpath={.runs}"}, {"runs", "-o", "go-template={{.}}"}, {"runs", "-o", "custom-columns=A:.command,B:.nodes"},
			{"undo", "20260101-000000-aaaaaa", "--dry-run=client"}, {"undo", "20260101-000000-bbbbbb", "--dry-run=client"}, {"undo", "20260101-000000-cccccc", "--dry-run=client"}, {"undo", "20260101-000000-dddddd", "--dry-run=client"},
		}, true},
		"files": {[][]string{{"inspect", "--from", hostile}, {"verify", "--from", hostile, "--from", demo}, {"rotate", "--list", "--from", hostile},
			{"inspect", "--from", broken}, {"inspect", "--from", good}, {"inspect", "--details", "--from", good}, {"verify", "--from", good}, {"fix-api-int", "--dry-run=client", "--from", good}, {"rotate", "aggregator-client-signer", "--dry-run=client", "--from", good}}, true},
		"facts": {[][]string{
			{"inspect"}, {"inspect", "-o", "text"}, {"inspect", "-o", "wide"}, {"inspect", "-o", "name"}, {"inspect", "-o", "json"}, {"inspect", "-o", "yaml"}, {"inspect", "csr", "-o", "wide"}, {"inspect", "--summary", "--details"},
			{"verify", "-o", "json"}, {"verify", "-o", "yaml"}, {"verify", "restart-safe", "-o", "json"}, {"verify", "restart-safe", "-o", "yaml"},
			{"rotate", "--list", "-o", "json"}, {"rotate", "--list", "-o", "yaml"}, {"rotate", "status", "loadbalancer-serving-signer", "-o", "json"}, {"rotate", "status", "loadbalancer-serving-signer", "-o", "yaml"},
			{"rotate", "loadbalancer-serving-signer", "--explain"}, {"rotate", "loadbalancer-serving-signer", "--explain", "-o", "mermaid"}, {"rotate", "loadbalancer-serving-signer", "--explain", "-o", "json"},
			{"rotate", "aggregator-client-signer", "--dry-run=client", "-o", "json"}, {"fix-api-int", "--dry-run=client", "-o", "json"}, {"fix-api-int", "--dry-run=client", "-o", "yaml"}, {"fix-api-int", "--dry-run=client", "-o", "diff"},
			{"fix-api-int", "status", "-o", "json"}, {"pretrust", "--dry-run=client", "--details"}, {"pretrust", "--dry-run=client", "-o", "yaml"}, {"undo", "20260101-000000-aaaaaa", "--dry-run=client"},
		}, true},
	} {
		for _, line := range c.lines {
			if source == "facts" && line[0] != "undo" {
				line = append(line, "--from", facts)
			}
			_, out, errOut := certrot(line...)
			what := fmt.Sprintf("%.40q", line)
			for stream, said := range map[string]string{"stdout": out, "stderr": errOut} {
				what := what + ", " + stream
				harmless(t, what, said)
				if c.oneLine && strings.Contains(said, "| next: curl") {
					t.Errorf("%s: what is hostile has lines of its own: %q", what, said)
				}
			}
			if out == "" && errOut == "" {
				t.Errorf("%q prints nothing", line)
			}
		}
	}
}
