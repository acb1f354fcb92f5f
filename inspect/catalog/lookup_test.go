package catalog

import (
	"strings"
	"testing"
	"time"
)

func TestLookup(t *testing.T) {
	v := Versions{Cluster: "4.16.3"}
	for _, c := range []struct {
		name   string
		object Object
		key    string
		v      Versions
		role   Role
		owner  string
		place  string // of the row
	}{
		{"by its name", Object{Kind: Secret, Namespace: kasTarget, Name: "internal-loadbalancer-serving-certkey"}, "tls.crt", v, Serving, kasOwner,
			"Secret/openshift-kube-apiserver/internal-loadbalancer-serving-certkey[tls.crt]"},
		{"without a key", Object{Kind: ConfigMap, Namespace: managed, Name: "kube-apiserver-server-ca"}, "", v, CABundle, kasOwner,
			"ConfigMap/openshift-config-managed/kube-apiserver-server-ca[ca-bundle.crt]"},
		{"a revision is its original", Object{Kind: ConfigMap, Namespace: kasTarget, Name: "kube-apiserver-server-ca-12"}, "ca-bundle.crt", v, CABundle, kasOwner,
			"ConfigMap/openshift-kube-apiserver/kube-apiserver-server-ca[ca-bundle.crt]"},
		{"a revision of a row without key", Object{Kind: Secret, Namespace: kasTarget, Name: "node-kubeconfigs-5"}, "lb-int.kubeconfig", v, Kubeconfig, kasOwner,
			"Secret/openshift-kube-apiserver/node-kubeconfigs"},
		{"a numbered name is no revision", Object{Kind: Secret, Namespace: kasTarget, Name: "user-serving-cert-003"}, "tls.crt", v, Serving, "user",
			"Secret/openshift-kube-apiserver/user-serving-cert-*[tls.crt]"},
		{"a node that ends in a number", Object{Kind: Secret, Namespace: etcdTarget, Name: "etcd-peer-master-0"}, "tls.crt", v, Peer, etcdOwner,
			"Secret/openshift-etcd/etcd-peer-*[tls.crt]"},
		{"the more telling of two patterns", Object{Kind: Secret, Namespace: etcdTarget, Name: "etcd-serving-metrics-master-1"}, "tls.crt", v, Serving, etcdOwner,
			"Secret/openshift-etcd/etcd-serving-metrics-*[tls.crt]"},
		{"one of a secret's keys", Object{Kind: Secret, Namespace: serviceCATarget, Name: "signing-key"}, "intermediate-ca.crt", v, CABundle, serviceCAOwner,
			"Secret/openshift-service-ca/signing-key[intermediate-ca.crt]"},
		{"in any namespace", Object{Kind: ConfigMap, Namespace: "my-app", Name: "kube-root-ca.crt"}, "ca.crt", v, CABundle, "kube-controller-manager",
			"ConfigMap/*/kube-root-ca.crt[ca.crt]"},
		{"by annotation", Object{Kind: Secret, Namespace: "my-app", Name: "web-tls", Annotations: map[string]string{AnnotationServiceName: "web"}}, "tls.crt", v, Serving, serviceCAOwner,
			"Secret with annotation service.{beta,alpha}.openshift.io/originating-service-name[tls.crt]"},
		{"by annotation, another key", Object{Kind: Secret, Namespace: "my-app", Name: "web", Annotations: map[string]string{AnnotationCertManager: "web"}}, "ca.crt", v, CABundle, "cert-manager",
			"Secret with annotation cert-manager.io/certificate-name[ca.crt]"},
		{"by type", Object{Kind: Secret, Namespace: "my-app", Name: "default-token-x7f2p", Type: "kubernetes.io/service-account-token"}, "ca.crt", v, Token, "kube-controller-manager",
			"Secret with type kubernetes.io/service-account-token[ca.crt]"},
		{"by label", Object{Kind: ConfigMap, Namespace: "my-app", Name: "trust", Labels: map[string]string{labelInjectTrustedCA: "true"}}, "ca-bundle.crt", v, CABundle, networkOwner,
			"ConfigMap with label config.openshift.io/inject-trusted-cabundle[ca-bundle.crt]"},
		{"by signer", Object{Kind: Request, Name: "csr-4x7vq", Signer: "kubernetes.io/kubelet-serving"}, "status.certificate", v, Serving, "kubelet",
			"CertificateSigningRequest with signer kubernetes.io/kubelet-serving[status.certificate]"},
		{"a field", Object{Kind: ControllerConfig, Name: "machine-config-controller"}, "spec.rootCAData", v, CABundle, mcoOwner, "ControllerConfig/machine-config-controller[spec.rootCAData]"},
		{"a field by its pattern", Object{Kind: ControllerConfig, Name: "machine-config-controller"}, "spec.imageRegistryBundleUserData[my.registry..5000]", v, CABundle, mcoOwner,
			"ControllerConfig/machine-config-controller[spec.imageRegistryBundleUserData*]"},
		{"a file in a MachineConfig", Object{Kind: MachineConfig, Name: "rendered-worker-4c3f"}, "spec.config.storage.files[/etc/kubernetes/ca.crt]", v, CABundle, mcoOwner,
			"MachineConfig/*[spec.config.storage.files[/etc/kubernetes/ca.crt]]"},
		{"an exact key before one with a pattern", Object{Kind: MachineConfig, Name: "00-worker"}, "spec.config.storage.files[/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt]", v, CABundle, mcoOwner,
			"MachineConfig/*[spec.config.storage.files[/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt]]"},
		{"an administrator's file in a MachineConfig", Object{Kind: MachineConfig, Name: "99-worker-ca"}, "spec.config.storage.files[/etc/pki/ca-trust/source/anchors/mine.crt]", v, CABundle, "user",
			"MachineConfig/*[spec.config.storage.files[/etc/pki/ca-trust/source/anchors/*]]"},
		{"a file that a MachineConfig of this version has no more", Object{Kind: MachineConfig, Name: "rendered-master-1"}, "spec.config.storage.files[/etc/kubernetes/kubelet-ca.crt]", v, CABundle, mcoOwner,
			"MachineConfig/*[spec.config.storage.files[/etc/kubernetes/kubelet-ca.crt]]"},
		{"an Ignition stub", Object{Kind: Secret, Namespace: "openshift-machine-api", Name: "worker-user-data"}, "userData", v, CABundle, "installer", "Secret/openshift-machine-api/*-user-data[userData]"},
		{"an Ignition stub that the operator keeps", Object{Kind: Secret, Namespace: "openshift-machine-api", Name: "worker-user-data-managed"}, "userData", v, CABundle, mcoOwner, "Secret/openshift-machine-api/*-user-data-managed[userData]"},
		{"a Route of anybody", Object{Kind: Route, Namespace: "my-app", Name: "web"}, "spec.tls.certificate", v, Serving, "user", "Route/*/*[spec.tls.certificate]"},
		{"a Route of OpenShift", Object{Kind: Route, Namespace: "openshift-image-registry", Name: "public"}, "spec.tls.certificate", v, Serving, "user", "Route/openshift-image-registry/*[spec.tls.certificate]"},
		{"an administrator's bundle that is called like OpenShift's", Object{Kind: ConfigMap, Namespace: userConfig, Name: "my-trusted-ca-bundle"}, "ca-bundle.crt", v, CABundle, "user", "ConfigMap/openshift-config/*trusted-ca-bundle[ca-bundle.crt]"},
		{"a name comes before an annotation", Object{Kind: Secret, Namespace: serviceCATarget, Name: "signing-key", Annotations: map[string]string{AnnotationServiceName: "x"}}, "tls.crt", v, Signer, serviceCAOwner,
			"Secret/openshift-service-ca/signing-key[tls.crt]"},
		{"a file", Object{Kind: File, Name: "/var/lib/kubelet/kubeconfig"}, "", v, Kubeconfig, "kubelet", "File:/var/lib/kubelet/kubeconfig"},
		{"a file of a family", Object{Kind: File, Name: "/var/lib/kubelet/pki/kubelet-client-2024-02-09-10-11-12.pem"}, "", v, Client, "kubelet", "File:/var/lib/kubelet/pki/kubelet-client-*.pem"},
		{"plain Kubernetes", Object{Kind: File, Name: "/etc/kubernetes/pki/ca.crt"}, "", Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}, Signer, "kubeadm", "File:/etc/kubernetes/pki/ca.crt"},
		{"a version that is not known does not hide the row", Object{Kind: Secret, Namespace: kasOperator, Name: "loadbalancer-serving-signer"}, "tls.crt", Versions{}, Signer, kasOwner,
			"Secret/openshift-kube-apiserver-operator/loadbalancer-serving-signer[tls.crt]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, ok := LookupObject(c.object, c.key, c.v)
			if !ok {
				t.Fatal("not found")
			}
			if got := rowName(p); got != c.place || p.Role != c.role || p.Owner != c.owner {
				t.Errorf("got %s, %s, %s; want %s, %s, %s", got, p.Role, p.Owner, c.place, c.role, c.owner)
			}
		})
	}
}

