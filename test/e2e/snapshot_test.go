package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A snapshot gives the same answers as the cluster did.
func TestASnapshotAnswersAsTheClusterDid(t *testing.T) {
	t.Parallel()
	w := enter(t)
	file := filepath.Join(t.TempDir(), "snapshot")
	take := func() {
		t.Helper()
		if r := w.run(t, "snapshot", "-o", file, "--nodes", "none"); r.code != 0 || !strings.HasPrefix(r.said(), "wrote ") || strings.Count(r.said(), "\n") != 1 {
			t.Logf("note: snapshot ended with %d, want 0, and said:\n%s", r.code, r.said())
		}
	}
	take()
	for _, c := range []struct {
		name string
		args []string
		code int
	}{
		{"as JSON", []string{"-o", "json"}, 1},
		{"as YAML", []string{"-o", "yaml"}, 1},
		{"as text for people", []string{"--all", "-o", "wide", "--min-severity", "info"}, 1},
		{"in another time", []string{"-o", "json", "--now", "2030-01-01T00:00:00Z"}, 1},
		{"what is critical", []string{"-o", "json", "--fail-on", "critical", "--min-severity", "critical"}, 1},
		{"CAs that expire within 20 years", []string{"-o", "json", "--ca-only", "--expiring-within", "7300d"}, 1},
		{"names", []string{"-o", "name"}, 1},
		{"certificates as text", []string{"-o", "text"}, 1},
		{"a namespace by name", []string{"-n", w.planted.rich(), "-o", "name"}, 1},
		{"a label by name", []string{"-l", label + "=" + w.planted.id, "-o", "name"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := c.args
			if !strings.Contains(strings.Join(args, " "), "--now") {
				args = append(args, "--now", w.planted.now.Format("2006-01-02T15:04:05Z07:00"))
			}
			var live, saved result
			for try, until := 0, time.Now().Add(quiet); try < 5 || time.Now().Before(until); try++ {
				if try > 0 {
					take()
				}
				live = w.run(t, append([]string{"inspect", "--nodes", "none"}, args...)...)
				saved = w.run(t, append([]string{"inspect", "--from", file}, args...)...)
				if withoutTaken(live) == withoutTaken(saved) && live.code == c.code && saved.code == c.code {
					break
				}
			}
			of, as := strings.Split(withoutTaken(live), "\n"), strings.Split(withoutTaken(saved), "\n")
			for n := range max(len(of), len(as)) { // cmp.Diff takes minutes for so much text
				if n >= min(len(of), len(as)) || of[n] != as[n] {
					t.Errorf("line %d of %d and %d:\n-cluster  %.500q\n+snapshot %.500q", n, len(of), len(as), append(of[min(n, len(of)):], "")[0], append(as[min(n, len(as)):], "")[0])
					break
				}
			}
			if live.code != c.code || saved.code != c.code || saved.stderr+live.stderr != "" {
				t.Errorf("exit code %d, and %d of the snapshot, want %d; stderr %q and %q", live.code, saved.code, c.code, live.stderr, saved.stderr)
			}
			if len(live.stdout) < 500 {
				t.Errorf("only %d bytes were compared:\n%s", len(live.stdout), live.stdout)
			}
		})
	}
}

// withoutTaken is what was printed, without the time of reading.
// Of certificate requests an age is of that time, too.
func withoutTaken(r result) string {
	var kept []string
	age := regexp.MustCompile(`([0-9]+[dhms])+( ago)|\b(pending for) ([0-9]+[dhms])+| {2,}([0-9]+[dhms])+ {2,}`)
	for line := range strings.Lines(r.stdout) {
		if !strings.Contains(line, `"taken": "`) && !strings.HasPrefix(line, "taken: ") {
			kept = append(kept, age.ReplaceAllString(line, "$2$3"))
		}
	}
	return strings.Join(kept, "")
}

func TestASnapshotOfASnapshotIsTheSameFile(t *testing.T) {
	t.Parallel()
	w := enter(t)
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	for _, args := range [][]string{{"-o", first, "--allow-unknown"}, {"--from", first, "-o", second, "--allow-unknown"}} {
		if r := w.run(t, append([]string{"snapshot", "--nodes", "none"}, args...)...); r.code != 0 {
			t.Fatalf("snapshot %v ended with %d:\n%s", args, r.code, r.said())
		}
	}
	if a, b := unpacked(t, first), unpacked(t, second); a != b {
		at := 0
		for at < min(len(a), len(b)) && a[at] == b[at] {
			at++
		}
		around := func(s string) string { return s[min(max(at-200, 0), len(s)):min(at+200, len(s))] }
		t.Errorf("the snapshot of a snapshot differs from it:\n%q\n%q", around(a), around(b))
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("beside the snapshots, something is left: %v, %v", entries, err)
	}
	if info, err := os.Stat(first); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("a snapshot names hosts and users: others must not read it by default: %v, %v", info.Mode(), err)
	}
}

