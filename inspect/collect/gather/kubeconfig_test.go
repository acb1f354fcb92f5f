package gather

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// kubeconfigForms are ways to write a kubeconfig with this CA. Some of them client-go
// refuses, and in some it reads no CA.
func kubeconfigForms(ca, keyPEM []byte) map[string]string {
	b := base64.StdEncoding.EncodeToString(ca)
	key := base64.StdEncoding.EncodeToString([]byte("not really a private key"))
	pair := base64.StdEncoding.EncodeToString(keyPEM)
	ok := "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    certificate-authority-data: " + b + "\n    server: https://api-int.c.example.com:6443\n  name: c\n" +
		"contexts:\n- context:\n    cluster: c\n    user: u\n  name: ctx\ncurrent-context: ctx\nusers:\n- name: u\n  user: {}\n"
	data := func(written string) string { return strings.Replace(ok, b, written, 1) }
	cluster := func(line string) string { return strings.Replace(ok, "    server:", "    "+line+"\n    server:", 1) }
	user := func(line string) string { return strings.Replace(ok, "user: {}", "user:\n    "+line, 1) }
	all := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(ok) }
	return map[string]string{
		"sound":                            ok,
		"sound, a key":                     user("client-key-data: " + key),
		"sound, a key in quotes":           user("client-key-data: '" + key + "'"),
		"sound, in a block":                data("|\n      " + b),
		"sound, in two lines of a block":   data("|\n      " + b[:76] + "\n      " + b[76:]),
		"sound, a token like a number":     user("token: 07401b.f395accd246ae52d"),
		"sound, a token in quotes":         user("token: \"1234567\""),
		"sound, exec with a bool":          user("exec: {apiVersion: v1, command: c, provideClusterInfo: true, interactiveMode: Never}"),
		"sound, verification is not off":   cluster("insecure-skip-tls-verify: off"),
		"base64 without padding":           data(strings.TrimRight(b, "=")),
		"base64 of URLs":                   data(strings.NewReplacer("+", "-", "/", "_").Replace(b)),
		"folded":                           data(b[:76] + "\n      " + b[76:]),
		"folded by >-":                     data(">-\n      " + b[:76] + "\n      " + b[76:]),
		"a block with an indented line":    data("|\n      " + b[:76] + "\n       " + b[76:]),
		"a space in base64":                data(b[:40] + " " + b[40:]),
		"a tab in base64":                  data(`"` + b[:40] + `\t` + b[40:] + `"`),
		"junk behind base64":               data(b + "!"),
		"one = too many":                   data(b + "="),
		"four = too many":                  data(b + "===="),
		"PEM itself":                       data("|\n      " + strings.ReplaceAll(strings.TrimSpace(string(ca)), "\n", "\n      ")),
		"base64 twice":                     data(b + b),
		"a data URL":                       data("data:;base64," + b),
		"a tag":                            data("!!binary " + b),
		"two clusters of one name":         all("contexts:", "- cluster:\n    server: https://other\n  name: c\ncontexts:"),
		"two clusters, the first is empty": all("clusters:\n", "clusters:\n- cluster:\n    server: https://other\n  name: c\n"),
		"two contexts of one name":         all("current-context", "- context:\n    cluster: d\n  name: ctx\ncurrent-context"),
		"two users of one name":            ok + "- name: u\n  user: {}\n",
		"two other users of one name":      ok + "- name: a b\n  user: {}\n- name: a b\n  user: {}\n",
		"another kind":                     all("kind: Config", "kind: Konfig"),
		"another version":                  all("apiVersion: v1", "apiVersion: v2"),
		"a further document":               ok + "---\nfoo: bar\n",
		"a first document that is empty":   "---\n---\n" + ok,
		"large letters":                    all("certificate-authority-data", "Certificate-Authority-Data"),
		"a user that is text":              all("user: {}", "user: foo"),
		"insecure in quotes":               cluster(`insecure-skip-tls-verify: "true"`),
		"insecure yes":                     cluster("insecure-skip-tls-verify: yes"),
		"a server that is a number":        all("https://api-int.c.example.com:6443", "6443"),
		"preferences that are text":        ok + "preferences: foo\n",
		"extensions that are text":         ok + "extensions: foo\n",
		"an anchor":                        all("- cluster:\n    cert", "- cluster: &a\n    cert"),
		"a certificate that is no base64":  user("client-certificate-data: '!!!'"),
		"a key that is no base64":          user("client-key-data: not!base64"),
		"a key without padding":            user("client-key-data: " + key[:len(key)-1]),
		"a key with = in the middle":       user("client-key-data: " + key[:8] + "=" + key[9:]),
		"a key in a block, no base64":      user("client-key-data: |\n      " + key[:8] + "\n      " + key[8:11] + "!"),
		"a key in a block with = inside":   user("client-key-data: |\n      AAA=\n      " + key),
		"a token that is a number":         user("token: 1234567"),
		"a token that is a float":          user("token: 12.5e3"),
		"a token that is a bool":           user("token: yes"),
		"a password that is a number":      user("password: 0x1234"),
		"a user name that is a number":     user("username: 12_345"),
		"a token that is a list":           user("token: [a]"),
		"exec that is text":                user("exec: foo"),
		"exec with a number":               user("exec: {command: 5}"),
		"disable-compression is text":      cluster("disable-compression: foo"),
		"the current context is a number":  all("name: ctx", "name: 1", "current-context: ctx", "current-context: 1"),
		"a context named yes":              all("name: ctx", "name: yes", "current-context: ctx", "current-context: yes"),
		"a CA file, too":                   cluster("certificate-authority: /etc/ca.crt"),
		"a key twice":                      cluster(`certificate-authority-data: ""`),

		"sound, a client certificate":     user("client-certificate-data: " + b + "\n    client-key-data: " + pair),
		"sound, no user is named":         all("    user: u\n", ""),
		"sound, exec of an older version": user("exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: c}"),
		"sound, exec with a variable":     user("exec: {apiVersion: client.authentication.k8s.io/v1, command: c, interactiveMode: IfAvailable, env: [{name: a, value: b}]}"),
		"sound, another user is unusable": ok + "- name: v\n  user: {as-uid: a}\n",
		"sound, as a user":                user("as: admin\n    as-groups: [g]"),
		"sound, a proxy":                  cluster("proxy-url: socks5://127.0.0.1:1080"),
		"no server":                       all("    server: https://api-int.c.example.com:6443\n", ""),
		"the current context is absent":   all("current-context: ctx", "current-context: other"),
		"no current context":              all("current-context: ctx\n", ""),
		"its cluster is absent":           all("    cluster: c\n", "    cluster: d\n"),
		"sound, its user is absent":       all("    user: u\n", "    user: v\n"),
		"a certificate without a key":     user("client-certificate-data: " + b),
		"a certificate and its file":      user("client-certificate-data: " + b + "\n    client-certificate: /dev/null\n    client-key: /dev/null"),
		"a key and its file":              user("client-certificate-data: " + b + "\n    client-key-data: " + key + "\n    client-key: /dev/null"),
		"a token beside a password":       user("token: abc\n    username: a\n    password: b"),
		"a token beside a user name":      user("token: abc\n    username: a"),
		"exec beside a provider":          user("exec: {apiVersion: v1, command: c, interactiveMode: Never}\n    auth-provider: {name: oidc}"),
		"exec without a command":          user("exec: {apiVersion: v1, interactiveMode: Never}"),
		"exec without a version":          user("exec: {command: c, interactiveMode: Never}"),
		"exec of v1 without a mode":       user("exec: {apiVersion: client.authentication.k8s.io/v1, command: c}"),
		"a variable without a name":       user("exec: {apiVersion: v1, command: c, interactiveMode: Never, env: [{value: b}]}"),
		"as a UID, and no user":           user("as-uid: a"),
		"as a group, and no user":         user("as-groups: [g]"),
		"as an extra, and no user":        user("as-user-extra: {a: [b]}"),
	}
}

