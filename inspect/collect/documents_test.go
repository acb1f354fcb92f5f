package collect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// gatheredConfigMaps is a list as oc adm inspect writes it: keys in order of the
// alphabet, so that a ConfigMap's name and the list's kind come last. Each has a
// certificate, the digest of which is returned.
func gatheredConfigMaps(n int) (text string, ids []pki.Fingerprint) {
	var b strings.Builder
	b.WriteString("---\napiVersion: v1\nitems:\n")
	for i := range n {
		ca := pkitest.NewCA(fmt.Sprint("ca ", i), time.Unix(1.7e9, 0), time.Unix(1.8e9, 0))
		ids = append(ids, pki.FingerprintOf(ca.Cert.Raw))
		pem := strings.ReplaceAll(strings.TrimSpace(string(ca.CertPEM)), "\n", "\n      ")
		fmt.Fprintf(&b, "- apiVersion: v1\n  data:\n    ca.crt: |\n      # a comment\n\n      %s\n    list: |\n      - a\n      items:\n      - b\n  kind: ConfigMap\n  metadata:\n    creationTimestamp: \"2024-01-01T00:00:00Z\"\n    name: c%d\n    namespace: a\n    resourceVersion: \"1%d\"\n", pem, i, i)
	}
	b.WriteString("kind: ConfigMapList\nmetadata:\n  resourceVersion: \"41842\"\n")
	return b.String(), ids
}

// Wherever a full disk cut a list off, what is whole is read, nothing is made up,
// and the rest is unknown.
func TestListsThatAreCutOff(t *testing.T) {
	t.Parallel()
	text, ids := gatheredConfigMaps(3)
	whole := len(text) - len("metadata:\n  resourceVersion: \"41842\"\n") // what follows is of no interest
	at, ok := placeOf("namespaces/a/core/configmaps.yaml")
	if !ok {
		t.Fatal("no place")
	}
	most := 0
	scanner := pki.NewScanner()
	for cut := range len(text) {
		g := newGathering(File{Scanner: scanner}, usualBounds())
		im := g.image("")
		err := im.readObjects(scanner, []byte(text[:cut]), at)
		if err == nil && cut < whole-1 { // which is the end of its last line
			t.Fatalf("cut after %q, it looks whole", text[max(0, cut-40):cut])
		}
		n := len(im.objects)
		if n < most {
			t.Fatalf("cut after %d bytes: %d objects, and %d of less", cut, n, most)
		}
		most = n
		for i := range n {
			o := im.objects[fmt.Sprintf("ConfigMap/a/c%d", i)]
			if o == nil || o.found == nil || len(o.found.Bundles) != 1 || len(o.found.Bundles[0].Content.Certs) != 1 || o.found.Bundles[0].Content.Certs[0].Fingerprint != ids[i] {
				t.Fatalf("cut after %d bytes: object %d is %+v", cut, i, o)
			}
		}
	}
	if most != 3 {
		t.Errorf("%d objects", most)
	}
	half := text[:strings.Index(text, "name: c2")]
	s := readTarOf(t, "namespaces/a/core/configmaps.yaml", half)
	if places(s.Bundles) != "ConfigMap/a/c0[ca.crt], ConfigMap/a/c1[ca.crt]" || len(s.Gaps) != 1 || !strings.Contains(s.Gaps[0].Reason, "cut off, as by a full disk: 2 whole objects") || !strings.Contains(s.Gaps[0].Next, "get the must-gather again") {
		t.Errorf("bundles %s, gaps %+v", places(s.Bundles), s.Gaps)
	}
	// Items that do not say their kind are of the file's; and JSON is cut off, too.
	for name, text := range map[string]string{
		"namespaces/a/core/configmaps.yaml": "apiVersion: v1\nitems:\n- metadata: {name: c, namespace: a}\n  data: {ca.crt: '" + string(bytes.ReplaceAll(caPEM(), []byte("\n"), []byte("\n\n   "))) + "'}\n- metadata: {na",
		"namespaces/a/core/configmaps.json": `{"apiVersion":"v1","items":[{"data":{"a":"}]","ca.crt":"` + strings.ReplaceAll(string(caPEM()), "\n", `\n`) + `"},"metadata":{"name":"c","namespace":"a"}} , {"data":{"a":"\"`,
	} {
		s := readTarOf(t, name, text)
		if places(s.Bundles) != "ConfigMap/a/c[ca.crt]" || len(s.Gaps) != 1 || !strings.Contains(s.Gaps[0].Reason, "cut off") {
			t.Errorf("%s: bundles %s, gaps %s", name, places(s.Bundles), reasons(s.Gaps))
		}
	}
}

