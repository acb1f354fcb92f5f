package node

import (
	"encoding/base64"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/rootfs"
)

const (
	staticPods = "/etc/kubernetes/static-pod-resources"
	serverCA   = "kube-apiserver-server-ca" // the CAs by which administrators trust the API server
	nodeAdmin  = "node-system-admin-client" // who they are
)

// resources are the Secrets and ConfigMaps that OpenShift's operators copy to one
// folder of a master. Those in a folder called -certs follow every change, those
// in one called -pod-<revision> stay as they are: a change comes in a folder of
// the next revision.
type resources struct {
	folder     string // without the revision
	secrets    []string
	configMaps []string
}

func (r resources) revisioned() bool { return strings.HasSuffix(r.folder, "-pod") }

// at is the folder as it is called in a revision.
func (r resources) at(revision int) string {
	if r.revisioned() {
		return path.Join(staticPods, fmt.Sprintf("%s-%d", r.folder, revision))
	}
	return path.Join(staticPods, r.folder)
}

func masterResources() []resources {
	return []resources{
		{
			"kube-apiserver-certs",
			[]string{
				"aggregator-client", "localhost-serving-cert-certkey", "service-network-serving-certkey",
				"external-loadbalancer-serving-certkey", "internal-loadbalancer-serving-certkey",
				"control-plane-node-admin-client-cert-key", "check-endpoints-client-cert-key", "kubelet-client",
			},
			[]string{"aggregator-client-ca", "client-ca"},
		},
		{
			"kube-apiserver-pod",
			[]string{"etcd-client", "localhost-recovery-serving-certkey"},
			[]string{"etcd-serving-ca", serverCA, "kubelet-serving-ca"},
		},
		{
			"kube-controller-manager-certs",
			[]string{"kube-controller-manager-client-cert-key", "csr-signer"},
			[]string{"aggregator-client-ca", "client-ca"},
		},
		{"kube-controller-manager-pod", nil, []string{"serviceaccount-ca"}},
		{"kube-scheduler-certs", []string{"kube-scheduler-client-cert-key"}, nil},
	}
}

// staticPodResources writes what a master has on its disk. The files are the
// lab's real certificates; no static pod reads them here.
func staticPodResources(t *tree, pkiDir string) {
	for _, r := range masterResources() {
		r.write(t, 1, pkiDir, nil)
	}
	etcd := path.Join(staticPods, "etcd-certs")
	for _, kind := range []string{"etcd-serving", "etcd-peer"} {
		name := kind + "-" + pki.NodeName
		t.copy(path.Join(etcd, "secrets/etcd-all-certs", name+".crt"), pki.CertFile(pkiDir, name), 0o600)
		t.copy(path.Join(etcd, "secrets/etcd-all-certs", name+".key"), pki.KeyFile(pkiDir, name), 0o600)
	}
	for _, file := range []string{"etcd-serving-ca/ca-bundle.crt", "etcd-peer-client-ca/ca-bundle.crt", "etcd-all-bundles/server-ca-bundle.crt"} {
		t.copy(path.Join(etcd, "configmaps", file), pki.BundleFile(pkiDir, "etcd-ca-bundle"), 0o644)
	}
	nodeKubeconfigs(t, pkiDir)
	t.file("/etc/kubernetes/manifests/kube-apiserver-pod.yaml", apiServerPod, 0o600)
}

// APIServerLog is where a master has the log of the lab's API server, which runs
// elsewhere.
const APIServerLog = "/opt/lab/kube-apiserver.log"

// apiServerPod stands in for the API server's static pod in one respect: what the API
// server writes is in the log of a container of this name, as the runtime and the
// kubelet keep it.
const apiServerPod = `apiVersion: v1
kind: Pod
metadata:
  namespace: openshift-kube-apiserver
  name: kube-apiserver
  annotations:
    lab/stand-in: "has the log of the lab's API server, which runs in no pod"
spec:
  hostNetwork: true
  priorityClassName: system-node-critical
  terminationGracePeriodSeconds: 1
  tolerations:
  - operator: Exists
  containers:
  - name: kube-apiserver
    image: ` + rootfs.ToolsImage + `
    # What is written while it runs: the runtime takes each line for new.
    command: [sh, -c, 'exec tail -n 0 -F /log/kube-apiserver.log >&2']
    volumeMounts:
    - name: log
      mountPath: /log/kube-apiserver.log
      readOnly: true
  volumes:
  - name: log
    hostPath:
      path: ` + APIServerLog + `
      type: File
`

// write writes the resources of these names; no names are all of them.
func (r resources) write(t *tree, revision int, pkiDir string, names []string) {
	wanted := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	for _, name := range r.secrets {
		if wanted(name) {
			folder := path.Join(r.at(revision), "secrets", name)
			t.copy(path.Join(folder, "tls.crt"), pki.CertFile(pkiDir, name), 0o600)
			t.copy(path.Join(folder, "tls.key"), pki.KeyFile(pkiDir, name), 0o600)
		}
	}
	for _, name := range r.configMaps {
		if wanted(name) {
			file := name
			if name == "etcd-serving-ca" {
				file = "etcd-ca-bundle"
			}
			t.copy(path.Join(r.at(revision), "configmaps", name, "ca-bundle.crt"), pki.BundleFile(pkiDir, file), 0o644)
		}
	}
}

