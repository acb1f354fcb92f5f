package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	seed      uint64
	n         int
	target    string
	id, state string
	goal      float64
	list      bool
}

// verdict is how a mutant ended.
type verdict string

const (
	killed     verdict = "killed"     // a test failed, or ran over its time
	survived   verdict = "survived"   // the tests passed
	unbuilt    verdict = "unbuilt"    // it is no program: not counted
	equivalent verdict = "equivalent" // it survived, and equivalent.txt says why that is right
)

//go:embed equivalent.txt
var equivalentText string

// reasons are the mutants of equivalent.txt with why they make no difference.
func reasons(text string) (map[string]string, error) {
	out := map[string]string{}
	id := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "\t"):
			if id == "" {
				return nil, fmt.Errorf("equivalent.txt: reason without a mutant: %s", line)
			}
			out[id] = strings.TrimSpace(out[id] + " " + strings.TrimSpace(line))
		default:
			id = line
			out[id] = ""
		}
	}
	for id, why := range out {
		if why == "" {
			return nil, fmt.Errorf("equivalent.txt: no reason for %s", id)
		}
	}
	return out, nil
}

// run chooses mutants, runs them, and prints the table. It reports whether the goal is
// reached.
func (o options) run(ctx context.Context, w io.Writer) (bool, error) {
	root, err := root()
	if err != nil {
		return false, err
	}
	why, err := reasons(equivalentText)
	if err != nil {
		return false, err
	}
	chosen, err := o.choose(root)
	if err != nil {
		return false, err
	}
	if o.list {
		for _, m := range chosen {
			fmt.Fprintf(w, "%s:%d\t%s\n", m.file, m.line, m.id)
		}
		return true, nil
	}
	known, err := readState(o.state)
	if err != nil {
		return false, err
	}
	table, limits := tally{}, limits{}
	for i, m := range chosen {
		v, err := o.judge(ctx, root, m, known, limits)
		if err != nil {
			return false, err
		}
		if v == survived && why[m.id] != "" {
			v = equivalent
		}
		table.add(m, v)
		fmt.Fprintf(w, "%d/%d %-10s %s:%d %s\n", i+1, len(chosen), v, m.file, m.line, m.id)
	}
	return table.print(w, o.goal), nil
}

// choose takes n mutants by the seed, as many of each target. The same seed and sources give
// the same mutants.
func (o options) choose(root string) (chosen []mutant, err error) {
	wanted := slices.DeleteFunc(targets(), func(t target) bool { return o.target != "" && o.target != t.name })
	for i, t := range wanted {
		all, err := mutantsOf(root, t)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(m mutant) bool { return !strings.Contains(m.id, o.id) })
		share := o.n*(i+1)/len(wanted) - o.n*i/len(wanted)
		if o.n == 0 || share >= len(all) {
			chosen = append(chosen, all...)
			continue
		}
		chance := rand.New(rand.NewPCG(o.seed, 0)) //nolint:gosec // a choice that can be repeated
		places := chance.Perm(len(all))[:share]
		slices.Sort(places)
		for _, p := range places {
			chosen = append(chosen, all[p])
		}
	}
	return chosen, nil
}

// judge runs the tests with a mutant, unless their verdict is known.
func (o options) judge(ctx context.Context, root string, m mutant, known map[string]verdict, limits limits) (verdict, error) {
	key, err := keyOf(root, m)
	if err != nil {
		return "", err
	}
	if v := known[key]; v != "" {
		return v, nil
	}
	limit, err := limits.measure(ctx, root, m.target)
	if err != nil {
		return "", err
	}
	start := time.Now()
	v, err := test(ctx, root, m, limit)
	if err != nil {
		return "", err
	}
	if o.state == "" {
		return v, nil
	}
	return v, appendState(o.state, entry{key, m.id, v, time.Since(start).Seconds()})
}

// limits are how long the tests of a target may take with a mutant, by the target's name.
type limits map[string]time.Duration

