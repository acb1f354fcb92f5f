package catalog

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestParseMinor(t *testing.T) {
	for _, c := range []struct {
		name, version string
		want          Minor
		ok            bool
	}{
		{"a release", "4.16.3", Minor{4, 16}, true},
		{"an OKD build is a pre-release to semver and still 4.15", "4.15.0-0.okd-2024-03-10-010116", Minor{4, 15}, true},
		{"an OKD SCOS build", "4.19.0-okd-scos.0", Minor{4, 19}, true},
		{"a release candidate", "4.17.0-rc.1", Minor{4, 17}, true},
		{"a nightly", "4.22.0-0.nightly-2026-01-02-030405", Minor{4, 22}, true},
		{"a build with metadata", "4.12.0+build7", Minor{4, 12}, true},
		{"OpenShift 5", "5.0.0", Minor{5, 0}, true},
		{"Kubernetes' git version", "v1.35.4", Minor{1, 35}, true},
		{"a provider's Kubernetes", "v1.33.2-gke.1", Minor{1, 33}, true},
		{"a provider's minor with a plus", "1.31+", Minor{1, 31}, true},
		{"minor alone", "4.16", Minor{4, 16}, true},
		{"major alone is no minor", "4", Minor{}, false},
		{"nothing", "", Minor{}, false},
		{"a word", "latest", Minor{}, false},
		{"words with a dot", "four.sixteen", Minor{}, false},
		{"a number with something glued on", "4.16a", Minor{}, false},
		{"a sign", "4.-1", Minor{}, false},
		{"a signed major", "+4.16.0", Minor{}, false},
		{"no minor after the dot", "4.", Minor{}, false},
		{"major zero", "0.0.1-snapshot", Minor{}, false},
		{"a number beyond any version", "4.99999999999999999999", Minor{}, false},
		{"a space", " 4.16.0", Minor{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, ok := ParseMinor(c.version); got != c.want || ok != c.ok {
				t.Errorf("ParseMinor(%q) = %v, %v; want %v, %v", c.version, got, ok, c.want, c.ok)
			}
		})
	}
}

func FuzzParseMinor(f *testing.F) {
	f.Add("4.15.0-0.okd-2024-03-10-010116")
	f.Fuzz(func(t *testing.T, s string) {
		m, ok := ParseMinor(s)
		if again, okAgain := ParseMinor(m.String()); ok && (!okAgain || again != m) {
			t.Errorf("%q: %v does not read back", s, m)
		}
	})
}

