package fixapiintcmd

import (
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
)

// TestGivenCAVerifiesTheAPI: a CA that is given is what the API server is verified by, also
// where the kubeconfig says that nothing is to be verified. Where it does not verify the
// API server, it is still what kubelets are to trust.
func TestGivenCAVerifiesTheAPI(t *testing.T) {
	t.Parallel()
	other := string(pkitest.NewCA("another", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)).CertPEM)
	for _, c := range []struct {
		name        string
		right, from bool // the CA is the server's; it was given by --api-ca-from
		secure      bool
	}{
		{"the right CA", true, false, true},
		{"another one", false, false, false},
		{"the right one, of a master", true, true, true},
		{"another one, of a master", false, true, false},
	} {
		url, ca, _ := plugintest.Stranger(t, true)
		if !c.right {
			ca = other
		}
		file := plugintest.KubeconfigTo(t, "server: \""+url+"\", insecure-skip-tls-verify: true")
		flags := &cli.ConfigFlags{KubeConfig: file}
		o := &repairOptions{
			Options: apply.Options{App: cli.App{Streams: genericiooptions.NewTestIOStreamsDiscard()}, Config: flags, Purpose: connect.Writing(nil, true)},
			source:  caSource{file: plugintest.WriteFile(t, "ca.crt", ca)},
		}
		given, err := o.source.read(t.Context(), o.App)
		if err != nil {
			t.Fatal(err)
		}
		if c.from {
			o.source = caSource{master: &connect.Master{From: "ssh://core@master-0"}}
		}
		o.Trust(given)
		conn, err := o.Connect(t.Context(), pki.NewScanner())
		if err != nil || (conn.Unauthenticated == "") != c.secure {
			t.Errorf("%s: %+v, %v", c.name, conn, err)
			continue
		}
		var fix apiint.Repair
		err = o.findCA(t.Context(), &apply.Session{Conn: conn}, given, &fix)
		if fromAPI := c.from && c.secure; !fromAPI && (err != nil || string(fix.CA) != ca) {
			t.Errorf("%s: kubelets are to trust %q of %q, not what was given: %v", c.name, fix.CA, fix.CASource, err)
		}
	}
}