func TestAnIncompleteSnapshotSaysSo(t *testing.T) {
	t.Parallel()
	w := enter(t)
	file := filepath.Join(t.TempDir(), "snapshot")
	as := w.planted.userName("configmaps-only")
	r := w.run(t, "snapshot", "-o", file, "--nodes", "none", "--as", as)
	if r.code != 3 || !strings.Contains(r.stderr, "unknown: apiservices: list apiservices: “apiservices.apiregistration.k8s.io is forbidden: ") {
		t.Errorf("ended with %d, want 3, and the gaps:\n%s", r.code, r.said())
	}
	inv, r := w.inventory(t, "--from", file)
	if r.code != 3 || len(inv.Gaps) == 0 {
		t.Errorf("inspect --from it ended with %d, want 3, with gaps %+v", r.code, inv.Gaps)
	}
	if r := w.run(t, "snapshot", "-o", file, "--nodes", "none", "--as", as, "--allow-unknown"); r.code != 0 {
		t.Errorf("with --allow-unknown it ended with %d, want 0", r.code)
	}
}

// What kubectl saves is read as it is, however it comes.
func TestWhatKubectlPrintsIsReadFromFiles(t *testing.T) {
	t.Parallel()
	w := enter(t)
	dir := t.TempDir()
	list := w.mustKubectl(t, "get", everyKind, "-A", "-o", "json")
	o, err := readList(list)
	if err != nil {
		t.Fatal(err)
	}
	var l struct{ Items []json.RawMessage }
	if err := json.Unmarshal(list, &l); err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	items := func(items []json.RawMessage) []byte {
		return asJSON(object{"apiVersion": "v1", "kind": "List", "items": items})
	}
	half := len(l.Items) / 2
	whole, zip := write("all.json", list), write("all.json.gz", zipped(list))
	first, second := write("first.json", items(l.Items[:half])), write("second.json", items(l.Items[half:]))
	stream := write("stream.json", bytes.Join(rawMessages(l.Items), []byte("\n---\n")))
	for _, c := range []struct {
		name  string
		args  []string
		stdin []byte
	}{
		{"JSON", []string{"--from", whole}, nil},
		{"gzipped", []string{"--from", zip}, nil},
		{"by standard input", []string{"--from", "-"}, list},
		{"gzipped by standard input", []string{"--from", "-"}, zipped(list)},
		{"in two files", []string{"--from", first, "--from", second}, nil},
		{"in a file and by standard input", []string{"--from", first, "--from", "-"}, items(l.Items[half:])},
		{"one document for each object", []string{"--from", stream}, nil},
		{"twice the same", []string{"--from", whole, "--from", zip}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			compareFile(t, w, o, c.stdin, c.args...)
		})
	}
	t.Run("YAML", func(t *testing.T) {
		t.Parallel()
		var text []byte
		w.agree(t, func(o *oracle) string {
			text = w.mustKubectl(t, "get", everyKind, "-A", "-o", "yaml")
			path := write("all.yaml", text)
			inv, r := w.inventory(t, "--from", path)
			got := inv.sightings(t)
			for place := range w.planted.helm {
				if len(got[place]) == 0 {
					return "releases of Helm are not read from files"
				}
				delete(got, place)
			}
			return wrong("places", o.seen, got) + wrong("exit code", 0, r.code)
		})
	})
	t.Run("one Secret as YAML", func(t *testing.T) {
		t.Parallel()
		text := w.mustKubectl(t, "get", "secret", "serving", "-n", w.planted.rich(), "-o", "yaml")
		one := &oracle{seen: o.seen.in("Secret/" + w.planted.rich() + "/serving[")}
		compareFile(t, w, one, text, "--from", "-")
	})
}

func rawMessages(items []json.RawMessage) [][]byte {
	var out [][]byte
	for _, item := range items {
		out = append(out, item)
	}
	return out
}

func compareFile(t *testing.T, w *world, o *oracle, stdin []byte, args ...string) {
	t.Helper()
	c := w.command(t.Context(), append([]string{"inspect", "-o", "json", "--fail-on", "none", "--nodes", "none"}, args...)...)
	c.Stdin = bytes.NewReader(stdin)
	c.Env = append(c.Env, "KUBECONFIG=/no/such/file")
	r := w.exec(t, c)
	inv := decode(t, r)
	if diff := cmp.Diff(o.seen, inv.sightings(t)); diff != "" {
		t.Errorf("(-oracle +inspect):\n%.5000s", diff)
	}
	if r.code != 0 {
		t.Errorf("ended with %d, want 0: %+v", r.code, inv.Gaps)
	}
}
