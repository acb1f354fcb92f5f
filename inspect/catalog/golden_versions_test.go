package catalog

import (
	"fmt"
	"maps"
	"reflect"
	"testing"
)

// counted is the minor of a golden version of OpenShift, 5.0 after 4.23.
func counted(v Versions) int {
	m, _ := ParseMinor(v.Cluster)
	return m.Minor + (m.Major-4)*(lastOfFour().Minor+1)
}

func goldenVersions() map[string]Versions {
	all := map[string]Versions{"kubernetes-1.35": {NotOpenShift: true, Kubernetes: "v1.35.4"}}
	maps.Copy(all, openShifts(reviewed()))
	return all
}

// openShifts are the versions from first to last: 5.0 follows 4.23 (testdata/reviews), with the same Kubernetes.
func openShifts(first, last Minor) map[string]Versions {
	all := map[string]Versions{}
	for m := first; m.Compare(last) <= 0; m.Minor++ {
		if m.Major < last.Major && m.Minor > lastOfFour().Minor {
			m = Minor{5, 0}
		}
		kubernetes := m.Minor + 13
		if m.Major == 5 {
			kubernetes += lastOfFour().Minor
		}
		all["openshift-"+m.String()] = Versions{Cluster: m.String() + ".1", Kubernetes: fmt.Sprintf("v1.%d.1", kubernetes)}
	}
	return all
}

// TestVersionsEndAtFive: the list of versions goes on with the next major one, and ends.
func TestVersionsEndAtFive(t *testing.T) {
	got := openShifts(Minor{4, 22}, Minor{5, 1})
	want := map[string]Versions{
		"openshift-4.22": {Cluster: "4.22.1", Kubernetes: "v1.35.1"},
		"openshift-4.23": {Cluster: "4.23.1", Kubernetes: "v1.36.1"},
		"openshift-5.0":  {Cluster: "5.0.1", Kubernetes: "v1.36.1"},
		"openshift-5.1":  {Cluster: "5.1.1", Kubernetes: "v1.37.1"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// versionsOf are the golden versions for which a range holds.
func versionsOf(in Range) []Versions {
	var fit []Versions
	for _, v := range goldenVersions() {
		if in.Holds(v) == Yes {
			fit = append(fit, v)
		}
	}
	return fit
}
