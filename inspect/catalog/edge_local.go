package catalog

import "github.com/kubectl-certrot/kubectl-certrot/inspect/pki"

// Edges on the machines themselves: of what balances the API where no balancer does,
// and of what calls the API server of its own master.

// onPremEdges are of the static pods by which a cluster keeps the addresses of its
// API itself: they read both kubeconfigs of the kubelet.
func onPremEdges() []Edge {
	platforms := []string{"BareMetal", "Nutanix", "OpenStack", "oVirt", "VSphere"}
	src := Evidence{Verified, mcoRepo + "templates/common/on-prem/files/{keepalived,coredns}.yaml @ 06dc741cf and 0420e186e, templates/master/00-master/on-prem/files/haproxy.yaml @ 026c28b1d"}
	edge := func(id, path, verifier, claim, impact string, reads ReloadPolicy) Edge {
		return Edge{
			ID: id, Part: PartAPIInt, Verifier: verifier, Claim: claim,
			Trust: file(path), Optional: true, Platforms: platforms, Presented: InternalLoadBalancerServing(), ServerName: NameInKubeconfig, Reload: reads, Reader: pki.ReaderGo,
			Remediation: "{} fix-api-int --nodes NODE", Ahead: "{} pretrust --nodes NODE", Impact: impact, In: Range{Component: mco}, Evidence: src,
		}
	}
	return []Edge{
		edge("balancers-api-int", "/var/lib/kubelet/kubeconfig", "the monitors of keepalived, HAProxy and CoreDNS",
			"the monitors of keepalived, HAProxy and CoreDNS trust api-int's serving certificate",
			"the node's place behind the addresses of the API and of routes: they stay where they are, whichever node fails", ReloadAtStart),
		edge("balancers-start-api-int", "/etc/kubernetes/kubeconfig", "the init containers of keepalived, HAProxy and CoreDNS, and CoreDNS' monitor",
			"keepalived, HAProxy and CoreDNS, once restarted, trust api-int's serving certificate",
			"keepalived, HAProxy and CoreDNS on the node, once it is restarted: the names and addresses of the API are not there", ReloadAtStart),
	}
}

// localhostEdges are of what calls the API server on its own master, past every
// balancer, by the name of the recovery certificate.
func localhostEdges() []Edge {
	recovery := secret(kasTarget, "localhost-recovery-serving-certkey")
	token := func(namespace string) Ref {
		return Ref{Kind: Secret, Namespace: namespace, Name: "localhost-recovery-client-token", Key: "ca.crt"}
	}
	syncer := func(id, component, of string, trust Ref, src Evidence) Edge {
		return Edge{
			ID: id, Part: PartControlPlane, Verifier: "the cert-syncer and the recovery controller of " + of, Claim: "the cert-syncer of " + of + " trusts localhost-recovery's serving certificate",
			Trust: trust, Presented: recovery, ServerName: "localhost-recovery", Reload: ReloadByRollout, Reader: pki.ReaderGo,
			Impact: "new certificates for " + of + ": those on control plane nodes are not replaced, and expire", In: Range{Component: component}, Evidence: src,
		}
	}
	const path = "bindata/assets/"
	return []Edge{
		syncer("apiserver-syncer-localhost", kas, "kube-apiserver", bundle(kasTarget, "kube-apiserver-server-ca"),
			Evidence{Verified, "openshift/cluster-kube-apiserver-operator " + path + "kube-apiserver/kubeconfig-cm.yaml @ 005a95607"}),
		syncer("controller-manager-syncer-localhost", kcm, "kube-controller-manager", token(kcmTarget),
			Evidence{Verified, kcmRepo + path + "kube-controller-manager/kubeconfig-cert-syncer.yaml @ 2e19b8a7d"}),
		syncer("scheduler-syncer-localhost", scheduler, "kube-scheduler", token(schedulerTarget),
			Evidence{Verified, schedulerRepo + path + "kube-scheduler/kubeconfig-cert-syncer.yaml @ a221090d4"}),
	}
}

