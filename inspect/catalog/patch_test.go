package catalog

import (
	"testing"
	"time"
)

// TestChangeIn: a release has its patch version, a build the day it was made, and what has neither is not guessed.
func TestChangeIn(t *testing.T) {
	t.Parallel()
	c := Change{Lacks: 9, Has: 11, Merged: "2025-08-26"}
	for version, want := range map[string]Tristate{
		"4.19.9": No, "4.19.10": Unknown, "4.19.11": Yes, "4.19.44": Yes,
		"4.19.0-rc.1": No, "4.19.0-ec.3": No, "4.19.12+build7": Yes, "4.19.12-0.hotfix-2025-08-01-010203": Yes,
		"4.19.0-0.nightly-2025-08-25-230102": No, "4.19.0-0.nightly-2025-08-26-010203": Unknown, "4.19.0-0.ci-2025-08-27-010203": Yes,
		"4.19.0-0.okd-2025-07-10-010116": No, "4.19.0-0.okd-scos-2025-09-10-010116": Yes,
		"4.19.0-okd-scos.7": Unknown, "4.19.0-0.okd-2025-99-10-010116": Unknown, "4.19": Unknown, "4.19.x": Unknown, "4.19.": Unknown,
	} {
		if got := c.in(version); got != want {
			t.Errorf("%s has it: %s, want %s", version, got, want)
		}
	}
}

func TestRangesWithPatchVersions(t *testing.T) {
	t.Parallel()
	c := Change{Lacks: 9, Has: 11, Merged: "2025-08-26"}
	before, since := between(kas, Minor{4, 16}, Minor{4, 19}).before(c), since(kas, Minor{4, 19}).since(c)
	for version, want := range map[string][2]Tristate{
		"4.15.30": {No, No}, "4.16.30": {Yes, No}, "4.18.1": {Yes, No}, "4.19.9": {Yes, No}, "4.19.10": {Unknown, Unknown},
		"4.19.11": {No, Yes}, "4.20.0": {No, Yes}, "4.19.0-okd-scos.7": {Unknown, Unknown}, "": {Unknown, Unknown},
	} {
		v := Versions{Cluster: version}
		if got := [2]Tristate{before.Holds(v), since.Holds(v)}; got != want {
			t.Errorf("%s: %v, want %v", version, got, want)
		}
		// The operator's own version decides, not the cluster's.
		behind := Versions{Cluster: "4.20.1", Operators: map[string]string{kas: version}}
		if got := [2]Tristate{before.Holds(behind), since.Holds(behind)}; version != "" && got != want {
			t.Errorf("operator %s: %v, want %v", version, got, want)
		}
	}
	for _, unreviewed := range []string{"4.11.3", "4.99.3"} {
		v := Versions{Cluster: unreviewed, UnreviewedAccepted: true}
		first, last := reviewed()
		newer := unreviewed == "4.99.3"
		for _, in := range []Range{between(kas, last, last), between(kas, first, first)} {
			if newer != (in.From == last) {
				continue
			}
			if a, b := in.before(c).Holds(v), in.since(c).Holds(v); (a == Yes) == newer || (b == Yes) != newer {
				t.Errorf("%s: before the change %s, since it %s", unreviewed, a, b)
			}
		}
	}
	if before.overlaps(since) || since.overlaps(before) || !before.overlaps(between(kas, Minor{4, 18}, Minor{4, 18})) {
		t.Error("the two sides of a change overlap, or a minor between them does not")
	}
	for want, in := range map[string]Range{
		kas + " 4.16-4.19, up to 4.19.9": before, kas + " 4.19+, from 4.19.11 on": since,
		kas + " 4.15, up to 4.15.9": between(kas, Minor{4, 15}, Minor{4, 15}).before(Change{Lacks: 9, Has: 10}),
	} {
		if got := in.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestLifetimeByPatchVersion: where the patch version is unknown, the answer spans what its minor's builds do.
func TestLifetimeByPatchVersion(t *testing.T) {
	t.Parallel()
	kubelet, admin := secret(kasOperator, "kube-apiserver-to-kubelet-signer"), secret(kasOperator, "node-system-admin-signer")
	for _, c := range []struct {
		at                  Ref
		version             string
		validity, from, due time.Duration
	}{
		{kubelet, "4.18.9", year, 292 * day, 292 * day},
		{kubelet, "4.19.44", year, 30 * day, 30 * day},
		{kubelet, "4.19.45", year, 30 * day, 292 * day},
		{kubelet, "4.20.0-okd-scos.7", year, 30 * day, 292 * day},
		{kubelet, "4.22.0", year, 30 * day, 30 * day},
		{kubelet, "4.22.1", year, 30 * day, 292 * day},
		{kubelet, "4.22.3", year, 292 * day, 292 * day},
		{admin, "4.18.30", year, 292 * day, 292 * day},
		{admin, "4.19.9", year, 292 * day, 292 * day},
		{admin, "4.19.10", 3 * year, 292 * day, 876 * day},
		{admin, "4.19.11", 3 * year, 876 * day, 876 * day},
	} {
		l, answer := LifetimeOf(c.at, Versions{Cluster: c.version})
		if answer != Yes || l.Validity != c.validity || l.earliest().Refresh != c.from || l.Refresh != c.due {
			t.Errorf("%s in %s: %s, lives %s, renewed from %s to %s", c.at.Name, c.version, answer, l.Validity, l.earliest().Refresh, l.Refresh)
		}
	}
}
