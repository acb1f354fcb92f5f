package remediate

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// asking is a request in the making.
type asking struct {
	csr  certificatesapi.CertificateSigningRequest
	asks x509.CertificateRequest
	key  crypto.Signer
	pem  func([]byte) []byte // what becomes of it
}

const (
	bootstrapper = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
	mcoAccounts  = "system:serviceaccounts:openshift-machine-config-operator"
)

// clientAsking is what a kubelet of worker-0 asks for that has lost its certificate.
func clientAsking(t *testing.T) *asking {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &asking{key: key, asks: x509.CertificateRequest{Subject: pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:worker-0"}}}
	a.csr.Name = "csr-client"
	a.csr.CreationTimestamp = metav1.NewTime(time.Now().Truncate(time.Second))
	a.csr.Spec = certificatesapi.CertificateSigningRequestSpec{
		SignerName: catalog.KubeletClientSigner, Username: bootstrapper, Groups: []string{mcoAccounts, "system:serviceaccounts", "system:authenticated"},
		Usages: []certificatesapi.KeyUsage{"digital signature", "client auth"},
	}
	return a
}

// servingAsking is what it asks for next.
func servingAsking(t *testing.T) *asking {
	t.Helper()
	a := clientAsking(t)
	a.csr.Name = "csr-serving"
	a.csr.Spec.SignerName, a.csr.Spec.Username, a.csr.Spec.Groups = catalog.KubeletServingSigner, "system:node:worker-0", []string{"system:nodes", "system:authenticated"}
	a.csr.Spec.Usages = []certificatesapi.KeyUsage{"digital signature", "server auth"}
	a.asks.DNSNames, a.asks.IPAddresses = []string{"worker-0"}, []net.IP{net.ParseIP("192.0.2.7")}
	return a
}

func (a *asking) made(t *testing.T) *certificatesapi.CertificateSigningRequest {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &a.asks, a.key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	if a.pem != nil {
		text = a.pem(text)
	}
	csr := a.csr.DeepCopy()
	csr.Spec.Request = text
	return csr
}

func workerZero() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-0"}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: "192.0.2.7"}, {Type: corev1.NodeInternalIP, Address: "2001:db8::7"}, {Type: corev1.NodeHostName, Address: "worker-0"}, {Type: corev1.NodeInternalDNS, Address: "worker-0.example.com"},
	}}}
}

// knownWorkerZero is what is known of it from elsewhere.
func knownWorkerZero() *origins {
	o := newOrigins("worker-0")
	for _, host := range []string{"192.0.2.7", "2001:db8::7", "worker-0.example.com"} {
		o.own(host, "a test says so")
	}
	return o
}

