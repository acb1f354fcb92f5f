package inspecttest

import (
	"regexp"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// ReviewedVersions are the first and the last minor version of OpenShift that the catalog was reviewed for,
// such as "4.12", as users read them.
func ReviewedVersions(t testing.TB) (first, last string) {
	t.Helper()
	why := catalog.Versions{Cluster: "999.0"}.WhyUnreviewed()
	found := regexp.MustCompile(`\((\d+\.\d+) to (?:\d+\.\d+ and )?(?:\d+\.\d+ to )?(\d+\.\d+) were\)`).FindStringSubmatch(why)
	if found == nil {
		t.Fatalf("%q names no versions", why)
	}
	return found[1], found[2]
}

// NextVersion is the minor version after the last one that was reviewed, such as "5.1".
func NextVersion(t testing.TB) string {
	t.Helper()
	_, last := ReviewedVersions(t)
	minor, ok := catalog.ParseMinor(last)
	if !ok {
		t.Fatalf("%q is no version", last)
	}
	minor.Minor++
	return minor.String()
}
