package gather

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// answering is a node that answers this, whatever runs on it.
type answering []byte

func (answering) Path(name string) string { return name }

func (a answering) Run(context.Context, io.Reader, ...string) ([]byte, error) { return a, nil }

// placed is a text that a node has at so many paths.
type placed struct {
	text  string
	paths int
}

// answerOf is what a node answers that has these texts. Root on it may answer anything.
func answerOf(texts ...placed) answering {
	escaped := strings.NewReplacer("%", "%25", "\n", "%0A")
	var files, contents []string
	for i, p := range texts {
		id := fmt.Sprintf("%064x", i+1)
		for n := range p.paths {
			files = append(files, fmt.Sprintf("file R 8180 0 0 root root %d 1 1 %d 1 - %s - - /etc/kubernetes/%d/%d", len(p.text), len(files)+1, id, i, n))
		}
		contents = append(contents, "content "+id, "note redacted ", "seg 0 "+strconv.Itoa(len(p.text))+" "+escaped.Replace(p.text))
	}
	return answering(answer(append(files, contents...)...))
}

func readFacts(t *testing.T, a answering) (inspect.Snapshot, inspect.Node) {
	t.Helper()
	r, err := Read(t.Context(), a, pki.NewScanner(), Options{Texts: true})
	if err != nil {
		t.Fatal(err)
	}
	s := facts(t, r, "worker-0")
	return s, s.Nodes[0]
}

// small is a kubeconfig with so many clusters.
func small(clusters int) string {
	return "kind: Config\nclusters:\n" + strings.Repeat("- name: a\n", clusters)
}

// TestAContentAtManyPathsIsReadOnce as a kubeconfig: its clusters are the same in memory.
func TestAContentAtManyPathsIsReadOnce(t *testing.T) {
	t.Parallel()
	_, n := readFacts(t, answerOf(placed{small(20), 50}, placed{small(30), 50}))
	if len(n.Kubeconfigs) != 100 {
		t.Fatalf("%d kubeconfigs", len(n.Kubeconfigs))
	}
	read := map[*inspect.KubeconfigCluster]bool{}
	for _, k := range n.Kubeconfigs {
		read[&k.Clusters[0]] = true
	}
	if len(read) != 2 {
		t.Errorf("2 contents were read %d times", len(read))
	}
}

// TestKubeconfigsOfANodeAreBounded all together, and what is left out is a gap at its path; what else the node
// has is read.
func TestKubeconfigsOfANodeAreBounded(t *testing.T) {
	t.Parallel()
	var many []placed
	for n := range 9 {
		many = append(many, placed{small(1) + "# " + strings.Repeat(",", 19_000) + strconv.Itoa(n) + "\n", 1})
	}
	for name, c := range map[string]struct {
		answer     answering
		read, left int
		want       string
	}{
		"as many as are read": {answerOf(placed{small(1), 2000}), 2000, 0, ""},
		"paths":               {answerOf(placed{small(1), 2010}), 2000, 10, "more than 2000 kubeconfigs"},
		"clusters":            {answerOf(placed{small(1000), 100}), 41, 59, "more than 4 MiB"},
		"a long name":         {answerOf(placed{"kind: Config\nclusters:\n- name: " + strings.Repeat("a", 100_000) + "\n", 100}), 41, 59, "more than 4 MiB"},
		"lines and values":    {answerOf(many...), 5, 4, "more than 100000 lines and values"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, n := readFacts(t, c.answer)
			left := 0
			for _, g := range s.Gaps {
				if g.What == "node/worker-0" && strings.HasPrefix(g.Reason, "not read as a kubeconfig: ") && strings.Contains(g.Reason, c.want) {
					if f := n.File(g.Where); f == nil || f.Whole {
						t.Errorf("%s: %+v", g.Where, f)
					}
					left++
				}
			}
			if len(n.Kubeconfigs) != c.read || left != c.left || len(n.Files) != c.read+c.left {
				t.Errorf("of %d files, %d are read and %d are gaps (of %d); want %d and %d", len(n.Files), len(n.Kubeconfigs), left, len(s.Gaps), c.read, c.left)
			}
		})
	}
}