// TestWhichRequestsMatch: why is a part of why it does not; empty where it does.
func TestWhichRequestsMatch(t *testing.T) {
	t.Parallel()
	openshift, plain := catalog.Versions{Cluster: "4.15.0"}, catalog.Versions{Plain: true, Kubernetes: "v1.35.4"}
	usage := func(u ...certificatesapi.KeyUsage) func(*asking) {
		return func(a *asking) { a.csr.Spec.Usages = u }
	}
	by := func(user string, groups ...string) func(*asking) {
		return func(a *asking) { a.csr.Spec.Username, a.csr.Spec.Groups = user, groups }
	}
	keyed := func(k crypto.Signer, err error) func(*asking) {
		if err != nil {
			t.Fatal(err)
		}
		return func(a *asking) { a.key = k }
	}
	small, smallErr := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	weak, weakErr := rsa.GenerateKey(rand.Reader, 1024)
	strong, strongErr := rsa.GenerateKey(rand.Reader, 2048)
	_, odd, oddErr := ed25519.GenerateKey(rand.Reader)
	spiffe, _ := url.Parse("spiffe://x")
	_, million := pkitest.Oversized("system:node:worker-0", 1<<20, testNow, testNow.AddDate(1, 0, 0))
	alias := workerZero()
	alias.Status.Addresses = append(alias.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: "alias.example.com"})
	cases := []struct {
		name     string
		ask      func(*testing.T) *asking
		change   func(*asking)
		versions catalog.Versions
		object   *corev1.Node
		why      string
	}{
		{"a client's, by OpenShift's bootstrapper", clientAsking, nil, openshift, workerZero(), ""},
		{"the same of a node that is being rebuilt", clientAsking, nil, openshift, nil, ""},
		{"a client's, renewed by itself", clientAsking, by("system:node:worker-0", "system:nodes"), openshift, workerZero(), ""},
		{"a client's, with the older usages", clientAsking, usage("key encipherment", "client auth", "digital signature"), openshift, workerZero(), ""},
		{"a client's, with a long RSA key", clientAsking, keyed(strong, strongErr), openshift, workerZero(), ""},
		{"a client's, by a token of kubeadm", clientAsking, by("system:bootstrap:abc123", "system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token"), plain, workerZero(), ""},
		{"a server's", servingAsking, nil, openshift, workerZero(), ""},
		{"a server's on plain Kubernetes", servingAsking, nil, plain, workerZero(), "not known to be OpenShift"},
		{"a server's on who knows what", servingAsking, nil, catalog.Versions{}, workerZero(), "not known to be OpenShift"},
		{"a server's with a name that only its kubelet knows", servingAsking, func(a *asking) { a.asks.DNSNames = []string{"alias.example.com"} }, openshift, alias, "known only from its kubelet"},
		{"a server's with all its addresses", servingAsking, func(a *asking) {
			a.asks.DNSNames = []string{"WORKER-0", "worker-0.example.com"}
			a.asks.IPAddresses = append(a.asks.IPAddresses, net.ParseIP("2001:db8::7"))
		}, openshift, workerZero(), ""},

		{"by an administrator", clientAsking, by("system:admin", "system:masters"), openshift, workerZero(), `"system:admin" is not who asks`},
		{"by another node", clientAsking, by("system:node:worker-1", "system:nodes"), openshift, workerZero(), "is not who asks"},
		{"by a service account of another namespace", clientAsking, by("system:serviceaccount:default:node-bootstrapper", mcoAccounts), openshift, workerZero(), "is not who asks"},
		{"by the bootstrapper's name without its group", clientAsking, by(bootstrapper, "system:authenticated"), openshift, workerZero(), "not in the group"},
		{"by OpenShift's bootstrapper elsewhere", clientAsking, nil, plain, workerZero(), "is not who asks"},
		{"by kubeadm's token on OpenShift", clientAsking, by("system:bootstrap:abc123", "system:bootstrappers"), openshift, workerZero(), "is not who asks"},
		{"by something like a token", clientAsking, by("system:bootstrap:abc1234", "system:bootstrappers"), plain, workerZero(), "is not who asks"},
		{"by OpenShift's bootstrapper in who knows what", clientAsking, nil, catalog.Versions{}, workerZero(), "is unknown"},
		{"a server's by the bootstrapper", servingAsking, by(bootstrapper, mcoAccounts), openshift, workerZero(), "is not who asks"},
		{"for another signer", clientAsking, func(a *asking) { a.csr.Spec.SignerName = "kubernetes.io/kube-apiserver-client" }, openshift, workerZero(), "signs no kubelet's"},
		{"for masters", clientAsking, func(a *asking) { a.asks.Subject.Organization = []string{"system:masters"} }, openshift, workerZero(), "O=system:nodes alone"},
		{"for nodes and masters", clientAsking, func(a *asking) { a.asks.Subject.Organization = []string{"system:nodes", "system:masters"} }, openshift, workerZero(), "O=system:nodes alone"},
		{"with a unit beside", clientAsking, func(a *asking) { a.asks.Subject.OrganizationalUnit = []string{"x"} }, openshift, workerZero(), "O=system:nodes alone"},
		{"without a group", clientAsking, func(a *asking) { a.asks.Subject.Organization = nil }, openshift, workerZero(), "O=system:nodes alone"},
		{"for another node, by this one", servingAsking, func(a *asking) { a.asks.Subject.CommonName = "system:node:worker-1" }, openshift, workerZero(), `asks for "system:node:worker-1"`},
		{"a client's with a name", clientAsking, func(a *asking) { a.asks.DNSNames = []string{"worker-0"} }, openshift, workerZero(), "no other names"},
		{"a client's that wants to be a CA", clientAsking, func(a *asking) {
			a.asks.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: []byte{0x30, 3, 1, 1, 0xff}}}
		}, openshift, workerZero(), "extension 2.5.29.19"},
		{"a client's that wants to serve", clientAsking, usage("digital signature", "client auth", "server auth"), openshift, workerZero(), "usages"},
		{"without usages", clientAsking, usage(), openshift, workerZero(), "usages"},
		{"with a usage twice", clientAsking, usage("client auth", "client auth"), openshift, workerZero(), "usages"},
		{"a server's that wants to be a client", servingAsking, usage("digital signature", "client auth"), openshift, workerZero(), "usages"},
		{"a server's with a foreign name", servingAsking, func(a *asking) { a.asks.DNSNames = []string{"worker-0", "api-int.example.com"} }, openshift, workerZero(), `"api-int.example.com", which is no address`},
		{"a server's with a foreign address", servingAsking, func(a *asking) { a.asks.IPAddresses = []net.IP{net.ParseIP("192.0.2.8")} }, openshift, workerZero(), "192.0.2.8, which is none"},
		{"a server's with its address as a name", servingAsking, func(a *asking) { a.asks.DNSNames = []string{"192.0.2.7"} }, openshift, workerZero(), "which is no address"},
		{"a server's without a name", servingAsking, func(a *asking) { a.asks.DNSNames, a.asks.IPAddresses = nil, nil }, openshift, workerZero(), "asks for no name"},
		{"a server's with a URI", servingAsking, func(a *asking) { a.asks.URIs = []*url.URL{spiffe} }, openshift, workerZero(), "spiffe://x"},
		{"a server's with an address of mail", servingAsking, func(a *asking) { a.asks.EmailAddresses = []string{"a@b.c"} }, openshift, workerZero(), "a@b.c"},
		{"a server's that wants to be a CA", servingAsking, func(a *asking) {
			a.asks.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: []byte{0x30, 3, 1, 1, 0xff}}}
		}, openshift, workerZero(), "extension 2.5.29.19"},
		{"a server's whose Node is not there", servingAsking, nil, openshift, nil, "there is no Node"},
		{"with a short elliptic key", clientAsking, keyed(small, smallErr), openshift, workerZero(), "P-224"},
		{"with a short RSA key", clientAsking, keyed(weak, weakErr), openshift, workerZero(), "1024 bits"},
		{"with a key that no kubelet makes", clientAsking, keyed(odd, oddErr), openshift, workerZero(), "Ed25519"},
		{"twice in one", clientAsking, func(a *asking) { a.pem = func(b []byte) []byte { return append(b, b...) } }, openshift, workerZero(), "more than one"},
		{"that is no PEM, by the node", servingAsking, func(a *asking) { a.pem = func([]byte) []byte { return []byte("x") } }, openshift, workerZero(), "no certificate request"},
		{"with a signature that does not fit", servingAsking, func(a *asking) {
			a.pem = func(b []byte) []byte {
				block, _ := pem.Decode(b)
				block.Bytes[len(block.Bytes)-1] ^= 1
				return pem.EncodeToMemory(block)
			}
		}, openshift, workerZero(), "not signed with the key"},
		{"by an administrator, with a signature that does not fit", clientAsking, func(a *asking) {
			by("system:admin", "system:masters")(a)
			a.pem = func(b []byte) []byte {
				block, _ := pem.Decode(b)
				block.Bytes[len(block.Bytes)-1] ^= 1
				return pem.EncodeToMemory(block)
			}
		}, openshift, workerZero(), `"system:admin" is not who asks`},
		{"with a key of a million bits", servingAsking, func(a *asking) {
			a.pem = func([]byte) []byte { return million }
		}, openshift, workerZero(), "its request is of 355210 bytes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := c.ask(t)
			if c.change != nil {
				c.change(a)
			}
			r := asker{name: "worker-0", object: c.object, versions: c.versions, kubelet: &joiner{}, known: knownWorkerZero()}.judge(a.made(t))
			switch {
			case r == nil:
				t.Fatal("it is not seen as the node's")
			case c.why == "" && r.why != "" || !strings.Contains(r.why, c.why):
				t.Errorf("it does not match as %q, want %q", r.why, c.why)
			}
			if text := r.describe(); !strings.Contains(text, a.csr.Name) || (r.why != "") != strings.Contains(text, "NOT ") {
				t.Errorf("described as\n%s", text)
			}
			byHand := strings.Contains(c.why, "OpenShift") || strings.Contains(c.why, "only from its kubelet")
			if next := r.next(); c.why != "" && strings.Contains(next, "certificate approve") != byHand || byHand && !strings.Contains(next, "openssl req -noout -text") {
				t.Errorf("next is %q", next)
			}
		})
	}
}

