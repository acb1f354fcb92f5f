package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// Minor is a version as far as rows care: major and minor. The zero value is
// an open end.
type Minor struct{ Major, Minor int }

// ParseMinor reads the minor of a version string: "4.15.0-0.okd-2024-03-10-010116",
// "4.16.0-rc.3" and "v1.35.4" all have one. Only the first two numbers count:
// OKD's builds are pre-releases to semver, so that 4.15's would come before
// 4.15.0 and every comparison of whole versions would be wrong.
func ParseMinor(version string) (Minor, bool) {
	major, rest, found := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if !found {
		return Minor{}, false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		// "35+" is how some providers write the minor; anything else that is
		// glued to the number makes it no version.
		if !strings.ContainsRune(".-+", rune(rest[end])) {
			return Minor{}, false
		}
		rest = rest[:end]
	}
	a, errA := strconv.ParseUint(major, 10, 16)
	b, errB := strconv.ParseUint(rest, 10, 16)
	if errA != nil || errB != nil || a == 0 {
		return Minor{}, false
	}
	return Minor{int(a), int(b)}, true
}

// Compare orders minors: 4.9 < 4.10 < 5.0.
func (m Minor) Compare(o Minor) int {
	return cmp.Or(cmp.Compare(m.Major, o.Major), cmp.Compare(m.Minor, o.Minor))
}

// String returns such as "4.16"; empty for the zero value.
func (m Minor) String() string {
	if m == (Minor{}) {
		return ""
	}
	return fmt.Sprintf("%d.%d", m.Major, m.Minor)
}

// Versions says what runs. Mid-upgrade a cluster has several versions at once,
// which is why the operators' own ones are kept.
type Versions struct {
	// Cluster is the version of ClusterVersion; empty when it could not be read
	// or there is none.
	Cluster string
	// Operators maps a ClusterOperator's name to the version called "operator"
	// in its status.
	Operators map[string]string
	// Kubernetes is the API server's git version, such as "v1.35.4".
	Kubernetes string
	// NotOpenShift is true where it is known that this is no OpenShift: the API server
	// does not serve config.openshift.io. An unread ClusterVersion is no proof.
	NotOpenShift bool
	// UnreviewedAccepted says that the user accepts that versions which were not reviewed are
	// answered as the nearest one that was. Nothing that is read says so.
	UnreviewedAccepted bool
}

// Product is OpenShift's or OKD's name and minor version, as "OKD 4.15".
func (v Versions) Product() string {
	minor, ok := ParseMinor(v.Cluster)
	switch {
	case !ok:
		return "this version"
	case strings.Contains(v.Cluster, "okd"):
		return fmt.Sprintf("OKD %d.%d", minor.Major, minor.Minor)
	}
	return fmt.Sprintf("OpenShift %d.%d", minor.Major, minor.Minor)
}

// Empty reports whether nothing is known.
func (v Versions) Empty() bool {
	return v.Cluster == "" && len(v.Operators) == 0 && v.Kubernetes == "" && !v.NotOpenShift
}

// openShift reports whether something was seen that only OpenShift has.
func (v Versions) openShift() bool { return v.Cluster != "" || len(v.Operators) > 0 }

// componentVersion returns the version that decides about a component's rows.
func (v Versions) componentVersion(component string) string {
	if component == Kubernetes {
		return v.Kubernetes
	}
	if own := v.Operators[component]; own != "" {
		return own
	}
	return v.Cluster
}

// Called is the version that decides about a component's rows, as people call it: "OKD 4.15".
func (v Versions) Called(component string) string {
	version := v.componentVersion(component)
	minor, known := ParseMinor(version)
	switch {
	case !known:
		return "this version"
	case component == Kubernetes:
		return "Kubernetes " + minor.String()
	case strings.Contains(version, "okd"):
		return "OKD " + minor.String()
	}
	return "OpenShift " + minor.String()
}

// Kubernetes is the component of rows for plain Kubernetes: they hold where
// there is no OpenShift.
const Kubernetes = "kubernetes"

// Tristate is what can be said of a claim.
type Tristate int

// Unknown is the zero value: no answer was read.
const (
	Unknown Tristate = iota
	No
	Yes
)

