package identity

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
)

const (
	apiserverOperator  = "openshift-kube-apiserver-operator"
	apiserver          = "openshift-kube-apiserver"
	managedConfig      = "openshift-config-managed"
	userConfig         = "openshift-config"
	controllerOperator = "openshift-kube-controller-manager-operator"
	controllerManager  = "openshift-kube-controller-manager"
	scheduler          = "openshift-kube-scheduler"
	etcd               = "openshift-etcd"
	etcdOperator       = "openshift-etcd-operator"
)

// place is where OpenShift keeps a certificate or a bundle of the lab's.
type place struct {
	namespace string
	names     []string
}

// secrets hold key pairs; a Secret is named like the pair in it.
func secrets() []place {
	return []place{
		{apiserverOperator, []string{
			"loadbalancer-serving-signer", "localhost-serving-signer", "service-network-serving-signer", "localhost-recovery-serving-signer",
			"kube-control-plane-signer", "kube-apiserver-to-kubelet-signer", "aggregator-client-signer",
			"node-system-admin-signer", "node-system-admin-client",
		}},
		{apiserver, []string{
			"external-loadbalancer-serving-certkey", "internal-loadbalancer-serving-certkey", "localhost-serving-cert-certkey",
			"service-network-serving-certkey", "localhost-recovery-serving-certkey", "kubelet-client", "aggregator-client",
			"control-plane-node-admin-client-cert-key", "check-endpoints-client-cert-key", "etcd-client",
		}},
		{managedConfig, []string{"kube-controller-manager-client-cert-key", "kube-scheduler-client-cert-key"}},
		{controllerOperator, []string{"csr-signer-signer", "csr-signer"}},
		{controllerManager, []string{"csr-signer", "kube-controller-manager-client-cert-key"}},
		{scheduler, []string{"kube-scheduler-client-cert-key"}},
		{userConfig, []string{"etcd-client"}},
		{etcd, []string{"etcd-signer", "etcd-client", "etcd-serving-" + pki.NodeName, "etcd-peer-" + pki.NodeName}},
		{etcdOperator, []string{"etcd-client"}},
	}
}

// bundles are those that certificate rotation itself keeps; aggregates are put
// together from them, or copied.
func bundles() []place {
	return []place{
		{apiserverOperator, []string{
			"loadbalancer-serving-ca", "localhost-serving-ca", "service-network-serving-ca", "localhost-recovery-serving-ca",
			"kube-apiserver-to-kubelet-client-ca", "kube-control-plane-signer-ca", "node-system-admin-ca",
		}},
		{managedConfig, []string{"kube-apiserver-aggregator-client-ca"}},
		{controllerOperator, []string{"csr-controller-signer-ca", "csr-signer-ca"}},
		{etcd, []string{"etcd-ca-bundle"}},
	}
}

func aggregates() []place {
	return []place{
		{apiserver, []string{"kube-apiserver-server-ca", "client-ca", "aggregator-client-ca", "kubelet-serving-ca", "etcd-serving-ca"}},
		{managedConfig, []string{"kube-apiserver-server-ca", "kube-apiserver-client-ca", "kubelet-serving-ca", "csr-controller-ca"}},
		{controllerOperator, []string{"csr-controller-ca"}},
		{controllerManager, []string{"serviceaccount-ca"}},
		{scheduler, []string{"serviceaccount-ca"}},
		{"openshift-apiserver", []string{"etcd-serving-ca"}},
		{userConfig, []string{"admin-kubeconfig-client-ca", "etcd-ca-bundle", "etcd-serving-ca"}},
		// What etcd reads up to 4.16, and from 4.17 on.
		{etcd, []string{"etcd-serving-ca", "etcd-peer-client-ca", "etcd-all-bundles"}},
		{etcdOperator, []string{"etcd-ca-bundle"}},
	}
}

// bundleName is the lab's name of the bundle that a ConfigMap holds.
func bundleName(configMap string) string {
	switch configMap {
	case "kube-apiserver-aggregator-client-ca":
		return "aggregator-client-ca"
	case "kube-apiserver-client-ca":
		return "client-ca"
	case "etcd-serving-ca", "etcd-peer-client-ca", "etcd-all-bundles":
		return "etcd-ca-bundle"
	}
	return configMap
}

// bundleKey is the key in which a ConfigMap holds it.
func bundleKey(configMap string) string {
	if configMap == "etcd-all-bundles" {
		return "server-ca-bundle.crt"
	}
	return "ca-bundle.crt"
}

// Holders are the paths in the API of the Secrets and ConfigMaps that hold the key
// pairs and bundles of these names.
func Holders(names []string) []string {
	var all []string
	for _, h := range holders() {
		if slices.Contains(names, h.content) {
			all = append(all, h.path)
		}
	}
	return all
}

