package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

func TestEveryRowHasEvidence(t *testing.T) {
	check := func(row string, e Evidence) {
		t.Helper()
		if e.Source == "" || !strings.Contains("VDUK", string(e.Mark)) || e.Mark == "" {
			t.Errorf("%s: no source or mark: %+v", row, e)
		}
	}
	for _, p := range Places() {
		row := rowName(p)
		check(row, p.Evidence)
		if p.Doc == "" || p.Owner == "" || p.Role == "" || p.Kind == "" {
			t.Errorf("%s: incomplete: %+v", row, p)
		}
		if strings.HasSuffix(p.Doc, ".") || strings.Contains(p.Doc, "\n") {
			t.Errorf("%s: doc is one sentence without a full stop: %q", row, p.Doc)
		}
		for _, l := range p.Lifetimes {
			check(row+" lifetime "+l.In.String(), l.Evidence)
			if l.SelfRotating() != (l.Refresh > 0 || l.RenewAtPercent > 0) {
				t.Errorf("%s: %s: who renews and when go together: %+v", row, l.In, l)
			}
		}
	}
	for _, r := range Rotations() {
		check("rotation of "+r.Signer.String(), r.Evidence)
	}
	for _, a := range Aggregates() {
		check("aggregate "+a.Target.String(), a.Evidence)
	}
	for _, d := range Deliveries() {
		check("delivery to "+d.To.String(), d.Evidence)
	}
	for _, t := range Triggers() {
		check("trigger of "+t.Secret.String(), t.Evidence)
	}
	for _, c := range NodeCopies() {
		check("copy in "+c.File, c.Evidence)
	}
	for _, e := range Edges() {
		check("edge "+e.ID, e.Evidence)
		if e.Verifier == "" || e.Statement == "" || e.Impact == "" || e.Reload == "" || !slices.Contains(Parts(), e.Part) || strings.HasSuffix(e.Statement, ".") {
			t.Errorf("edge %s: incomplete: %+v", e.ID, e)
		}
	}
	for _, d := range Deliveries() {
		if _, daemonSet := DaemonSetOf(d.Command); d.Command != "" && daemonSet == "" {
			t.Errorf("%s: in whose pods %s runs is unknown", d.To, d.Command)
		}
	}
	for _, p := range StartupReaders() {
		if _, daemonSet := DaemonSetOf(p.Command); (p.Command == "kubelet") != (daemonSet == "") {
			t.Errorf("%s runs in pods of %q", p.Command, daemonSet)
		}
		check("process "+p.ID, p.Evidence)
		if p.Verifier == "" || p.Statement == "" || p.Impact == "" || p.Command == "" || !slices.Contains(Parts(), p.Part) ||
			!slices.ContainsFunc(Edges(), func(e Edge) bool { return e.ID == p.EdgeID && e.Reload == ReloadAtStart }) {
			t.Errorf("process %s: incomplete, or of no edge that is read at start: %+v", p.ID, p)
		}
	}
	for _, l := range ServerLogs() {
		check("log of "+l.ID, l.Evidence)
		if l.Verifier == "" || l.Statement == "" || l.Impact == "" || l.Server == "" || !slices.Contains(Parts(), l.Part) {
			t.Errorf("log %s: incomplete: %+v", l.ID, l)
		}
	}
	for _, p := range NodeDaemonSets() {
		check("network pod "+p.ID, p.Evidence)
	}
	for _, l := range tokenLogs() {
		check("the daemon's log in "+l.In.String(), l.Evidence)
	}
	for _, r := range shorterLivesRows() {
		check(r.Owner+": "+r.By, r.Evidence)
	}
	for _, st := range signerTypes() {
		check("signers of type "+st.Type, st.Evidence)
	}
}

func TestRowsForTheSamePlaceHoldForDifferentVersions(t *testing.T) {
	places := Places()
	for i, p := range places {
		for _, q := range places[i+1:] {
			if p.Ref == q.Ref && p.Selector == q.Selector && p.In.overlaps(q.In) {
				t.Errorf("%s: two rows hold for the same version: %s and %s", rowName(p), p.In, q.In)
			}
		}
		for j, l := range p.Lifetimes {
			for _, m := range p.Lifetimes[j+1:] {
				if l.In.overlaps(m.In) {
					t.Errorf("%s: two lifetimes for the same version: %s and %s", rowName(p), l.In, m.In)
				}
			}
		}
	}
	aggregates := Aggregates()
	for i, a := range aggregates {
		for _, b := range aggregates[i+1:] {
			if a.Target == b.Target && a.Selector == b.Selector && a.In.overlaps(b.In) {
				t.Errorf("%s: two aggregates hold for the same version: %s and %s", a.Target, a.In, b.In)
			}
		}
	}
	copies := NodeCopies()
	for i, a := range copies {
		for _, b := range copies[i+1:] {
			if a.File == b.File && a.In.overlaps(b.In) {
				t.Errorf("%s: two copies hold for the same version: %s and %s", a.File, a.In, b.In)
			}
		}
	}
	deliveries := Deliveries()
	for i, a := range deliveries {
		for _, b := range deliveries[i+1:] {
			if a.To == b.To && a.In.overlaps(b.In) {
				t.Errorf("%s: two deliveries hold for the same version: %s and %s", a.To, a.In, b.In)
			}
		}
	}
}

