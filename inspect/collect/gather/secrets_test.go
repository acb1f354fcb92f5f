package gather

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// secrets are what must not leave the node, in no shape.
type secrets struct {
	all [][]byte

	once         sync.Once
	pieces, long map[string]string // of all, by leaks: what to look for
}

// token makes a secret of characters that need no quotes.
func (s *secrets) token() string {
	raw := make([]byte, 30)
	_, _ = rand.Read(raw)
	text := strings.NewReplacer("+", "A", "/", "b").Replace(base64.StdEncoding.EncodeToString(raw))
	s.all = append(s.all, []byte(text))
	return text
}

// key takes note of the private numbers of a key.
func (s *secrets) key(p pkitest.Pair) {
	block, _ := pem.Decode(p.KeyPEM)
	if k, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		s.all = append(s.all, k.D.Bytes(), k.Primes[0].Bytes(), k.Primes[1].Bytes())
		return
	}
	if k, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		scalar, _ := k.Bytes()
		s.all = append(s.all, scalar)
		return
	}
	s.all = append(s.all, block.Bytes[16:]) // Ed25519 in PKCS#8
}

// window is the length from which on a piece of a secret counts as found.
const window = 8

// cut makes the pieces by which secrets are found.
func (s *secrets) cut() {
	pieces, long := map[string]string{}, map[string]string{}
	s.pieces, s.long = pieces, long
	add := func(shape string, text []byte) {
		for i := 0; i+window <= len(text); i++ {
			pieces[string(text[i:i+window])] = shape
		}
	}
	for _, secret := range s.all {
		add("itself", secret)
		for i := 0; i+window <= len(secret); i++ { // 8 digits are 4 bytes: any checksum may hold those
			digits := hex.EncodeToString(secret[i : i+window])
			long[digits], long[strings.ToUpper(digits)] = "hex", "hex"
		}
		for shift := range 3 {
			e := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), secret...))
			e = e[(shift*8+5)/6 : (shift+len(secret))*8/6] // without the characters that the neighbours share
			add(fmt.Sprintf("base64 at %d", shift), []byte(e))
			add(fmt.Sprintf("base64url at %d", shift), []byte(strings.NewReplacer("+", "-", "/", "_").Replace(e)))
		}
		reversed := slices.Clone(secret)
		slices.Reverse(reversed)
		add("reversed", reversed)
	}
}

// leaks returns the pieces of secrets in what left the node. All secrets have to
// be made before.
func (s *secrets) leaks(t *testing.T, out []byte) []string {
	t.Helper()
	s.once.Do(s.cut)
	var found []string
	search := func(text []byte) {
		for i := 0; i+window <= len(text); i++ {
			shape, ok := s.pieces[string(text[i:i+window])]
			if !ok {
				shape, ok = s.long[string(text[i:min(i+2*window, len(text))])]
			}
			if ok {
				found = append(found, fmt.Sprintf("%s: %.120q", shape, text[max(0, i-40):min(len(text), i+40)]))
				i += 60
			}
		}
	}
	search(out)
	var plain []byte
	for line := range bytes.Lines(out) {
		text, err := unescape(strings.TrimSuffix(string(line), "\n"))
		if err != nil {
			t.Fatal(err)
		}
		plain = append(append(plain, text...), '\n')
	}
	search(plain)
	search(bytes.ReplaceAll(plain, []byte("\n"), nil)) // wrapped base64
	return found
}