// accessEdges are of administrators: the kubeconfigs that lie on masters, and how
// users log in.
func accessEdges() []Edge {
	nodeKubeconfigs := Evidence{Verified, "openshift/cluster-kube-apiserver-operator bindata/assets/kube-apiserver/node-kubeconfigs.yaml @ 005a95607 and pkg/operator/nodekubeconfigcontroller/nodekubeconfigcontroller.go @ c813e820b"}
	kubeconfig := func(name, claim string, presented Ref, server ServerName) Edge {
		return Edge{
			ID: "node-kubeconfig-" + name, Part: PartAccess, Verifier: "an administrator on a master", Claim: claim,
			Trust: Ref{Kind: Secret, Namespace: kasTarget, Name: "node-kubeconfigs", Key: name + ".kubeconfig"}, Presented: presented, ServerName: server, Reload: ReloadEachTime, Reader: pki.ReaderGo,
			Impact: name + ".kubeconfig in /etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/node-kubeconfigs of each master: a way in during an outage",
			In:     Range{Component: kas}, Evidence: nodeKubeconfigs,
		}
	}
	return []Edge{
		kubeconfig("localhost", "the emergency kubeconfig for localhost trusts localhost's serving certificate", secret(kasTarget, "localhost-serving-cert-certkey"), "localhost"),
		kubeconfig("localhost-recovery", "the emergency kubeconfig for recovery trusts localhost-recovery's serving certificate", secret(kasTarget, "localhost-recovery-serving-certkey"), "localhost-recovery"),
		kubeconfig("lb-int", "the emergency kubeconfig for api-int trusts api-int's serving certificate", InternalLoadBalancerServing(), NameInternal),
		{
			ID: "apiserver-node-admin", Part: PartAccess, Verifier: "kube-apiserver", Claim: "kube-apiserver trusts the client certificate in the emergency kubeconfigs",
			Trust: bundle(kasTarget, "client-ca"), Presented: secret(kasOperator, "node-system-admin-client"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "all of the kubeconfigs that lie on masters", In: Range{Component: kas}, Evidence: nodeKubeconfigs,
		},
		{
			ID: "apiserver-token-review", Part: PartAccess, Verifier: "kube-apiserver", Claim: "kube-apiserver trusts the OAuth API server that checks tokens",
			// There is none where users log in elsewhere (Authentication's type OIDC).
			Trust: Ref{Kind: Secret, Namespace: kasTarget, Name: "webhook-authenticator", Key: "kubeConfig"}, Optional: true,
			Presented: secret("openshift-oauth-apiserver", "serving-cert"), ServerName: "api.openshift-oauth-apiserver.svc", Reload: ReloadByRollout, Reader: pki.ReaderGo,
			Impact: "log in by token: users and consoles get 401", In: Range{Component: authentication},
			Evidence: Evidence{Verified, "openshift/cluster-kube-apiserver-operator pkg/operator/configobservation/auth/webhook_authenticator.go @ c813e820b; openshift/origin tls/ownership/ownership.md @ 01860260f"},
		},
		{
			ID: "console-oauth", Part: PartAccess, Verifier: "the console", Claim: "the console trusts the OAuth server's serving certificate",
			// The console is a part that a cluster may be without.
			Trust: bundle("openshift-console", "oauth-serving-cert"), Optional: true, Presented: Ref{Kind: Secret, Namespace: "openshift-authentication", Name: "v4-0-config-system-router-certs"},
			CustomPresented: secret("openshift-authentication", "v4-0-config-system-custom-router-certs"), ServerName: NameAny, Reload: ReloadByRollout, Reader: pki.ReaderUnknown,
			Impact: "log in to the console", In: since(console, Minor{4, 12}),
			Evidence: Evidence{Verified, authRepo + "pkg/controllers/trustdistribution/trustdistribution_controller.go @ f3df4f5b2; " + consoleRepo + "pkg/console/starter/starter.go @ 684157180"},
		},
	}
}
