package catalog

import "testing"

func TestTokenLogOf(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]struct {
		answer  Tristate
		prints  bool
		upgrade string
	}{
		"4.15.30": {Yes, false, ""},
		"4.16.69": {Yes, true, "4.18.32, 4.19.22, 4.20.10, 4.21 or a later one of the same minor"},
		"4.18.30": {Yes, true, "4.18.32 or a later 4.18"}, "4.18.31": {Unknown, false, ""}, "4.18.32": {Yes, false, ""},
		"4.19.21": {Yes, true, "4.19.22 or a later 4.19"}, "4.19.22": {Yes, false, ""},
		"4.20.8": {Yes, true, "4.20.10 or a later 4.20"}, "4.20.9": {Yes, false, ""}, "4.20.0-okd-scos.17": {Unknown, false, ""},
		"4.21.0": {Yes, false, ""}, "4.99.0": {Unknown, false, ""}, "": {Unknown, false, ""},
	} {
		row, answer := TokenLogOf(Versions{Cluster: version})
		if answer != want.answer || row.Prints != want.prints || row.Upgrade != want.upgrade {
			t.Errorf("%s: %s, %v, %q", version, answer, row.Prints, row.Upgrade)
		}
	}
	if _, answer := TokenLogOf(Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}); answer != No {
		t.Errorf("plain Kubernetes: %s", answer)
	}
}
