package apiint

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/kubeconfigtest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeconfig"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// nothingToDo are the forms of a CA with which a kubeconfig trusts it already.
func nothingToDo(form pkitest.Form) bool { return form.Go }

func TestFixKubeconfigAddsACAThatKubectlSkips(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewFixture()
	for _, form := range pkitest.Forms(f.Young.CertPEM) {
		held := slices.Concat(f.Old.CertPEM, []byte("\n"), form.Text)
		text := []byte(kubeconfigtest.Kubelet(base64.StdEncoding.EncodeToString(held), "https://"+remediatetest.APIIntHost+":6443"))
		fix := fixOf(f)
		fix.CA = f.Young.CertPEM
		c, err := fix.UserKubeconfig(text, f.Served[0].Chain, remediatetest.APIIntHost, remediatetest.TestNow)
		if err != nil {
			t.Errorf("%s: %v", form.Name, err)
			continue
		}
		if got := c.Text == nil; got != nothingToDo(form) {
			t.Errorf("%s: nothing to do: %v", form.Name, got)
			continue
		}
		if c.Text == nil {
			continue
		}
		after, err := kubeconfig.Find(c.Text)
		if err != nil {
			t.Fatal(err)
		}
		loads(t, form.Name, after.PEM, f.Young.CertPEM, f.Old.CertPEM)
	}
}

func TestFixAPIIntWritesACAThatTheKubeletSkips(t *testing.T) {
	t.Parallel()
	for _, form := range pkitest.Forms(remediatetest.NewFixture().Young.CertPEM) {
		f := remediatetest.NewFixture()
		for _, path := range []string{remediatetest.BootstrapFile, remediatetest.KubeletFile} {
			f.Embed("worker-0", path, f.Old.CertPEM, []byte("\n"), form.Text)
		}
		fix := fixOf(f)
		fix.CA = f.Young.CertPEM
		p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Errorf("%s: %v", form.Name, err)
			continue
		}
		wrote := 0
		var steps []remediate.Step
		for _, n := range p.Nodes() {
			steps = append(steps, n.Steps...)
		}
		for _, s := range steps {
			if s.Change == nil || s.Change.File == nil {
				continue
			}
			wrote++
			after, err := kubeconfig.Find(s.Change.File.After)
			if err != nil {
				t.Fatal(err)
			}
			loads(t, form.Name, after.PEM, f.Young.CertPEM, f.Old.CertPEM)
		}
		if want := map[bool]int{true: 0, false: 2}[nothingToDo(form)]; wrote != want {
			t.Errorf("%s: %d files are written, want %d", form.Name, wrote, want)
		}
	}
}

func TestFixAPIIntRefusesAConfigMapOfWhichKubeletsSkipABlock(t *testing.T) {
	t.Parallel()
	for _, form := range pkitest.Forms(remediatetest.NewFixture().Young.CertPEM) {
		f := remediatetest.NewFixture()
		fix := fixOf(f)
		fix.CA, fix.Published = slices.Concat(f.Old.CertPEM, []byte("\n"), form.Text), true
		_, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		var r *remediate.Refusal
		if form.Go != (err == nil) || err != nil && (!errors.As(err, &r) || r.Name != "ca-usable" || !strings.Contains(r.Reason, "skip")) {
			t.Errorf("%s: %v", form.Name, err)
		}
	}
}

// loads asks Go itself whether it loads these certificates from a text.
func loads(t *testing.T, name string, text []byte, want ...[]byte) {
	t.Helper()
	held := pki.LoadedPEM(pki.NewScanner(), text)
	for _, pem := range want {
		if c := pki.LoadedPEM(pki.NewScanner(), pem)[0]; len(inspect.MissingCerts(held, []*pki.Cert{c})) > 0 || !goLoads(t, text, c) {
			t.Errorf("%s: %s is not loaded from\n%s", name, c.Subject, text)
		}
	}
}

// goLoads asks a pool of crypto/x509 for a certificate.
func goLoads(t *testing.T, text []byte, want *pki.Cert) bool {
	t.Helper()
	pool, one := x509.NewCertPool(), x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	x, err := want.X509()
	if err != nil {
		t.Fatal(err)
	}
	one.AddCert(x)
	for rest := text; ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			return false
		}
		if b.Type == "CERTIFICATE" && len(b.Headers) == 0 && bytes.Equal(b.Bytes, x.Raw) {
			alone := x509.NewCertPool()
			return alone.AppendCertsFromPEM(pem.EncodeToMemory(b)) && alone.Equal(one)
		}
	}
}
