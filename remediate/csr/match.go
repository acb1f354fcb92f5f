package csr

import (
	"context"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// RequestedNode is the node in whose name requests for certificates are judged.
type RequestedNode struct {
	Name   string
	object *corev1.Node // nil: the API knows no such Node
	// listed are the names and addresses of object; nil: they are still to be taken from it.
	listed   *listedHosts
	Versions catalog.Versions
	// certified is why its kubelet would not ask by a bootstrapper's token; empty: it may.
	certified string
	// kubeletState is what the node says of its kubelet; nil: it was not read, and no request by
	// a bootstrapper's token is its kubelet's.
	kubeletState *kubeletState
	// beforeRestart are requests from before its kubelet was restarted, by name; nil: it was not.
	beforeRestart map[string]bool
	// peers have the names and addresses of the other Nodes, with which a server's are compared; nil: they were not read.
	peers *peerHosts
	// readOrigins reads from where a server's names are known; nil: nothing may be approved.
	readOrigins func(ctx context.Context, node string, object *corev1.Node) *origins
	origins     *origins
	Hints       inspect.Hints
	// seen is told the keys with which is asked to join since the start of its kubelet, and says what
	// this run saw; nil: it remembers nothing.
	seen func(started time.Time, keys map[pki.Fingerprint]bool) remediate.JoinsSeen
}

func (n RequestedNode) user() string { return "system:node:" + n.Name }

// Request is a pending request for a certificate that says that it is a node's.
type Request struct {
	*certificatesapi.CertificateSigningRequest
	pkcs10 *x509.CertificateRequest // nil: it can't be read
	// mismatch says what is not as a kubelet of that node asks; empty: it matches.
	mismatch string
	// restart is the command after which the kubelet's own request is known; empty where
	// that is of no help.
	restart string
	// manual: only its names are not certain to be the node's, which a person may know.
	manual bool
	// notProbed: only whether the node's kubelet made it is unknown.
	notProbed bool
	// outsider: who asks is neither the node's kubelet nor what it may join as.
	outsider bool
	// beyond is how many more requests of outsiders there are, which were not kept.
	beyond int
	// proofs say of each name of a server from where it is known.
	proofs []string
	// claims say which of them another Node has in its list, too, against what is proven.
	claims []string
}

// judge returns a pending request that is, by its requester or its subject, about
// the node; nil where it is answered already, or about something else.
func (n RequestedNode) judge(csr *certificatesapi.CertificateSigningRequest) *Request {
	if !Pending(csr) {
		return nil
	}
	if csr.Spec.Username != n.user() && !n.isSubject(csr.Spec.Request) {
		return nil
	}
	asks, err := parseRequest(csr.Spec.Request)
	if csr.Spec.Username != n.user() && (asks == nil || asks.Subject.CommonName != n.user()) {
		return nil
	}
	r := &Request{CertificateSigningRequest: neededOf(csr), pkcs10: asks, outsider: csr.Spec.Username != n.user() && !n.bootstraps(csr.Spec.Username)}
	if err == nil {
		err = n.matches(csr, asks)
	}
	var left *manualApprovalError
	var unasked *notProbedError
	switch {
	case errors.As(err, &left):
		r.mismatch, r.manual = err.Error(), true
	case errors.As(err, &unasked):
		r.mismatch, r.notProbed = err.Error(), true
		if !n.Versions.NotOpenShift {
			r.restart = n.rebootstrap()
		}
	case err != nil:
		r.mismatch = err.Error()
	case r.serving():
		r.proofs = n.origins.proofs(asks)
		if n.peers != nil {
			r.claims = n.peers.claims(asks)
		}
	}
	return r
}

// isSubject reports whether a request may ask in the node's name. Another node's kubelet may fill requests with
// thousands of names, which are then read for each node, and with each list: of those of others, the subject alone is.
func (n RequestedNode) isSubject(text []byte) bool {
	if len(text) > pki.MaxRequest {
		return false
	}
	der, _ := pki.RequestBlock(text)
	name, ok := pki.RequestCommonName(der, n.user())
	return ok && name == n.user()
}

// Pending reports whether a request has no answer for which a kubelet waits. Conditions of other kinds are
// none, whoever writes them.
func Pending(csr *certificatesapi.CertificateSigningRequest) bool {
	answers := []certificatesapi.RequestConditionType{certificatesapi.CertificateApproved, certificatesapi.CertificateDenied, certificatesapi.CertificateFailed}
	return len(csr.Status.Certificate) == 0 && !slices.ContainsFunc(csr.Status.Conditions, func(c certificatesapi.CertificateSigningRequestCondition) bool {
		return c.Status != corev1.ConditionFalse && slices.Contains(answers, c.Type)
	})
}

// parseRequest reads one PKCS#10 request and nothing beside it. Its signature is checked
// later (see ownSignature): that takes time, and any user may make requests.
func parseRequest(text []byte) (*x509.CertificateRequest, error) {
	if len(text) > pki.MaxRequest {
		return nil, fmt.Errorf("its request is of %d bytes; kubelets make one of less than 2,000", len(text))
	}
	der, problem := pki.RequestBlock(text)
	if der == nil {
		return nil, errors.New("it " + problem)
	}
	asks, err := pki.ParseX509Request(der)
	switch {
	case err != nil:
		return nil, fmt.Errorf("its request can't be read: %w", err)
	case problem != "":
		return asks, errors.New("it " + problem)
	}
	return asks, nil
}

// ownSignature wants a request signed with the key that it is for, which is of a size that can be
// computed with.
func ownSignature(asks *x509.CertificateRequest) error {
	if err := asks.CheckSignature(); err != nil {
		return fmt.Errorf("it is not signed with the key that it is for: %w", err)
	}
	return nil
}

// matches says in what a request is not one that a kubelet of the node makes. It
// wants what kube-controller-manager's approver wants (kubernetes
// pkg/apis/certificates/helpers.go), of this node alone.
func (n RequestedNode) matches(csr *certificatesapi.CertificateSigningRequest, asks *x509.CertificateRequest) error {
	if n.anotherNode(csr.Spec.Username) {
		return fmt.Errorf("%s is not who asks for a kubelet's certificate: that node may be compromised", foreign.QuotedName(csr.Spec.Username))
	}
	if s := csr.Spec.SignerName; s != catalog.KubeletClientSigner && s != catalog.KubeletServingSigner {
		return fmt.Errorf("its signer %s signs no kubelet's certificates", foreign.QuotedName(s))
	}
	row, may := catalog.RequesterOf(csr.Spec.SignerName, csr.Spec.Username, n.Name, n.Versions)
	switch {
	case may == catalog.Unknown:
		return fmt.Errorf("whether %s may ask for it is unknown, as the cluster's version is", foreign.QuotedName(csr.Spec.Username))
	case may == catalog.No:
		return fmt.Errorf("%s is not who asks for a kubelet's certificate", foreign.QuotedName(csr.Spec.Username))
	case !slices.Contains(csr.Spec.Groups, row.Group):
		return fmt.Errorf("%s asks, and is not in the group %s", foreign.QuotedName(csr.Spec.Username), row.Group)
	case csr.Spec.Username != n.user() && n.certified != "":
		return fmt.Errorf("who has the token of %s asks, and %s", foreign.QuotedName(csr.Spec.Username), n.certified)
	case csr.Spec.Username != n.user() && n.beforeRestart[csr.Name]:
		return errors.New("it is from before the kubelet's restart: since then the kubelet asks with another key")
	case asks.Subject.CommonName != n.user():
		return fmt.Errorf("it asks for %s, and the node is %s", foreign.QuotedName(asks.Subject.CommonName), foreign.QuotedName(n.user()))
	case !slices.Equal(asks.Subject.Organization, []string{"system:nodes"}) || len(asks.Subject.Names) != 2:
		return fmt.Errorf("its subject %s is not CN=%s and O=system:nodes alone", foreign.QuotedName(asks.Subject.String()), n.user())
	}
	var usages []string
	for _, u := range csr.Spec.Usages {
		usages = append(usages, string(u))
	}
	if !catalog.IsKubeletUsage(csr.Spec.SignerName, usages) {
		return fmt.Errorf("its usages are %s, which no kubelet asks for", foreign.QuotedName(strings.Join(usages, " ")))
	}
	if err := saneKey(asks); err != nil {
		return err
	}
	if err := ownSignature(asks); err != nil {
		return err
	}
	if err := noAttributes(asks); err != nil {
		return err
	}
	if csr.Spec.SignerName == catalog.KubeletClientSigner {
		if err := noExtensions(asks); err != nil || csr.Spec.Username == n.user() {
			return err
		}
		return n.kubeletState.madeRequest(csr)
	}
	return n.ownsNames(asks)
}

// saneKey takes the keys that kubelets make, and RSA's that are long enough.
func saneKey(asks *x509.CertificateRequest) error {
	switch key := asks.PublicKey.(type) {
	case *ecdsa.PublicKey:
		if bits := key.Curve.Params().BitSize; bits >= 256 {
			return nil
		}
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits >= 2048 && bits <= 4096 {
			return nil
		}
	}
	return fmt.Errorf("its key is %s; kubelets make ECDSA P-256", keyOf(asks))
}

func keyOf(asks *x509.CertificateRequest) string {
	switch key := asks.PublicKey.(type) {
	case *ecdsa.PublicKey:
		return "ECDSA " + key.Curve.Params().Name
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA of %d bits", key.N.BitLen())
	}
	return asks.PublicKeyAlgorithm.String()
}

// noAttributes wants a request without attributes but that of its extensions. Others are read by no
// signer, and printed by tools as they stand.
func noAttributes(asks *x509.CertificateRequest) error {
	extensionRequest := asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 14}
	var all, attributes, one cryptobyte.String
	var present bool
	in := cryptobyte.String(asks.RawTBSCertificateRequest)
	ok := in.ReadASN1(&all, cbasn1.SEQUENCE) && all.SkipASN1(cbasn1.INTEGER) && all.SkipASN1(cbasn1.SEQUENCE) && all.SkipASN1(cbasn1.SEQUENCE) &&
		all.ReadOptionalASN1(&attributes, &present, cbasn1.Tag(0).ContextSpecific().Constructed())
	for ok && !attributes.Empty() {
		var id asn1.ObjectIdentifier
		if ok = attributes.ReadASN1(&one, cbasn1.SEQUENCE) && one.ReadASN1ObjectIdentifier(&id); ok && !id.Equal(extensionRequest) {
			return fmt.Errorf("it has attribute %s, which no kubelet's request has", id)
		}
	}
	if !ok {
		return errors.New("its attributes can't be read")
	}
	return nil
}

