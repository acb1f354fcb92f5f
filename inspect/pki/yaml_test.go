package pki

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestAliasesAreBounded: in JSON each alias is written out. 300 kB become 1.5 GB.
func TestAliasesAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("A", 300_000)
	nested := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 6 {
		nested += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), ", "))
	}
	for name, text := range map[string]string{
		"one long text, many times":       "x: &x " + long + "\ny: [" + strings.TrimSuffix(strings.Repeat("*x,", 5000), ",") + "]\n",
		"in JSON's form":                  `{"x":&x "` + long + `","y":[` + strings.TrimSuffix(strings.Repeat("*x,", 5000), ",") + "]}",
		"as a key":                        "x: &x\n  ? " + long + "\n  : 1\ny: [" + strings.TrimSuffix(strings.Repeat("*x,", 5000), ",") + "]\n",
		"merged":                          "x: &x {k: " + long + "}\ny:\n" + strings.Repeat("- {<<: *x}\n", 100),
		"aliases of aliases":              nested,
		"a part of itself":                "x: &x [*x]\n",
		"behind a line separator":         "x: &x " + long + "\u2028" + "y: [" + strings.TrimSuffix(strings.Repeat("*x,", 5000), ",") + "]\n",
		"with an anchor of other letters": "x: &é " + long + "\ny: [" + strings.TrimSuffix(strings.Repeat("*é,", 5000), ",") + "]\n",
	} {
		if out, err := YAMLToJSON([]byte(text)); err == nil {
			t.Errorf("%s: %d bytes become %d", name, len(text), len(out))
		}
		if !mayAlias([]byte(text)) {
			t.Errorf("%s: it is not looked at", name)
		}
	}
	for _, text := range []string{"a: &x 1\nb: *x\n", "{a: &x 1,b: *x}", `{"a":&x 1,"b":*x}`, "- &x 1\n- *x\n", "? &x a\n: *x\n", "a: !!str &x b\nc: *x\n", "&x a: *x\n", "a: 2>&1 *.txt\n", "x: &x " + long + "\ny: [*x, *x]\n", "a: b\n"} {
		got, err := YAMLToJSON([]byte(text))
		want, err2 := yaml.YAMLToJSON([]byte(text))
		if string(got) != string(want) || (err == nil) != (err2 == nil) {
			t.Errorf("%.40q: %.40s, %v; want %.40s, %v", text, got, err, want, err2)
		}
	}
	var wide []byte // UTF-16
	for _, r := range "\ufeffx: &x " + long + "\ny: [" + strings.TrimSuffix(strings.Repeat("*x,", 5000), ",") + "]\n" {
		wide = append(wide, byte(r), byte(r>>8))
	}
	if out, err := YAMLToJSON(wide); err == nil {
		t.Errorf("UTF-16: %d bytes become %d", len(wide), len(out))
	}
	if mayAlias([]byte("run: a 2>&1 && rm *.txt && ls\n")) {
		t.Error("a script is parsed twice")
	}

	// As a value that a tenant writes.
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ca := pkitest.NewCA("ca", from, from.AddDate(1, 0, 0))
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters:\n- name: a\n  cluster: {server: https://x, certificate-authority-data: %s}\nx: &x %s\ny: [%s]\n", b64(ca.CertPEM), long, strings.TrimSuffix(strings.Repeat("*x,", 5000), ","))
	if err := refusesKubeconfig([]byte(text)); !errors.Is(err, errAliased) {
		t.Errorf("as a kubeconfig: %v", err)
	}
	small := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters:\n- name: a\n  cluster: {server: https://x, certificate-authority-data: %s}\nx: &x %s\ny: [%s]\n", b64(ca.CertPEM), long[:3000], strings.TrimSuffix(strings.Repeat("*x,", 100), ","))
	if err := refusesKubeconfig([]byte(small)); !errors.Is(err, errAliased) {
		t.Errorf("a small one, of which a value may hold hundreds: %v", err)
	}
	if found := NewScanner().Scan([]byte(text)); len(found) != 1 || len(found[0].Content.Certs) != 1 {
		t.Errorf("its certificate is not found: %+v", found)
	}
}
