package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNetworkPods(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range NodeDaemonSets() {
		key, value, _ := strings.Cut(p.Label, "=")
		if seen[p.ID] || p.Namespace == "" || p.DaemonSet == "" || key == "" || value == "" || p.Doc == "" || p.Source == "" || p.Mark == "" {
			t.Errorf("%s: incomplete, or there twice: %+v", p.ID, p)
		}
		seen[p.ID] = true
		if p.Trust.Kind == ConfigMap && p.Trust.Namespace != p.Namespace {
			t.Errorf("%s reads %s, which is of another namespace", p.ID, p.Trust)
		}
		for _, r := range []Ref{p.Trust, p.OtherTrust} {
			if r.Kind == File && !slices.Contains(KubeletKubeconfigs(), r.Name) {
				t.Errorf("%s reads %s, which nothing repairs", p.ID, r)
			}
		}
	}
}

func TestNetworkPodsOfVersions(t *testing.T) {
	t.Parallel()
	const besideThin = " multus-additional-cni-plugins ovnkube-node-service-account machine-config-daemon"
	const thin, thinOf413, atStart = "multus-thin" + besideThin, "multus-thin-of-4-13" + besideThin, "multus-thin-at-start" + besideThin
	thick := "network-node-identity multus multus-additional-cni-plugins ovnkube-node machine-config-daemon"
	for name, c := range map[string]struct {
		v    Versions
		want string
	}{
		"4.12":       {Versions{Cluster: "4.12.3"}, thin},
		"4.13.0":     {Versions{Cluster: "4.13.0"}, atStart},
		"4.13.2":     {Versions{Cluster: "4.13.2"}, atStart},
		"4.13.3":     {Versions{Cluster: "4.13.3"}, thinOf413},
		"4.13":       {Versions{Cluster: "4.13.0-0.okd-2023-10-28-065448"}, thinOf413},
		"4.14":       {Versions{Cluster: "4.14.1"}, thick},
		"4.22":       {Versions{Cluster: "4.22.1"}, thick},
		"not known":  {Versions{}, ""},
		"Kubernetes": {Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}, ""},
		"the network operator is behind in an upgrade": {Versions{Cluster: "4.14.1", Operators: map[string]string{network: "4.13.9"}}, thinOf413},
	} {
		var ids, sets []string
		for _, p := range NodeDaemonSetsIn(c.v) {
			ids, sets = append(ids, p.ID), append(sets, p.Namespace+"/"+p.DaemonSet)
		}
		if got := fmt.Sprint(strings.Join(ids, " ")); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
		slices.Sort(sets)
		if n := len(sets); n != len(slices.Compact(sets)) {
			t.Errorf("%s: two rows for one DaemonSet", name)
		}
	}
}

// TestThinMultusIsRestartedWhereItLooksAtItsCAOnce: the script of 4.13.0 to 4.13.2 compares nothing.
func TestThinMultusIsRestartedWhereItLooksAtItsCAOnce(t *testing.T) {
	t.Parallel()
	for version, reloads := range map[string]bool{"4.12.0": true, "4.12.80": true, "4.13.0": false, "4.13.1": false, "4.13.2": false, "4.13.3": true, "4.13.50": true} {
		for _, p := range NodeDaemonSetsIn(Versions{Cluster: version}) {
			if p.DaemonSet == "multus" && p.SelfReloading != reloads {
				t.Errorf("%s: %s reads its CA again by itself: %v", version, p.ID, p.SelfReloading)
			}
		}
	}
}
