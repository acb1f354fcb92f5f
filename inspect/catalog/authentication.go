package catalog

// The OAuth server and the API servers beside kube-apiserver: mostly copies.

const (
	authentication = "authentication" // ClusterOperator
	authOwner      = "authentication-operator"
	authRepo       = "openshift/cluster-authentication-operator "

	openShiftAPI      = "openshift-apiserver" // ClusterOperator
	openShiftAPIOwner = "openshift-apiserver-operator"
	openShiftAPIRepo  = "openshift/cluster-openshift-apiserver-operator "

	openShiftKCM      = "openshift-controller-manager" // ClusterOperator
	openShiftKCMOwner = "openshift-controller-manager-operator"
	openShiftKCMRepo  = "openshift/cluster-openshift-controller-manager-operator "

	console      = "console" // ClusterOperator
	consoleOwner = "console-operator"
	consoleRepo  = "openshift/console-operator "
)

// requested is the lifetime of a client certificate that an operator requests
// by CertificateSigningRequest and renews when 20 to 25 % of its validity are
// left.
func requested(renewer string, in Range) Lifetime {
	return Lifetime{Validity: 30 * day, RenewFromPercent: 75, RenewAtPercent: 80, Renewer: renewer, In: in,
		Doc:      "by request, so never beyond the end of csr-signer",
		Evidence: Evidence{Verified, "openshift/library-go pkg/operator/csr/cert_controller.go (jitter) @ 93ac9206a, and as " + renewer + " has it @ release-4.12 and release-4.22"}}
}

// authenticator is the lifetime of the certificate with which kube-apiserver
// asks about tokens.
func authenticator() []Lifetime {
	return []Lifetime{requested(authOwner, since(authentication, Minor{4, 12}))}
}

func authenticationPlaces() []Place {
	starter := Evidence{Verified, authRepo + "pkg/operator/starter.go @ release-4.12 4f7f6b1af, release-4.22 5a44cc2a8 and f3df4f5b2"}
	providers := Evidence{Verified, authRepo + "pkg/controllers/configobservation/oauth/idp_conversions.go and pkg/operator/datasync/syncdata.go @ release-4.12 4f7f6b1af and release-4.22 5a44cc2a8"}
	all := Range{Component: authentication}
	return []Place{
		{Ref: bundle("openshift-authentication", "v4-0-config-system-auth-proxy-ca"), Role: CABundle, Owner: "user", Writer: authOwner, Doc: "preview: CAs for what the OAuth server calls through a proxy of its own, a copy from openshift-config", In: since(authentication, Minor{4, 23}),
			Evidence: Evidence{Derived, authRepo + "pkg/controllers/deployment/deployment_controller.go (syncComponentProxyCA) @ release-4.23 and release-5.0 f3df4f5b2, not in release-4.22 5a44cc2a8; openshift/api operator/v1/types_authentication.go @ e543cc508"}},
		vaultCA(Ref{Kind: Secret, Namespace: "openshift-oauth-apiserver", Name: "encryption-config*"}, "the OAuth API server", authOwner, authentication, authRepo+"pkg/operator/workload/sync_openshift_oauth_apiserver.go @ release-4.23 and release-5.0 f3df4f5b2"),
		{Ref: secret("openshift-oauth-apiserver", "openshift-authenticator-certs"), Role: Client, Owner: authOwner, Doc: "with which kube-apiserver asks the OAuth API server about tokens", In: all, Evidence: starter,
			Lifetimes: authenticator()},
		{Ref: secret("openshift-oauth-apiserver", "etcd-client"), Role: Client, Owner: authOwner, Doc: "the OAuth API server's client certificate for etcd, a copy", Lifetimes: etcdClient(), In: all, Evidence: starter},
		{Ref: bundle("openshift-oauth-apiserver", "etcd-serving-ca"), Role: CABundle, Owner: authOwner, Doc: "the OAuth API server verifies etcd's serving certificates with it", In: all, Evidence: starter},
		{Ref: bundle(managed, "oauth-serving-cert"), Role: CABundle, Owner: authOwner, Doc: "the chain that the OAuth server's route serves, for clients to trust", In: all,
			Evidence: Evidence{Verified, authRepo + "pkg/controllers/trustdistribution/trustdistribution_controller.go @ release-4.12 4f7f6b1af, release-4.22 5a44cc2a8 and f3df4f5b2"}},
		{Ref: Ref{Kind: Secret, Namespace: "openshift-authentication", Name: "v4-0-config-system-router-certs"}, Role: Serving, Owner: authOwner, Doc: "the ingress domain's default certificate, served by the OAuth server where it has none of its own; with OIDC, from 4.20 on, unused", In: all,
			Evidence: Evidence{Verified, authRepo + "pkg/controllers/routercerts/controller.go (SyncPartialSecret) and pkg/controllers/configobservation/routersecret/observe_router_secret.go @ release-4.12 4f7f6b1af, release-4.22 5a44cc2a8 and f3df4f5b2"}},
		{Ref: secret("openshift-authentication", "v4-0-config-system-custom-router-certs"), Role: Serving, Owner: "user", Writer: authOwner, Doc: "an administrator's certificate for the OAuth server's own host name (Ingress spec.componentRoutes), a copy", In: all,
			Evidence: Evidence{Verified, authRepo + "pkg/controllers/deployment/deployment_controller.go, pkg/controllers/customroute and pkg/operator/starter.go @ release-4.12 4f7f6b1af and release-4.22 5a44cc2a8"}},
		{Ref: Ref{Kind: ConfigMap, Namespace: "openshift-authentication", Name: "v4-0-config-user-idp-*-ca", Key: "ca.crt"}, Role: CABundle, Owner: "user", Writer: authOwner,
			Doc: "CAs with which the OAuth server verifies an identity provider or its proxy (RequestHeader): a copy from openshift-config", In: all, Evidence: providers},
		{Ref: secret("openshift-authentication", "v4-0-config-user-idp-*-tls-client-cert"), Role: Client, Owner: "user", Writer: authOwner,
			Doc: "the OAuth server's client certificate for an identity provider (BasicAuth, Keystone): a copy from openshift-config", In: all, Evidence: providers},
		// The copy for an OIDC issuer has the name that the administrator chose: a row for it would be one for any ConfigMap there.
		{Ref: bundle("openshift-console", "oauth-serving-cert"), Role: CABundle, Owner: consoleOwner, Doc: "the console verifies the OAuth server's certificate with it; with OIDC, from 4.15 on, it verifies the issuer with another ConfigMap", In: Range{Component: console},
			Evidence: Evidence{Verified, consoleRepo + "pkg/console/starter/starter.go and pkg/console/controllers/oidcsetup/oidcsetup.go @ release-4.12 a67babae3, release-4.22 68028ec98 and 684157180"}},
		consoleReadsAtStart(),
		serviceCertificate("openshift-console", "console-serving-cert", "served by the console, which reads it for each connection", since(console, Minor{4, 20}),
			"openshift/console cmd/bridge/main.go (GetCertificate) @ release-4.20 43d45bcec to release-4.22 6fd62e531"),
		{Ref: bundle("openshift-console", "default-ingress-cert"), Role: CABundle, Owner: consoleOwner, Doc: "console-operator verifies the certificate of the console's Route with it; the console itself does not read it", In: Range{Component: console},
			Evidence: Evidence{Verified, consoleRepo + "pkg/console/starter/starter.go and pkg/console/controllers/healthcheck/controller.go @ release-4.12 a67babae3, release-4.22 68028ec98 and 684157180"}},
	}
}