func TestWhichRequestsAreNotLookedAt(t *testing.T) {
	t.Parallel()
	answered := func(kind certificatesapi.RequestConditionType) func(*asking) {
		return func(a *asking) {
			a.csr.Status.Conditions = []certificatesapi.CertificateSigningRequestCondition{{Type: kind, Status: corev1.ConditionTrue}}
		}
	}
	for name, change := range map[string]func(*asking){
		"approved":           answered(certificatesapi.CertificateApproved),
		"denied":             answered(certificatesapi.CertificateDenied),
		"failed":             answered(certificatesapi.CertificateFailed),
		"issued":             func(a *asking) { a.csr.Status.Certificate = []byte("x") },
		"of another node":    func(a *asking) { a.asks.Subject.CommonName = "system:node:worker-1" },
		"of a longer name":   func(a *asking) { a.asks.Subject.CommonName = "system:node:worker-01" },
		"no request, by who": func(a *asking) { a.pem = func([]byte) []byte { return nil } },
	} {
		a := clientAsking(t)
		change(a)
		if r := (asker{name: "worker-0", object: workerZero(), versions: catalog.Versions{Cluster: "4.15.0"}}).judge(a.made(t)); r != nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestTheNewestOfEachIsWaitedFor: a kubelet makes a new key for each try, and nobody
// waits for the earlier ones.
func TestTheNewestOfEachIsWaitedFor(t *testing.T) {
	t.Parallel()
	n := asker{name: "worker-0", object: workerZero(), versions: catalog.Versions{Cluster: "4.15.0"}, kubelet: &joiner{}, known: knownWorkerZero()}
	named := func(a *asking, name string, age time.Duration) *request {
		a.csr.Name, a.csr.CreationTimestamp = name, metav1.NewTime(testNow.Add(-age))
		return n.judge(a.made(t))
	}
	wrong := servingAsking(t)
	wrong.asks.DNSNames = []string{"elsewhere"}
	renewal := clientAsking(t)
	renewal.csr.Spec.Username, renewal.csr.Spec.Groups = "system:node:worker-0", []string{"system:nodes"}
	var names []string
	for _, r := range current([]*request{
		named(servingAsking(t), "serving-old", 3*time.Hour), named(wrong, "serving-wrong", 0), named(servingAsking(t), "serving-new", time.Hour),
		named(clientAsking(t), "client-new", time.Minute), named(clientAsking(t), "client-old", time.Hour), named(renewal, "renewal", time.Second),
	}) {
		names = append(names, r.Name)
	}
	if want := []string{"client-new", "renewal", "serving-new"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// requestsAPI is a small part of an API server, named as such: it has Nodes and
// CertificateSigningRequests, and takes an approval of what is as it was read.
type requestsAPI struct {
	mu       sync.Mutex
	nodes    map[string]*corev1.Node
	requests []*certificatesapi.CertificateSigningRequest
	// before is called before each answer.
	before func(method, path string) *apierrors.StatusError
	// signs: what is approved has its certificate at once.
	signs bool
	log   []string // approvals
	// others are answers by path; those of a usual cluster are there without.
	others map[string]any
}

// usualObjects is what proves the names of worker-0, and has others.
func usualObjects() map[string]any {
	type m = map[string]any
	machineOf := func(name, node string, addresses ...string) m {
		list := []m{}
		for _, a := range addresses {
			list = append(list, m{"type": "InternalIP", "address": a})
		}
		return m{"metadata": m{"name": name}, "status": m{"nodeRef": m{"kind": "Node", "name": node}, "addresses": list}}
	}
	return map[string]any{
		"/apis/config.openshift.io/v1/infrastructures/cluster": m{"status": m{"apiServerURL": "https://api.c.example.com:6443", "apiServerInternalURI": "https://api-int.c.example.com:6443",
			"platformStatus": m{"type": "BareMetal", "baremetal": m{"apiServerInternalIPs": []string{"192.0.2.100"}, "ingressIPs": []string{"192.0.2.101"}}}}},
		"/apis/config.openshift.io/v1/dnses/cluster": m{"spec": m{"baseDomain": "c.example.com"}},
		"/apis/config.openshift.io/v1/ingresses/cluster": m{"spec": m{"domain": "apps.c.example.com", "appsDomain": "Shop.example.org.", "componentRoutes": []m{{"hostname": "login.corp.example"}}},
			"status": m{"componentRoutes": []m{{"currentHostnames": []string{"console.corp.example"}}}}},
		"/apis/operator.openshift.io/v1/namespaces/openshift-ingress-operator/ingresscontrollers": m{"items": []m{{"metadata": m{"name": "default"}, "status": m{"domain": "apps.c.example.com"}}, {"metadata": m{"name": "shard"}, "status": m{"domain": "shard.example.com"}}}},
		"/apis/config.openshift.io/v1/networks/cluster":                                           m{"status": m{"serviceNetwork": []string{"172.30.0.0/16", "fd02::/112"}}},
		"/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machines":            m{"items": []m{machineOf("m-0", "worker-0", "192.0.2.7", "2001:db8::7"), machineOf("m-1", "worker-1", "192.0.2.8")}},
		"/api/v1/services": m{"items": []m{
			{"metadata": m{"namespace": "default", "name": "kubernetes"}, "spec": m{"clusterIP": "172.30.0.1", "clusterIPs": []string{"172.30.0.1", "fd02::1"}}},
			{"metadata": m{"namespace": "shop", "name": "db"}, "spec": m{"clusterIP": "None"}, "status": m{"loadBalancer": m{"ingress": []m{{"ip": "192.0.2.110"}}}}},
		}},
	}
}

func (s *requestsAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object, err := s.answer(r)
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(int(err.ErrStatus.Code))
		err.ErrStatus.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		object = err.ErrStatus
	}
	_ = json.NewEncoder(w).Encode(object)
}

func (s *requestsAPI) answer(r *http.Request) (any, *apierrors.StatusError) {
	if s.before != nil {
		if err := s.before(r.Method, r.URL.Path); err != nil {
			return nil, err
		}
	}
	const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	resource := schema.GroupResource{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}
	if name, ok := strings.CutPrefix(r.URL.Path, "/api/v1/nodes/"); ok {
		if n := s.nodes[name]; n != nil {
			return n, nil
		}
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, name)
	}
	if r.URL.Path == "/api/v1/nodes" {
		var list corev1.NodeList
		for _, n := range s.nodes {
			list.Items = append(list.Items, *n)
		}
		return list, nil
	}
	if other, ok := s.others[r.URL.Path]; ok {
		if err, refused := other.(*apierrors.StatusError); refused {
			return nil, err
		}
		return other, nil
	}
	if r.URL.Path == requests {
		var list certificatesapi.CertificateSigningRequestList
		for _, c := range s.requests {
			list.Items = append(list.Items, *c)
		}
		return list, nil
	}
	name, approval := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, requests+"/"), "/approval")
	i := slices.IndexFunc(s.requests, func(c *certificatesapi.CertificateSigningRequest) bool { return c.Name == name })
	if i < 0 {
		return nil, apierrors.NewNotFound(resource, name)
	}
	if !approval {
		return s.requests[i], nil
	}
	var given certificatesapi.CertificateSigningRequest
	if err := json.NewDecoder(r.Body).Decode(&given); err != nil || r.Method != http.MethodPut {
		return nil, apierrors.NewBadRequest("no update")
	}
	if given.ResourceVersion != s.requests[i].ResourceVersion {
		return nil, apierrors.NewConflict(resource, name, errors.New("it changed"))
	}
	s.requests[i] = given.DeepCopy()
	s.requests[i].ResourceVersion += "1"
	if s.signs {
		s.requests[i].Status.Certificate = []byte("issued")
	}
	s.log = append(s.log, name)
	return s.requests[i], nil
}

