package collect

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// keptFields are the fields of a message that are decoded, by number; of a message in it, those of its own, or
// all where that has none here.
type keptFields map[protowire.Number]keptFields

// filter copies the kept fields of a message.
func (k keptFields) filter(message []byte) (out []byte, err error) {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeField(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		whole := message[:n]
		message = message[n:]
		inner, kept := k[field]
		switch {
		case !kept:
		case inner == nil || kind != protowire.BytesType:
			out = append(out, whole...)
		default:
			_, _, tag := protowire.ConsumeTag(whole)
			value, _ := protowire.ConsumeBytes(whole[tag:])
			part, err := inner.filter(value)
			if err != nil {
				return nil, err
			}
			out = protowire.AppendBytes(protowire.AppendTag(out, field, kind), part)
		}
	}
	return out, nil
}

// message is a pointer to a type of the API.
type message[T any] interface {
	*T
	Unmarshal(wire []byte) error
}

// decodeKept decodes of an object what is kept: one of 1.5 MB takes ten times that when it is decoded, if it is
// made for it.
func decodeKept[T any, P message[T]](item []byte, keep keptFields) (P, error) {
	wire, err := keep.filter(item)
	object := P(new(T))
	if err == nil {
		err = object.Unmarshal(wire)
	}
	return object, undecoded(err)
}

// eachListed passes on the objects of a list, each when it is decoded: no more than one of them is in memory.
// What was handed over counts where there is no error.
func eachListed[T any, P message[T]](ctx context.Context, client rest.Interface, path string, limit int64, keep keptFields, each func(P) error) error {
	var pages foreign.Pages
	opts := metav1.ListOptions{Limit: limit}
	for {
		meta, err := fetchPage(ctx, client, path, opts, keep, each)
		if err != nil {
			return err
		}
		opts.Continue = meta.Continue
		if more, err := pages.Next(opts.Continue); !more {
			return err
		}
	}
}

// keptPage reads pages of a list. Of an object only keep is decoded, and no more than what pick returns
// stays in memory: each has that when its page came whole.
func keptPage[T any, P message[T], R any](client rest.Interface, path string, keep keptFields, pick func(P) R, each func(R)) page {
	return func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
		var read []R
		meta, err := fetchPage(ctx, client, path, opts, keep, func(object P) error {
			read = append(read, pick(object))
			return nil
		})
		if err != nil {
			return meta, err
		}
		if ctx.Err() != nil { // the pages that were read may be cut
			return meta, fmt.Errorf("read %s: %w", path, context.Cause(ctx))
		}
		for _, r := range read {
			each(r)
		}
		return meta, nil
	}
}

// fetchPage asks for a page, and passes on its objects, each when it is decoded.
func fetchPage[T any, P message[T]](ctx context.Context, client rest.Interface, path string, opts metav1.ListOptions, keep keptFields, each func(P) error) (metav1.ListMeta, error) {
	body, err := withOptions(client.Get().AbsPath(path), opts).SetHeader("Accept", runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON).Stream(ctx)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer func() { _ = body.Close() }() // read only
	var stopped error                   // by each, or by the end of ctx
	meta, err := eachOfPage(body, keep, func(object P) error {
		if stopped = context.Cause(ctx); stopped == nil {
			stopped = each(object)
		}
		return stopped
	})
	if stopped != nil || err == nil {
		return meta, stopped
	}
	return meta, fmt.Errorf("decode %s: %w", path, undecoded(err))
}

// eachOfPage reads a page in protobuf, or in JSON, which is what some proxies make of it.
func eachOfPage[T any, P message[T]](body io.Reader, keep keptFields, each func(P) error) (metav1.ListMeta, error) {
	in := bufio.NewReader(body)
	if begin, err := in.Peek(1); err != nil || begin[0] != '{' {
		return readProtobufList(in, func(metav1.ListMeta) {}, func(item []byte) error {
			object, err := decodeKept[T, P](item, keep)
			if err != nil {
				return err
			}
			return each(object)
		})
	}
	return readJSONList(in, func(dec *json.Decoder) error {
		var object T
		if err := dec.Decode(&timeTolerant[T]{&object}); err != nil {
			return undecoded(err)
		}
		return each(&object)
	})
}

// The fields of a Service, a Node and a CertificateSigningRequest in protobuf (k8s.io/api/core/v1/generated.proto
// and k8s.io/api/certificates/v1/generated.proto).
const (
	serviceMetadata, serviceSpec, serviceStatus       = 1, 2, 3
	serviceClusterIP, serviceClusterIPs, externalIPs  = 3, 18, 5
	serviceLoadBalancer, balancerIngress, ingressIP   = 1, 1, 1
	nodeMetadata, nodeStatus, nodeAddresses           = 1, 3, 5
	requestMetadata, requestSpec, requestStatus       = 1, 2, 3
	requestConditions, conditionState, requestsIssued = 1, 6, 2
	conditionMessage, conditionSince                  = 3, 5
	requestText, requestUsername, requestSigner       = 1, 2, 7
)

// requestsPath is that of the list of requests for certificates.
const requestsPath = "/apis/" + certificatesV1 + "/certificatesigningrequests"

// ListRequests passes on all requests for certificates, with their spec, and of their metadata what tells one from
// another. Each may be above 1 MB, and is forgotten unless each keeps it. What was handed over counts where there
// is no error.
func ListRequests(ctx context.Context, client rest.Interface, each func(*certificatesapi.CertificateSigningRequest) error) error {
	keep := keptFields{
		requestMetadata: {metaName: nil, metaUID: nil, metaVersion: nil, metaCreated: nil},
		requestSpec:     nil,
		requestStatus:   {requestConditions: {conditionType: nil, conditionState: nil}, requestsIssued: nil},
	}
	return eachListed(ctx, client, requestsPath, jsonPageSize, keep, each)
}

// ListServices passes on all Services, with their names and addresses alone.
func ListServices(ctx context.Context, client rest.Interface, each func(*corev1.Service) error) error {
	keep := keptFields{
		serviceMetadata: {metaName: nil, metaNamespace: nil},
		serviceSpec:     {serviceClusterIP: nil, serviceClusterIPs: nil, externalIPs: nil},
		serviceStatus:   {serviceLoadBalancer: {balancerIngress: {ingressIP: nil}}},
	}
	return eachListed(ctx, client, "/api/v1/services", pageSize, keep, each)
}

// ListNodeAddresses passes on all Nodes, with their names, labels and addresses alone.
func ListNodeAddresses(ctx context.Context, client rest.Interface, each func(*corev1.Node) error) error {
	keep := keptFields{nodeMetadata: {metaName: nil, metaLabels: nil}, nodeStatus: {nodeAddresses: nil}}
	return eachListed(ctx, client, "/api/v1/nodes", pageSize, keep, each)
}