// consoleReadsAtStart is what the console serves and reads at its start. The resourceVersion of ConfigMap
// service-ca is in its pod template: a new CA restarts it, a new serving certificate alone does not. A rollout
// restart is no way: the operator puts the Deployment back (pkg/console/operator/sync_v400.go, ApplyDeployment).
func consoleReadsAtStart() Place {
	p := serviceCertificate("openshift-console", "console-serving-cert", "served by the console", Range{Component: console, To: Minor{4, 19}},
		"openshift/console cmd/bridge/main.go (ListenAndServeTLS) @ release-4.12 5f9500e5d to release-4.19 8b2e9c98f; "+consoleRepo+"pkg/console/subresource/deployment/deployment.go (serviceCAConfigMapResourceVersionAnnotation) @ release-4.12 a67babae3 to release-4.19").readAtStart("oc -n openshift-console delete pod -l app=console,component=ui")
	p.Doc += "; a new CA restarts it, maybe early"
	return p
}

func openShiftAPIPlaces() []Place {
	sync := Evidence{Verified, openShiftAPIRepo + "pkg/operator/resourcesynccontroller @ release-4.12 a1d5d0d79, release-4.22 8417fa983 and 8206430b0"}
	clientCA := func(namespace, doc string, in Range) Place {
		return Place{Ref: bundle(namespace, "client-ca"), Role: CABundle, Owner: openShiftKCMOwner, Doc: doc, In: in,
			Evidence: Evidence{Verified, openShiftKCMRepo + "pkg/operator/sync_openshiftcontrollermanager_v311_00.go @ release-4.12 ab963d8ad and release-4.22 e1c367419; openshift/openshift-controller-manager pkg/cmd/controller/standalone_apiserver.go (getClientCertCAPool) @ release-4.19 5b3063ff1 and pkg/cmd/openshift-controller-manager/cmd.go @ release-4.20 d9e543dd3; openshift/route-controller-manager pkg/cmd/controller/route/standalone_apiserver.go @ release-4.13 6667a6cb and pkg/cmd/route-controller-manager/cmd.go @ release-4.14 1a5e72f4"}}
	}
	unread := func(component string) string {
		return "mounted in " + component + ", which does not read it; a change still rolls it out"
	}
	return []Place{
		vaultCA(Ref{Kind: Secret, Namespace: "openshift-apiserver", Name: "encryption-config*"}, "openshift-apiserver", openShiftAPIOwner, openShiftAPI, openShiftAPIRepo+"pkg/operator/workload/workload_openshiftapiserver_v311_00_sync.go @ release-4.23 and release-5.0 28420873a"),
		{Ref: secret("openshift-apiserver", "etcd-client"), Role: Client, Owner: openShiftAPIOwner, Doc: "openshift-apiserver's client certificate for etcd, a copy", Lifetimes: etcdClient(), In: Range{Component: openShiftAPI}, Evidence: sync},
		{Ref: bundle("openshift-apiserver", "etcd-serving-ca"), Role: CABundle, Owner: openShiftAPIOwner, Doc: "openshift-apiserver verifies etcd's serving certificates with it", In: Range{Component: openShiftAPI}, Evidence: sync},
		{Ref: Ref{Kind: ConfigMap, Namespace: "openshift-apiserver", Name: "image-import-ca"}, Role: CABundle, Owner: openShiftAPIOwner, Doc: "openshift-apiserver verifies registries with it when it imports images; the keys are registries, with '..' for ':'", In: Range{Component: openShiftAPI},
			Evidence: Evidence{Verified, openShiftAPIRepo + "pkg/operator/workload/workload_openshiftapiserver_v311_00_sync.go @ release-4.12 a1d5d0d79, release-4.22 8417fa983 and 8206430b0"}},
		clientCA("openshift-controller-manager", "openshift-controller-manager verifies its clients' certificates with it", Range{Component: openShiftKCM, To: Minor{4, 19}}),
		clientCA("openshift-controller-manager", unread("openshift-controller-manager"), since(openShiftKCM, Minor{4, 20})),
		clientCA("openshift-route-controller-manager", "route-controller-manager verifies its clients' certificates with it", Range{Component: openShiftKCM, To: Minor{4, 13}}),
		clientCA("openshift-route-controller-manager", unread("route-controller-manager"), since(openShiftKCM, Minor{4, 14})),
		{Ref: bundle("openshift-controller-manager", "openshift-user-ca"), Role: CABundle, Owner: "user", Writer: openShiftKCMOwner, Doc: "the ConfigMap that Proxy spec.trustedCA names, copied for builds' pods", In: Range{Component: openShiftKCM},
			Evidence: Evidence{Verified, openShiftKCMRepo + "pkg/operator/usercaobservation/user_ca_observation_controller.go @ release-4.12 ab963d8ad and release-4.22 e1c367419"}},
	}
}