// add is what a kubelet does.
func (s *requestsAPI) add(c *certificatesapi.CertificateSigningRequest) {
	c.ResourceVersion = "7"
	s.requests = append(s.requests, c)
}

// client is a real client of it.
func (s *requestsAPI) client(t *testing.T) kubernetes.Interface {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// approvals is a world whose API has requests, with what was told to people.
func approvals(t *testing.T, w *world, api *requestsAPI) (*Env, *strings.Builder) {
	t.Helper()
	api.nodes = map[string]*corev1.Node{"worker-0": workerZero()}
	if api.others == nil {
		api.others = usualObjects()
	}
	env, told := w.env(t, "run-1", nil, pkiFolder), &strings.Builder{}
	env.Kube, env.Tell = api.client(t), func(node, text string) { fmt.Fprintf(told, "%s: %s\n", node, text) }
	env.Signer, env.APIClock, env.Comeback = validSigner, exactClock, mayBootstrap
	return env, told
}

// exactClock is that of an API server on this machine.
func exactClock() inspect.Clock {
	now := time.Now()
	return inspect.Clock{Sent: now, Before: now, After: now, Received: now}
}

// mayBootstrap is of a node whose bootstrap file the API server accepts.
func mayBootstrap(context.Context, nodeexec.Node) (*inspect.Comeback, error) {
	return &inspect.Comeback{Bootstrap: inspect.ComebackFile{Path: bootstrapFile, Shows: inspect.CredentialToken, Answers: []inspect.Answer{{Code: 200}}}}, nil
}

// TestApprovalInANodesStep: the kubelet comes back with no certificate, and asks; then
// it reports, and asks for its serving one.
func TestApprovalInANodesStep(t *testing.T) {
	t.Parallel()
	j := newJoining(t)
	w, kubelet := j.world, clientAsking(t)
	j.certificate(t, firstCert, time.Now().Add(-time.Hour), j.newKey(t)) // ended
	api := &requestsAPI{signs: true}
	env, told := approvals(t, w, api)
	stranger := clientAsking(t)
	stranger.csr.Name, stranger.csr.Spec.Username, stranger.csr.Spec.Groups = "csr-stranger", "mallory", nil
	api.add(stranger.made(t))
	looks, asked := 0, false
	api.before = func(method, path string) *apierrors.StatusError {
		if slices.Contains(api.log, "csr-client") && j.link() != nextCert {
			j.certificate(t, nextCert, time.Now().Add(24*time.Hour), kubelet.key.(*ecdsa.PrivateKey))
		}
		if method != http.MethodGet || !strings.HasSuffix(path, "/certificatesigningrequests") {
			return nil
		}
		switch looks++; looks {
		case 3:
			kubelet.csr.CreationTimestamp = metav1.NewTime(w.machines["worker-0"].started(t))
			api.add(kubelet.made(t))
		default:
			if !asked && slices.Contains(api.log, "csr-client") {
				asked = true
				api.add(servingAsking(t).made(t))
			}
		}
		return nil
	}
	fix := w.fix()
	fix.ApproveCSRs = true
	facts := w.facts(t)
	p, err := fix.Plan("run-1", facts, w.now())
	if err != nil {
		t.Fatal(err)
	}
	if ids := stepsOf(p); !slices.Equal(ids[2:], []string{"restart worker-0:kubelet.service", "approve-requests worker-0", "await worker-0"}) {
		t.Errorf("steps %q", ids)
	}
	for _, n := range p.Nodes() {
		for i, s := range n.Steps {
			if a, ok := s.Action.(ApproveCSRs); ok {
				a.serving = true // as where its serving certificate has ended
				n.Steps[i].Action = a
			}
		}
	}
	m := w.machines["worker-0"]
	env.Heartbeat = m.heartbeatOnce(func() bool { api.mu.Lock(); defer api.mu.Unlock(); return slices.Contains(api.log, "csr-client") })
	if _, err := w.run(t.Context(), t, env, p); err != nil {
		t.Fatalf("%v\n%s", err, told)
	}
	if want := []string{"csr-client", "csr-serving"}; !slices.Equal(api.log, want) {
		t.Errorf("approved %q, want %q\n%s", api.log, want, told)
	}
	for _, r := range api.requests {
		if r.Name != "csr-stranger" && (len(r.Status.Conditions) != 1 || r.Status.Conditions[0].Reason != "certrot" || !strings.Contains(r.Status.Conditions[0].Message, "run-1")) {
			t.Errorf("%s: %+v", r.Name, r.Status.Conditions)
		}
	}
	for _, want := range []string{"request csr-stranger", `NOT what this node's kubelet asks for: "mallory"`, "request csr-client", "approved csr-client", "names    worker-0, 192.0.2.7"} {
		if strings.Count(told.String(), want) != 1 {
			t.Errorf("%q is not told once:\n%s", want, told)
		}
	}
}

// heartbeatOnce is that of a node whose kubelet reports from some moment on.
func (m *machine) heartbeatOnce(works func() bool) func(ctx context.Context, node string) (collect.Heartbeat, error) {
	return func(ctx context.Context, node string) (collect.Heartbeat, error) {
		if !works() {
			return collect.Heartbeat{At: time.Now().Add(-25 * time.Hour), Ready: "Unknown"}, nil
		}
		return m.heartbeat(ctx, node)
	}
}

// TestAKubeletThatNeedsNoCertificateIsNotWaitedFor.
func TestAKubeletThatNeedsNoCertificateIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	api := &requestsAPI{}
	env, told := approvals(t, w, api)
	fix := w.fix()
	fix.ApproveCSRs = true
	p, err := fix.Plan("run-1", w.facts(t), w.now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.run(t.Context(), t, env, p); err != nil || told.Len() > 0 || len(api.log) > 0 {
		t.Fatalf("%v, told %q, approved %q", err, told, api.log)
	}
	again, err := fix.Plan("run-2", w.facts(t), w.now())
	if err != nil || !again.Empty() {
		t.Errorf("%v, still to do: %q", err, stepsOf(again))
	}
}

// TestLateNamesWhatIsPending: without --approve-csrs, what a node that is late waits
// for is shown, with the command.
func TestLateNamesWhatIsPending(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	api := &requestsAPI{}
	env, _ := approvals(t, w, api)
	asking := clientAsking(t)
	asking.csr.CreationTimestamp = metav1.NewTime(time.Now().Add(time.Minute)) // after the restart
	api.add(asking.made(t))
	stranger := clientAsking(t)
	stranger.csr.Name, stranger.csr.Spec.Username = "csr-stranger", "mallory"
	api.add(stranger.made(t))
	m := w.machines["worker-0"]
	p := w.repair(t, "run-1")
	m.mode(t, "late")
	_, err := w.run(t.Context(), t, env, p)
	var late *Late
	if !errors.As(err, &late) {
		t.Fatal(err)
	}
	for _, want := range []string{"its last heartbeat is from", "asked by " + bootstrapper, "kubectl certificate approve csr-client", "kubectl describe csr csr-stranger", "mallory"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "approve csr-stranger") || len(api.log) > 0 {
		t.Errorf("approved %q, and\n%v", api.log, err)
	}
}

// TestApprovalIsOfWhatWasRead: what changed after it was read is read and judged again.
func TestApprovalIsOfWhatWasRead(t *testing.T) {
	t.Parallel()
	api := &requestsAPI{signs: true}
	env, told := approvals(t, newWorld(t), api)
	api.add(clientAsking(t).made(t))
	changed := false
	api.before = func(method, _ string) *apierrors.StatusError {
		if method == http.MethodPut && !changed {
			changed = true
			api.requests[0].ResourceVersion = "8"
			api.requests[0].Spec.Username = "mallory"
		}
		return nil
	}
	a := NewLeftCSRs([]string{"worker-0"}, true, true)
	c, err := a.Diff(inspect.Snapshot{Nodes: []inspect.Node{{Name: "worker-0", Via: "ssh"}}, Cluster: inspect.Cluster{Versions: catalog.Versions{Cluster: "4.15.0"}}}, testNow)
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	if err := a.Apply(t.Context(), env, c); err != nil || len(api.log) > 0 {
		t.Fatalf("%v, approved %q\n%s", err, api.log, told)
	}
	var late *Late
	if err := a.Verify(t.Context(), env, c); !errors.As(err, &late) || !strings.Contains(err.Error(), "mallory") {
		t.Error(err)
	}
}

func TestLeftRequests(t *testing.T) {
	t.Parallel()
	versions := inspect.Snapshot{Cluster: inspect.Cluster{Versions: catalog.Versions{Cluster: "4.15.0"}}}
	w := newWorld(t)
	for name, c := range map[string]struct {
		approve, signs bool
		forbidden      string // the method
		want           []string
		err            string
	}{
		"shown":                      {want: nil, err: "kubectl certificate approve csr-serving"},
		"approved":                   {approve: true, signs: true, want: []string{"csr-serving"}},
		"approved, and not signed":   {approve: true, want: []string{"csr-serving"}, err: "no certificate was issued"},
		"approval is not allowed":    {approve: true, forbidden: http.MethodPut, err: "can-i approve signers/kubernetes.io/kubelet-serving"},
		"not approved, nor asked to": {forbidden: http.MethodPut, err: "kubectl certificate approve csr-serving"},
		"reading is not allowed":     {forbidden: http.MethodGet, err: "whether its kubelet waits for a certificate is unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &requestsAPI{signs: c.signs}
			env, told := approvals(t, w, api)
			api.add(servingAsking(t).made(t))
			if c.forbidden != "" {
				api.before = func(method, _ string) *apierrors.StatusError {
					if method == c.forbidden {
						return apierrors.NewForbidden(schema.GroupResource{Resource: "certificatesigningrequests"}, "csr-serving", errors.New("no"))
					}
					return nil
				}
			}
			a := NewLeftCSRs([]string{"worker-0"}, c.approve, true)
			change, _ := a.Diff(versions, testNow)
			err := a.Apply(t.Context(), env, change)
			if err == nil {
				err = a.Verify(t.Context(), env, change)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %q\n%s", err, c.err, told)
			}
			if !slices.Equal(api.log, c.want) {
				t.Errorf("approved %q, want %q", api.log, c.want)
			}
		})
	}
	if c, err := NewLeftCSRs([]string{"worker-0"}, true, false).Diff(versions, testNow); c != nil || err != nil {
		t.Errorf("with nothing pending: %+v, %v", c, err)
	}
	pending := func(name, node string) inspect.SigningRequest {
		return inspect.SigningRequest{Object: &inspect.Object{Name: name}, Condition: inspect.Pending, Request: &pki.Request{Subject: "CN=system:node:" + node + ",O=system:nodes"}}
	}
	versions.Requests = []inspect.SigningRequest{pending("csr-one", "worker-0"), pending("csr-two", "worker-0"), pending("csr-other", "worker-1")}
	if c, err := NewLeftCSRs([]string{"worker-0"}, true, false).Diff(versions, testNow); err != nil || c == nil || !strings.HasSuffix(c.Summary, "(now: csr-one, csr-two)") {
		t.Errorf("the plan says of what is pending: %+v, %v", c, err)
	}
}

