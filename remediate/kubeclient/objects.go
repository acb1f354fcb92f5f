package kubeclient

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// pointer is a type of objects, which is a pointer to a struct.
type pointer[T any] interface {
	*T
	runtime.Object
}

type named[T any] interface {
	pointer[T]
	metav1.Object
}

// objects asks as client-go's gentype does, in protobuf where an API server has it. gentype brings its own fakes, and
// with these 20 modules of OpenAPI.
type objects[T, L any, PT named[T], PL pointer[L]] struct {
	client    rest.Interface
	params    runtime.ParameterCodec
	resource  string
	namespace string // empty: of none
}

func (o objects[T, L, PT, PL]) request(r *rest.Request) *rest.Request {
	return r.UseProtobufAsDefault().NamespaceIfScoped(o.namespace, o.namespace != "").Resource(o.resource)
}

func into[T any, PT pointer[T]](ctx context.Context, r *rest.Request) (PT, error) {
	var result PT = new(T)
	return result, r.Do(ctx).Into(result)
}

func (o objects[T, L, PT, PL]) Get(ctx context.Context, name string, opts metav1.GetOptions) (PT, error) {
	return into[T, PT](ctx, o.request(o.client.Get()).Name(name).VersionedParams(&opts, o.params))
}

func (o objects[T, L, PT, PL]) List(ctx context.Context, opts metav1.ListOptions) (PL, error) {
	return into[L, PL](ctx, o.request(o.client.Get()).VersionedParams(&opts, o.params))
}

func (o objects[T, L, PT, PL]) Create(ctx context.Context, object PT, opts metav1.CreateOptions) (PT, error) {
	return into[T, PT](ctx, o.request(o.client.Post()).VersionedParams(&opts, o.params).Body(object))
}

func (o objects[T, L, PT, PL]) Update(ctx context.Context, object PT, opts metav1.UpdateOptions) (PT, error) {
	return into[T, PT](ctx, o.request(o.client.Put()).Name(object.GetName()).VersionedParams(&opts, o.params).Body(object))
}

func (o objects[T, L, PT, PL]) Patch(ctx context.Context, name string, how types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (PT, error) {
	return into[T, PT](ctx, o.request(o.client.Patch(how)).Name(name).SubResource(subresources...).VersionedParams(&opts, o.params).Body(data))
}

func (o objects[T, L, PT, PL]) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	return o.request(o.client.Delete()).Name(name).Body(&opts).Do(ctx).Error()
}

// signingRequests are objects with an approval.
type signingRequests struct {
	objects[certificatesv1.CertificateSigningRequest, certificatesv1.CertificateSigningRequestList, *certificatesv1.CertificateSigningRequest, *certificatesv1.CertificateSigningRequestList]
}

func (s signingRequests) UpdateApproval(ctx context.Context, name string, request *certificatesv1.CertificateSigningRequest, opts metav1.UpdateOptions) (*certificatesv1.CertificateSigningRequest, error) {
	return into[certificatesv1.CertificateSigningRequest](ctx, s.request(s.client.Put()).Name(name).SubResource("approval").VersionedParams(&opts, s.params).Body(request))
}

type reviews struct {
	client rest.Interface
	params runtime.ParameterCodec
}

func (r reviews) Create(ctx context.Context, review *authenticationv1.SelfSubjectReview, opts metav1.CreateOptions) (*authenticationv1.SelfSubjectReview, error) {
	return into[authenticationv1.SelfSubjectReview](ctx, r.client.Post().UseProtobufAsDefault().Resource("selfsubjectreviews").VersionedParams(&opts, r.params).Body(review))
}
