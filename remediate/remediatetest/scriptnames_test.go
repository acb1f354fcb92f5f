package remediatetest

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestScriptTakesTheNamesThatAKubeletTakes: openssl and curl take a common name where there
// is no other one, and '*' within a label; Go takes neither, and the kubelet would be lost.
func TestScriptTakesTheNamesThatAKubeletTakes(t *testing.T) {
	t.Parallel()
	const host = "api-int.c.test"
	for name, c := range map[string]struct {
		host  string
		cn    string
		names []pkitest.Option
		right bool
	}{
		"a common name alone":                    {host, host, nil, false},
		"a subject that reads like curl's lines": {host, host, []pkitest.Option{pkitest.Subject(pkix.Name{CommonName: host, Organization: []string{"x\n*  subjectAltName: host \"" + host + "\" matched cert's \"" + host + "\"\n*  "}})}, false},
		"another name, and the common name":      {host, host, []pkitest.Option{pkitest.DNS("other.test")}, false},
		"an address, and the common name":        {host, host, []pkitest.Option{pkitest.IPs("127.0.0.1")}, false},
		"a URI, and the common name":             {host, host, []pkitest.Option{pkitest.URIs("https://x/,DNS:" + host)}, false},
		"the name":                               {host, "any", []pkitest.Option{pkitest.DNS(host)}, true},
		"the name in capitals, among others":     {host, "any", []pkitest.Option{pkitest.IPs("192.0.2.1"), pkitest.DNS("other.test", strings.ToUpper(host))}, true},
		"the name, and no subject":               {host, "", []pkitest.Option{pkitest.DNS(host)}, true},
		"a longer name, and the common name":     {host, host, []pkitest.Option{pkitest.DNS("x." + host)}, false},
		"a wildcard":                             {host, "any", []pkitest.Option{pkitest.DNS("*.c.test")}, true},
		"a wildcard within a label":              {host, "any", []pkitest.Option{pkitest.DNS("api-*.c.test")}, false},
		"a wildcard of the domain above":         {host, "any", []pkitest.Option{pkitest.DNS("*.test")}, false},
		"a wildcard, as the common name":         {host, "*.c.test", nil, false},
		"the address":                            {"127.0.0.1", "any", []pkitest.Option{pkitest.IPs("127.0.0.1")}, true},
		"the address, as the common name":        {"127.0.0.1", "127.0.0.1", nil, false},
		"the address, as a name":                 {"127.0.0.1", "any", []pkitest.Option{pkitest.DNS("127.0.0.1")}, false},
		"another address and the common name":    {"127.0.0.1", "127.0.0.1", []pkitest.Option{pkitest.IPs("192.0.2.1")}, false},
	} {
		for tool, shell := range map[string]string{"openssl": busyboxAlone, "curl": dashCore} {
			t.Run(name+", by "+tool, func(t *testing.T) {
				t.Parallel()
				d := newConsole(t, shell)
				if tool == "curl" {
					d.install(t, "curl", "/usr/bin/curl")
					if err := os.Remove(d.At("/usr/bin/openssl")); err != nil {
						t.Fatal(err)
					}
				}
				d.Write(t, "/etc/hosts", []byte("127.0.0.1 "+host+"\n"))
				d.Write(t, "/etc/nsswitch.conf", []byte("hosts: files\n"))
				_, port, _ := net.SplitHostPort(d.api.Addr().String())
				for _, path := range catalog.KubeletKubeconfigs() {
					d.Write(t, path, bytes.ReplaceAll(d.files[path], []byte(d.api.URL), []byte("https://"+net.JoinHostPort(c.host, port))))
				}
				d.api.showAs(t, d.Young, c.cn, c.names...)
				leaf, err := x509.ParseCertificate(d.api.pair.Load().Certificate[0])
				if err != nil || (leaf.VerifyHostname(c.host) == nil) != c.right {
					t.Fatalf("a kubelet takes it otherwise: %v", leaf.VerifyHostname(c.host))
				}
				code, says := 5, "the CA does not verify the certificate served"
				if c.right {
					code, says = 1, "then: restart kubelet.service"
				}
				out := d.want(t, d.script(), code, says, "--dry-run")
				if !c.right && !strings.Contains(out, "(by "+tool+")") {
					t.Errorf("who asked is not said:\n%s", out)
				}
			})
		}
	}
}

// TestScriptReadsNamesOfAnyCertificate: of all kinds of keys, with and without other
// extensions, and a name as long as they get.
func TestScriptReadsNamesOfAnyCertificate(t *testing.T) {
	t.Parallel()
	d := newConsole(t, busyboxAlone)
	long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + "." + strings.Repeat("c", 63) + ".test"
	now := time.Now()
	many := make([]string, 200)
	for i := range many {
		many[i] = strings.Repeat("x", 1+i%60) + ".test"
	}
	for name, text := range map[string][]byte{
		"RSA":         d.Young.Issue("x", now, now.Add(time.Hour), pkitest.RSA(2048), pkitest.DNS(long)).CertPEM,
		"Ed25519":     d.Young.Issue("x", now, now.Add(time.Hour), pkitest.Ed25519(), pkitest.DNS(long), pkitest.Usages()).CertPEM,
		"many names":  d.Young.Issue("x", now, now.Add(time.Hour), pkitest.DNS(append(many, long)...)).CertPEM,
		"without any": d.Young.Issue("x", now, now.Add(time.Hour)).CertPEM,
		"twice": func() []byte {
			p := d.Young.Issue("x", now, now.Add(time.Hour), pkitest.DNS(long))
			block, _ := pem.Decode(p.CertPEM)
			return pkitest.Bundle(p.CertPEM, pem.EncodeToMemory(block))
		}(),
		"nothing": nil,
	} {
		s := d.script()
		d.Write(t, "/root/leaf.pem", text)
		whole := string(s.Text("v0"))
		d.Write(t, "/root/named.sh", []byte(strings.Replace(whole, "\nmain \"$@\"\n", "\nnamed \"$(cat /root/leaf.pem)\" \"$1\" && echo named\n", 1)))
		out, _ := d.shell(t, "/root/named.sh", long)
		if want := name != "nothing" && name != "without any"; (out == "named\n") != want {
			t.Errorf("%s: %q", name, out)
		}
		if out, _ := d.shell(t, "/root/named.sh", "a"+long); strings.Contains(out, "named\n") {
			t.Errorf("%s: another name: %q", name, out)
		}
	}
}
