package gather

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/kubeconfigtest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

var (
	from = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	to   = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
)

// identity are the certificates of one node.
type identity struct {
	ca, old, other *pkitest.Authority
	client, server pkitest.Pair
	rsa            pkitest.Pair
}

func newIdentity() identity {
	ca := pkitest.NewCA("kube-apiserver-lb-signer", from, to)
	return identity{
		ca:     ca,
		old:    pkitest.NewCA("openshift-kube-apiserver-operator_loadbalancer-serving-signer@1700000000", from, to),
		other:  pkitest.NewCA("kube-csr-signer", from, to, pkitest.Ed25519()),
		client: ca.Issue("system:node:worker-3", from, to),
		server: ca.Issue("system:node:worker-3", from, to, pkitest.DNS("worker-3"), pkitest.KeyName("server")),
		rsa:    ca.Issue("etcd", from, to, pkitest.RSA(2048)),
	}
}

const apiServer = "https://api-int.cluster.example.com:6443"

// bootstrap is the kubeconfig that a node joins with.
func bootstrap(ca []byte, token string) string {
	return kubeconfigtest.MachineConfigServer(base64.StdEncoding.EncodeToString(ca), apiServer, token)
}

const kubeletConf = `kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  x509:
    clientCAFile: /etc/kubernetes/kubelet-ca.crt
  anonymous:
    enabled: false
cgroupDriver: systemd
clusterDNS:
  - 172.30.0.10
containerLogMaxSize: 50Mi
featureGates:
  RotateKubeletServerCertificate: true
  AlibabaPlatform: true
rotateCertificates: true
serverTLSBootstrap: true
tlsMinVersion: VersionTLS12
tlsCipherSuites:
  - TLS_AES_128_GCM_SHA256
`

// openshift are the files of an OpenShift node.
func (id identity) openshift(token string) map[string]string {
	both := string(id.ca.CertPEM) + string(id.old.CertPEM)
	nl := "\r\n"
	return map[string]string{
		"/etc/kubernetes/kubeconfig":                                          bootstrap([]byte(both), token),
		"/etc/kubernetes/kubelet.conf":                                        kubeletConf,
		"/etc/kubernetes/kubelet-ca.crt":                                      both,
		"/etc/kubernetes/ca.crt":                                              strings.ReplaceAll(both, "\n", nl),
		"/etc/kubernetes/glued.crt":                                           strings.ReplaceAll(both, "-----\n-----", "----------"),
		"/etc/kubernetes/unterminated.crt":                                    strings.TrimSuffix(both, "\n"),
		"/etc/kubernetes/cut.crt":                                             both[:len(both)-200],
		"/etc/kubernetes/commented.crt":                                       "# a comment\n  Subject: CN=x\n" + both,
		"/etc/kubernetes/der.crt":                                             string(id.ca.Cert.Raw),
		"/etc/kubernetes/embedded.json":                                       fmt.Sprintf(`{"ca":%q,"n":1}`, both),
		"/etc/kubernetes/manifests/pod.yaml":                                  "data: " + base64.StdEncoding.EncodeToString([]byte(both)) + "\n",
		"/etc/kubernetes/ignition.json":                                       `{"storage":{"files":[{"contents":{"source":"data:,` + strings.NewReplacer("\n", "%0A", " ", "%20", "+", "%2B", "/", "%2F").Replace(both) + `"}}]}}`,
		"/etc/kubernetes/empty":                                               "",
		"/etc/kubernetes/-dash.crt":                                           both,
		"/etc/kubernetes/a name = b.crt":                                      both + "\n\n",
		"/etc/kubernetes/quo'te\"$(id)`.crt":                                  string(id.old.CertPEM),
		"/etc/kubernetes/line\nbreak\n.crt":                                   string(id.other.CertPEM),
		"/etc/kubernetes/*?[a]\\.crt":                                         string(id.ca.CertPEM),
		"/etc/kubernetes/\xff\xfe%41ü.crt":                                    string(id.ca.CertPEM),
		"/etc/kubernetes/.hidden/.ca.crt":                                     both + "# end\n",
		"/etc/kubernetes/loop/a -> b":                                         "",
		"/etc/kubernetes/loop/b -> a":                                         "",
		"/etc/kubernetes/loop/up -> ..":                                       "",
		"/etc/kubernetes/dangling -> nowhere":                                 "",
		"/etc/kubernetes/far -> /etc/kubernetes/../kubernetes/kubelet-ca.crt": "",
		"/etc/kubernetes/out -> ../../../../../../../etc/elsewhere/ca.crt":    "",
		"/etc/elsewhere/ca.crt":                                               string(id.other.CertPEM),
		"/var/lib/kubelet/kubeconfig":                                         kubeconfigtest.Older(kubeconfigtest.Kubelet(base64.StdEncoding.EncodeToString([]byte(both)), apiServer)),
		"/var/lib/kubelet/pki/kubelet-client-2026-01-01-00-00-00.pem":         string(id.client.CertPEM) + string(id.client.KeyPEM),
		"/var/lib/kubelet/pki/kubelet-client-current.pem -> /var/lib/kubelet/pki/kubelet-client-2026-01-01-00-00-00.pem": "",
		"/var/lib/kubelet/pki/kubelet-server-2026-01-01-00-00-00.pem":                                                    string(id.server.KeyPEM) + string(id.server.CertPEM),
		"/var/lib/kubelet/pki/kubelet-server-current.pem -> kubelet-server-2026-01-01-00-00-00.pem":                      "",
		"/etc/kubernetes/static-pod-resources/etcd-certs/secrets/etcd-all-certs/etcd-peer-m0.crt":                        string(id.rsa.CertPEM),
		"/etc/kubernetes/static-pod-resources/etcd-certs/secrets/etcd-all-certs/etcd-peer-m0.key":                        string(id.rsa.KeyPEM),
		"/etc/kubernetes/static-pod-resources/kube-apiserver-pod-7/secrets/node-kubeconfigs/lb-int.kubeconfig":           adminConfig(both, id.client),
		"/etc/kubernetes/static-pod-resources/kube-apiserver-pod-8/configmaps/trusted-ca-bundle/ca-bundle.crt":           both,
		"/etc/cni/multus/certs/multus-client-2026-01-01-00-00-00.pem":                                                    string(id.client.CertPEM) + string(id.client.KeyPEM),
		"/etc/docker/certs.d/image-registry.openshift-image-registry.svc:5000/ca.crt":                                    both,
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem":                                                              both,
		"/etc/pki/tls/certs/ca-bundle.crt -> /etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem":                          "",
		"/etc/pki/tls/certs/localhost.crt":                                                                               string(id.rsa.CertPEM),
		"/etc/ssl/certs -> ../pki/tls/certs":                                                                             "",
		"/var/run -> /run":                                                                                               "",
		"/run/multus/ca.crt":                                                                                             string(id.old.CertPEM),
	}
}

