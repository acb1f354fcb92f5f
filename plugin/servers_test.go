package plugin

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report/reporttest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
)

// protobufOf is how an API server answers who asks for it.
func protobufOf(t *testing.T, list runtime.Object) string {
	t.Helper()
	var out bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(list, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// clusterOf is an API server at api-int's address; some of its clients trust another CA alone. It tells
// the address, and a kubeconfig to it.
func clusterOf(t *testing.T, nodes ...string) (address, kubeconfig string) {
	t.Helper()
	from, to := time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0)
	ca, other := pkitest.NewCA("loadbalancer-serving-signer", from, to), pkitest.NewCA("another CA", from, to)
	var api http.Handler
	url := plugintest.LiveServer(t, ca, func(w http.ResponseWriter, r *http.Request) { api.ServeHTTP(w, r) })
	configMap := func(namespace, name string, ca []byte) corev1.ConfigMap {
		return corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"ca-bundle.crt": string(ca)}}
	}
	maps := []corev1.ConfigMap{
		configMap("openshift-kube-controller-manager", "serviceaccount-ca", ca.CertPEM),
		configMap("openshift-kube-scheduler", "serviceaccount-ca", other.CertPEM),
	}
	for i := range 6 {
		maps = append(maps, configMap("shop", fmt.Sprintf("partners-of-%c", 'a'+i), pkitest.Bundle(ca.CertPEM, other.CertPEM)))
	}
	api = plugintest.SettledAPI().
		With("/api/v1/nodes", plugintest.List(nodes...)).
		With("/api/v1/secrets", protobufOf(t, &corev1.SecretList{})).
		With("/api/v1/configmaps", protobufOf(t, &corev1.ConfigMapList{Items: maps})).
		With("/apis/config.openshift.io/v1/infrastructures", plugintest.List(`{"metadata":{"name":"cluster"},"status":{"controlPlaneTopology":"HighlyAvailable","apiServerInternalURI":"`+url+`"}}`))
	return strings.TrimPrefix(url, "https://"), plugintest.KubeconfigTo(t, fmt.Sprintf("server: %q, certificate-authority: %q", url, plugintest.WriteFile(t, "ca.crt", string(ca.CertPEM))))
}

