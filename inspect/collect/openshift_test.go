package collect

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

type object = map[string]any

// made is an object and where the API has it.
type made struct {
	path string // of its list, behind the group's /apis/
	body object
}

func kindOfMade(apiVersion, plural, kind, namespace, name string, parts object) made {
	meta := object{"name": name, "annotations": object{"kubectl.kubernetes.io/last-applied-configuration": string(caPEM())}}
	path := apiVersion + "/" + plural
	if namespace != "" {
		meta["namespace"] = namespace
		path = apiVersion + "/namespaces/" + namespace + "/" + plural
	}
	body := object{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
	maps.Copy(body, parts)
	return made{path, body}
}

func dataURL(content []byte) string {
	return "data:text/plain;charset=utf-8;base64," + b64(string(content))
}

func zip(content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(content)
	_ = w.Close()
	return b.Bytes()
}

// ofEveryKind is an object of each of OpenShift's kinds, as real ones are.
func ofEveryKind() []made {
	ca := pkitest.NewCA("openshift CA", time.Unix(1.7e9, 0).UTC(), time.Unix(1.8e9, 0).UTC())
	route := ca.Issue("shop.example.com", time.Unix(1.7e9, 0).UTC(), time.Unix(1.75e9, 0).UTC())
	kubeconfig := "apiVersion: v1\nkind: Config\nclusters:\n- name: local\n  cluster:\n    server: https://api-int:6443\n    certificate-authority-data: " + b64(string(ca.CertPEM)) + "\nusers:\n- name: kubelet\n  user: {token: SECRET-TOKEN}\n"
	file := func(path, source string) object {
		return object{"path": path, "mode": 420, "overwrite": true, "contents": object{"source": source}}
	}
	gzipped := file("/etc/zipped.pem", dataURL(zip(ca.CertPEM)))
	gzipped["contents"].(object)["compression"] = "gzip" //nolint:forcetypeassert // made above
	appended := file("/etc/appended.pem", "")
	appended["append"] = []object{{"source": dataURL(ca.CertPEM)}}
	key := pkitest.Bundle(route.KeyPEM)
	return []made{
		kindOfMade("route.openshift.io/v1", "routes", "Route", "shop", "front", object{"spec": object{"host": "shop.example.com", "tls": object{
			"termination": "reencrypt", "certificate": string(route.CertPEM), "key": string(key), "caCertificate": string(ca.CertPEM), "destinationCACertificate": string(ca.CertPEM)}}}),
		kindOfMade("route.openshift.io/v1", "routes", "Route", "shop", "plain", object{"spec": object{"host": "plain.example.com", "tls": object{"externalCertificate": object{"name": "plain-cert"}}}}),
		kindOfMade(machineV1, "controllerconfigs", "ControllerConfig", "", "machine-config-controller", object{
			"spec": object{
				"kubeAPIServerServingCAData": b64(string(ca.CertPEM)), "rootCAData": b64(string(ca.CertPEM)), "cloudProviderCAData": nil, "additionalTrustBundle": b64(string(ca.CertPEM)),
				"imageRegistryBundleData":     []object{{"file": "image-registry.openshift-image-registry.svc..5000", "data": b64(string(ca.CertPEM))}},
				"imageRegistryBundleUserData": []object{{"file": "registry.example.com", "data": b64(string(ca.CertPEM))}, {"file": "ghp_q7XvB2kLwq7XvB2kLwq7XvB2kLwq7XvB2kLw", "data": b64(string(ca.CertPEM))}},
				"internalRegistryPullSecret":  b64(`{"auths":{"r":{"auth":"` + b64(string(ca.CertPEM)) + `"}}}`),
			},
			"status": object{"controllerCertificates": []object{{
				"bundleFile": "KubeAPIServerServingCAData", "subject": "CN=openshift CA", "signer": "CN=openshift CA",
				"notBefore": ca.Cert.NotBefore.Format(time.RFC3339), "notAfter": ca.Cert.NotAfter.Format(time.RFC3339)}}}}),
		kindOfMade(machineV1, "machineconfigs", "MachineConfig", "", "00-worker", object{"spec": object{"config": object{
			"ignition": object{"version": "3.2.0", "config": object{"merge": []object{{"source": "https://api-int:22623/config/worker"}}},
				"security": object{"tls": object{"certificateAuthorities": []object{{"source": dataURL(ca.CertPEM)}}}}},
			"storage": object{"files": []object{
				file("/etc/kubernetes/ca.crt", "data:,"+url.PathEscape(string(ca.CertPEM))), file("/etc/kubernetes/kubeconfig", dataURL([]byte(kubeconfig))),
				gzipped, appended, file("/etc/hosts", "data:,127.0.0.1%20localhost"), file("/etc/remote", "https://example.com/ca.pem")}},
			"systemd": object{"units": []object{{"name": "a.service", "contents": "[Unit]\n", "dropins": []object{{"name": "10-ca.conf", "contents": "# " + strings.ReplaceAll(string(ca.CertPEM), "\n", "\n# ")}}}}},
		}}}),
		kindOfMade(machineV1, "machineconfigs", "MachineConfig", "", "99-old", object{"spec": object{"config": object{
			"ignition": object{"version": "2.2.0"}, "storage": object{"files": []object{
				{"filesystem": "root", "path": "/etc/old.pem", "append": true, "contents": object{"source": dataURL(ca.CertPEM)}},
				{"filesystem": "root", "path": "/etc/old.pem", "append": true, "contents": object{"source": dataURL(ca.CertPEM)}}}}}}}),
		kindOfMade(machineV1, "machineconfigpools", "MachineConfigPool", "", "worker", object{
			"spec": object{"configuration": object{"name": "rendered-worker-b"}},
			"status": object{"configuration": object{"name": "rendered-worker-a"},
				"certExpirys": []object{{"bundle": "KubeAPIServerServingCAData", "subject": "CN=openshift CA", "expiry": ca.Cert.NotAfter.Format(time.RFC3339)}}}}),
		kindOfMade(configAPI, "proxies", "Proxy", "", "cluster", object{"spec": object{"trustedCA": object{"name": "custom-ca"}}}),
		kindOfMade(configAPI, "apiservers", "APIServer", "", "cluster", object{"spec": object{"clientCA": object{"name": ""},
			"servingCerts": object{"namedCertificates": []object{{"names": []string{"api.example.com"}, "servingCertificate": object{"name": "api-cert"}}}}}}),
		kindOfMade(configAPI, "images", "Image", "", "cluster", object{"spec": object{"additionalTrustedCA": object{"name": "registries"}}}),
		kindOfMade(configAPI, "oauths", "OAuth", "", "cluster", object{"spec": object{"identityProviders": []object{
			{"name": "local", "type": "HTPasswd", "htpasswd": object{"fileData": object{"name": "users"}}},
			{"name": "ours", "type": "LDAP", "ldap": object{"ca": object{"name": "ldap-ca"}, "url": "ldaps://ldap.example.com"}},
			{"name": "old", "type": "BasicAuth", "basicAuth": object{"ca": object{"name": ""}, "tlsClientCert": object{"name": "to-basic"}, "tlsClientKey": object{"name": "to-basic"}}},
			{"name": "proxy", "type": "RequestHeader", "requestHeader": object{"ca": object{"name": "proxies"}}}}}}),
		kindOfMade(configAPI, "ingresses", "Ingress", "", "cluster", object{"spec": object{"domain": "apps.example.com", "componentRoutes": []object{
			{"name": "console", "namespace": "openshift-console", "hostname": "c.example.com", "servingCertKeyPairSecret": object{"name": "console-cert"}},
			{"name": "downloads", "namespace": "openshift-console", "hostname": "d.example.com"}}}}),
		kindOfMade(operatorV1, "ingresscontrollers", "IngressController", "openshift-ingress-operator", "default", object{"spec": object{
			"defaultCertificate": object{"name": "apps-cert"}, "clientTLS": object{"clientCA": object{"name": "clients"}}}}),
	}
}

// whatTheyHold is what ofEveryKind comes to, wherever it is read.
const whatTheyHold = `ControllerConfig/machine-config-controller#spec.additionalTrustBundle
ControllerConfig/machine-config-controller#spec.imageRegistryBundleData[image-registry.openshift-image-registry.svc..5000]
ControllerConfig/machine-config-controller#spec.imageRegistryBundleUserData[key:1]
ControllerConfig/machine-config-controller#spec.imageRegistryBundleUserData[registry.example.com]
ControllerConfig/machine-config-controller#spec.kubeAPIServerServingCAData
ControllerConfig/machine-config-controller#spec.rootCAData
MachineConfig/00-worker#spec.config.ignition.security.tls.certificateAuthorities[0].source
MachineConfig/00-worker#spec.config.storage.files[/etc/appended.pem].append[0]
MachineConfig/00-worker#spec.config.storage.files[/etc/kubernetes/ca.crt]
MachineConfig/00-worker#spec.config.storage.files[/etc/kubernetes/kubeconfig]#clusters[0].cluster.certificate-authority-data
MachineConfig/00-worker#spec.config.storage.files[/etc/zipped.pem]
MachineConfig/00-worker#spec.config.systemd.units[a.service].dropins[10-ca.conf]
MachineConfig/99-old#spec.config.storage.files[/etc/old.pem]
MachineConfig/99-old#spec.config.storage.files[/etc/old.pem](2)
Route/shop/front#spec.tls.caCertificate
Route/shop/front#spec.tls.certificate
Route/shop/front#spec.tls.destinationCACertificate
Route/shop/front#spec.tls.key
reported at ControllerConfig/machine-config-controller#status.controllerCertificates[0]: KubeAPIServerServingCAData CN=openshift CA by "CN=openshift CA" 2023-11-14T22:13:20Z 2027-01-15T08:00:00Z
reported at MachineConfigPool/worker#status.certExpirys[0]: KubeAPIServerServingCAData CN=openshift CA by "" 0001-01-01T00:00:00Z 2027-01-15T08:00:00Z
APIServer/cluster#spec.servingCerts.namedCertificates[0].servingCertificate.name -> Secret/openshift-config/api-cert[tls.crt]
Image/cluster#spec.additionalTrustedCA.name -> ConfigMap/openshift-config/registries
Ingress/cluster#spec.componentRoutes[0].servingCertKeyPairSecret.name -> Secret/openshift-config/console-cert[tls.crt]
IngressController/openshift-ingress-operator/default#spec.clientTLS.clientCA.name -> ConfigMap/openshift-config/clients[ca-bundle.crt]
IngressController/openshift-ingress-operator/default#spec.defaultCertificate.name -> Secret/openshift-ingress/apps-cert[tls.crt]
MachineConfigPool/worker#spec.configuration.name -> MachineConfig/rendered-worker-b
MachineConfigPool/worker#status.configuration.name -> MachineConfig/rendered-worker-a
OAuth/cluster#spec.identityProviders[1].ldap.ca.name -> ConfigMap/openshift-config/ldap-ca[ca.crt]
OAuth/cluster#spec.identityProviders[2].basicAuth.tlsClientCert.name -> Secret/openshift-config/to-basic[tls.crt]
OAuth/cluster#spec.identityProviders[3].requestHeader.ca.name -> ConfigMap/openshift-config/proxies[ca.crt]
Proxy/cluster#spec.trustedCA.name -> ConfigMap/openshift-config/custom-ca[ca-bundle.crt]
Route/shop/plain#spec.tls.externalCertificate.name -> Secret/shop/plain-cert[tls.crt]
`

// written is what a snapshot holds of OpenShift's kinds, a line for each fact.
func written(t *testing.T, s inspect.Snapshot) string {
	t.Helper()
	s.Sort()
	var b strings.Builder
	for _, h := range s.Bundles {
		if at, err := pki.ParseLocation(h.At.String()); err != nil || at != h.At {
			t.Errorf("%s is read as %+v, %v", h.At, at, err)
		}
		fmt.Fprintln(&b, h.At)
	}
	for _, r := range s.Reported {
		fmt.Fprintf(&b, "reported at %s: %s %s by %q %s %s\n", r.At, r.Bundle, r.Subject, r.Signer, r.NotBefore.Format(time.RFC3339), r.NotAfter.Format(time.RFC3339))
	}
	for _, r := range s.References {
		fmt.Fprintf(&b, "%s -> %s\n", r.From, r.To)
	}
	return b.String()
}

func manifestOf(t *testing.T, objects []made) []byte {
	t.Helper()
	var items []object
	for _, m := range objects {
		items = append(items, m.body)
	}
	text, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestOpenShiftKindsAreReadAlikeEverywhere(t *testing.T) {
	t.Parallel()
	objects := ofEveryKind()
	var gathered []string
	for i, m := range objects {
		group, rest, _ := strings.Cut(m.path, "/v1/")
		text, err := json.Marshal(m.body)
		if err != nil {
			t.Fatal(err)
		}
		dir := "mg/image/cluster-scoped-resources/" + group + "/" + rest
		if in, ok := strings.CutPrefix(rest, "namespaces/"); ok {
			namespace, plural, _ := strings.Cut(in, "/")
			dir = "mg/image/namespaces/" + namespace + "/" + group + "/" + plural
		}
		gathered = append(gathered, fmt.Sprintf("%s/%d.json", dir, i), string(text))
	}
	live := readLive(t, &openShiftAPI{objects: objects}, Scope{})
	var saved bytes.Buffer
	if err := WriteSnapshot(&saved, live); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]inspect.Snapshot{
		"over the API":      live,
		"from a file":       File{Path: "f", Scanner: pki.NewScanner()}.scan(manifestOf(t, objects)),
		"in a must-gather":  readTarOf(t, gathered...),
		"from its snapshot": must(File{Path: "-", Stdin: &saved, Scanner: pki.NewScanner()}.Read()),
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(whatTheyHold, written(t, s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(s.Gaps) > 0 {
				t.Errorf("gaps %s", reasons(s.Gaps))
			}
			if all := fmt.Sprintf("%+v", s); strings.Contains(all, "SECRET-TOKEN") || strings.Contains(all, "PRIVATE KEY-----") {
				t.Error("a token or key was kept")
			}
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestRedactedControllerConfigIsUnknown(t *testing.T) {
	t.Parallel()
	s := File{Path: "f", Scanner: pki.NewScanner()}.scan([]byte("apiVersion: " + machineV1 + "\nkind: ControllerConfig\nmetadata: {name: c}\nspec: {rootCAData: <removed>, kubeAPIServerServingCAData: " + b64(string(caPEM())) + "}\n"))
	if got := places(s.Bundles); got != "ControllerConfig/c#spec.kubeAPIServerServingCAData" || len(s.Gaps) != 1 || !strings.Contains(s.Gaps[0].Reason, "1 value is not base64") {
		t.Errorf("read as %s, gaps %s", got, reasons(s.Gaps))
	}
}

// A kind of another group with the same name is none of OpenShift's.
func TestKindsOfOtherGroupsAreReadAsAnyOther(t *testing.T) {
	t.Parallel()
	text := must(json.Marshal(kindOfMade("example.com/v1", "routes", "Route", "a", "b", object{"spec": object{"other": string(caPEM())}}).body))
	if got := places(File{Path: "f", Scanner: pki.NewScanner()}.scan(text).Bundles); got != "Route/a/b#spec.other" {
		t.Error(got)
	}
}

// The stub with which new machines start names the CA of the machine config
// server; it is found as what any Secret holds.
func TestUserDataOfMachines(t *testing.T) {
	t.Parallel()
	stub := `{"ignition":{"config":{"merge":[{"source":"https://api-int:22623/config/worker"}]},"security":{"tls":{"certificateAuthorities":[{"source":"` + dataURL(caPEM()) + `"}]}},"version":"3.2.0"}}`
	for name, value := range map[string]string{"as it is": stub, "gzipped": string(zip([]byte(stub)))} {
		t.Run(name, func(t *testing.T) {
			s := File{Path: "f", Scanner: pki.NewScanner()}.scan([]byte(secretYAML("openshift-machine-api", "worker-user-data", "Opaque", "userData", b64(value), "disableTemplating", b64("true"))))
			if got := places(s.Bundles); got != "Secret/openshift-machine-api/worker-user-data[userData]#ignition.security.tls.certificateAuthorities[0].source" || len(s.Gaps) > 0 {
				t.Errorf("read as %s, gaps %s", got, reasons(s.Gaps))
			}
			s.Cluster.Versions.Cluster = "4.15.1"
			held := inspect.NewFacts(s, time.Now(), 0).Entries[0]
			if held.Use != inspect.UseTrust || held.Owner() != "installer" {
				t.Errorf("used for %q by %q", held.Use, held.Owner())
			}
		})
	}
}

func TestWhatTheConfigurationNamesIsFollowed(t *testing.T) {
	t.Parallel()
	configMap := func(name string, data map[string]string) corev1.ConfigMap {
		return corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-config", Name: name}, Data: data}
	}
	api := &openShiftAPI{objects: ofEveryKind(), keyed: []corev1.ConfigMap{
		configMap("custom-ca", map[string]string{"ca-bundle.crt": string(caPEM())}), configMap("clients", map[string]string{"other": "text"}),
	}}
	c := liveCluster(t, api, Scope{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := c.Follow(ctx, All(ctx, c.Sources()...))
	targets := map[string]inspect.Target{}
	for _, r := range s.References {
		targets[r.To.String()] = r.Target
	}
	want := map[string]inspect.Target{
		"ConfigMap/openshift-config/custom-ca[ca-bundle.crt]": inspect.TargetThere, "ConfigMap/openshift-config/clients[ca-bundle.crt]": inspect.TargetThere,
		"ConfigMap/openshift-config/registries": inspect.TargetAbsent, "Secret/openshift-config/api-cert[tls.crt]": inspect.TargetAbsent,
		"Secret/openshift-ingress/apps-cert[tls.crt]": inspect.TargetAbsent, "MachineConfig/rendered-worker-a": "", "MachineConfig/rendered-worker-b": "",
		"ConfigMap/openshift-config/ldap-ca[ca.crt]": inspect.TargetAbsent, "ConfigMap/openshift-config/proxies[ca.crt]": inspect.TargetAbsent,
		"Secret/openshift-config/console-cert[tls.crt]": inspect.TargetAbsent, "Secret/openshift-config/to-basic[tls.crt]": inspect.TargetAbsent, "Secret/shop/plain-cert[tls.crt]": inspect.TargetAbsent,
	}
	if diff := cmp.Diff(want, targets); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := written(t, s); !strings.Contains(got, "ConfigMap/openshift-config/custom-ca[ca-bundle.crt]") || len(s.Gaps) > 0 || !strings.Contains(notes(s.Reads), "objects that others refer to 1") {
		t.Errorf("%s, gaps %s, reads %s", got, reasons(s.Gaps), notes(s.Reads))
	}
}

func TestWhatMayNotBeFollowedIsUnknown(t *testing.T) {
	t.Parallel()
	api := &openShiftAPI{objects: ofEveryKind(), fail: func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/secrets") || strings.HasSuffix(r.URL.Path, "/configmaps") {
			refuse(w, r, http.StatusForbidden, metav1.StatusReasonForbidden, "")
			return true
		}
		return false
	}}
	c := liveCluster(t, api, Scope{})
	s := c.Follow(t.Context(), All(t.Context(), c.Sources()...))
	if len(s.Gaps) != 10 || !strings.Contains(reasons(s.Gaps), "look for Secret/openshift-ingress/apps-cert") {
		t.Errorf("gaps %s", reasons(s.Gaps))
	}
	for _, r := range s.References {
		if r.Target != inspect.TargetUnknown {
			t.Errorf("%s is known to be %s", r.To, r.Target)
		}
	}
}

func TestMustGatherKnowsWhatIsNotThere(t *testing.T) {
	t.Parallel()
	proxy := must(json.Marshal(kindOfMade(configAPI, "proxies", "Proxy", "", "cluster", object{"spec": object{"trustedCA": object{"name": "custom-ca"}}}).body))
	api := must(json.Marshal(kindOfMade(configAPI, "apiservers", "APIServer", "", "cluster", object{"spec": object{"servingCerts": object{"namedCertificates": []object{{"servingCertificate": object{"name": "api-cert"}}}}}}).body))
	base := []string{"mg/i/cluster-scoped-resources/config.openshift.io/proxies/cluster.json", string(proxy), "mg/i/cluster-scoped-resources/config.openshift.io/apiservers.json", string(api)}
	list0 := "mg/i/namespaces/openshift-config/core/configmaps.yaml"
	for _, c := range []struct {
		name  string
		files []string
		want  inspect.Target // of the Proxy's
	}{
		{"without that namespace", nil, inspect.TargetUnknown},
		{"with the list, and it is not in it", []string{list0, list(configMapYAML("openshift-config", "other", "1", "x"))}, inspect.TargetAbsent},
		{"with the list, and it is in it", []string{list0, list(configMapYAML("openshift-config", "custom-ca", "1", "x"))}, inspect.TargetThere},
		{"with a list that can't be read", []string{list0, "not: [read"}, inspect.TargetUnknown},
		{"with one other object of that namespace", []string{"mg/i/namespaces/openshift-config/core/configmaps/other.yaml", configMapYAML("openshift-config", "other", "1", "x")}, inspect.TargetUnknown},
		{"with its value replaced by its length", []string{list0, list(configMapYAML("openshift-config", "custom-ca", "1", "1704 bytes long"))}, inspect.TargetUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := readTarOf(t, append(slices.Clone(base), c.files...)...)
			if got := s.References[1].Target; s.References[1].From.Kind != "Proxy" || got != c.want {
				t.Errorf("%+v, want %q", s.References, c.want)
			}
			if got := s.References[0].Target; got != inspect.TargetUnknown {
				t.Errorf("Secrets were not gathered, and %s is %q", s.References[0].To, got)
			}
		})
	}
}

// TestSourcesThatSayMoreThanTheyHold: a data URL that is not what it says is
// unknown; a config within a config is read.
func TestSourcesThatSayMoreThanTheyHold(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("openshift CA", time.Unix(1.6e9, 0), time.Unix(1.9e9, 0))
	raw := `{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","metadata":{"name":"m"},"spec":{"config":{
		"ignition":{"version":"3.2.0","config":{"merge":[{"source":"` + dataURL(ca.CertPEM) + `"}],"replace":{"source":"https://elsewhere"}}},
		"storage":{"files":[{"path":"/etc/kubernetes/ca.crt","contents":{"source":"data:;base64,@@@"}},{"path":"/etc/other","contents":{"source":"data:;base64,%zz"}}]}}}}`
	m, ok := readObjects(pki.NewScanner(), []byte(raw))
	if got := places(m.Bundles); !ok || got != "MachineConfig/m#spec.config.ignition.config.merge[0].source" || len(m.Gaps) != 1 || !strings.Contains(m.Gaps[0].Reason, "2 values are not base64") {
		t.Errorf("got %s, gaps %+v", got, m.Gaps)
	}
}

// TestAMalformedObjectIsNamed: "n" is no text in YAML.
func TestAMalformedObjectIsNamed(t *testing.T) {
	t.Parallel()
	m, ok := readObjects(pki.NewScanner(), []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: n}\n"))
	if !ok || len(m.Gaps) != 1 || m.Gaps[0].Where != "Secret" || !strings.Contains(m.Gaps[0].Reason, "namespace") {
		t.Errorf("got %t %+v", ok, m.Gaps)
	}
}
