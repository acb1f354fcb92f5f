package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin"
)

// certrot runs the program without a cluster.
func certrot(args ...string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	code = plugin.MainAt(context.Background(), demoTime, "test", append([]string{"kubectl-certrot"}, args...), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut})
	return code, out.String(), errOut.String()
}

// TestRotateDrawn: the diagram has an arrow for each step that is told, dotted where it was
// not seen in the lab.
func TestRotateDrawn(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"4.12", "4.15", "4.22"} {
		for _, name := range []string{"kube-apiserver-to-kubelet-signer", "loadbalancer-serving-signer", "csr-signer-signer"} {
			args := []string{"rotate", name, "--explain", "--for-version", version}
			code, diagram, errOut := certrot(append(args, "-o", "mermaid")...)
			codeJSON, out, _ := certrot(append(args, "-o", "json")...)
			var flow struct {
				Steps []struct {
					Source, Test string
					TestedInLab  bool
				}
			}
			if err := json.Unmarshal([]byte(out), &flow); err != nil || code != 0 || codeJSON != 0 {
				t.Fatalf("%s %s ended with %d, %d: %v %s", version, name, code, codeJSON, err, errOut)
			}
			seen := 0
			for _, s := range flow.Steps {
				if s.Source == "" || s.TestedInLab != (s.Test != "") {
					t.Errorf("%s %s: a step without a source, or with one mark of two: %+v", version, name, s)
				}
				if s.TestedInLab {
					seen++
				}
			}
			dotted := strings.Count(diagram, "-->>")
			if solid := strings.Count(diagram, "->>") - dotted; !strings.HasPrefix(diagram, "sequenceDiagram\n") || solid != seen || dotted != len(flow.Steps)-seen {
				t.Errorf("%s %s: %d solid and %d dotted arrows for %d steps, %d of them seen:\n%s", version, name, solid, dotted, len(flow.Steps), seen, diagram)
			}
		}
	}
}

// TestRotateFromAFile: what a snapshot tells is told, and nothing is done.
func TestRotateFromAFile(t *testing.T) {
	t.Parallel()
	const demo = "../testdata/demo/okd-4.15-api-int.certrot"
	for _, c := range []struct {
		title string
		args  []string
		code  int
		says  string
	}{
		{"the list", []string{"--list", "--from", demo}, 0, "loadbalancer-serving-signer"},
		{"the list for a program", []string{"--list", "--from", demo, "-o", "json"}, 0, `"kind": "Rotations"`},
		{"a file can't be rotated", []string{"loadbalancer-serving-signer", "--from", demo, "--dry-run=none"}, 2, "--from changes nothing"},
		{"the incident is not begun once more", []string{"loadbalancer-serving-signer", "--from", demo, "--dry-run=client"}, 5, "reaches-verifiers"},
		{"what signs nothing has no leaves", []string{"internal-loadbalancer-serving-certkey", "--leaf", "--from", demo, "--dry-run=client"}, 5,
			"next: kubectl certrot rotate internal-loadbalancer-serving-certkey --dry-run=client --from "},
		{"two of one chain", []string{"loadbalancer-serving-signer", "internal-loadbalancer-serving-certkey", "--from", demo, "--dry-run=client"}, 5, "are of one chain"},
		{"two of what one signs", []string{"internal-loadbalancer-serving-certkey", "external-loadbalancer-serving-certkey", "--from", demo, "--dry-run=client"}, 5,
			"next: one after the other: kubectl certrot rotate internal-loadbalancer-serving-certkey --dry-run=client --from " + demo + "; then kubectl certrot rotate external-loadbalancer-serving-certkey --dry-run=client --from "},
		{"one twice", []string{"aggregator-client-signer", "aggregator-client-signer", "--from", demo, "--dry-run=client"}, 5, "aggregator-client-signer is named twice"},
		{"one of two names means nothing", []string{"aggregator-client-signer", "nobody", "--from", demo, "--dry-run=client"}, 2, `"nobody": no signer of the catalog`},
		{"leaves that nobody waits for", []string{"loadbalancer-serving-signer", "--leaf", "--wait=0"}, 2, "give --wait a time"},
		{"two that nobody waits for", []string{"loadbalancer-serving-signer", "aggregator-client-signer", "--wait=0"}, 2, "give --wait a time"},
		{"leaves of a list", []string{"--list", "--leaf"}, 2, "--leaf goes with NAME"},
		{"the incident is not begun with its leaves", []string{"loadbalancer-serving-signer", "--leaf", "--from", demo, "--dry-run=client", "--accept-risk=nodes-ready"}, 5, "reaches-verifiers"},
		{"where it will end is said before", []string{"loadbalancer-serving-signer", "--leaf", "--from", demo, "--dry-run=client", "--accept-risk=reaches-verifiers,nodes-ready"}, 1,
			"? stops with exit code 3 unless read by then: outside-verifiers (external-loadbalancer-serving-certkey)"},
		{"where it will end is said in full", []string{"loadbalancer-serving-signer", "--leaf", "--from", demo, "--dry-run=client", "--accept-risk=reaches-verifiers,nodes-ready", "--details"}, 1,
			"Stops with exit code 3 before external-loadbalancer-serving-certkey, unless this is read by then"},
		{"what is accepted for a leaf is said before", []string{"loadbalancer-serving-signer", "--leaf", "--from", demo, "--dry-run=client", "--accept-risk=reaches-verifiers,outside-verifiers,nodes-ready"}, 1,
			"! accepted: reaches-verifiers (loadbalancer-serving-signer), nodes-ready, outside-verifiers (external-loadbalancer-serving-certkey)"},
		{"what is accepted for a leaf is said in full", []string{"loadbalancer-serving-signer", "--leaf", "--from", demo, "--dry-run=client", "--accept-risk=reaches-verifiers,outside-verifiers,nodes-ready", "--details"}, 1,
			"Accepted by name, of external-loadbalancer-serving-certkey: outside-verifiers"},
		{"the next command of one that was called by its common name", []string{"openshift-kube-apiserver-operator_aggregator-client-signer@1706752800", "--from", demo, "--dry-run=client", "--accept-risk=nodes-ready"}, 1, "next      kubectl certrot rotate --accept-risk nodes-ready aggregator-client-signer --dry-run=server\n"},
		{"no name", nil, 2, "next: list the names: kubectl certrot rotate --list\n"},
		{"a name that means nothing", []string{"nobody", "--from", demo, "--dry-run=client"}, 2, `"nobody": no signer of the catalog`},
		{"a risk that there is none of", []string{"--list", "--accept-risk=all"}, 2, "invalid --accept-risk value \"all\": must be one of annotations-agree"},
		{"a form that there is none of", []string{"--list", "-o", "xml"}, 2, "invalid --output value \"xml\": must be one of wide, json, yaml, name"},
		{"a dry run that there is none of", []string{"x", "--dry-run=maybe"}, 2, "invalid --dry-run value \"maybe\": must be one of none, client, server"},
		{"a list of a name", []string{"x", "--list"}, 2, "give no NAME"},
		{"a version of nothing", []string{"x", "--for-version", "4.12"}, 2, "--for-version goes with --explain"},
		{"a version that is none", []string{"loadbalancer-serving-signer", "--explain", "--for-version", "new"}, 2, "--for-version 4.15"},
		{"what is signed has no flow of its own", []string{"kubelet-client", "--explain", "--for-version", "4.12"}, 2, "rotate kube-apiserver-to-kubelet-signer --explain"},
		{"a signer that is made on demand", []string{"machine-config-server-ca", "--explain", "--for-version", "4.16"}, 0, "regenerate-machine-config-server-serving-cert"},
		{"a signer that signs nothing any more", []string{"openshift-config/etcd-signer", "--explain", "--for-version", "4.17"}, 0, "signs nothing any more"},
		{"what others rotate", []string{"router-ca", "--explain", "--for-version", "4.12"}, 0, "No operator renews it"},
		{"how far it is, from a file", []string{"status", "loadbalancer-serving-signer", "--from", demo}, 1, "✓ bundle"},
		{"nothing to wait for", []string{"status", "loadbalancer-serving-signer", "--from", demo, "--wait", "1m"}, 2, "not with --from"},
	} {
		t.Run(c.title, func(t *testing.T) {
			t.Parallel()
			code, out, errOut := certrot(append([]string{"rotate"}, c.args...)...)
			if text := out + errOut; code != c.code || !strings.Contains(text, c.says) && !strings.Contains(strings.Join(strings.Fields(text), " "), c.says) { // prose is wrapped
				t.Errorf("ended with %d, want %d and %q:\n%s%s", code, c.code, c.says, out, errOut)
			}
		})
	}
}