// measure runs the target's tests as they are: they have to pass, and the limit is five times
// what they took, and a minute.
func (l limits) measure(ctx context.Context, root string, t target) (time.Duration, error) {
	if l[t.name] > 0 {
		return l[t.name], nil
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	programs := filepath.Join(dir, "tests")
	if out, err := build(ctx, root, t, programs); err != nil {
		return 0, fmt.Errorf("build the tests of %s: %w\n%s", t.dir, err, out)
	}
	start := time.Now()
	if out, err := runTests(ctx, root, t, programs, time.Hour); err != nil {
		return 0, fmt.Errorf("tests of %s without any change: %w\n%s", t.dir, err, out)
	}
	l[t.name] = 5*time.Since(start) + time.Minute
	return l[t.name], nil
}

// test runs the tests of a mutant's package with it.
func test(ctx context.Context, root string, m mutant, limit time.Duration) (verdict, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := writeOverlay(root, dir, m)
	if err != nil {
		return "", err
	}
	programs := filepath.Join(dir, "tests")
	if out, err := build(ctx, root, m.target, programs, "-overlay", overlay); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if !strings.Contains(out, ".go:") {
			return "", fmt.Errorf("build %s: %w\n%s", m.id, err, out)
		}
		return unbuilt, nil
	}
	if _, err := runTests(ctx, root, m.target, programs, limit); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return killed, nil
	}
	return survived, nil
}

// writeOverlay writes the changed file and what -overlay wants into dir.
func writeOverlay(root, dir string, m mutant) (string, error) {
	original := filepath.Join(root, m.file)
	data, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	source, err := m.changed(data)
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return "", err
	}
	return overlay, errors.Join(os.WriteFile(changed, source, 0o600), os.WriteFile(overlay, replace, 0o600))
}

// build builds the tests of a target into a folder, a program a package. They are not debugged,
// and without what debuggers read they are linked in less time.
func build(ctx context.Context, root string, t target, programs string, flags ...string) (string, error) {
	args := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", programs + "/"}, flags...)
	for _, p := range t.packages() {
		args = append(args, "./"+p)
	}
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the go command, as make runs it
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// runTests runs the tests of a target, those of its own package first, up to the first that fails.
func runTests(ctx context.Context, root string, t target, programs string, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, p := range t.packages() {
		program := filepath.Join(programs, path.Base(p)+".test")
		if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
			continue // a package without tests
		}
		cmd := exec.CommandContext(ctx, program, "-test.failfast", "-test.timeout", limit.String(), "-test.run", t.pattern(p)) //nolint:gosec // just built
		cmd.Dir = filepath.Join(root, p)
		cmd.WaitDelay = time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			return string(out), err
		}
	}
	return "", nil
}

// keyOf identifies a mutant with all sources and tests of its package.
func keyOf(root string, m mutant) (string, error) {
	sum := sha256.New()
	var files []string
	for _, p := range m.target.packages() {
		fmt.Fprintf(sum, "%s %q\n", p, m.target.pattern(p))
		of, err := filepath.Glob(filepath.Join(root, p, "*.go"))
		if err != nil {
			return "", err
		}
		files = append(files, of...)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", filepath.Base(f), len(data), data)
	}
	fmt.Fprintln(sum, m.id)
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// entry is a line of the state file.
type entry struct {
	Key     string  `json:"key"`
	ID      string  `json:"id"`
	Verdict verdict `json:"verdict"`
	Seconds float64 `json:"seconds"`
}

func readState(name string) (map[string]verdict, error) {
	known := map[string]verdict{}
	if name == "" {
		return known, nil
	}
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e entry
		if json.Unmarshal(lines.Bytes(), &e) == nil { // a cut last line is run again
			known[e.Key] = e.Verdict
		}
	}
	return known, nil
}

func appendState(name string, e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// tally counts verdicts by target.
type tally map[string]map[verdict]int

func (t tally) add(m mutant, v verdict) {
	if t[m.target.name] == nil {
		t[m.target.name] = map[verdict]int{}
	}
	t[m.target.name][v]++
}

// print prints the table, and reports whether each target reaches the goal.
func (t tally) print(w io.Writer, goal float64) bool {
	fine := true
	fmt.Fprintf(w, "\n| target | mutants | killed | survived | equivalent | not built | share killed |\n|---|---|---|---|---|---|---|\n")
	for _, name := range names() {
		c := t[name]
		counted := c[killed] + c[survived]
		if counted+c[equivalent] == 0 {
			continue
		}
		share := 1.0
		if counted > 0 {
			share = float64(c[killed]) / float64(counted)
		}
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d | %.0f %% |\n", name, counted+c[equivalent], c[killed], c[survived], c[equivalent], c[unbuilt], 100*share)
		fine = fine && share >= goal
	}
	return fine
}