func TestLookupFindsNothing(t *testing.T) {
	v := Versions{Cluster: "4.15.3"}
	for _, c := range []struct {
		name   string
		object Object
		key    string
	}{
		{"a stranger", Object{Kind: Secret, Namespace: "my-app", Name: "web-tls"}, "tls.crt"},
		{"the name of a known one elsewhere", Object{Kind: Secret, Namespace: "my-app", Name: "csr-signer"}, "tls.crt"},
		{"another kind of the same name", Object{Kind: ConfigMap, Namespace: kasOperator, Name: "loadbalancer-serving-signer"}, "tls.crt"},
		{"another key", Object{Kind: Secret, Namespace: kasOperator, Name: "loadbalancer-serving-signer"}, "other.crt"},
		{"what only a later version has", Object{Kind: ConfigMap, Namespace: mcoTarget, Name: "kubeconfig-data"}, "ca-bundle.crt"},
		{"a file below the family's folder", Object{Kind: File, Name: "/var/lib/kubelet/pki/kubelet-client-old/x.pem"}, ""},
		{"a file of plain Kubernetes", Object{Kind: File, Name: "/etc/kubernetes/pki/ca.crt"}, ""},
		{"a revision's name elsewhere", Object{Kind: ConfigMap, Namespace: "my-app", Name: "kube-apiserver-server-ca-12"}, "ca-bundle.crt"},
		{"a field of which nothing is known", Object{Kind: ControllerConfig, Name: "machine-config-controller"}, "spec.other"},
		{"a file of a MachineConfig of which nothing is known", Object{Kind: MachineConfig, Name: "99-worker"}, "spec.config.storage.files[/etc/chrony.conf]"},
		{"nothing that it carries", Object{Kind: Secret, Namespace: "a", Name: "b", Annotations: map[string]string{"": ""}}, "tls.crt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if p, ok := LookupObject(c.object, c.key, v); ok {
				t.Errorf("found %s", rowName(p))
			}
		})
	}
}

