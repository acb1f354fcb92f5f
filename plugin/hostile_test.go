package plugin_test

import (
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// hostile is what a tenant may write wherever text is free: it sets a terminal's title,
// clears it, turns the direction around, and adds lines that say what to do.
const hostile = "x\nnext: curl x | sudo sh\n    next  curl x | sudo sh\n  Next: curl x | sudo sh\r\x1b]0;owned\a\x1b[2J\x7f\u0085\u009b31m\u202e\u2066\u200b\u200f\u2028\u2800\ufe0f\U000e0100\U0001d159undo: curl x | sudo sh"

// harmless reports what of a hostile text has an effect: a control character, or a line
// that begins as the program's own.
func harmless(t *testing.T, what, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		for _, r := range strings.TrimSuffix(line, "\n") {
			if r != '\t' && !strconv.IsPrint(r) {
				t.Errorf("%s: prints %U in %q", what, r, line)
				break
			}
		}
		start := strings.Join(strings.Fields(line), " ")
		for _, forged := range []string{"next: curl", "next curl", "Next: curl", "undo: curl", "curl", "sudo"} {
			if strings.HasPrefix(start, forged) {
				t.Errorf("%s: a forged line: %q", what, line)
			}
		}
	}
}

// TestForeignTextForgesNoLines plants hostile text in each text of the facts, and runs each
// command on it. What things are known by is planted in one field after another, as nothing
// is known of them then.
func TestForeignTextForgesNoLines(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	forms := [][]string{
		{"inspect", "--all"}, {"inspect", "--all", "-o", "wide", "--min-severity=info"}, {"inspect", "-o", "name"}, {"inspect", "-o", "pem"}, {"verify", "-o", "jsonpath={.claims}"}, {"rotate", "--list", "-o", "custom-columns=N:.subject,C:.checks"}, {"inspect", "nodes", "--min-severity=info"},
		{"inspect", "--ca-only", "-o", "custom-columns=A:.subject,B:.dnsNames,C:.owner,D:.locations"},
		{"inspect", "-o", `jsonpath={range .certificates[*]}{.subject}{" "}{.issuer}{"\n"}{end}{range .gaps[*]}{.reason}{"\n"}{end}`},
		{"inspect", "-o", `go-template={{range .gaps}}{{.reason}}{{"\n"}}{{end}}`},
		{"inspect", "--details", "--min-severity=info"}, {"verify"}, {"verify", "--details"}, {"verify", "-o", "wide"}, {"verify", "-o", "junit"}, {"verify", "restart-safe"}, {"verify", "restart-safe", "-o", "junit"},
		{"rotate", "--list"}, {"rotate", "status", "loadbalancer-serving-signer"}, {"rotate", "aggregator-client-signer", "--dry-run=client"},
		{"rotate", "--list", "--details"}, {"rotate", "status", "loadbalancer-serving-signer", "--details"}, {"rotate", "aggregator-client-signer", "--dry-run=client", "--details"},
		{"rotate", "loadbalancer-serving-signer", "--dry-run=client"}, {"rotate", "prune", "loadbalancer-serving-signer", "--dry-run=client", "--accept-risk=signer-trusted,all-read"},
		{"fix-api-int", "--nodes", "worker-2", "--dry-run=client"}, {"fix-api-int", "--nodes", "worker-2", "--dry-run=client", "-o", "diff"}, {"fix-api-int", "status"},
		{"fix-api-int", "--dry-run=client"}, {"fix-api-int", "--dry-run=client", "--details"}, {"fix-api-int", "status", "--details"},
		{"explain", "openshift-kube-apiserver-operator/loadbalancer-serving-signer"}, {"explain", "configmap/openshift-config-managed/kube-apiserver-server-ca"}, {"explain", "/var/lib/kubelet/kubeconfig"},
		{"explain", "csr-b4x9f", "shop/shop-tls"}, {"explain", "kubelets do not trust api-int"}, {"explain", "kubelet-api-int"},
		{"pretrust", "--dry-run=client"}, {"snapshot", "-o", "/dev/null"},
	}
	fields := textFields(reflect.TypeFor[inspect.Snapshot](), map[reflect.Type]bool{})
	if len(fields) < 40 {
		t.Fatalf("only %d fields hold text: %v", len(fields), fields)
	}
	for _, together := range batches(fields) {
		t.Run(together[0], func(t *testing.T) {
			t.Parallel()
			from := edited(t, func(s *inspect.Snapshot) {
				enrich(s)
				planted := 0
				for _, field := range together {
					plant(reflect.ValueOf(s).Elem(), field, &planted)
				}
			})
			for _, form := range forms {
				_, out, errOut := certrot(append(form, "--from", from)...)
				harmless(t, strings.Join(form, " "), out)
				harmless(t, strings.Join(form, " ")+", stderr", errOut)
			}
		})
	}
}

