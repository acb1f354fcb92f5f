package remediatetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	certificatesclient "k8s.io/client-go/kubernetes/typed/certificates/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
)

// objects is what a simulated API server has, and who works by it.
type objects struct {
	back     time.Time // before which no question is answered
	versions int       // the last resourceVersion
	requests []*certificatesapi.CertificateSigningRequest
	strange  map[string]bool // requests that no kubelet made, by name
	// leading: the leader of kube-controller-manager works by a connection from before.
	leading    bool
	rolled     time.Time // when a master got its new revision
	lease      *coordinationv1.Lease
	keeper     *keeper
	rival      time.Time // since when somebody else holds the Lease whom nobody let
	wants      bool      // somebody else wants the Lease
	check      *unstructured.Unstructured
	probes     map[string]*corev1.Pod
	keys       map[string]*kubeletKey // of all schedules, by what they are for and by the request
	old, young []*pki.Cert            // CAs: before, and those of the ConfigMap
}

// keeper is who renews the Lease: whenever the clock moves on it has its turn, and
// nobody else goes on before it sleeps again.
type keeper struct {
	wake, asleep chan struct{}
	done         <-chan struct{}
}

func (k *keeper) sleep(ctx context.Context, _ time.Duration) error {
	for _, step := range []func() bool{
		func() bool {
			select {
			case k.asleep <- struct{}{}:
				return true
			case <-ctx.Done():
				return false
			}
		},
		func() bool {
			select {
			case <-k.wake:
				return true
			case <-ctx.Done():
				return false
			}
		},
	} {
		if !step() {
			return context.Cause(ctx)
		}
	}
	return nil
}

func (k *keeper) sleeps() {
	select {
	case <-k.asleep:
	case <-k.done:
	}
}

// pass lets time go by: everybody else is at work meanwhile.
func (s *simulation) pass(d time.Duration) {
	s.clock = s.clock.Add(d)
	for _, n := range s.nodes {
		if n.gone {
			continue
		}
		if !n.multusUp && n.connected && s.makesPods() {
			n.newMultus()
		}
		n.asks()
	}
	s.sign()
	s.rollOut()
	s.compete()
	if k := s.keeper; k != nil {
		select {
		case k.wake <- struct{}{}:
			k.sleeps()
		case <-k.done:
		}
	}
}

// makesPods reports whether kube-controller-manager works: by an old connection, or by the
// new CA.
func (s *simulation) makesPods() bool { return s.leading || s.revised() }

// revised reports whether a master has a revision with the new CA.
func (s *simulation) revised() bool {
	return slices.ContainsFunc(s.nodes, func(n *simulated) bool { return n.revised })
}

// rollOut brings the CA to one master after another, as long as all of them are Ready, and
// an installer pod gets its network.
func (s *simulation) rollOut() {
	if s.clock.Sub(s.rolled) < 40*time.Second {
		return
	}
	masters := s.masters()
	if slices.ContainsFunc(masters, func(n *simulated) bool { return !n.connected }) {
		return
	}
	for _, n := range masters {
		if !n.revised {
			if n.networked() {
				n.revised, s.rolled = true, s.clock
			}
			return
		}
	}
}

func (s *simulation) masters() (out []*simulated) {
	for _, n := range s.nodes {
		if n.role == catalog.RoleMaster {
			out = append(out, n)
		}
	}
	return out
}

// networked reports whether new pods get a network.
func (n *simulated) networked() bool {
	return n.multusUp && (n.multusOn || n.trusts(n.multus))
}

// startMultus has its process read the file.
func (n *simulated) startMultus() {
	n.multus, n.multusAt, n.multusUp = n.cas[KubeletFile], n.clock, true
	n.multusOn = n.trusts(n.multus)
}

// newMultus is a new pod of it.
func (n *simulated) newMultus() {
	n.multusPod++
	n.startMultus()
}

// reconnect breaks the connections of a node: who does not trust what is shown is lost.
func (n *simulated) reconnect() {
	n.connected = n.trusts(n.memory) && n.certified()
	n.multusOn = n.multusUp && n.trusts(n.multus)
}

// away has kube-apiserver restart.
func (s *simulation) away(d time.Duration) {
	s.back = s.clock.Add(d)
	s.leading = s.revised()
	for _, n := range s.nodes {
		n.reconnect()
	}
}

// kubeletKey is a key with which somebody asks for a certificate of a node, and what they
// get. Making them takes long: all schedules have the same.
type kubeletKey struct {
	request []byte // PEM
	parsed  *pki.Request
	cert    *pki.Cert
}