// TestNoServingRequestIsWaitedForWhereNoneIsDue: its kubelet reports, and its serving
// certificate is valid.
func TestNoServingRequestIsWaitedForWhereNoneIsDue(t *testing.T) {
	t.Parallel()
	for _, serving := range []bool{false, true} {
		w := newWorld(t)
		env, _ := approvals(t, w, &requestsAPI{})
		env.Heartbeat = heartbeatAt(w.now().Add(time.Hour))
		step := ApproveCSRs{On: "worker-0", serving: serving, state: newApproving()}
		if err := step.Apply(t.Context(), env, &Change{versions: catalog.Versions{Cluster: "4.15.0"}}); err != nil {
			t.Fatal(err)
		}
		if waited := time.Duration(w.skipped.Load()); (waited >= askingServing) != serving {
			t.Errorf("its serving certificate has ended: %v; it waited for %s", serving, waited)
		}
	}
}

// TestKeysThatAreComputedWith: each check of a signature takes time, and anybody makes requests.
func TestKeysThatAreComputedWith(t *testing.T) {
	t.Parallel()
	for bits, sane := range map[int]bool{1024: false, 2048: true, 4096: true, 4097: false, 8192: false} {
		n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
		if err := saneKey(&x509.CertificateRequest{PublicKey: &rsa.PublicKey{N: n, E: 65537}}); (err == nil) != sane {
			t.Errorf("%d bits: %v", bits, err)
		}
	}
}