func openShiftAPIAggregates() []Aggregate {
	row := func(target, source Ref, component, src string) Aggregate {
		return Aggregate{Target: target, Parts: []Ref{source}, Relation: Copy, In: Range{Component: component}, Evidence: Evidence{Verified, src}}
	}
	const sync = openShiftKCMRepo + "pkg/operator/sync_openshiftcontrollermanager_v311_00.go @ release-4.12 ab963d8ad and release-4.22 e1c367419"
	return []Aggregate{
		row(secret("openshift-oauth-apiserver", "etcd-client"), secret(userConfig, "etcd-client"), authentication, authRepo+"pkg/operator/starter.go @ release-4.12 4f7f6b1af, release-4.22 5a44cc2a8 and f3df4f5b2"),
		row(bundle("openshift-oauth-apiserver", "etcd-serving-ca"), bundle(userConfig, "etcd-serving-ca"), authentication, authRepo+"pkg/operator/starter.go @ release-4.12 4f7f6b1af, release-4.22 5a44cc2a8 and f3df4f5b2"),
		row(secret("openshift-apiserver", "etcd-client"), secret(userConfig, "etcd-client"), openShiftAPI, openShiftAPIRepo+"pkg/operator/resourcesynccontroller @ release-4.12 a1d5d0d79, release-4.22 8417fa983 and 8206430b0"),
		row(bundle("openshift-apiserver", "etcd-serving-ca"), bundle(userConfig, "etcd-serving-ca"), openShiftAPI, openShiftAPIRepo+"pkg/operator/resourcesynccontroller @ release-4.12 a1d5d0d79, release-4.22 8417fa983 and 8206430b0"),
		row(bundle("openshift-controller-manager", "client-ca"), bundle(kasTarget, "client-ca"), openShiftKCM, sync),
		row(bundle("openshift-route-controller-manager", "client-ca"), bundle(kasTarget, "client-ca"), openShiftKCM, sync),
		row(bundle("openshift-console", "oauth-serving-cert"), bundle(managed, "oauth-serving-cert"), console, consoleRepo+"pkg/console/starter/starter.go @ release-4.12 a67babae3, release-4.22 68028ec98 and 684157180"),
	}
}
