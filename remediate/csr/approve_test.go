package csr

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// knownWorkerZero is what is known of it from elsewhere.
func knownWorkerZero() *origins {
	o := newOrigins("worker-0")
	for _, host := range []string{"192.0.2.7", "2001:db8::7", "worker-0.example.com"} {
		o.addOwn(host, "a test says so")
	}
	return o
}

// TestWhichRequestsMatch: why is a part of why it does not; empty where it does.
func TestWhichRequestsMatch(t *testing.T) {
	t.Parallel()
	openshift, plain := catalog.Versions{Cluster: "4.15.0"}, catalog.Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}
	usage := func(u ...certificatesapi.KeyUsage) func(*remediatetest.Asking) {
		return func(a *remediatetest.Asking) { a.CSR.Spec.Usages = u }
	}
	by := func(user string, groups ...string) func(*remediatetest.Asking) {
		return func(a *remediatetest.Asking) { a.CSR.Spec.Username, a.CSR.Spec.Groups = user, groups }
	}
	keyed := func(k crypto.Signer, err error) func(*remediatetest.Asking) {
		if err != nil {
			t.Fatal(err)
		}
		return func(a *remediatetest.Asking) { a.Key = k }
	}
	small, smallErr := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	weak, weakErr := rsa.GenerateKey(rand.Reader, 1024)
	strong, strongErr := rsa.GenerateKey(rand.Reader, 2048)
	_, odd, oddErr := ed25519.GenerateKey(rand.Reader)
	spiffe, _ := url.Parse("spiffe://x")
	_, million := pkitest.Oversized("system:node:worker-0", 1<<20, remediatetest.TestNow, remediatetest.TestNow.AddDate(1, 0, 0))
	alias := remediatetest.WorkerZero()
	alias.Status.Addresses = append(alias.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: "alias.example.com"})
	cases := []struct {
		name     string
		ask      func(*testing.T) *remediatetest.Asking
		change   func(*remediatetest.Asking)
		versions catalog.Versions
		object   *corev1.Node
		why      string
	}{
		{"a client's, by OpenShift's bootstrapper", remediatetest.ClientAsking, nil, openshift, remediatetest.WorkerZero(), ""},
		{"the same of a node that is being rebuilt", remediatetest.ClientAsking, nil, openshift, nil, ""},
		{"a client's, renewed by itself", remediatetest.ClientAsking, by("system:node:worker-0", "system:nodes"), openshift, remediatetest.WorkerZero(), ""},
		{"a client's, with the older usages", remediatetest.ClientAsking, usage("key encipherment", "client auth", "digital signature"), openshift, remediatetest.WorkerZero(), ""},
		{"a client's, with a long RSA key", remediatetest.ClientAsking, keyed(strong, strongErr), openshift, remediatetest.WorkerZero(), ""},
		{"a client's, by a token of kubeadm", remediatetest.ClientAsking, by("system:bootstrap:abc123", "system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token"), plain, remediatetest.WorkerZero(), ""},
		{"a server's", remediatetest.ServingAsking, nil, openshift, remediatetest.WorkerZero(), ""},
		{"a server's on plain Kubernetes", remediatetest.ServingAsking, nil, plain, remediatetest.WorkerZero(), "not confirmed to be OpenShift"},
		{"a server's on who knows what", remediatetest.ServingAsking, nil, catalog.Versions{}, remediatetest.WorkerZero(), "not confirmed to be OpenShift"},
		{"a server's with a name that only its kubelet knows", remediatetest.ServingAsking, func(a *remediatetest.Asking) { a.Asks.DNSNames = []string{"alias.example.com"} }, openshift, alias, "known only from its kubelet"},
		{"a server's with all its addresses", remediatetest.ServingAsking, func(a *remediatetest.Asking) {
			a.Asks.DNSNames = []string{"WORKER-0", "worker-0.example.com"}
			a.Asks.IPAddresses = append(a.Asks.IPAddresses, net.ParseIP("2001:db8::7"))
		}, openshift, remediatetest.WorkerZero(), ""},

		{"by an administrator", remediatetest.ClientAsking, by("system:admin", "system:masters"), openshift, remediatetest.WorkerZero(), `"system:admin" is not who asks`},
		{"by another node", remediatetest.ClientAsking, by("system:node:worker-1", "system:nodes"), openshift, remediatetest.WorkerZero(), "is not who asks"},
		{"by a service account of another namespace", remediatetest.ClientAsking, by("system:serviceaccount:default:node-bootstrapper", remediatetest.MCOAccounts), openshift, remediatetest.WorkerZero(), "is not who asks"},
		{"by the bootstrapper's name without its group", remediatetest.ClientAsking, by(remediatetest.Bootstrapper, "system:authenticated"), openshift, remediatetest.WorkerZero(), "not in the group"},
		{"by OpenShift's bootstrapper elsewhere", remediatetest.ClientAsking, nil, plain, remediatetest.WorkerZero(), "is not who asks"},
		{"by kubeadm's token on OpenShift", remediatetest.ClientAsking, by("system:bootstrap:abc123", "system:bootstrappers"), openshift, remediatetest.WorkerZero(), "is not who asks"},
		{"by something like a token", remediatetest.ClientAsking, by("system:bootstrap:abc1234", "system:bootstrappers"), plain, remediatetest.WorkerZero(), "is not who asks"},
		{"by OpenShift's bootstrapper in who knows what", remediatetest.ClientAsking, nil, catalog.Versions{}, remediatetest.WorkerZero(), "is unknown"},
		{"a server's by the bootstrapper", remediatetest.ServingAsking, by(remediatetest.Bootstrapper, remediatetest.MCOAccounts), openshift, remediatetest.WorkerZero(), "is not who asks"},
		{"for another signer", remediatetest.ClientAsking, func(a *remediatetest.Asking) { a.CSR.Spec.SignerName = "kubernetes.io/kube-apiserver-client" }, openshift, remediatetest.WorkerZero(), "signs no kubelet's"},
		{"for masters", remediatetest.ClientAsking, func(a *remediatetest.Asking) { a.Asks.Subject.Organization = []string{"system:masters"} }, openshift, remediatetest.WorkerZero(), "O=system:nodes alone"},
		{"for nodes and masters", remediatetest.ClientAsking, func(a *remediatetest.Asking) {
			a.Asks.Subject.Organization = []string{"system:nodes", "system:masters"}
		}, openshift, remediatetest.WorkerZero(), "O=system:nodes alone"},
		{"with a unit beside", remediatetest.ClientAsking, func(a *remediatetest.Asking) { a.Asks.Subject.OrganizationalUnit = []string{"x"} }, openshift, remediatetest.WorkerZero(), "O=system:nodes alone"},
		{"without a group", remediatetest.ClientAsking, func(a *remediatetest.Asking) { a.Asks.Subject.Organization = nil }, openshift, remediatetest.WorkerZero(), "O=system:nodes alone"},
		{"for another node, by this one", remediatetest.ServingAsking, func(a *remediatetest.Asking) { a.Asks.Subject.CommonName = "system:node:worker-1" }, openshift, remediatetest.WorkerZero(), `asks for "system:node:worker-1"`},
		{"a client's with a name", remediatetest.ClientAsking, func(a *remediatetest.Asking) { a.Asks.DNSNames = []string{"worker-0"} }, openshift, remediatetest.WorkerZero(), "no other names"},
		{"a client's that wants to be a CA", remediatetest.ClientAsking, func(a *remediatetest.Asking) {
			a.Asks.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: []byte{0x30, 3, 1, 1, 0xff}}}
		}, openshift, remediatetest.WorkerZero(), "extension 2.5.29.19"},
		{"a client's that wants to serve", remediatetest.ClientAsking, usage("digital signature", "client auth", "server auth"), openshift, remediatetest.WorkerZero(), "usages"},
		{"without usages", remediatetest.ClientAsking, usage(), openshift, remediatetest.WorkerZero(), "usages"},
		{"with a usage twice", remediatetest.ClientAsking, usage("client auth", "client auth"), openshift, remediatetest.WorkerZero(), "usages"},
		{"a server's that wants to be a client", remediatetest.ServingAsking, usage("digital signature", "client auth"), openshift, remediatetest.WorkerZero(), "usages"},
		{"a server's with a foreign name", remediatetest.ServingAsking, func(a *remediatetest.Asking) { a.Asks.DNSNames = []string{"worker-0", "api-int.example.com"} }, openshift, remediatetest.WorkerZero(), `"api-int.example.com", which is no address`},
		{"a server's with a foreign address", remediatetest.ServingAsking, func(a *remediatetest.Asking) { a.Asks.IPAddresses = []net.IP{net.ParseIP("192.0.2.8")} }, openshift, remediatetest.WorkerZero(), "192.0.2.8, which is none"},
		{"a server's with its address as a name", remediatetest.ServingAsking, func(a *remediatetest.Asking) { a.Asks.DNSNames = []string{"192.0.2.7"} }, openshift, remediatetest.WorkerZero(), "which is no address"},
		{"a server's without a name", remediatetest.ServingAsking, func(a *remediatetest.Asking) { a.Asks.DNSNames, a.Asks.IPAddresses = nil, nil }, openshift, remediatetest.WorkerZero(), "asks for no name"},
		{"a server's with a URI", remediatetest.ServingAsking, func(a *remediatetest.Asking) { a.Asks.URIs = []*url.URL{spiffe} }, openshift, remediatetest.WorkerZero(), "spiffe://x"},
		{"a server's with an address of mail", remediatetest.ServingAsking, func(a *remediatetest.Asking) { a.Asks.EmailAddresses = []string{"a@b.c"} }, openshift, remediatetest.WorkerZero(), "a@b.c"},
		{"a server's that wants to be a CA", remediatetest.ServingAsking, func(a *remediatetest.Asking) {
			a.Asks.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: []byte{0x30, 3, 1, 1, 0xff}}}
		}, openshift, remediatetest.WorkerZero(), "extension 2.5.29.19"},
		{"a server's whose Node is not there", remediatetest.ServingAsking, nil, openshift, nil, "there is no Node"},
		{"with a short elliptic key", remediatetest.ClientAsking, keyed(small, smallErr), openshift, remediatetest.WorkerZero(), "P-224"},
		{"with a short RSA key", remediatetest.ClientAsking, keyed(weak, weakErr), openshift, remediatetest.WorkerZero(), "1024 bits"},
		{"with a key that no kubelet makes", remediatetest.ClientAsking, keyed(odd, oddErr), openshift, remediatetest.WorkerZero(), "Ed25519"},
		{"twice in one", remediatetest.ClientAsking, func(a *remediatetest.Asking) { a.Pem = func(b []byte) []byte { return append(b, b...) } }, openshift, remediatetest.WorkerZero(), "something beside"},
		{"that is no PEM, by the node", remediatetest.ServingAsking, func(a *remediatetest.Asking) { a.Pem = func([]byte) []byte { return []byte("x") } }, openshift, remediatetest.WorkerZero(), "no certificate request"},
		{"with a signature that does not fit", remediatetest.ServingAsking, func(a *remediatetest.Asking) {
			a.Pem = func(b []byte) []byte {
				block, _ := pem.Decode(b)
				block.Bytes[len(block.Bytes)-1] ^= 1
				return pem.EncodeToMemory(block)
			}
		}, openshift, remediatetest.WorkerZero(), "not signed with the key"},
		{"by an administrator, with a signature that does not fit", remediatetest.ClientAsking, func(a *remediatetest.Asking) {
			by("system:admin", "system:masters")(a)
			a.Pem = func(b []byte) []byte {
				block, _ := pem.Decode(b)
				block.Bytes[len(block.Bytes)-1] ^= 1
				return pem.EncodeToMemory(block)
			}
		}, openshift, remediatetest.WorkerZero(), `"system:admin" is not who asks`},
		{"with a key of a million bits", remediatetest.ServingAsking, func(a *remediatetest.Asking) {
			a.Pem = func([]byte) []byte { return million }
		}, openshift, remediatetest.WorkerZero(), "its request is of 355210 bytes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := c.ask(t)
			if c.change != nil {
				c.change(a)
			}
			r := RequestedNode{Name: "worker-0", object: c.object, Versions: c.versions, kubeletState: &kubeletState{}, origins: knownWorkerZero()}.judge(a.Made(t))
			switch {
			case r == nil:
				t.Fatal("it is not seen as the node's")
			case c.why == "" && r.mismatch != "" || !strings.Contains(r.mismatch, c.why):
				t.Errorf("it does not match as %q, want %q", r.mismatch, c.why)
			}
			if text := r.describe(); !strings.Contains(text, a.CSR.Name) || (r.mismatch != "") != strings.Contains(text, "NOT ") {
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
	answered := func(kind certificatesapi.RequestConditionType) func(*remediatetest.Asking) {
		return func(a *remediatetest.Asking) {
			a.CSR.Status.Conditions = []certificatesapi.CertificateSigningRequestCondition{{Type: kind, Status: corev1.ConditionTrue}}
		}
	}
	for name, change := range map[string]func(*remediatetest.Asking){
		"approved":           answered(certificatesapi.CertificateApproved),
		"denied":             answered(certificatesapi.CertificateDenied),
		"failed":             answered(certificatesapi.CertificateFailed),
		"issued":             func(a *remediatetest.Asking) { a.CSR.Status.Certificate = []byte("x") },
		"of another node":    func(a *remediatetest.Asking) { a.Asks.Subject.CommonName = "system:node:worker-1" },
		"of a longer name":   func(a *remediatetest.Asking) { a.Asks.Subject.CommonName = "system:node:worker-01" },
		"no request, by who": func(a *remediatetest.Asking) { a.Pem = func([]byte) []byte { return nil } },
	} {
		a := remediatetest.ClientAsking(t)
		change(a)
		if r := (RequestedNode{Name: "worker-0", object: remediatetest.WorkerZero(), Versions: catalog.Versions{Cluster: "4.15.0"}}).judge(a.Made(t)); r != nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestApprovalIsOfWhatWasRead: what changed after it was read is read and judged again.
func TestApprovalIsOfWhatWasRead(t *testing.T) {
	t.Parallel()
	api := &remediatetest.RequestsAPI{Signs: true}
	env, told := remediatetest.Approvals(t, remediatetest.NewWorld(t), api)
	api.Add(remediatetest.ClientAsking(t).Made(t))
	changed := false
	api.Before = func(method, _ string) *apierrors.StatusError {
		if method == http.MethodPut && !changed {
			changed = true
			api.Requests[0].ResourceVersion = "8"
			api.Requests[0].Spec.Username = "mallory"
		}
		return nil
	}
	a := NewApprovePending([]string{"worker-0"}, true, true)
	c, err := a.Diff(inspect.Snapshot{Nodes: []inspect.Node{{Name: "worker-0", Via: "ssh"}}, Cluster: inspect.Cluster{Versions: catalog.Versions{Cluster: "4.15.0"}}}, remediatetest.TestNow)
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	if err := a.Apply(t.Context(), env, c); err != nil || len(api.Log) > 0 {
		t.Fatalf("%v, approved %q\n%s", err, api.Log, told)
	}
	var late *remediate.LateEffectError
	if err := a.Verify(t.Context(), env, c); !errors.As(err, &late) || !strings.Contains(err.Error(), "mallory") {
		t.Error(err)
	}
}

func TestLeftRequests(t *testing.T) {
	t.Parallel()
	versions := inspect.Snapshot{Cluster: inspect.Cluster{Versions: catalog.Versions{Cluster: "4.15.0"}}}
	w := remediatetest.NewWorld(t)
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
			api := &remediatetest.RequestsAPI{Signs: c.signs}
			env, told := remediatetest.Approvals(t, w, api)
			api.Add(remediatetest.ServingAsking(t).Made(t))
			if c.forbidden != "" {
				api.Before = func(method, _ string) *apierrors.StatusError {
					if method == c.forbidden {
						return apierrors.NewForbidden(schema.GroupResource{Resource: "certificatesigningrequests"}, "csr-serving", errors.New("no"))
					}
					return nil
				}
			}
			a := NewApprovePending([]string{"worker-0"}, c.approve, true)
			change, _ := a.Diff(versions, remediatetest.TestNow)
			err := a.Apply(t.Context(), env, change)
			if err == nil {
				err = a.Verify(t.Context(), env, change)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %q\n%s", err, c.err, told)
			}
			if !slices.Equal(api.Log, c.want) {
				t.Errorf("approved %q, want %q", api.Log, c.want)
			}
		})
	}
	if c, err := NewApprovePending([]string{"worker-0"}, true, false).Diff(versions, remediatetest.TestNow); c != nil || err != nil {
		t.Errorf("with nothing pending: %+v, %v", c, err)
	}
	pending := func(name, node string) inspect.SigningRequest {
		return inspect.SigningRequest{Object: &inspect.Object{Name: name}, Condition: inspect.Pending, Request: &pki.Request{Subject: "CN=system:node:" + node + ",O=system:nodes"}}
	}
	versions.Requests = []inspect.SigningRequest{pending("csr-one", "worker-0"), pending("csr-two", "worker-0"), pending("csr-other", "worker-1")}
	if c, err := NewApprovePending([]string{"worker-0"}, true, false).Diff(versions, remediatetest.TestNow); err != nil || c == nil || !strings.HasSuffix(c.Summary, "(now: csr-one, csr-two)") {
		t.Errorf("the plan says of what is pending: %+v, %v", c, err)
	}
}

// TestKeysThatAreComputedWith: each check of a signature takes time, and any user makes requests.
func TestKeysThatAreComputedWith(t *testing.T) {
	t.Parallel()
	for bits, sane := range map[int]bool{1024: false, 2048: true, 4096: true, 4097: false, 8192: false} {
		n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
		if err := saneKey(&x509.CertificateRequest{PublicKey: &rsa.PublicKey{N: n, E: 65537}}); (err == nil) != sane {
			t.Errorf("%d bits: %v", bits, err)
		}
	}
}
