package collect

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// Programs name the entries of a kubeconfig after a server's URL, password included.
func TestNoPasswordInTheNamesOfAKubeconfigIsKept(t *testing.T) {
	t.Parallel()
	const name = "https://admin:hunter2@127.0.0.1:1"
	ca := pkitest.NewCA("ca", time.Unix(1.7e9, 0), time.Unix(2e9, 0))
	config := clientcmdapi.Config{
		Contexts: map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		Clusters: map[string]*clientcmdapi.Cluster{name: {LocationOfOrigin: "/home/me/.kube/config", Server: name, CertificateAuthorityData: ca.CertPEM}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {LocationOfOrigin: "/home/me/.kube/config", ClientCertificateData: ca.CertPEM, Token: "hunter2",
			Exec: &clientcmdapi.ExecConfig{Command: "/bin/login", Args: []string{"hunter2"}}}},
	}
	s := All(t.Context(), Kubeconfig(pki.NewScanner(), config, name), Access(config, name, inspect.ServerURL(name)))
	text, err := json.Marshal(packSnapshot(s))
	if err != nil || strings.Contains(string(text), "hunter2") || s.Access == nil || s.Access.Context == "" {
		t.Errorf("%v: %s", err, text)
	}
	if !slices.ContainsFunc(s.Bundles, func(b inspect.Bundle) bool { return b.At == s.Access.Trust }) {
		t.Errorf("the CA at %s is not what the kubeconfig's reading found", s.Access.Trust)
	}
	read, err := (&fileAccess{Context: name}).unpack()
	if err != nil || strings.Contains(read.Context, "hunter2") {
		t.Errorf("of a file: %+v, %v", read, err)
	}
}
