package remediatetest

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient"
)

// Asking is a request in the making.
type Asking struct {
	CSR  certificatesapi.CertificateSigningRequest
	Asks x509.CertificateRequest
	Key  crypto.Signer
	Pem  func([]byte) []byte // what becomes of it
}

// Who joins by machine-config-server, and its group.
const (
	Bootstrapper = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
	MCOAccounts  = "system:serviceaccounts:openshift-machine-config-operator"
)

// ClientAsking is what a kubelet of worker-0 asks for that has lost its certificate.
func ClientAsking(t *testing.T) *Asking {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &Asking{Key: key, Asks: x509.CertificateRequest{Subject: pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:worker-0"}}}
	a.CSR.Name = "csr-client"
	a.CSR.CreationTimestamp = metav1.NewTime(time.Now().Truncate(time.Second))
	a.CSR.Spec = certificatesapi.CertificateSigningRequestSpec{
		SignerName: catalog.KubeletClientSigner, Username: Bootstrapper, Groups: []string{MCOAccounts, "system:serviceaccounts", "system:authenticated"},
		Usages: []certificatesapi.KeyUsage{"digital signature", "client auth"},
	}
	return a
}

// ServingAsking is what it asks for next.
func ServingAsking(t *testing.T) *Asking {
	t.Helper()
	a := ClientAsking(t)
	a.CSR.Name = "csr-serving"
	a.CSR.Spec.SignerName, a.CSR.Spec.Username, a.CSR.Spec.Groups = catalog.KubeletServingSigner, "system:node:worker-0", []string{"system:nodes", "system:authenticated"}
	a.CSR.Spec.Usages = []certificatesapi.KeyUsage{"digital signature", "server auth"}
	a.Asks.DNSNames, a.Asks.IPAddresses = []string{"worker-0"}, []net.IP{net.ParseIP("192.0.2.7")}
	return a
}

// Made is the request as the API server has it.
func (a *Asking) Made(t *testing.T) *certificatesapi.CertificateSigningRequest {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &a.Asks, a.Key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	if a.Pem != nil {
		text = a.Pem(text)
	}
	csr := a.CSR.DeepCopy()
	csr.Spec.Request = text
	return csr
}

// WorkerZero is the Node of worker-0.
func WorkerZero() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-0"}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: "192.0.2.7"}, {Type: corev1.NodeInternalIP, Address: "2001:db8::7"}, {Type: corev1.NodeHostName, Address: "worker-0"}, {Type: corev1.NodeInternalDNS, Address: "worker-0.example.com"},
	}}}
}

const requestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

// RequestsAPI is a small part of an API server, named as such: it has Nodes and
// CertificateSigningRequests, and takes an approval of what is as it was read.
type RequestsAPI struct {
	Mu       sync.Mutex
	Nodes    map[string]*corev1.Node
	Requests []*certificatesapi.CertificateSigningRequest
	// before is called before each answer.
	Before func(method, path string) *apierrors.StatusError
	// signs: what is approved has its certificate at once.
	Signs bool
	Log   []string // approvals
	// others are answers by path; those of a usual cluster are there without.
	Others map[string]any
}

// UsualObjects is what proves the names of worker-0, and has others.
func UsualObjects() map[string]any {
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

func (s *RequestsAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	object, err := s.answer(r)
	if list := listAt(r.URL.Path); err == nil && list != nil && r.Method == http.MethodGet && strings.HasPrefix(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
		writeProtobuf(w, object, list)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(int(err.ErrStatus.Code))
		err.ErrStatus.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		object = err.ErrStatus
	}
	_ = json.NewEncoder(w).Encode(object)
}

// listAt is the list at a path; nil: there is none, or it is not of Kubernetes' own kinds.
func listAt(path string) runtime.Object {
	return map[string]runtime.Object{
		requestsPath: &certificatesapi.CertificateSigningRequestList{}, "/api/v1/nodes": &corev1.NodeList{}, "/api/v1/services": &corev1.ServiceList{},
	}[path]
}

// writeProtobuf answers with what an object is as that list.
func writeProtobuf(w http.ResponseWriter, object any, list runtime.Object) {
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, list)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	_ = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(list, w)
}

