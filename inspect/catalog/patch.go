package catalog

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// offered is where the days are read on which patch versions were offered.
const offered = "openshift/cincinnati-graph-data internal-channels/candidate.yaml @ 731d04247 (2026-08-21)"

// Change is a change that a patch version brought to a minor, by a merge into its branch.
// A release is built some days before it is offered, from the branch as it was then: what was offered
// before the merge lacks the change, what was offered eight days after it or later has it (4.15.10 had
// openshift/cluster-kube-apiserver-operator#1662 after 8.8 days, 4.15.9 not after 1.3), and what lies
// between may have it. The days are those of openshift/cincinnati-graph-data internal-channels/candidate.yaml.
type Change struct {
	Lacks  int    // the last patch version that lacks it
	Has    int    // the first one that has it; what lies between may
	Merged string // the day, as 2006-01-02: builds without a patch version have the day of their build in its place
}

// in reports whether a version of the change's minor has the change. Unknown where the version
// says neither its patch nor the day of its build.
func (c Change) in(version string) Tristate {
	patch, day, ok := patchOf(version)
	switch {
	case !ok:
		return Unknown
	case patch == 0 && day != "" && day != c.Merged:
		return yesIf(day > c.Merged)
	case patch == 0 && day != "":
		return Unknown
	case patch <= c.Lacks:
		return No
	}
	if patch >= c.Has {
		return Yes
	}
	return Unknown
}

// since narrows a range to the versions of its first minor that have the change.
func (r Range) since(c Change) Range {
	r.Since = c
	return r
}

// before narrows a range to the versions of its last minor that lack the change.
func (r Range) before(c Change) Range {
	r.Before = c
	return r
}

// patchOf reads what follows the minor of a version string: patch 10 of "4.15.10", 0 of "4.22.0-rc.1",
// and the day 2024-03-10 of "4.15.0-0.okd-2024-03-10-010116". Not ok: builds that are numbered in another
// way ("4.19.0-okd-scos.7").
func patchOf(version string) (patch int, day string, ok bool) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 3 {
		return 0, "", false
	}
	number, build, _ := strings.Cut(parts[2], "-")
	number, _, _ = strings.Cut(number, "+")
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		return 0, "", false
	}
	if words := strings.Split(build, "-"); len(words) > 3 {
		day := strings.Join(words[len(words)-4:len(words)-1], "-")
		_, err := time.Parse(time.DateOnly, day)
		return int(n), day, err == nil
	}
	stage, _, _ := strings.Cut(build, ".")
	return int(n), "", build == "" || slices.Contains([]string{"rc", "ec", "fc"}, stage)
}

func yesIf(holds bool) Tristate {
	if holds {
		return Yes
	}
	return No
}