// noExtensions wants a client's request, which has no names beside its subject.
func noExtensions(asks *x509.CertificateRequest) error {
	if len(asks.Extensions) > 0 {
		return fmt.Errorf("a kubelet's client certificate has no other names, and it asks for %s", namesOf(asks))
	}
	return nil
}

// maxNames is how many names a request may have. A kubelet asks for those of its Node, of which there are a few for
// each network; each is compared with all that is known, for each request, again and again.
const maxNames = 50

// ownsNames wants a server's request, all of whose names are addresses of its Node, and known
// from elsewhere, too: the kubelet writes its Node itself.
func (n RequestedNode) ownsNames(asks *x509.CertificateRequest) error {
	if n.object == nil {
		return fmt.Errorf("there is no Node %s with whose addresses its names could be compared", n.Name)
	}
	if many := len(asks.DNSNames) + len(asks.IPAddresses); many > maxNames {
		return fmt.Errorf("it asks for %d names, and of more than %d none is compared: a kubelet asks for a few", many, maxNames)
	}
	subjectAltName := asn1.ObjectIdentifier{2, 5, 29, 17}
	for _, e := range asks.Extensions {
		if !e.Id.Equal(subjectAltName) {
			return fmt.Errorf("it asks for extension %s, which no kubelet does", e.Id)
		}
	}
	if len(asks.EmailAddresses)+len(asks.URIs) > 0 {
		return fmt.Errorf("it asks for the names %s: a kubelet has only DNS names and addresses", namesOf(asks))
	}
	if len(asks.DNSNames)+len(asks.IPAddresses) == 0 {
		return errors.New("it asks for no name")
	}
	listed := n.listed
	if listed == nil {
		listed = listedBy(n.object)
	}
	for _, name := range asks.DNSNames {
		if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) { // tools print it as it stands
			return fmt.Errorf("it asks for the name %s, which is no DNS name", foreign.QuotedName(name))
		}
		if !listed.names[strings.ToLower(name)] {
			return fmt.Errorf("it asks for the name %s, which is no address of Node %s", foreign.QuotedName(name), n.Name)
		}
	}
	for _, ip := range asks.IPAddresses {
		if !listed.hasIP(ip) {
			return fmt.Errorf("it asks for the address %s, which is none of Node %s", ip, n.Name)
		}
	}
	if n.Versions.NotOpenShift || n.Versions.Cluster == "" {
		return manualApproval("this is not confirmed to be OpenShift: elsewhere the cluster's own CA may sign it, and only the kubelet says which names are its own")
	}
	if err := n.peers.refuse(n.Name, asks, n.origins); err != nil {
		return err
	}
	if n.origins == nil {
		return errUncompared
	}
	return n.origins.refuse(asks)
}
