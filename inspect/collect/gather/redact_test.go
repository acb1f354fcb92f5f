package gather

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// maker writes kubeconfigs in the styles that people and programs write.
type maker struct {
	*rand.Rand
	s        *secrets
	cas      [][]byte
	sequence string // indentation of sequences
}

func (m *maker) pick(of ...string) string { return of[m.IntN(len(of))] }

func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

// scalar writes a value in one of the single-line styles.
func (m *maker) scalar(v string) string {
	return m.pick("", " ") + m.pick(v, v, `"`+v+`"`, "'"+v+"'") + m.pick("", "", "  ", " # was "+m.s.token())
}

// secret writes a secret in any style; pad is the indentation of its key.
func (m *maker) secret(pad string) string {
	v := m.s.token()
	return m.pick(v, `"`+v+`"`, "'"+v+"'", `"a\"`+v+`\n"`, "'it''s"+v+"'", "|\n"+pad+"  "+v+"\n\n"+pad+"  name: "+m.s.token(), ">-\n"+pad+"    "+v+"\n"+pad+"    server: "+m.s.token(),
		v+"\n"+pad+"  "+m.s.token(), "\"a\n"+pad+"  "+v+"\n\n"+pad+"  b\"", "{a: "+v+", server: "+m.s.token()+"}", "["+v+", '"+m.s.token()+"']", "{\"name\":\""+v+"\"}")
}

// ca returns the base64 of CAs, and what of it may leave: comments are masked.
func (m *maker) ca() (data, left string) {
	var text, masked []byte
	remark := func() {
		for range m.IntN(3) {
			secret := m.pick(m.s.token(), m.s.token()[:1+m.IntN(20)], "Főtanúsítvány "+m.s.token()[:9], "")
			eol := m.pick("\n", "\n\n")
			text, masked = append(text, "#"+secret+eol...), append(masked, "#"+strings.Repeat("x", len(secret))+eol...)
		}
	}
	remark()
	for range 1 + m.IntN(2) {
		pem := m.cas[m.IntN(len(m.cas))]
		text, masked = append(text, pem...), append(masked, pem...)
		remark()
	}
	if m.chance(30) {
		text, masked = bytes.TrimRight(text, "\r\n"), bytes.TrimRight(masked, "\r\n")
	}
	if m.chance(25) {
		text, masked = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")), bytes.ReplaceAll(masked, []byte("\n"), []byte("\r\n"))
	}
	return base64.StdEncoding.EncodeToString(text), base64.StdEncoding.EncodeToString(masked)
}

// yaml returns a kubeconfig and the base64 of its CAs, as it leaves the node.
func (m *maker) yaml() (text string, cas []string) {
	var b strings.Builder
	q := m.sequence
	ca := func(pad string) string {
		data, left := m.ca()
		if !m.chance(20) {
			cas = append(cas, left)
			return m.scalar(data)
		}
		lines := "|" + m.pick("", "-", "+")
		for len(data) > 0 {
			n := min(len(data), 76)
			lines += "\n" + pad + "  " + data[:n]
			cas = append(cas, left[:n])
			data, left = data[n:], left[n:]
		}
		return lines
	}
	sections := []func(){
		func() {
			b.WriteString("clusters:\n")
			for i := range 1 + m.IntN(3) {
				fields := []string{"certificate-authority-data: " + ca(q+"    "), "server: " + m.scalar("https://api-int.example.com:6443"), "proxy-url: http://u:" + m.s.token() + "@proxy:3128"}
				m.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
				if m.chance(50) {
					fmt.Fprintf(&b, "%s- name: c%d\n%s  cluster:\n%s    %s\n", q, i, q, q, strings.Join(fields, "\n"+q+"    "))
				} else {
					fmt.Fprintf(&b, "%s- cluster:\n%s    %s\n%s  name: c%d\n", q, q, strings.Join(fields, "\n"+q+"    "), q, i)
				}
			}
		},
		func() { b.WriteString("contexts:\n" + q + "- context: {cluster: c0, user: u0}\n" + q + "  name: x\n") },
		func() { b.WriteString("current-context: " + m.scalar("x") + "\n") },
		func() { b.WriteString("# " + m.s.token() + "\n\npreferences: {}\n") },
		func() { b.WriteString("apiVersion: v1\nkind: Config\n") },
		func() {
			b.WriteString("users:\n")
			for i := range 1 + m.IntN(2) {
				pad := q + "    "
				fmt.Fprintf(&b, "%s- name: u%d\n%s  user:\n", q, i, q)
				for _, key := range []string{"token", "password", "client-key-data", "x-unknown-" + m.s.token()[:9]} {
					if m.chance(60) {
						b.WriteString(pad + key + ": " + m.secret(pad) + "\n")
					}
				}
				b.WriteString(pad + "exec:\n" + pad + "  args:\n" + pad + "  - " + m.s.token() + "\n" + pad + "  env:\n" + pad + "  - name: A\n" + pad + "    value: " + m.secret(pad+"    ") + "\n")
			}
		},
	}
	m.Shuffle(len(sections), func(i, j int) { sections[i], sections[j] = sections[j], sections[i] })
	for _, write := range sections {
		write()
	}
	text = b.String()
	if m.chance(25) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if m.chance(30) {
		text = strings.TrimRight(text, "\r\n")
	}
	return m.pick("", "", "---\n", "# "+m.s.token()+"\n") + text, cas
}

