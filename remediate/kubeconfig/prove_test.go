package kubeconfig

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"k8s.io/client-go/tools/clientcmd/api"
)

// TestProofsAreEachNeeded: a change is refused where the two parsers do not agree about one
// thing, whatever the other proofs say.
func TestProofsAreEachNeeded(t *testing.T) {
	t.Parallel()
	w := newWorld()
	before, changed := text(bootstrap, w.before), text(bootstrap, w.after)
	value := base64.StdEncoding.EncodeToString(w.after)
	for name, doubt := range map[string]func(*file){
		"":                                      func(*file) {},
		"client-go saw another CA before":       func(f *file) { f.view.cluster(f.index)[keyData] = "other" },
		"client-go saw another tree before":     func(f *file) { f.view.tree.(map[string]any)["kind"] = "Other" },
		"client-go saw another config before":   func(f *file) { f.view.config.CurrentContext = "other" },
		"client-go saw no such cluster before":  func(f *file) { f.view.tree = map[string]any{} },
		"the value is another node of the tree": func(f *file) { f.value = f.root },
		"client-go sees no cluster there":       func(f *file) { f.index++ },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := read(before)
			if err != nil {
				t.Fatal(err)
			}
			doubt(f)
			var refusal *Refusal
			err = f.prove(changed, value, w.after)
			if refused := errors.As(err, &refusal) && refusal.Reason == reasonUnproven; refused != (name != "") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestAgreesWithoutTheCluster(t *testing.T) {
	t.Parallel()
	v := view{config: &api.Config{CurrentContext: "a", Contexts: map[string]*api.Context{"a": {Cluster: "c"}}}}
	if v.agrees("a", CA{Cluster: "c"}) {
		t.Error("a cluster that is not there is trusted")
	}
}

func TestPosition(t *testing.T) {
	t.Parallel()
	const text = "ab\nöd\n\nx"
	for _, c := range []struct{ line, column, offset int }{
		{1, 1, 0}, {1, 2, 1}, {2, 1, 3}, {2, 2, 5}, {2, 3, 6}, {3, 1, 7}, {4, 1, 8}, {4, 2, 9}, {4, 3, -1}, {5, 1, -1}, {0, 1, -1}, {1, 0, -1},
	} {
		at, ok := position([]byte(text), c.line, c.column)
		if ok != (c.offset >= 0) || ok && at != c.offset {
			t.Errorf("line %d, column %d: %d, %t", c.line, c.column, at, ok)
		}
	}
	if at, ok := position([]byte("ab"), 2, 1); ok || at != 0 {
		t.Errorf("behind the end: %d, %t", at, ok)
	}
}

func TestChildOfWhatHasNone(t *testing.T) {
	t.Parallel()
	list := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "a"}, {Kind: yaml.ScalarNode, Value: "b"}}}
	if child(list, "a") != nil || child(nil, "a") != nil || child(list.Content[0], "a") != nil {
		t.Error("what is no mapping has a child")
	}
}

func TestOddCharacters(t *testing.T) {
	t.Parallel()
	for r, want := range map[rune]bool{'\t': false, '\n': false, '\r': false, ' ': false, 0x1f: true, '~': false, 0x7f: true, 0x80: true, 0x9f: true, 0xa0: false, 'ö': false, '\u2028': true, '\u2029': true, '\ufeff': true, 0: true} {
		if odd(r) != want {
			t.Errorf("%U: %t", r, odd(r))
		}
	}
}

func TestBriefIsShort(t *testing.T) {
	t.Parallel()
	if got := Brief(errors.New(strings.Repeat("ö", 200))); got != strings.Repeat("ö", 100)+"…" {
		t.Errorf("%q", got)
	}
	if got := Brief(errors.New(strings.Repeat("x", 200))); got != strings.Repeat("x", 200) {
		t.Errorf("%q", got)
	}
	if got := Brief(errors.New("x" + strings.Repeat("ö", 100))); got != "x"+strings.Repeat("ö", 99)+"…" {
		t.Errorf("%q", got)
	}
}
