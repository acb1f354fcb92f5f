package floors

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoFileNamesThisFolder: a golden that was written with the path of this checkout passes
// here, and fails in every other folder.
func TestNoFileNamesThisFolder(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(root, "/") < 2 {
		t.Skip("not on this platform: the path of this checkout is one word")
	}
	for _, file := range filesWith(t, root, root) {
		t.Errorf("%s has the path of this checkout, %s: copy the file that it is about into the test's own folder", file, root)
	}
}

func TestPathsAreSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"testdata/answer.txt":  "next  kubectl certrot inspect --from " + dir + "/demo.certrot\n",
		"testdata/other.txt":   "next  kubectl certrot inspect --from demo.certrot\n",
		"testdata/longer.txt":  dir + "2/demo.certrot\n",
		".lab/written.txt":     dir + "/demo.certrot\n",
		"bin/test-summary.txt": dir + "/demo.certrot\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(filesWith(t, dir, dir), " "); got != "testdata/answer.txt" {
		t.Errorf("found %q", got)
	}
}

// filesWith are the files below root that name folder or what is in it. What is built or
// written by a run is left out.
func filesWith(t *testing.T, root, folder string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == ".git" || name == ".lab" || name == "bin" || name == "dist") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte(folder+"/")) {
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			out = append(out, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
