package gather

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestAnswerIsWhatIsThere compares with a walk and parsers that share nothing
// with the program.
func TestAnswerIsWhatIsThere(t *testing.T) {
	id := newIdentity()
	root := id.plant(t, "secret")
	everywhere(t, func(t *testing.T, w world) {
		n, r := w.read(t, root, Options{Paths: []string{"/etc/elsewhere", "/var/run/multus", "/etc/none"}, TrustStores: true})
		t.Logf("%d files, %d bytes, %s", len(r.Files), len(n.raw), n.timed.Round(time.Millisecond))
		want := map[string]bool{}
		for _, top := range []string{"/etc/kubernetes", "/var/lib/kubelet", "/etc/cni", "/etc/docker/certs.d", "/etc/pki", "/etc/elsewhere", "/run/multus"} {
			err := filepath.WalkDir(root+top, func(full string, d fs.DirEntry, err error) error {
				if name := strings.TrimPrefix(full, root); name != "/var/lib/kubelet" && !slices.Contains([]string{"/etc/pki", "/etc/pki/ca-trust", "/etc/pki/ca-trust/extracted", "/etc/pki/ca-trust/extracted/pem"}, name) {
					want[name] = true
					compare(t, r, full, name)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range r.Files {
			if !want[f.Path] {
				t.Errorf("%q is reported, and is not there", f.Path)
			}
		}
		if !slices.Contains(r.Missing, "/etc/none") || slices.Contains(r.Missing, "/etc/elsewhere") {
			t.Errorf("missing: %q", r.Missing)
		}
		if r.Aliases["/var/run/multus"] != "/run/multus" {
			t.Errorf("aliases: %q", r.Aliases)
		}
		for _, g := range r.Gaps {
			if g.Where != "" {
				t.Errorf("gap: %+v", g)
			}
		}
		if d := time.Since(r.Node.Clock.Before); d < 0 || d > 3*time.Minute || r.Node.Clock.After.Before(r.Node.Clock.Before) {
			t.Errorf("clock: %+v", r.Node.Clock)
		}
		if r.Node.Kernel == "" || r.Node.UID != os.Getuid() {
			t.Errorf("node: %+v", r.Node)
		}
	})
}

// compare looks at one name with Go's own eyes.
func compare(t *testing.T, r Result, full, name string) {
	t.Helper()
	i := slices.IndexFunc(r.Files, func(f File) bool { return f.Path == name })
	if i < 0 {
		t.Errorf("%q is not reported", name)
		return
	}
	f := r.Files[i]
	info, err := os.Lstat(full)
	if err != nil {
		t.Fatal(err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("no stat")
	}
	want := Meta{Mode: info.Mode(), Size: info.Size(), ModTime: info.ModTime().Truncate(time.Second).UTC(), Changed: time.Unix(st.Ctim.Sec, 0).UTC(),
		Inode: Inode{st.Dev, st.Ino}, Owner: Owner{UID: int(st.Uid), GID: int(st.Gid)}}
	got := f.Meta
	got.Label = "" // none on this machine, or the tools differ
	if got != want {
		t.Errorf("%q: got %+v, want %+v", name, got, want)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		text, _ := os.Readlink(full)
		if f.Kind != KindLink || f.Target.Text != text {
			t.Errorf("%q: %c %q, want a link to %q", name, f.Kind, f.Target.Text, text)
		}
		return
	}
	if !info.Mode().IsRegular() {
		if f.Content != nil || f.SHA256 != (pki.Fingerprint{}) {
			t.Errorf("%q is %s, and was opened", name, info.Mode())
		}
		return
	}
	data, err := os.ReadFile(full)
	if err != nil {
		t.Fatal(err)
	}
	if f.SHA256 != sha256.Sum256(data) || f.Content == nil {
		t.Errorf("%q: checksum %s", name, f.SHA256)
		return
	}
	ders := certsIn(data)
	if strings.HasSuffix(name, "der.crt") {
		ders = [][]byte{data}
	}
	certs := f.Content.certs()
	if len(ders) != len(certs) {
		t.Errorf("%q: %d certificates, want %d", name, len(certs), len(ders))
		return
	}
	for i, der := range ders {
		if _, err := x509.ParseCertificate(der); err != nil || !bytes.Equal(certs[i].DER, der) {
			t.Errorf("%q: certificate %d differs (%v)", name, i, err)
		}
	}
	if (f.Content.Text != nil) != (strings.HasSuffix(name, "kubeconfig") || strings.HasSuffix(name, "kubelet.conf")) {
		t.Errorf("%q: text of %d bytes, notes %q", name, len(f.Content.Text), f.Content.Notes)
	}
	if f.Content.Text != nil && len(f.Content.Text) != len(data) {
		t.Errorf("%q: text of %d bytes, want %d", name, len(f.Content.Text), len(data))
	}
	if keys := bytes.Count(data, []byte("-----BEGIN EC P")) + bytes.Count(data, []byte("-----BEGIN RSA P")); keys != len(f.Content.Keys) {
		t.Errorf("%q: %d keys, want %d", name, len(f.Content.Keys), keys)
	}
	for _, k := range f.Content.Keys {
		if block := data[k.Offset : k.Offset+k.Length]; !bytes.HasPrefix(block, []byte("-----BEGIN "+k.Type)) || !bytes.HasSuffix(block, []byte("-----END "+k.Type+"-----")) {
			t.Errorf("%q: key %+v is not there", name, k)
		}
	}
}

func (c *Content) certs() []*pki.Cert {
	var all []*pki.Cert
	for _, f := range c.Found {
		all = append(all, f.Content.Certs...)
	}
	return all
}

func TestLinksAreThoseOfTheNode(t *testing.T) {
	root := newIdentity().plant(t, "secret")
	somewhere(t, func(t *testing.T, w world) {
		_, r := w.read(t, root, Options{})
		for link, want := range map[string]string{
			"/etc/kubernetes/far":                             "/etc/kubernetes/kubelet-ca.crt",
			"/etc/kubernetes/out":                             "/etc/elsewhere/ca.crt", // read, though not asked for: a reader of the link reads it
			"/var/lib/kubelet/pki/kubelet-client-current.pem": "/var/lib/kubelet/pki/kubelet-client-2026-01-01-00-00-00.pem",
			"/etc/kubernetes/loop/up":                         "/etc/kubernetes",
			"/etc/kubernetes/loop/a":                          "",
			"/etc/kubernetes/dangling":                        "",
		} {
			f, ok := r.at(link)
			if !ok || f.Kind != KindLink || f.Target.Path != want {
				t.Errorf("%s: %+v, want it to lead to %q", link, f.Target, want)
			}
		}
		f, ok := r.File("/var/lib/kubelet/pki/kubelet-client-current.pem")
		if !ok || len(f.Content.certs()) != 1 {
			t.Fatalf("the current client certificate is not found: %+v", f)
		}
		if out, ok := r.File("/etc/kubernetes/out"); !ok || len(out.Content.certs()) != 1 {
			t.Errorf("the target of a link is not read: %+v", out)
		}
	})
}

func TestTrustStoresAreHashedOnly(t *testing.T) {
	root := newIdentity().plant(t, "secret")
	somewhere(t, func(t *testing.T, w world) {
		_, r := w.read(t, root, Options{})
		f, ok := r.File("/etc/pki/tls/certs/ca-bundle.crt")
		if !ok || f.Kind != KindHashed || f.Content != nil || f.SHA256 == (pki.Fingerprint{}) {
			t.Errorf("bundle: %+v", f)
		}
		_, r = w.read(t, root, Options{Only: true, Paths: []string{"/etc/ssl/certs/ca-bundle.crt", "/etc/pki/ca-trust/extracted"}})
		if f, ok = r.File("/etc/ssl/certs/ca-bundle.crt"); !ok || f.Kind != KindRead || len(f.Content.certs()) != 2 {
			t.Errorf("bundle that was asked for: %+v", f)
		}
	})
}

func TestKeysAreMatchedOnTheNode(t *testing.T) {
	id := newIdentity()
	root := id.plant(t, "secret")
	inEveryShell(t, func(t *testing.T, w world) {
		_, r := w.read(t, root, Options{})
		f, ok := r.File("/var/lib/kubelet/pki/kubelet-client-current.pem")
		if !ok || len(f.Content.Found) != 1 {
			t.Fatalf("%+v", f)
		}
		c := f.Content.Found[0].Content
		if len(c.Keys) != 1 || c.Keys[0].Algorithm != "ECDSA" {
			t.Fatalf("keys: %+v", c.Keys)
		}
		want := c.Certs[0].SPKI
		if w.path != "" && !has(w.path, "openssl") {
			want = pki.Fingerprint{} // no one there to compute it
		}
		if c.Keys[0].SPKI != want {
			t.Errorf("public half %s, want %s", c.Keys[0].SPKI, want)
		}
	})
}

func has(dir, tool string) bool {
	_, err := os.Stat(filepath.Join(dir, tool))
	return err == nil
}

func TestSnapshotHoldsBundlesByLocation(t *testing.T) {
	id := newIdentity()
	root := id.plant(t, "secret")
	_, r := shells(t)[1].read(t, root, Options{Limits: Limits{Size: 4000}})
	s := facts(t, r, "worker-3")
	find := func(at pki.Location) *inspect.Bundle {
		at.Kind, at.Node = pki.KindFile, "worker-3"
		i := slices.IndexFunc(s.Bundles, func(b inspect.Bundle) bool { return b.At == at })
		if i < 0 {
			t.Fatalf("no bundle at %s", at)
		}
		return &s.Bundles[i]
	}
	if b := find(pki.Location{Path: "/etc/kubernetes/kubeconfig", Field: "clusters[0].cluster.certificate-authority-data"}); len(b.Content.Certs) != 2 || len(b.Content.Bad) != 0 {
		t.Errorf("%+v", b.Content)
	}
	if b := find(pki.Location{Path: "/var/lib/kubelet/pki/kubelet-client-current.pem"}); len(b.Content.Certs) != 1 || len(b.Content.Keys) != 1 {
		t.Errorf("%+v", b.Content)
	}
	if b := find(pki.Location{Path: "/etc/kubernetes/cut.crt"}); len(b.Content.Certs) != 1 || len(b.Content.Bad) != 1 {
		t.Errorf("a bundle that was cut off: %+v", b.Content)
	}
	facts := inspect.NewFacts(s, from, time.Hour)
	if known := slices.IndexFunc(facts.Entries, func(h inspect.Entry) bool {
		return h.Row != nil && h.At.Path == "/etc/kubernetes/kubelet-ca.crt"
	}); known < 0 {
		t.Error("the catalog does not know a location of a node")
	}
	if len(s.Gaps) == 0 || s.Gaps[0].What != "node/worker-3" {
		t.Errorf("gaps: %+v", s.Gaps)
	}
}
