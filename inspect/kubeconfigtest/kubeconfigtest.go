// Package kubeconfigtest has the kubeconfigs of nodes, byte for byte as the programs
// write them that own them. Its test holds them against those programs' own writers.
//
// A CA is base64 of PEM, or what stands for it; a server is such as
// "https://api-int.okd.example.com:6443".
package kubeconfigtest

import (
	"fmt"
	"strings"
)

// MachineConfigServer is what a node joins OpenShift with, from the Ignition that
// machine-config-server makes (machine-config-operator, pkg/server: kubeconfigFromSecret).
// machine-config-daemon, which puts another CA into it from 4.16 on, writes the same.
func MachineConfigServer(ca, server, token string) string {
	return config("", "local", "kubelet", "kubelet", "", ca, server, "token: "+token)
}

// Installer is what a master joins with that machine-config-server on the bootstrap
// machine served (openshift/installer, pkg/asset/kubeconfig). cluster is the cluster's
// name; certificate and key are base64.
func Installer(ca, server, cluster, certificate, key string) string {
	return config("", cluster, "kubelet", "kubelet", "", ca, server, "client-certificate-data: "+certificate+"\n    client-key-data: "+key)
}

// Kubelet is what a kubelet works with, and writes when it has joined (kubernetes,
// pkg/kubelet/certificate/bootstrap).
func Kubelet(ca, server string) string {
	return config(header, "default-cluster", "default-context", "default-auth", "default", ca, server, pair)
}

// Kubeadm is kubelet.conf as kubeadm makes it for the node that it sets a cluster up on.
// All others have what Kubelet is.
func Kubeadm(ca, server, node string) string {
	user := "system:node:" + node
	return config(header, "kubernetes", user+"@kubernetes", user, "", ca, server, pair)
}

// KubeadmBootstrap is bootstrap-kubelet.conf.
func KubeadmBootstrap(ca, server, token string) string {
	const user = "tls-bootstrap-token-user"
	return config(header, "kubernetes", user+"@kubernetes", user, "", ca, server, "token: "+token)
}

// Older is how client-go before 0.34 writes what one of the others is.
func Older(text string) string {
	return strings.Replace(text, "\nusers:\n", "\npreferences: {}\nusers:\n", 1)
}

const (
	header = "apiVersion: v1\n"
	pair   = "client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem\n    client-key: /var/lib/kubelet/pki/kubelet-client-current.pem"
)

func config(head, cluster, context, user, namespace, ca, server, credentials string) string {
	kind := ""
	if head != "" {
		kind = "kind: Config\n"
	}
	if namespace != "" {
		namespace = "    namespace: " + namespace + "\n"
	}
	return fmt.Sprintf(`%sclusters:
- cluster:
    certificate-authority-data: %s
    server: %s
  name: %s
contexts:
- context:
    cluster: %s
%s    user: %s
  name: %s
current-context: %s
%susers:
- name: %s
  user:
    %s
`, head, ca, server, cluster, cluster, namespace, user, context, context, kind, user, credentials)
}