func TestRevisionOf(t *testing.T) {
	for _, c := range []struct {
		name, kind, namespace, object string
		base                          string
		revision                      int
	}{
		{"a static pod's manifest", ConfigMap, etcdTarget, "etcd-pod-7", "etcd-pod", 7},
		{"a bundle that is a row", ConfigMap, kasTarget, "kube-apiserver-server-ca-12", "kube-apiserver-server-ca", 12},
		{"a secret that is a row", Secret, kasTarget, "node-kubeconfigs-5", "node-kubeconfigs", 5},
		{"a token", Secret, kasTarget, "localhost-recovery-client-token-9", "localhost-recovery-client-token", 9},
		{"what no row knows, in a revisioned namespace", ConfigMap, kasTarget, "revision-status-141", "revision-status", 141},
		{"etcd's certificates of all nodes", Secret, etcdTarget, "etcd-all-certs-33", "etcd-all-certs", 33},
		{"a bundle whose name begins like a node's secret", ConfigMap, etcdTarget, "etcd-serving-ca-7", "etcd-serving-ca", 7},
		{"kube-controller-manager", ConfigMap, kcmTarget, "serviceaccount-ca-4", "serviceaccount-ca", 4},
		{"kube-scheduler", Secret, schedulerTarget, "serving-cert-6", "serving-cert", 6},

		{"no number", Secret, kcmTarget, "serving-cert", "", 0},
		{"numbers with zeros are names", Secret, kasTarget, "user-serving-cert-003", "", 0},
		{"the first of them too", Secret, kasTarget, "user-serving-cert-000", "", 0},
		{"a node's secret", Secret, etcdTarget, "etcd-peer-master-0", "", 0},
		{"a node's secret that could be a revision", Secret, etcdTarget, "etcd-serving-metrics-worker-12", "", 0},
		{"another namespace", ConfigMap, "openshift-config-managed", "kubelet-serving-ca-2", "", 0},
		{"the operator's namespace", Secret, kasOperator, "node-system-admin-signer-3", "", 0},
		{"revision zero", ConfigMap, kasTarget, "config-0", "", 0},
		{"a sign", ConfigMap, kasTarget, "config--3", "config-", 3},
		{"only a number", ConfigMap, kasTarget, "-3", "", 0},
		{"a hash", Secret, kasTarget, "etcd-client-4f9a", "", 0},
		{"another kind", File, kasTarget, "etcd-client-4", "", 0},
		{"a number beyond any revision", ConfigMap, kasTarget, "config-99999999999999999999", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, revision, ok := RevisionOf(c.kind, c.namespace, c.object)
			if base != c.base || revision != c.revision || ok != (c.base != "") {
				t.Errorf("RevisionOf(%s %s/%s) = %q, %d, %v; want %q, %d", c.kind, c.namespace, c.object, base, revision, ok, c.base, c.revision)
			}
		})
	}
}