// TestTextsOfANodesKubeconfigsAreBounded, counted at each path as a snapshot has them. Above that none is left, and
// all else is told of them.
func TestTextsOfANodesKubeconfigsAreBounded(t *testing.T) {
	t.Parallel()
	text := small(1) + "# " + strings.Repeat("x", 1<<20) + "\n"
	for paths, want := range map[int]int{7: 7, 8: 0, 500: 0} {
		s, n := readFacts(t, answerOf(placed{text, paths}, placed{small(2), 1}))
		texts, gaps, size := 0, 0, 0
		for _, k := range n.Kubeconfigs {
			if size += len(k.Text); k.Text != nil {
				texts++
			}
			if len(k.Clusters) == 0 {
				t.Errorf("%s: %+v", k.Path, k)
			}
		}
		for _, g := range s.Gaps {
			if g.What == "node/worker-0" && strings.Contains(g.Reason, "the texts of its kubeconfigs are left out") {
				gaps++
			}
		}
		if len(n.Kubeconfigs) != paths+1 || size > maxTexts || want > 0 && texts != paths+1 || want == 0 && (texts > 0 || gaps != 1) || len(s.Gaps) != gaps {
			t.Errorf("%d paths: %d kubeconfigs, %d texts of %d bytes, gaps %v", paths, len(n.Kubeconfigs), texts, size, s.Gaps)
		}
	}
}