// A list that is too large to be parsed at once is read as if it were not.
func TestLargeListsAreReadByItems(t *testing.T) {
	t.Parallel()
	text, _ := gatheredConfigMaps(3)
	begin, end := strings.Index(text, "- api"), strings.Index(text, "kind: ConfigMapList")
	indented := text[:begin] + "  " + strings.TrimSuffix(strings.ReplaceAll(text[begin:end], "\n", "\n  "), "  ") + text[end:]
	for name, text := range map[string]string{"as oc writes it": text, "indented": indented, "with its kind before it": list("a: b", "a: |\n  x\n  - y", "- a\n- b", "c")} {
		var whole struct{ Items []json.RawMessage }
		if raw, err := toJSON([]byte(text)); err != nil || json.Unmarshal(raw, &whole) != nil {
			t.Fatalf("%s: %v", name, err)
		}
		l, ok := splitYAML([]byte(text))
		if !ok || l.cut {
			t.Fatalf("%s: %+v", name, l)
		}
		var items []string
		for item, err := range l.items {
			if err != nil {
				t.Error(err)
			}
			items = append(items, string(item))
		}
		var want []string
		for _, item := range whole.Items {
			want = append(want, string(item))
		}
		if diff := cmp.Diff(want, items); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	pad := "---\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: big, namespace: b}\n  data:\n    x: " + strings.Repeat("x", maxParsed/2) + "\n"
	large := pad + strings.Replace(pad, "---\napiVersion: v1\nitems:\n", "", 1) + strings.TrimPrefix(text, "---\napiVersion: v1\nitems:\n")
	if parsable([]byte(large)) == nil {
		t.Fatal("it is not large")
	}
	s := readTarOf(t, "namespaces/a/core/configmaps.yaml", large)
	if len(s.Bundles) != 3 || len(s.Gaps) > 0 || s.Reads[0].Objects != 4 {
		t.Errorf("bundles %s, gaps %s, reads %s", places(s.Bundles), reasons(s.Gaps), notes(s.Reads))
	}
	m, ok := readObjects(pki.NewScanner(), []byte(large))
	if !ok || len(m.Bundles) != 3 || len(m.Gaps) > 0 || m.count != 6 {
		t.Errorf("as a file: %d bundles of %d objects, gaps %s", len(m.Bundles), m.count, reasons(m.Gaps))
	}
	inJSON := `{"apiVersion":"v1","items":[` + strings.Repeat(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"big"},"data":{"x":"`+strings.Repeat("x", maxParsed/2)+`"}},`, 2) + `{"metadata":{"name":"c","namespace":"a"},"data":{"ca.crt":"` + strings.ReplaceAll(string(caPEM()), "\n", `\n`) + `"}}],"kind":"ConfigMapList"}`
	m, ok = readObjects(pki.NewScanner(), []byte(inJSON))
	if !ok || places(m.Bundles) != "ConfigMap/a/c[ca.crt]" || len(m.Gaps) > 0 || m.count != 4 {
		t.Errorf("in JSON: bundles %s of %d objects, gaps %s", places(m.Bundles), m.count, reasons(m.Gaps))
	}
}

// Files made to take memory or time are refused after few bytes of memory: those
// are counted, and each of these took gigabytes once.
func TestHarmfulObjects(t *testing.T) {
	head := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: a}\ndata:\n"
	const size = 9 << 20
	for name, c := range map[string]struct {
		text, want string
		most       uint64 // MiB
	}{
		"a list of nothing":     {"apiVersion: v1\nkind: ConfigMapList\nitems:\n" + strings.Repeat("- {}\n", size/5), "1000 of its first 1000 objects can't be read", 80},
		"that, small":           {"apiVersion: v1\nkind: ConfigMapList\nitems:\n" + strings.Repeat("- {}\n", 300_000), "1000 of its first 1000 objects can't be read", 40},
		"that, in one line":     {"{apiVersion: v1, kind: ConfigMapList, items: [" + strings.Repeat("{},", size/3) + "]}", "not read", 40},
		"that, in JSON":         {`{"apiVersion":"v1","kind":"ConfigMapList","items":[{}` + strings.Repeat(",{}", size/3) + "]}", "1000 of its first 1000 objects can't be read", 60},
		"many keys":             {head + strings.Repeat("  k: v\n", size/7), "not read", 40},
		"many keys, in JSON":    {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":""` + strings.Repeat(`,"k":"v"`, size/8) + "}}", "not read", 60},
		"no documents":          {strings.Repeat("---\n", size/4), "it is empty", 40},
		"no documents, no end":  {strings.Repeat("\n", size), "it is empty", 40},
		"documents of nothing":  {strings.Repeat("#\n---\n", size/6), "it is empty", 40},
		"documents of one byte": {strings.Repeat("a\n---\n", size/6), "holds no Kubernetes object", 40},
		"an item of any size":   {"apiVersion: v1\nkind: ConfigMapList\nitems:\n- a: " + strings.Repeat("x", size), "1 of 1 object can't be read: is 9 MiB in one object", 60},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := File{Path: "-", Stdin: bytes.NewReader(tarOf(t, append(caseConfigMap, "mg/image/namespaces/b/core/configmaps.yaml", c.text)...)), Scanner: pki.NewScanner()}.Read()
		runtime.ReadMemStats(&after)
		if err != nil || len(s.Bundles) != 1 || len(s.Gaps) != 1 || !strings.Contains(s.Gaps[0].Reason, c.want) {
			t.Errorf("%s: bundles %s, gaps %s, %v", name, places(s.Bundles), reasons(s.Gaps), err)
		}
		if took := (after.TotalAlloc-before.TotalAlloc)>>20 - 4*size>>20; took > c.most && took < 1<<40 { // the tar is made here, too
			t.Errorf("%s: allocates %d MiB", name, took)
		}
	}
}

