package main

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
	"time"
)

const sample = `package sample

func f(a, b int, err error) (bool, error) {
	if a < 3 && b != 0 {
		a = b
		return true, nil
	}
	for range 2 {
		g()
		continue
	}
	return false, err
}

func g() {}
`

func TestMutants(t *testing.T) {
	all, err := mutantsOfFile(target{}, "x/sample.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range all {
		ids = append(ids, strings.TrimPrefix(m.id, "x/sample.go f: "))
		source, err := m.changed([]byte(sample))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "", source, 0); err != nil {
			t.Errorf("%s is no program: %v\n%s", m.id, err, source)
		}
		if normal(string(source)) == normal(sample) {
			t.Errorf("%s changes nothing", m.id)
		}
	}
	want := []string{
		"if a < 3 && b != 0: always true", "if a < 3 && b != 0: always false",
		"a < 3 && b != 0: && is ||", "a < 3: < is <=", "a < 3: < is >=", "3 is (3 + 1)", "b != 0: != is ==", "0 is (0 + 1)",
		"without a = b", "return true, nil: result 1 is false", "2 is (2 + 1)", "without g()", "without continue",
		"return false, err: result 1 is true", "return false, err: result 2 is nil",
	}
	for _, w := range want {
		if !slices.Contains(ids, w) {
			t.Errorf("no mutant %q", w)
		}
	}
	if len(ids) != len(want) {
		t.Errorf("%d mutants, want %d: %q", len(ids), len(want), ids)
	}
}

func normal(source string) string {
	return strings.Join(strings.Fields(source), " ")
}

// TestAMutantIsKilledByATestThatNotices runs real tests of a small package: equal turned
// around is noticed, and what nothing asks for is not.
func TestAMutantIsKilledByATestThatNotices(t *testing.T) {
	root, err := root()
	if err != nil {
		t.Fatal(err)
	}
	tgt := target{"sample", "test/mutate/testdata/sample", []string{"*.go"}, nil, ""}
	all, err := mutantsOf(root, tgt)
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]verdict{}
	for _, m := range all {
		v, err := test(t.Context(), root, m, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		verdicts[m.id] = v
	}
	for id, want := range map[string]verdict{
		"same: a == b: == is !=":     killed,
		"untested: a == b: == is !=": survived,
		"used: without b = c":        unbuilt, // c is not used then
	} {
		if got := verdicts["test/mutate/testdata/sample/sample.go "+id]; got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

func TestTheSameSeedChoosesTheSame(t *testing.T) {
	root, err := root()
	if err != nil {
		t.Fatal(err)
	}
	ids := func(seed uint64) (out []string) {
		chosen, err := options{seed: seed, n: 50}.choose(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range chosen {
			out = append(out, m.id)
		}
		return out
	}
	one := ids(1)
	if len(one) != 50 || !slices.Equal(one, ids(1)) || slices.Equal(one, ids(2)) {
		t.Errorf("%q", one)
	}
}

func TestEquivalentMutantsHaveReasonsAndExist(t *testing.T) {
	why, err := reasons(equivalentText)
	if err != nil {
		t.Fatal(err)
	}
	root, err := root()
	if err != nil {
		t.Fatal(err)
	}
	all, err := options{}.choose(root)
	if err != nil {
		t.Fatal(err)
	}
	for id := range why {
		if !slices.ContainsFunc(all, func(m mutant) bool { return m.id == id }) {
			t.Errorf("equivalent.txt: no such mutant: %s", id)
		}
	}
	if _, err := reasons("x\ny\n\twhy\n"); err == nil {
		t.Error("a mutant without a reason is accepted")
	}
}

func TestTableAndGoal(t *testing.T) {
	all := tally{}
	m := mutant{target: targets()[0]}
	for v, n := range map[verdict]int{killed: 9, survived: 1, equivalent: 2, unbuilt: 3} {
		for range n {
			all.add(m, v)
		}
	}
	var b strings.Builder
	if !all.print(&b, 0.9) || all.print(&b, 0.91) {
		t.Error("the goal")
	}
	if !strings.Contains(b.String(), "| trust | 12 | 9 | 1 | 2 | 3 | 90 % |") {
		t.Error(b.String())
	}
}