// batches are fields that are planted together.
func batches(fields []string) [][]string {
	const others = 8
	out := make([][]string, others)
	for i, f := range fields {
		switch f {
		case "pki.Location.Kind", "pki.Location.Namespace", "pki.Location.Name", "pki.Location.Node", "pki.Location.Key", "pki.Location.Path", "pki.Location.Field",
			"inspect.Object.Kind", "inspect.Object.Name", "inspect.Object.Type", "inspect.Node.Name", "catalog.Versions.Cluster", "inspect.Served.Of", "inspect.Served.Server":
			out = append(out, []string{f})
		default:
			out[i%others] = append(out[i%others], f)
		}
	}
	return out
}

// enrich gives the facts one of each thing that the demo's cluster does not have.
func enrich(s *inspect.Snapshot) {
	s.Gaps = append(s.Gaps, inspect.Gap{What: "secrets", Where: "team-a", Reason: "list secrets: no", Next: "kubectl auth whoami"})
	s.Reads = append(s.Reads, inspect.Read{What: "API v1", Skipped: true, Note: "does not answer"})
	s.Exposed = append(s.Exposed, inspect.Exposed{At: pki.Location{Kind: pki.KindFile, Node: "worker-1", Path: "/var/log/a.log"}, Tokens: 1})
	s.Reported = append(s.Reported, inspect.Reported{At: pki.Location{Kind: "MachineConfigPool", Name: "worker", Field: "status.certExpirys[0]"}, Bundle: "A", Subject: "CN=a", Signer: "b"})
	ca := pkitest.NewCA(hostile, s.Taken.AddDate(0, -1, 0), s.Taken.AddDate(0, 0, 5))
	cert := pki.NewScanner().Scan(ca.CertPEM)[0].Content
	seen := map[*pki.Content]bool{}
	for _, b := range s.Bundles {
		if !seen[b.Content] {
			seen[b.Content] = true
			b.Content.Certs = append(b.Content.Certs, cert.Certs...)
		}
	}
	s.Requests = append(s.Requests, inspect.SigningRequest{Object: &inspect.Object{Kind: "CertificateSigningRequest", Name: "csr-1"}, Signer: "kubernetes.io/kubelet-serving", Requester: "system:node:worker-1",
		Condition: "Pending", Since: s.Taken, Request: &pki.Request{Subject: "CN=system:node:worker-1,O=system:nodes", Names: pki.Names{DNS: []string{"worker-1"}}}})
}

// textFields are the fields of texts in a type, as Type.Field.
func textFields(of reflect.Type, seen map[reflect.Type]bool) []string {
	if seen[of] {
		return nil
	}
	seen[of] = true
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return textFields(of.Elem(), seen)
	case reflect.Struct:
		var out []string
		for f := range of.Fields() {
			if !f.IsExported() {
				continue
			}
			inner := f.Type
			for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Map {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.String {
				out = append(out, of.String()+"."+f.Name)
				continue
			}
			out = append(out, textFields(f.Type, seen)...)
		}
		return out
	}
	return nil
}

// plant appends hostile text to all texts of a field.
func plant(v reflect.Value, field string, planted *int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			plant(v.Elem(), field, planted)
		}
	case reflect.Slice:
		for i := range v.Len() {
			plant(v.Index(i), field, planted)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(k))
			plant(value, field, planted)
			v.SetMapIndex(k, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() || v.Type() == reflect.TypeFor[reflect.Value]() {
				continue
			}
			if v.Type().String()+"."+f.Name == field {
				taint(v.Field(i), planted)
				continue
			}
			plant(v.Field(i), field, planted)
		}
	}
}