// String returns "unknown", "no" or "yes".
func (a Tristate) String() string {
	switch a {
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return "unknown"
}

// reviewed returns the first and the last minor of OpenShift and OKD of which the
// operators' sources were read for the catalog's rows. What a row says of others is
// Unknown. Who reviews another version moves these, and reads each row again.
func reviewed() (first, last Minor) { return Minor{4, 12}, Minor{5, 0} }

// readOn is the day on which each row was last read in its source. A row that was read later
// says so in its source.
const readOn = "2026-11-26"

// readBeforeRelease says of which minors the branches were read before their release, and of when.
const readBeforeRelease = "of 4.23 and 5.0 the branches of August 2026"

// lastOfFour is the last minor of OpenShift 4: 5.0 follows it.
func lastOfFour() Minor { return Minor{4, 23} }

// reviewedVersions names them for people: "4.12 to 4.23 and 5.0".
func reviewedVersions() string { return versionSpan(reviewed()) }

// versionSpan names the minors from first to last.
func versionSpan(first, last Minor) string {
	switch {
	case last.Major == first.Major:
		return fmt.Sprintf("%s to %s", first, last)
	case last.Minor == 0:
		return fmt.Sprintf("%s to %s and %s", first, lastOfFour(), last)
	}
	return fmt.Sprintf("%s to %s and %s to %s", first, lastOfFour(), Minor{Major: last.Major}, last)
}

// age says whether a minor is before the reviewed ones (-1), after them (1), or among them (0).
func (m Minor) age() int {
	first, last := reviewed()
	switch {
	case m.Compare(first) < 0:
		return -1
	case m.Compare(last) > 0, m.Major == lastOfFour().Major && m.Compare(lastOfFour()) > 0:
		return 1
	}
	return 0
}

// UnreviewedMinors returns the minors that run and were not reviewed, each once, in their
// order: mid-upgrade an operator may be newer than the cluster's version says.
func (v Versions) UnreviewedMinors() []Minor {
	var out []Minor
	for _, version := range append(slices.Collect(maps.Values(v.Operators)), v.Cluster) {
		if m, ok := ParseMinor(version); ok && m.age() != 0 {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, Minor.Compare)
	return slices.Compact(out)
}

// WhyUnreviewed says, for people, which versions run and were not reviewed, and what
// follows; empty: all of them were.
func (v Versions) WhyUnreviewed() string {
	out := v.unreviewed()
	if out == "" {
		return ""
	}
	return fmt.Sprintf("%s for certrot's catalog (%s were): what depends on the version is UNKNOWN; dates, chains and annotations that were read are judged", out, reviewedVersions())
}

// WhyUnread says, for people, which version of OpenShift is none that can be read, and what
// follows; empty: all of them can be, or there is no OpenShift.
func (v Versions) WhyUnread() string {
	if v.NotOpenShift {
		return ""
	}
	const follows = ": what depends on the version is UNKNOWN"
	if _, ok := ParseMinor(v.Cluster); v.Cluster == "" {
		return "the cluster's version was not read" + follows
	} else if !ok {
		return fmt.Sprintf("the cluster's version (%s) can't be read", v.Cluster) + follows
	}
	for _, name := range slices.Sorted(maps.Keys(v.Operators)) {
		if _, ok := ParseMinor(v.Operators[name]); !ok && v.Operators[name] != "" { // without one, the cluster's decides
			return fmt.Sprintf("version (%s) of ClusterOperator %s can't be read", v.Operators[name], foreign.Name(name)) + follows
		}
	}
	return ""
}

// WhyUndecided says, for people, why the rows' answer is Unknown.
func (v Versions) WhyUndecided() string {
	return cmp.Or(v.unreviewed(), "the version that decides was not read")
}

func (v Versions) unreviewed() string {
	minors := v.UnreviewedMinors()
	if len(minors) == 0 {
		return ""
	}
	words := make([]string, len(minors))
	for i, m := range minors {
		words[i] = m.String()
	}
	return "version " + strings.Join(words, ", ") + " was not reviewed"
}

// Range says for which versions of which component a row holds.
type Range struct {
	// Component is the ClusterOperator whose version decides ("kube-apiserver",
	// "machine-config"), Kubernetes for plain Kubernetes, or empty: always.
	Component string
	// From and To are inclusive; zero is open.
	From, To Minor
	// Since narrows From to the patch versions that have a change, Before narrows To to those that lack
	// it. Zero: all of them.
	Since, Before Change
}

// Holds reports whether the row holds where v runs. It is Unknown when the
// version that decides is unknown or can't be read: never a guess.
func (r Range) Holds(v Versions) Tristate {
	answer := r.minorHolds(v)
	if answer != Yes || r.Since == (Change{}) && r.Before == (Change{}) {
		return answer
	}
	has := func(c Change, of Minor) Tristate {
		version := v.componentVersion(r.Component)
		minor, _ := ParseMinor(version)
		if minor.age() != 0 { // accepted: it is answered as the first or the last reviewed version
			return yesIf(minor.age() > 0)
		}
		if minor == of {
			return c.in(version)
		}
		return yesIf(minor.Compare(of) > 0)
	}
	if r.Since != (Change{}) {
		answer = has(r.Since, r.From)
	}
	if r.Before != (Change{}) && answer != No {
		switch has(r.Before, r.To) {
		case Yes:
			return No
		case Unknown:
			return Unknown
		}
	}
	return answer
}

// minorHolds is Holds without the patch versions.
func (r Range) minorHolds(v Versions) Tristate {
	if r.Component == "" {
		return Yes
	}
	if r.Component == Kubernetes && v.openShift() || r.Component != Kubernetes && v.NotOpenShift {
		return No
	}
	if r.Component == Kubernetes && !v.NotOpenShift {
		return Unknown
	}
	version, ok := ParseMinor(v.componentVersion(r.Component))
	first, last := reviewed()
	older, newer := version.age() < 0, version.age() > 0
	switch {
	case ok && v.UnreviewedAccepted && r.Component != Kubernetes && older:
		return r.spans(first)
	case ok && v.UnreviewedAccepted && r.Component != Kubernetes && newer:
		return r.spans(last)
	case !ok:
		return Unknown
	case r.Component == Kubernetes:
		return r.spans(version)
	// The first and the last version that were reviewed are where reviewing began and
	// ended: what holds there may hold before and after, or not.
	case older && (r.From == (Minor{}) || r.From.Compare(first) <= 0) && (r.To == (Minor{}) || r.To.Compare(first) >= 0),
		newer && (r.To == (Minor{}) || r.To.Compare(last) >= 0) && (r.From == (Minor{}) || r.From.Compare(version) <= 0):
		return Unknown
	}
	return r.spans(version)
}

// spans reports whether a version lies in the range.
func (r Range) spans(version Minor) Tristate {
	if r.From != (Minor{}) && version.Compare(r.From) < 0 || r.To != (Minor{}) && version.Compare(r.To) > 0 {
		return No
	}
	return Yes
}

// overlaps reports whether some version lies in both ranges.
func (r Range) overlaps(o Range) bool {
	before := func(to, from Minor) bool { return to != (Minor{}) && from != (Minor{}) && to.Compare(from) < 0 }
	apart := func(r, o Range) bool { return r.Before != (Change{}) && r.Before == o.Since && r.To == o.From }
	return r.Component == o.Component && !before(r.To, o.From) && !before(o.To, r.From) && !apart(r, o) && !apart(o, r)
}

// String returns such as "kube-apiserver 4.16-4.18", "kubernetes", "any", "kube-apiserver 4.15, up to 4.15.9".
func (r Range) String() string {
	if r.Component == "" {
		return "any"
	}
	return r.minors() + r.patches()
}

// patches says which patch versions of the first and the last minor are meant.
func (r Range) patches() string {
	out := ""
	if r.Since != (Change{}) {
		out += fmt.Sprintf(", from %s.%d on", r.From, r.Since.Has)
	}
	if r.Before != (Change{}) {
		out += fmt.Sprintf(", up to %s.%d", r.To, r.Before.Lacks)
	}
	return out
}

func (r Range) minors() string {
	switch {
	case r.From == (Minor{}) && r.To == (Minor{}):
		return r.Component
	case r.To == (Minor{}):
		return r.Component + " " + r.From.String() + "+"
	case r.From == (Minor{}):
		return r.Component + " to " + r.To.String()
	case r.From == r.To:
		return r.Component + " " + r.From.String()
	}
	return r.Component + " " + r.From.String() + "-" + r.To.String()
}
