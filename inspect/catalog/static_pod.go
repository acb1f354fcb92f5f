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
	Rollout    bool
	ConfigMaps []string
	Secrets    []string
	In         Range
	Evidence
}

// staticPodInputs returns every row about what static pods read. What is in none is read
// by none, but for trusted-ca-bundle, which kube-apiserver and kube-controller-manager copy
// when they start. What is read in both ways is in the rows of revisions.
func staticPodInputs() []staticPodInput {
	read := func(of, lists, commits string) Evidence {
		return Evidence{Verified, of + "pkg/operator/starter.go (" + lists + ") @ " + commits}
	}
	const repo = "openshift/cluster-kube-apiserver-operator "
	const kasCommits = "c813e820b, release-4.12 0217c88fb to release-4.23 440392249, the same in all of them"
	const kcmCommits = "4e72164b8, release-4.12 c3c07bebb to release-4.23 209d5915d, the same in all of them"
	const schedulerCommits = "56fa32546, release-4.12 a0e7f248a to release-4.23, the same in all of them"
	revisions := staticPodInput{
		Component: kas, Rollout: true, In: between(kas, Minor{4, 12}, Minor{4, 18}), Evidence: read(repo, "RevisionConfigMaps, RevisionSecrets", "release-4.12 0217c88fb to release-4.18 e9bc90906, the same in all of them"),
		ConfigMaps: []string{"etcd-serving-ca", "kube-apiserver-server-ca", "kubelet-serving-ca"},
		Secrets:    []string{"etcd-client", "localhost-recovery-serving-certkey", "localhost-recovery-client-token", "webhook-authenticator"},
	}
	// With it, where users log in by OIDC: the CAs with which kube-apiserver verifies the provider.
	oidc := revisions
	oidc.ConfigMaps, oidc.In = append(slices.Clone(revisions.ConfigMaps), "auth-config"), since(kas, Minor{4, 19})
	oidc.Evidence = read(repo, "RevisionConfigMaps, RevisionSecrets", "release-4.19 1b4840343 to release-4.23 440392249, the same in all of them")
	return []staticPodInput{
		revisions,
		oidc,
		{
			Component: kas, In: since(kas, Minor{4, 12}), Evidence: read(repo, "CertConfigMaps, CertSecrets", kasCommits),
			ConfigMaps: []string{"aggregator-client-ca", "client-ca"},
			Secrets: []string{
				"aggregator-client", "localhost-serving-cert-certkey", "service-network-serving-certkey", "external-loadbalancer-serving-certkey", "internal-loadbalancer-serving-certkey",
				"control-plane-node-admin-client-cert-key", "check-endpoints-client-cert-key", "kubelet-client", "node-kubeconfigs", "user-serving-cert-*",
			},
		},
		{
			Component: kcm, Rollout: true, In: since(kcm, Minor{4, 12}), Evidence: read(kcmRepo, "deploymentConfigMaps, deploymentSecrets", kcmCommits),
			ConfigMaps: []string{"serviceaccount-ca", "service-ca"}, Secrets: []string{"serving-cert", "localhost-recovery-client-token"},
		},
		{
			Component: kcm, In: since(kcm, Minor{4, 12}), Evidence: read(kcmRepo, "CertConfigMaps, CertSecrets", kcmCommits),
			ConfigMaps: []string{"aggregator-client-ca", "client-ca"}, Secrets: []string{"kube-controller-manager-client-cert-key", "csr-signer"},
		},
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
			Component: etcd, Rollout: true, In: since(etcd, Minor{4, 17}), Evidence: etcdPod(),
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

// namespace is where the objects are.
func (i staticPodInput) namespace() string { return "openshift-" + i.Component }
