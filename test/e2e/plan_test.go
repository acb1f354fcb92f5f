package e2e

import (
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

const day = 24 * time.Hour

// label marks everything planted with the id of its plan.
const label = "certrot-e2e"

// object is an API object as it is sent.
type object map[string]any

// plan is what is planted: objects, and what is known of them.
type plan struct {
	id      string // begins the name of everything
	now     time.Time
	ca      *pkitest.Authority
	objects []object
	// certs are the certificates planted, by place. The oracle must find them
	// all: so it is tested too.
	certs   sightings
	helm    sightings // what is in releases of Helm, which are not read
	minted  int
	secrets *confidential
}

func newPlan(now time.Time) *plan {
	random := make([]byte, 3)
	_, _ = rand.Read(random) // never fails
	p := &plan{id: "e2e-" + hex.EncodeToString(random), now: now.UTC().Truncate(time.Second), certs: sightings{}, helm: sightings{}, secrets: &confidential{}}
	p.ca = pkitest.NewCA(p.id+" CA", p.now.Add(-day), p.now.Add(3650*day))
	p.secrets.key("the planted CA's key", p.ca.KeyPEM)
	for _, ns := range []string{p.rich(), p.fine(), p.bad()} {
		p.objects = append(p.objects, object{"apiVersion": "v1", "kind": "Namespace", "metadata": p.meta("", ns)})
	}
	p.everyForm()
	p.typesOfSecrets()
	p.revisions()
	p.allIsFine()
	p.webhooks()
	p.conversion()
	p.openShift()
	p.badInput()
	p.users()
	return p
}

// The namespaces: with everything, with nothing to complain of, and with what
// must not break anything.
func (p *plan) rich() string { return p.id + "-rich" }
func (p *plan) fine() string { return p.id + "-fine" }
func (p *plan) bad() string  { return p.id + "-bad" }

func (p *plan) meta(namespace, name string) object {
	m := object{"name": name, "labels": object{label: p.id}}
	if namespace != "" {
		m["namespace"] = namespace
	}
	return m
}

// mint makes a certificate signed by the plan's CA. Its key is confidential.
func (p *plan) mint(opts ...pkitest.Option) pkitest.Pair {
	p.minted++
	cn := fmt.Sprintf("%s %d", p.id, p.minted)
	switch p.minted % 12 { // the default is P-256
	case 3:
		opts = append([]pkitest.Option{pkitest.Ed25519()}, opts...)
	case 7:
		opts = append([]pkitest.Option{pkitest.Curve(elliptic.P384())}, opts...)
	}
	opts = append(opts, pkitest.DNS(fmt.Sprintf("n%d.%s.example", p.minted, p.id)), pkitest.IPs("10.1.2.3", "fd00::1"), pkitest.URIs("spiffe://example/"+p.id))
	pair := p.ca.Issue(cn, p.now.Add(-time.Hour), p.now.Add(400*day), opts...)
	p.secrets.key("key of "+cn, pair.KeyPEM)
	return pair
}

// at returns a mint for what will stand at a place.
func (p *plan) at(places ...string) mint {
	return func(opts ...pkitest.Option) pkitest.Pair {
		pair := p.mint(opts...)
		for _, place := range places {
			p.certs.add(place, shaOf(pair.Cert.Raw))
		}
		return pair
	}
}

func (p *plan) secret(namespace, name, kind string, data map[string][]byte) {
	p.objects = append(p.objects, object{"apiVersion": "v1", "kind": "Secret", "metadata": p.meta(namespace, name), "type": kind, "data": data})
}

func (p *plan) configMap(namespace, name string, values map[string][]byte) {
	data, binary := map[string]string{}, map[string][]byte{}
	for key, value := range values {
		if utf8.Valid(value) {
			data[key] = string(value)
		} else {
			binary[key] = value
		}
	}
	p.objects = append(p.objects, object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": p.meta(namespace, name), "data": data, "binaryData": binary})
}

// everyForm plants each form in a Secret and in a ConfigMap of its own, and all
// together in one of each.
func (p *plan) everyForm() {
	secrets, configMaps := map[string][]byte{}, map[string][]byte{}
	for _, f := range forms() {
		place := func(kind, name, key string) string { return kind + "/" + p.rich() + "/" + name + "[" + key + "]" }
		p.secret(p.rich(), f.name, "Opaque", map[string][]byte{f.key: f.write(p.at(place("Secret", f.name, f.key)))})
		p.configMap(p.rich(), f.name, map[string][]byte{f.key: f.write(p.at(place("ConfigMap", f.name, f.key)))})
		secrets[f.name] = f.write(p.at(place("Secret", "many-keys", f.name)))
		configMaps[f.name] = f.write(p.at(place("ConfigMap", "many-keys", f.name)))
	}
	p.secret(p.rich(), "many-keys", "Opaque", secrets)
	p.configMap(p.rich(), "many-keys", configMaps)
}

// typesOfSecrets plants the built-in types, and all kinds of certificates.
func (p *plan) typesOfSecrets() {
	ns := p.rich()
	place := "Secret/" + ns + "/"
	m := p.at(place + "serving[tls.crt]")
	leaf := m(pkitest.RSA(2048), pkitest.Usages(x509.ExtKeyUsageServerAuth))
	p.certs.add(place+"serving[tls.crt]", shaOf(p.ca.Cert.Raw))
	p.secret(ns, "serving", "kubernetes.io/tls", map[string][]byte{"tls.crt": pkitest.Bundle(leaf.CertPEM, p.ca.CertPEM), "tls.key": leaf.KeyPEM})

	token := p.secrets.token("planted token")
	ca, client := p.at(place+"with-a-token[kubeconfig]"), p.at(place+"with-a-token[kubeconfig]")
	p.secret(ns, "with-a-token", "Opaque", map[string][]byte{"token": []byte(token), "kubeconfig": kubeconfigWith(ca(), client(), token)})

	// The controller manager fills this one with a CA and a real token.
	p.objects = append(p.objects, object{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": p.meta(ns, "robot")})
	meta := p.meta(ns, "robot-token")
	meta["annotations"] = object{"kubernetes.io/service-account.name": "robot"}
	p.objects = append(p.objects, object{"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "kubernetes.io/service-account-token"})

	usages := p.at(place + "usages[tls.pem]")
	p.secret(ns, "usages", "Opaque", map[string][]byte{"tls.pem": pkitest.Bundle(
		usages(pkitest.Usages()).CertPEM,
		usages(pkitest.Usages(x509.ExtKeyUsageAny)).CertPEM,
		usages(pkitest.Usages(x509.ExtKeyUsageCodeSigning, x509.ExtKeyUsageEmailProtection, x509.ExtKeyUsageTimeStamping, x509.ExtKeyUsageOCSPSigning)).CertPEM,
		usages(pkitest.Template(func(c *x509.Certificate) {
			c.UnknownExtKeyUsage = append(c.UnknownExtKeyUsage, []int{1, 2, 3, 4, 5})
			c.EmailAddresses = []string{"root@example.com"}
		})).CertPEM,
	)})
}

// revisions plants the copies of a static pod's Secret.
func (p *plan) revisions() {
	const ns = "openshift-kube-apiserver"
	for n := 1; n <= 3; n++ {
		name := fmt.Sprintf("%s-serving-%d", p.id, n)
		pair := p.at("Secret/" + ns + "/" + name + "[tls.crt]")()
		p.secret(ns, name, "kubernetes.io/tls", map[string][]byte{"tls.crt": pair.CertPEM, "tls.key": pair.KeyPEM})
	}
}

// allIsFine plants what no check has anything against.
func (p *plan) allIsFine() {
	place := p.fine() + "/"
	pair := p.at("Secret/" + place + "serving[tls.crt]")()
	p.secret(p.fine(), "serving", "kubernetes.io/tls", map[string][]byte{"tls.crt": pair.CertPEM, "tls.key": pair.KeyPEM})
	p.certs.add("ConfigMap/"+place+"ca[ca.crt]", shaOf(p.ca.Cert.Raw))
	p.configMap(p.fine(), "ca", map[string][]byte{"ca.crt": p.ca.CertPEM})
}

// authority mints one more CA for a bundle at a place.
func (p *plan) authority(place string) []byte {
	p.minted++
	ca := pkitest.NewCA(fmt.Sprintf("%s CA %d", p.id, p.minted), p.now.Add(-day), p.now.Add(3650*day))
	p.secrets.key("key of a CA for "+place, ca.KeyPEM)
	p.certs.add(place, shaOf(ca.Cert.Raw))
	return ca.CertPEM
}

// webhooks plants configurations that match no request: no object has their
// label.
func (p *plan) webhooks() {
	for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		var hooks []object
		for n := range 3 {
			place := fmt.Sprintf("%s/%s#webhooks[%d].clientConfig.caBundle", kind, p.id, n)
			hooks = append(hooks, object{
				"name":                    fmt.Sprintf("w%d.%s.example.com", n, p.id),
				"clientConfig":            object{"service": object{"namespace": p.rich(), "name": "none"}, "caBundle": pkitest.Bundle(p.authority(place), p.authority(place))},
				"rules":                   []object{{"apiGroups": []string{p.id + ".example.com"}, "apiVersions": []string{"v1"}, "operations": []string{"CREATE"}, "resources": []string{"none"}}},
				"namespaceSelector":       object{"matchLabels": object{p.id: "never"}},
				"failurePolicy":           "Ignore",
				"sideEffects":             "None",
				"admissionReviewVersions": []string{"v1"},
			})
		}
		p.objects = append(p.objects, object{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": p.meta("", p.id), "webhooks": hooks})
	}
}

// group is the API group of the planted CustomResourceDefinition.
func (p *plan) group() string { return strings.ReplaceAll(p.id, "-", "") + ".example.com" }

// conversion plants a CRD whose versions are converted by a webhook. There is
// no object of it, so the webhook is never called.
func (p *plan) conversion() {
	name := "things." + p.group()
	place := "CustomResourceDefinition/" + name + "#spec.conversion.webhook.clientConfig.caBundle"
	schema := object{"openAPIV3Schema": object{"type": "object"}}
	p.objects = append(p.objects, object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": p.meta("", name),
		"spec": object{
			"group": p.group(), "scope": "Namespaced",
			"names":    object{"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"},
			"versions": []object{{"name": "v1", "served": true, "storage": true, "schema": schema}, {"name": "v2", "served": true, "storage": false, "schema": schema}},
			"conversion": object{"strategy": "Webhook", "webhook": object{
				"conversionReviewVersions": []string{"v1"},
				"clientConfig":             object{"service": object{"namespace": p.rich(), "name": "none"}, "caBundle": pkitest.Bundle(p.authority(place), p.authority(place))},
			}},
		},
	})
}

// apiService is an aggregated API whose service does not exist. It is planted
// by one test only, for a moment: discovery suffers from it.
func (p *plan) apiService() object {
	place := "APIService/v1." + p.group() + ".aggregated#spec.caBundle"
	return object{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": p.meta("", "v1."+p.group()+".aggregated"),
		"spec": object{
			"group": p.group() + ".aggregated", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
			"service": object{"namespace": p.rich(), "name": "none"}, "caBundle": pkitest.Bundle(p.authority(place), p.authority(place)),
		},
	}
}

// places are where certificates were planted.
func (p *plan) places() []string { return slices.Sorted(maps.Keys(p.certs)) }
