//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// The kubeconfigs of kubeadm's kubelets.
const (
	kubeadmJoin = "/etc/kubernetes/bootstrap-kubelet.conf"
	kubeadmOwn  = "/etc/kubernetes/kubelet.conf"
)

// likeKubeadm lays a node of the lab out as kubeadm does: its files, its drop-in for the
// kubelet, and nothing of OpenShift's. The kubelet writes its kubeconfig itself, from the
// one to join with. $1 is the cluster's CA in base64; of a control plane node, what joins
// is deleted, and there are kubeconfigs of the control plane.
const likeKubeadm = `umask 077
cd /etc/kubernetes
. /etc/os-release
mkdir -p pki /etc/systemd/system/kubelet.service.d
printf %s "$1" | base64 -d >pki/ca.crt
server=$(sed -n 's/^ *server: //p' kubeconfig)
token=$(sed -n 's/^ *token: //p' kubeconfig)
{ cat kubelet-ca.crt >>pki/ca.crt; sed 's,/etc/kubernetes/kubelet-ca.crt,/etc/kubernetes/pki/ca.crt,' kubelet.conf >/var/lib/kubelet/config.yaml; }
cat >bootstrap-kubelet.conf <<CONF
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: $1
    server: $server
  name: kubernetes
contexts:
- context:
    cluster: kubernetes
    user: tls-bootstrap-token-user
  name: tls-bootstrap-token-user@kubernetes
current-context: tls-bootstrap-token-user@kubernetes
kind: Config
users:
- name: tls-bootstrap-token-user
  user:
    token: $token
CONF
old=$(sed -n 's/ *\\$//; s/^ExecStart=//p; s/^ *\(--node-ip=.*\|--hostname-override=.*\|--register-with-taints=.*\)/\1/p' /etc/systemd/system/kubelet.service | grep ^-- | tr '\n' ' ')
echo "KUBELET_KUBEADM_ARGS=\"$old\"" >/var/lib/kubelet/kubeadm-flags.env
cat >/etc/systemd/system/kubelet.service.d/10-kubeadm.conf <<'CONF'
[Service]
Type=simple
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
CONF
rm -f kubelet.conf kubelet-ca.crt ca.crt kubeconfig /var/lib/kubelet/kubeconfig
if test -e manifests/kube-apiserver-pod.yaml; then
	for name in controller-manager admin; do
		cp static-pod-resources/kube-apiserver-certs/secrets/node-kubeconfigs/lb-int.kubeconfig $name.conf
		kubectl --kubeconfig=$name.conf config set-cluster lb-int --certificate-authority=pki/ca.crt --embed-certs=true
	done
	sed 's/namespace: openshift-kube-apiserver/namespace: kube-system/' manifests/kube-apiserver-pod.yaml >manifests/kube-apiserver.yaml
	rm -r manifests/kube-apiserver-pod.yaml static-pod-resources
fi
systemctl daemon-reload
systemctl restart kubelet
for i in $(seq 100); do
	test ! -s kubelet.conf || break
	sleep 0.2
done
test ! -e manifests/kube-apiserver.yaml || rm bootstrap-kubelet.conf
test -s kubelet.conf
`

