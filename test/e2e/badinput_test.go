package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// badInputLimit is for reading the planted megabytes, on a busy machine.
const badInputLimit = 20 * time.Second

// Whatever bytes a cluster holds, the program reads on, and says what it could
// not read. That it finds all the certificates beside them is another test's.
func TestBadInputIsReported(t *testing.T) {
	t.Parallel()
	w := enter(t)
	p := w.planted
	inv, r := w.inventory(t, "secrets,configmaps", "-n", p.bad(), "--min-severity", "info")
	if r.code != 0 || len(inv.Gaps) > 0 || r.took > badInputLimit || r.stderr != "" {
		t.Errorf("ended with %d after %s, gaps %+v, stderr %q; want 0, none and nothing", r.code, r.took, inv.Gaps, r.stderr)
	}
	prefix := func(kind, name string) string { return kind + "/" + p.bad() + "/" + name + "[" }
	for _, c := range []struct {
		name, check, at, says string
	}{
		{"BEGIN lines without end", "pem-readable", prefix("ConfigMap", "dashes"), "cut off"},
		{"what unpacks to more than its namespace may", "pem-readable", prefix("ConfigMap", "gzip-bomb"), "the limit to which compressed values of namespace " + p.bad()},
		{"base64 nested too deeply", "pem-readable", prefix("ConfigMap", "base64-too-deep"), "nested too deeply"},
		{"a certificate that ended before it began", "certificate-expired", prefix("Secret", "ended-before-it-began"), "expired"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := inv.at(c.check, c.at)
			if len(found) == 0 || !strings.Contains(found[0].Evidence, c.says) {
				t.Errorf("%s finds %+v at %s, want that it says %q", c.check, found, c.at, c.says)
			}
		})
	}
	for _, c := range []struct{ name, at string }{
		{"a thousand CAs", prefix("ConfigMap", "a-thousand")},
		{"a YAML bomb with a certificate", prefix("ConfigMap", "yaml-bomb")},
		{"NULs around certificates", prefix("ConfigMap", "nuls")},
		{"a negative serial number", prefix("Secret", "negative-serial")},
		{"random bytes", prefix("Secret", "garbage")},
		{"random bytes in base64", prefix("Secret", "garbage-in-base64")},
		{"brackets", prefix("ConfigMap", "brackets")},
	} {
		t.Run(c.name+" can be read", func(t *testing.T) {
			if found := inv.at("pem-readable", c.at); len(found) > 0 {
				t.Errorf("is said to be unreadable: %+v", found)
			}
		})
	}
}

func TestBundlesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	w := enter(t)
	p := w.planted
	inv, _ := w.inventory(t, "configmap/a-thousand", "-n", p.bad())
	if len(inv.Bundles) != 1 || len(inv.Bundles[0].Certificates) != manyCertificates || inv.Bundles[0].Bad != 0 {
		t.Fatalf("%d bundles, want one of %d certificates", len(inv.Bundles), manyCertificates)
	}
	subjects := map[string]string{}
	for _, c := range inv.Certificates {
		subjects[c.SHA256] = c.Subject
	}
	for n, sha := range inv.Bundles[0].Certificates {
		if want := fmt.Sprintf("CN=%s of many %d", p.id, n); subjects[sha] != want {
			t.Fatalf("certificate %d is %s, want %s", n, subjects[sha], want)
		}
	}
	inv, _ = w.inventory(t, "secret/pem-of-several-kinds", "-n", p.rich())
	if len(inv.Bundles) != 1 || len(inv.Bundles[0].Certificates) != 3 || inv.Bundles[0].PrivateKeys != 1 {
		t.Errorf("of a value with three certificates and a key: %+v", inv.Bundles)
	}
}

// Every form is printed for bad input, in time, and nothing of it takes over
// the terminal.
func TestBadInputInEveryForm(t *testing.T) {
	t.Parallel()
	w := enter(t)
	for _, form := range []string{"", "wide", "json", "yaml", "name", "text", "jsonpath={.certificates[*].subject}", "go-template={{range .certificates}}{{.serial}}{{end}}", "custom-columns=S:.subject,L:.locations"} {
		t.Run("-o "+form, func(t *testing.T) {
			t.Parallel()
			r := w.run(t, "inspect", "--all", "-n", w.planted.bad(), "-o", form)
			if r.code != 0 && r.code != 1 || r.took > badInputLimit || r.stderr != "" {
				t.Errorf("ended with %d after %s, want 0 or 1; stderr:\n%s", r.code, r.took, r.stderr)
			}
			if strings.Contains(form, "=") {
				return // what a template prints is what its author asked for
			}
			for _, c := range r.stdout {
				if c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == 0x202e && form != "json" && form != "yaml" {
					t.Fatalf("prints the control character %q", c)
				}
			}
		})
	}
}