func adminConfig(ca string, user pkitest.Pair) string {
	e := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters:\n  - cluster:\n      certificate-authority-data: %s\n      server: https://api-int.cluster.example.com:6443\n    name: lb-int\n"+
		"contexts:\n  - context:\n      cluster: lb-int\n      user: system:admin\n    name: system:admin\ncurrent-context: system:admin\nusers:\n  - name: system:admin\n    user:\n      client-certificate-data: %s\n      client-key-data: %s\n",
		e([]byte(ca)), e(user.CertPEM), e(user.KeyPEM))
}

// plant makes the files, and what is no file.
func (id identity) plant(t *testing.T, token string) string {
	t.Helper()
	root := newRoot(t)
	tree(t, root, id.openshift(token))
	if err := syscall.Mkfifo(root+"/etc/kubernetes/pipe", 0o644); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", root+"/etc/cni/sock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	if err := syscall.Mknod(root+"/etc/kubernetes/null", syscall.S_IFCHR|0o666, 1<<8|3); err != nil && os.Getuid() == 0 {
		t.Fatal(err)
	}
	return root
}

// certsIn are the DERs of a file, by Go's own readers: the oracle.
func certsIn(data []byte) [][]byte {
	text := strings.NewReplacer(`\n`, "\n", "%0A", "\n", "%20", " ", "%2B", "+", "%2F", "/", "----------", "-----\n-----").Replace(string(data))
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \r\n\t\",:", r) }) {
		if inner, err := base64.StdEncoding.DecodeString(word); err == nil && strings.Contains(string(inner), "CERTIFICATE") {
			text += "\n" + string(inner)
		}
	}
	text = strings.ReplaceAll(text, `"-----BEGIN`, "\n-----BEGIN")
	text = strings.ReplaceAll(text, `,-----BEGIN`, "\n-----BEGIN")
	var ders [][]byte
	for rest := []byte(text); ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			return ders
		}
		if b.Type == "CERTIFICATE" {
			ders = append(ders, b.Bytes)
		}
	}
}
