package kubeconfig

import (
	"bytes"
	"encoding/base64"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	yaml3 "go.yaml.in/yaml/v3"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// FuzzSetCA says, of any bytes, that either there is an error and no edit, or an
// edit of one value: around it nothing moves, and no reader sees another change.
func FuzzSetCA(f *testing.F) {
	w := newWorld()
	// A value that is short lets the fuzzer find its way to what is around it.
	short := []byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n")
	for _, form := range forms() {
		f.Add(w.form(form, short))
		f.Add([]byte(strings.ReplaceAll(string(w.form(form, short)), "https://", "x")))
	}
	for _, with := range []string{"|\n      <CA>", "|-\n      <CA>", ">\n      <CA>", "&a <CA>", "!!str <CA>", "? <CA>", "- <CA>", "<CA>\n      <CA>", "'<CA>'<CA>", `"<CA>\n"`, `"\x4c<CA>"`, "'<CA>'''", "<CA>: b", "<CA>#", "<CA>\n    <<: {a: b}", "xxxx", "\t<CA>"} {
		f.Add(text(strings.Replace(bootstrap, "<CA>", with, 1), short))
	}
	f.Fuzz(func(t *testing.T, before []byte) { w.check(t, before) })
}

// TestSetCAOfFilesPutTogetherAtRandom goes where the fuzzer, which knows no YAML,
// comes too rarely. CERTROT_KUBECONFIGS is how many files it tries.
func TestSetCAOfFilesPutTogetherAtRandom(t *testing.T) {
	t.Parallel()
	many := 400
	if n, err := strconv.Atoi(os.Getenv("CERTROT_KUBECONFIGS")); err == nil {
		many = n
	}
	w := newWorld()
	var all []string
	for _, form := range forms() {
		all = append(all, form)
	}
	slices.Sort(all)
	pieces := []string{" ", "  ", "\n", "\n ", "\n    ", "\n\n", "\t", "\r\n", "- ", "? ", ": ", ":", ", ", "{", "}", "[", "]", "'", "''", `"`, `\`, "# c", " # c", "#", "|", "|-", ">", ">2", "&a ", "*a", "!!str ", "! ", "<<: ", "%",
		"---\n", "...\n", "é", "€", "\U0001f600", "\u00a0", "x", "xxxx", "~", "null", "true", "false", "yes", "0", "=", "<CA>", "<OLD>", "a: b", "a: b\n", "name: ", "cluster", "certificate-authority-data: ", "insecure-skip-tls-verify: ", "current-context: "}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	edits, refusals := 0, map[Reason]int{}
	for range many {
		form := all[r.IntN(len(all))]
		for range 1 + r.IntN(3) {
			lines := strings.SplitAfter(form, "\n")
			line := r.IntN(len(lines))
			at, n := r.IntN(len(form)+1), r.IntN(4)
			if ca := strings.Index(form, "<CA>"); ca >= 0 && r.IntN(2) == 0 { // near to it
				at = min(max(ca-6+r.IntN(16), 0), len(form))
			}
			switch r.IntN(6) {
			case 0:
				lines = slices.Insert(lines, r.IntN(len(lines)), lines[line])
				form = strings.Join(lines, "")
			case 1:
				form = strings.Join(slices.Delete(lines, line, line+1), "")
			case 2:
				form = form[:at] + form[min(at+n, len(form)):]
			default:
				form = form[:at] + pieces[r.IntN(len(pieces))] + form[at:]
			}
		}
		text := w.form(form, w.before)
		if reason := w.check(t, text); reason != "" {
			refusals[reason]++
		} else {
			edits++
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, form)
		}
	}
	t.Logf("%d edits; refusals: %v", edits, refusals)
}

// check tries SetCA on any bytes, and returns why there is no edit.
func (w world) check(t *testing.T, before []byte) (refused Reason) {
	t.Helper()
	input := bytes.Clone(before)
	began := time.Now()
	edit, err := SetCA(before, w.after)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
	if !bytes.Equal(before, input) {
		t.Fatal("the input was changed")
	}
	found, findErr := Find(before)
	if err != nil {
		var r *Refusal
		if !errors.As(err, &r) || findErr != nil && err.Error() != findErr.Error() || !reflect.DeepEqual(edit, Edit{}) {
			t.Fatalf("%v, %v, and an edit: %v", err, findErr, edit)
		}
		return r.Reason
	}
	if findErr != nil || edit.Offset != found.Offset || edit.Length != found.Length && !bytes.Equal(found.PEM, w.after) {
		t.Fatalf("edited is %+v, found %+v, %v", edit, found, findErr)
	}
	after := edit.Apply(before)
	end := len(after) - (len(before) - edit.Offset - edit.Length)
	if !bytes.Equal(after[:edit.Offset], before[:edit.Offset]) || !bytes.Equal(after[end:], before[edit.Offset+edit.Length:]) {
		t.Fatal("not the value alone was edited")
	}
	if written := strings.Trim(string(after[edit.Offset:end]), `'"`); edit.Length > 0 && written != base64.StdEncoding.EncodeToString(w.after) {
		t.Fatalf("written is %q", written)
	}
	if now, err := Find(after); err != nil || !bytes.Equal(now.PEM, w.after) || now.Cluster != found.Cluster || now.Offset != found.Offset {
		t.Fatalf("found is %+v, %v", now, err)
	}

	// As programs read it that know nothing of this package.
	if was, err := clientcmd.Load(before); err == nil {
		is, err := clientcmd.Load(after)
		if err != nil {
			t.Fatal(err)
		}
		name := is.Contexts[is.CurrentContext].Cluster
		if !bytes.Equal(is.Clusters[name].CertificateAuthorityData, w.after) {
			t.Fatal("client-go has another CA")
		}
		is.Clusters[name].CertificateAuthorityData = was.Clusters[name].CertificateAuthorityData
		if !reflect.DeepEqual(was, is) {
			t.Fatalf("client-go reads\n%+v\nand did\n%+v", is, was)
		}
	}
	for _, read := range []func([]byte) (any, error){
		func(text []byte) (v any, err error) { return v, yaml.Unmarshal(text, &v) },
		func(text []byte) (v any, err error) { return v, yaml3.Unmarshal(text, &v) },
	} {
		was, err := read(before)
		is, err2 := read(after)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("read: %v, now %v", err, err2)
		}
		if values := differing(was, is); err == nil && len(values) > 1 {
			t.Fatalf("several values differ: %q", values)
		}
	}
	return ""
}

// differing returns what leaves of b are others than those of a.
func differing(a, b any) (leaves []any) {
	switch b := b.(type) {
	case map[string]any:
		a, ok := a.(map[string]any)
		if !ok || len(a) != len(b) {
			return []any{b, a}
		}
		for key := range b {
			if _, ok := a[key]; !ok {
				return []any{b, a}
			}
			leaves = append(leaves, differing(a[key], b[key])...)
		}
		return leaves
	case []any:
		a, ok := a.([]any)
		if !ok || len(a) != len(b) {
			return []any{b, a}
		}
		for i := range b {
			leaves = append(leaves, differing(a[i], b[i])...)
		}
		return leaves
	}
	x, ok := a.(float64)
	y, also := b.(float64)
	nan := ok && also && math.IsNaN(x) && math.IsNaN(y)
	if !nan && !reflect.DeepEqual(a, b) {
		leaves = append(leaves, b)
	}
	return leaves
}