// TestRotateOfNobodyKnowsWhichVersion: whether certrot rotates something then is unknown.
func TestRotateOfNobodyKnowsWhichVersion(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "empty.json")
	if err := os.WriteFile(file, []byte(`{"apiVersion":"v1","kind":"List","items":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out, errOut := certrot("rotate", "--list", "--from", file, "-o", "json")
	var list struct {
		Rotations []struct {
			Name, Rotates string
			Checks        []struct{ ID, Status string }
		}
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("%v: %s", err, errOut)
	}
	unknown := 0
	for _, r := range list.Rotations {
		if r.Rotates == "unknown" && len(r.Checks) == 1 && r.Checks[0].ID == "managed" && r.Checks[0].Status == "unknown" {
			unknown++
		}
		if r.Name == "aggregator-client-signer" && r.Rotates != "unknown" {
			t.Errorf("%+v", r)
		}
	}
	if unknown == 0 {
		t.Errorf("none is unknown: %s", out)
	}
}

// TestRotatesLeavesAreJudged: a program is told of each leaf what was asked, what of that
// was accepted, and for what it is waited.
func TestRotatesLeavesAreJudged(t *testing.T) {
	t.Parallel()
	code, out, errOut := certrot("rotate", "loadbalancer-serving-signer", "--leaf", "--from", "../testdata/demo/okd-4.15-api-int.certrot", "--dry-run=client", "--accept-risk=reaches-verifiers,outside-verifiers,nodes-ready", "-o", "json")
	type judged struct {
		Secret            string
		Checks            []struct{ ID, Status string }
		Accepted, Awaited []string
	}
	var plan struct {
		judged
		Leaves []judged
	}
	if err := json.Unmarshal([]byte(out), &plan); err != nil || code != 1 || len(plan.Leaves) != 2 {
		t.Fatalf("ended with %d, %d leaves: %v %s", code, len(plan.Leaves), err, errOut)
	}
	for _, c := range []struct {
		judged
		accepted, awaited string
	}{{plan.judged, "reaches-verifiers nodes-ready", ""}, {plan.Leaves[0], "nodes-ready", "signer-trusted pods-memory"}, {plan.Leaves[1], "outside-verifiers nodes-ready", ""}} {
		accepted, awaited := strings.Join(c.Accepted, " "), strings.Join(c.Awaited, " ")
		if len(c.Checks) == 0 || accepted != c.accepted || awaited != c.awaited {
			t.Errorf("%s: %d checks, accepted %q, want %q; awaited %q, want %q", c.Secret, len(c.Checks), accepted, c.accepted, awaited, c.awaited)
		}
	}
}
