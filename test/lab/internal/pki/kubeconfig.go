package pki

import (
	"encoding/base64"
	"fmt"
	"os"
)

// WriteKubeconfig writes a kubeconfig for server, which authenticates with the
// leaf called user and trusts kube-apiserver-server-ca, all of it embedded.
func WriteKubeconfig(path, dir, server, user string) error {
	var data [3]string
	for i, f := range []string{BundleFile(dir, "kube-apiserver-server-ca"), CertFile(dir, user), KeyFile(dir, user)} {
		b, err := os.ReadFile(f)
		if err != nil {
			return fmt.Errorf("write kubeconfig %s: %w", path, err)
		}
		data[i] = base64.StdEncoding.EncodeToString(b)
	}
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: lab
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %s
  user:
    client-certificate-data: %s
    client-key-data: %s
contexts:
- name: lab
  context:
    cluster: lab
    namespace: default
    user: %s
current-context: lab
`, server, data[0], user, data[1], data[2], user)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}
