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
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/kubeconfigtest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// world holds the CA that files have in these tests, and the one they get.
type world struct{ before, after []byte }

func newWorld() world {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ca := func(name string) []byte { return pkitest.NewCA(name, at, at.AddDate(1, 0, 0)).CertPEM }
	// Of different lengths, so that what is behind the value moves.
	return world{ca("kube-apiserver-lb-signer"), pkitest.Bundle(ca("new-lb-signer"), ca("kube-apiserver-localhost-signer"), []byte("# by hand\n"), ca("kube-apiserver-service-network-signer"))}
}

// text fills a form in: <CA> stands for the CA, in base64.
func text(form string, pem []byte) []byte {
	return []byte(strings.ReplaceAll(form, "<CA>", base64.StdEncoding.EncodeToString(pem)))
}

// bootstrap is what a machine config server serves.
var bootstrap = kubeconfigtest.Older(kubeconfigtest.MachineConfigServer("<CA>", demoServer, "xxxxxxxxxxxxxxxxxxxxxxxxxxx"))

const demoServer = "https://api-int.demo.example:6443"

// forms are files that are edited, by what is special about them.
func forms() map[string]string {
	return map[string]string{
		"the bootstrap file of OpenShift, without a kind": bootstrap,
		"the file of a kubelet":                           kubeconfigtest.Kubelet("<CA>", demoServer),
		"several clusters, of which the current one is not the first": `apiVersion: v1
kind: Config
current-context: two
contexts:
- {name: one, context: {cluster: a, user: u}}
- {name: two, context: {cluster: b, user: u}}
clusters:
- name: a
  cluster:
    server: https://a.example
    certificate-authority-data: TFMwdA==
- name: b
  cluster:
    server: https://b.example
    certificate-authority-data: <CA>
- name: c
  cluster:
    server: https://c.example
    certificate-authority: /etc/c.crt
- name: d
  cluster:
    server: https://d.example
    insecure-skip-tls-verify: true
users: []
`,
		"another cluster with the same value":     strings.Replace(bootstrap, "contexts:", "- cluster: {server: https://b.example, certificate-authority-data: <OLD>}\n  name: other\ncontexts:", 1),
		"the value in a comment before":           strings.Replace(bootstrap, "clusters:", "# <OLD>\nclusters:", 1),
		"comments everywhere":                     "# über\n" + strings.ReplaceAll(strings.ReplaceAll(bootstrap, "\n", " # é xxx\n"), "contexts:", "# own line\n\n# another\ncontexts:"),
		"comments of their own around the value":  strings.Replace(bootstrap, "    certificate-authority-data: <CA>\n", "    # before\n    certificate-authority-data: <CA>   # the lb's\n    # behind\n\n    # further behind\n", 1),
		"a comment below the last line":           strings.Replace(bootstrap, "- cluster:\n    certificate-authority-data: <CA>\n    server: https://api-int.demo.example:6443\n", "- cluster:\n    server: https://api-int.demo.example:6443\n    certificate-authority-data: <CA> # c\n    # foot\n  # foot\n", 1),
		"CRLF":                                    strings.ReplaceAll(bootstrap, "\n", "\r\n"),
		"CRLF and LF":                             strings.Replace(bootstrap, "\n", "\r\n", 3),
		"no newline at the end":                   strings.TrimSpace(bootstrap),
		"the value at the end, without a newline": "current-context: k\ncontexts:\n- name: k\n  context:\n    cluster: c\nclusters:\n- name: c\n  cluster:\n    server: https://a.example\n    certificate-authority-data: <CA>",
		"tabs":                      strings.Replace(bootstrap, "certificate-authority-data: <CA>", "certificate-authority-data:\t<CA>\t\t# tab", 1),
		"blanks around":             strings.Replace(bootstrap, "certificate-authority-data: <CA>", "certificate-authority-data  :    <CA>     ", 1),
		"single quotes":             strings.Replace(bootstrap, "<CA>", "'<CA>'", 1),
		"double quotes":             strings.Replace(bootstrap, "<CA>", `"<CA>" # "`, 1),
		"quoted keys":               strings.Replace(bootstrap, "certificate-authority-data: <CA>", `"certificate-authority-data": <CA>`, 1),
		"on the line below its key": strings.Replace(bootstrap, "certificate-authority-data: <CA>", "certificate-authority-data:\n      # below\n      <CA>", 1),
		"with a question mark":      strings.Replace(bootstrap, "certificate-authority-data: <CA>", "? certificate-authority-data\n    : <CA>", 1),
		"letters of several bytes before, in flow": `{current-context: k, contexts: [{name: k, context: {cluster: "größe €"}}], clusters: [{name: "größe €", cluster: {server: "https://a.example", certificate-authority-data: <CA>}}]} # ü
`,
		"flow in a block":           strings.Replace(bootstrap, "cluster:\n    certificate-authority-data: <CA>\n    server: https://api-int.demo.example:6443", "cluster: {certificate-authority-data: <CA>, server: 'https://api-int.demo.example:6443'}", 1),
		"flow over several lines":   strings.Replace(bootstrap, "cluster:\n    certificate-authority-data: <CA>\n    server: https://api-int.demo.example:6443", "cluster: { # a\n    certificate-authority-data: <CA> # b\n    , server: 'https://api-int.demo.example:6443'\n    }", 1),
		"sequences deeper in":       "clusters:\n    -   name: c\n        cluster:\n                certificate-authority-data: <CA>\n                server: https://a.example\ncontexts:\n    -\n      name: k\n      context:\n        cluster: c\ncurrent-context: k\n",
		"JSON":                      `{"kind":"Config","apiVersion":"v1","clusters":[{"name":"c","cluster":{"server":"https://a.example","certificate-authority-data":"<CA>"}}],"contexts":[{"name":"k","context":{"cluster":"c","user":""}}],"current-context":"k","users":null}`,
		"JSON with tabs":            "{\n\t\"clusters\": [\n\t\t{\n\t\t\t\"name\": \"c\",\n\t\t\t\"cluster\": {\n\t\t\t\t\"certificate-authority-data\": \"<CA>\",\n\t\t\t\t\"server\": \"https://a.example\"\n\t\t\t}\n\t\t}\n\t],\n\t\"contexts\": [{\"name\": \"k\", \"context\": {\"cluster\": \"c\"}}],\n\t\"current-context\": \"k\"\n}\n",
		"a document's start":        "---\n" + bootstrap,
		"a document's end":          "%YAML 1.1\n--- # start\n" + bootstrap + "...\n# end\n",
		"checking is on explicitly": strings.Replace(bootstrap, "    server:", "    insecure-skip-tls-verify: false\n    certificate-authority: \"\"\n    server:", 1),
		"keys of another case, which client-go does not know": strings.Replace(bootstrap, "    server:", "    Certificate-Authority: /etc/ca.crt\n    Insecure-Skip-TLS-Verify: true\n    server:", 1),
		"what did not leave the node, in place of numbers, structs and base64": `apiVersion: v1
kind: Config
preferences:
  xxxxxx: xxxx
  colors: xxxx
clusters:
- cluster:
    certificate-authority-data: <CA>
    server: xxxxxxxxxxxx
    disable-compression: xxxx
    xxx: 1
    xxx: xxxxx
  name: local
- cluster: {certificate-authority-data: xxxxx, insecure-skip-tls-verify: xxx}
  name: xxxx
- cluster: {certificate-authority-data: xxxxx}
  name: xxxx
contexts:
- context: {cluster: local, user: a}
  name: k
- context: {cluster: xxxx, user: a}
  name: xxxx
- context: xxxx
  name: xxxx
current-context: k
users:
- name: a
  user:
    client-certificate-data: xxxxxxxxxxxxx
    client-key-data: xxxxxxxxxxxxx # xxx
    exec: {xxxx: 111, env: xxxx, provideClusterInfo: xxxxx, args: [xxx, xx]}
- name: xx
  user: xxxx
- name: xx
  user: {token: "xxxx"}
`,
	}
}