func TestEveryPlaceThatARowSpeaksOfHasARowOfItsOwn(t *testing.T) {
	known := func(what string, at Ref, in Range) {
		t.Helper()
		for _, version := range versionsOf(in) {
			if _, ok := Lookup(at.Kind, at.Namespace, at.Name, at.Key, version); !ok {
				t.Errorf("%s: no place %s in %s %s", what, at, version.Cluster, version.Kubernetes)
			}
		}
	}
	for _, a := range Aggregates() {
		if a.Target.Kind == File {
			t.Errorf("%s: what a file must hold of an object is a NodeCopy", a.Target)
		}
		if len(a.Parts) == 0 || a.Relation == Copy && len(a.Parts) != 1 || a.Relation == FirstCopy && len(a.Parts) < 2 {
			t.Errorf("%s: a copy has one part or a choice of several, a union at least one: %d", a.Target, len(a.Parts))
		}
		if a.Selector == (ObjectSelector{}) {
			known("aggregate", a.Target, a.In)
		}
		for _, part := range a.Parts {
			known("part of "+a.Target.String(), part, a.In)
		}
	}
	for _, r := range Rotations() {
		known("signer", r.Signer, r.In)
		if r.Bundle != (Ref{}) {
			known("bundle of "+r.Signer.String(), r.Bundle, r.In)
		}
		for _, target := range r.Targets {
			known("target of "+r.Signer.String(), target, r.In)
			if len(indexed().byRef[target]) == 0 {
				t.Errorf("target of %s: %s is no row's own name", r.Signer, target)
			}
		}
	}
}

func TestLibraryGoSignersRotateByThemselves(t *testing.T) {
	v := Versions{Cluster: "4.16.3"}
	for _, r := range Rotations() {
		if r.In.Holds(v) != Yes {
			continue
		}
		for _, at := range append([]Ref{r.Signer}, r.Targets...) {
			l, answer := LifetimeOf(at, v)
			if answer != Yes {
				t.Errorf("%s: no lifetime in %s", at, v.Cluster)
			}
			// In 4.16 the installer's etcd signers still sign, and stay. The ingress
			// operator makes its certificates itself, and once. The machine config server's are
			// renewed by a command.
			if !l.SelfRotating() && at.Namespace != userConfig && r.Signer.Namespace != "openshift-ingress-operator" && at.Namespace != mcoTarget {
				t.Errorf("%s: does not rotate by itself: %+v", at, l)
			}
		}
	}
}

// TestGolden keeps what the catalog says of each version as text: a change of
// a row is a change of these files. UPDATE=1 rewrites them.
func TestGolden(t *testing.T) {
	for name, v := range goldenVersions() {
		t.Run(name, func(t *testing.T) {
			compare(t, filepath.Join("testdata", name+".txt"), table(v))
		})
	}
}

// table is what the catalog says of one version.
func table(v Versions) string {
	var out strings.Builder
	line := func(columns ...string) {
		// widths that are fixed: a new row changes no other line
		s := fmt.Sprintf("%-124s %-10s %-38s %-10s %-9s %s", columns[0], columns[1], columns[2], columns[3], columns[4], columns[5])
		out.WriteString(strings.TrimRight(s, " ") + "\n")
	}
	line("PLACE", "ROLE", "OWNER", "VALIDITY", "RENEWED", "WRITTEN BY ANOTHER")
	for _, p := range Places() {
		if p.In.Holds(v) != Yes {
			continue
		}
		validity, renewed := "-", "-"
		if l, answer := p.Lifetime(v); answer == Yes {
			validity, renewed = length(l.Validity), renewal(l)
		}
		line(rowName(p), string(p.Role), p.Owner, validity, renewed, p.Writer)
	}
	return out.String()
}