// TestServerOfTheCluster: one screen says what api-int presents, what verifies it and which of its
// clients do not.
func TestServerOfTheCluster(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	address, kubeconfig := clusterOf(t)
	inspect := func(args ...string) (string, int) {
		t.Helper()
		out, errs, err := typed(t, append([]string{"inspect", address, "--kubeconfig", kubeconfig}, args...)...)
		if errs != "" {
			t.Errorf("%v: stderr: %s", args, errs)
		}
		return out, cli.CodeOf(err)
	}
	out, code := inspect()
	if code != cli.ExitFindings {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{
		"Cluster  https://" + address + "  OpenShift 4.15.1", "\n" + address + "  TLS 1.3  asks for a client certificate\n", "  names      127.0.0.1\n",
		"✓ name     valid for 127.0.0.1, an IP address", "✓ chain    it leads up to a CA that is not in the chain:",
		"✓ trusted  by CA bundles in 8 places\n             file:/", "ConfigMap/openshift-kube-controller-manager/serviceaccount-ca", "             6 more lines: --details\n", "  stored in  no place that was read\n",
		"✗ clients  1 of its 2 known clients do not trust it\n             ✗ kube-scheduler does not trust", "lacks  CA loadbalancer-serving-signer (",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	for _, line := range lines {
		command := strings.HasPrefix(strings.TrimSpace(line), "next  oc certrot --kubeconfig ") // is whole, to be copied
		if utf8.RuneCountInString(line) > 80 && !command || strings.HasSuffix(line, " ") {
			t.Errorf("line %q", line)
		}
	}
	if len(lines) > 23 || strings.Contains(out, "UNKNOWN") {
		t.Errorf("%d lines:\n%s", len(lines), out)
	}
	if out, _ := inspect("--details"); strings.Count(out, "ConfigMap/shop/partners-of-") != 6 || !strings.Contains(out, "✓ kube-controller-manager trusts") || !strings.Contains(out, "impact  new pods are not placed") {
		t.Errorf("--details:\n%s", out)
	}
	if _, code := inspect("--fail-on", "none"); code != cli.ExitFine {
		t.Errorf("--fail-on none: exit code %d", code)
	}
	if out, _ := inspect("--expiring-within", "30d"); !strings.Contains(out, "! WARNING  certificate-expiring: Server/"+address+" expires in") {
		t.Errorf("--expiring-within:\n%s", out)
	}
	if out, _ := inspect("--expiring-within", "30d", "--details"); strings.Contains(out, "kubectl get server") {
		t.Errorf("a command for what is no object:\n%s", out)
	}
	if out, _ := inspect("-o", "wide", "--no-headers"); strings.Contains(out, "CERTIFICATE") || !regexp.MustCompile(`in \d+m +ECDSA P-256 +20\d\d-\d\d-\d\dT\S+Z +[0-9a-f]{64}`).MatchString(out) {
		t.Errorf("wide:\n%s", out)
	}
	if out, _ := inspect("-o", "pem"); !strings.Contains(out, "# Server/"+address+"\n-----BEGIN CERTIFICATE-----\n") || strings.Count(out, "BEGIN") != 1 {
		t.Errorf("pem:\n%s", out)
	}
	if out, _ := inspect("-o", "custom-columns=SERVER:.address,TLS:.tlsVersion,BY:.trustedBy[1]"); !strings.Contains(out, address+"   TLS 1.3   ConfigMap/openshift-kube-controller-manager/") {
		t.Errorf("columns:\n%s", out)
	}
	out, _ = inspect("-o", "yaml")
	var doc map[string]any
	if err := yaml.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	reporttest.Validate(t, doc)
	for _, want := range []string{"kind: ServedChains", "id: served-clients", "status: fail", "clientCertificateRequested: true", "missingCA:"} {
		if !strings.Contains(out, want) {
			t.Errorf("yaml lacks %q:\n%s", want, out)
		}
	}
}

// TestServerCompleted: the API server of the kubeconfig, behind kinds; nothing else is known without
// asking.
func TestServerCompleted(t *testing.T) {
	t.Parallel()
	kubeconfig := plugintest.KubeconfigTo(t, "server: https://api.example.com:6443")
	for typedSoFar, want := range map[string]bool{"": true, "api": true, "api.example.com:": true, "sec": false, "a:1 ": true, "secrets ": false, "--from x ": false} {
		words := strings.Split(typedSoFar, " ")
		out, _, err := typed(t, append([]string{"__complete", "inspect", "--kubeconfig", kubeconfig}, words...)...)
		if err != nil || slices.Contains(strings.Split(out, "\n"), "api.example.com:6443") != want {
			t.Errorf("%q: %v\n%s", typedSoFar, err, out)
		}
	}
}

// TestServersGetNoCredentials: a server is asked by its name, and gets a handshake and nothing else,
// whatever the kubeconfig holds; of an IP address, no name is sent.
func TestServersGetNoCredentials(t *testing.T) {
	from, to := time.Now().Add(-time.Hour), time.Now().AddDate(0, 1, 0)
	ca := pkitest.NewCA("ca", from, to)
	client := ca.Issue("admin", from, to)
	type asked struct {
		name string
		sent []byte
	}
	seen := make(chan asked, 9)
	address := listening(t, func(conn net.Conn) {
		server := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{certificate(t, ca.Issue("own", from, to, pkitest.DNS("localhost"), pkitest.IPs("127.0.0.1", "::1")))}, ClientAuth: tls.RequestClientCert})
		err := server.Handshake()
		data, _ := io.ReadAll(server)
		if err != nil || len(server.ConnectionState().PeerCertificates) > 0 {
			t.Errorf("client certificates %v, %v", server.ConnectionState().PeerCertificates, err)
		}
		seen <- asked{server.ConnectionState().ServerName, data}
	})
	_, port, _ := net.SplitHostPort(address)
	kubeconfig := plugintest.WriteFile(t, "kubeconfig", fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: https://127.0.0.1:1}}]\nusers: [{name: a, user: {token: sesame, client-certificate-data: %s, client-key-data: %s}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n",
		base64.StdEncoding.EncodeToString(client.CertPEM), base64.StdEncoding.EncodeToString(client.KeyPEM)))
	out, _, err := typed(t, "inspect", address, "localhost:"+port, "localhost:"+port, "--kubeconfig", kubeconfig)
	if cli.CodeOf(err) != cli.ExitIncomplete || strings.Count(out, "✓ name     valid for localhost\n") != 1 || !strings.Contains(out, "localhost:"+port+"  answered by 127.0.0.1:"+port+"  TLS 1.3") {
		t.Errorf("%v\n%s", err, out)
	}
	var names []string
	for range 2 { // the server may see the end after the program's
		one := <-seen
		if names = append(names, one.name); len(one.sent) > 0 {
			t.Errorf("%q was sent", one.sent)
		}
	}
	if slices.Sort(names); !slices.Equal(names, []string{"", "localhost"}) || len(seen) > 0 {
		t.Errorf("asked for %q, and %d times more", names, len(seen))
	}
}