// What a header says is too large is not waited for, and what it says is not
// believed.
func TestSizesOfFiles(t *testing.T) {
	t.Parallel()
	var before, after runtime.MemStats
	g := newGathering(File{Scanner: pki.NewScanner()}, usualBounds())
	if err := g.read("namespaces/a/core/configmaps.yaml", maxGathered+1, time.Time{}, failing{t}); err != nil || !strings.Contains(reasons(g.gaps), "more than the 128 MiB that are read of one file") {
		t.Errorf("gaps %s, %v", reasons(g.gaps), err)
	}
	runtime.ReadMemStats(&before)
	data, err := readSized(strings.NewReader("cut off"), maxGathered)
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; string(data) != "cut off" || err != nil || took > 100 {
		t.Errorf("%q, %v, %d MiB", data, err, took)
	}
	for _, size := range []int{0, 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 16 << 20, 16<<20 + 1, 17 << 20} {
		want := bytes.Repeat([]byte("0123456789abcde"), size/15+1)[:size]
		got, err := readSized(bytes.NewReader(want), int64(size))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got %d, %v", size, len(got), err)
		}
		if _, err := readSized(io.MultiReader(bytes.NewReader(want), strings.NewReader("more")), int64(size)); err == nil {
			t.Errorf("%d bytes: it is not seen that there are more", size)
		}
	}
}

// failing is not to be read.
type failing struct{ t *testing.T }

func (f failing) Read([]byte) (int, error) {
	f.t.Error("it was read")
	return 0, io.EOF
}

func TestDocumentsOfAStream(t *testing.T) {
	t.Parallel()
	var got []string
	docs := documents{rest: []byte("---\n# first\na: 1\n---  # second\n\n\n---\r\nb: |\n  ---\n--- \nc: 3")}
	for {
		doc, err := docs.next()
		if err != nil {
			if err != io.EOF { //nolint:errorlint // as it is
				t.Error(err)
			}
			break
		}
		got = append(got, string(doc))
	}
	if diff := cmp.Diff([]string{"# first\na: 1\n", "b: |\n  ---\n", "c: 3"}, got); diff != "" {
		t.Error(diff)
	}
	docs = documents{rest: bytes.Repeat([]byte("a\n---\n"), maxDocuments+1)}
	n := 0
	for ; ; n++ {
		if _, err := docs.next(); err != nil {
			break
		}
	}
	if n != maxDocuments {
		t.Errorf("%d documents", n)
	}
	docs = documents{rest: []byte("a: 1\n-----BEGIN CERTIFICATE-----\n")}
	if _, err := docs.next(); err == nil {
		t.Error("a line of PEM was taken for an end")
	}
}