func TestHolds(t *testing.T) {
	okd := "4.15.0-0.okd-2024-03-10-010116"
	plain := Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}
	_, last := reviewed()
	for _, c := range []struct {
		name string
		in   Range
		v    Versions
		want Tristate
	}{
		{"a row without component holds always", Range{}, Versions{}, Yes},
		{"nothing is known", since("etcd", Minor{4, 12}), Versions{}, Unknown},
		{"the cluster's version decides where operators were not read", since("etcd", Minor{4, 12}), Versions{Cluster: "4.16.1"}, Yes},
		{"before the range", since("etcd", Minor{4, 17}), Versions{Cluster: "4.16.1"}, No},
		{"after the range", between("etcd", Minor{4, 12}, Minor{4, 15}), Versions{Cluster: "4.16.1"}, No},
		{"both ends belong to it", between("etcd", Minor{4, 16}, Minor{4, 16}), Versions{Cluster: "4.16.1"}, Yes},
		{"4.9 comes before 4.13", since("etcd", Minor{4, 13}), Versions{Cluster: "4.9.50"}, No},
		{"5.0 comes after 4.21", between("etcd", Minor{4, 12}, Minor{4, 21}), Versions{Cluster: "5.0.0"}, No},
		{"what holds since the first version reviewed says nothing of older ones", since("etcd", Minor{4, 12}), Versions{Cluster: "4.8.0"}, Unknown},
		{"what holds always says nothing of older ones", Range{Component: "etcd"}, Versions{Cluster: "4.8.0"}, Unknown},
		{"what holds up to a version says nothing of older ones", Range{Component: "etcd", To: Minor{4, 15}}, Versions{Cluster: "4.8.0"}, Unknown},
		{"what has no end says nothing of newer ones", since("etcd", Minor{4, 16}), Versions{Cluster: "4.99.0"}, Unknown},
		{"what ends with the last version reviewed says nothing of newer ones", between("etcd", Minor{4, 16}, last), Versions{Cluster: "5.9.0"}, Unknown},
		{"what holds always says nothing of newer ones", Range{Component: "etcd"}, Versions{Cluster: "5.9.0"}, Unknown},
		{"what is of any version is of all", Range{}, Versions{Cluster: "5.9.0"}, Yes},
		{"an operator that is newer than what was reviewed", since("etcd", Minor{4, 16}), Versions{Cluster: last.String() + ".0", Operators: map[string]string{"etcd": "4.99.0"}}, Unknown},
		{"and one that is not, beside it", since("etcd", Minor{4, 16}), Versions{Cluster: "4.99.0", Operators: map[string]string{"etcd": last.String() + ".0"}}, Yes},
		{"who accepts it gets the nearest version's answer, newer", since("etcd", Minor{4, 16}), Versions{Cluster: "5.9.0", UnreviewedAccepted: true}, Yes},
		{"4.24 is no reviewed version, though 5.0 is", since("etcd", Minor{4, 16}), Versions{Cluster: "4.24.0"}, Unknown},
		{"5.0 follows 4.23", since("etcd", Minor{4, 23}), Versions{Cluster: "5.0.3"}, Yes},
		{"who accepts it gets the nearest version's answer, older", between("etcd", Minor{4, 12}, Minor{4, 15}), Versions{Cluster: "4.8.0", UnreviewedAccepted: true}, Yes},
		{"what can't be read is not accepted", since("etcd", Minor{4, 12}), Versions{Cluster: "new", UnreviewedAccepted: true}, Unknown},
		{"an OKD build is not before its release", since("etcd", Minor{4, 15}), Versions{Cluster: okd}, Yes},
		{"mid-upgrade the operator's own version wins", since("machine-config", Minor{4, 16}),
			Versions{Cluster: "4.16.0", Operators: map[string]string{"machine-config": "4.15.9", "kube-apiserver": "4.16.0"}}, No},
		{"and for another operator the other one", since("kube-apiserver", Minor{4, 16}),
			Versions{Cluster: "4.15.9", Operators: map[string]string{"machine-config": "4.15.9", "kube-apiserver": "4.16.0"}}, Yes},
		{"an operator's version that can't be read is not replaced by a guess", since("etcd", Minor{4, 12}),
			Versions{Cluster: "4.16.0", Operators: map[string]string{"etcd": "unknown"}}, Unknown},
		{"OpenShift's rows don't hold on plain Kubernetes", Range{Component: "etcd"}, plain, No},
		{"Kubernetes' rows do", Range{Component: Kubernetes}, plain, Yes},
		{"Kubernetes' rows don't hold on OpenShift", Range{Component: Kubernetes}, Versions{Cluster: "4.16.0", Kubernetes: "v1.29.5"}, No},
		{"a Kubernetes version is no proof of plain Kubernetes", Range{Component: Kubernetes}, Versions{Kubernetes: "v1.29.5"}, Unknown},
		{"nor against OpenShift", Range{Component: "etcd"}, Versions{Kubernetes: "v1.29.5"}, Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.in.Holds(c.v); got != c.want {
				t.Errorf("%s holds for %+v: %s, want %s", c.in, c.v, got, c.want)
			}
		})
	}
}

// Mid-upgrade each version counts that runs.
func TestUnreviewedVersions(t *testing.T) {
	first, last := reviewed()
	for said, v := range map[string]Versions{
		"":          {Cluster: first.String() + ".9", Operators: map[string]string{"etcd": last.String() + ".1"}},
		"4.8":       {Cluster: "4.8.0-0.nightly-2021-07-31-065602"},
		"4.99":      {Cluster: last.String() + ".9", Operators: map[string]string{"etcd": "4.99.0", "network": last.String() + ".9"}},
		"4.99, 5.9": {Cluster: "5.9.0", Operators: map[string]string{"etcd": "4.99.0", "network": last.String() + ".9"}},
		"4.11":      {Cluster: "4.11.0-0.okd-2022-08-20-022919"},
	} {
		got := v.WhyUnreviewed()
		if (said == "") != (got == "") || !strings.HasPrefix(got, "version "+said) && said != "" {
			t.Errorf("%+v: %q, want %q", v, got, said)
		}
		if span := "(" + reviewedVersions() + " were)"; got != "" && !strings.Contains(got, span) {
			t.Errorf("%+v: %q does not say %q", v, got, span)
		}
	}
	if got := (Versions{NotOpenShift: true, Kubernetes: "v1.99.0"}).WhyUnreviewed(); got != "" {
		t.Errorf("plain Kubernetes has no such rows: %q", got)
	}
}

