package catalog

import "slices"

// staticPodInput is a row: how the static pods of a component get the certificates in
// objects of its namespace.
type staticPodInput struct {
	Component string // the ClusterOperator of the static pods, whose namespace is openshift-COMPONENT
	// Rollout: a copy is made for each revision, so that a change of the object is a new
	// revision, which is put on one master after another. Without it the cert-syncer
	// writes a change into the same file on all masters, and the process reloads it.
	// etcd's are in both lists, and it has no cert-syncer.
	Rollout bool
	// AtStart: the cert-syncer writes a change, too, and the process reads it when it next starts.
	AtStart    bool
	Doc        string // where it is otherwise
	ConfigMaps []string
	Secrets    []string
	In         Range
	Evidence
}

// staticPodInputs returns every row about what static pods read. What is in none is read
// by none. What is read in both ways is in the rows of revisions.
func staticPodInputs() []staticPodInput {
	read := func(of, lists, commits string) Evidence {
		return Evidence{Verified, of + "pkg/operator/starter.go (" + lists + ") @ " + commits}
	}
	const repo = "openshift/cluster-kube-apiserver-operator "
	const kasCommits = "c813e820b, release-4.12 0217c88fb to release-4.23 440392249, the same in all of them"
	const kcmCommits = "4e72164b8, release-4.12 c3c07bebb to release-4.23 209d5915d, the same in all of them"
	const schedulerCommits = "56fa32546, release-4.12 a0e7f248a to release-4.23, the same in all of them"
	revisions := staticPodInput{
		Component: kas, Rollout: true, In: between(kas, Minor{4, 17}, Minor{4, 18}), Evidence: read(repo, "RevisionConfigMaps, RevisionSecrets", "release-4.12 0217c88fb to release-4.18 e9bc90906, the same in all of them"),
		ConfigMaps: []string{"etcd-serving-ca", "kube-apiserver-server-ca", "kubelet-serving-ca"},
		Secrets:    []string{"etcd-client", "localhost-recovery-serving-certkey", "localhost-recovery-client-token", "webhook-authenticator"},
	}
	// With it, where users log in by OIDC: the CAs with which kube-apiserver verifies the provider.
	oidc := revisions
	oidc.ConfigMaps, oidc.In = append(slices.Clone(revisions.ConfigMaps), "auth-config"), since(kas, Minor{4, 19})
	oidc.Evidence = read(repo, "RevisionConfigMaps, RevisionSecrets", "release-4.19 1b4840343 to release-4.22 9c413cd4d, the same in all of them")
	oidc.In.To = Minor{4, 22}
	// From 4.23 on with the CA of Vault, where encryption by Vault is on.
	vault := oidc
	vault.Secrets, vault.In = append(slices.Clone(revisions.Secrets), "encryption-config"), since(kas, Minor{4, 23})
	vault.Evidence = read(repo, "RevisionConfigMaps, RevisionSecrets", "release-4.23 and release-5.0 440392249")
	// Up to there it is a copy of the cloud API's CAs, where the platform has some; then the operator deletes it.
	withCloud := func(row staticPodInput, in Range) staticPodInput {
		row.ConfigMaps, row.In = append(slices.Clone(row.ConfigMaps), "cloud-config"), in
		row.Source += "; pkg/operator/configobservation and vendored library-go pkg/operator/configobserver/cloudprovider/observe_cloudprovider.go"
		return row
	}
	kcmRevisions := staticPodInput{
		Component: kcm, Rollout: true, In: since(kcm, Minor{4, 16}), Evidence: read(kcmRepo, "deploymentConfigMaps, deploymentSecrets", kcmCommits),
		ConfigMaps: []string{"serviceaccount-ca", "service-ca"}, Secrets: []string{"serving-cert", "localhost-recovery-client-token"},
	}
	trustedCAs := func(component string, e Evidence) staticPodInput {
		e.Source += "; the static pod copies it when its container starts (bindata/assets/" + component + "/pod.yaml)"
		return staticPodInput{Component: component, AtStart: true, ConfigMaps: []string{"trusted-ca-bundle"}, In: since(component, Minor{4, 12}), Evidence: e}
	}
	fenced := "with two nodes and fencing (DualReplica) this does not restart etcd itself, which pacemaker runs: it may read new CAs only at its next start"
	return []staticPodInput{
		withCloud(revisions, between(kas, Minor{4, 12}, Minor{4, 16})),
		revisions,
		oidc,
		vault,
		{
			Component: kas, In: since(kas, Minor{4, 12}), Evidence: read(repo, "CertConfigMaps, CertSecrets", kasCommits),
			ConfigMaps: []string{"aggregator-client-ca", "client-ca"},
			Secrets: []string{
				"aggregator-client", "localhost-serving-cert-certkey", "service-network-serving-certkey", "external-loadbalancer-serving-certkey", "internal-loadbalancer-serving-certkey",
				"control-plane-node-admin-client-cert-key", "check-endpoints-client-cert-key", "kubelet-client", "node-kubeconfigs", "user-serving-cert-*",
			},
		},
		trustedCAs(kas, read(repo, "CertConfigMaps", kasCommits)),
		withCloud(kcmRevisions, between(kcm, Minor{4, 12}, Minor{4, 15})),
		kcmRevisions,
		{
			Component: kcm, In: since(kcm, Minor{4, 12}), Evidence: read(kcmRepo, "CertConfigMaps, CertSecrets", kcmCommits),
			ConfigMaps: []string{"aggregator-client-ca", "client-ca"}, Secrets: []string{"kube-controller-manager-client-cert-key", "csr-signer"},
		},
		trustedCAs(kcm, read(kcmRepo, "CertConfigMaps", kcmCommits)),
		{
			Component: scheduler, Rollout: true, In: since(scheduler, Minor{4, 12}), Evidence: read(schedulerRepo, "deploymentConfigMaps, deploymentSecrets", schedulerCommits),
			ConfigMaps: []string{"serviceaccount-ca"}, Secrets: []string{"serving-cert", "localhost-recovery-client-token"},
		},
		{
			Component: scheduler, In: since(scheduler, Minor{4, 12}), Evidence: read(schedulerRepo, "CertSecrets", schedulerCommits),
			Secrets: []string{"kube-scheduler-client-cert-key"},
		},
		{
			Component: etcd, Rollout: true, In: between(etcd, Minor{4, 12}, Minor{4, 16}), Evidence: etcdPod(),
			ConfigMaps: []string{"etcd-serving-ca", "etcd-peer-client-ca", "etcd-metrics-proxy-serving-ca", "etcd-metrics-proxy-client-ca"}, Secrets: []string{"etcd-all-certs"},
		},
		{
			Component: etcd, Rollout: true, In: between(etcd, Minor{4, 17}, Minor{4, 18}), Evidence: etcdPod(),
			ConfigMaps: []string{"etcd-all-bundles"}, Secrets: []string{"etcd-all-certs"},
		},
		{
			Component: etcd, Rollout: true, Doc: fenced, In: since(etcd, Minor{4, 19}),
			Evidence:   Evidence{Verified, etcdPod().Source + "; pkg/operator/ceohelpers/podsubstitution.go (EnableEtcdContainer), pkg/tnf/pkg/pcs/etcd.go @ release-4.19 to release-4.22"},
			ConfigMaps: []string{"etcd-all-bundles"}, Secrets: []string{"etcd-all-certs"},
		},
	}
}

