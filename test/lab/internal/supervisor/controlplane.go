//go:build linux

package supervisor

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/kubeapi"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
)

const (
	apiPort   = "6443"
	apiServer = "kube-apiserver"
	// apiStart is how long the API server may take; a busy machine needs 20 s.
	apiStart = 2 * time.Minute
	// startUp is how long a program that exits on a bad flag takes to do so.
	startUp = time.Second
)

// Components that `up` lets start when there is something for them to do.
const (
	CertRotation = "cert-rotation" // OpenShift's controllers: test/lab/components/rotation
	CertSyncer   = "cert-syncer"   // brings what those make to the others: SyncCommand
)

// SyncCommand is the command line argument that makes the lab's program the
// certificate syncer; the lab's folder follows.
const SyncCommand = "sync-certificates"

// SettledFile is there when CertRotation has had nothing left to do.
func SettledFile(dir labdir.Dir) string { return dir.Inner("cert-rotation-settled") }

// startControlPlane returns when the API server is ready and the others run, save for
// those that are held. The flags are more of them for the API server.
func startControlPlane(ctx context.Context, dir labdir.Dir, flags []string, c *children) error {
	if err := c.component("etcd", dir.Bin("etcd"), etcdFlags(dir)...); err != nil {
		return err
	}
	if err := os.WriteFile(dir.Inner("audit-policy.yaml"), []byte(auditPolicy), 0o644); err != nil {
		return fmt.Errorf("write the audit policy: %w", err)
	}
	if err := c.component(apiServer, dir.Bin(apiServer), append(apiserverFlags(dir), flags...)...); err != nil {
		return err
	}
	if err := apiReady(ctx, dir, c); err != nil {
		return err
	}
	// Both read kube-system/extension-apiserver-authentication at start and exit
	// if the API server has not made its roles yet: so only now.
	if err := c.component("kube-controller-manager", dir.Bin("kube-controller-manager"), controllerManagerFlags(dir)...); err != nil {
		return err
	}
	if err := c.component("kube-scheduler", dir.Bin("kube-scheduler"), schedulerFlags(dir)...); err != nil {
		return err
	}
	if err := c.component(CertRotation, dir.Bin(CertRotation), "--kubeconfig="+dir.ComponentKubeconfig(CertRotation), "--settled-file="+SettledFile(dir), "-v=2"); err != nil {
		return err
	}
	if err := c.component(CertSyncer, dir.Bin("lab"), SyncCommand, string(dir)); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-c.failed:
		return err
	case <-time.After(startUp):
		return nil
	}
}

