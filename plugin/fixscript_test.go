package plugin

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// TestScriptsWhereAnAPIAnswers asks a live API server before scripts are written: for
// nodes, too, that nobody gets onto from here.
func TestScriptsWhereAnAPIAnswers(t *testing.T) {
	t.Parallel()
	given := pkitest.NewCA("new", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)).CertPEM
	// What this API server has nothing of.
	unknown := []string{preflight.ServerSide, "named-certificate"}
	upgrade := settledAPI().with("/apis/config.openshift.io/v1/clusterversions",
		list(`{"metadata":{"name":"version"},"status":{"desired":{"version":"4.15.2"},"conditions":[{"type":"Progressing","status":"True","message":"Working towards 4.15.2"}]}}`))
	installer := settledAPI().with(installerPods, anInstaller())
	const node = "worker-0"
	for _, c := range []struct {
		name  string
		api   liveAPI
		node  string
		risks []string
		says  string // of the refusal; empty: scripts are written
		note  string // in the script
	}{
		{"what is not known", settledAPI(), node, nil, preflight.ServerSide + ": ", ""},
		{"nothing is under way", settledAPI(), node, unknown, "", "Checked of the whole cluster"},
		{"an upgrade", upgrade, node, unknown, "upgrade-running: the cluster goes to 4.15.2", ""},
		{"an upgrade that was accepted", upgrade, node, append([]string{"upgrade-running"}, unknown...), "", "Accepted by name: upgrade-running"},
		{"a rollout, and a worker", installer, node, unknown, "", "Checked of the whole cluster"},
		{"a rollout, and a master", installer, "master-0", unknown, preflight.StaticPodsSettled + ": pod openshift-kube-controller-manager/installer-8-master-0", ""},
	} {
		var out transcript
		w := onNodes(c.api.connect(t), &out, liveNode{name: c.node})
		folder := filepath.Join(t.TempDir(), "scripts")
		f := &fixFlags{mendFlags: mendFlags{app: w.app}, preflightFlags: preflightFlags{risks: c.risks}, scripts: folder, caFile: "ca.crt", given: given, waves: waveFlags{maxUnavailable: "1"}, pods: networkFlags{restart: restartNeeded}}
		err := f.emit(t.Context(), w)
		if err != nil {
			printError(w.app.Streams, err)
		}
		script, _ := os.ReadFile(filepath.Join(folder, "fix-api-int-"+c.node+".sh"))
		if (c.says == "") != (err == nil) || !strings.Contains(out.String(), c.says) || (len(script) > 0) != (err == nil) {
			t.Errorf("%s: %v, a script of %d bytes:\n%s", c.name, err, len(script), out.String())
		}
		if err != nil && codeOf(err) != exitRefused {
			t.Errorf("%s: exit code %d", c.name, codeOf(err))
		}
		if c.note != "" && !strings.Contains(string(script), c.note) {
			t.Errorf("%s: the script does not say %q", c.name, c.note)
		}
	}
}

// TestWhatNoScriptDoes is refused beside --emit-script, and not left out in silence.
func TestWhatNoScriptDoes(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"--only masters", "--max-unavailable 2", "--approve-csrs", "--dry-run=client", "--restart-network=always", "--probe-network", "--patch-kube-root-ca --accept-risk=owned-object", "--pause-remediation", "-o json"} {
		folder := filepath.Join(t.TempDir(), "scripts")
		var out bytes.Buffer
		code := Main(t.Context(), "test", append([]string{"kubectl-certrot", "fix-api-int", "--from", "../testdata/demo/okd-4.15-api-int.certrot", "--emit-script", folder}, strings.Fields(args)...), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
		if _, err := os.Stat(folder); code != exitUsage || !os.IsNotExist(err) || !strings.Contains(out.String(), strings.FieldsFunc(args, func(r rune) bool { return r == ' ' || r == '=' })[0]) {
			t.Errorf("%s: ends with %d: %s", args, code, out.String())
		}
	}
}