// hiding are files with secrets in every place that we could think of.
func (s *secrets) hiding(id identity) map[string]string {
	ca := string(id.ca.CertPEM)
	e := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	key := func(p pkitest.Pair) string { s.key(p); return string(p.KeyPEM) }
	ec, rsaKey, ed := key(id.client), key(id.rsa), key(id.other.Pair)
	block, _ := pem.Decode(id.client.KeyPEM)
	ecKey, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		panic(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(ecKey)
	if err != nil {
		panic(err)
	}
	encrypted := strings.Replace(rsaKey, "KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n", 1)
	renamed := strings.ReplaceAll(rsaKey, "RSA PRIVATE KEY", "CERTIFICATE")
	appended := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: append(slices.Clone(id.ca.Cert.Raw), pkcs8...)})
	loud := strings.ToUpper(s.token())
	s.all = append(s.all, []byte(loud))
	wrapped := func(text string) string {
		var b strings.Builder
		for line := range slices.Chunk([]byte(e(text)), 64) {
			b.WriteString("      " + string(line) + "\n")
		}
		return b.String()
	}
	remark := func() string { return "# " + s.token()[:12+len(s.all)%5] + "\n" } // short, as people write a password beside what it opens
	user := func(body string) string {
		return "apiVersion: v1\nkind: Config\nclusters:\n- name: a\n  cluster:\n    server: https://a:6443\n    certificate-authority-data: " + e(ca) + "\ncontexts: []\nusers:\n- name: u\n  user:\n" + body
	}
	cluster := func(value string) string {
		return "clusters:\n- name: a\n  cluster:\n    certificate-authority-data: " + value + "\nusers: []\n"
	}
	m := map[string]string{
		"pem/key": ec, "pem/rsa": rsaKey, "pem/ed": ed, "pem/both": ca + ec, "pem/between": ca + ec + ca, "pem/encrypted": encrypted + ca,
		"pem/renamed": renamed, "pem/appended": string(appended), "pem/crlf": strings.ReplaceAll(ca+ec, "\n", "\r\n"), "pem/cr": strings.ReplaceAll(ca+ec, "\n", "\r"),
		"pem/glued": strings.ReplaceAll(ca+ec, "\n-----BEGIN", "-----BEGIN"), "pem/noend": strings.Split(ec, "-----END")[0] + "\n" + ca, "pem/begin": "-----BEGIN CERTIFICATE-----\n" + ec,
		"pem/inside": strings.Replace(ca, "\n", "\n"+s.token()+"\n", 1), "pem/text": "token: " + s.token() + "\n" + ca + s.token() + ca + s.token(), "pem/header": strings.Replace(ca, "-----\n", "-----\nToken: "+s.token()+"\n\n", 1),
		"pem/label": "-----BEGIN " + loud + "-----\nQUJD\n-----END X-----\n", "pem/pkcs8": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})),
		"pem/nul": ca + "\x00" + ec, "pem/indented": strings.ReplaceAll(ca+ec, "\n", "\n    "), "pem/escaped": strings.ReplaceAll(ca+ec, "\n", `\n`), "pem/url": strings.NewReplacer("\n", "%0A", " ", "%20").Replace(ca + ec),
		"der/key": string(pkcs8), "der/appended": string(id.ca.Cert.Raw) + string(pkcs8), "der/before": string(pkcs8) + string(id.ca.Cert.Raw),
		"b64/key": e(ec), "b64/both": e(ca + ec), "b64/before": e(ec + ca), "b64/comment": e("# " + s.token() + "\n" + ca), "b64/behind": e(ca) + s.token(), "b64/json": `{"tls.crt":"` + e(ca) + `","tls.key":"` + e(ec) + `"}`,
		"b64/shift1": e("x" + ca + ec), "b64/shift2": e("xx" + ca + ec), "text.conf": "password=" + s.token() + "\n", "auths.json": `{"auths":{"quay.io":{"auth":"` + s.token() + `"}},"ca":"` + strings.ReplaceAll(ca, "\n", `\n`) + `"}`,

		"ca/key": cluster(e(ca + ec)), "ca/keyonly": cluster(e(ec)), "ca/text": cluster(e(ca + s.token())), "ca/comment": cluster(e("# " + s.token() + "\n" + ca)), "ca/token": cluster(s.token()), "ca/renamed": cluster(e(renamed)), "ca/appended": cluster(e(string(appended))),
		"ca/block": cluster("|\n" + wrapped(ca+ec)), "ca/shift1": cluster(e("\n" + ca + ec)), "ca/shift2": cluster(e("\n\n" + ca + ec)), "ca/quoted": cluster(`"` + e(ca+ec) + `"`), "ca/raw": cluster("|\n    " + strings.ReplaceAll(ec, "\n", "\n      ")),
		"ca/der": cluster(base64.StdEncoding.EncodeToString(pkcs8)), "ca/b64b64": cluster(e(e(ca + ec))), "ca/long": cluster(e(ca + "#" + s.token() + s.token() + s.token() + s.token())),
	}
	for i := range 4 { // where a comment begins in a group of base64, and ends
		pad := strings.Repeat("\n", i)
		m[fmt.Sprint("b64/remark", i)] = "x: " + e(pad+remark()+ca+remark()+remark()+ca) + "\n"
		m[fmt.Sprint("b64/remarkend", i)] = "data:;base64," + e(ca+pad+strings.TrimSpace(remark()))
		m[fmt.Sprint("ca/remark", i)] = cluster(e(pad + remark() + ca + pad + remark()))
		m[fmt.Sprint("ca/remarkblock", i)] = cluster("|\n" + wrapped(pad+remark()+ca+remark()))
	}
	for name, body := range map[string]string{
		"plain": "    token: %s\n", "double": "    token: \"%s\"\n", "single": "    token: '%s'\n", "escapes": "    token: \"\\u0041%s\\n\\\"%s\"\n", "literal": "    token: |\n      %s\n      name: %s\n    tokenFile: /a\n",
		"folded": "    token: >-\n      %s\n\n      server: %s\n", "literalkeep": "    token: |2+\n      %s\n      client-key: %s\n", "plainfolded": "    token: a\n      %s\n      %s\n", "multiquote": "    token: \"a\n      name: %s\n\n  token: b%s\"\n", "multisingle": "    token: 'a''\n      %s''\n      %s'\n",
		"anchor": "    token: &t %s\n- name: %s\n  user:\n    token: *t\n", "tag": "    token: !!str %s\n    password: !%s x\n", "tab": "    token:\t%s\n\tpassword: %s\n", "merge": "    <<: {token: %s}\n    password: %s\n", "complex": "    ? token\n    : %s\n    ? [%s]\n    : x\n",
		"flow": "    {token: %s, 'password': %s}\n", "flowjson": "    {\"token\":\"%s\",\"username\":\"%s\"}\n", "flowmulti": "    {token: a %s,\n     password: \"%s\",\n     }\n", "flowopen": "    {token: \"%s\n      server: %s\"}\n", "flowseq": "    exec: {args: [--token, %s, {name: %s}], env: null}\n",
		"exec": "    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: login\n      args:\n      - --token=%s\n      env:\n      - name: TOKEN\n        value: %s\n", "provider": "    auth-provider:\n      name: oidc\n      config:\n        id-token: %s\n        name: %s\n",
		"comment": "    token: x # %s\n    # %s\n", "keys": "    %s: x\n    ? %s\n", "oddkeys": "    \"%s\": x\n    '%s': y\n", "basic": "    username: %s\n    password: %s\n", "unknown": "    as: %s\n    extra:\n    - %s\n", "nested": "    token:\n      server: %s\n      name:\n      - %s\n",
		"deeper": "    client-certificate: /a\n      server: %s\n      name: %s\n", "less": "    token: a\n  name: %s\n server: %s\n", "keypath": "    client-key: %s\n    client-certificate: %s\n", "colon": "    token: a: %s\n    password: b:%s:c\n", "dashes": "    token: - %s\n    password:\n    - - %s\n",
		"docs": "---\n%s\n---\ntoken: %s\n", "docend": "...\n%s\n%%YAML 1.2\n--- %s\n", "directive": "--- >\n %s\nname: %s\n", "cr": "    token: a\rname: %s\r    password: %s\n", "nel": "    token: a\xc2\x85name: %s\xc2\x85    password: %s\n", "ls": "    token: a\xe2\x80\xa8%s\xe2\x80\xa9%s\n", "bom": "\xef\xbb\xbf    token: %s\n    password: %s\n",
		"nul": "    token: a\x00%s\x00%s\n", "long": "    token: " + strings.Repeat("a", 9000) + "%s\n    password: %s\n", "spaces": "    token:      %s     \n    password: correct %s horse\n", "unicode": "    token: ü%s\n    password: \xff%s\n", "nocolon": "    token %s\n    %s\n", "noeol": "    token: %s\n    password: %s",
		"extension": "    extensions:\n    - name: x\n      extension:\n        server: %s\n        clusters:\n        - cluster:\n            server: %s\n", "names2": "    token: x\n- name: %s\n- name: %s\n", "names": "    name: %s\n- user: {token: %s}\n  name: n\n", "dup": "    token: %s\n    token: %s\n", "percent": "    token: \"%%41%s\"\n    password: %%0A%s\n",
	} {
		for eol, ending := range map[string]string{"lf": "\n", "crlf": "\r\n"} {
			text := user(fmt.Sprintf(body, s.token(), s.token()))
			m["kube/"+name+"-"+eol] = strings.ReplaceAll(text, "\n", ending)
		}
	}
	for name, url := range map[string]string{"userinfo": "https://admin:%s@proxy:3128/", "at": "https://a@b:%s@proxy", "query": "https://h/?t=%s", "fragment": "https://h/#%s", "path": "https://h/%s", "scheme": "ftp://%s@h/", "host": "%s", "v6": "https://u:%s@[fd00::1]:6443", "brackets": "https://[%s]:6443"} {
		u := fmt.Sprintf(url, s.token())
		m["url/"+name] = "clusters:\n- cluster:\n    server: " + u + "\n    proxy-url: \"" + u + "\"\nusers: []\n"
		m["url/json"+name] = `{"clusters":[{"cluster":{"server":"` + u + `","proxy-url":"` + strings.ReplaceAll(u, "/", `\/`) + `"}}],"users":[]}`
	}
	for name, text := range map[string]string{
		"line": `{"clusters":[],"users":[{"name":"u","user":{"token":"%s","password":"\"%s"}}]}`, "pretty": "{\n\t\"clusters\": [],\n\t\"users\": [\n\t\t{\"user\": {\"token\": \"%s\", \"x\": 1,\n\"client-key-data\":\"%s\"}}]\n}\n", "key": `{"clusters":[],"users":{"%s":"%s"}}`,
		"behind": `{"clusters":[],"users":[]} %s {"a":"%s"}`, "broken": `{"clusters":[],"users":[{"token":"%s","password":"%s]}`, "array": `[{"clusters":[],"users":[{"user":{"token":"%s"}}]},"%s"]`, "escape": `{"clusters":[],"users":[],"to\u006ben":"%s","current-context":"\u0041%s"}`, "single": `{'clusters':[],'users':[{'user':{'token':'%s','password':'it''s%s'}}]}`,
	} {
		m["json/"+name] = fmt.Sprintf(text, s.token(), s.token())
	}
	m["kubelet.conf"] = kubeletConf + "staticPodURLHeader:\n  Authorization:\n  - Bearer " + s.token() + "\nproviderID: " + s.token() + "\nauthorization:\n  mode: Webhook\n"
	return m
}

