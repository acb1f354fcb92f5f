package gather

import (
	"errors"
	"os"
	"reflect"
	"syscall"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// mounted mounts something for one test, or skips the test.
func mounted(t *testing.T, source, at, kind string, flags uintptr, data string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	if err := syscall.Mount(source, at, kind, flags, data); err != nil {
		t.Skipf("mount %s: %v", at, err) // a container without the right to
	}
	t.Cleanup(func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) })
}

// sameAfter compares what a node answers when all is well and after a fault
// that is none of a reader's business, with its temporary files on that disk.
func sameAfter(t *testing.T, root string, fault func()) {
	t.Helper()
	tmp := root + "/tmp"
	before := map[string][]File{}
	t.Run("before", func(t *testing.T) {
		for _, w := range shells(t) {
			if w.skip == "" {
				w.tmp = tmp
				_, r := w.read(t, root, Options{})
				before[w.name] = r.Files
			}
		}
	})
	fault()
	inEach(t, shells(t), func(t *testing.T, w world) {
		w.tmp = tmp
		_, r := w.read(t, root, Options{})
		if len(r.Files) < 3 || !reflect.DeepEqual(r.Files, before[w.name]) {
			t.Errorf("%d files, and %d before", len(r.Files), len(before[w.name]))
		}
		for _, g := range r.Gaps {
			if g.Where != "" { // no systemd is there
				t.Errorf("gap %+v", g)
			}
		}
	})
}

// smallTree has one of everything that needs a tool of its own.
func smallTree(t *testing.T, root string) {
	t.Helper()
	id := newIdentity()
	tree(t, root, map[string]string{
		"/tmp/":                           "",
		"/etc/kubernetes/ca.crt":          string(id.ca.CertPEM),
		"/etc/kubernetes/client.pem":      string(id.client.CertPEM) + string(id.client.KeyPEM),
		"/etc/kubernetes/kubeconfig":      bootstrap(id.ca.CertPEM, "secret"),
		"/etc/kubernetes/der.crt":         string(id.ca.Cert.Raw),
		"/etc/kubernetes/link -> ca.crt":  "",
		"/etc/kubernetes/line\nbreak.crt": string(id.ca.CertPEM),
	})
}

func TestAFullDiskIsReadAllTheSame(t *testing.T) {
	root := newRoot(t)
	mounted(t, "tmpfs", root, "tmpfs", 0, "size=256k,mode=755")
	smallTree(t, root)
	sameAfter(t, root, func() {
		f, err := os.Create(root + "/full")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	})
}

func TestAReadOnlyRootIsReadAllTheSame(t *testing.T) {
	root := newRoot(t)
	mounted(t, "tmpfs", root, "tmpfs", 0, "size=256k,mode=755")
	smallTree(t, root)
	sameAfter(t, root, func() {
		if err := syscall.Mount("", root, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+"/tmp/x", nil, 0o600); !errors.Is(err, syscall.EROFS) {
			t.Fatalf("it can be written to: %v", err)
		}
	})
}

// TestAMountBelowAPathIsAGap has another file system, as a volume is, in a
// directory that is read.
func TestAMountBelowAPathIsAGap(t *testing.T) {
	root := newRoot(t)
	smallTree(t, root)
	tree(t, root, map[string]string{"/etc/kubernetes/volume/": ""})
	mounted(t, "tmpfs", root+"/etc/kubernetes/volume", "tmpfs", 0, "size=64k")
	tree(t, root, map[string]string{"/etc/kubernetes/volume/ca.crt": "not entered"})
	inEveryShell(t, func(t *testing.T, w world) {
		_, r := w.read(t, root, Options{})
		if _, ok := r.File("/etc/kubernetes/volume/ca.crt"); ok || !says(r, "another file system is mounted there") {
			t.Errorf("entered %v, gaps %+v", ok, r.Gaps)
		}
	})
}

// TestACutAnswerIsNone cuts a real answer where a connection may break: at many
// places, and at each byte of its end.
func TestACutAnswerIsNone(t *testing.T) {
	w := shell("dash", "dash")
	if w.skip != "" {
		t.Skip(w.skip)
	}
	root := newRoot(t)
	smallTree(t, root)
	n, r := w.read(t, root, Options{})
	if len(r.Files) < 3 {
		t.Fatalf("%d files", len(r.Files))
	}
	broken := errors.New("the connection to worker-3 is lost")
	for i := 1; i < len(n.raw); i++ {
		if i < len(n.raw)-150 && i%61 != 0 {
			continue
		}
		if r, err := parseOutput(n.raw[:i], pki.NewScanner()); !errors.Is(err, errIncomplete) || len(r.Files) > 0 {
			t.Fatalf("%d of %d bytes: %v, %d files", i, len(n.raw), err, len(r.Files))
		}
	}
	for _, part := range [][]byte{nil, n.raw[:len(n.raw)/2], n.raw[:len(n.raw)-1]} {
		if _, err := Read(t.Context(), answers{part, broken}, pki.NewScanner(), Options{}); !errors.Is(err, broken) {
			t.Errorf("%d bytes: the error does not say why: %v", len(part), err)
		}
	}
	double := append(append([]byte(nil), n.raw...), n.raw...)
	if _, err := parseOutput(double, pki.NewScanner()); err == nil {
		t.Error("two answers are one")
	}
}