func (s *RequestsAPI) answer(r *http.Request) (any, *apierrors.StatusError) {
	if s.Before != nil {
		if err := s.Before(r.Method, r.URL.Path); err != nil {
			return nil, err
		}
	}
	resource := schema.GroupResource{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}
	if name, ok := strings.CutPrefix(r.URL.Path, "/api/v1/nodes/"); ok {
		if n := s.Nodes[name]; n != nil {
			return n, nil
		}
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, name)
	}
	if r.URL.Path == "/api/v1/nodes" {
		var list corev1.NodeList
		for _, n := range s.Nodes {
			list.Items = append(list.Items, *n)
		}
		return list, nil
	}
	if other, ok := s.Others[r.URL.Path]; ok {
		if err, refused := other.(*apierrors.StatusError); refused {
			return nil, err
		}
		return other, nil
	}
	if r.URL.Path == requestsPath {
		var list certificatesapi.CertificateSigningRequestList
		for _, c := range s.Requests {
			list.Items = append(list.Items, *c)
		}
		return list, nil
	}
	name, approval := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, requestsPath+"/"), "/approval")
	i := slices.IndexFunc(s.Requests, func(c *certificatesapi.CertificateSigningRequest) bool { return c.Name == name })
	if i < 0 {
		return nil, apierrors.NewNotFound(resource, name)
	}
	if !approval {
		return s.Requests[i], nil
	}
	var given certificatesapi.CertificateSigningRequest
	if err := json.NewDecoder(r.Body).Decode(&given); err != nil || r.Method != http.MethodPut {
		return nil, apierrors.NewBadRequest("no update")
	}
	if given.ResourceVersion != s.Requests[i].ResourceVersion {
		return nil, apierrors.NewConflict(resource, name, errors.New("it changed"))
	}
	s.Requests[i] = given.DeepCopy()
	s.Requests[i].ResourceVersion += "1"
	if s.Signs {
		s.Requests[i].Status.Certificate = []byte("issued")
	}
	s.Log = append(s.Log, name)
	return s.Requests[i], nil
}

// Add is what a kubelet does.
func (s *RequestsAPI) Add(c *certificatesapi.CertificateSigningRequest) {
	c.ResourceVersion = "7"
	s.Requests = append(s.Requests, c)
}

// Client is a real client of it.
func (s *RequestsAPI) Client(t *testing.T) kubeclient.Client {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := kubeclient.New(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Approvals is a world whose API has requests, with what was told to people.
func Approvals(t *testing.T, w *World, api *RequestsAPI) (*remediate.Env, *strings.Builder) {
	t.Helper()
	api.Nodes = map[string]*corev1.Node{"worker-0": WorkerZero()}
	if api.Others == nil {
		api.Others = UsualObjects()
	}
	env, told := w.env(t, "run-1", nil, pkiFolder), &strings.Builder{}
	env.Kube, env.Tell = api.Client(t), func(node, text string) { fmt.Fprintf(told, "%s: %s\n", node, text) }
	env.Signer, env.APIClock, env.RestartProbe = validSigner, exactClock, MayBootstrap
	env.Sleep = func(ctx context.Context, d time.Duration) error { return w.Sleep(ctx, 4*d) } // as where a look takes some seconds
	return env, told
}

// exactClock is the clock of an API server on this machine.
func exactClock() inspect.Clock {
	now := time.Now()
	return inspect.Clock{Sent: now, Before: now, After: now, Received: now}
}

// MayBootstrap is of a node whose bootstrap file the API server accepts.
func MayBootstrap(context.Context, nodeexec.Node) (*inspect.RestartProbe, error) {
	return &inspect.RestartProbe{Bootstrap: inspect.ProbedKubeconfig{Path: BootstrapFile, Presents: inspect.CredentialToken, Answers: []inspect.ProbeAnswer{{Code: 200}}}}, nil
}

// HeartbeatAt is of a node whose kubelet renewed its Lease then.
func HeartbeatAt(at time.Time) func(context.Context, string) (collect.Heartbeat, error) {
	return func(context.Context, string) (collect.Heartbeat, error) { return collect.Heartbeat{At: at}, nil }
}

// Nowhere is a way that leads to no node.
func Nowhere(context.Context, string) (nodeexec.Node, error) { return nil, nodeexec.ErrNoTransport }

// validSigner is a csr-signer that signs now.
func validSigner(context.Context, catalog.Ref) (collect.Signer, error) {
	return collect.Signer{NotBefore: TestNow.AddDate(0, 0, -1), NotAfter: TestNow.AddDate(0, 0, 29), Asked: TestNow}, nil
}
