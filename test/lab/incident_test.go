//go:build linux

package main

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

const (
	operatorNamespace  = "openshift-kube-apiserver-operator"
	apiserverNamespace = "openshift-kube-apiserver"
	oldCA              = "kube-apiserver-lb-signer"
	newCA              = "openshift-kube-apiserver-operator_loadbalancer-serving-signer@"
)

// The incident, from a rotation that is not noticed to a node that is not reached,
// beside one that was repaired and others that are still connected, and back.
func TestIncident(t *testing.T) {
	lab := labtest.RequireNodes(t)
	node := worker(t, lab)
	others := slices.DeleteFunc(lab.Nodes(), func(n string) bool { return n == node })
	if len(others) == 0 {
		t.Skip("needs two nodes in the lab, which LAB_NODES left out")
	}
	repaired, connected := others[len(others)-1], others[:len(others)-1]
	before := incidentPlaces(t, lab)
	old := secretCert(t, lab, operatorNamespace, pki.LoadBalancerSigner)
	putBack := savedKubeconfig(t, lab, repaired)
	t.Cleanup(putBack) // registered first, so that it comes after the incident is undone

	lab.Incident(t, "signer")
	ca := secretCert(t, lab, operatorNamespace, pki.LoadBalancerSigner)
	t.Run("signer: a new CA beside the old one, and nothing else", func(t *testing.T) {
		if !strings.HasPrefix(ca.Subject.CommonName, newCA) || ca.CheckSignatureFrom(ca) != nil {
			t.Errorf("the new CA is %s of %s", ca.Subject, ca.Issuer)
		}
		for key, want := range map[string]string{
			`annotations.auth\.openshift\.io/certificate-issuer`:     ca.Subject.CommonName,
			`annotations.auth\.openshift\.io/certificate-not-before`: ca.NotBefore.UTC().Format(time.RFC3339),
			`annotations.auth\.openshift\.io/certificate-not-after`:  ca.NotAfter.UTC().Format(time.RFC3339),
			`labels.auth\.openshift\.io/managed-certificate-type`:    "signer",
		} {
			if got := lab.KubectlOutput(t, "-n", operatorNamespace, "get", "secret", pki.LoadBalancerSigner, "-o", "jsonpath={.metadata."+key+"}"); got != want {
				t.Errorf("metadata.%s of the signer is %q, want %q", key, got, want)
			}
		}
		for _, place := range []string{
			operatorNamespace + "/loadbalancer-serving-ca", apiserverNamespace + "/kube-apiserver-server-ca",
			"openshift-config-managed/kube-apiserver-server-ca", "openshift-kube-controller-manager/serviceaccount-ca",
			"openshift-multus/kube-root-ca.crt",
		} {
			if got := bundleAt(t, lab, place); !slices.ContainsFunc(got, ca.Equal) || !slices.ContainsFunc(got, old.Equal) {
				t.Errorf("ConfigMap %s does not have both the new CA and the old one", place)
			}
		}
		if got := servedBy(t, lab, old); got.Issuer.CommonName != oldCA {
			t.Errorf("api-int is served by %s", got.Issuer)
		}
		allReady(t, lab, lab.Nodes())
	})
	lab.Incident(t, "signer")
	t.Run("signer again: no second CA", func(t *testing.T) {
		if !secretCert(t, lab, operatorNamespace, pki.LoadBalancerSigner).Equal(ca) {
			t.Error("there is another CA")
		}
	})

	lab.Incident(t, "leaf")
	leafServed := time.Now()
	t.Run("leaf: api-int serves the new CA's, and who is connected stays so", func(t *testing.T) {
		got := servedBy(t, lab, ca)
		if want := secretCert(t, lab, apiserverNamespace, pki.InternalServing); !got.Equal(want) || !slices.Equal(got.DNSNames, []string{pki.InternalHost}) {
			t.Errorf("api-int is served by serial %s for %v, the Secret has serial %s", got.SerialNumber, got.DNSNames, want.SerialNumber)
		}
		for from, got := range map[string]string{
			"the host":   lab.KubectlOutput(t, "get", "--raw", "/readyz"),
			"the inside": lab.Run(t, "kubectl", "get", "--raw", "/readyz"),
		} {
			if got != "ok" {
				t.Errorf("/readyz says %q to an administrator from %s", got, from)
			}
		}
		allReady(t, lab, lab.Nodes())
		for _, n := range lab.Nodes() {
			if err := execInto(t, lab, n); err != nil {
				t.Errorf("exec into a pod of %s: %v", n, err)
			}
		}
	})
	t.Run("leaf: a master has it on its disk", func(t *testing.T) { masterFollows(t, lab, ca) })

	repair(t, lab, repaired, ca)
	lab.Incident(t, "reconnect", node, repaired)
	t.Run("reconnect: who does not trust the new CA is lost", func(t *testing.T) {
		lab.WaitNotReady(t, node)
		if err := execInto(t, lab, node); err == nil || !strings.Contains(err.Error(), "Authorization error") {
			t.Errorf("exec into a pod of %s: %v", node, err)
		}
		if got := lab.SSH(t, node, "hostname"); got != node+"\n" {
			t.Errorf("ssh %s says %q", node, got)
		}
		if out, _ := lab.Status(); !strings.Contains(out, "reconnect ("+node+" "+repaired+")") {
			t.Errorf("status does not say how far the incident is:\n%s", out)
		}
	})
	t.Run("reconnect: who was repaired, or has not had to connect, is well", func(t *testing.T) {
		allReady(t, lab, others)
		if err := execInto(t, lab, repaired); err != nil {
			t.Errorf("exec into a pod of %s, which was repaired: %v", repaired, err)
		}
		for _, n := range connected {
			if at := heartbeat(t, lab, n); !at.After(leafServed) {
				t.Errorf("node %s, which is still connected, has had no heartbeat since %s", n, at)
			}
		}
	})
	t.Run("an earlier stage is refused and changes nothing", func(t *testing.T) {
		c := exec.CommandContext(t.Context(), "go", "run", ".", "incident", "signer")
		c.Env = append(os.Environ(), "LAB_DIR="+lab.Dir)
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "nothing was changed") || !strings.Contains(string(out), "make lab-heal") {
			t.Errorf("%v: %s", err, out)
		}
		if !servedBy(t, lab, ca).Equal(secretCert(t, lab, apiserverNamespace, pki.InternalServing)) {
			t.Error("api-int is served by another certificate than before")
		}
	})

	lab.Heal(t)
	t.Run("heal puts everything back", func(t *testing.T) {
		if got := servedBy(t, lab, old); got.Issuer.CommonName != oldCA {
			t.Errorf("api-int is served by %s", got.Issuer)
		}
		allReady(t, lab, lab.Nodes())
		for _, n := range lab.Nodes() {
			if err := execInto(t, lab, n); err != nil {
				t.Errorf("exec into a pod of %s: %v", n, err)
			}
		}
		after := incidentPlaces(t, lab)
		for place, want := range before {
			if after[place] != want {
				t.Errorf("%s is not what it was", place)
			}
		}
		for place := range after {
			if _, there := before[place]; !there {
				t.Errorf("%s was not there before", place)
			}
		}
		out, _ := lab.Status()
		if _, err := os.Stat(filepath.Join(lab.Dir, "incident")); err == nil || strings.Contains(out, "incident") {
			t.Errorf("the incident is not over (%v):\n%s", err, out)
		}
	})
}