func (w world) form(form string, pem []byte) []byte {
	return text(strings.ReplaceAll(form, "<OLD>", base64.StdEncoding.EncodeToString(w.before)), pem)
}

func TestSetCAChangesTheValueAndNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for name, form := range forms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, want := w.form(form, w.before), w.form(form, w.after)
			ca, err := Find(before)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(ca.PEM, w.before) {
				t.Errorf("found %q", ca.PEM)
			}
			edit, err := SetCA(before, w.after)
			if err != nil {
				t.Fatal(err)
			}
			if edit.Offset != ca.Offset || edit.Length != ca.Length {
				t.Errorf("edited is %d+%d, found was %d+%d", edit.Offset, edit.Length, ca.Offset, ca.Length)
			}
			got := edit.Apply(before)
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if edit, err = SetCA(got, w.after); err != nil || edit.Length != 0 || edit.Insert != nil || !bytes.Equal(edit.Apply(got), got) {
				t.Errorf("the second time: %v, %v", edit, err)
			}
			if edit, err = SetCA(got, w.before); err != nil || !bytes.Equal(edit.Apply(got), before) {
				t.Errorf("there is no way back: %v", err)
			}
		})
	}
}

func TestFindSaysWhereTheCAIs(t *testing.T) {
	t.Parallel()
	w := newWorld()
	before := w.form(forms()["several clusters, of which the current one is not the first"], w.before)
	got, err := Find(before)
	if err != nil {
		t.Fatal(err)
	}
	value := base64.StdEncoding.EncodeToString(w.before)
	want := CA{Cluster: "b", Server: "https://b.example", Field: "clusters[1].cluster.certificate-authority-data", PEM: w.before, Offset: bytes.Index(before, []byte(value)), Length: len(value)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// No text is known for which the proof is what refuses, so it is given texts that
// no edit makes.
func TestProofSeesWhateverElseChanges(t *testing.T) {
	t.Parallel()
	w := newWorld()
	form := strings.Replace(bootstrap, "  name: local\n", "  name: local # c\n- cluster: {certificate-authority-data: <OLD>}\n  name: other\n", 1)
	value := base64.StdEncoding.EncodeToString(w.after)
	for name, c := range map[string]struct {
		form  string
		value string
		fine  bool
	}{
		"the edit":                   {form, value, true},
		"another value":              {form, value + "=", false},
		"of the same meaning":        {strings.Replace(form, "<CA>", "'<CA>'", 1), value, false},
		"nothing":                    {strings.Replace(form, "<CA>", "<OLD>", 1), value, false},
		"another cluster's":          {strings.Replace(form, "<OLD>", "<CA>", 1), value, false},
		"a comment":                  {strings.Replace(form, "# c", "# d", 1), value, false},
		"a line":                     {"\n" + form, value, false},
		"a key more":                 {form + "a: b\n", value, false},
		"a secret":                   {strings.Replace(form, "token: xxx", "token: xx", 1), value, false},
		"a number for a text":        {strings.Replace(form, "user: kubelet", "user: 1", 1), value, false},
		"what is no YAML":            {form + "]", value, false},
		"what client-go refuses":     {form + "kind: Pod\n", value, false},
		"a control character":        {form + "# \x01\n", value, false},
		"what only client-go sees":   {strings.Replace(form, "<CA>", "!!binary <CA>", 1), value, false},
		"the cluster of the context": {strings.Replace(form, "    cluster: local", "    cluster: other", 1), value, false},
	} {
		before, err := read(w.form(form, w.before))
		if err != nil {
			t.Fatal(err)
		}
		if err := before.prove(w.form(c.form, w.after), c.value, w.after); (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
	before, err := read(w.form(form, w.before))
	if err != nil {
		t.Fatal(err)
	}
	if err := before.prove(w.form(form, w.after), value, w.before); err == nil {
		t.Error("another PEM than the value's is taken for it")
	}
}

// big is a kubeconfig of exactly maxSize bytes, most of which are the CA.
func (w world) big() []byte {
	pem := bytes.Repeat(w.before, maxSize/2/len(w.before))
	big := text(bootstrap, pem)
	return append(big, bytes.Repeat([]byte("#"), maxSize-len(big))...)
}

func TestTheLargestFileIsEdited(t *testing.T) {
	t.Parallel()
	w := newWorld()
	big := w.big()
	edit, err := SetCA(big, w.after)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Find(edit.Apply(big)); err != nil || !bytes.Equal(got.PEM, w.after) {
		t.Errorf("%v", err)
	}
	var r *Refusal
	if _, err := SetCA(append(big, '#'), w.after); !errors.As(err, &r) || r.Reason != reasonTooLarge {
		t.Errorf("one more: %v", err)
	}
}

func BenchmarkSetCA(b *testing.B) {
	w := newWorld()
	many := []byte(strings.Replace(string(text(bootstrap, w.before)), "contexts:", strings.Repeat("- {name: xxx, cluster: {server: 'https://xxx', tls-server-name: a}} # xx\n", 9000)+"contexts:", 1))
	for name, text := range map[string][]byte{"usual": text(bootstrap, w.before), "1MB": w.big(), "9000clusters": many} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := SetCA(text, w.after); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestBriefKeepsNoPasswordOfAProxy: without a scheme it is no URL to who looks for URLs.
func TestBriefKeepsNoPasswordOfAProxy(t *testing.T) {
	t.Parallel()
	for _, proxy := range []string{"proxyuser:SECRET@proxy.example.com:3128", "http://proxyuser:SECRET@proxy.example.com:3128", "SECRET\" x"} {
		config := clientcmdapi.NewConfig()
		config.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://api.example.com", ProxyURL: proxy}
		config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
		config.CurrentContext = "c"
		_, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
		if err == nil {
			continue // client-go takes it
		}
		if text := Brief(err); strings.Contains(text, "SECRET") || !strings.Contains(text, "invalid") {
			t.Errorf("%s", text)
		}
	}
}