func apiReady(ctx context.Context, dir labdir.Dir, c *children) error {
	api, err := kubeapi.New(dir.PKI(), "localhost:"+apiPort)
	if err != nil {
		return err
	}
	deadline := time.After(apiStart)
	for {
		_, err := api.Get(ctx, "/readyz")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case failed := <-c.failed:
			return failed
		case <-deadline:
			return &componentError{apiServer, fmt.Errorf("not ready after %s: %w", apiStart, err)}
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// probeInterval is how often a balancer looks whether the API server is there.
const probeInterval = 2 * time.Second

// probe connects to the API server and says nothing, as balancers do on OpenShift: so
// its log goes on.
func probe(ctx context.Context) {
	for ctx.Err() == nil {
		if conn, err := net.DialTimeout("tcp", net.JoinHostPort(pki.Address, apiPort), probeInterval); err == nil {
			_ = conn.Close()
		}
		pause(ctx, probeInterval)
	}
}

func etcdFlags(dir labdir.Dir) []string {
	p := dir.PKI()
	serving, peer := "etcd-serving-"+pki.NodeName, "etcd-peer-"+pki.NodeName
	ca := pki.BundleFile(p, "etcd-ca-bundle")
	return []string{
		"--name=" + pki.NodeName,
		"--data-dir=" + filepath.Join(dir.Etcd(), "data"),
		// The data lives as long as the lab: a disk that is slow to sync would
		// only make everything slow.
		"--unsafe-no-fsync",
		"--listen-client-urls=https://127.0.0.1:2379,https://" + pki.Address + ":2379",
		"--advertise-client-urls=https://" + pki.Address + ":2379",
		"--listen-peer-urls=https://127.0.0.1:2380",
		"--initial-advertise-peer-urls=https://127.0.0.1:2380",
		"--initial-cluster=" + pki.NodeName + "=https://127.0.0.1:2380",
		"--cert-file=" + pki.CertFile(p, serving), "--key-file=" + pki.KeyFile(p, serving),
		"--client-cert-auth", "--trusted-ca-file=" + ca,
		"--peer-cert-file=" + pki.CertFile(p, peer), "--peer-key-file=" + pki.KeyFile(p, peer),
		"--peer-client-cert-auth", "--peer-trusted-ca-file=" + ca,
	}
}

func apiserverFlags(dir labdir.Dir) []string {
	p := dir.PKI()
	serving := func(name string) (cert, key string) { return pki.CertFile(p, name), pki.KeyFile(p, name) }
	return append(commonAPIServerFlags(p, "127.0.0.1", pki.Address, serving),
		"--audit-policy-file="+dir.Inner("audit-policy.yaml"),
		"--audit-log-path="+dir.Log("audit"), "--audit-log-maxsize=50", "--audit-log-maxbackup=1")
}

// masterAPIServerFlags are for an API server on a master: it serves what is in the files of
// static pods there. It has no audit log.
func masterAPIServerFlags(n node.Node) []string {
	return commonAPIServerFlags(node.PKI, pki.Address, n.Address, node.ServingFiles)
}

// commonAPIServerFlags are those of each API server: where it finds certificates and etcd,
// what its own address is, and in which files what it serves is.
func commonAPIServerFlags(p, etcd, address string, serving func(name string) (cert, key string)) []string {
	flags := []string{
		"--etcd-servers=https://" + etcd + ":2379",
		"--etcd-cafile=" + pki.BundleFile(p, "etcd-ca-bundle"),
		"--etcd-certfile=" + pki.CertFile(p, "etcd-client"), "--etcd-keyfile=" + pki.KeyFile(p, "etcd-client"),
		"--bind-address=0.0.0.0", "--secure-port=" + apiPort, "--advertise-address=" + address,
		"--service-cluster-ip-range=172.30.0.0/16",
		"--client-ca-file=" + pki.BundleFile(p, "client-ca"),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + filepath.Join(p, pki.ServiceAccountPub),
		"--service-account-signing-key-file=" + filepath.Join(p, pki.ServiceAccountKey),
		"--kubelet-client-certificate=" + pki.CertFile(p, "kubelet-client"), "--kubelet-client-key=" + pki.KeyFile(p, "kubelet-client"),
		"--kubelet-certificate-authority=" + pki.BundleFile(p, "kubelet-serving-ca"),
		"--kubelet-preferred-address-types=InternalIP",
		"--requestheader-client-ca-file=" + pki.BundleFile(p, "aggregator-client-ca"),
		"--requestheader-allowed-names=kube-apiserver-proxy,system:kube-apiserver-proxy,system:openshift-aggregator",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + pki.CertFile(p, "aggregator-client"), "--proxy-client-key-file=" + pki.KeyFile(p, "aggregator-client"),
		"--profiling=false",
		// Which clients break off a handshake is said from level 5 on: on OpenShift, with
		// the API server's logLevel Trace.
		"--vmodule=secure_serving=5",
	}
	// As on OpenShift: the service network's certificate for who asks for no
	// name, and one for each name. The files are watched: a new certificate in
	// them is served without a restart.
	const byDefault = "service-network-serving-certkey"
	cert, key := serving(byDefault)
	flags = append(flags, "--tls-cert-file="+cert, "--tls-private-key-file="+key)
	for _, name := range []string{
		byDefault, "localhost-serving-cert-certkey", "localhost-recovery-serving-certkey",
		"external-loadbalancer-serving-certkey", "internal-loadbalancer-serving-certkey",
	} {
		cert, key := serving(name)
		flags = append(flags, "--tls-sni-cert-key="+cert+","+key)
	}
	return flags
}

// auditPolicy leaves out the stage that only says that a request came in.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

func controllerManagerFlags(dir labdir.Dir) []string {
	p := dir.PKI()
	return append(clientFlags(dir, "kube-controller-manager"),
		"--use-service-account-credentials",
		"--service-account-private-key-file="+filepath.Join(p, pki.ServiceAccountKey),
		// Published as kube-root-ca.crt in every namespace; read at start only.
		"--root-ca-file="+pki.BundleFile(p, "serviceaccount-ca"),
		"--cluster-signing-cert-file="+pki.CertFile(p, "csr-signer"), "--cluster-signing-key-file="+pki.KeyFile(p, "csr-signer"),
		"--cluster-signing-duration=720h",
		"--cluster-cidr=10.98.0.0/16", "--allocate-node-cidrs", "--node-cidr-mask-size=24",
		// A node that is gone is seen soon: tests wait for it.
		"--node-monitor-grace-period=12s", "--node-monitor-period=2s",
	)
}

func schedulerFlags(dir labdir.Dir) []string {
	return clientFlags(dir, "kube-scheduler")
}

// clientFlags are common to those that are clients of the API server; they dial
// api-int, as on OpenShift, and its trust is theirs to lose.
func clientFlags(dir labdir.Dir, name string) []string {
	kubeconfig := dir.ComponentKubeconfig(strings.TrimPrefix(name, "kube-"))
	return []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false", "--bind-address=127.0.0.1", "--profiling=false",
	}
}
