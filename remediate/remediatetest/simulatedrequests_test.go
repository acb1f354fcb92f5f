package remediatetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	certificatesapi "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certificatesclient "k8s.io/client-go/kubernetes/typed/certificates/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
)

// kubeletKey is a key with which someone asks for a certificate of a node, and what they
// get. Making them takes long: all schedules have the same.
type kubeletKey struct {
	request []byte // PEM
	parsed  *pki.Request
	cert    *pki.Cert
}

// key is the i-th one of someone's for a node.
func (s *simulation) key(whose, node string, i int, until time.Time) *kubeletKey {
	id := fmt.Sprintf("%s %s %d %s", whose, node, i, until)
	if k := s.keys[id]; k != nil {
		return k
	}
	subject := pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:" + node}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, private)
	if err != nil {
		s.t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(int64(len(s.keys)) + 1), Subject: subject, NotBefore: TestNow.Add(-48 * time.Hour), NotAfter: until, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, private.Public(), private)
	if err != nil {
		s.t.Fatal(err)
	}
	cert, err := pki.ParseCert(der)
	if err != nil {
		s.t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request})
	k := &kubeletKey{request: text, parsed: s.known.Certs.Scan(text)[0].Content.Requests[0], cert: cert}
	s.keys[id], s.keys[string(text)] = k, k
	return k
}

// Until when client certificates are valid, of schedules that begin at TestNow.
func lasting() time.Time { return TestNow.Add(24 * time.Hour) }
func ended() time.Time   { return TestNow.Add(-time.Hour) }

func (n *simulated) certified() bool { return n.cert.cert.NotAfter.After(n.clock) }

// asks has a kubelet without a valid certificate look for an answer, and ask again: every
// quarter of an hour, and where it was denied.
func (n *simulated) asks() {
	if n.certified() || !n.trusts(n.joins) {
		return
	}
	r := n.request(n.waits)
	patience := 15 * time.Minute
	if r == nil || slices.ContainsFunc(r.Status.Conditions, func(c certificatesapi.CertificateSigningRequestCondition) bool {
		return c.Type == certificatesapi.CertificateDenied
	}) {
		patience = time.Minute
	} else if len(r.Status.Certificate) > 0 {
		n.cert = n.key("kubelet", n.name, n.asked, lasting())
		n.reconnect()
		return
	}
	if n.clock.Sub(n.askedAt) >= patience {
		n.ask()
	}
}

// ask makes a request, with a new key.
func (n *simulated) ask() {
	n.asked++
	n.askedAt = n.clock
	n.waits = n.post(n.name, n.key("kubelet", n.name, n.asked, lasting()))
}

func (s *simulation) request(name string) *certificatesapi.CertificateSigningRequest {
	for _, r := range s.requests {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// post makes a request as one makes it with the bootstrap token.
func (s *simulation) post(node string, k *kubeletKey) string {
	r := &certificatesapi.CertificateSigningRequest{Spec: certificatesapi.CertificateSigningRequestSpec{
		Request: k.request, SignerName: catalog.KubeletClientSigner, Username: Bootstrapper, Groups: []string{MCOAccounts, "system:serviceaccounts", "system:authenticated"},
		Usages: []certificatesapi.KeyUsage{"digital signature", "client auth"},
	}}
	r.Name, r.CreationTimestamp = fmt.Sprintf("csr-%s-%d", node, len(s.requests)), metav1.NewTime(s.clock)
	r.ResourceVersion = s.version()
	s.requests = append(s.requests, r)
	return r.Name
}

func (s *simulation) version() string { s.versions++; return strconv.Itoa(s.versions) }

// sign has kube-controller-manager sign what was approved.
func (s *simulation) sign() {
	if !s.makesPods() {
		return
	}
	for _, r := range s.requests {
		if len(r.Status.Certificate) == 0 && slices.ContainsFunc(r.Status.Conditions, func(c certificatesapi.CertificateSigningRequestCondition) bool {
			return c.Type == certificatesapi.CertificateApproved
		}) {
			r.Status.Certificate, r.ResourceVersion = []byte("signed"), s.version()
		}
	}
}

// deny answers a pending request.
func (s *simulation) deny(r *certificatesapi.CertificateSigningRequest) {
	if csr.Pending(r) {
		r.Status.Conditions = append(r.Status.Conditions, certificatesapi.CertificateSigningRequestCondition{Type: certificatesapi.CertificateDenied, Status: corev1.ConditionTrue})
		r.ResourceVersion = s.version()
	}
}

// compete is someone else who wants to change the cluster: they take the Lease when
// no one holds it, or who does was silent for its time, and let it go again.
func (s *simulation) compete() {
	const bob = "bob@b, run 7"
	switch free := s.lease == nil || s.clock.Sub(s.lease.Spec.RenewTime.Time) >= time.Duration(*s.lease.Spec.LeaseDurationSeconds)*time.Second; {
	case s.lease != nil && *s.lease.Spec.HolderIdentity == bob:
		if s.clock.Sub(s.lease.Spec.AcquireTime.Time) > 90*time.Second {
			s.lease, s.wants = nil, false
		}
	case s.wants && free:
		s.taken(bob)
		s.rival = s.clock // since when no one else is to begin anything
	}
}

// taken gives the Lease to someone, for a minute and a half.
func (s *simulation) taken(by string) {
	now, lasts := metav1.NewMicroTime(s.clock), int32(90)
	s.lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: remediate.LeaseName, ResourceVersion: s.version()}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &by, AcquireTime: &now, RenewTime: &now, LeaseDurationSeconds: &lasts}}
}

type simulatedCertificates struct {
	certificatesclient.CertificatesV1Interface
	s *simulation
}

func (c simulatedCertificates) CertificateSigningRequests() certificatesclient.CertificateSigningRequestInterface {
	return simulatedRequests{s: c.s}
}

type simulatedRequests struct {
	certificatesclient.CertificateSigningRequestInterface
	s *simulation
}

func (a simulatedRequests) List(context.Context, metav1.ListOptions) (*certificatesapi.CertificateSigningRequestList, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if err := a.s.answers(); err != nil {
		return nil, err
	}
	list := &certificatesapi.CertificateSigningRequestList{}
	for _, r := range a.s.requests {
		list.Items = append(list.Items, *r.DeepCopy())
	}
	return list, nil
}

func (a simulatedRequests) Get(_ context.Context, name string, _ metav1.GetOptions) (*certificatesapi.CertificateSigningRequest, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if err := a.s.answers(); err != nil {
		return nil, err
	}
	return a.s.request(name).DeepCopy(), nil
}

func (a simulatedRequests) UpdateApproval(_ context.Context, name string, csr *certificatesapi.CertificateSigningRequest, _ metav1.UpdateOptions) (*certificatesapi.CertificateSigningRequest, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if err := a.s.answers(); err != nil {
		return nil, err
	}
	live := a.s.request(name)
	if live.ResourceVersion != csr.ResourceVersion {
		return nil, apierrors.NewConflict(certificatesapi.Resource("certificatesigningrequests"), name, errSimulated)
	}
	for _, n := range a.s.nodes {
		if !strings.HasPrefix(name, "csr-"+n.name+"-") {
			continue
		}
		if n.certified() {
			a.s.broken = append(a.s.broken, "request "+name+" was approved, and the kubelet has its certificate")
		}
		if a.s.strange[name] {
			a.s.broken = append(a.s.broken, "request "+name+" was approved, which no kubelet made")
		}
	}
	live.Status.Conditions, live.ResourceVersion = csr.DeepCopy().Status.Conditions, a.s.version()
	a.s.sign()
	return live.DeepCopy(), nil
}
