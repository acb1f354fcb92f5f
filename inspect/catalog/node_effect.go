package catalog

// NodeEffect is what it does to a node when certificates come to its files.
type NodeEffect string

// The effects, from the least to the greatest.
const (
	NodeNone    NodeEffect = "none"            // the file alone is written
	NodeReload  NodeEffect = "reload"          // who uses the file reloads it, and runs on
	NodeTrust   NodeEffect = "update-ca-trust" // for processes that start later
	NodeService NodeEffect = "service restart" // of the service whose file it is
	NodeKubelet NodeEffect = "kubelet restart" // pods run on
	NodeCRIO    NodeEffect = "crio restart"    // containers run on
	NodeReboot  NodeEffect = "reboot"          // after a drain
)

// configFileEffect is a row: what machine-config-daemon does to a node when a file of
// certificates differs between the MachineConfig that the node has and the one that it
// gets: it acts on those that differ.
type configFileEffect struct {
	Path   string
	Effect NodeEffect
	Doc    string // what people must know beyond it; mostly empty
	In     Range
	Evidence
}

// configFileEffects returns every row about files of certificates in MachineConfigs, for
// the versions that render them. Anything else that differs (another file, a unit, the
// operating system) has rules of its own, mostly a reboot.
func configFileEffects() []configFileEffect {
	const kubeletCA, rootCA, userCA = "/etc/kubernetes/kubelet-ca.crt", "/etc/kubernetes/ca.crt", "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt"
	const cloudCA = "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem"
	lists := Evidence{Verified, mcoRepo + "pkg/daemon/update.go (calculatePostConfigChangeActionFromFileDiffs, in 4.16 ...FromMCDiffs) @ release-4.12 1d4cfffaa to release-4.16 7327bb235"}
	policies := Evidence{Verified, mcoRepo + "pkg/apihelpers/apihelpers.go (defaultClusterPolicies) @ release-4.17 3bdd678e8 to release-4.22 9027c94cd; an administrator may say otherwise (MachineConfiguration, spec.nodeDisruptionPolicy)"}
	const registryCA, registryCert = "/etc/pki/ca-trust/source/anchors/iri-root-ca.crt", "/etc/iri-registry/certs/tls.crt"
	registry := policies
	registry.Source = mcoRepo + "pkg/apihelpers/apihelpers.go (defaultClusterPolicies: restart of coreos-update-ca-trust.service, of iri-registry.service) @ release-4.22 9027c94cd, not in release-4.21 db84d8368"
	kept := Evidence{Derived, registry.Source + "; crypto/x509 SystemCertPool, which loads the system's pool once"}
	patched, patched421 := Evidence{Derived, lists.Source + "; " + offered}, Evidence{Derived, registry.Source + "; " + offered}
	in421 := internalReleaseTLS()
	in421.To = Minor{4, 21}
	in416, restarts := between(mco, Minor{4, 16}, Minor{4, 16}), Change{Lacks: 1, Has: 3, Merged: "2024-07-02"} // 8c4afe087
	return []configFileEffect{
		{kubeletCA, NodeNone, "", Range{Component: mco, To: Minor{4, 13}}, lists},
		{rootCA, NodeReboot, "", Range{Component: mco, To: Minor{4, 16}}, lists},
		{rootCA, NodeReboot, "", between(mco, Minor{4, 17}, Minor{4, 17}), policies},
		{cloudCA, NodeReboot, "", Range{Component: mco, To: Minor{4, 13}}, lists},
		{userCA, NodeReboot, "", Range{Component: mco, To: Minor{4, 13}}, lists},
		{userCA, NodeCRIO, "where registries.conf or policy.json changes too, by chance a reload instead, by which CRI-O does not trust new CAs", between(mco, Minor{4, 14}, Minor{4, 15}).since(userCAReturns()), patched},
		{userCA, NodeCRIO, "where registries.conf or policy.json changes too, by chance a reload instead", in416.before(restarts), patched},
		{userCA, NodeCRIO, "", in416.since(restarts), patched},
		{userCA, NodeCRIO, "", since(mco, Minor{4, 17}), policies},
		{registryCA, NodeReboot, "", in421, patched421},
		{registryCA, NodeTrust, "CRI-O is not restarted, and trusts the new CA only after its next start", since(mco, Minor{4, 22}), kept},
		{registryCert, NodeReboot, "", in421, patched421},
		{registryCert, NodeService, "iri-registry.service", since(mco, Minor{4, 22}), registry},
	}
}

// configFileEffectOf returns the row about a file that holds for v.
func configFileEffectOf(path string, v Versions) (configFileEffect, Tristate) {
	answer := No
	for _, row := range configFileEffects() {
		if row.Path != path {
			continue
		}
		switch row.In.Holds(v) {
		case Yes:
			return row, Yes
		case Unknown:
			answer = Unknown
		}
	}
	return configFileEffect{}, answer
}