// TestFixKubeadm replaces the CA of a cluster that is no OpenShift, whose nodes are laid out
// as kubeadm does it. The control plane is the lab's, with a certificate of its own for each
// name; its OpenShift kinds are gone.
func TestFixKubeadm(t *testing.T) {
	lab := labtest.TemporaryNodes(t, "master-0", "worker-0")
	f := fixesIn(t, lab)
	f.kubeadm(t)
	text := func(node, path string) string { return mustDo(t, lab, "ssh", node, "sudo cat "+path) }
	all := []string{"fix-api-int", "--via", "ssh"}

	ends(t, f.inLab(t, append(all, "--dry-run=client")...), 0, "No changes")
	before := map[string]string{}
	for _, n := range lab.Nodes() {
		before[n] = text(n, kubeadmOwn)
	}
	join, conf := text("worker-0", kubeadmJoin), text("master-0", "/etc/kubernetes/controller-manager.conf")
	lab.Incident(t, "leaf")
	for _, n := range lab.Nodes() {
		mustDo(t, lab, "ssh", n, "sudo rm -rf /etc/kubernetes/static-pod-resources; sudo systemctl restart kubelet")
	}
	for _, n := range lab.Nodes() {
		lab.WaitNotReady(t, n)
		if out := mustDo(t, lab, "ssh", n, "sudo journalctl -u kubelet --since=-60s -o cat"); !strings.Contains(out, "x509: certificate signed by unknown authority") {
			t.Errorf("the kubelet of %s does not say x509:\n%.2000s", n, out)
		}
	}
	ends(t, f.inLab(t, "fix-api-int", "status", "--via", "ssh", "--details"), 1, "masters: 1 pending", "workers-not-ready: 1 pending")

	r := f.inLab(t, append(all, "--yes", "--details")...)
	ends(t, r, 0, "kube-system/kube-root-ca.crt", kubeadmJoin, kubeadmOwn, "/etc/kubernetes/controller-manager.conf on master-0 lacks", "/etc/kubernetes/pki/ca.crt on master-0 lacks", "/etc/kubernetes/pki/ca.crt on worker-0 lacks",
		"its kube-apiserver answers", "server-side-consistent", "static-pods-settled")
	published := caSums([]byte(mustDo(t, lab, "get", "configmap", "-n", "kube-system", "kube-root-ca.crt", "-o", `jsonpath={.data.ca\.crt}`)))
	if !contains(published, []string{f.newCA(t)}) {
		t.Fatal("kube-root-ca.crt lacks the new CA")
	}
	for _, n := range lab.Nodes() {
		f.reports(t, n)
		if err := unites(before[n], text(n, kubeadmOwn), published); err != nil {
			t.Errorf("%s:%s: %v", n, kubeadmOwn, err)
		}
	}
	if err := unites(join, text("worker-0", kubeadmJoin), published); err != nil {
		t.Errorf("%s: %v", kubeadmJoin, err)
	}
	if out := mustDo(t, lab, "ssh", "master-0", "ls /etc/kubernetes"); strings.Contains(out, "bootstrap-kubelet.conf") || text("master-0", "/etc/kubernetes/controller-manager.conf") != conf {
		t.Errorf("what was to be left on master-0 was not: %s", out)
	}

	ends(t, f.inLab(t, append(all, "--yes")...), 0, "No changes")
	ends(t, f.inLab(t, "fix-api-int", "status", "--via", "ssh"), 0, "nothing is left")

	run := runOf(t, r)
	ends(t, f.inLab(t, "undo", run, "--nodes", "worker-0", "--via", "ssh", "--yes"), 5, "breaks-trust", kubeadmOwn)
	ends(t, f.inLab(t, "undo", run, "--nodes", "worker-0", "--via", "ssh", "--yes", "--accept-risk=breaks-trust"), 0)
	if text("worker-0", kubeadmOwn) != before["worker-0"] || text("worker-0", kubeadmJoin) != join {
		t.Error("undo did not put back the bytes")
	}
	// A script alone, as a person at the node's console has it.
	folder := filepath.Join(t.TempDir(), "scripts")
	ends(t, f.inLab(t, "fix-api-int", "--nodes", "worker-0", "--via", "ssh", "--emit-script", folder), 0)
	script, err := os.ReadFile(filepath.Join(folder, "fix-api-int-worker-0.sh"))
	if err != nil {
		t.Fatal(err)
	}
	mustDo(t, lab, "ssh", "worker-0", "echo "+string(encoded(script))+" | base64 -d >mend.sh; sudo sh mend.sh --yes")
	lab.WaitReady(t, "worker-0")
	mustDo(t, lab, "ssh", "worker-0", "sudo sh mend.sh undo --yes --accept-risk=breaks-trust")

	// Without the API: the CA as a control plane node has it, by a person who put it there.
	mustDo(t, lab, "ssh", "master-0", "sudo sh -c "+nodeexec.Quote(`kubectl --kubeconfig=/etc/kubernetes/kubelet.conf config view --raw -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' | base64 -d >/etc/kubernetes/pki/ca.crt`))
	ends(t, f.inLab(t, "fix-api-int", "--nodes", "worker-0", "--via", "ssh", "--yes", "--details", "--kubeconfig", "/dev/null", "--api-ca-from", "ssh://core@master-0"), 3, kubeadmJoin, kubeadmOwn, "no API server could be asked")
	lab.WaitReady(t, "worker-0")
}

// kubeadm makes the lab a cluster that is no OpenShift.
func (f *fixing) kubeadm(t *testing.T) {
	t.Helper()
	var kinds []string
	for _, crd := range strings.Fields(mustDo(t, f.lab, "get", "crd", "-o", "name")) {
		if strings.HasSuffix(crd, ".openshift.io") {
			kinds = append(kinds, crd)
		}
	}
	mustDo(t, f.lab, append([]string{"delete", "--wait=false"}, kinds...)...)
	ca := string(encoded([]byte(mustDo(t, f.lab, "get", "configmap", "-n", "kube-system", "kube-root-ca.crt", "-o", `jsonpath={.data.ca\.crt}`))))
	for _, n := range f.lab.Nodes() {
		mustDo(t, f.lab, "ssh", n, "sudo sh -ec "+nodeexec.Quote(likeKubeadm)+" sh "+ca)
	}
	for _, n := range f.lab.Nodes() {
		f.lab.WaitReady(t, n)
	}
}

// unites says why a kubeconfig does not trust what was published beside what it trusted
// before, or why more of it is another.
func unites(before, after string, published []string) error {
	was, err := clientcmd.Load([]byte(before))
	if err != nil {
		return err
	}
	is, err := clientcmd.Load([]byte(after))
	if err != nil {
		return err
	}
	cluster := is.Contexts[is.CurrentContext].Cluster
	old, now := caSums(was.Clusters[cluster].CertificateAuthorityData), caSums(is.Clusters[cluster].CertificateAuthorityData)
	if len(published) == 0 || !contains(now, published) || !contains(now, old) {
		return fmt.Errorf("it trusts %d CAs; published are %d, and it had %d", len(now), len(published), len(old))
	}
	b, a := strings.Split(before, "\n"), strings.Split(after, "\n")
	differ := 0
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			differ++
		}
	}
	if len(a) != len(b) || differ != 1 {
		return fmt.Errorf("%d of its %d lines differ, and it had %d", differ, len(a), len(b))
	}
	return nil
}
