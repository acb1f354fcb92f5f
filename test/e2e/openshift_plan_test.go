package e2e

import (
	"net/url"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

const (
	machineAPI = "machineconfiguration.openshift.io/v1"
	configAPI  = "config.openshift.io/v1"
)

// openShift plants one of each of OpenShift's kinds, and what the configuration
// names. The CustomResourceDefinitions are the real ones.
func (p *plan) openShift() {
	p.routes()
	p.machineConfigs()
	p.configuration()
	place := "Secret/" + p.rich() + "/machine-user-data[userData]"
	stub := asJSON(object{"ignition": object{"version": "3.2.0", "config": object{"merge": []object{{"source": "https://api-int.lab.test:22623/config/worker"}}},
		"security": object{"tls": object{"certificateAuthorities": []object{{"source": dataURL(p.authority(place))}}}}}})
	p.secret(p.rich(), "machine-user-data", "Opaque", map[string][]byte{"userData": stub, "disableTemplating": []byte("true")})
}

func (p *plan) add(apiVersion, kind, namespace, name string, parts object) {
	o := object{"apiVersion": apiVersion, "kind": kind, "metadata": p.meta(namespace, name)}
	for key, v := range parts {
		o[key] = v
	}
	p.objects = append(p.objects, o)
}

func (p *plan) routes() {
	place := "Route/" + p.rich() + "/shop#spec.tls."
	leaf := p.at(place + "certificate")()
	p.add("route.openshift.io/v1", "Route", p.rich(), "shop", object{"spec": object{"host": "shop." + p.id + ".example", "to": object{"kind": "Service", "name": "none"}, "tls": object{
		"termination": "reencrypt", "certificate": string(leaf.CertPEM), "key": string(leaf.KeyPEM),
		"caCertificate": string(p.authority(place + "caCertificate")), "destinationCACertificate": string(p.authority(place + "destinationCACertificate"))}}})
	p.add("route.openshift.io/v1", "Route", p.rich(), "plain", object{"spec": object{"host": "plain." + p.id + ".example", "to": object{"kind": "Service", "name": "none"}}})
}

// dataURL is how most Ignition configs write a file.
func dataURL(content []byte) string {
	return "data:text/plain;charset=utf-8;base64," + string(encoded(content))
}

func (p *plan) machineConfigs() {
	files := "MachineConfig/" + p.id + "#spec.config.storage.files["
	at := func(path string) []byte { return p.authority(files + path + "]") }
	kubeconfig := files + "/etc/kubernetes/kubeconfig]"
	ca, client := p.at(kubeconfig), p.at(kubeconfig)
	p.add(machineAPI, "MachineConfig", "", p.id, object{"spec": object{"config": object{
		"ignition": object{"version": "3.2.0", "security": object{"tls": object{"certificateAuthorities": []object{
			{"source": dataURL(p.authority("MachineConfig/" + p.id + "#spec.config.ignition.security.tls.certificateAuthorities[0].source"))}}}}},
		"storage": object{"files": []object{
			{"path": "/etc/plain.pem", "contents": object{"source": "data:," + url.PathEscape(string(at("/etc/plain.pem")))}},
			{"path": "/etc/base64.pem", "contents": object{"source": dataURL(at("/etc/base64.pem"))}},
			{"path": "/etc/zipped [1].pem", "contents": object{"compression": "gzip", "source": dataURL(zipped(at("/etc/zipped [1].pem")))}},
			{"path": "/etc/kubernetes/kubeconfig", "contents": object{"source": dataURL(kubeconfigWith(ca(), client(), p.secrets.token("token in a MachineConfig")))}},
			{"path": "/etc/hosts", "contents": object{"source": "data:,127.0.0.1%20localhost%0A"}},
			{"path": "/etc/remote.pem", "contents": object{"source": "https://example.com/ca.pem"}}}}}}})
}

// internalRegistry is how a ControllerConfig calls it.
const internalRegistry = "image-registry.openshift-image-registry.svc..5000"

// controllerCA is the CA that the planted ControllerConfig delivers.
func (p *plan) controllerCA() *pkitest.Authority {
	return pkitest.NewCA(p.id+" delivered CA", p.now.Add(-day), p.now.Add(3650*day))
}

func (p *plan) configuration() {
	delivered := p.controllerCA()
	p.secrets.key("the delivered CA's key", delivered.KeyPEM)
	config := "ControllerConfig/" + p.id + "#spec."
	for _, field := range []string{"kubeAPIServerServingCAData", "rootCAData", "imageRegistryBundleData[" + internalRegistry + "]"} {
		p.certs.add(config+field, shaOf(delivered.Cert.Raw))
	}
	p.add(machineAPI, "ControllerConfig", "", p.id, object{"spec": object{
		"kubeAPIServerServingCAData": delivered.CertPEM, "rootCAData": delivered.CertPEM, "cloudProviderCAData": nil, "additionalTrustBundle": nil,
		"imageRegistryBundleData": []object{{"file": internalRegistry, "data": delivered.CertPEM}},
		"baseOSContainerImage":    "", "cloudProviderConfig": "", "clusterDNSIP": "", "dns": nil, "images": object{}, "infra": nil, "ipFamilies": "", "network": nil, "proxy": nil, "releaseImage": "",
	}})
	p.add(machineAPI, "MachineConfigPool", "", p.id, object{"spec": object{"configuration": object{"name": p.id}}})

	in := func(kind, namespace, key string) string { return kind + "/" + namespace + "/" + p.id + "[" + key + "]" }
	p.configMap("openshift-config", p.id, map[string][]byte{
		"ca-bundle.crt": p.authority(in("ConfigMap", "openshift-config", "ca-bundle.crt")), "ca.crt": p.authority(in("ConfigMap", "openshift-config", "ca.crt")), "registry.example.com..5000": p.authority(in("ConfigMap", "openshift-config", "registry.example.com..5000"))})
	for _, namespace := range []string{"openshift-config", "openshift-ingress"} {
		leaf := p.at(in("Secret", namespace, "tls.crt"))()
		p.secret(namespace, p.id, "kubernetes.io/tls", map[string][]byte{"tls.crt": leaf.CertPEM, "tls.key": leaf.KeyPEM})
	}
	name := object{"name": p.id}
	p.add(configAPI, "Proxy", "", p.id, object{"spec": object{"trustedCA": name}})
	p.add(configAPI, "APIServer", "", p.id, object{"spec": object{"clientCA": name, "servingCerts": object{"namedCertificates": []object{{"names": []string{"api.example.com"}, "servingCertificate": name}}}}})
	p.add(configAPI, "Image", "", p.id, object{"spec": object{"additionalTrustedCA": name}})
	p.add(configAPI, "OAuth", "", p.id, object{"spec": object{"identityProviders": []object{{"name": "ldap", "mappingMethod": "claim", "type": "LDAP",
		"ldap": object{"url": "ldaps://ldap.example.com/dc=example", "insecure": false, "bindDN": "", "bindPassword": object{"name": ""}, "ca": name, "attributes": object{"id": []string{"dn"}}}}}}})
	p.add(configAPI, "Ingress", "", p.id, object{"spec": object{"domain": p.id + ".example", "componentRoutes": []object{{"name": "console", "namespace": "openshift-console", "hostname": "console.example.com", "servingCertKeyPairSecret": name}}}})
	p.add("operator.openshift.io/v1", "IngressController", "openshift-ingress-operator", p.id, object{"spec": object{"domain": p.id + ".example", "defaultCertificate": name,
		"clientTLS": object{"clientCertificatePolicy": "Optional", "clientCA": name}}})
}

// reports are the statuses that the machine-config-controller would write.
func (p *plan) reports() (controllerConfig, pool []byte) {
	c := p.controllerCA().Cert
	from, to := c.NotBefore.Format(time.RFC3339), c.NotAfter.Format(time.RFC3339)
	var certificates []object
	for _, bundle := range []string{"KubeAPIServerServingCAData", "RootCAData", internalRegistry} {
		certificates = append(certificates, object{"bundleFile": bundle, "subject": c.Subject.String(), "signer": c.Issuer.String(), "notBefore": from, "notAfter": to})
	}
	controllerConfig = asJSON(object{"status": object{"controllerCertificates": certificates}})
	pool = asJSON(object{"status": object{"configuration": object{"name": p.id},
		"certExpirys": []object{{"bundle": "KubeAPIServerServingCAData", "subject": c.Subject.String(), "expiry": to}}}})
	return controllerConfig, pool
}
