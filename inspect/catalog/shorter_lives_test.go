package catalog

import (
	"strings"
	"testing"
)

// documentShorterLives is the part of docs/catalog.md about shorterLivesRows.
func documentShorterLives(line func(format string, args ...any)) {
	line("")
	line("## What shortens lives")
	line("")
	line("Settings for tests of certificate rotation. The ConfigMap is read once, when the operator or its recovery controller starts.")
	line("A certificate says when it expires; when such a cluster renews it, the rows above do not say.")
	line("")
	line("| operator | setting | effect | holds for | source |")
	line("|---|---|---|---|---|")
	for _, r := range shorterLivesRows() {
		line("| %s | %s | %s | %s | %s |", r.Owner, r.By, cell(r.Effect), r.In, evidence(r.Evidence))
	}
}

// TestOneSettingShortensLives: for each version an operator has at most one row of each setting, and
// what the ConfigMap scales no longer, the feature gate does.
func TestOneSettingShortensLives(t *testing.T) {
	t.Parallel()
	holds := func(component, by, version string) (effects []string) {
		for _, r := range shorterLivesRows() {
			if r.In.Component == component && r.By == by && r.In.Holds(Versions{Cluster: version}) == Yes {
				effects = append(effects, r.Effect)
			}
		}
		return effects
	}
	for _, c := range []struct {
		component, version string
		base, gate         bool
	}{
		{kas, "4.12.3", true, false}, {kas, "4.18.32", true, false}, {kas, "4.19.0", false, true}, {kas, "5.0.0", false, true},
		{kcm, "4.19.9", true, false}, {kcm, "4.20.1", false, true},
		{etcd, "4.19.0", false, false}, {etcd, "4.20.0", false, true},
		{serviceCA, "4.18.0", false, false}, {serviceCA, "4.19.0", false, true},
		{network, "4.19.0", false, false}, {network, "4.22.0", false, true},
	} {
		base, gate := holds(c.component, rotationBase, c.version), holds(c.component, shortCertRotation, c.version)
		scales := len(base) == 1 && !strings.HasPrefix(base[0], "nothing lives shorter")
		if len(base) > 1 || scales != c.base || len(gate) > 1 || (len(gate) == 1) != c.gate {
			t.Errorf("%s %s: base %q, feature gate %q", c.component, c.version, base, gate)
		}
	}
}
