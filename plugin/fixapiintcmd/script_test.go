package fixapiintcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// TestScriptsWhereAnAPIAnswers asks a live API server before scripts are written: for
// nodes, too, that no one gets onto from here.
func TestScriptsWhereAnAPIAnswers(t *testing.T) {
	t.Parallel()
	given := pkitest.NewCA("new", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)).CertPEM
	// What this API server has nothing of.
	unknown := []string{preflight.ServerSide, "named-certificate"}
	upgrade := plugintest.SettledAPI().With("/apis/config.openshift.io/v1/clusterversions",
		plugintest.List(`{"metadata":{"name":"version"},"status":{"desired":{"version":"4.15.2"},"conditions":[{"type":"Progressing","status":"True","message":"Working towards 4.15.2"}]}}`))
	installer := plugintest.SettledAPI().With(plugintest.InstallerPods, plugintest.AnInstaller())
	const node = "worker-0"
	for _, c := range []struct {
		name  string
		api   plugintest.LiveAPI
		node  string
		risks []string
		says  string // of the refusal; empty: scripts are written
		note  string // in the script
	}{
		{"what is not known", plugintest.SettledAPI(), node, nil, preflight.ServerSide + ": ", ""},
		{"nothing is under way", plugintest.SettledAPI(), node, unknown, "", "Checked of the whole cluster"},
		{"an upgrade", upgrade, node, unknown, "upgrade-running: the cluster goes to 4.15.2", ""},
		{"an upgrade that was accepted", upgrade, node, append([]string{"upgrade-running"}, unknown...), "", "Accepted by name: upgrade-running"},
		{"a rollout, and a worker", installer, node, unknown, "", "Checked of the whole cluster"},
		{"a rollout, and a master", installer, "master-0", unknown, preflight.StaticPodsSettled + ": pod openshift-kube-controller-manager/installer-8-master-0", ""},
	} {
		var out plugintest.Transcript
		w := applytest.OnNodes(applytest.Connect(c.api, t), &out, plugintest.LiveNode{Name: c.node})
		folder := filepath.Join(t.TempDir(), "scripts")
		o := &fixOptions{
			repairOptions: repairOptions{Options: apply.Options{App: w.App}, source: caSource{file: "ca.crt"}, order: apiint.Order{Accept: c.risks}},
			preflight:     apply.PreflightOptions{Risks: c.risks, Script: true}, scripts: folder,
		}
		err := o.emit(t.Context(), w, given)
		if err != nil {
			cli.PrintError(w.App.Streams, err)
		}
		script, _ := os.ReadFile(filepath.Join(folder, "fix-api-int-"+c.node+".sh"))
		if (c.says == "") != (err == nil) || !strings.Contains(out.String(), c.says) || (len(script) > 0) != (err == nil) {
			t.Errorf("%s: %v, a script of %d bytes:\n%s", c.name, err, len(script), out.String())
		}
		if err != nil && cli.CodeOf(err) != cli.ExitRefused {
			t.Errorf("%s: exit code %d", c.name, cli.CodeOf(err))
		}
		if c.note != "" && !strings.Contains(string(script), c.note) {
			t.Errorf("%s: the script does not say %q", c.name, c.note)
		}
	}
}
