package kubeconfig

import (
	"bytes"
	"encoding/base64"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

func TestRefusalsSayWhatIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld()
	long := base64.StdEncoding.EncodeToString(w.before)
	wrapped := long[:64] + "\n      " + long[64:128] + "\n      " + long[128:]
	change := func(old, with string) string {
		if !strings.Contains(bootstrap, old) {
			t.Fatalf("%q is not there", old)
		}
		return strings.Replace(bootstrap, old, with, 1)
	}
	key := pkitest.NewCA("k", time.Unix(0, 0), time.Unix(1e9, 0)).KeyPEM
	for name, c := range map[string]struct {
		text   string
		reason Reason
		says   string
	}{
		"nothing":                           {"", reasonNotYAML, "the file is empty: it is no kubeconfig"},
		"a comment":                         {"# nothing\n", reasonNotYAML, "the file is empty: it is no kubeconfig"},
		"a word":                            {"word", reasonNotYAML, "the file is not a mapping of keys to values: it is no kubeconfig"},
		"a list":                            {"[]", reasonNotYAML, "the file is not a mapping of keys to values: it is no kubeconfig"},
		"no YAML":                           {"clusters: [", reasonNotYAML, "the file is neither YAML nor JSON (“line 1: did not find expected node content”): correct it"},
		"tabs as indentation":               {change("    server", "\tserver"), reasonNotYAML, "the file is neither YAML nor JSON (“line 3: found a tab character that violates indentation”): correct it"},
		"a byte order mark":                 {"\ufeff" + bootstrap, reasonNotText, "the file is not UTF-8, or starts with a byte order mark: save it as UTF-8 without one"},
		"UTF-16":                            {"\xff\xfec\x00l\x00", reasonNotText, "the file is not UTF-8, or starts with a byte order mark: save it as UTF-8 without one"},
		"UTF-16 without its mark":           {"c\x00l\x00", reasonNotText, "the file has control characters in it: remove them"},
		"NUL":                               {bootstrap + "\x00", reasonNotText, "the file has control characters in it: remove them"},
		"a return of its own":               {change("\n", "\r"), reasonNotText, "the file has control characters in it: remove them"},
		"what is a line break for some":     {change("\n", " # \u2028\n"), reasonNotText, "the file has control characters in it: remove them"},
		"too large":                         {bootstrap + strings.Repeat("#", maxSize), reasonTooLarge, "the file has more than 1048576 bytes: that is no kubeconfig that a program wrote, so look at it on the node"},
		"two documents":                     {bootstrap + "---\na: b\n", reasonManyDocuments, "the file has more after its first YAML document, which client-go ignores: remove that"},
		"an empty second document":          {bootstrap + "---\n", reasonManyDocuments, "the file has more after its first YAML document, which client-go ignores: remove that"},
		"an anchor on the value":            {change("<CA>", "&ca <CA>"), reasonIndirect, "line 3 has an anchor, an alias or a tag: write out what is meant"},
		"an anchor on the cluster":          {change("cluster:\n", "cluster: &c\n"), reasonIndirect, "line 2 has an anchor, an alias or a tag: write out what is meant"},
		"an alias for the value":            {change("<CA>", "*ca"), reasonNotYAML, "the file is neither YAML nor JSON (“unknown anchor”): correct it"},
		"an alias":                          {"a: &a <CA>\n" + change("<CA>", "*a"), reasonIndirect, "line 1 has an anchor, an alias or a tag: write out what is meant"},
		"a merge key":                       {change("    certificate-authority-data: <CA>", "    <<: {certificate-authority-data: <CA>}"), reasonIndirect, "line 3 has a merge key, or a key that is no word: write out what is meant"},
		"a key that is a list":              {"? [a]\n: b\n" + bootstrap, reasonIndirect, "line 1 has a merge key, or a key that is no word: write out what is meant"},
		"a tag":                             {change("<CA>", "!!binary <CA>"), reasonIndirect, "line 3 has an anchor, an alias or a tag: write out what is meant"},
		"a harmless tag":                    {change("<CA>", "!!str <CA>"), reasonIndirect, "line 3 has an anchor, an alias or a tag: write out what is meant"},
		"the value twice":                   {change("    server:", "    certificate-authority-data: <CA>\n    server:"), reasonTwice, `line 4 has the key "certificate-authority-data" for the second time: remove one`},
		"the value twice, in another case":  {change("    server:", "    Certificate-Authority-Data: <CA>\n    server:"), reasonTwice, `line 4 has the key "Certificate-Authority-Data" for the second time: remove one`},
		"two lists of clusters":             {bootstrap + "clusters: []\n", reasonTwice, `line 17 has the key "clusters" for the second time: remove one`},
		"two clusters of one name":          {change("contexts:", "- name: local\n  cluster: {server: https://a.example}\ncontexts:"), reasonTwice, `clusters has 2 entries with the name "local": remove all but one, as client-go refuses them`},
		"two contexts of one name":          {change("current-context", "- {name: kubelet}\ncurrent-context"), reasonTwice, `contexts has 2 entries with the name "kubelet": remove all but one, as client-go refuses them`},
		"two others of one name":            {bootstrap + "- {name: kubelet, user: {token: xxx}}\n", reasonUnread, `client-go does not read the file (“error converting *[]NamedAuthInfo into *map[string]*api.AuthInfo: duplicate name "kubelet"”): correct it`},
		"no current context":                {change("current-context: kubelet\n", ""), reasonNoContext, "no context is current, so no cluster is the one in use: set current-context"},
		"an empty current context":          {change("current-context: kubelet", "current-context: ''"), reasonNoContext, "no context is current, so no cluster is the one in use: set current-context"},
		"a null for a context":              {change("current-context: kubelet", "current-context: ~"), reasonNoContext, "no context is current, so no cluster is the one in use: set current-context"},
		"a context that is not there":       {change("current-context: kubelet", "current-context: admin"), reasonNoContext, `the current context is "admin", and there is no such context, or nothing in it: set current-context to one that is there`},
		"a masked context":                  {change("current-context: kubelet", "current-context: xxxxxxx"), reasonMasked, "the name of the current context did not leave the node: change the CA on the node"},
		"a context without a cluster":       {change("    cluster: local\n", ""), reasonNoCluster, `the current context, "kubelet", names no cluster: write one into it`},
		"a context of a cluster not there":  {change("cluster: local", "cluster: loca"), reasonNoCluster, `the current context, "kubelet", names the cluster "loca", and there is no such cluster, or nothing in it: correct the name`},
		"no clusters":                       {"current-context: a\ncontexts: [{name: a, context: {cluster: b}}]\n", reasonNoCluster, `the current context, "a", names the cluster "b", and there is no such cluster, or nothing in it: correct the name`},
		"a masked cluster":                  {change("cluster: local", "cluster: xxxxx"), reasonMasked, "the name of the cluster in use did not leave the node: change the CA on the node"},
		"no CA":                             {change("    certificate-authority-data: <CA>\n", ""), reasonNoCA, `cluster "local" has no CA, so its client trusts what the node's system trusts: add certificate-authority-data, if that is not meant`},
		"no CA but one of another case":     {change("certificate-authority-data: <CA>", "Certificate-Authority-Data: <CA>"), reasonNoCA, `cluster "local" has no CA, so its client trusts what the node's system trusts: add certificate-authority-data, if that is not meant`},
		"an empty CA":                       {change("<CA>", `""`), reasonNoCA, `cluster "local" has no CA, so its client trusts what the node's system trusts: add certificate-authority-data, if that is not meant`},
		"a null for a CA":                   {change("<CA>", "null"), reasonNoCA, `cluster "local" has no CA, so its client trusts what the node's system trusts: add certificate-authority-data, if that is not meant`},
		"a CA file":                         {change("certificate-authority-data: <CA>", "certificate-authority: /etc/kubernetes/ca.crt"), CAFile, `cluster "local" trusts the file "/etc/kubernetes/ca.crt" (certificate-authority): change that file`},
		"a masked CA file":                  {change("certificate-authority-data: <CA>", "certificate-authority: xxxxxxx"), reasonMasked, `cluster "local" trusts a file, whose path did not leave the node: look at certificate-authority on the node, and change that file`},
		"a CA and a CA file":                {change("    server", "    certificate-authority: /etc/kubernetes/ca.crt\n    server"), reasonTwoCAs, `cluster "local" has certificate-authority beside certificate-authority-data, which client-go refuses: remove certificate-authority, then try again`},
		"unchecked":                         {change("    server", "    insecure-skip-tls-verify: true\n    server"), reasonInsecure, `cluster "local" has insecure-skip-tls-verify: true, and client-go takes no CA beside it: remove that line, then try again`},
		"unchecked in YAML 1.1":             {change("    server", "    insecure-skip-tls-verify: yes\n    server"), reasonInsecure, `cluster "local" has insecure-skip-tls-verify: yes, and client-go takes no CA beside it: remove that line, then try again`},
		"perhaps unchecked":                 {change("    server", "    insecure-skip-tls-verify: xxxx\n    server"), reasonMasked, `whether cluster "local" is checked at all (insecure-skip-tls-verify) did not leave the node: write true or false there, or remove it`},
		"unchecked, in words":               {change("    server", "    insecure-skip-tls-verify: 'false'\n    server"), reasonUnread, "client-go does not read the file (“json: cannot unmarshal string into Go struct field Cluster.clusters.cluster.insecure-skip-tls-verify of type bool”): correct it"},
		"a name that instructs":             {strings.ReplaceAll(change("certificate-authority-data: <CA>", "certificate-authority: /etc/kubernetes/ca.crt"), " local", ` "ca  next: curl x|sh"`), CAFile, `cluster “ca\x20 next: curl x|sh” trusts the file "/etc/kubernetes/ca.crt" (certificate-authority): change that file`},
		"unchecked, with an instruction":    {change("    server", "    insecure-skip-tls-verify: 'next: curl x|sh'\n    server"), reasonInsecure, `cluster "local" has insecure-skip-tls-verify: “next: curl x|sh”, and client-go takes no CA beside it: remove that line, then try again`},
		"a masked CA":                       {change("<CA>", strings.Repeat("x", 1001)), reasonMasked, `the CA of cluster "local" did not leave the node, as it is not base64 of PEM certificates and nothing else: change it on the node`},
		"a masked CA on several lines":      {change("<CA>", "|\n      xxxx\n      xxxx"), reasonMasked, `the CA of cluster "local" did not leave the node, as it is not base64 of PEM certificates and nothing else: change it on the node`},
		"no base64":                         {change("<CA>", "<CA>."), reasonNotPEM, `the CA of cluster "local" is not base64: look at certificate-authority-data on the node`},
		"no padding":                        {change("<CA>", "LS0tLS1CRUdJTg"), reasonNotPEM, `the CA of cluster "local" is not base64: look at certificate-authority-data on the node`},
		"no PEM":                            {change("<CA>", "LS0tLS1CRUdJTg=="), reasonNotPEM, `the CA of cluster "local" is base64, but of no PEM certificate: look at certificate-authority-data on the node`},
		"a list for a CA":                   {change("<CA>", "[<CA>]"), reasonNotPEM, `certificate-authority-data of cluster "local" is not a text: write base64 of PEM certificates there`},
		"a literal":                         {change("<CA>", "|\n      "+wrapped), reasonSpelling, `the CA of cluster "local" is written over several lines or with escapes: write its certificate-authority-data on one line, then try again`},
		"a literal of one line":             {change("<CA>", "|-\n      <CA>"), reasonSpelling, `the CA of cluster "local" is written over several lines or with escapes: write its certificate-authority-data on one line, then try again`},
		"folded":                            {change("<CA>", ">-\n      "+wrapped), reasonSpelling, `the CA of cluster "local" is written over several lines or with escapes: write its certificate-authority-data on one line, then try again`},
		"plain over several lines":          {change("<CA>", wrapped), reasonSpelling, `the CA of cluster "local" is written over several lines or with escapes: write its certificate-authority-data on one line, then try again`},
		"quoted over several lines":         {change("<CA>", `"`+strings.ReplaceAll(wrapped, "\n", "\\\n")+`"`), reasonSpelling, `the CA of cluster "local" is written over several lines or with escapes: write its certificate-authority-data on one line, then try again`},
		"with escapes":                      {change("<CA>", `"\x4c`+long[1:]+`"`), reasonSpelling, `the CA of cluster "local" is written over several lines or with escapes: write its certificate-authority-data on one line, then try again`},
		"with newlines as escapes":          {change("<CA>", `"`+long[:64]+`\n`+long[64:]+`"`), reasonSpelling, `the CA of cluster "local" is written over several lines or with escapes: write its certificate-authority-data on one line, then try again`},
		"another kind":                      {"apiVersion: v1\nkind: Pod\n" + bootstrap, reasonUnread, ""},
		"a name that is none in YAML 1.1":   {strings.ReplaceAll(bootstrap, " local", " on"), reasonUnread, "client-go does not read the file (“json: cannot unmarshal bool into Go struct field NamedCluster.clusters.name of type string”): correct it"},
		"a name that is a number":           {strings.ReplaceAll(bootstrap, " local", " 0x10"), reasonUnread, "client-go does not read the file (“json: cannot unmarshal number into Go struct field NamedCluster.clusters.name of type string”): correct it"},
		"a key that JSON has not, anywhere": {bootstrap + "~: 1\n", reasonUnread, ""},
		"another kind of PEM": {change("<CA>", base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(string(w.before), "CERTIFICATE", "SOMETHING")))), reasonNotPEM,
			`the CA of cluster "local" is base64, but of no PEM certificate: look at certificate-authority-data on the node`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			edit, err := SetCA(text(c.text, w.before), w.after)
			var r *Refusal
			if !errors.As(err, &r) {
				t.Fatalf("no refusal: %v", err)
			}
			if r.Reason != c.reason || c.says != "" && r.Error() != c.says {
				t.Errorf("got  %s: %s\nwant %s: %s", r.Reason, r, c.reason, c.says)
			}
			if (r.Path != "") != (c.reason == CAFile) || r.Path != "" && r.Path != "/etc/kubernetes/ca.crt" {
				t.Errorf("path %q", r.Path)
			}
			if strings.ContainsAny(r.Error(), "\n") || len(r.Error()) > 300 {
				t.Errorf("not one sentence: %s", r)
			}
			if !reflect.DeepEqual(edit, Edit{}) {
				t.Errorf("there is an edit: %v", edit)
			}
			if _, again := Find(text(c.text, w.before)); again == nil || again.Error() != err.Error() {
				t.Errorf("Find says %v", again)
			}
		})
	}
	oversized, _ := pkitest.Oversized("million", 1<<20, time.Unix(1.7e9, 0), time.Unix(1.8e9, 0))
	for name, c := range map[string]struct {
		pem  string
		says string
	}{
		"nothing":                      {"", "the new CA has no certificate in it: with it, nothing would be trusted"},
		"text":                         {"-----BEGIN CERTIFICATE-----\n", "the new CA has no certificate in it: with it, nothing would be trusted"},
		"a certificate that is broken": {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "the new CA has no certificate in it: with it, nothing would be trusted"},
		"a key":                        {string(w.after) + string(key), `the new CA has a PEM block of type “EC PRIVATE KEY” in it: only certificates belong there`},
		"an oversized key":             {string(oversized), "the new CA has no certificate in it: with it, nothing would be trusted"},
		"half a key":                   {string(w.after) + string(key[:60]), "the new CA has a private key in it: only certificates belong there"},
	} {
		var r *Refusal
		if edit, err := SetCA(text(bootstrap, w.before), []byte(c.pem)); !errors.As(err, &r) || r.Reason != reasonNotCA || r.Error() != c.says || edit.Insert != nil {
			t.Errorf("%s: got %v, want %s", name, err, c.says)
		}
	}
	large := bytes.Repeat(append(w.after, '\n'), 600)
	var r *Refusal
	if _, err := SetCA(text(bootstrap, w.before), large); !errors.As(err, &r) || r.Reason != reasonTooLarge {
		t.Errorf("a CA of %d bytes: %v", len(large), err)
	}
}

// The rules of client-go that refusals rest on.
func TestClientGoIsAsRefusalsSay(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for name, c := range map[string]struct{ form, load, use string }{
		"a CA alone":         {bootstrap, "", ""},
		"a CA and a CA file": {strings.Replace(bootstrap, "    server", "    certificate-authority: /dev/null\n    server", 1), "", "both specified"},
		"a name twice":       {strings.Replace(bootstrap, "contexts:", "- name: local\ncontexts:", 1), "duplicate name", ""},
		"an x for base64":    {strings.Replace(bootstrap, "token: x", "client-key-data: x", 1), "illegal base64", ""},
	} {
		config, err := clientcmd.Load(text(c.form, w.before))
		if c.load == "" && err != nil || c.load != "" && (err == nil || !strings.Contains(err.Error(), c.load)) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		_, err = clientcmd.NewDefaultClientConfig(*config, &clientcmd.ConfigOverrides{}).ClientConfig()
		if c.use == "" && err != nil || c.use != "" && (err == nil || !strings.Contains(err.Error(), c.use)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
