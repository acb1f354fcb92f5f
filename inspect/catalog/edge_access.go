package catalog

import "github.com/kubectl-certrot/kubectl-certrot/inspect/pki"

// accessEdges are of administrators: the emergency kubeconfigs on masters, and how
// users log in.
func accessEdges() []Edge {
	nodeKubeconfigs := Evidence{Verified, "openshift/cluster-kube-apiserver-operator bindata/assets/kube-apiserver/node-kubeconfigs.yaml and pkg/operator/nodekubeconfigcontroller/nodekubeconfigcontroller.go @ " + kasRead}
	kubeconfig := func(name, claim string, presented Ref, server ServerName) Edge {
		return Edge{
			ID: "node-kubeconfig-" + name, Part: PartAccess, Verifier: "an administrator on a control plane node", Statement: claim,
			Trust: Ref{Kind: Secret, Namespace: kasTarget, Name: "node-kubeconfigs", Key: name + ".kubeconfig"}, Presented: presented, ServerName: server, Reload: ReloadEachTime, Reader: pki.ReaderGo,
			Impact: name + ".kubeconfig in /etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/node-kubeconfigs of each control plane node: a way in during an outage",
			In:     Range{Component: kas}, Evidence: nodeKubeconfigs,
		}
	}
	return []Edge{
		kubeconfig("localhost", "the emergency kubeconfig for localhost trusts localhost's serving certificate", secret(kasTarget, "localhost-serving-cert-certkey"), "localhost"),
		kubeconfig("localhost-recovery", "the emergency kubeconfig for recovery trusts localhost-recovery's serving certificate", secret(kasTarget, "localhost-recovery-serving-certkey"), "localhost-recovery"),
		kubeconfig("lb-int", "the emergency kubeconfig for api-int trusts api-int's serving certificate", InternalLoadBalancerServing(), NameInternal),
		{
			ID: "apiserver-node-admin", Part: PartAccess, Verifier: "kube-apiserver", Statement: "kube-apiserver trusts the client certificate in the emergency kubeconfigs",
			Trust: bundle(kasTarget, "client-ca"), Presented: secret(kasOperator, "node-system-admin-client"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "the emergency kubeconfigs on control plane nodes: localhost, localhost-recovery, lb-int, lb-ext", In: Range{Component: kas}, Evidence: nodeKubeconfigs,
		},
		{
			ID: "apiserver-token-review", Part: PartAccess, Verifier: "kube-apiserver", Statement: "kube-apiserver trusts the OAuth API server that checks tokens",
			// There is none where users log in elsewhere (Authentication's type OIDC). kube-apiserver's copy may be
			// the kubeconfig of another server (type None with spec.webhookTokenAuthenticator).
			Trust: Ref{Kind: Secret, Namespace: userConfig, Name: "webhook-authentication-integrated-oauth", Key: "kubeConfig"}, Optional: true,
			Presented: secret("openshift-oauth-apiserver", "serving-cert"), ServerName: "api.openshift-oauth-apiserver.svc", Reload: ReloadByRollout, Reader: pki.ReaderGo,
			Impact: "log in by token: users and consoles get 401", In: Range{Component: authentication},
			Evidence: Evidence{Verified, "openshift/cluster-kube-apiserver-operator pkg/operator/configobservation/auth/webhook_authenticator.go @ " + kasRead + "; " + authRepo + "bindata/oauth-apiserver/authenticator-kubeconfig.yaml @ release-4.12 4f7f6b1af and 4.22 5a44cc2a8; openshift/origin tls/ownership/ownership.md @ 01860260f"},
		},
		{
			ID: "console-oauth", Part: PartAccess, Verifier: "the console", Statement: "the console trusts the OAuth server's serving certificate",
			// The console is a part that a cluster may be without.
			Trust: bundle("openshift-console", "oauth-serving-cert"), Optional: true, Presented: Ref{Kind: Secret, Namespace: "openshift-authentication", Name: "v4-0-config-system-router-certs"},
			CustomPresented: secret("openshift-authentication", "v4-0-config-system-custom-router-certs"), ServerName: NameAny, Reload: ReloadByDeployment, Reader: pki.ReaderUnknown,
			Impact: "log in to the console", In: since(console, Minor{4, 12}),
			Evidence: Evidence{Verified, authRepo + "pkg/controllers/trustdistribution/trustdistribution_controller.go @ release-4.12 4f7f6b1af, release-4.22 5a44cc2a8 and f3df4f5b2; " + consoleRepo + "pkg/console/starter/starter.go and pkg/console/subresource/deployment/deployment.go (withConsoleAnnotations) @ release-4.12 a67babae3, release-4.22 68028ec98 and 684157180"},
		},
	}
}

// oauthAPIEdges are of the API server by which users log in.
func oauthAPIEdges() []Edge {
	return []Edge{
		{
			// There is none where users log in elsewhere (Authentication's type OIDC).
			ID: "oauth-apiserver-etcd", Part: PartAccess, Verifier: "the OAuth API server", Statement: "the OAuth API server trusts what etcd serves",
			Trust: bundle("openshift-oauth-apiserver", "etcd-serving-ca"), Optional: true, Presented: secret(etcdTarget, "etcd-serving-*"), ServerName: NameAny, Reload: ReloadByDeployment, Reader: pki.ReaderUnknown,
			Impact: "log in by token: users and consoles get 401", In: Range{Component: authentication},
			Evidence: Evidence{Verified, authRepo + "pkg/operator/starter.go and pkg/operator/workload/sync_openshift_oauth_apiserver.go (inputHashes) @ release-4.12 4f7f6b1af, release-4.22 5a44cc2a8 and f3df4f5b2"},
		},
	}
}