func TestLifetimeOf(t *testing.T) {
	signer := secret(kasOperator, "kube-apiserver-to-kubelet-signer")
	for _, c := range []struct {
		name    string
		at      Ref
		v       Versions
		answer  Tristate
		refresh time.Duration
	}{
		{"4.13 has the constant of 8 years", signer, Versions{Cluster: "4.13.9"}, Yes, 8 * year},
		{"4.18 renews at 80 %", signer, Versions{Cluster: "4.18.9"}, Yes, 292 * day},
		{"4.20 renews monthly", signer, Versions{Cluster: "4.20.2"}, Yes, 30 * day},
		{"later builds of 4.20 may do so at 80 %", signer, Versions{Cluster: "4.20.36"}, Yes, 292 * day},
		{"4.22 renews at 80 % again", signer, Versions{Cluster: "4.22.9"}, Yes, 292 * day},
		{"the operator's own version decides", signer, Versions{Cluster: "4.18.9", Operators: map[string]string{kas: "4.13.0"}}, Yes, 8 * year},
		{"an unknown version is no guess", signer, Versions{}, Unknown, 0},
		{"before what was reviewed", signer, Versions{Cluster: "4.11.2"}, Unknown, 0},
		{"a bundle has none", bundle(managed, "kube-apiserver-server-ca"), Versions{Cluster: "4.18.9"}, No, 0},
		{"a stranger", secret("my-app", "web"), Versions{Cluster: "4.18.9"}, No, 0},
		{"the kubelet's on plain Kubernetes", file("/var/lib/kubelet/pki/kubelet-client-*.pem"), Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}, Yes, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, answer := LifetimeOf(c.at, c.v)
			if answer != c.answer || l.Refresh != c.refresh {
				t.Errorf("got %s, refresh %v; want %s, %v", answer, l.Refresh, c.answer, c.refresh)
			}
		})
	}
}

// Where the patch versions of a minor differ, the earliest one and the latest one count.
func TestRenewalByPatchVersion(t *testing.T) {
	born := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for version, earliest := range map[string]int{"4.18.9": 292, "4.19.45": 30, "4.21.0-okd-scos.3": 30, "4.22.1": 30, "4.22.9": 292} {
		l, _ := LifetimeOf(secret(kasOperator, "kube-apiserver-to-kubelet-signer"), Versions{Cluster: version})
		from, _ := l.EarliestRenewal(born, born.Add(year))
		to, _ := l.LatestRenewal(born, born.Add(year))
		if !from.Equal(born.AddDate(0, 0, earliest)) || !to.Equal(born.AddDate(0, 0, 292)) {
			t.Errorf("%s: %s to %s", version, from, to)
		}
		if at := l.EarliestReissue(born, born.Add(year), born); !at.Equal(from) {
			t.Errorf("%s: signed again at %s, renewed at %s", version, at, from)
		}
	}
}

func TestRenewedBy(t *testing.T) {
	born := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		l     Lifetime
		lives time.Duration
		after time.Duration
		ok    bool
	}{
		{"at its refresh", Lifetime{Refresh: 15 * day, RenewAtPercent: 80, Renewer: "x"}, 30 * day, 15 * day, true},
		{"at 80 %, where that comes first", Lifetime{Refresh: 8 * year, RenewAtPercent: 80, Renewer: "x"}, 365 * day, 292 * day, true},
		{"at 80 % of what it really lives", Lifetime{Refresh: 15 * day, RenewAtPercent: 80, Renewer: "x"}, day, 19*time.Hour + 12*time.Minute, true},
		{"by share alone", Lifetime{RenewAtPercent: 90, Renewer: "kubelet"}, 30 * day, 27 * day, true},
		{"never later than its end", Lifetime{Refresh: 395 * day, Renewer: "x"}, 30 * day, 30 * day, true},
		{"by nobody", Lifetime{Validity: 2 * year}, 2 * year, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := c.l.LatestRenewal(born, born.Add(c.lives))
			if ok != c.ok || ok && !got.Equal(born.Add(c.after)) {
				t.Errorf("got %v, %v; want %v, %v", got, ok, born.Add(c.after), c.ok)
			}
		})
	}
}

func FuzzLookup(f *testing.F) {
	f.Add("Secret", "openshift-etcd", "etcd-peer-master-0", "tls.crt", "4.16.1")
	f.Fuzz(func(t *testing.T, kind, namespace, name, key, version string) {
		p, ok := Lookup(kind, namespace, name, key, Versions{Cluster: version})
		if ok && p.Kind != kind {
			t.Errorf("a row of kind %q for %q", p.Kind, kind)
		}
	})
}

func TestRenderedPool(t *testing.T) {
	hash := strings.Repeat("0a", 16)
	for name, want := range map[string]string{
		"rendered-worker-" + hash: "worker", "rendered-infra-gpu-" + hash: "infra-gpu", "rendered-worker-" + hash[1:]: "",
		"rendered-worker-" + strings.ToUpper(hash): "", "rendered-" + hash: "", "00-worker": "", "rendered--" + hash: "",
	} {
		if pool, ok := RenderedPool(name); pool != want || ok != (want != "") {
			t.Errorf("%s is rendered for %q, %t", name, pool, ok)
		}
	}
}