func TestNoSecretLeavesTheNode(t *testing.T) {
	t.Parallel()
	id := newIdentity()
	var s secrets
	token := s.token()
	root := newRoot(t)
	tree(t, root, id.openshift(token))
	s.key(id.client)
	s.key(id.server)
	files := map[string]string{}
	for name, text := range s.hiding(id) {
		files["/etc/kubernetes/secrets/"+name] = text
	}
	tree(t, root, files)
	everywhere(t, func(t *testing.T, w world) {
		n, r := w.read(t, root, Options{Paths: []string{"/etc/kubernetes/secrets"}, TrustStores: true})
		for _, leak := range s.leaks(t, n.raw) {
			t.Error(leak)
		}
		// and the test can find something:
		if len(s.leaks(t, []byte("x "+token[3:14]))) == 0 || len(s.leaks(t, []byte(hex.EncodeToString([]byte(token))))) == 0 {
			t.Error("a planted secret is not found in plain sight")
		}
		understood := 0
		for _, f := range r.Files {
			if strings.HasPrefix(f.Path, "/etc/kubernetes/secrets/kube/") && f.Content != nil && f.Content.Text != nil {
				understood++
			}
		}
		t.Logf("%d files of %d secrets; %d kubeconfigs understood; %d bytes; %s", len(files), len(s.all), understood, len(n.raw), n.timed)
		if understood < 40 {
			t.Errorf("only %d kubeconfigs are understood", understood)
		}
	})
}
