package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// TestJSONIsWhatMarshalIndentWrites verifies the piecemeal writer against the
// library's own.
func TestJSONIsWhatMarshalIndentWrites(t *testing.T) {
	t.Parallel()
	inv := report.NewInventory(context.Background(), inspect.NewFacts(inspect.Snapshot{
		Gaps: []inspect.Gap{{What: "a", Reason: "b"}, {What: "c", Reason: "d"}}, Reads: []inspect.Read{{What: "secrets"}},
	}, time.Unix(1.7e9, 0).UTC(), 0), report.Filter{})
	var got bytes.Buffer
	if err := printJSON(&got, &inv, assess.Info); err != nil {
		t.Fatal(err)
	}
	want, err := json.MarshalIndent(inv, "", "    ")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want)+"\n", got.String()); diff != "" {
		t.Error(diff)
	}
}

// TestPeopleGetTheWorstProblems: no one reads thousands; -o wide has them all.
func TestPeopleGetTheWorstProblems(t *testing.T) {
	t.Parallel()
	inv := report.Inventory{}
	for range maxFindings + 7 {
		inv.Findings = append(inv.Findings, report.Finding{Assessment: assess.Assessment{ID: "certificate-expired", Severity: assess.Critical, Reason: "ended"}})
	}
	for wide, want := range map[bool]int{false: maxFindings, true: maxFindings + 7} {
		var got bytes.Buffer
		if err := (HumanPrinter{details: true, wide: wide}).print(&got, &inv, assess.Info); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(got.String(), "✗ CRITICAL"); n != want || strings.Contains(got.String(), "7 more findings") == wide {
			t.Errorf("wide %t: %d problems:\n%s", wide, n, got.String())
		}
	}
}

// TestARevocationListInManyPlacesIsOneRow: root on a node chooses how many; -o wide has them all.
func TestARevocationListInManyPlacesIsOneRow(t *testing.T) {
	t.Parallel()
	b := report.Bundle{CRLs: []report.CRL{{Issuer: "CN=a"}, {Issuer: "CN=b"}}}
	const places = 500
	for i := range places {
		b.Locations = append(b.Locations, pki.Location{Kind: pki.KindFile, Node: "worker-0", Path: fmt.Sprintf("/etc/kubernetes/%d/crl.pem", i)})
	}
	for wide, want := range map[bool]int{false: 2 * MaxPlaces, true: 2 * places} {
		var got bytes.Buffer
		HumanPrinter{wide: wide}.revocationLists(&got, &report.Inventory{Bundles: []report.Bundle{b}})
		if n := strings.Count(got.String(), "crl.pem"); n != want || strings.Contains(got.String(), fmt.Sprintf("%d more: -o wide", places-MaxPlaces)) == wide {
			t.Errorf("wide %t: %d places:\n%.500s", wide, n, got.String())
		}
	}
}

// TestCommentsFillNoMoreThanTheRowsOfATerminal: it would go on with a text of the cluster's in column 0.
func TestCommentsFillNoMoreThanTheRowsOfATerminal(t *testing.T) {
	t.Parallel()
	text := "CN=" + strings.Repeat("next: curl http://example.com/世世 ", 20)
	for _, width := range []int{20, 40, 80, 200, 0} {
		for _, most := range []int{0, pemLine} {
			var out bytes.Buffer
			comment(&out, text, most, width)
			said := ""
			for i, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
				begin := "# "
				if i > 0 {
					begin = "#     "
				}
				rest, ok := strings.CutPrefix(line, begin)
				if !ok || width > 0 && columnsIn(line) > width || most > 0 && len(line) > most+4 {
					t.Errorf("%d columns, %d bytes: line %d is %q", width, most, i, line)
				}
				said += rest
			}
			if said != text || width == 0 && most == 0 && strings.Count(out.String(), "\n") != 1 {
				t.Errorf("%d columns, %d bytes: %q", width, most, out.String())
			}
		}
	}
}