func TestIncidentOfAnUnknownStageOrNodeIsAnError(t *testing.T) {
	lab := labtest.RequireNodes(t)
	for _, c := range []struct {
		name, want string
		args       []string
	}{
		{"a stage", "signer, leaf, reconnect", []string{"explosion"}},
		{"a node", lab.Nodes()[0], []string{"reconnect", "no-such-node"}},
		{"a node of a stage that is of none", "LAB_STAGE=reconnect", []string{"leaf", lab.Nodes()[0]}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", append([]string{"run", ".", "incident"}, c.args...)...)
			cmd.Env = append(os.Environ(), "LAB_DIR="+lab.Dir)
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(lab.Dir, "incident")); err == nil {
		t.Error("there is an incident")
	}
}

// incidentPlaces is everything that the incident may change, as text.
func incidentPlaces(t *testing.T, lab *labtest.Lab) map[string]string {
	t.Helper()
	places := map[string]string{}
	var list struct {
		Items []struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Namespace   string            `json:"namespace"`
				Name        string            `json:"name"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
			Data map[string]string `json:"data"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(lab.KubectlOutput(t, "get", "secrets,configmaps", "--all-namespaces", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	for _, i := range list.Items {
		// encoding/json sorts keys.
		text, err := json.Marshal([]any{i.Metadata.Labels, i.Metadata.Annotations, i.Data})
		if err != nil {
			t.Fatal(err)
		}
		places[i.Kind+" "+i.Metadata.Namespace+"/"+i.Metadata.Name] = string(text)
	}
	files, err := filepath.Glob(filepath.Join(lab.Dir, "pki", "*"))
	if err != nil {
		t.Fatal(err)
	}
	inner, err := filepath.Glob(filepath.Join(lab.Dir, "inner", "*.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, inner...) {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		places[f] = info.Mode().String() + "\n" + string(text)
	}
	for _, n := range lab.Nodes() {
		if strings.HasPrefix(n, "master") {
			sums := lab.SSH(t, n, "cd /etc/kubernetes/static-pod-resources && sudo find . -type f -exec stat -c '%a %U:%G' {} ';' -exec sha256sum {} ';' | paste -d ' ' - - | sort -k 4")
			for line := range strings.Lines(sums) {
				fields := strings.Fields(line)
				places["node/"+n+":"+fields[len(fields)-1]] = line
			}
		}
	}
	return places
}

func bundleAt(t *testing.T, lab *labtest.Lab, place string) []*x509.Certificate {
	t.Helper()
	namespace, name, _ := strings.Cut(place, "/")
	var data map[string]string
	if err := json.Unmarshal([]byte(lab.KubectlOutput(t, "-n", namespace, "get", "configmap", name, "-o", "jsonpath={.data}")), &data); err != nil {
		t.Fatal(err)
	}
	var all []*x509.Certificate
	for _, text := range data {
		all = append(all, certificatesIn(t, []byte(text))...)
	}
	return all
}

func certificatesIn(t *testing.T, text []byte) []*x509.Certificate {
	t.Helper()
	var all []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, cert)
	}
	return all
}

// servedBy is what api-int serves to who trusts one CA alone.
func servedBy(t *testing.T, lab *labtest.Lab, ca *x509.Certificate) *x509.Certificate {
	t.Helper()
	got, err := handshake(t.Context(), apiAddress(t, lab), pki.InternalHost, poolOf(ca))
	if err != nil {
		t.Fatalf("trusting %s alone: %v", ca.Subject.CommonName, err)
	}
	return got
}

func poolOf(ca *x509.Certificate) *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	return roots
}

// apiAddress is where the host reaches the API server.
func apiAddress(t *testing.T, lab *labtest.Lab) string {
	t.Helper()
	server, err := url.Parse(lab.KubectlOutput(t, "config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"))
	if err != nil {
		t.Fatal(err)
	}
	return server.Host
}

func allReady(t *testing.T, lab *labtest.Lab, nodes []string) {
	t.Helper()
	for _, n := range nodes {
		if got := lab.KubectlOutput(t, "get", "node", n, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`); got != "True" {
			t.Errorf("node %s has Ready=%s", n, got)
		}
	}
}

// masterFollows looks for the new certificates on a master: its own copies, and
// the kubeconfigs there that lead to api-int.
func masterFollows(t *testing.T, lab *labtest.Lab, ca *x509.Certificate) {
	t.Helper()
	master := lab.Nodes()[0]
	if !strings.HasPrefix(master, "master") {
		t.Skip("needs a master among the lab's nodes, which LAB_NODES left out")
	}
	const folder = "/etc/kubernetes/static-pod-resources/"
	want := secretText(t, lab, apiserverNamespace, pki.InternalServing)
	if got := lab.SSH(t, master, "sudo", "cat", folder+"kube-apiserver-certs/secrets/internal-loadbalancer-serving-certkey/tls.crt"); got != want {
		t.Errorf("the certificate of api-int on the disk of %s is not the one in the Secret", master)
	}
	for path, want := range map[string]bool{
		"kube-apiserver-pod-1/configmaps/kube-apiserver-server-ca/ca-bundle.crt":                                       false,
		latestOf(t, lab, master, folder, "kube-apiserver-pod") + "configmaps/kube-apiserver-server-ca/ca-bundle.crt":   true,
		latestOf(t, lab, master, folder, "kube-controller-manager-pod") + "configmaps/serviceaccount-ca/ca-bundle.crt": true,
	} {
		bundle := certificatesIn(t, []byte(lab.SSH(t, master, "sudo", "cat", folder+path)))
		if got := slices.ContainsFunc(bundle, ca.Equal); got != want {
			t.Errorf("the new CA is in %s: %v, want %v", path, got, want)
		}
	}
	if got := lab.SSH(t, master, "sudo", "kubectl", "--kubeconfig", folder+"kube-apiserver-certs/secrets/node-kubeconfigs/lb-int.kubeconfig", "get", "--raw", "/readyz"); got != "ok" {
		t.Errorf("/readyz by lb-int.kubeconfig of %s says %q", master, got)
	}
}

// latestOf is the folder of a static pod's latest revision, of those below folder.
func latestOf(t *testing.T, lab *labtest.Lab, master, folder, pod string) string {
	t.Helper()
	all := strings.Fields(lab.SSH(t, master, "cd "+folder+" && sudo ls -d "+pod+"-* | sort -V"))
	return all[len(all)-1] + "/"
}

// execInto runs a command in the pod of machine-config-daemon on a node.
func execInto(t *testing.T, lab *labtest.Lab, node string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	out, err := lab.OnHost(ctx, "kubectl", "-n", mcdNamespace, "exec", mcdPod(t, lab, node), "--", "true").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

const kubeconfigBefore = "/var/lib/kubelet/kubeconfig.before-the-incident"

// savedKubeconfig puts aside a copy of a kubelet's kubeconfig, and returns how it
// comes back.
func savedKubeconfig(t *testing.T, lab *labtest.Lab, node string) func() {
	t.Helper()
	lab.SSH(t, node, "sudo", "cp", "-a", kubeletConfig, kubeconfigBefore)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		c := lab.SSHCommand(ctx, node, "sudo mv "+kubeconfigBefore+" "+kubeletConfig+"; "+restartKubelet)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("put back %s of %s: %v: %s", kubeletConfig, node, err, out)
		}
		lab.WaitReady(t, node)
	}
}

// repair has a kubelet trust one CA more, and connect again.
func repair(t *testing.T, lab *labtest.Lab, node string, ca *x509.Certificate) {
	t.Helper()
	const field = "certificate-authority-data: "
	text := lab.SSH(t, node, "sudo", "cat", kubeletConfig)
	start := strings.Index(text, field) + len(field)
	data, rest, _ := strings.Cut(text[start:], "\n")
	bundle, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw})...)
	c := lab.SSHCommand(t.Context(), node, "sudo tee "+kubeletConfig+" >/dev/null; "+restartKubelet)
	c.Stdin = strings.NewReader(text[:start] + base64.StdEncoding.EncodeToString(bundle) + "\n" + rest)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("repair node %s: %v: %s", node, err, out)
	}
}