// clientGo says whether client-go trusts the CA in a kubeconfig.
func clientGo(text string, chain []*pki.Cert, now time.Time) error {
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		return err
	}
	context := config.Contexts[config.CurrentContext]
	if context == nil || config.Clusters[context.Cluster] == nil {
		return fmt.Errorf("no cluster is in use")
	}
	if _, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig(); err != nil {
		return err
	}
	cluster := config.Clusters[context.Cluster]
	if cluster.CertificateAuthority != "" || cluster.InsecureSkipTLSVerify {
		return fmt.Errorf("the data are not what it trusts")
	}
	var roots []*pki.Cert
	for rest := cluster.CertificateAuthorityData; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		c, err := pki.ParseCert(block.Bytes)
		if err != nil {
			return err
		}
		roots = append(roots, c)
	}
	return pki.Verify(chain, roots, "api-int.c.example.com", now)
}

// TestNoKubeconfigThatClientGoRefusesIsTrusted holds what is said of a kubeconfig on a node,
// and in an object, against client-go itself.
func TestNoKubeconfigThatClientGoRefusesIsTrusted(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ca := pkitest.NewCA("ca", now.Add(-time.Hour), now.AddDate(1, 0, 0))
	for len(ca.CertPEM)%3 != 1 {
		ca.CertPEM = append(ca.CertPEM, '\n')
	}
	leaf := ca.Issue("api-int.c.example.com", now.Add(-time.Hour), now.Add(time.Hour), pkitest.DNS("api-int.c.example.com"))
	parsed, err := pki.ParseCert(leaf.Cert.Raw)
	if err != nil {
		t.Fatal(err)
	}
	chain := []*pki.Cert{parsed}
	forms := kubeconfigForms(ca.CertPEM, ca.KeyPEM)
	files, at := map[string]string{}, map[string]string{}
	for i, name := range slices.Sorted(maps.Keys(forms)) {
		at[name] = fmt.Sprintf("/etc/kubernetes/k%d.kubeconfig", i)
		files[at[name]] = forms[name]
	}
	root := newRoot(t)
	tree(t, root, files)
	unread := []string{"a tag", "an anchor", "a key twice", "two clusters, the first is empty", "a further document"}
	everywhere(t, func(t *testing.T, w world) {
		_, r := w.read(t, root, Options{Only: true, Paths: []string{"/etc/kubernetes"}})
		snapshot := facts(t, r, "n")
		for name, text := range forms {
			want := clientGo(text, chain, now)
			got := distrusted(snapshot, at[name], chain, now)
			object := distrustedInObject(text, chain, now)
			switch {
			case want != nil && got == nil:
				t.Errorf("%s: client-go says %.100v; certrot trusts the file on a node", name, want)
			case want != nil && object == nil && refusedAsAWhole(text):
				t.Errorf("%s: client-go says %.100v; certrot trusts the file in an object", name, want)
			case want == nil && got != nil && !slices.Contains(unread, name):
				t.Errorf("%s: client-go trusts it; certrot says %v", name, got)
			case want == nil && got != nil:
				t.Logf("%s: client-go trusts it; certrot says %v", name, got)
			}
		}
	})
}

func refusedAsAWhole(text string) bool {
	_, err := clientcmd.Load([]byte(text))
	return err != nil
}

func distrusted(s inspect.Snapshot, path string, chain []*pki.Cert, now time.Time) error {
	for _, k := range s.Nodes[0].Kubeconfigs {
		if k.Path != path {
			continue
		}
		c, ok := k.InUse()
		switch {
		case ok && (c.Insecure || c.Masked || !c.CAData):
			return fmt.Errorf("its CA is not known")
		default:
			client, _ := trust.ClientOf(&s, &s.Nodes[0], k)
			client.Name = "api-int.c.example.com"
			return client.Refuses(chain, now)
		}
	}
	return fmt.Errorf("it is not read")
}

func distrustedInObject(text string, chain []*pki.Cert, now time.Time) error {
	var roots []*pki.Cert
	for _, f := range pki.NewScanner().Scan([]byte(text)) {
		loaded, _ := f.Content.LoadedBy(pki.ReaderGo)
		roots = append(roots, loaded...)
	}
	return pki.Verify(chain, roots, "api-int.c.example.com", now)
}
