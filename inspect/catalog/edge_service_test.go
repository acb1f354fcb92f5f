package catalog

import "testing"

// TestReloadOfServicesClients: what a change of trust anchors does, as the operators' sources say it.
func TestReloadOfServicesClients(t *testing.T) {
	t.Parallel()
	edges := map[string]Edge{}
	for _, e := range Edges() {
		edges[e.ID] = e
	}
	for id, want := range map[string]ReloadPolicy{
		// Deployments whose pods have a hash or a resourceVersion of the ConfigMap in an annotation.
		"console-oauth": ReloadByDeployment, "openshift-apiserver-etcd": ReloadByDeployment, "oauth-apiserver-etcd": ReloadByDeployment,
		"apiserver-token-review": ReloadByRollout,
		// HAProxy reads ca-file when it is reloaded: the router watches its own certificate, not this.
		"router-services": ReloadByReload,
	} {
		if got := edges[id].Reload; got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

// TestMachineConfigServersReload: from 4.19 on they watch their certificate (openshift/machine-config-operator
// pkg/server/api.go, certWatcher.Start); before, each presents what it read when it started.
func TestMachineConfigServersReload(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]ReloadPolicy{"4.12.1": ReloadAtStart, "4.14.1": ReloadAtStart, "4.18.1": ReloadAtStart, "4.19.1": ReloadOnChange, "4.22.1": ReloadOnChange} {
		var got []ReloadPolicy
		for _, s := range Servers() {
			if s.Listener.Name == "machine-config-server" && s.In.Holds(Versions{Cluster: version}) == Yes {
				got = append(got, s.Certs[0].Reload)
			}
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}