// TestOneNodeHoldsUpNoOther: what goes wrong with the requests of a node is told of that node.
func TestOneNodeHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	a := NewLeftCSRs([]string{"worker-0", "worker-1", "worker-2"}, true, true)
	var done []string
	err := a.each(t.Context(), 20*time.Millisecond, func(ctx context.Context, node string) error {
		done = append(done, node)
		if node == "worker-0" {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return nil
	})
	if len(done) != 3 || err == nil || !strings.Contains(err.Error(), "requests of node worker-0: not done within 20ms") || strings.Contains(err.Error(), "worker-1") {
		t.Errorf("%q, %v", done, err)
	}
	done = nil
	err = a.each(t.Context(), time.Minute, func(_ context.Context, node string) error {
		done = append(done, node)
		return apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "y", errors.New("no"))
	})
	if len(done) != 2 || !apierrors.IsForbidden(err) {
		t.Errorf("what is forbidden for two is asked again: %q, %v", done, err)
	}
	if got := a.Takes(); got < 3*askingClient {
		t.Errorf("for three nodes there are %s", got)
	}

	// The API server refuses to approve the first one's.
	api := &requestsAPI{signs: true}
	env, _ := approvals(t, newWorld(t), api)
	worker1 := workerZero()
	worker1.Name, worker1.Status.Addresses = "worker-1", []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "worker-1"}, {Type: corev1.NodeInternalIP, Address: "192.0.2.8"}}
	api.nodes["worker-1"] = worker1
	api.add(servingAsking(t).made(t))
	other := servingAsking(t)
	other.csr.Name, other.csr.Spec.Username = "csr-other", "system:node:worker-1"
	other.asks.Subject.CommonName, other.asks.DNSNames, other.asks.IPAddresses = "system:node:worker-1", []string{"worker-1"}, []net.IP{net.ParseIP("192.0.2.8")}
	api.add(other.made(t))
	api.before = func(method, path string) *apierrors.StatusError {
		if method == http.MethodPut && strings.Contains(path, "csr-serving") {
			return apierrors.NewRequestEntityTooLargeError("limit is 1")
		}
		return nil
	}
	a = NewLeftCSRs([]string{"worker-0", "worker-1"}, true, true)
	change, _ := a.Diff(inspect.Snapshot{Cluster: inspect.Cluster{Versions: catalog.Versions{Cluster: "4.15.0"}}}, testNow)
	if err := a.Apply(t.Context(), env, change); err == nil || !strings.Contains(err.Error(), "requests of node worker-0: approve request csr-serving") {
		t.Errorf("%v", err)
	}
	if !slices.Equal(api.log, []string{"csr-other"}) {
		t.Errorf("approved %q", api.log)
	}
}