// rowName names a row: its place, or what its objects carry.
func rowName(p Place) string {
	name := p.String()
	if p.Selector == (ObjectSelector{}) {
		return name
	}
	key := ""
	if p.Key != "" {
		key = "[" + p.Key + "]"
	}
	annotation := p.Selector.Annotation
	if p.Selector.OtherAnnotation != "" { // the same of service-ca's older API
		annotation = strings.Replace(annotation, ".beta.", ".{beta,alpha}.", 1)
	}
	for _, c := range []struct{ what, value string }{
		{"annotation", annotation}, {"label", p.Selector.Label}, {"type", p.Selector.Type}, {"signer", p.Selector.Signer},
	} {
		if c.value != "" {
			return fmt.Sprintf("%s with %s %s%s", p.Kind, c.what, c.value, key)
		}
	}
	return name
}

// length writes a duration in years or days where it is whole ones.
func length(d time.Duration) string {
	switch {
	case d == 0:
		return "varies"
	case d%year == 0:
		return fmt.Sprintf("%dy", d/year)
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	case d < day:
		return strings.TrimSuffix(d.String(), "0m0s")
	case d%year == year-time.Hour:
		return fmt.Sprintf("%dy less 1h", d/year+1)
	}
	return fmt.Sprintf("%.1fd", float64(d)/float64(day))
}

// renewal says when a certificate is renewed, and what renews it.
func renewal(l Lifetime) string {
	if !l.SelfRotating() {
		return "never"
	}
	var when []string
	switch {
	case l.RefreshFrom > 0:
		when = append(when, length(l.RefreshFrom)+"-"+length(l.Refresh))
	case l.Refresh > 0:
		when = append(when, length(l.Refresh))
	}
	switch {
	case l.RenewFromPercent > 0:
		when = append(when, fmt.Sprintf("%d-%d%%", l.RenewFromPercent, l.RenewAtPercent))
	case l.RenewAtPercent > 0:
		when = append(when, fmt.Sprintf("%d%%", l.RenewAtPercent))
	}
	return strings.Join(when, "/")
}

// compare compares with a golden file, or writes it when UPDATE is set.
func compare(t *testing.T, path, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == got {
		return
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := 0; i < max(len(gotLines), len(wantLines)); i++ {
		g, w := "", ""
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			w = wantLines[i]
		}
		if g != w {
			t.Fatalf("%s is not current from line %d on; UPDATE=1 go test ./inspect/catalog rewrites it\n got: %s\nwant: %s", path, i+1, g, w)
		}
	}
}

func TestNodeCopyOf(t *testing.T) {
	t.Parallel()
	const dir = "/etc/kubernetes/static-pod-resources/"
	for _, c := range []struct{ file, version, want string }{
		{"/etc/kubernetes/kubelet-ca.crt", "4.12.3", "ConfigMap/openshift-kube-apiserver-operator/kube-apiserver-to-kubelet-client-ca[ca-bundle.crt]"},
		{"/etc/kubernetes/kubelet-ca.crt", "4.13.3", "ConfigMap/openshift-config-managed/kube-apiserver-client-ca[ca-bundle.crt]"},
		{dir + "etcd-certs/secrets/etcd-all-certs/etcd-peer-master-0.crt", "4.15.1", "Secret/openshift-etcd/etcd-all-certs[etcd-peer-master-0.crt]"},
		{"/var/lib/kubelet/kubeconfig", "4.15.0-0.okd-2024-03-10-010116", "ConfigMap/openshift-config-managed/kube-apiserver-server-ca[ca-bundle.crt]"},
		{dir + "kube-apiserver-certs/secrets/aggregator-client/tls.crt", "4.15.1", "Secret/openshift-kube-apiserver/aggregator-client[tls.crt]"},
		{dir + "kube-controller-manager-certs/configmaps/client-ca/ca-bundle.crt", "4.20.1", "ConfigMap/openshift-kube-controller-manager/client-ca[ca-bundle.crt]"},
		{dir + "kube-apiserver-pod-12/secrets/etcd-client/tls.crt", "4.15.1", ""}, // of its revision, and never newer
		{dir + "kube-apiserver-certs/secrets/a/b/tls.crt", "4.15.1", ""},
		{"/etc/kubernetes/ca.crt", "4.15.1", ""},
	} {
		got := ""
		if row, ok := NodeCopyOf(c.file, Versions{Cluster: c.version}); ok {
			got = row.Object.String()
		}
		if got != c.want {
			t.Errorf("%s in %s is a copy of %q, want %q", c.file, c.version, got, c.want)
		}
	}
	if row, ok := NodeCopyOf("/etc/kubernetes/kubelet-ca.crt", Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}); ok {
		t.Errorf("plain Kubernetes has no %s", row.Object)
	}
}

func TestEveryEdgeSaysByWhichReaderItsTrustAnchorsAreLoaded(t *testing.T) {
	for _, e := range Edges() {
		if e.Reader != pki.ReaderUnknown && !slices.Contains(pki.Readers(), e.Reader) {
			t.Errorf("%s is read by %q", e.ID, e.Reader)
		}
	}
}
