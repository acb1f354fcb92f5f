package catalog

import "github.com/kubectl-certrot/kubectl-certrot/inspect/pki"

// proxiedByAPI is what kube-apiserver calls kubelets for. Who scrapes their metrics has a certificate,
// or a token, of its own.
const proxiedByAPI = "logs, exec and port-forward of the node, and what the API proxies to it"

// controlPlaneEdges are between the parts of the control plane, and between these and kubelets.
func controlPlaneEdges() []Edge {
	flags := Evidence{Verified, "openshift/cluster-kube-apiserver-operator bindata/assets/config/defaultconfig.yaml @ " + kasRead}
	kubeconfigs := Evidence{Verified, "openshift/cluster-kube-apiserver-operator bindata/assets/kube-apiserver/{check-endpoints,control-plane-node}-kubeconfig-cm.yaml @ release-4.12 0217c88fb to release-4.23 440392249"}
	upTo416, from417 := Range{Component: etcd, To: Minor{4, 16}}, since(etcd, Minor{4, 17})
	etcdPeers := func(id string, trust Ref, in Range) Edge {
		return Edge{
			ID: id, Part: PartControlPlane, Verifier: "etcd", Statement: "etcd's members trust each other",
			Trust: trust, Presented: secret(etcdTarget, "etcd-peer-*"), ServerName: NameAny, Reload: ReloadByRollout, Reader: pki.ReaderUnknown,
			Impact: "the quorum of etcd, and with it the API", In: in, Evidence: etcdPod(),
		}
	}
	etcdClients := func(id string, trust Ref, in Range) Edge {
		return Edge{
			ID: id, Part: PartControlPlane, Verifier: "etcd", Statement: "etcd trusts kube-apiserver's client certificate",
			Trust: trust, Presented: secret(kasTarget, "etcd-client"), ServerName: NameClient, Reload: ReloadByRollout, Reader: pki.ReaderUnknown,
			Impact: "every API call: kube-apiserver cannot use etcd", In: in, Evidence: etcdPod(),
		}
	}
	// cluster-monitoring-operator deletes the Secrets of earlier contents.
	metricsFrontProxy := func(server string, in Range) Edge {
		return Edge{
			ID: server + "-front-proxy", Part: PartControlPlane, Verifier: server, Statement: server + " trusts kube-apiserver's front proxy certificate",
			Trust: Ref{Kind: Secret, Namespace: monitoringTarget, Name: server + "-*", Key: "requestheader-client-ca-file"}, Optional: true, OnlyIfExists: bundle(monitoringTarget, "kubelet-serving-ca-bundle"),
			Presented: secret(kasTarget, "aggregator-client"), ServerName: NameClient, Reload: ReloadByDeployment, Reader: pki.ReaderGoAll, Impact: metricsAPI, In: in,
			Evidence: Evidence{Verified, monitoringRepo + "pkg/manifests/manifests.go (requestheader-client-ca-file) and pkg/tasks (deleteOldPrometheusAdapterSecrets, deleteOldMetricsServerSecrets) @ release-4.12 16c55ea0b, release-4.22 5e1f02a52"},
		}
	}
	requests := Evidence{Verified, kcmRepo + "pkg/operator/targetconfigcontroller/targetconfigcontroller.go (ManageCSRCABundle, ManageCSRIntermediateCABundle) @ " + kcmRead + "; " + flags.Source}
	// In 4.15 with TechPreviewNoUpgrade metrics-server runs instead, and the Secret of prometheus-adapter may be left over.
	adapter := metricsFrontProxy("prometheus-adapter", Range{Component: monitoring, To: Minor{4, 15}})
	adapter.OnlyWithout = secret(monitoringTarget, "metrics-server-tls")
	adapter.Evidence.Source += "; pkg/operator/operator.go, assets/metrics-server/service.yaml @ release-4.15; openshift/api featuregates (MetricsServer) @ release-4.15"
	return []Edge{
		{
			ID: "kubelet-client-ca", Part: PartControlPlane, Verifier: "kubelet, for client certificates", Statement: "kubelets trust kube-apiserver's client certificate",
			Trust: file("/etc/kubernetes/kubelet-ca.crt"), Presented: secret(kasTarget, "kubelet-client"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: proxiedByAPI,
			In:     Range{Component: mco}, Evidence: Evidence{Verified, mcoRepo + "templates/{master,worker}/01-*-kubelet/_base/files/kubelet.yaml (clientCAFile) @ release-4.12 to 4.22"},
		},
		{
			ID: "apiserver-kubelet-serving", Part: PartControlPlane, Verifier: "kube-apiserver", Statement: "kube-apiserver trusts what kubelets serve",
			Trust: bundle(kasTarget, "kubelet-serving-ca"), Presented: file("/var/lib/kubelet/pki/kubelet-server-current.pem"), ServerName: NameAny, Reload: ReloadByRollout, Reader: pki.ReaderGo,
			Impact: "logs, exec and port-forward of the node",
			In:     Range{Component: kas}, Evidence: flags,
		},
		{
			ID: "apiserver-etcd", Part: PartControlPlane, Verifier: "kube-apiserver", Statement: "kube-apiserver trusts what etcd serves",
			Trust: bundle(kasTarget, "etcd-serving-ca"), Presented: secret("openshift-etcd", "etcd-serving-*"), ServerName: NameAny, Reload: ReloadByRollout, Reader: pki.ReaderUnknown,
			Impact: "every API call: kube-apiserver cannot use etcd",
			In:     Range{Component: kas}, Evidence: flags,
		},
		etcdPeers("etcd-peers-client-ca", bundle(etcdTarget, "etcd-peer-client-ca"), upTo416),
		etcdPeers("etcd-peers", etcdServerCA(), from417),
		{
			ID: "extension-front-proxy", Part: PartControlPlane, Verifier: "extension API servers", Statement: "extension API servers trust kube-apiserver's front proxy certificate",
			Trust: publishedRequestHeaderCA(), Presented: secret(kasTarget, "aggregator-client"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "aggregated APIs of extensions, such as OLM's package server",
			In:     Range{Component: kas}, Evidence: Evidence{Field, "kubernetes/kubernetes pkg/controlplane/controller/clusterauthenticationtrust/cluster_authentication_trust_controller.go"},
		},
		adapter,
		metricsFrontProxy("metrics-server", since(monitoring, Minor{4, 16})),
		etcdClients("etcd-apiserver-serving-ca", bundle(etcdTarget, "etcd-serving-ca"), upTo416),
		etcdClients("etcd-apiserver", etcdServerCA(), from417),
		{
			ID: "aggregated-front-proxy", Part: PartControlPlane, Verifier: "aggregated API servers", Statement: "aggregated API servers trust kube-apiserver's front proxy certificate",
			// They are given no file: they read what kube-apiserver publishes.
			Trust: publishedRequestHeaderCA(), Presented: secret(kasTarget, "aggregator-client"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "OpenShift's own APIs: routes, projects, images, log in",
			In:     Range{Component: kas}, Evidence: Evidence{Verified, "openshift/cluster-openshift-apiserver-operator bindata/v3.11.0/config/defaultconfig.yaml and openshift-apiserver/deploy.yaml @ release-4.12 to 4.22; " +
				"kubernetes/apiserver pkg/server/options/authentication.go (createRequestHeaderConfig)"},
		},
		{
			ID: "apiserver-controller-manager", Part: PartControlPlane, Verifier: "kube-apiserver", Statement: "kube-apiserver trusts kube-controller-manager's client certificate",
			Trust: bundle(kasTarget, "client-ca"), Presented: secret(managed, "kube-controller-manager-client-cert-key"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "controllers: the API refuses kube-controller-manager", In: Range{Component: kas}, Evidence: flags,
		},
		{
			ID: "apiserver-scheduler", Part: PartControlPlane, Verifier: "kube-apiserver", Statement: "kube-apiserver trusts kube-scheduler's client certificate",
			Trust: bundle(kasTarget, "client-ca"), Presented: secret(managed, "kube-scheduler-client-cert-key"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "new pods are not placed", In: Range{Component: kas}, Evidence: flags,
		},
		{
			ID: "apiserver-check-endpoints", Part: PartControlPlane, Verifier: "kube-apiserver", Statement: "kube-apiserver trusts the client certificate of the endpoint checks beside it",
			Trust: bundle(kasTarget, "client-ca"), Presented: secret(kasTarget, "check-endpoints-client-cert-key"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "the checks of connections from control plane nodes to etcd, openshift-apiserver and the load balancers (podnetworkconnectivitychecks)", In: Range{Component: kas}, Evidence: Evidence{Verified, kubeconfigs.Source + "; pkg/operator/connectivitycheckcontroller/connectivity_check_controller.go @ release-4.22 9c413cd4d"},
		},
		{
			ID: "apiserver-control-plane-node", Part: PartControlPlane, Verifier: "kube-apiserver", Statement: "kube-apiserver trusts the administrative client certificate of control plane nodes",
			Trust: bundle(kasTarget, "client-ca"), Presented: secret(kasTarget, "control-plane-node-admin-client-cert-key"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "whatever on control plane nodes uses the kubeconfig in the ConfigMap control-plane-node-kubeconfig", In: Range{Component: kas}, Evidence: kubeconfigs,
		},
		// What the signer of kubelets' certificates is trusted by, before and after it signs one.
		{
			ID: "apiserver-csr-signer", Part: PartControlPlane, Verifier: "kube-apiserver, of client certificates made by request", Statement: "kube-apiserver trusts client certificates that the signer of requests signs",
			Trust: bundle(kasTarget, "client-ca"), Presented: secret(kcmOperator, "csr-signer"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "nodes, one after the other: a kubelet may do nothing once its certificate is renewed", In: Range{Component: kas}, Evidence: requests,
		},
		{
			ID: "apiserver-csr-signer-serving", Part: PartControlPlane, Verifier: "kube-apiserver, of serving certificates made by request", Statement: "kube-apiserver trusts kubelets whose certificate the signer of requests signs",
			Trust: bundle(kasTarget, "kubelet-serving-ca"), Presented: secret(kcmOperator, "csr-signer"), ServerName: NameAny, Reload: ReloadByRollout, Reader: pki.ReaderGo,
			Impact: "logs, exec and port-forward of nodes, one after the other: once a kubelet's certificate is renewed", In: Range{Component: kas}, Evidence: requests,
		},
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
			ID: id, Part: PartControlPlane, Verifier: "the cert-syncer and the recovery controller of " + of, Statement: "the cert-syncer of " + of + " trusts localhost-recovery's serving certificate",
			Trust: trust, Presented: recovery, ServerName: "localhost-recovery", Reload: ReloadByRollout, Reader: pki.ReaderGo,
			Impact: "new certificates for " + of + ": those on control plane nodes are not replaced, and expire", In: Range{Component: component}, Evidence: src,
		}
	}
	const path = "bindata/assets/"
	return []Edge{
		syncer("apiserver-syncer-localhost", kas, "kube-apiserver", bundle(kasTarget, "kube-apiserver-server-ca"),
			Evidence{Verified, "openshift/cluster-kube-apiserver-operator " + path + "kube-apiserver/kubeconfig-cm.yaml @ " + kasRead}),
		syncer("controller-manager-syncer-localhost", kcm, "kube-controller-manager", token(kcmTarget),
			Evidence{Verified, kcmRepo + path + "kube-controller-manager/kubeconfig-cert-syncer.yaml @ " + kcmRead}),
		syncer("scheduler-syncer-localhost", scheduler, "kube-scheduler", token(schedulerTarget),
			Evidence{Verified, schedulerRepo + path + "kube-scheduler/kubeconfig-cert-syncer.yaml @ " + schedulerRead}),
	}
}

// serviceCallEdges are of kube-apiserver to Services, with a CA bundle beside each name.
func serviceCallEdges() []Edge {
	src := Evidence{Verified, "kubernetes/apiserver pkg/util/webhook/client.go (a client for each CA bundle) @ release-1.35 9633d5870; kubernetes/kube-aggregator pkg/apiserver/handler_proxy.go (updateAPIService) @ release-1.35 7b0e2390"}
	edge := func(id, kind, what, impact string) Edge {
		return Edge{
			ID: id, Part: PartControlPlane, Verifier: "kube-apiserver", Statement: "kube-apiserver trusts the " + what + " that it calls",
			Trust: Ref{Kind: kind, Name: "*"}, Presented: Ref{Kind: Secret, Key: "tls.crt"}, Verify: VerifyServiceCertificate, Reload: ReloadEachTime, Reader: pki.ReaderGo,
			Remediation: "have the owner of the CA bundle put the CA there that signs the Service's certificate",
			Impact:      impact, Evidence: src,
		}
	}
	return []Edge{
		edge("apiserver-validating-webhooks", "ValidatingWebhookConfiguration", "validating webhooks", "API writes that match it are rejected unless failurePolicy is Ignore"),
		edge("apiserver-mutating-webhooks", "MutatingWebhookConfiguration", "mutating webhooks", "API writes that match it are rejected unless failurePolicy is Ignore"),
		edge("apiserver-aggregated-apis", "APIService", "API servers", "that API"),
		edge("apiserver-conversion-webhooks", "CustomResourceDefinition", "conversion webhooks", "reading and writing of that kind in its other versions"),
	}
}

// openShiftAPIEdges are of the servers of OpenShift's own APIs.
func openShiftAPIEdges() []Edge {
	return []Edge{
		{
			ID: "openshift-apiserver-etcd", Part: PartControlPlane, Verifier: "openshift-apiserver", Statement: "openshift-apiserver trusts what etcd serves",
			Trust: bundle("openshift-apiserver", "etcd-serving-ca"), Presented: secret(etcdTarget, "etcd-serving-*"), ServerName: NameAny, Reload: ReloadByDeployment, Reader: pki.ReaderUnknown,
			Impact: "OpenShift's own APIs: routes, projects, images", In: Range{Component: openShiftAPI},
			Evidence: Evidence{Verified, openShiftAPIRepo + "pkg/operator/resourcesynccontroller and pkg/operator/workload/workload_openshiftapiserver_v311_00_sync.go (inputHashes) @ release-4.12 a1d5d0d79, release-4.22 8417fa983 and 8206430b0"},
		},
	}
}

// publishedRequestHeaderCA is what kube-apiserver publishes of the CAs by which it verifies
// front proxies.
func publishedRequestHeaderCA() Ref {
	return Ref{Kind: ConfigMap, Namespace: "kube-system", Name: "extension-apiserver-authentication", Key: "requestheader-client-ca-file"}
}
