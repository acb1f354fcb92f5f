package kubeconfigtest

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"
)

// TestWritersWriteThis: machine-config-server, the installer and machine-config-daemon
// marshal clientcmd's v1 type; the kubelet and kubeadm call clientcmd.
func TestWritersWriteThis(t *testing.T) {
	const server, client = "https://api-int.okd.example.com:6443", "/var/lib/kubelet/pki/kubelet-client-current.pem"
	ca := []byte(strings.Repeat("-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n", 100))
	data := base64.StdEncoding.EncodeToString(ca)

	marshalled := func(cluster string, user clientcmdv1.AuthInfo) string {
		text, err := yaml.Marshal(clientcmdv1.Config{
			Clusters:       []clientcmdv1.NamedCluster{{Name: cluster, Cluster: clientcmdv1.Cluster{Server: server, CertificateAuthorityData: ca}}},
			AuthInfos:      []clientcmdv1.NamedAuthInfo{{Name: "kubelet", AuthInfo: user}},
			Contexts:       []clientcmdv1.NamedContext{{Name: "kubelet", Context: clientcmdv1.Context{Cluster: cluster, AuthInfo: "kubelet"}}},
			CurrentContext: "kubelet",
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	written := func(cluster, context, user, namespace string, auth clientcmdapi.AuthInfo) string {
		text, err := clientcmd.Write(clientcmdapi.Config{
			Clusters:       map[string]*clientcmdapi.Cluster{cluster: {Server: server, CertificateAuthorityData: ca}},
			AuthInfos:      map[string]*clientcmdapi.AuthInfo{user: &auth},
			Contexts:       map[string]*clientcmdapi.Context{context: {Cluster: cluster, AuthInfo: user, Namespace: namespace}},
			CurrentContext: context,
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	pair := clientcmdapi.AuthInfo{ClientCertificate: client, ClientKey: client}
	for name, c := range map[string]struct{ got, want string }{
		"machine-config-server": {MachineConfigServer(data, server, "a.b-c_d"), marshalled("local", clientcmdv1.AuthInfo{Token: "a.b-c_d"})},
		"the installer":         {Installer(data, server, "demo", "QUJD", "QUJDRA=="), marshalled("demo", clientcmdv1.AuthInfo{ClientCertificateData: []byte("ABC"), ClientKeyData: []byte("ABCD")})},
		"the kubelet":           {Kubelet(data, server), written("default-cluster", "default-context", "default-auth", "default", pair)},
		"kubeadm":               {Kubeadm(data, server, "cp-0"), written("kubernetes", "system:node:cp-0@kubernetes", "system:node:cp-0", "", pair)},
		"kubeadm, to join with": {KubeadmBootstrap(data, server, "abcdef.0123456789abcdef"), written("kubernetes", "tls-bootstrap-token-user@kubernetes", "tls-bootstrap-token-user", "", clientcmdapi.AuthInfo{Token: "abcdef.0123456789abcdef"})},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s writes another one (-theirs +here):\n%s", name, diff)
		}
		// What machine-config-daemon does to a file in which it changes the CA.
		var read clientcmdv1.Config
		if err := yaml.UnmarshalStrict([]byte(Older(c.got)), &read); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		again, err := yaml.Marshal(read)
		if diff := cmp.Diff(c.got, string(again)); diff != "" || err != nil {
			t.Errorf("%s, marshalled by machine-config-daemon: %v (-before +after):\n%s", name, err, diff)
		}
	}
}
