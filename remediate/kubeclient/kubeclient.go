// Package kubeclient owns the clients of the few kinds of Kubernetes' own that are changed, or read
// one by one. It refuses to link k8s.io/client-go/kubernetes, whose scheme registers every API group
// when the program starts: the scheme here has their four groups.
package kubeclient

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Client asks one API server.
type Client interface {
	// REST is for what has no client here.
	REST() rest.Interface
	// Serves is a NotFound error where the API server has no such group and version.
	Serves(ctx context.Context, groupVersion string) error
	ConfigMaps(namespace string) Objects[*corev1.ConfigMap, *corev1.ConfigMapList]
	Events(namespace string) Objects[*corev1.Event, *corev1.EventList]
	Leases(namespace string) Objects[*coordinationv1.Lease, *coordinationv1.LeaseList]
	Namespaces() Objects[*corev1.Namespace, *corev1.NamespaceList]
	Nodes() Objects[*corev1.Node, *corev1.NodeList]
	Pods(namespace string) Objects[*corev1.Pod, *corev1.PodList]
	SigningRequests() SigningRequests
	SelfSubjectReviews() SelfSubjectReviews
}

// Objects are those of one kind, in one namespace or in none. client-go's own clients are such.
type Objects[T, L any] interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Create(ctx context.Context, object T, opts metav1.CreateOptions) (T, error)
	Update(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error)
	Patch(ctx context.Context, name string, how types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// SigningRequests are CertificateSigningRequests.
type SigningRequests interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*certificatesv1.CertificateSigningRequest, error)
	UpdateApproval(ctx context.Context, name string, request *certificatesv1.CertificateSigningRequest, opts metav1.UpdateOptions) (*certificatesv1.CertificateSigningRequest, error)
}

// SelfSubjectReviews tell a client who it is.
type SelfSubjectReviews interface {
	Create(ctx context.Context, review *authenticationv1.SelfSubjectReview, opts metav1.CreateOptions) (*authenticationv1.SelfSubjectReview, error)
}

// New is a Client over one connection.
func New(config *rest.Config) (Client, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	groups := map[schema.GroupVersion]func(*runtime.Scheme) error{
		authenticationv1.SchemeGroupVersion: authenticationv1.AddToScheme,
		certificatesv1.SchemeGroupVersion:   certificatesv1.AddToScheme,
		coordinationv1.SchemeGroupVersion:   coordinationv1.AddToScheme,
		corev1.SchemeGroupVersion:           corev1.AddToScheme,
	}
	scheme := runtime.NewScheme()
	for _, add := range groups {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	codecs := rest.CodecFactoryForGeneratedClient(scheme, serializer.NewCodecFactory(scheme)).WithoutConversion()
	c := client{params: runtime.NewParameterCodec(scheme), of: map[schema.GroupVersion]rest.Interface{}}
	for version := range groups {
		of := rest.CopyConfig(config)
		of.GroupVersion, of.APIPath, of.NegotiatedSerializer = &version, "/apis", codecs
		if version.Group == "" {
			of.APIPath = "/api"
		}
		if c.of[version], err = rest.RESTClientForConfigAndClient(of, httpClient); err != nil {
			return nil, fmt.Errorf("%s: %w", version, err)
		}
	}
	return c, nil
}

type client struct {
	params runtime.ParameterCodec
	of     map[schema.GroupVersion]rest.Interface
}

func (c client) REST() rest.Interface { return c.of[corev1.SchemeGroupVersion] }

func (c client) Serves(ctx context.Context, groupVersion string) error {
	return c.REST().Get().AbsPath("/apis/" + groupVersion).Do(ctx).Into(&metav1.APIResourceList{})
}

func (c client) ConfigMaps(namespace string) Objects[*corev1.ConfigMap, *corev1.ConfigMapList] {
	return objects[corev1.ConfigMap, corev1.ConfigMapList, *corev1.ConfigMap, *corev1.ConfigMapList]{c.REST(), c.params, "configmaps", namespace}
}

func (c client) Events(namespace string) Objects[*corev1.Event, *corev1.EventList] {
	return objects[corev1.Event, corev1.EventList, *corev1.Event, *corev1.EventList]{c.REST(), c.params, "events", namespace}
}

func (c client) Leases(namespace string) Objects[*coordinationv1.Lease, *coordinationv1.LeaseList] {
	return objects[coordinationv1.Lease, coordinationv1.LeaseList, *coordinationv1.Lease, *coordinationv1.LeaseList]{c.of[coordinationv1.SchemeGroupVersion], c.params, "leases", namespace}
}

func (c client) Namespaces() Objects[*corev1.Namespace, *corev1.NamespaceList] {
	return objects[corev1.Namespace, corev1.NamespaceList, *corev1.Namespace, *corev1.NamespaceList]{c.REST(), c.params, "namespaces", ""}
}

func (c client) Nodes() Objects[*corev1.Node, *corev1.NodeList] {
	return objects[corev1.Node, corev1.NodeList, *corev1.Node, *corev1.NodeList]{c.REST(), c.params, "nodes", ""}
}

func (c client) Pods(namespace string) Objects[*corev1.Pod, *corev1.PodList] {
	return objects[corev1.Pod, corev1.PodList, *corev1.Pod, *corev1.PodList]{c.REST(), c.params, "pods", namespace}
}

func (c client) SigningRequests() SigningRequests {
	requests := signingRequests{}
	requests.client, requests.params, requests.resource = c.of[certificatesv1.SchemeGroupVersion], c.params, "certificatesigningrequests"
	return requests
}

func (c client) SelfSubjectReviews() SelfSubjectReviews {
	return reviews{c.of[authenticationv1.SchemeGroupVersion], c.params}
}
