package catalog

// cluster-monitoring-operator: client certificates by request, and gRPC
// between Prometheus and Thanos.

const (
	monitoring       = "monitoring" // ClusterOperator
	monitoringOwner  = "cluster-monitoring-operator"
	monitoringTarget = "openshift-monitoring"
	userMonitoring   = "openshift-user-workload-monitoring"
	monitoringRepo   = "openshift/cluster-monitoring-operator "
)

func monitoringPlaces() []Place {
	asks := Evidence{Verified, monitoringRepo + "pkg/operator/operator.go @ release-4.12 16c55ea0b to release-4.22 5e1f02a52"}
	tls := Evidence{Verified, monitoringRepo + "pkg/manifests/tls.go @ release-4.12 16c55ea0b, release-4.22 5e1f02a52 and f581865b4"}
	assets := Evidence{Verified, monitoringRepo + "assets @ release-4.12 16c55ea0b, release-4.22 5e1f02a52 and f581865b4"}
	all := Range{Component: monitoring}
	asked := func(name, doc string, in Range) Place {
		return Place{Ref: secret(monitoringTarget, name), Role: Client, Owner: monitoringOwner, Doc: doc, In: in, Evidence: asks,
			Lifetimes: []Lifetime{requested(monitoringOwner, since(monitoring, Minor{4, 12}))}}
	}
	grpc := []Lifetime{{Validity: 2 * year, RenewAtPercent: 80, Renewer: monitoringOwner, In: since(monitoring, Minor{4, 12}), Evidence: tls,
		Doc: "CA, server and client certificate are rotated together"}}
	hashed := func(component, key, doc string, in Range) Place {
		return Place{Ref: Ref{Kind: Secret, Namespace: monitoringTarget, Name: component + "-*", Key: key}, Role: CABundle, Owner: monitoringOwner,
			Doc: doc + ", a copy under a new name for every new content", In: in, Evidence: Evidence{Verified, monitoringRepo + "pkg/manifests/manifests.go @ release-4.12 16c55ea0b to release-4.22 5e1f02a52"}}
	}
	const clients, proxies = "the resource metrics API verifies its clients with it", "the resource metrics API verifies the front proxy with it"
	adapter, server := Range{Component: monitoring, To: Minor{4, 15}}, since(monitoring, Minor{4, 16})
	// 4.16 enables metrics-server by default, and deletes of prometheus-adapter what is no Secret.
	unused := func(key string) Place {
		return Place{Ref: Ref{Kind: Secret, Namespace: monitoringTarget, Name: "prometheus-adapter-*", Key: key}, Role: CABundle, Owner: monitoringOwner, Writer: noComponent,
			Doc: "left over from 4.15 or earlier: no component reads it", In: server,
			Evidence: Evidence{Verified, monitoringRepo + "pkg/operator/operator.go and pkg/tasks/metricsserver.go (removePrometheusAdapterResources) @ release-4.16; openshift/api features/features.go (FeatureGateMetricsServer) @ release-4.16"}}
	}
	toEtcd := func(key string, role Role, doc string, lives []Lifetime) Place {
		return Place{Ref: Ref{Kind: Secret, Namespace: monitoringTarget, Name: "kube-etcd-client-certs", Key: key}, Role: role, Owner: monitoringOwner, Doc: doc, Lifetimes: lives, In: Range{Component: monitoring, To: Minor{4, 13}},
			Evidence: Evidence{Verified, monitoringRepo + "pkg/manifests/manifests.go @ release-4.12 and 4.13; deleted by pkg/tasks/controlplane.go @ release-4.14"}}
	}
	trusted := func(namespace, component, who string, in Range) Place {
		return Place{Ref: bundle(namespace, component+"-trusted-ca-bundle-*"), Role: CABundle, Owner: monitoringOwner, Doc: "the cluster's trusted CAs for " + who + ", a copy under a new name for every new content", In: in,
			Evidence: Evidence{Verified, monitoringRepo + "pkg/manifests/manifests.go (HashTrustedCA) and pkg/tasks @ release-4.12 16c55ea0b to release-4.22 5e1f02a52"}}
	}
	return []Place{
		asked("metrics-client-certs", "with which Prometheus scrapes the cluster's components, and in 4.16 to 4.18 metrics-server the kubelets", all),
		asked("federate-client-certs", "with which the telemeter client asks Prometheus", since(monitoring, Minor{4, 14})),
		asked("metrics-server-client-certs", "with which metrics-server scrapes kubelets", since(monitoring, Minor{4, 19})),
		{Ref: Ref{Kind: ConfigMap, Namespace: monitoringTarget, Name: "metrics-client-ca", Key: "client-ca.crt"}, Role: CABundle, Owner: monitoringOwner, Doc: "metrics endpoints verify Prometheus' client certificate with it", In: all, Evidence: tls},
		{Ref: Ref{Kind: ConfigMap, Namespace: userMonitoring, Name: "metrics-client-ca", Key: "client-ca.crt"}, Role: CABundle, Owner: monitoringOwner, Doc: "metrics endpoints of user workload monitoring verify Prometheus' client certificate with it", In: all, Evidence: Evidence{Verified, monitoringRepo + "pkg/tasks/metrics_client_ca.go (reconcileUWMConfigMap) @ release-4.12 16c55ea0b, release-4.22 5e1f02a52 and f581865b4"}},
		{Ref: Ref{Kind: ConfigMap, Namespace: monitoringTarget, Name: "kubelet-serving-ca-bundle", Key: "ca-bundle.crt"}, Role: CABundle, Owner: monitoringOwner, Doc: "Prometheus verifies kubelets' serving certificates with it, and from 4.16 on metrics-server", In: all,
			Evidence: Evidence{Verified, monitoringRepo + "pkg/tasks/prometheus.go @ release-4.12 16c55ea0b, release-4.22 5e1f02a52 and f581865b4"}},
		{Ref: Ref{Kind: ConfigMap, Namespace: monitoringTarget, Name: "serving-certs-ca-bundle", Key: "service-ca.crt"}, Role: CABundle, Owner: serviceCAOwner, Doc: "Prometheus verifies Services with it, and prometheus-adapter (up to 4.15) Prometheus", In: all, Evidence: assets},
		{Ref: Ref{Kind: ConfigMap, Namespace: userMonitoring, Name: "serving-certs-ca-bundle", Key: "service-ca.crt"}, Role: CABundle, Owner: serviceCAOwner, Doc: "user workload monitoring's Prometheus verifies Services with it", In: all, Evidence: assets},
		hashed("prometheus-adapter", "client-ca-file", clients, adapter),
		hashed("prometheus-adapter", "requestheader-client-ca-file", proxies, adapter),
		unused("client-ca-file"),
		unused("requestheader-client-ca-file"),
		hashed("metrics-server", "client-ca-file", clients, server),
		hashed("metrics-server", "requestheader-client-ca-file", proxies, server),
		toEtcd("etcd-client.crt", Client, "for Prometheus, toward etcd, a copy of openshift-config/etcd-metric-client", etcdClient()[:1]),
		toEtcd("etcd-client-ca.crt", CABundle, "for Prometheus, to verify the server of etcd's metrics, a copy of openshift-config/etcd-metric-serving-ca", nil),
		trusted(monitoringTarget, "*", "one component", Range{Component: monitoring, To: Minor{4, 15}}),
		trusted(monitoringTarget, "telemeter", "telemeter-client", since(monitoring, Minor{4, 16})), // the others mount *-trusted-ca-bundle itself
		trusted(userMonitoring, "*", "one component of user workload monitoring", Range{Component: monitoring, To: Minor{4, 16}}),
		serviceCertificate(monitoringTarget, "monitoring-plugin-cert", "served by monitoring-plugin", between(monitoring, Minor{4, 14}, Minor{4, 15}),
			monitoringRepo+"assets/monitoring-plugin/deployment.yaml and pkg/manifests/manifests.go (MonitoringPluginDeployment) @ release-4.14 c58a1bda8 and release-4.15 93b9d9424").readAtStart("oc -n openshift-monitoring rollout restart deployment/monitoring-plugin"),
		serviceCertificate(monitoringTarget, "monitoring-plugin-cert", "served by monitoring-plugin, which presents a new one by itself", since(monitoring, Minor{4, 16}),
			monitoringRepo+"pkg/manifests/manifests.go (MonitoringPluginDeployment) @ release-4.16 404da202f to release-4.22 5e1f02a52; openshift/monitoring-plugin pkg/server.go @ release-4.18 2e534963 (never runs what would read it), release-4.19 a628d28e to release-4.22 ac6e2c28, pkg/server/server.go @ release-5.0 0c6a4c2d"),
		{Ref: Ref{Kind: Secret, Namespace: monitoringTarget, Name: "grpc-tls"}, Role: Peer, Owner: monitoringOwner, Doc: "CA, server and client certificate for gRPC between Prometheus' sidecars and Thanos", Lifetimes: grpc, In: all, Evidence: tls},
		{Ref: Ref{Kind: Secret, Namespace: monitoringTarget, Name: "*-grpc-tls-*"}, Role: Peer, Owner: monitoringOwner, Doc: "one component's part of grpc-tls; a new name for every new content", Lifetimes: grpc, In: all, Evidence: tls},
		{Ref: Ref{Kind: Secret, Namespace: userMonitoring, Name: "*-grpc-tls-*"}, Role: Peer, Owner: monitoringOwner, Doc: "one component's part of grpc-tls; a new name for every new content", Lifetimes: grpc, In: all, Evidence: tls},
	}
}

func monitoringAggregates() []Aggregate {
	all := Range{Component: monitoring}
	clientCA := Ref{Kind: ConfigMap, Namespace: "kube-system", Name: "extension-apiserver-authentication", Key: "client-ca-file"}
	return []Aggregate{
		{Target: Ref{Kind: ConfigMap, Namespace: monitoringTarget, Name: "metrics-client-ca", Key: "client-ca.crt"}, Parts: []Ref{clientCA}, Relation: Copy, In: all,
			Evidence: Evidence{Verified, monitoringRepo + "pkg/manifests/tls.go @ release-4.12 16c55ea0b, release-4.22 5e1f02a52 and f581865b4"}},
		{Target: Ref{Kind: ConfigMap, Namespace: monitoringTarget, Name: "kubelet-serving-ca-bundle", Key: "ca-bundle.crt"}, Parts: []Ref{bundle(managed, "kubelet-serving-ca")}, Relation: Copy, In: all,
			Evidence: Evidence{Verified, monitoringRepo + "pkg/tasks/prometheus.go @ release-4.12 16c55ea0b, release-4.22 5e1f02a52 and f581865b4"}},
	}
}
