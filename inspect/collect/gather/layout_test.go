package gather

import (
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// layouter writes PEM bundles in layouts that readers differ on.
type layouter struct {
	maker
	certs []pkitest.Pair
	key   []byte
	keys  [][]byte
	words []string
}

// token is one of a few secrets: they are searched for in all that leaves the node.
func (l *layouter) token() string { return l.pick(l.words...) }

// beside is what stands beside a block on its line.
func (l *layouter) beside() string {
	wide := strings.Repeat(" ", 20)
	return l.pick("", "", "", "", "", "", " ", "  ", "\t", wide, `"`, "'", "\ufeff", " \ufeff", "\ufeff ", "x", "# ", "--", "- ", "\f", "\v", "\u00a0",
		l.token(), wide+l.token()+wide, `"`+l.token()+`"`)
}

// block is a certificate, mostly, or what stands beside some.
func (l *layouter) block() string {
	text := string(l.certs[l.IntN(len(l.certs))].CertPEM)
	bad := func(body string) string {
		return "-----BEGIN CERTIFICATE-----\n" + body + "\n-----END CERTIFICATE-----\n"
	}
	if l.chance(70) {
		return l.pick(text, text, strings.ReplaceAll(text, "\n", "\r\n"), strings.ReplaceAll(text, "\n", "  \n"))
	}
	return l.pick(string(l.key), bad("bm90IERFUg=="), bad("not base64"), bad(""), strings.TrimSuffix(text, "-----END CERTIFICATE-----\n"),
		strings.ReplaceAll(text, "CERTIFICATE", "X509 CERTIFICATE"), strings.ReplaceAll(text, "CERTIFICATE", "TRUSTED CERTIFICATE"),
		strings.Replace(text, "-----\n", "-----\nName: ca\n\n", 1), strings.Replace(text, "END CERT", "END X509 CERT", 1), strings.ReplaceAll(text, "\n", "\n  "),
		strings.ReplaceAll(text, "\n", `\n`), strings.Replace(text, "-----\n", "----- x\n", 1), strings.Replace(text, "\n-----END", "-----END", 1))
}

// text is a file of a few blocks.
func (l *layouter) text() string {
	var b strings.Builder
	b.WriteString(l.pick("", "", "", "\n", "# "+l.token()+"\n", l.token()+"\n", "\ufeff\n", "\ufeff"))
	for range 1 + l.IntN(3) {
		block := strings.TrimRight(l.block(), "\r\n")
		b.WriteString(l.beside() + block + l.beside())
		b.WriteString(l.pick("\n", "\n", "\n", "\n", "\r\n", "\n\n", "\r\r\n", "", "\n# "+l.token()+"\n", "\n"+l.token()+"\n", "\n \n", "\n#"))
	}
	return b.String()
}

// answered says what each reader loads and skips of a file, of the certificates that may
// leave a node.
func answered(found []pki.Found, loadable, known func(pki.Fingerprint) bool) string {
	var b strings.Builder
	for _, by := range append(pki.Readers(), pki.ReaderUnknown) {
		var loads, skips []string
		for _, f := range found {
			loaded, skipped := f.Content.LoadedBy(by)
			for _, c := range loaded {
				if loadable(c.Fingerprint) {
					loads = append(loads, c.Fingerprint.Short())
				}
			}
			for _, s := range skipped {
				if known(s.Fingerprint) {
					skips = append(skips, s.Fingerprint.Short())
				}
			}
		}
		slices.Sort(loads)
		slices.Sort(skips)
		fmt.Fprintf(&b, "%s loads %q, skips %q\n", by, slices.Compact(loads), slices.Compact(skips))
	}
	return b.String()
}

// TestAReaderLoadsOfAFileOnANodeWhatItLoadsOfItsBytes writes bundles in many layouts
// (CERTROT_LAYOUTS=5000): what readers load of the answer of a node is what they load of
// the file, and no text of it leaves the node.
func TestAReaderLoadsOfAFileOnANodeWhatItLoadsOfItsBytes(t *testing.T) {
	t.Parallel()
	id := newIdentity()
	var s secrets
	s.key(id.client)
	l := &layouter{maker: maker{Rand: rand.New(rand.NewPCG(7, 11)), s: &s}, certs: []pkitest.Pair{id.ca.Pair, id.old.Pair, id.other.Pair}, key: id.client.KeyPEM}
	for range 20 {
		l.words = append(l.words, s.token())
	}
	files := map[string]string{}
	for i := range asMany(t, "CERTROT_LAYOUTS", 200) {
		files[fmt.Sprintf("/etc/kubernetes/made%d/%d", i/500, i)] = l.text()
	}
	for _, form := range pkitest.Forms(id.ca.CertPEM) {
		files["/etc/kubernetes/forms/"+form.Name] = string(form.Text)
	}
	root := newRoot(t)
	tree(t, root, files)
	everywhere(t, func(t *testing.T, w world) {
		n, r := w.read(t, root, Options{Only: true, Paths: []string{"/etc/kubernetes"}, Limits: Limits{Output: maxOutput, Time: 10 * time.Minute}})
		for _, leak := range s.leaks(t, n.raw) {
			t.Error(leak)
		}
		wrong := 0
		for name, text := range files {
			f, ok := r.File(name)
			if !ok || f.Content == nil {
				t.Fatalf("%s is not read", name)
			}
			sent := func(id pki.Fingerprint) bool {
				return slices.ContainsFunc(f.Content.certs(), func(c *pki.Cert) bool { return c.Fingerprint == id })
			}
			// Blocks with trust settings never leave the node, though OpenSSL loads some.
			loadable := func(id pki.Fingerprint) bool { return sent(id) || !strings.Contains(text, "TRUSTED") }
			got, want := answered(f.Content.Found, loadable, sent), answered(pki.NewScanner().Scan([]byte(text)), loadable, sent)
			// Of what stays, what OpenSSL would load is unknown.
			if strings.Contains(text, "TRUSTED") && got != want && !strings.Contains(got, "openssl loads [],") {
				t.Errorf("%s: OpenSSL loads too much", name)
			} else if got == want || strings.Contains(text, "TRUSTED") && others(got) == others(want) {
				continue
			}
			if wrong++; wrong <= 3 {
				t.Errorf("%s: the node's answer says\n%sits bytes say\n%s%s", name, got, want, brief(text))
			}
		}
		if wrong > 0 {
			t.Errorf("%d of %d files are wrong", wrong, len(files))
		}
	})
}

// others leaves out what OpenSSL loads.
func others(answer string) string {
	before, rest, _ := strings.Cut(answer, "openssl loads")
	_, after, _ := strings.Cut(rest, "\n")
	return before + after
}

// stays is a block that does not leave the node, sound or damaged, and in lines that
// readers differ on.
func (l *layouter) stays() string {
	text := string(l.certs[l.IntN(len(l.certs))].CertPEM)
	relabelled := func(label string) string { return strings.ReplaceAll(text, "CERTIFICATE", label) }
	switch l.IntN(4) {
	case 0:
		text = relabelled(l.pick("FOO", "foo.bar", "PUBLIC KEY", "PKCS7", "X509 CRL", "CERTIFICATE REQUEST", "TRUSTED CERTIFICATE", "PRIVATE KEY", "RSA PRIVATE KEY", "FOO PRIVATE KEY", "ANY PRIVATE KEY", "ED25519 PRIVATE KEY", "Some-thing Else", "SSH2--KEY"))
	case 1:
		der := append(l.certs[0].Cert.Raw[:len(l.certs[0].Cert.Raw):len(l.certs[0].Cert.Raw)], l.pick("\x30\x00", "\x30\x02\x30\x00", "\x30\x05", "\x30\x00\x30\x00")...)
		text = string(pem.EncodeToMemory(&pem.Block{Type: l.pick("TRUSTED CERTIFICATE", "CERTIFICATE"), Bytes: der}))
	default:
		text = string(l.keys[l.IntN(len(l.keys))])
		if l.chance(20) {
			text = strings.ReplaceAll(text, l.pick("EC PRIVATE", "RSA PRIVATE", "PRIVATE"), l.pick("PRIVATE", "EC PRIVATE", "DSA PRIVATE", "ENCRYPTED PRIVATE", "ED25519 PRIVATE"))
		}
	}
	if l.chance(30) {
		return text
	}
	label := strings.TrimSuffix(strings.TrimPrefix(strings.SplitN(text, "\n", 2)[0], "-----BEGIN "), "-----")
	body := strings.SplitN(text, "\n", 3)
	middle := len(text) / 2
	return l.pick(text, text[:middle]+text[middle+1:], text[:middle]+"!"+text[middle:], text[:middle]+" "+text[middle:], text[:middle]+":"+text[middle:], text[:middle]+"\n\n"+text[middle:],
		text[:middle]+"\\n"+text[middle:], text[:middle]+"\n \n"+text[middle:], text[:middle]+"A"+text[middle+1:], text[:middle]+"="+text[middle:], text[:middle]+"\f"+text[middle:], text[:middle],
		text[:middle]+"-----END "+label+"-----\n", text[:middle]+"\n-----END "+label+"-----\n", "-----BEGIN "+label+"-----\n-----END "+label+"-----\n", "-----BEGIN "+label+"-----\n\n-----END "+label+"-----\n",
		"-----BEGIN "+label+"----------END "+label+"-----\n", "-----BEGIN "+label+"-----\n", "-----BEGIN "+label+"-----\nAAAA\n-----END "+label+"-----\n",
		strings.ReplaceAll(text, "\n", "\r\n"), strings.ReplaceAll(text, "\n", "\t\n"), strings.ReplaceAll(text, "\n", "\n  "), strings.ReplaceAll(text, "\n", `\n`), strings.ReplaceAll(text, "\n", "\f\n"),
		strings.Replace(text, "-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n", 1), strings.Replace(text, "-----\n", "-----\nName: ca\n", 1), strings.Replace(text, "-----\n", "-----\n\n", 1),
		strings.Replace(text, "-----\n", "----- x\n", 1), strings.Replace(text, "-----\n", "----- x-----\n", 1), strings.Replace(text, "-----\n", "-----\f\n", 1),
		strings.Replace(text, "-----\n", "-----\u00a0\n", 1), strings.Replace(text, "-----\n", "-----\xff \r\n", 1), strings.Replace(text, "\n-----END", "-----END", 1),
		strings.Replace(text, "\n-----END", "\n -----END", 1), strings.Replace(text, "END "+label, "END FOO", 1), strings.Replace(text, "-----END ", "-----END%20", 1), strings.Replace(text, "-----BEGIN ", "-----BEGIN%20", 1),
		body[0]+"\n"+strings.ReplaceAll(strings.TrimSuffix(strings.Join(body[1:], "\n"), "\n"), "\n", "")+"\n", strings.ToLower(text), strings.Replace(text, "\n-----END", "\n\n-----END", 1))
}

// TestAReaderGoesOnBehindABlockThatStaysOnTheNodeAsBehindItsBytes writes bundles with a
// certificate, and with blocks beside it that never leave the node (CERTROT_LAYOUTS=5000).
func TestAReaderGoesOnBehindABlockThatStaysOnTheNodeAsBehindItsBytes(t *testing.T) {
	t.Parallel()
	id := newIdentity()
	var s secrets
	l := &layouter{maker: maker{Rand: rand.New(rand.NewPCG(3, 5)), s: &s}, certs: []pkitest.Pair{id.ca.Pair, id.old.Pair, id.other.Pair}}
	for _, pair := range []pkitest.Pair{id.client, id.rsa, id.other.Pair} {
		s.key(pair)
		l.keys = append(l.keys, pair.KeyPEM)
	}
	for range 20 {
		l.words = append(l.words, s.token())
	}
	files := map[string]string{}
	for i := range asMany(t, "CERTROT_LAYOUTS", 200) {
		text := ""
		for range l.IntN(3) {
			text += l.stays() + l.pick("", "", "", "\n", "# x\n", l.token()+"\n", "\ufeff")
		}
		text += string(id.ca.CertPEM)
		for range l.IntN(2) {
			text += l.stays()
		}
		files[fmt.Sprintf("/etc/kubernetes/made%d/%d", i/500, i)] = text
	}
	root := newRoot(t)
	tree(t, root, files)
	everywhere(t, func(t *testing.T, w world) {
		n, r := w.read(t, root, Options{Only: true, Paths: []string{"/etc/kubernetes"}, Limits: Limits{Output: maxOutput, Time: 10 * time.Minute}})
		for _, leak := range s.leaks(t, n.raw) {
			t.Error(leak)
		}
		all := func(pki.Fingerprint) bool { return true }
		loads, wrong, strict := 0, 0, 0
		for name, text := range files {
			f, ok := r.File(name)
			if !ok || f.Content == nil {
				t.Fatalf("%s is not read", name)
			}
			sent := func(id pki.Fingerprint) bool {
				return slices.ContainsFunc(f.Content.certs(), func(c *pki.Cert) bool { return c.Fingerprint == id })
			}
			bytes := pki.NewScanner().Scan([]byte(text))
			for _, by := range append(pki.Readers(), pki.ReaderUnknown) {
				got, want := loaded(f.Content.Found, by, all), loaded(bytes, by, sent)
				if got == want {
					loads += len(got)
					continue
				}
				if len(got) == 0 && (strings.Contains(text, "TRUSTED") || strings.Contains(text, "-----\f")) {
					continue // what such a block holds, or its BEGIN line ends with, is not told
				}
				if len(got) == 0 {
					strict++ // less than it loads
				} else {
					wrong++
				}
				if wrong+strict <= 5 {
					t.Errorf("%s: by the node's answer, %s loads %s; by its bytes, %s\n%s", name, by, got, want, brief(text))
				}
			}
		}
		if wrong > 0 || loads == 0 || strict > 0 {
			t.Errorf("of %d files, %d are too good and %d too bad", len(files), wrong, strict)
		}
	})
}

// loaded are the certificates that a reader loads.
func loaded(found []pki.Found, by pki.Reader, counts func(pki.Fingerprint) bool) string {
	var out []string
	for _, f := range found {
		certs, _ := f.Content.LoadedBy(by)
		for _, c := range certs {
			if counts(c.Fingerprint) {
				out = append(out, c.Fingerprint.Short())
			}
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}

// brief leaves out what of a text is base64.
func brief(text string) string {
	for line := range strings.Lines(text) {
		if len(line) > 60 && !strings.ContainsAny(line, "-\\ ") {
			text = strings.Replace(text, line, "", 1)
		}
	}
	return fmt.Sprintf("%.3000q", text)
}
