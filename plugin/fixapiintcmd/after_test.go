package fixapiintcmd

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/verifycmd"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// TestKubeconfigWithoutACA means this machine's CAs, which do not know the server here:
// the CAs that were given are tried then, and only where the kubeconfig names none.
func TestKubeconfigWithoutACA(t *testing.T) {
	version := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"gitVersion": "v1.28.0"}`) }
	server := httptest.NewUnstartedServer(http.HandlerFunc(version))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that clients end
	server.StartTLS()
	t.Cleanup(server.Close)
	right := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	wrong := pkitest.NewCA("another", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)).CertPEM
	other := filepath.Join(t.TempDir(), "other.crt")
	if err := os.WriteFile(other, wrong, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, ca string
		given    []byte
		in       bool
	}{
		{"nothing is given", "", nil, false},
		{"the right CA is given", "", right, true},
		{"another one is given", "", wrong, false},
		{"the kubeconfig names another one, and the right one is given beside it", other, right, true},
	} {
		file := filepath.Join(t.TempDir(), "kubeconfig")
		text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: %q, certificate-authority: %q}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n", server.URL, c.ca)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		flags := &cli.ConfigFlags{KubeConfig: file}
		o := apply.Options{App: cli.App{Streams: genericiooptions.NewTestIOStreamsDiscard()}, Config: flags}
		var source caSource
		if c.given != nil {
			source.file = filepath.Join(t.TempDir(), "given.crt")
			if err := os.WriteFile(source.file, c.given, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		given, err := source.read(t.Context(), o.App)
		if err != nil {
			t.Fatal(err)
		}
		o.Trust(given)
		if _, err := o.Connect(t.Context(), pki.NewScanner()); (err == nil) != c.in {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestWhatIsSaidAtTheEnd is about the whole cluster after a run of it.
func TestWhatIsSaidAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		statuses []assess.Status
		says     string
		code     int
	}{
		{[]assess.Status{assess.Pass, assess.Pass}, "exit code 0", cli.ExitFine},
		{[]assess.Status{assess.Pass, assess.Unknown}, "exit code 3", cli.ExitFine},
		{[]assess.Status{assess.Unknown, assess.Fail}, "exit code 1", cli.ExitIncomplete},
		{[]assess.Status{assess.Pass, assess.Warn}, "exit code 1", cli.ExitIncomplete},
	} {
		var out strings.Builder
		a := &apply.Execution{Options: apply.Options{App: cli.App{Streams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}}}}
		var r report.Verification
		for i, s := range c.statuses {
			r.Claims = append(r.Claims, report.VerificationClaim{Part: string(catalog.PartAPIInt), Claim: "kubelets trust it", Assessment: assess.Assessment{Status: s, Reason: "because of " + s.String()}, Node: fmt.Sprintf("worker-%d", i)})
		}
		err := judged(a, r, "certrot verify api-int --nodes all")
		if cli.CodeOf(err) != c.code || !strings.Contains(out.String(), c.says) || !strings.Contains(out.String(), verifycmd.ClaimTally(r.Claims)) {
			t.Errorf("%v: %v\n%s", c.statuses, err, out.String())
		}
		for _, s := range c.statuses { // what does not hold is named
			if strings.Contains(out.String(), "because of "+s.String()) != (s != assess.Pass) {
				t.Errorf("%v:\n%s", c.statuses, out.String())
			}
		}
		if err != nil && !strings.Contains(err.Error(), report.Said("kubelets trust it", c.statuses[1])+" on worker-1: because of ") {
			t.Errorf("%v", err)
		}
	}
}

// TestOfWhomItIsSaid names nodes, so that one knows where to look, but not hundreds.
func TestOfWhomItIsSaid(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &apply.Execution{Options: apply.Options{App: cli.App{Streams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}}}}
	var r report.Verification
	add := func(status assess.Status, why string, nodes ...string) {
		for _, n := range nodes {
			r.Claims = append(r.Claims, report.VerificationClaim{Part: string(catalog.PartAPIInt), Claim: "kubelets trust it", Assessment: assess.Assessment{Status: status, Reason: why}, Node: n})
		}
	}
	add(assess.Unknown, "the node was not read", "worker-0", "worker-0", "worker-1", "worker-2", "worker-3", "worker-4")
	add(assess.Unknown, "its log ends", "worker-7", "worker-8", "worker-9")
	add(assess.Unknown, "no object says so", "")
	if err := judged(a, r, "certrot verify api-int"); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		"? whether kubelets trust it (worker-0, worker-1, worker-2 and 2 more): the node was not read\n",
		"? whether kubelets trust it (worker-7, worker-8, worker-9): its log ends\n",
		"? whether kubelets trust it: no object says so\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

func TestLinePastMasters(t *testing.T) {
	t.Parallel()
	if got, want := apply.PastMasters("certrot fix-api-int --via ssh", []string{"clocks"}), "certrot fix-api-int --via ssh --only workers --accept-risk=clocks,masters-first"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := apply.PastMasters("x", []string{preflight.MastersFirst}), "x --only workers --accept-risk=masters-first"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var r *remediate.Refusal
	if err := withPast(&remediate.Refusal{Name: preflight.MastersFirst, Next: "open port 22"}, "the line"); !errors.As(err, &r) || !strings.HasPrefix(r.Next, "open port 22\n") || !strings.Contains(r.Next, "the line") {
		t.Errorf("%+v", err)
	}
	if err := withPast(&remediate.Refusal{Name: "clocks", Next: "look"}, "the line"); !errors.As(err, &r) || r.Next != "look" {
		t.Errorf("%+v", err)
	}
}