// key is the i-th one of somebody's for a node.
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

// Until when client certificates are valid, of schedules that begin at testNow.
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

// compete is somebody else who wants to change the cluster: they take the Lease when
// nobody holds it, or who does was silent for its time, and let it go again.
func (s *simulation) compete() {
	const bob = "bob@b, run 7"
	switch free := s.lease == nil || s.clock.Sub(s.lease.Spec.RenewTime.Time) >= time.Duration(*s.lease.Spec.LeaseDurationSeconds)*time.Second; {
	case s.lease != nil && *s.lease.Spec.HolderIdentity == bob:
		if s.clock.Sub(s.lease.Spec.AcquireTime.Time) > 90*time.Second {
			s.lease, s.wants = nil, false
		}
	case s.wants && free:
		s.taken(bob)
		s.rival = s.clock // since when nobody else is to begin anything
	}
}

// taken gives the Lease to somebody, for a minute and a half.
func (s *simulation) taken(by string) {
	now, lasts := metav1.NewMicroTime(s.clock), int32(90)
	s.lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: remediate.LeaseName, ResourceVersion: s.version()}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &by, AcquireTime: &now, RenewTime: &now, LeaseDurationSeconds: &lasts}}
}

// machinery is what may reboot nodes, as it is read.
func (s *simulation) machinery(context.Context) *inspect.ControlPlaneStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &inspect.ControlPlaneStatus{Update: inspect.Update{Progressing: "False"}, StaticPods: []inspect.StaticPods{{Resource: "kubeapiservers", Latest: 7}}}
	if s.answers() != nil {
		m.Gaps = []inspect.Gap{{What: catalog.ClusterVersions, Reason: errSimulated.Error(), Next: "wait"}}
		return m
	}
	for _, n := range s.nodes {
		if !n.gone {
			m.Nodes = append(m.Nodes, inspect.NodeState{Name: n.name, Ready: n.heartbeat().Ready, Master: n.role == catalog.RoleMaster})
		}
		if n.role == catalog.RoleMaster {
			m.StaticPods[0].Masters = append(m.StaticPods[0].Masters, inspect.StaticPodState{Node: n.name, Current: 7})
		}
	}
	if s.check != nil {
		a := inspect.Actor{Resource: catalog.MachineHealthChecks, Namespace: s.check.GetNamespace(), Name: s.check.GetName(), Active: catalog.Yes, Why: "it heeds Ready Unknown"}
		if by, ok := s.paused(); ok {
			a.Paused = []string{by}
		}
		m.Actors = append(m.Actors, a)
	}
	return m
}

const pausedBy = "cluster.x-k8s.io/paused"

// paused says who keeps the health check from acting.
func (s *simulation) paused() (by string, ok bool) {
	by, ok = s.check.GetAnnotations()[pausedBy]
	return by, ok
}

// pause is what somebody else writes there; empty: nobody is to.
func (s *simulation) pause(by string) {
	s.check.SetAnnotations(nil)
	if by != "" {
		s.check.SetAnnotations(map[string]string{pausedBy: by})
	}
	s.check.SetResourceVersion(s.version())
}

// answers lets something happen, and is why the API server does not answer then.
func (s *simulation) answers() error {
	s.happens()
	if s.dead || s.clock.Before(s.back) {
		return errSimulated
	}
	return nil
}

// rollout reads how far kube-controller-manager is.
func (s *simulation) rollout(context.Context) (inspect.Rollout, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.answers(); err != nil {
		return inspect.Rollout{}, err
	}
	return s.revisions(), nil
}

func (s *simulation) revisions() inspect.Rollout {
	r := inspect.Rollout{Operator: true, Source: s.young, Latest: 8, RootCAs: []inspect.RootCA{{Namespace: "openshift-multus", CA: s.old}}}
	if s.revised() {
		r.RootCAs[0].CA = s.young
	}
	for _, n := range s.masters() {
		m := inspect.Revision{Node: n.name, Current: 7, CA: s.old, Ready: n.heartbeat().Ready}
		if n.revised {
			m.Current, m.CA = 8, s.young
		}
		r.Masters = append(r.Masters, m)
	}
	return r
}

// pods are multus', as they are read for a plan.
func (s *simulation) pods() (out []inspect.Pod) {
	for _, n := range s.nodes {
		if n.multusUp && !n.gone {
			out = append(out, n.pod())
		}
	}
	return out
}

