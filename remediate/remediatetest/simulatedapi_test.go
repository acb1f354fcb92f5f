package remediatetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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
	"k8s.io/client-go/kubernetes/scheme"
	certificatesclient "k8s.io/client-go/kubernetes/typed/certificates/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/rest/fake"

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
	rival      time.Time // since when someone else holds the Lease that no one let
	wants      bool      // someone else wants the Lease
	check      *unstructured.Unstructured
	probes     map[string]*corev1.Pod
	keys       map[string]*kubeletKey // of all schedules, by what they are for and by the request
	old, young []*pki.Cert            // CAs: before, and those of the ConfigMap
}

// keeper is who renews the Lease: whenever the clock moves on it has its turn, and
// no one else goes on before it sleeps again.
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

// pass lets time go by: every user else is at work meanwhile.
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

func (s *simulation) masters() (out []*simulated) {
	for _, n := range s.nodes {
		if n.role == catalog.RoleMaster {
			out = append(out, n)
		}
	}
	return out
}

// away has kube-apiserver restart.
func (s *simulation) away(d time.Duration) {
	s.back = s.clock.Add(d)
	s.leading = s.revised()
	for _, n := range s.nodes {
		n.reconnect()
	}
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

// RESTClient answers the list of requests, which is read without a typed client.
func (c simulatedCore) RESTClient() rest.Interface {
	return &fake.RESTClient{NegotiatedSerializer: scheme.Codecs.WithoutConversion(), Client: fake.CreateHTTPClient(func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, "/certificatesigningrequests") {
			return nil, fmt.Errorf("the simulated API server does not know %s", r.URL.Path)
		}
		list, err := simulatedCertificates{s: c.s}.CertificateSigningRequests().List(r.Context(), metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		list.Items = append([]certificatesapi.CertificateSigningRequest{}, list.Items...) // an empty list is no null
		text, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text))}, nil
	})}
}
