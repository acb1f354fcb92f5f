package collect

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ulikunitz/xz"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// A must-gather of a real cluster gives what was counted in it by other means.
func TestRealMustGather(t *testing.T) {
	t.Parallel()
	sample := os.Getenv("CERTROT_MUST_GATHER")
	if sample == "" {
		t.Skip("data file absent: must-gather-aws.tar.xz: set CERTROT_MUST_GATHER to its path (see docs/must-gather.md)")
	}
	scanner := pki.NewScanner()
	s, err := File{Path: sample, Scanner: scanner}.Read()
	if err != nil {
		t.Fatal(err)
	}
	s.Sort()
	if certs, _ := scanner.Stats(); certs != 254 || len(s.Requests) != 13 || s.Cluster.Versions.Cluster != "4.8.0-0.nightly-2021-07-31-065602" || len(s.Cluster.Versions.Operators) != 31 || s.Cluster.Platform != "AWS" {
		t.Errorf("%d certificates, %d requests, cluster %+v", certs, len(s.Requests), s.Cluster)
	}
	if got := s.Taken.Format(time.RFC3339); got != "2021-08-03T10:13:47Z" || len(s.Gaps) != 1 || s.Gaps[0].What != "hidden secrets" {
		t.Errorf("taken %s, gaps %s", got, reasons(s.Gaps))
	}
	found := map[[32]byte]bool{}
	for _, b := range s.Bundles {
		for _, c := range b.Content.Certs {
			found[c.Fingerprint] = true
		}
	}
	oracle := everyCertificate(t, sample)
	for sum := range oracle {
		if !found[sum] {
			t.Errorf("%x is in the archive, and was not found", sum)
		}
	}
	for sum := range found {
		if !oracle[sum] {
			t.Errorf("%x was found, and is not in the archive", sum)
		}
	}
	for _, f := range report.NewInventory(context.Background(), inspect.NewFacts(s, s.Taken, 0), report.Filter{}).Findings {
		if f.Severity != assess.Info {
			t.Errorf("a healthy cluster: %s %s: %s", f.Severity, f.ID, f.Reason)
		}
	}
}

// everyCertificate is the sha256 of every certificate in any file of a tar.xz, searched as
// simply as can be: by patterns, whatever the file.
func everyCertificate(t *testing.T, sample string) map[[32]byte]bool {
	t.Helper()
	file, err := os.Open(sample)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unpacked, err := xz.NewReader(bufio.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	out := map[[32]byte]bool{}
	archive := tar.NewReader(unpacked)
	for {
		_, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		searchEverywhere(text, out, 4)
	}
}

var (
	armored = regexp.MustCompile(`(?s)-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----`)
	between = strings.NewReplacer(`\\n`, "", `\n`, "", `\r`, "", `\/`, "/", `\u003d`, "=", `\u002b`, "+", " ", "", "\n", "", "\r", "", "\t", "")
)

func searchEverywhere(text []byte, out map[[32]byte]bool, depth int) {
	if depth == 0 {
		return
	}
	if r, err := gzip.NewReader(bytes.NewReader(text)); err == nil {
		if inner, err := io.ReadAll(r); err == nil {
			searchEverywhere(inner, out, depth-1)
		}
	}
	for _, m := range armored.FindAllSubmatch(text, -1) {
		if der, err := base64.StdEncoding.DecodeString(between.Replace(string(m[1]))); err == nil && len(der) > 0 {
			out[sha256.Sum256(der)] = true
		}
	}
	for _, marker := range []string{"-----BEGIN%20CERTIFICATE-----", "-----BEGIN+CERTIFICATE-----"} {
		for _, m := range runs(text, marker, "%.~_-") {
			if plain, err := url.PathUnescape(string(m)); err == nil {
				searchEverywhere([]byte(plain), out, depth-1)
			}
		}
	}
	for _, marker := range []string{"LS0tLS1CRUdJTi", "H4sI"} { // -----BEGIN, and gzip's first bytes
		for _, m := range runs(text, marker, "") {
			if inner, err := base64.StdEncoding.DecodeString(string(m)); err == nil {
				searchEverywhere(inner, out, depth-1)
			}
		}
	}
}

// runs are the longest pieces of text that begin with a marker and go on with the
// characters of base64, and more.
func runs(text []byte, marker, more string) (found [][]byte) {
	for {
		i := bytes.Index(text, []byte(marker))
		if i < 0 {
			return found
		}
		text = text[i:]
		end := len(marker)
		for end < len(text) && (text[end] >= 'A' && text[end] <= 'Z' || text[end] >= 'a' && text[end] <= 'z' || text[end] >= '0' && text[end] <= '9' || strings.IndexByte("+/="+more, text[end]) >= 0) {
			end++
		}
		found, text = append(found, text[:end]), text[end:]
	}
}
