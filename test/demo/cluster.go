package main

import (
	"crypto/x509"
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

const (
	okd = "4.15.0-0.okd-2024-01-27-070424"
	op  = "openshift-kube-apiserver-operator"
	tgt = "openshift-kube-apiserver"
	mng = "openshift-config-managed"
	kcm = "openshift-kube-controller-manager"
)

// The times of the incident. The cluster was born long ago (4.1), so its signers
// have the type that made 4.15 replace one of them by accident; nine days after
// the upgrade the new signer signs api-int's certificate; next morning we look.
var (
	born     = at("2019-08-14 09:12")
	upgraded = at("2024-01-31 15:02")
	resigned = at("2024-02-10 02:55")
	taken    = at("2024-02-10 06:30")
)

const day = 24 * time.Hour

func years(n int) time.Duration { return time.Duration(n) * 365 * day }

// cluster is every object, in no special order.
func cluster() []object {
	var s []object
	add := func(objects ...object) { s = append(s, objects...) }

	// the load balancer's signer: the installer's, and the one that replaced it
	oldLB, newLB := loadBalancer()
	localhost := pkitest.NewCA("kube-apiserver-localhost-signer", born, born.Add(years(10)))
	service := pkitest.NewCA("kube-apiserver-service-network-signer", born, born.Add(years(10)))
	recovery := pkitest.NewCA(generated(op, "localhost-recovery-serving-signer", at("2020-06-02 11:40")), at("2020-06-02 11:40"), at("2020-06-02 11:40").Add(years(10)))
	add(signer("loadbalancer-serving-signer", newLB), bundle(op, "loadbalancer-serving-ca", newLB, oldLB))
	add(signer("localhost-serving-signer", localhost), bundle(op, "localhost-serving-ca", localhost))
	add(signer("service-network-serving-signer", service), bundle(op, "service-network-serving-ca", service))
	add(signer("localhost-recovery-serving-signer", recovery), bundle(op, "localhost-recovery-serving-ca", recovery))

	serving := func(ca *pkitest.Authority, name string, from time.Time, hosts ...string) object {
		return target(tgt, name, ca, ca.Issue(hosts[0], from, from.Add(30*day), pkitest.DNS(hosts...), pkitest.Usages(x509.ExtKeyUsageServerAuth)))
	}
	add(target(tgt, "internal-loadbalancer-serving-certkey", newLB, servedAtAPIInt(newLB)))
	add(serving(newLB, "external-loadbalancer-serving-certkey", resigned, "api.okd.example.com"))
	add(serving(localhost, "localhost-serving-cert-certkey", at("2024-02-02 03:11"), "localhost", "127.0.0.1"))
	add(serving(service, "service-network-serving-certkey", at("2024-02-02 03:11"), "kubernetes.default.svc", "kubernetes", "kubernetes.default"))
	add(target(tgt, "localhost-recovery-serving-certkey", recovery, recovery.Issue("localhost-recovery", at("2020-06-02 11:41"), at("2020-06-02 11:41").Add(years(10)), pkitest.DNS("localhost-recovery"), pkitest.Usages(x509.ExtKeyUsageServerAuth))))

	serverCA := []*pkitest.Authority{newLB, oldLB, localhost, service, recovery}
	add(bundle(tgt, "kube-apiserver-server-ca", serverCA...), bundle(mng, "kube-apiserver-server-ca", serverCA...))
	for _, revision := range []string{"-21", "-22", "-23"} {
		add(bundle(tgt, "kube-apiserver-server-ca"+revision, serverCA...))
	}

	// clients of the API server and its kubelets
	clients := clientCAs()
	admin, csrSigner, toKubelet, controlPlane := clients[0], clients[1], clients[2], clients[3]
	aggregator := pkitest.NewCA(generated(op, "aggregator-client-signer", at("2024-02-01 02:00")), at("2024-02-01 02:00"), at("2024-02-01 02:00").Add(30*day))
	add(signer("kube-apiserver-to-kubelet-signer", toKubelet), bundle(op, "kube-apiserver-to-kubelet-client-ca", toKubelet))
	add(signer("kube-control-plane-signer", controlPlane), bundle(op, "kube-control-plane-signer-ca", controlPlane))
	add(signer("aggregator-client-signer", aggregator), bundle(mng, "kube-apiserver-aggregator-client-ca", aggregator), bundle(tgt, "aggregator-client-ca", aggregator))
	client := func(ns, name string, ca *pkitest.Authority, cn string, from time.Time) object {
		return target(ns, name, ca, ca.Issue(cn, from, from.Add(30*day), pkitest.Usages(x509.ExtKeyUsageClientAuth)))
	}
	add(client(tgt, "kubelet-client", toKubelet, "system:kube-apiserver", at("2024-02-01 02:05")))
	add(client(tgt, "aggregator-client", aggregator, "system:openshift-aggregator", at("2024-02-01 02:05")))
	add(client(mng, "kube-controller-manager-client-cert-key", controlPlane, "system:kube-controller-manager", at("2024-02-04 02:05")))
	add(client(mng, "kube-scheduler-client-cert-key", controlPlane, "system:kube-scheduler", at("2024-02-04 02:05")))
	add(bundle(mng, "csr-controller-ca", csrSigner), bundle(mng, "kubelet-serving-ca", csrSigner), bundle(tgt, "kubelet-serving-ca", csrSigner))
	add(bundle("openshift-config", "admin-kubeconfig-client-ca", admin), bundle(tgt, "client-ca", clients...), bundle(mng, "kube-apiserver-client-ca", clients...))
	add(configMap("kube-system", "extension-apiserver-authentication", nil, map[string]string{
		"client-ca-file": string(blocks(clients)), "requestheader-client-ca-file": string(aggregator.CertPEM),
	}))

	// ingress and service-ca, and the copies in every namespace
	router := pkitest.NewCA("ingress-operator@1690000000", at("2023-07-22 04:26"), at("2025-07-21 04:26"))
	serviceCA := pkitest.NewCA("openshift-service-serving-signer@1690001000", at("2023-07-22 04:43"), at("2025-09-19 04:43"))
	add(secret("openshift-ingress-operator", "router-ca", "", nil, router.Pair), bundle(mng, "default-ingress-cert", router))
	add(secret("openshift-service-ca", "signing-key", "", nil, serviceCA.Pair), bundle("openshift-service-ca", "signing-cabundle", serviceCA))
	wildcard := router.Issue("*.apps.okd.example.com", at("2023-07-22 04:30"), at("2025-07-21 04:26"), pkitest.DNS("*.apps.okd.example.com"), pkitest.Usages(x509.ExtKeyUsageServerAuth))
	add(secret("openshift-ingress", "router-certs-default", "", nil, wildcard))
	rootCA := append(append([]*pkitest.Authority{}, serverCA...), router)
	add(bundle(kcm, "serviceaccount-ca", rootCA...), bundle("openshift-kube-scheduler", "serviceaccount-ca", rootCA...))
	add(accountToken("openshift-machine-config-operator", "node-bootstrapper", rootCA...))
	add(accountToken(kcm, "localhost-recovery-client", rootCA...), accountToken("openshift-kube-scheduler", "localhost-recovery-client", rootCA...))
	add(caConfigMap("openshift-ingress", "service-ca-bundle", "service-ca.crt", nil, serviceCA))
	add(object{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": meta(mng, "router-certs", wildcard.Cert.NotBefore, nil),
		"data": map[string][]byte{"apps.okd.example.com": pkitest.Bundle(wildcard.CertPEM, wildcard.KeyPEM)},
	})
	add(nodeKubeconfigs(serverCA...))
	for _, ns := range namespaces() {
		add(caConfigMap(ns, "kube-root-ca.crt", "ca.crt", nil, rootCA...), caConfigMap(ns, "openshift-service-ca.crt", "service-ca.crt", nil, serviceCA))
	}
	for _, name := range []string{"metrics-server", "package-server-manager", "machine-config-operator"} {
		add(servedByServiceCA("openshift-"+name, name+"-tls", name, serviceCA))
	}
	add(apiService("v1.packages.operators.coreos.com", serviceCA), webhook("machine-api", serviceCA))

	add(trouble()...)
	return s
}

// trouble is what else an administrator finds that morning.
func trouble() []object {
	shopCA := pkitest.NewCA("Example Corp Issuing CA 3", at("2021-03-01 00:00"), at("2026-03-01 00:00"))
	shop := shopCA.Issue("shop.example.com", at("2023-02-20 00:00"), at("2024-02-20 23:59"), pkitest.DNS("shop.example.com", "www.shop.example.com"), pkitest.Usages(x509.ExtKeyUsageServerAuth))
	gone := pkitest.NewCA("policy-webhook-ca", at("2022-01-18 08:00"), at("2024-01-18 08:00"))
	partner := pkitest.NewCA("Partner Root CA", at("2018-05-05 00:00"), at("2038-05-05 00:00"))
	cut := partner.CertPEM[:len(partner.CertPEM)-120]
	out := []object{
		secret("shop", "shop-tls", "", nil, shop),
		webhook("policy", gone),
		configMap("payments", "partner-ca", nil, map[string]string{"ca.pem": string(cut)}),
	}
	// worker-2 rebooted without its client certificate: it asks with the bootstrap token, and its
	// requests are not approved, since its Node exists already. Once api-int presents the new
	// certificate, it reaches no API server to ask.
	for i := range 7 {
		out = append(out, request(fmt.Sprintf("csr-%c4x9%c", 'b'+rune(i), 'f'+rune(i)), "system:node:worker-2",
			"system:serviceaccount:openshift-machine-config-operator:node-bootstrapper", "kubernetes.io/kube-apiserver-client-kubelet", at("2024-02-10 01:17").Add(time.Duration(i)*15*time.Minute)))
	}
	return append(out, request("csr-8tq2z", "system:multus:worker-1", "system:node:worker-1", "kubernetes.io/kube-apiserver-client", at("2024-02-10 05:58")))
}

// generated is the name that library-go gives a signer.
func generated(namespace, name string, when time.Time) string {
	return fmt.Sprintf("%s_%s@%d", namespace, name, when.Unix())
}

func namespaces() []string {
	out := []string{"default", "kube-system", "kube-public", "shop", "payments", mng, tgt, op, kcm}
	for _, n := range []string{"apiserver", "authentication", "cluster-version", "config", "console", "dns", "etcd", "image-registry", "ingress", "ingress-operator",
		"insights", "kube-scheduler", "machine-api", "machine-config-operator", "marketplace", "monitoring", "multus", "network-node-identity", "network-operator", "oauth-apiserver", "ovn-kubernetes", "service-ca"} {
		out = append(out, "openshift-"+n)
	}
	return out
}