// What kubectl printed into a file that was cut off is not fine because certificates
// are to be seen in what is left.
func TestFilesOfObjectsThatAreCutOff(t *testing.T) {
	t.Parallel()
	text, _ := gatheredConfigMaps(2)
	raw, err := toJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	inJSON := `{"apiVersion":"v1",` + strings.TrimPrefix(string(raw), `{"apiVersion":"v1",`)
	one := strings.ReplaceAll(text[strings.Index(text, "- apiVersion"):strings.LastIndex(text, "- apiVersion")], "\n  ", "\n")[2:]
	first, second := "ConfigMap/a/c0[ca.crt]", "ConfigMap/a/c0[ca.crt], ConfigMap/a/c1[ca.crt]"
	for name, c := range map[string]struct{ text, places, why string }{
		"a list in its second object":     {text[:strings.LastIndex(text, "name: c1")], first, "cut off"},
		"a list without its kind":         {text[:strings.Index(text, "kind: ConfigMapList")], first, "cut off"},
		"a list in its kind":              {text[:strings.Index(text, "List\n")], second, "cut off"},
		"a list in JSON":                  {inJSON[:strings.LastIndex(inJSON, "c1")], first, "cut off"},
		"an object in its certificate":    {one[:strings.Index(one, "-----END")], "file:-#data[\"ca.crt\"]", "says no kind"},
		"an object in a quoted value":     {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {ca.crt: \"" + strings.ReplaceAll(string(caPEM()), "\n", `\n`), "file:-", "yaml:"},
		"an object in JSON":               {`{"apiVersion":"v1","data":{"ca.crt":"` + strings.ReplaceAll(string(caPEM()), "\n", `\n`) + `"},"ki`, "file:-", "no end"},
		"a list with an odd object":       {strings.Replace(text, "  kind: ConfigMap\n", "  kind: ConfigMap\n \tx\n", 1), "ConfigMap/a/c1[ca.crt]", "1 of 2 objects"},
		"a kubeconfig is whole":           {"apiVersion: v1\nkind: Config\nclusters:\n- name: a\n  cluster: {certificate-authority-data: " + base64.StdEncoding.EncodeToString(caPEM()) + "}", "file:-#clusters[0].cluster.certificate-authority-data", ""},
		"what only has items is no list":  {"items:\n- ca: |\n    " + strings.ReplaceAll(string(caPEM()), "\n", "\n    "), "file:-#items[0].ca", ""},
		"a list that is whole is no less": {text, second, ""},
	} {
		s, err := File{Path: "-", Stdin: strings.NewReader(c.text), Scanner: pki.NewScanner()}.Read()
		if got := strings.TrimSuffix(places(s.Bundles), " without its object"); err != nil || got != c.places {
			t.Errorf("%s: places %s, want %s; %v", name, got, c.places, err)
		}
		if why := reasons(s.Gaps); (c.why == "") != (len(s.Gaps) == 0) || !strings.Contains(why, c.why) {
			t.Errorf("%s: gaps %s, want %q", name, why, c.why)
		}
	}
}

// Of an object whose last line was cut off no one can say what stood behind it, though
// what is left is an object.
func TestAnObjectThatIsCutOffAndStillOne(t *testing.T) {
	t.Parallel()
	name, text := "cluster-scoped-resources/config.openshift.io/apiservers/cluster.yaml", "---\napiVersion: config.openshift.io/v1\nkind: APIServer\nmetadata:\n  name: cluster\nspec:\n  clientCA:\n    name: users\n"
	if s := readTarOf(t, name, text); len(s.Gaps) > 0 || len(s.References) != 1 {
		t.Errorf("whole: gaps %s, references %+v", reasons(s.Gaps), s.References)
	}
	s := readTarOf(t, name, strings.TrimSuffix(text, "rs\n"))
	if len(s.Gaps) != 1 || !strings.Contains(s.Gaps[0].Reason, "last line has no end") || !strings.Contains(s.Gaps[0].Next, "get the must-gather again") {
		t.Errorf("cut off: gaps %s", reasons(s.Gaps))
	}
}
