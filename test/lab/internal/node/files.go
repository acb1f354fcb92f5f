package node

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/kubeconfigtest"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/rootfs"
)

// BootstrapKubeconfig is what a node joins the cluster with. It comes last: the
// kubelet waits for it.
const BootstrapKubeconfig = "/etc/kubernetes/kubeconfig"

// Keys are the folders that a machine's files come from.
type Keys struct {
	PKI string // the lab's certificates
	SSH string // the lab's SSH keys, by MakeKeys
}

// Furnish writes a node's own files below root: all but BootstrapKubeconfig, which
// needs a token that a running cluster has to make.
func Furnish(root string, n Node, all []Node, keys Keys, multus Multus) error {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return fmt.Errorf("make a machine id: %w", err)
	}
	t := &tree{root: root}
	// With an id of its own a machine doesn't take itself for newly installed.
	t.file("/etc/machine-id", hex.EncodeToString(id)+"\n", 0o444)
	t.file("/etc/hostname", n.Name+"\n", 0o644)
	t.file("/etc/hosts", fmt.Sprintf("127.0.0.1 localhost %s\n%s %s %s\n%s",
		pki.RecoveryHost, pki.Address, pki.ExternalHost, pki.InternalHost, Hosts(all)), 0o644)
	t.file("/etc/resolv.conf", "", 0o644) // what isn't in hosts fails at once

	t.copy("/etc/kubernetes/kubelet-ca.crt", pki.BundleFile(keys.PKI, "client-ca"), 0o644)
	t.copy("/etc/kubernetes/ca.crt", pki.CertFile(keys.PKI, "root-ca"), 0o644)
	t.file("/etc/kubernetes/kubelet.conf", kubeletConf, 0o644)
	t.folder(filepath.Join(root, "/etc/kubernetes/manifests"))
	if n.Master {
		staticPodResources(t, keys.PKI)
	}
	units(t, n)
	containerRuntime(t, multus.programs())
	network(t, n, multus)
	t.file("/home/core/.ssh/authorized_keys", "", 0o600)
	t.copy("/home/core/.ssh/authorized_keys", filepath.Join(keys.SSH, userKey+".pub"), 0o600)
	for _, path := range []string{"/home/core", "/home/core/.ssh"} {
		t.private(path, coreID, 0o700)
	}
	t.private("/home/core/.ssh/authorized_keys", coreID, 0o600)
	t.copy("/etc/ssh/ssh_host_ed25519_key", filepath.Join(keys.SSH, n.Name), 0o600)
	t.copy("/etc/ssh/ssh_host_ed25519_key.pub", filepath.Join(keys.SSH, n.Name+".pub"), 0o644)
	// Host names of clients are in no name server.
	t.file("/etc/ssh/sshd_config.d/10-lab.conf", "UseDNS no\nPasswordAuthentication no\n", 0o600)
	if t.err != nil {
		return fmt.Errorf("write the files of node %s: %w", n.Name, t.err)
	}
	return nil
}

// Bootstrap is the text of BootstrapKubeconfig, as OpenShift's machine config
// server writes it.
func Bootstrap(pkiDir, token string) (string, error) {
	ca, err := os.ReadFile(pki.BundleFile(pkiDir, "kube-apiserver-server-ca"))
	if err != nil {
		return "", fmt.Errorf("make the nodes' kubeconfig: %w", err)
	}
	return kubeconfigtest.MachineConfigServer(base64.StdEncoding.EncodeToString(ca), "https://"+pki.InternalHost+":6443", token), nil
}

// kubeletConf is OpenShift's as far as certificates and access go. The rest is
// what a machine inside a machine allows: control groups without systemd, little
// memory and disk set aside. A lease is renewed after a quarter of its duration,
// every 2 s rather than every 10: tests wait for heartbeats.
const kubeletConf = `kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  x509:
    clientCAFile: /etc/kubernetes/kubelet-ca.crt
  anonymous:
    enabled: false
cgroupDriver: cgroupfs
cgroupRoot: /
clusterDNS:
  - 172.30.0.10
clusterDomain: cluster.local
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
containerLogMaxSize: 50Mi
enforceNodeAllocatable: []
evictionHard:
  imagefs.available: 1%
  memory.available: 50Mi
  nodefs.available: 1%
  nodefs.inodesFree: 1%
failCgroupV1: false
failSwapOn: false
imageGCHighThresholdPercent: 100
kubeAPIQPS: 50
kubeAPIBurst: 100
maxPods: 250
nodeLeaseDurationSeconds: 8
nodeStatusUpdateFrequency: 2s
resolvConf: /etc/resolv.conf
rotateCertificates: true
serializeImagePulls: false
serverTLSBootstrap: true
staticPodPath: /etc/kubernetes/manifests
tlsCipherSuites:
  - TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
  - TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
  - TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
  - TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384
tlsMinVersion: VersionTLS12
`

// containerRuntime looks for network plugins in the folder programs.
func containerRuntime(t *tree, programs string) {
	t.file("/etc/containerd/config.toml", `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "`+rootfs.PauseImage+`"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "`+programs+`"
    conf_dir = "`+networkConfigs+`"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`, 0o644)
}