func (n *simulated) pod() inspect.Pod {
	p := PodOf(RowOf("multus"), n.name, n.multusAt)
	p.UID = fmt.Sprintf("%s-%d", p.UID, n.multusPod)
	p.Name = fmt.Sprintf("%s-%d", p.Name, n.multusPod)
	return p
}

// simulatedKube is the API as far as a run asks it. What is not here is not asked for.
type simulatedKube struct {
	kubernetes.Interface
	s *simulation
}

func (k simulatedKube) CoreV1() coreclient.CoreV1Interface { return simulatedCore{s: k.s} }
func (k simulatedKube) CertificatesV1() certificatesclient.CertificatesV1Interface {
	return simulatedCertificates{s: k.s}
}

func (k simulatedKube) CoordinationV1() coordinationclient.CoordinationV1Interface {
	return simulatedCoordination{s: k.s}
}

type simulatedCore struct {
	coreclient.CoreV1Interface
	s *simulation
}

func (c simulatedCore) Nodes() coreclient.NodeInterface { return simulatedNodes{s: c.s} }
func (c simulatedCore) Pods(namespace string) coreclient.PodInterface {
	return simulatedPods{s: c.s, namespace: namespace}
}
func (c simulatedCore) Events(string) coreclient.EventInterface { return simulatedEvents{} }

type simulatedEvents struct{ coreclient.EventInterface }

func (simulatedEvents) List(context.Context, metav1.ListOptions) (*corev1.EventList, error) {
	return &corev1.EventList{}, nil
}

type simulatedNodes struct {
	coreclient.NodeInterface
	s *simulation
}

func (a simulatedNodes) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Node, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if err := a.s.answers(); err != nil {
		return nil, err
	}
	n := a.s.find(name)
	if n.gone {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
	}
	return NodeThat(name, corev1.ConditionStatus(n.heartbeat().Ready)), nil
}

// simulatedPods are those of multus, and those that ask for a network.
type simulatedPods struct {
	coreclient.PodInterface
	s         *simulation
	namespace string
}

func (a simulatedPods) List(_ context.Context, opts metav1.ListOptions) (*corev1.PodList, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if err := a.s.answers(); err != nil {
		return nil, err
	}
	list := &corev1.PodList{}
	for _, p := range a.s.pods() {
		if opts.FieldSelector == "spec.nodeName="+p.Node && a.namespace == p.Namespace {
			list.Items = append(list.Items, *DaemonPod(p, p.UID, corev1.PodRunning, corev1.ConditionTrue))
		}
	}
	return list, nil
}

func (a simulatedPods) Create(_ context.Context, pod *corev1.Pod, _ metav1.CreateOptions) (*corev1.Pod, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if err := a.s.answers(); err != nil {
		return nil, err
	}
	made := pod.DeepCopy()
	made.UID = types.UID("uid-" + pod.Name)
	a.s.probes[pod.Name] = made
	return made, nil
}

func (a simulatedPods) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if err := a.s.answers(); err != nil {
		return nil, err
	}
	p := a.s.probes[name]
	if p == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
	}
	if n := a.s.find(p.Spec.NodeName); n.connected {
		at := metav1.NewTime(a.s.clock)
		p.Status.StartTime = &at
		if n.networked() {
			p.Status.PodIP = "192.0.2.9"
		}
	}
	return p.DeepCopy(), nil
}

