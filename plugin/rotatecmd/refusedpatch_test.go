package rotatecmd

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/metadata"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// TestARefusedPatchIsNotBegun: of what the API server refused, the run and its journal say that nothing was changed. What it
// did not answer may have been done.
func TestARefusedPatchIsNotBegun(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	of := catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-kube-apiserver-operator", Name: "aggregator-client-signer", Key: "tls.crt"}
	secret := `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"aggregator-client-signer","namespace":"openshift-kube-apiserver-operator","uid":"u","resourceVersion":"7","annotations":{"auth.openshift.io/certificate-not-after":"2027-01-01T00:00:00Z"}}}`
	for _, c := range []struct {
		reason  string
		code    int // 0: the connection is lost
		changed bool
	}{
		{"Conflict", http.StatusConflict, false},
		{"Forbidden", http.StatusForbidden, false},
		{"NotFound", http.StatusNotFound, false},
		{"Invalid", http.StatusUnprocessableEntity, false},
		{"BadRequest", http.StatusBadRequest, false},
		{"InternalError", http.StatusInternalServerError, true},
		{"Timeout", http.StatusGatewayTimeout, true},
		{"lost", 0, true},
	} {
		api := plugintest.SettledAPI().With("/api/v1/namespaces/"+of.Namespace+"/secrets/"+of.Name, secret)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method != http.MethodPatch:
				api.ServeHTTP(w, r)
			case c.code == 0:
				panic(http.ErrAbortHandler)
			default:
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.code)
				_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":"no","code":%d}`, c.reason, c.code)
			}
		}))
		t.Cleanup(server.Close)
		file := filepath.Join(t.TempDir(), "kubeconfig")
		text := "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: \"" + server.URL + "\"}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		app := cli.App{ProgramName: "certrot", Streams: genericiooptions.IOStreams{Out: io.Discard, ErrOut: io.Discard}}
		conn, err := connect.Connect(t.Context(), app, &cli.ConfigFlags{KubeConfig: file}, pki.NewScanner(), connect.ToRead)
		if err != nil {
			t.Fatal(err)
		}
		client, err := metadata.NewForConfig(conn.Rest)
		if err != nil {
			t.Fatal(err)
		}
		step, err := action.PlanRotation(t.Context(), client, of, catalog.AnnotationNotAfter, inspect.LiveHints("certrot"))
		if err != nil {
			t.Fatal(err)
		}
		o := &rotateOptions{app: app, yes: true, risks: []string{remediate.NoLease}}
		run := o.applyRun(conn, rotate.RotateCommand)
		reading := rotate.NewReading(t.Context(), inspect.NewFacts(inspect.Snapshot{Taken: time.Now()}, time.Now(), 0))
		changed, err := applyPlan(t.Context(), run, func(context.Context) (*remediate.Plan, error) { return rotate.PlanOf(step, reading) })
		if err == nil || changed != c.changed {
			t.Errorf("%s: changed %t, want %t: %v", c.reason, changed, c.changed, err)
		}
		js, err := apply.Journals()
		if err != nil {
			t.Fatal(err)
		}
		record, err := js.Read(run.RunID)
		unchanged := slices.ContainsFunc(record.Records, func(r remediate.Record) bool { return r.Event == remediate.Failed && r.Unchanged })
		if err != nil || unchanged == c.changed {
			t.Errorf("%s: %v: %+v", c.reason, err, record.Records)
		}
	}
}
