package apply_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
)

// TestRejoinIsRefusedBeforeARestartWhereTheSignerCannotSign: a kubelet was restarted without
// a certificate, and only then it was seen that none could be signed.
func TestRejoinIsRefusedBeforeARestartWhereTheSignerCannotSign(t *testing.T) {
	t.Parallel()
	now := time.Now()
	from, to := now.AddDate(0, 0, -40), now.AddDate(0, 0, -10)
	at := catalog.CSRSigner()
	path := "/api/v1/namespaces/" + at.Namespace + "/secrets/" + at.Name
	for name, c := range map[string]struct {
		date   time.Time // the API's
		forbid bool
		plan   *remediate.Plan
		says   string // empty: not a word of the signer
	}{
		"expired by the API server's time":      {date: now, plan: rejoining(), says: "csr-signer: " + at.String() + " expired"},
		"expired by this machine's clock alone": {date: from.Add(time.Hour), plan: rejoining()},
		"not valid yet":                         {date: from.Add(-time.Hour), plan: rejoining(), says: "is not valid before"},
		"not readable":                          {date: now, forbid: true, plan: rejoining(), says: "kubectl auth can-i get secret/csr-signer -n " + at.Namespace},
		"nothing is approved":                   {date: now, plan: restarting()},
	} {
		signer := pkitest.NewCA("csr-signer", from, to)
		api := plugintest.SettledAPI().With(path, fmt.Sprintf(`{"data":{"tls.crt":%q}}`, base64.StdEncoding.EncodeToString(signer.CertPEM)))
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", c.date.UTC().Format(http.TimeFormat))
			if c.forbid && r.URL.Path == path {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
				return
			}
			api.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		flags := &cli.ConfigFlags{}
		flags.ClusterInfo.Server = server.URL
		conn, err := connect.Connect(t.Context(), cli.App{}, flags, pki.NewScanner(), connect.ToRead)
		if err != nil {
			t.Fatal(err)
		}
		var out plugintest.Transcript
		w := applytest.OnNodes(conn, &out)
		snapshot := inspect.Snapshot{Taken: now, Cluster: inspect.Cluster{Versions: catalog.Versions{Cluster: "4.15.1"}}}
		err = (apply.PreflightOptions{}).Preflight(t.Context(), w, snapshot, nil, c.plan, nil)
		if err == nil {
			t.Fatalf("%s: nothing is refused", name)
		}
		cli.PrintError(w.App.Streams, err)
		said := out.String()
		if cli.CodeOf(err) != cli.ExitRefused || c.says == "" && strings.Contains(said, "csr-signer") || !strings.Contains(said, c.says) || strings.Contains(said, "accept-risk=csr-signer") {
			t.Errorf("%s: want %q:\n%s", name, c.says, said)
		}
	}
}

// restarting is a plan that restarts a kubelet.
func restarting() *remediate.Plan {
	steps := []remediate.Step{{Action: action.NewRestartKubelet("w"), Change: &remediate.Change{Summary: "restart"}}}
	return &remediate.Plan{Waves: []remediate.Wave{{Nodes: []remediate.NodePlan{{Name: "w", Steps: steps}}}}}
}

// rejoining is one after which the kubelet asks for its certificate.
func rejoining() *remediate.Plan {
	p := restarting()
	n := &p.Waves[0].Nodes[0]
	n.Steps = append(n.Steps, remediate.Step{Action: csr.NewApprove("w", inspect.Snapshot{}, time.Now()), Change: &remediate.Change{Summary: "approve"}})
	return p
}