// Revision is the latest one that a master has, whose files are below root.
func Revision(root string) (int, error) {
	latest := 0
	for _, r := range masterResources() {
		found, err := r.revisions(root)
		if err != nil {
			return 0, err
		}
		latest = max(latest, slices.Max(append(found, 0)))
	}
	return latest, nil
}

// revisions are those that a master has a folder of.
func (r resources) revisions(root string) ([]int, error) {
	if !r.revisioned() {
		return nil, nil
	}
	prefix := root + path.Join(staticPods, r.folder) + "-"
	folders, err := filepath.Glob(prefix + "*")
	if err != nil {
		return nil, fmt.Errorf("look for revisions of %s: %w", r.folder, err)
	}
	var all []int
	for _, f := range folders {
		n, err := strconv.Atoi(strings.TrimPrefix(f, prefix))
		if err != nil {
			return nil, fmt.Errorf("look for revisions of %s: %s is none", r.folder, f)
		}
		all = append(all, n)
	}
	return all, nil
}

// Rollout brings certificates and bundles of these names to a master whose files
// are below root, as OpenShift does when they have changed: in place, or in a new
// revision beside the previous ones.
func Rollout(root, pkiDir string, names []string) error {
	latest, err := Revision(root)
	if err != nil {
		return err
	}
	t := &tree{root: root}
	for _, r := range masterResources() {
		if r.revisioned() && slices.ContainsFunc(names, func(name string) bool {
			return slices.Contains(r.secrets, name) || slices.Contains(r.configMaps, name)
		}) {
			r.write(t, latest+1, pkiDir, nil)
		}
	}
	return inPlace(t, pkiDir, names)
}

// Rollback undoes Rollout, after the lab's certificates are what they were:
// revisions after keep are removed.
func Rollback(root, pkiDir string, keep int, names []string) error {
	for _, r := range masterResources() {
		found, err := r.revisions(root)
		if err != nil {
			return err
		}
		for _, n := range found {
			if n <= keep {
				continue
			}
			if err := os.RemoveAll(root + r.at(n)); err != nil {
				return fmt.Errorf("remove a revision from the master: %w", err)
			}
		}
	}
	return inPlace(&tree{root: root}, pkiDir, names)
}

// inPlace writes what has no revisions.
func inPlace(t *tree, pkiDir string, names []string) error {
	for _, r := range masterResources() {
		if !r.revisioned() {
			r.write(t, 1, pkiDir, names)
		}
	}
	if slices.ContainsFunc(names, func(name string) bool { return slices.Contains(InEmergencyKubeconfigs(), name) }) {
		nodeKubeconfigs(t, pkiDir)
	}
	if t.err != nil {
		return fmt.Errorf("bring %s to the master: %w", strings.Join(names, ", "), t.err)
	}
	return nil
}

// nodeKubeconfigs writes EmergencyKubeconfigs to a master.
func nodeKubeconfigs(t *tree, pkiDir string) {
	var texts map[string]string
	t.do(func() (err error) { texts, err = EmergencyKubeconfigs(pkiDir); return err })
	for name, text := range texts {
		t.file(path.Join(staticPods, "kube-apiserver-certs/secrets/node-kubeconfigs", name), text, 0o600)
	}
}

// EmergencyKubeconfigs are the administrator's way in when nothing else is left, by the
// names of their files: one by each name of the API server.
func EmergencyKubeconfigs(pkiDir string) (map[string]string, error) {
	var data [3]string
	for i, f := range []string{
		pki.BundleFile(pkiDir, serverCA),
		pki.CertFile(pkiDir, nodeAdmin), pki.KeyFile(pkiDir, nodeAdmin),
	} {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("make the masters' kubeconfigs: %w", err)
		}
		data[i] = base64.StdEncoding.EncodeToString(b)
	}
	texts := map[string]string{}
	for _, k := range []struct{ name, host, serverName string }{
		{"localhost", "localhost", ""},
		{"localhost-recovery", "localhost", "\n      tls-server-name: " + pki.RecoveryHost},
		{"lb-int", pki.InternalHost, ""},
		{"lb-ext", pki.ExternalHost, ""},
	} {
		texts[k.name+".kubeconfig"] = fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
  - cluster:
      certificate-authority-data: %[1]s
      server: https://%[2]s:6443%[3]s
    name: %[4]s
contexts:
  - context:
      cluster: %[4]s
      user: system:admin
    name: system:admin
current-context: system:admin
users:
  - name: system:admin
    user:
      client-certificate-data: %[5]s
      client-key-data: %[6]s
`, data[0], k.host, k.serverName, k.name, data[1], data[2])
	}
	return texts, nil
}

// ServingFiles are where a master has a certificate that its API server serves: what has
// no revisions in place, other ones in the first.
func ServingFiles(name string) (cert, key string) {
	for _, r := range masterResources() {
		if slices.Contains(r.secrets, name) {
			folder := path.Join(r.at(1), "secrets", name)
			return path.Join(folder, "tls.crt"), path.Join(folder, "tls.key")
		}
	}
	return pki.CertFile(PKI, name), pki.KeyFile(PKI, name)
}

// InEmergencyKubeconfigs are the certificates and bundles that are in EmergencyKubeconfigs.
func InEmergencyKubeconfigs() []string { return []string{serverCA, nodeAdmin} }
