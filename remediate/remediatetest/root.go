package remediatetest

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// newRoot is a node's file system without the node: a busybox, the libraries that
// it loads, and links for its applets. There is no /proc, so that the shell does
// not find itself there, and takes the programs that are in PATH.
func newRoot(t *testing.T) string {
	t.Helper()
	made := template()
	if made.skip != "" && os.Getenv("CERTROT_REQUIRE_LAB") == "1" {
		t.Fatal("CERTROT_REQUIRE_LAB=1, but " + made.skip)
	} else if made.skip != "" {
		t.Skip(made.skip)
	}
	root, err := os.MkdirTemp(made.dir, "node-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	for path, from := range made.files {
		if err := firstOf(os.MkdirAll(filepath.Dir(root+path), 0o755), os.Link(from, root+path)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range applets() {
		if err := os.Symlink("/bin/busybox", root+"/bin/"+name); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"/tmp", "/usr/bin", "/var/lib", "/dev"} {
		if err := os.MkdirAll(root+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(root+"/dev/null", nil, 0o666); err != nil { // what is written there is not looked at
		t.Fatal(err)
	}
	return root
}

// applets are what the scripts use of a node; chcon and lsattr are not there.
func applets() []string {
	return []string{"sh", "awk", "cat", "chmod", "chown", "chroot", "cp", "cut", "date", "dd", "find", "head", "id", "kill", "ln", "ls", "mkdir", "mktemp", "mv", "nc",
		"od", "printf", "readlink", "rm", "rmdir", "sed", "sha256sum", "sleep", "stat", "sync", "tail", "timeout", "touch", "tr", "true", "uname", "wc"}
}

type rootTemplate struct {
	dir   string
	files map[string]string // path in the node: file in dir
	skip  string
}

// template copies what all nodes share, once: links to it are made in no time.
var template = sync.OnceValue(func() rootTemplate {
	bin, err := exec.LookPath("busybox")
	switch {
	case os.Geteuid() != 0:
		return rootTemplate{skip: "needs root: commands of a node run in a chroot"}
	case err != nil:
		return rootTemplate{skip: "busybox is not installed"}
	}
	made := rootTemplate{files: map[string]string{}}
	if made.dir, err = os.MkdirTemp("", "certrot-remediate-"); err != nil {
		return rootTemplate{skip: err.Error()}
	}
	from := map[string]string{"/bin/busybox": bin}
	if flock, err := exec.LookPath("flock"); err == nil { // many a busybox has none
		from["/bin/flock"] = flock
	}
	for _, program := range slices.Collect(maps.Values(from)) {
		libraries, _ := exec.Command("ldd", program).Output() // none where it is static
		for word := range strings.FieldsSeq(string(libraries)) {
			if strings.HasPrefix(word, "/") {
				from[word] = word
			}
		}
	}
	for path, file := range from {
		made.files[path] = made.dir + "/" + strconv.Itoa(len(made.files))
		data, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(made.files[path], data, 0o755)
		}
		if err != nil {
			return rootTemplate{skip: err.Error()}
		}
	}
	return made
})