// TestReadingKubeconfigsEndsWithTheNodesTime.
func TestReadingKubeconfigsEndsWithTheNodesTime(t *testing.T) {
	t.Parallel()
	r, err := Read(t.Context(), answerOf(placed{small(1), 2}), pki.NewScanner(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("not done after 2m0s")
	cancel(over)
	if s, err := r.Snapshot(ctx, "worker-0"); !errors.Is(err, over) || len(s.Nodes) > 0 {
		t.Errorf("%d nodes, %v", len(s.Nodes), err)
	}
}

// TestALargeNodeIsReadAsAWhole: with 4,000 files, and 100 kubeconfigs of 60 kB with bundles of CAs.
func TestALargeNodeIsReadAsAWhole(t *testing.T) {
	t.Parallel()
	ca := string(pkitest.NewCA("ca", time.Unix(0, 0), time.Unix(1<<31, 0)).CertPEM)
	bundle := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(ca, 45_000/len(ca))))
	var texts []placed
	for i := range 100 {
		texts = append(texts, placed{fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    certificate-authority-data: %s\n    server: https://api-int.example.com:6443\n  name: c%d\ncontexts:\n- context:\n    cluster: c%d\n    user: u\n  name: x\ncurrent-context: x\nusers:\n- name: u\n  user:\n    token: xxxxxxxx\n", bundle, i, i), 1})
	}
	for i := range 100 {
		texts = append(texts, placed{fmt.Sprintf("kind: KubeletConfiguration\nport: %d\n", i), 39})
	}
	s, n := readFacts(t, answerOf(texts...))
	if s.Reads[0].Objects != 4000 || len(n.Kubeconfigs) != 100 || len(s.Bundles) != 100 || len(s.Gaps) > 0 {
		t.Fatalf("%d files, %d kubeconfigs, %d bundles; gaps %v", s.Reads[0].Objects, len(n.Kubeconfigs), len(s.Bundles), s.Gaps)
	}
	for _, k := range n.Kubeconfigs {
		if k.Problem != "" || len(k.Text) < 58_000 || len(k.Clusters) != 1 || k.Clusters[0].Masked || k.Current == "" {
			t.Errorf("%s: %d bytes, %d clusters, %s", k.Path, len(k.Text), len(k.Clusters), k.Problem)
		}
	}
}

// TestWhatANodesFilesBringIsBounded: certificates and notes are counted at each path, and a file that
// brings more is a gap, not a file without certificates.
func TestWhatANodesFilesBringIsBounded(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ca := string(pkitest.NewCA("a", from, from.AddDate(1, 0, 0)).CertPEM)
	for name, c := range map[string]struct {
		text  string
		paths int
		left  int
	}{
		"as many as may be": {strings.Repeat(ca, 29), 10_000, 0},
		"more certificates": {strings.Repeat(ca, 49), 10_000, 4_000},
		"more files":        {ca, 20_001, -1},
	} {
		r, err := Read(t.Context(), answerOf(placed{c.text, c.paths}), pki.NewScanner(), Options{})
		if c.left < 0 {
			if err == nil || !strings.Contains(err.Error(), "20001 files") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		s := facts(t, r, "worker-0")
		if len(s.Bundles) != c.paths-c.left || len(s.Gaps) != min(c.left, 1001) {
			t.Errorf("%s: %d places, %d gaps", name, len(s.Bundles), len(s.Gaps))
		}
	}
}

// TestWhatIsNoCertificateCountsToo: keys, blocks that can't be read and revocation lists.
func TestWhatIsNoCertificateCountsToo(t *testing.T) {
	t.Parallel()
	const paths, each = 1_000, 500
	issuer := pkitest.NewCA("a", time.Unix(0, 0), time.Unix(1<<31, 0), pkitest.Template(func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageCRLSign }))
	der, err := x509.CreateRevocationList(nil, &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Unix(0, 0), NextUpdate: time.Unix(1<<31, 0)}, issuer.Cert, issuer.Key)
	if err != nil {
		t.Fatal(err)
	}
	list := string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}))
	for name, line := range map[string]string{
		"keys":       "key %d 1 0 sound EC%%20PRIVATE%%20KEY",
		"bad blocks": "bad %d 1 damaged CERTIFICATE has no END line",
		"lists":      "seg %d " + fmt.Sprintf("%d ", len(list)) + strings.ReplaceAll(list, "\n", "%%0A"),
	} {
		var lines []string
		for n := range paths {
			lines = append(lines, fmt.Sprintf("file R 8180 0 0 root root 9999999 1 1 %d 1 - %s - - /etc/kubernetes/%d", n+1, zeros, n))
		}
		lines = append(lines, "content "+zeros)
		for n := range each {
			lines = append(lines, fmt.Sprintf(line, n*(len(list)+1)))
		}
		r, err := Read(t.Context(), answering(answer(lines...)), pki.NewScanner(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		things := 0
		s := facts(t, r, "worker-0")
		for _, b := range s.Bundles {
			things += b.Content.Things()
		}
		if things == 0 || things > maxParts || len(s.Gaps) != paths-len(s.Bundles) {
			t.Errorf("%s: %d in %d places, %d gaps", name, things, len(s.Bundles), len(s.Gaps))
		}
	}
}

// TestANotesLengthIsBounded: it is repeated at each path.
func TestANotesLengthIsBounded(t *testing.T) {
	t.Parallel()
	const paths = 50
	id := fmt.Sprintf("%064x", 1)
	var lines []string
	for n := range paths {
		lines = append(lines, fmt.Sprintf("file R 8180 0 0 root root 5 1 1 %d 1 - %s - - /etc/kubernetes/%d", n+1, id, n))
	}
	r, err := Read(t.Context(), answering(answer(append(lines, "content "+id, "note shape "+strings.Repeat("%C3%A9", 1<<20))...)), pki.NewScanner(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Gaps) != paths || len(r.Gaps[0].Reason) > 2*maxNote || !strings.HasSuffix(r.Gaps[0].Reason, "…”)") {
		t.Errorf("%d gaps, the first of %d bytes", len(r.Gaps), len(r.Gaps[0].Reason))
	}
}