// staticPodInputOf returns the row about an object that holds for v; No: no static pod
// reads it.
func staticPodInputOf(of Ref, v Versions) (staticPodInput, Tristate) {
	answer := No
	for _, row := range staticPodInputs() {
		names := row.Secrets
		if of.Kind == ConfigMap {
			names = row.ConfigMaps
		}
		if of.Kind != Secret && of.Kind != ConfigMap || of.Namespace != row.namespace() || !slices.ContainsFunc(names, func(name string) bool { return glob(name, of.Name, false) }) {
			continue
		}
		switch row.In.Holds(v) {
		case Yes:
			return row, Yes
		case Unknown:
			answer = Unknown
		}
	}
	return staticPodInput{}, answer
}

// RevisionsOf is the resource whose operator copies an object for each revision of its static pods, which read the copy;
// empty: none does.
func RevisionsOf(of Ref, v Versions) (resource string) {
	row, read := staticPodInputOf(of, v)
	if read != Yes || !row.Rollout {
		return ""
	}
	return map[string]string{etcd: EtcdOperators, kas: "kubeapiservers", kcm: "kubecontrollermanagers", scheduler: "kubeschedulers"}[row.Component]
}

// namespace is where the objects are.
func (i staticPodInput) namespace() string { return "openshift-" + i.Component }

func cloudConfigPlaces() []Place {
	places, _ := cloudConfigs()
	return places
}

func cloudConfigAggregates() []Aggregate {
	_, aggregates := cloudConfigs()
	return aggregates
}

// cloudConfigs are the copies of the cloud API's CAs that static pods had, on platforms that have some.
func cloudConfigs() (places []Place, aggregates []Aggregate) {
	for _, c := range []struct {
		component, owner, repo string
		last                   Minor
	}{{kas, kasOwner, "openshift/cluster-kube-apiserver-operator ", Minor{4, 16}}, {kcm, kcmOwner, kcmRepo, Minor{4, 15}}} {
		at := Ref{Kind: ConfigMap, Namespace: "openshift-" + c.component, Name: "cloud-config", Key: "ca-bundle.pem"}
		in := Range{Component: c.component, To: c.last}
		e := Evidence{Verified, c.repo + "vendored library-go pkg/operator/configobserver/cloudprovider/observe_cloudprovider.go @ release-4.12 to release-" + c.last.String() + "; deleted by later ones"}
		places = append(places, Place{Ref: at, Role: CABundle, Owner: c.owner, Doc: "CAs with which " + c.component + " verifies the cloud API, a copy", In: in, Evidence: e})
		aggregates = append(aggregates, Aggregate{Target: at, Parts: []Ref{{Kind: ConfigMap, Namespace: managed, Name: "kube-cloud-config", Key: "ca-bundle.pem"}}, Relation: Copy, In: in, Evidence: e})
	}
	return places, aggregates
}
