package main

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// object is a Kubernetes object as JSON has it.
type object = map[string]any

func meta(namespace, name string, created time.Time, annotations map[string]string) object {
	m := object{"name": name, "creationTimestamp": created.Format(time.RFC3339)}
	if namespace != "" {
		m["namespace"] = namespace
	}
	if len(annotations) > 0 {
		m["annotations"] = annotations
	}
	return m
}

// secret holds a pair as a secret for TLS does.
func secret(namespace, name, label string, annotations map[string]string, p pkitest.Pair) object {
	m := meta(namespace, name, p.Cert.NotBefore, annotations)
	if label != "" {
		m["labels"] = map[string]string{catalog.LabelManagedType: label}
	}
	return object{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": m,
		"data": map[string][]byte{"tls.crt": p.CertPEM, "tls.key": p.KeyPEM},
	}
}

// rotated are the annotations of library-go's rotation.
func rotated(p pkitest.Pair) map[string]string {
	return map[string]string{
		catalog.AnnotationNotBefore: p.Cert.NotBefore.Format(time.RFC3339),
		catalog.AnnotationNotAfter:  p.Cert.NotAfter.Format(time.RFC3339),
		catalog.AnnotationIssuer:    p.Cert.Issuer.CommonName,
	}
}

func signer(name string, ca *pkitest.Authority) object {
	return secret(op, name, catalog.ManagedSigner, rotated(ca.Pair), ca.Pair)
}

func target(namespace, name string, _ *pkitest.Authority, p pkitest.Pair) object {
	return secret(namespace, name, catalog.ManagedTarget, rotated(p), p)
}

func servedByServiceCA(namespace, name, service string, ca *pkitest.Authority) object {
	host := service + "." + namespace + ".svc"
	from := at("2023-07-22 05:00")
	p := ca.Issue(host, from, from.Add(2*years(1)), pkitest.DNS(host, host+".cluster.local"))
	return secret(namespace, name, "", map[string]string{catalog.AnnotationServiceName: service}, p)
}

func configMap(namespace, name string, labels, data map[string]string) object {
	m := meta(namespace, name, born, nil)
	if len(labels) > 0 {
		m["labels"] = labels
	}
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": m, "data": data}
}

func caConfigMap(namespace, name, key string, labels map[string]string, cas ...*pkitest.Authority) object {
	return configMap(namespace, name, labels, map[string]string{key: string(blocks(cas))})
}

// bundle is a CA bundle as OpenShift's operators keep it.
func bundle(namespace, name string, cas ...*pkitest.Authority) object {
	return caConfigMap(namespace, name, "ca-bundle.crt", map[string]string{catalog.LabelManagedType: catalog.ManagedCABundle}, cas...)
}

// nodeKubeconfigs are those that lie on masters, here without their user.
func nodeKubeconfigs(cas ...*pkitest.Authority) object {
	data := map[string][]byte{}
	for name, server := range map[string]string{
		"localhost": "https://localhost:6443", "localhost-recovery": "https://localhost:6443\n    tls-server-name: localhost-recovery",
		"lb-int": "https://" + apiInt + ":6443", "lb-ext": "https://api.okd.example.com:6443",
	} {
		data[name+".kubeconfig"] = fmt.Appendf(nil, "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    certificate-authority-data: %s\n    server: %s\n  name: %s\n",
			base64.StdEncoding.EncodeToString(blocks(cas)), server, name)
	}
	return object{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": meta(tgt, "node-kubeconfigs", born, nil), "data": data}
}

// accountToken is the Secret of a service account's token: the CA beside it, and no
// token, which would be of no use here.
func accountToken(namespace, account string, cas ...*pkitest.Authority) object {
	return object{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
		"metadata": meta(namespace, account+"-token", born, map[string]string{"kubernetes.io/service-account.name": account}),
		"data":     map[string][]byte{"ca.crt": blocks(cas)},
	}
}

func blocks(cas []*pkitest.Authority) []byte {
	var out [][]byte
	for _, ca := range cas {
		out = append(out, ca.CertPEM)
	}
	return pkitest.Bundle(out...)
}

func apiService(name string, ca *pkitest.Authority) object {
	return object{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": meta("", name, born, nil), "spec": object{"caBundle": ca.CertPEM}}
}

func webhook(name string, ca *pkitest.Authority) object {
	return object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": meta("", name, ca.Cert.NotBefore, nil),
		"webhooks": []object{{"name": name + ".example.com", "clientConfig": object{"caBundle": ca.CertPEM}, "failurePolicy": "Fail"}},
	}
}

// request is a pending CertificateSigningRequest.
func request(name, cn, requester, signer string, when time.Time) object {
	csr, _ := pkitest.Request(cn, pkitest.KeyName(name), pkitest.Template(func(c *x509.Certificate) { // as a client that asks again
		if strings.HasPrefix(cn, "system:node:") {
			c.Subject.Organization = []string{"system:nodes"}
		}
	}))
	return object{
		"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": meta("", name, when, nil),
		"spec": object{"request": csr, "signerName": signer, "username": requester},
	}
}