// Delete of a pod of multus leaves the node without one until somebody makes it anew.
func (a simulatedPods) Delete(_ context.Context, name string, opts metav1.DeleteOptions) error {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if err := a.s.answers(); err != nil {
		return err
	}
	if a.s.probes[name] != nil {
		delete(a.s.probes, name)
		return nil
	}
	for _, n := range a.s.nodes {
		if p := n.pod(); p.Name != name || !n.multusUp || string(*opts.Preconditions.UID) != p.UID {
			continue
		}
		if slices.ContainsFunc(a.s.masters(), func(n *simulated) bool { return !n.revised }) {
			a.s.broken = append(a.s.broken, "pod "+name+" was deleted before kube-controller-manager had the CA")
		}
		a.s.ours("deleting pod "+name, func() {
			if n.multusUp, n.multusOn = false, false; n.connected && a.s.makesPods() {
				n.newMultus()
			}
		})
		return nil
	}
	return apierrors.NewNotFound(corev1.Resource("pods"), name)
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

type simulatedCoordination struct {
	coordinationclient.CoordinationV1Interface
	s *simulation
}

func (c simulatedCoordination) Leases(string) coordinationclient.LeaseInterface {
	return simulatedLeases{s: c.s}
}

// simulatedLeases are asked by the keeper, while whoever let the clock move on holds the
// simulation; and before and after a run.
type simulatedLeases struct {
	coordinationclient.LeaseInterface
	s *simulation
}

func (a simulatedLeases) asked(held *coordinationv1.Lease) error {
	switch {
	case a.s.dead || a.s.clock.Before(a.s.back):
		return errSimulated
	case held != nil && a.s.lease != nil && held.ResourceVersion != a.s.lease.ResourceVersion:
		return apierrors.NewConflict(coordinationv1.Resource("leases"), remediate.LeaseName, errSimulated)
	}
	return nil
}

func (a simulatedLeases) Get(context.Context, string, metav1.GetOptions) (*coordinationv1.Lease, error) {
	if err := a.asked(nil); err != nil {
		return nil, err
	}
	if a.s.lease == nil {
		return nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), remediate.LeaseName)
	}
	return a.s.lease.DeepCopy(), nil
}

func (a simulatedLeases) Create(ctx context.Context, held *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return a.Update(ctx, held, metav1.UpdateOptions{})
}

func (a simulatedLeases) Update(_ context.Context, held *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if err := a.asked(held); err != nil {
		return nil, err
	}
	a.s.lease = held.DeepCopy()
	a.s.lease.ResourceVersion = a.s.version()
	return a.s.lease.DeepCopy(), nil
}

func (a simulatedLeases) Delete(_ context.Context, _ string, opts metav1.DeleteOptions) error {
	if err := a.asked(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{ResourceVersion: *opts.Preconditions.ResourceVersion}}); err != nil {
		return err
	}
	a.s.lease = nil
	return nil
}

// simulatedDynamic has one MachineHealthCheck, or none.
type simulatedDynamic struct {
	dynamic.Interface
	s *simulation
}

func (d simulatedDynamic) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return simulatedChecks{s: d.s}
}

type simulatedChecks struct {
	dynamic.NamespaceableResourceInterface
	s *simulation
}

func (a simulatedChecks) Namespace(string) dynamic.ResourceInterface { return a }

func (a simulatedChecks) Get(context.Context, string, metav1.GetOptions, ...string) (*unstructured.Unstructured, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if err := a.s.answers(); err != nil {
		return nil, err
	}
	return a.s.check.DeepCopy(), nil
}

func (a simulatedChecks) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*unstructured.Unstructured, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if err := a.s.answers(); err != nil {
		return nil, err
	}
	var patch struct {
		Metadata struct {
			ResourceVersion string             `json:"resourceVersion"`
			Annotations     map[string]*string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, err
	}
	if patch.Metadata.ResourceVersion != a.s.check.GetResourceVersion() {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: catalog.MachineHealthChecks}, name, errSimulated)
	}
	by, _ := a.s.paused()
	if to := patch.Metadata.Annotations[pausedBy]; to == nil && strings.HasPrefix(by, "certrot ") {
		a.s.pause("")
	} else if to != nil && by == "" {
		a.s.pause(*to)
	} else {
		a.s.broken = append(a.s.broken, fmt.Sprintf("a health check that %q paused was written to: %s", by, data))
	}
	return a.s.check.DeepCopy(), nil
}

// heartbeatOf is what the API server knows of a node.
func (s *simulation) heartbeatOf(_ context.Context, name string) (collect.Heartbeat, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.answers(); err != nil {
		return collect.Heartbeat{}, err
	}
	n := s.find(name)
	if n.gone {
		return collect.Heartbeat{}, errSimulated
	}
	return n.heartbeat(), nil
}

// told are the requests as they are read for a plan.
func (s *simulation) told() (out []inspect.SigningRequest) {
	for _, r := range s.requests {
		if csr.Pending(r) {
			k := s.keyOf(r)
			out = append(out, inspect.SigningRequest{Object: &inspect.Object{Kind: "CertificateSigningRequest", Name: r.Name}, Signer: r.Spec.SignerName, Requester: r.Spec.Username, Condition: inspect.Pending, Since: r.CreationTimestamp.Time, Request: k.parsed})
		}
	}
	return out
}

func (s *simulation) keyOf(r *certificatesapi.CertificateSigningRequest) *kubeletKey {
	return s.keys[string(r.Spec.Request)]
}
