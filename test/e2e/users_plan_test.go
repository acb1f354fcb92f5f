package e2e

import (
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// user is one who may not read everything, with a client certificate of
// the cluster's own signer.
type user struct {
	name  string
	rules []object // in the whole cluster
	in    []string // namespaces where Secrets and ConfigMaps may be listed
}

func (p *plan) someUsers() []user {
	list := func(group, resource string) object {
		return object{"apiGroups": []string{group}, "resources": []string{resource}, "verbs": []string{"list"}}
	}
	return []user{
		{name: "configmaps-only", rules: []object{list("", "configmaps")}},
		{name: "two-namespaces", rules: []object{list("", "namespaces")}, in: []string{p.fine(), p.rich()}},
		{name: "no-namespace-list", in: []string{p.fine(), p.rich()}},
		{name: "nobody"},
	}
}

func (p *plan) userName(name string) string { return p.id + "-" + name }

// users plants their rights, and their requests for certificates, and requests
// that end in every other way.
func (p *plan) users() {
	const rbac, group = "rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io"
	for _, u := range p.someUsers() {
		name := p.userName(u.name)
		subjects := []object{{"kind": "User", "name": name, "apiGroup": group}}
		if len(u.rules) > 0 {
			p.objects = append(p.objects,
				object{"apiVersion": rbac, "kind": "ClusterRole", "metadata": p.meta("", name), "rules": u.rules},
				object{"apiVersion": rbac, "kind": "ClusterRoleBinding", "metadata": p.meta("", name), "subjects": subjects,
					"roleRef": object{"apiGroup": group, "kind": "ClusterRole", "name": name}})
		}
		for _, ns := range u.in {
			p.objects = append(p.objects,
				object{"apiVersion": rbac, "kind": "Role", "metadata": p.meta(ns, name),
					"rules": []object{{"apiGroups": []string{""}, "resources": []string{"secrets", "configmaps"}, "verbs": []string{"list"}}}},
				object{"apiVersion": rbac, "kind": "RoleBinding", "metadata": p.meta(ns, name), "subjects": subjects,
					"roleRef": object{"apiGroup": group, "kind": "Role", "name": name}})
		}
		p.request(name, "kubernetes.io/kube-apiserver-client", name)
	}
	for _, how := range []string{"pending", "denied"} {
		p.request(p.id+"-"+how, "kubernetes.io/kube-apiserver-client", how)
	}
	for _, how := range []string{"approved", "failed", "chain"} {
		p.request(p.id+"-"+how, "example.com/"+p.id, how)
	}
	p.request(p.oddRequest(), "kubernetes.io/kube-apiserver-client", "odd")
}

// oddRequest is a name that only CertificateSigningRequests may have.
func (p *plan) oddRequest() string { return p.id + ":odd name#[x]é" }

// request plants a CertificateSigningRequest.
func (p *plan) request(name, signer, cn string) {
	request, key := pkitest.Request(cn, pkitest.Subject(pkix.Name{CommonName: cn, Organization: []string{p.id}}), pkitest.KeyName(p.id+name), pkitest.DNS("r.example"))
	p.secrets.key("key of the request "+name, key)
	p.secrets.keep(name, key)
	p.objects = append(p.objects, object{
		"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": p.meta("", name),
		"spec": object{"request": request, "signerName": signer, "usages": []string{"client auth", "digital signature", "key encipherment"}},
	})
}

// chainPatch is the status that a signer of one's own would write: a chain,
// with text between.
func (p *plan) chainPatch() []byte {
	m := p.at(fmt.Sprintf("CertificateSigningRequest/%s-chain#status.certificate", p.id))
	chain := fmt.Appendf(nil, "the leaf\n%sits issuer\n%s", m().CertPEM, m().CertPEM)
	return asJSON(object{"status": object{"certificate": chain}})
}

func asPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
