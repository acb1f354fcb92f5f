package catalog

import "testing"

func TestConnectionsAreOfEdges(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range connections() {
		for _, id := range c.Edges {
			found := false
			for _, e := range Edges() {
				found = found || e.ID == id
			}
			for _, p := range StartupReaders() {
				found = found || p.ID == id
			}
			if !found || seen[id] {
				t.Errorf("%s is no edge, or there twice", id)
			}
			seen[id] = true
			if got, ok := ConnectionOf(id); !ok || got.Evidence != c.Evidence {
				t.Errorf("%s is not found", id)
			}
		}
	}
	if _, ok := ConnectionOf("whereabouts-api-int"); ok {
		t.Error("a program that is started for each pod holds no connection")
	}
}

func TestGoaway(t *testing.T) {
	for name, c := range map[string]struct {
		topology string
		v        Versions
		want     Tristate
		chance   float64
	}{
		"4.12":                                 {"HighlyAvailable", Versions{Cluster: "4.12.0"}, Yes, 0},
		"4.17, whatever the topology":          {"", Versions{Cluster: "4.17.9"}, Yes, 0},
		"4.18":                                 {"HighlyAvailable", Versions{Cluster: "4.18.30"}, Yes, 0.001},
		"4.19":                                 {"HighlyAvailableArbiter", Versions{Cluster: "4.19.30"}, Yes, 0.001},
		"4.22":                                 {"HighlyAvailable", Versions{Cluster: "4.22.1"}, Yes, 0.001},
		"4.22 on a single node":                {"SingleReplica", Versions{Cluster: "4.22.1"}, Yes, 0},
		"4.22, the topology was not read":      {"", Versions{Cluster: "4.22.1"}, Unknown, 0},
		"no version":                           {"HighlyAvailable", Versions{}, Unknown, 0},
		"no OpenShift":                         {"", Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}, No, 0},
		"the operator is behind in an upgrade": {"HighlyAvailable", Versions{Cluster: "4.18.1", Operators: map[string]string{kas: "4.17.5"}}, Yes, 0},
		"the operator is ahead, in an upgrade": {"HighlyAvailable", Versions{Cluster: "4.17.5", Operators: map[string]string{kas: "4.18.40"}}, Yes, 0.001},
	} {
		if got, answer := GoawayOf(c.topology, c.v); answer != c.want || got.Chance != c.chance {
			t.Errorf("%s: %s, %v", name, answer, got.Chance)
		}
	}
}