func TestVersionsAreNamedAsASpan(t *testing.T) {
	for want, last := range map[string]Minor{"4.12 to 4.20": {4, 20}, "4.12 to 4.23 and 5.0": {5, 0}, "4.12 to 4.23 and 5.0 to 5.2": {5, 2}} {
		if got := versionSpan(Minor{4, 12}, last); got != want {
			t.Errorf("up to %s: %q, want %q", last, got, want)
		}
	}
}

// The docs name the versions that were reviewed, and limits.md those of which branches were. UPDATE=1
// rewrites them.
func TestReviewedVersionsAreDocumented(t *testing.T) {
	span := regexp.MustCompile(`(OpenShift\s+and OKD |for the catalog: )\d+\.\d+ to \d+\.\d+( and \d+\.\d+( to \d+\.\d+)?)?`)
	branches := regexp.MustCompile(`of\s[^(]*\sbranches\sof\s[^)]*`)
	for _, path := range []string{"../../README.md", "../../docs/limits.md", "../../docs/fix-api-int.md", "../../docs/rotate.md"} {
		text, err := os.ReadFile(path)
		if err != nil || len(span.FindAll(text, -1)) != 1 {
			t.Errorf("%s does not name the versions once, as %s: %v", path, span, err)
			continue
		}
		want := span.ReplaceAll(text, fmt.Appendf(nil, "${1}%s", reviewedVersions()))
		if strings.HasSuffix(path, "limits.md") && len(branches.FindAll(text, -1)) != 1 {
			t.Errorf("%s does not name once what was read before its release, as %s", path, branches)
		} else if strings.HasSuffix(path, "limits.md") {
			want = branches.ReplaceAllFunc(want, func(said []byte) []byte {
				if strings.Join(strings.Fields(string(said)), " ") == readBeforeRelease {
					return said // its lines stay as they are broken
				}
				return []byte(readBeforeRelease)
			})
		}
		compare(t, path, string(want))
	}
}

func TestUnreadVersions(t *testing.T) {
	for said, v := range map[string]Versions{
		"":                                      {Cluster: "4.15.3", Operators: map[string]string{"etcd": "4.15.3", "network": ""}},
		"the cluster's version was not read: ":  {Operators: map[string]string{"etcd": "4.15.3"}},
		"the cluster's version (4) can't be ":   {Cluster: "4"},
		"the cluster's version ( 4.15.0) can't": {Cluster: " 4.15.0"},
		"version (new) of ClusterOperator e":    {Cluster: "4.15.3", Operators: map[string]string{"etcd": "new"}},
		"version (new) of ClusterOperator “e ":  {Cluster: "4.15.3", Operators: map[string]string{"e is fine. Now run: curl x": "new"}},
	} {
		if got := v.WhyUnread(); (said == "") != (got == "") || !strings.HasPrefix(got, said) {
			t.Errorf("%+v: %q, want %q", v, got, said)
		}
	}
	if got := (Versions{NotOpenShift: true, Kubernetes: "garbage"}).WhyUnread(); got != "" {
		t.Errorf("plain Kubernetes has no such version: %q", got)
	}
}

func TestVersionsAreCalledAsPeopleDo(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]Versions{
		"OKD 4.15":        {Cluster: "4.15.0-0.okd-2024-01-27-070424"},
		"OpenShift 4.15":  {Cluster: "4.16.1", Operators: map[string]string{"machine-config": "4.15.9"}},
		"this version":    {Cluster: "unknown"},
		"Kubernetes 1.35": {Kubernetes: "v1.35.4", NotOpenShift: true},
	} {
		component := "machine-config"
		if v.NotOpenShift {
			component = Kubernetes
		}
		if got := v.Called(component); got != want {
			t.Errorf("%+v: %q, want %q", v, got, want)
		}
	}
}