// Consumed are the Secrets and ConfigMaps that the lab's components get their
// certificates from, by their paths in the API: with the lab's name of the key pair
// or bundle in them. Of those that hold the same, it is the one in the namespace of
// the component. etcd's are not among them: it reads what it was started with.
func Consumed() map[string]string {
	found := map[string]holder{} // by content
	consumers := []string{apiserver, controllerManager, scheduler, apiserverOperator}
	for _, h := range holders() {
		rank := slices.Index(consumers, h.namespace)
		if rank < 0 || strings.HasPrefix(h.content, "etcd-") {
			continue
		}
		if before, there := found[h.content]; !there || rank < slices.Index(consumers, before.namespace) {
			found[h.content] = h
		}
	}
	all := map[string]string{}
	for content, h := range found {
		all[h.path] = content
	}
	return all
}

// holder is where a key pair or bundle is, by the lab's name of that.
type holder struct{ namespace, path, content string }

func holders() []holder {
	var all []holder
	for _, p := range secrets() {
		for _, name := range p.names {
			all = append(all, holder{p.namespace, fmt.Sprintf("/api/v1/namespaces/%s/secrets/%s", p.namespace, name), name})
		}
	}
	for _, p := range append(bundles(), aggregates()...) {
		for _, name := range p.names {
			all = append(all, holder{p.namespace, fmt.Sprintf("/api/v1/namespaces/%s/configmaps/%s", p.namespace, name), bundleName(name)})
		}
	}
	return all
}

// certificates are all Secrets and ConfigMaps.
func certificates(pkiDir string) ([]object, error) {
	var all []object
	for _, p := range secrets() {
		for _, name := range p.names {
			o, err := secret(pkiDir, p.namespace, name)
			if err != nil {
				return nil, fmt.Errorf("make Secret %s/%s: %w", p.namespace, name, err)
			}
			all = append(all, o)
		}
	}
	for _, p := range append(bundles(), aggregates()...) {
		for _, name := range p.names {
			o, err := configMap(pkiDir, p.namespace, name)
			if err != nil {
				return nil, fmt.Errorf("make ConfigMap %s/%s: %w", p.namespace, name, err)
			}
			all = append(all, o)
		}
	}
	return all, nil
}

func secret(pkiDir, namespace, name string) (object, error) {
	text, err := os.ReadFile(pki.CertFile(pkiDir, name))
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(pki.KeyFile(pkiDir, name))
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("no certificate in %s", pki.CertFile(pkiDir, name))
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	annotations := object{
		"auth.openshift.io/certificate-not-before": cert.NotBefore.UTC().Format(time.RFC3339),
		"auth.openshift.io/certificate-not-after":  cert.NotAfter.UTC().Format(time.RFC3339),
		"auth.openshift.io/certificate-issuer":     cert.Issuer.CommonName,
		"openshift.io/owning-component":            owner(namespace),
	}
	if len(cert.DNSNames) > 0 {
		hosts := slices.Sorted(slices.Values(cert.DNSNames))
		annotations["auth.openshift.io/certificate-hostnames"] = strings.Join(hosts, ",")
	}
	metadata := object{"namespace": namespace, "name": name, "annotations": annotations}
	if t := managedType(cert); t != "" {
		metadata["labels"] = object{typeLabel: t}
	}
	return object{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata,
		"stringData": object{"tls.crt": string(text), "tls.key": string(key)},
	}, nil
}

const typeLabel = "auth.openshift.io/managed-certificate-type"

// managedType is the label's value. A signer that the installer made has none
// until its first rotation; those that an operator made end in @<time>.
func managedType(cert *x509.Certificate) string {
	switch {
	case cert.Subject.String() != cert.Issuer.String():
		return "target" // csr-signer too: it has a signer of its own
	case strings.Contains(cert.Subject.CommonName, "@"):
		return "signer"
	}
	return ""
}

func configMap(pkiDir, namespace, name string) (object, error) {
	text, err := os.ReadFile(pki.BundleFile(pkiDir, bundleName(name)))
	if err != nil {
		return nil, err
	}
	metadata := object{"namespace": namespace, "name": name, "annotations": object{"openshift.io/owning-component": owner(namespace)}}
	for _, p := range bundles() {
		if p.namespace == namespace && slices.Contains(p.names, name) {
			metadata["labels"] = object{typeLabel: "ca-bundle"}
		}
	}
	return object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
		"data": object{bundleKey(name): string(text)},
	}, nil
}

func owner(namespace string) string {
	switch namespace {
	case controllerOperator, controllerManager:
		return "kube-controller-manager"
	case scheduler:
		return "kube-scheduler"
	case etcd, etcdOperator:
		return "Etcd"
	}
	return "kube-apiserver"
}