func (m *maker) json() (text string, cas []string) {
	type object = map[string]any
	ca, left := m.ca()
	v := object{"apiVersion": "v1", "clusters": []any{object{"name": "c", "cluster": object{"certificate-authority-data": ca, "server": "https://h:6443"}}},
		"users": []any{object{"name": "u", "user": object{"token": m.s.token(), "password": "\"\\\n" + m.s.token(), "as-groups": []any{m.s.token(), 123456789, true, nil, []any{}}, m.s.token(): m.s.token()}}}}
	data, err := json.Marshal(v)
	if m.chance(50) {
		data, err = json.MarshalIndent(v, "", m.pick("\t", "  "))
	}
	if err != nil {
		panic(err)
	}
	return string(data) + m.pick("", "\n"), []string{left}
}

// asMany is how large a test is made: as a variable says, which is for a longer
// run, or the usual.
func asMany(t *testing.T, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// TestRedactionKeepsOffsets generates kubeconfigs (CERTROT_KUBECONFIGS=1000), and reads all of them in one
// run: nothing secret is left, and all else is where it was.
func TestRedactionKeepsOffsets(t *testing.T) {
	t.Parallel()
	id := newIdentity()
	both := append(bytes.Clone(id.ca.CertPEM), id.old.CertPEM...)
	var s secrets
	m := &maker{Rand: rand.New(rand.NewPCG(rand.Uint64(), 7)), s: &s, cas: [][]byte{id.ca.CertPEM, id.old.CertPEM, both}}
	files, cas := map[string]string{}, map[string][]string{}
	for i := range asMany(t, "CERTROT_KUBECONFIGS", 60) {
		m.sequence = m.pick("", "  ")
		name := fmt.Sprintf("/etc/kubernetes/made/%d", i)
		if i%5 == 0 {
			files[name], cas[name] = m.json()
		} else {
			files[name], cas[name] = m.yaml()
		}
	}
	root := newRoot(t)
	tree(t, root, files)
	everywhere(t, func(t *testing.T, w world) {
		n, r := w.read(t, root, Options{Only: true, Paths: []string{"/etc/kubernetes"}})
		for _, leak := range s.leaks(t, n.raw) {
			t.Error(leak)
		}
		for name, text := range files {
			f, ok := r.File(name)
			if !ok || f.Content.Text == nil {
				t.Errorf("not understood: %q\n%s", f.Content.Notes, text)
				continue
			}
			got := string(f.Content.Text)
			if len(got) != len(text) || strings.Count(got, "\n") != strings.Count(text, "\n") {
				t.Errorf("%d bytes in place of %d:\n%s", len(got), len(text), got)
				continue
			}
			at := 0
			for _, ca := range cas[name] {
				i := strings.Index(got[at:], ca)
				if i < 0 {
					t.Errorf("a CA is not where it was:\n%s\n%s", text, got)
					break
				}
				at += i
			}
			if _, ok := field0(pki.NewScanner(), []byte(got)); !ok {
				t.Errorf("the redacted text can't be read any more:\n%s", got)
			}
		}
	})
}

// field0 finds the CA through the structure of the text.
func field0(sc *pki.Scanner, text []byte) (pki.Found, bool) {
	for _, f := range sc.Scan(text) {
		if f.Field == "clusters[0].cluster.certificate-authority-data" && len(f.Content.Certs) > 0 {
			return f, true
		}
	}
	return pki.Found{}, false
}

// TestEveryGuardIsTested takes the guards away, one at a time: then secrets must
// be seen to leave. A guard whose absence no one notices is not tested. Guards
// that another one backs up can't be told this way, and are not listed.
func TestEveryGuardIsTested(t *testing.T) {
	t.Parallel()
	w := shell("dash", "dash")
	if w.skip != "" {
		t.Skip(w.skip)
	}
	id := newIdentity()
	var s secrets
	files := map[string]string{}
	for name, text := range s.hiding(id) {
		files["/etc/kubernetes/secrets/"+name] = text
	}
	root := newRoot(t)
	tree(t, root, files)
	// What the guard is about, in which of the folders that is, and what becomes of it.
	for name, change := range map[string][3]string{
		"values are masked":                   {"kube", "return fits(kind, v) ? v : x(length(v))", "return v"},
		"comments are masked":                 {"kube", `"#" x(length(s) - 1)`, "s"},
		"keys are masked":                     {"kube", "key in KNOWN ? key : x(length(key))", "key"},
		"users in addresses are masked":       {"url", `x(at - 1) (at ? "@" : "")`, "substr(rest, 1, at)"},
		"addresses have a shape":              {"url", "return x(length(v))\n\treturn substr(v, 1, n)", "return v\n\treturn substr(v, 1, n)"},
		"names have no long runs":             {"kube", "|| v ~ RUN32 ||", "||"},
		"block scalars are masked":            {"kube", "return substr(t, 1, ind) x(length(rest))", "return t"},
		"quoted continuations are masked":     {"kube", "if (!k) return x(length(s))", "if (!k) return s"},
		"plain continuations are masked":      {"kube", "return o x(length(rest))", "return o rest"},
		"base64 must be certificates only":    {"ca", `if (substr(line, 1, 1) != "#" || index(line, "-----")) return 0`, `if (substr(line, 1, 1) != "#" || index(line, "-----")) return 1`},
		"comments in base64 are masked":       {"ca", "CLEAN = remarked(s) padding", "CLEAN = s padding"},
		"such comments in any text":           {"b64", "length(run), CLEAN)", "length(run), run)"},
		"such comments in block scalars":      {"ca", "substr(CLEAN, p, n)", "substr(blockdata, p, n)"},
		"blocks have the shape of their kind": {"pem", "\treturn shape(head, bytes)", `	return ""`},
		"DER ends with the block":             {"pem", "if (len + i != bytes)", "if (0)"},
		"text beside blocks is a mark":        {"pem", `s ~ /[^ \t\r]/ ? "x" : " "`, "s"},
		"labels are known":                    {"pem", `field(label in LABEL ? label : "unknown")`, "field(label)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdin, argv, err := buildProgram(root, Options{Only: true, Paths: []string{"/etc/kubernetes/secrets/" + change[0]}})
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(stdin, change[1]) == 0 {
				t.Fatalf("the program has no %q", change[1])
			}
			n := &node{world: w, root: root, stdin: []byte(strings.ReplaceAll(stdin, change[1], change[2]))}
			out, err := n.Run(t.Context(), nil, argv...)
			if err != nil || !bytes.Contains(out, []byte("\nend ")) {
				t.Fatalf("%v\n%.500s", err, out)
			}
			if len(s.leaks(t, out)) == 0 {
				t.Error("nothing leaves the node without this guard")
			}
		})
	}
}
