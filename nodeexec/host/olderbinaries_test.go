package host

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFoldersOfOlderBinaries: both runs have an entry with the same bytes. The later one
// owns the file, and the earlier one names it.
func TestFoldersOfOlderBinaries(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		for _, c := range []struct {
			name          string
			first, second int // minutes ago
			wrote         string
		}{
			{"one after the other", 60, 30, fmt.Sprintf("%x", sha256.Sum256([]byte(after)))},
			{"at the same second", 30, 30, fmt.Sprintf("%x", sha256.Sum256([]byte(after)))},
			{"taken away twice", 60, 30, "-"},
		} {
			first := newPlace(t, content)
			second := first.another("run-2")
			edit := first.edit(content, 0, 1, "x\n")
			if _, err := first.run.Replace(t.Context(), n, edit); err != nil {
				t.Fatal(err)
			}
			var entry string
			for _, path := range globbed(t, first.kept()+"/*") {
				text := read(t, path)
				if strings.HasPrefix(filepath.Base(path), "file-") {
					head, _, _ := strings.Cut(text, "\nafter ")
					entry, text = path, head+"\nafter "+c.wrote+"\nend\n"
					write(t, path, text)
				}
				if err := os.MkdirAll(second.kept(), 0o700); err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(second.kept(), filepath.Base(path)), text)
			}
			for file, minutes := range map[string]int{entry: c.first, filepath.Join(second.kept(), filepath.Base(entry)): c.second} {
				at := time.Now().Add(-time.Duration(minutes) * time.Minute).Truncate(time.Second)
				if err := os.Chtimes(file, at, at); err != nil {
					t.Fatal(err)
				}
			}
			if c.wrote == "-" {
				if err := os.Remove(first.file); err != nil {
					t.Fatal(err)
				}
			}
			entries, err := first.run.Backups(t.Context(), n)
			if err != nil || len(entries) != 1 || entries[0].Later != "run-2" {
				t.Errorf("%s: entries of run-1 %+v, %v", c.name, entries, err)
			}
			entries, err = second.run.Backups(t.Context(), n)
			if err != nil || len(entries) != 1 || entries[0].Later != "" {
				t.Errorf("%s: entries of run-2 %+v, %v", c.name, entries, err)
			}
			if _, err := first.run.Restore(t.Context(), n, first.file); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "run-2") {
				t.Errorf("%s: run-1 puts back: %v", c.name, err)
			}
			if out, err := n.undo(t, first); err == nil || !strings.Contains(out, "run-2") {
				t.Errorf("%s: %v\n%s", c.name, err, out)
			}
			if _, err := second.run.Restore(t.Context(), n, second.file); err != nil {
				t.Errorf("%s: run-2 does not put back: %v", c.name, err)
			}
			has(t, first.file, content)
		}
	})
}

func globbed(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	return names
}