// TestOnlyWhatMayBeAKubeletsHoldsUpAnUndo: anybody may make requests in any node's name.
func TestOnlyWhatMayBeAKubeletsHoldsUpAnUndo(t *testing.T) {
	t.Parallel()
	const subject = "CN=system:node:worker-0,O=system:nodes"
	for name, c := range map[string]struct {
		signer, requester string
		certificate       time.Time // of its kubelet, until then; zero: none
		holds             bool
	}{
		"its own, for its serving certificate":  {catalog.KubeletServingSigner, "system:node:worker-0", testNow.Add(time.Hour), true},
		"its own, for its client certificate":   {catalog.KubeletClientSigner, "system:node:worker-0", testNow.Add(time.Hour), true},
		"a bootstrapper's":                      {catalog.KubeletClientSigner, bootstrapper, time.Time{}, true},
		"a bootstrapper's, its own has expired": {catalog.KubeletClientSigner, bootstrapper, testNow.Add(-time.Hour), true},
		"a bootstrapper's, where it has one":    {catalog.KubeletClientSigner, bootstrapper, testNow.Add(time.Hour), false},
		"another node's":                        {catalog.KubeletClientSigner, "system:node:worker-9", time.Time{}, false},
		"a tenant's, for another signer":        {"example.com/any", "system:serviceaccount:tenant:default", time.Time{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts := inspect.Snapshot{
				Cluster:  inspect.Cluster{Versions: catalog.Versions{Cluster: "4.15.0"}},
				Nodes:    []inspect.Node{{Name: "worker-0", Via: "ssh"}},
				Requests: []inspect.SigningRequest{{Object: &inspect.Object{Name: "csr-x"}, Signer: c.signer, Requester: c.requester, Condition: inspect.Pending, Request: &pki.Request{Subject: subject}}},
			}
			if !c.certificate.IsZero() {
				ca := pkitest.NewCA("x", testNow.Add(-48*time.Hour), c.certificate)
				facts.Bundles = append(facts.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: "worker-0", Path: inspect.KubeletClient}, Content: pki.NewScanner().Scan(ca.CertPEM)[0].Content})
			}
			err := unanswered(facts, "worker-0", testNow)
			var r *Refusal
			if errors.As(err, &r) != c.holds || c.holds && (!r.Risk || !strings.Contains(r.Next, "--accept-risk=requests-pending")) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestUndoWaitsForAnAnswer: a kubelet that waits for a certificate gets no other CA.
func TestUndoWaitsForAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.run(t.Context(), t, w.env(t, "run-1", nil), w.repair(t, "run-1")); err != nil {
		t.Fatal(err)
	}
	w.api.show(t, w.old)
	facts := w.facts(t, "/var/lib/certrot/run-1")
	facts.Requests = []inspect.SigningRequest{{
		Object: &inspect.Object{Kind: "CertificateSigningRequest", Name: "csr-1"}, Signer: catalog.KubeletClientSigner, Requester: bootstrapper, Condition: inspect.Pending,
		Request: &pki.Request{Subject: "CN=system:node:worker-0,O=system:nodes"},
	}}
	_, err := w.undoing(t, "run-1").Plan("run-1", facts, w.now())
	var r *Refusal
	if !errors.As(err, &r) || r.Name != "requests-pending" || !strings.Contains(r.Next, "kubectl describe csr csr-1") {
		t.Errorf("%v", err)
	}
	accepting := w.undoing(t, "run-1")
	accepting.AcceptRequestsPending = true
	if p, err := accepting.Plan("run-1", facts, w.now()); err != nil || !strings.Contains(strings.Join(p.Notes, " "), "Accepted by name: node worker-0") {
		t.Errorf("accepted by name: %v", err)
	}
	facts.Requests[0].Condition = inspect.Issued
	p, err := w.undoing(t, "run-1").Plan("run-1", facts, w.now())
	if err != nil {
		t.Fatal(err)
	}

	// One that comes while the plan is on the screen.
	api := &requestsAPI{}
	env, _ := approvals(t, w, api)
	env.Facts = w.env(t, "run-1", nil, "/var/lib/certrot/run-1").Facts
	api.add(clientAsking(t).made(t))
	before := w.machines["worker-0"].disk(t)
	if _, err := w.run(t.Context(), t, env, p); !errors.As(err, &r) || r.Name != "requests-pending" {
		t.Errorf("it came after the plan: %v", err)
	}
	if after := w.machines["worker-0"].disk(t); after != before {
		t.Error("and something was put back")
	}
}

func TestWhoLacksAServingCertificate(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	ended := pkitest.NewCA("x", testNow.Add(-2*time.Hour), testNow.Add(-time.Hour))
	valid := pkitest.NewCA("x", testNow.Add(-2*time.Hour), testNow.Add(time.Hour))
	for name, c := range map[string]struct {
		asks *bool
		has  []byte
		want bool
	}{
		"it has ended":        {&yes, ended.CertPEM, true},
		"it is valid":         {&yes, valid.CertPEM, false},
		"none was read":       {&yes, nil, false},
		"it signs its own":    {&no, ended.CertPEM, false},
		"whether is not told": {nil, ended.CertPEM, false},
	} {
		f := newFixture()
		f.Nodes[0].Kubelet.ServerTLSBootstrap = c.asks
		if c.has != nil {
			f.Bundles = append(f.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: "worker-0", Path: kubeletServing}, Content: f.sc.Scan(c.has)[0].Content})
		}
		if got := lacksServing(f.Snapshot, "worker-0", testNow); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Whoever has a bootstrapper's token can ask in any node's name: that is a kubelet's
// request only where it has no certificate.
func TestBootstrappersAskForKubeletsWithoutACertificate(t *testing.T) {
	t.Parallel()
	ask := func(certified string) string {
		r := asker{name: "worker-0", object: workerZero(), versions: catalog.Versions{Cluster: "4.15.0"}, kubelet: &joiner{}, certified: certified}.judge(clientAsking(t).made(t))
		if r == nil {
			t.Fatal("it is not judged")
		}
		return r.why
	}
	if why := ask(""); why != "" {
		t.Errorf("a kubelet without a certificate: %s", why)
	}
	if why := ask("its kubelet has a client certificate until tomorrow"); !strings.Contains(why, "until tomorrow") {
		t.Errorf("a kubelet with one: %q", why)
	}
}
