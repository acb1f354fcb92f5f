package collect

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// filler gives each field of a value something that no other field has.
type filler struct {
	t    *testing.T
	text string // of strings; empty: plain names
	n    int
	cert *pki.Cert
}

func (f *filler) fill(at string, v reflect.Value) {
	f.n++
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 3, 1, 12, 0, f.n, 0, time.UTC)))
		return
	case reflect.TypeFor[catalog.Tristate]():
		v.Set(reflect.ValueOf(catalog.Yes))
		return
	case reflect.TypeFor[*pki.Cert]():
		v.Set(reflect.ValueOf(f.cert))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text-%d%s", f.n, f.text))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(at, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			f.fill(at, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		f.fill(at, value)
		v.SetMapIndex(reflect.ValueOf("key"), value)
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.Name != "Next" { // of a gap: for who took the file
				f.fill(at+"."+field.Name, v.Field(i))
			}
		}
	default:
		f.t.Fatalf("%s is a %s, which this test knows nothing of", at, v.Kind())
	}
}

func statusOf(t *testing.T, text string) *inspect.ClusterStatus {
	t.Helper()
	f := filler{t: t, text: text, cert: pki.NewScanner().Scan(caPEM())[0].Content.Certs[0]}
	s := &inspect.ClusterStatus{}
	f.fill("status", reflect.ValueOf(s).Elem())
	return s
}

// saved is a snapshot as it is read again.
func saved(t *testing.T, s inspect.Snapshot) inspect.Snapshot {
	t.Helper()
	var file bytes.Buffer
	if err := WriteSnapshot(&file, s); err != nil {
		t.Fatal(err)
	}
	again, err := (File{Path: "-", Stdin: &file, Scanner: pki.NewScanner()}).Read()
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// sameCert compares certificates by what they are.
var sameCert = cmp.Comparer(func(a, b *pki.Cert) bool { return a.Fingerprint == b.Fingerprint })

// TestEachFieldOfAStatusIsSaved: a field that is added to it and not to the file is found.
func TestEachFieldOfAStatusIsSaved(t *testing.T) {
	t.Parallel()
	want := statusOf(t, "")
	again := saved(t, inspect.Snapshot{Status: want})
	again.MarkForeign()
	if diff := cmp.Diff(want, again.Status, sameCert); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAStatusSavedTwiceIsTheSame: a snapshot of a snapshot is the same file.
func TestAStatusSavedTwiceIsTheSame(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " (next: bash x)", ": list pods: forbidden"} {
		s := inspect.Snapshot{Status: statusOf(t, text)}
		s.MarkForeign()
		s.Status.StaticPods.Gap.Next = "ask"
		again := saved(t, s)
		again.MarkForeign()
		again.Advise(inspect.FileHints("oc certrot"))
		if again.Status.StaticPods.Gap.Next == "" || again.Status.ControlPlane.Gaps[0].Next == "" {
			t.Errorf("%q: a gap without a next step", text)
		}
		var first, second bytes.Buffer
		if err := errors.Join(WriteSnapshot(&first, s), WriteSnapshot(&second, again)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%q: the second one differs", text)
		}
	}
}

// TestNothingAndNoneAreTwoThings in the file of a status: nil says that it was not read.
func TestNothingAndNoneAreTwoThings(t *testing.T) {
	t.Parallel()
	want := &inspect.ClusterStatus{
		ControlPlane: &inspect.ControlPlaneStatus{Actors: []inspect.Actor{{Name: "a"}, {Name: "b", Paused: []string{""}, Active: catalog.No}}},
		Network: &inspect.NetworkRead{Rollout: inspect.Rollout{
			Source:  []*pki.Cert{},
			Masters: []inspect.Revision{{Node: "a"}, {Node: "b", CA: []*pki.Cert{}}},
			RootCAs: []inspect.RootCA{{Namespace: "a"}, {Namespace: "b", CA: []*pki.Cert{}}},
		}},
	}
	if diff := cmp.Diff(want, saved(t, inspect.Snapshot{Status: want}).Status, sameCert); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := saved(t, inspect.Snapshot{}).Status; s != nil {
		t.Errorf("no status is read as %+v", s)
	}
}

// TestTextsOfAStatusAreMarked: a snapshot is from someone else.
func TestTextsOfAStatusAreMarked(t *testing.T) {
	t.Parallel()
	again := saved(t, inspect.Snapshot{Status: statusOf(t, " (next: bash x)")})
	again.MarkForeign()
	texts := 0
	var look func(at string, v reflect.Value)
	look = func(at string, v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			texts++
			// Who paused something is compared with names of runs, and marked where it is printed.
			if s := v.String(); s != "" && !strings.HasPrefix(s, "“") && !strings.HasSuffix(at, ".Paused") {
				t.Errorf("%s: %s", at, s)
			}
		case reflect.Pointer:
			if v.Type() != reflect.TypeFor[*pki.Cert]() && !v.IsNil() {
				look(at, v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				look(at, v.Index(i))
			}
		case reflect.Map:
			for _, k := range v.MapKeys() {
				look(at, v.MapIndex(k))
			}
		case reflect.Struct:
			if v.Type() == reflect.TypeFor[time.Time]() {
				return
			}
			for i := range v.NumField() {
				look(at+"."+v.Type().Field(i).Name, v.Field(i))
			}
		}
	}
	look("status", reflect.ValueOf(again.Status))
	if texts < 50 {
		t.Errorf("%d texts", texts)
	}
}

// TestVersionsOfSnapshots: an earlier one has no status, and a later one is refused.
func TestVersionsOfSnapshots(t *testing.T) {
	t.Parallel()
	read := func(version, status string) (inspect.Snapshot, error) {
		return readSnapshot(strings.NewReader(`{"apiVersion":"certrot/` + version + `","kind":"Snapshot","status":` + status + `}`))
	}
	const status = `{"controlPlane":{"update":{"progressing":"False"}}}`
	if s, err := read("v1alpha1", status); err != nil || s.Status != nil {
		t.Errorf("v1alpha1: %+v, %v", s.Status, err)
	}
	if s, err := read("v1alpha2", status); err != nil || s.Status == nil || s.Status.ControlPlane.Update.Progressing != "False" {
		t.Errorf("v1alpha2: %+v, %v", s.Status, err)
	}
	want := `file is a "Snapshot" of version "certrot/v1alpha3"; this certrot reads "Snapshot" of versions "certrot/v1alpha1" and "certrot/v1alpha2"`
	if _, err := read("v1alpha3", status); err == nil || err.Error() != want {
		t.Errorf("v1alpha3: %v", err)
	}
	for status, want := range map[string]string{
		`{"network":{"pods":{},"rollout":{"rootCAs":[{"namespace":"a","ca":[0]}]}}}`:                                    "snapshot: status: rollout: it refers to certificate 0 of 0",
		`{"network":{"pods":{},"rollout":{"source":[-1]}}}`:                                                             "snapshot: status: rollout: it refers to certificate -1 of 0",
		`{"controlPlane":{"nodes":[` + strings.Repeat("{},", maxStatusList) + `{}]}}`:                                   "more than 200000 elements",
		`{"network":{"pods":{"pods":[` + strings.Repeat("{},", maxStatusList) + `{}]}}}`:                                "more than 200000 elements",
		`{"controlPlane":{"staticPods":[{"resource":"a","masters":[` + strings.Repeat("{},", maxStatusList) + `{}]}]}}`: "more than 200000 elements",
	} {
		if _, err := read("v1alpha2", status); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", status, err, want)
		}
	}
}
