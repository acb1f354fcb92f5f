//go:build unix

package plugin_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin"
)

// The scripts in testdata/script run the program itself, each in a process of
// its own: what a user types, and what comes back. UPDATE=1 rewrites what they
// expect to be printed.
func TestMain(m *testing.M) {
	if os.Getenv("GOMEMLIMIT") == "" && strings.HasSuffix(os.Args[0], ".test") { // the garbage of all tests is in one process
		debug.SetMemoryLimit(2 << 30)
	}
	testscript.Main(m, map[string]func(){
		"kubectl-certrot": func() {
			now := demoTime
			if today, err := time.Parse(time.DateOnly, os.Getenv("TODAY")); err == nil {
				now = func() time.Time { return today }
			}
			streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
			os.Exit(plugin.MainAt(context.Background(), now, "v0.0.0-test", os.Args, streams))
		},
	})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	demo, err := filepath.Abs("../testdata/demo/okd-4.15-api-int.certrot")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Abs("testdata/kept/1/okd-4.15.certrot")
	if err != nil {
		t.Fatal(err)
	}
	first, last := inspecttest.ReviewedVersions(t)
	next := inspecttest.NextVersion(t)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("DEMO", demo)
			env.Setenv("KEPT", kept)   // its nodes lack the kubelets' certificates
			env.Setenv("FIRST", first) // minor version that was reviewed
			env.Setenv("LAST", last)
			env.Setenv("NEXT", next) // which was not reviewed
			env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "none"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("_", "")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"mkbad":   mkbad,
			"mkasked": mkasked,
			"nowhere": nowhere,

			"mkexpiring": mkexpiring,
			"mkversion":  mkversion,
		},
	})
}

// exits runs the program and wants this exit code: "exits 3 inspect …".
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: exits CODE ARG...")
	}
	err := ts.Exec("kubectl-certrot", args[1:]...)
	code := "0"
	if err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}

// nowhere fails if a word is in what the last command printed.
func nowhere(ts *testscript.TestScript, _ bool, args []string) {
	for _, out := range []string{"stdout", "stderr"} {
		for _, word := range args {
			if strings.Contains(ts.ReadFile(out), word) {
				ts.Fatalf("%q is in %s", word, out)
			}
		}
	}
}

// mkexpiring writes two lists of objects as of 2024-06-01T12:00:00Z: a TLS Secret with 5
// of its certificate's 20 days left, and a ConfigMap with a CA that has 20 of 60.
func mkexpiring(ts *testscript.TestScript, _ bool, args []string) {
	now := time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)
	leaf := pkitest.NewCA("short CA", now.AddDate(-1, 0, 0), now.AddDate(9, 0, 0)).Issue("short.example.com", now.AddDate(0, 0, -15), now.AddDate(0, 0, 5), pkitest.DNS("short.example.com"))
	ca := pkitest.NewCA("last CA", now.AddDate(0, 0, -40), now.AddDate(0, 0, 20))
	for path, o := range map[string]any{
		args[0]: map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": map[string]string{"namespace": "shop", "name": "short-tls"},
			"data": map[string][]byte{"tls.crt": leaf.CertPEM, "tls.key": leaf.KeyPEM}},
		args[1]: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]string{"namespace": "shop", "name": "last-ca"},
			"data": map[string]string{"ca.crt": string(ca.CertPEM)}},
	} {
		data, err := json.Marshal(o) // which is YAML, too
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(path), data, 0o600))
	}
}

// mkbad writes a file of bad input.
func mkbad(ts *testscript.TestScript, _ bool, args []string) {
	from, to := time.Unix(1.7e9, 0).UTC(), time.Unix(2e9, 0).UTC()
	ca := pkitest.NewCA("bad input CA", from, to)
	var data []byte
	switch args[0] {
	case "zeroes":
		data = make([]byte, 300<<20)
	case "garbage":
		data = bytes.Repeat([]byte{0x30, 0x82, 0xff, 0x00, 0x7f, 0x2d, 0x2d}, 1<<20)
	case "yaml-bomb":
		data = []byte("a: &a [x,x,x,x,x,x,x,x,x]\n")
		for c := 'b'; c <= 'i'; c++ {
			p := string(c - 1)
			data = append(data, []byte(string(c)+": &"+string(c)+" ["+strings.Repeat("*"+p+",", 8)+"*"+p+"]\n")...)
		}
		data = append([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\ndata:\n  pem: |\n    -----BEGIN CERTIFICATE-----\n"), data...)
	case "cut-off":
		whole, err := os.ReadFile(ts.Getenv("DEMO"))
		ts.Check(err)
		data = whole[:len(whole)/2]
	case "many":
		data = bytes.Repeat(ca.CertPEM, 10000)
	case "der":
		data = ca.Cert.Raw
	case "pair":
		data = append(bytes.Clone(ca.CertPEM), ca.KeyPEM...)
	case "open.p12", "locked.p12": // open to those who know what every user knows
		var err error
		data, err = pkcs12.Modern.Encode(ca.Issue("shop.example.com", from, to, pkitest.Ed25519()).Key, ca.Issue("shop.example.com", from, to, pkitest.Ed25519()).Cert,
			[]*x509.Certificate{ca.Cert}, map[string]string{"open.p12": "changeit", "locked.p12": "s3cret"}[args[0]])
		ts.Check(err)
	case "crl":
		issuer := *ca.Cert
		issuer.KeyUsage |= x509.KeyUsageCRLSign
		list, err := x509.CreateRevocationList(nil, &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: from, NextUpdate: from.AddDate(0, 0, 7)}, &issuer, ca.Key)
		ts.Check(err)
		data = append(bytes.Clone(ca.CertPEM), pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: list})...)
	default:
		ts.Fatalf("mkbad: what is %q?", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o600))
}