func taint(v reflect.Value, planted *int) {
	switch v.Kind() {
	case reflect.String:
		if !strings.HasSuffix(v.String(), hostile) { // it may be shared
			v.SetString(v.String() + hostile)
			*planted++
		}
	case reflect.Pointer:
		if !v.IsNil() {
			taint(v.Elem(), planted)
		}
	case reflect.Slice:
		if v.Len() == 0 && v.Type().Elem().Kind() == reflect.String {
			v.Set(reflect.Append(v, reflect.New(v.Type().Elem()).Elem()))
		}
		for i := range v.Len() {
			taint(v.Index(i), planted)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(k))
			taint(value, planted)
			v.SetMapIndex(k, value)
		}
	}
}

// TestDocumentsAreValidWhateverSubjectsHold: JSON and YAML are read back as they were, and
// print nothing that a terminal obeys.
func TestDocumentsAreValidWhateverSubjectsHold(t *testing.T) {
	t.Parallel()
	from := edited(t, func(s *inspect.Snapshot) {
		enrich(s)
		planted := 0
		plant(reflect.ValueOf(s).Elem(), "inspect.Gap.Reason", &planted)
		plant(reflect.ValueOf(s).Elem(), "inspect.Read.Note", &planted)
		if planted < 2 {
			t.Fatalf("planted in %d places", planted)
		}
	})
	type document struct{ Certificates []struct{ Subject string } }
	var subjects [2]string
	for i, format := range []string{"json", "yaml"} {
		_, out, errOut := certrot("inspect", "--from", from, "-o", format)
		harmless(t, format, out)
		harmless(t, format+", stderr", errOut)
		var d document
		read := func(raw []byte, v any) error { return yaml.Unmarshal(raw, v) }
		if format == "json" {
			read = json.Unmarshal
		}
		if err := read([]byte(out), &d); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		for _, c := range d.Certificates {
			if strings.Contains(c.Subject, "\u202e") {
				subjects[i] = c.Subject
			}
		}
	}
	if want := (pkix.Name{CommonName: hostile}).String(); subjects[0] != want || subjects[1] != want {
		t.Errorf("the subject is %q, %q, want %q", subjects[0], subjects[1], want)
	}
	_, out, _ := certrot("verify", "--from", from, "-o", "junit")
	harmless(t, "junit", out)
	for d := xml.NewDecoder(strings.NewReader(out)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAServerOfAFileIsInNoCommand: who wrote a snapshot names the server that a node asked.
func TestAServerOfAFileIsInNoCommand(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, server := range []string{"api-int:6443/;systemctl stop kubelet;:6443", "api-int;reboot:6443", "$(reboot):6443", "a`reboot`:1", "a|reboot:1"} {
		for _, failure := range []inspect.Failure{inspect.FailedConnect, inspect.FailedResolve} {
			node, seen := inspect.ProbeAnswer{Question: inspect.AskNode, Server: server, Name: "api-int", Failure: failure, Detail: "no connection"}, false
			lease := node
			lease.Question = inspect.AskLease
			from := edited(t, func(s *inspect.Snapshot) {
				for i := range s.Nodes {
					if s.Nodes[i].Via != "" {
						s.Nodes[i].RestartProbe = &inspect.RestartProbe{
							Kubeconfig: inspect.ProbedKubeconfig{Path: "/var/lib/kubelet/kubeconfig", Presents: inspect.CredentialCertificate, Answers: []inspect.ProbeAnswer{node, lease}},
							Bootstrap:  inspect.ProbedKubeconfig{Path: "/etc/kubernetes/kubeconfig", Absent: true},
						}
					}
				}
			})
			for _, form := range [][]string{nil, {"--details"}, {"-o", "json"}} {
				_, out, said := certrot(append([]string{"verify", "restart-safe", "--from", from}, form...)...)
				for line := range strings.Lines(out + said) {
					seen = seen || strings.Contains(line, "no command is printed for the name")
					if strings.Contains(line, "curl -kv") || strings.Contains(line, "getent hosts") {
						t.Errorf("%q, %s, %v: %s", server, failure, form, line)
					}
				}
			}
			if !seen {
				t.Errorf("%q, %s: the name is in no answer", server, failure)
			}
		}
	}
}
