package collect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Kubeconfig returns the source of the certificates in the caller's own
// kubeconfig, of the context in use: the CA that it trusts and the client
// certificate that it presents.
func Kubeconfig(sc *pki.Scanner, config clientcmdapi.Config, contextName string) Source {
	return reader{"kubeconfig", whole(func(context.Context) inspect.Snapshot {
		var s inspect.Snapshot
		kctx := config.Contexts[contextName]
		if kctx == nil {
			return s
		}
		k := kubeconfigReader{sc: sc, into: &s}
		if cl := config.Clusters[kctx.Cluster]; cl != nil {
			k.read(cl.LocationOfOrigin, fmt.Sprintf("clusters[%q].cluster.certificate-authority", inspect.WithoutUserinfo(kctx.Cluster)), cl.CertificateAuthorityData, cl.CertificateAuthority)
		}
		if u := config.AuthInfos[kctx.AuthInfo]; u != nil {
			k.read(u.LocationOfOrigin, fmt.Sprintf("users[%q].user.client-certificate", inspect.WithoutUserinfo(kctx.AuthInfo)), u.ClientCertificateData, u.ClientCertificate)
		}
		s.Reads = append(s.Reads, inspect.Read{What: "kubeconfig", Where: "context " + inspect.WithoutUserinfo(contextName), Objects: 1})
		return s
	})}
}

type kubeconfigReader struct {
	sc   *pki.Scanner
	into *inspect.Snapshot
}

// read scans a value of the kubeconfig: the data that it embeds, else the file
// that it names.
func (k kubeconfigReader) read(origin, field string, data []byte, path string) {
	if len(data) > 0 {
		for _, f := range k.sc.Scan(data) {
			at := pki.Location{Kind: pki.KindFile, Path: origin, Field: field + "-data"}
			k.into.Bundles = append(k.into.Bundles, inspect.Bundle{At: at, Content: f.Content})
		}
		return
	}
	if path == "" {
		return
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(origin), path)
	}
	raw, err := readSmall(path)
	if err != nil {
		k.into.Gaps = append(k.into.Gaps, inspect.Gap{What: "kubeconfig", Where: origin, Reason: reason(field, err), Next: "check the path in the kubeconfig"})
		return
	}
	for _, f := range k.sc.Scan(raw) {
		at := pki.Location{Kind: pki.KindFile, Path: path, Field: f.Field}
		k.into.Bundles = append(k.into.Bundles, inspect.Bundle{At: at, Content: f.Content})
	}
}

// readSmall reads a regular file of a size that a certificate file has.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: not a regular file (%s)", path, info.Mode().Type())
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("read %s: %d bytes are more than the %d that a file of certificates may have", path, info.Size(), maxFile)
	}
	return os.ReadFile(path)
}
