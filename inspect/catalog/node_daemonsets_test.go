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
	thin := "multus-thin multus-additional-cni-plugins ovnkube-node-service-account machine-config-daemon"
	thick := "network-node-identity multus multus-additional-cni-plugins ovnkube-node machine-config-daemon"
	for name, c := range map[string]struct {
		v    Versions
		want string
	}{
		"4.12":       {Versions{Cluster: "4.12.3"}, thin},
		"4.13":       {Versions{Cluster: "4.13.0-0.okd-2023-10-28-065448"}, thin},
		"4.14":       {Versions{Cluster: "4.14.1"}, thick},
		"4.22":       {Versions{Cluster: "4.22.1"}, thick},
		"not known":  {Versions{}, ""},
		"Kubernetes": {Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}, ""},
		"the network operator is behind in an upgrade": {Versions{Cluster: "4.14.1", Operators: map[string]string{network: "4.13.9"}}, thin},
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
