package collect

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

const (
	networkingV1   = "networking.k8s.io/v1"
	kindIngress    = pki.Kind("Ingress")
	kubernetesName = "ingresses.networking.k8s.io" // OpenShift has ingresses of its own
)

// The fields of an Ingress in protobuf (k8s.io/api/networking/v1/generated.proto).
const (
	ingressMetadata = 1
	ingressSpec     = 2
	specTLS         = 2
	tlsSecretName   = 2
)

// ingresses reads which Secrets Kubernetes' own Ingresses have served. Of each only its
// name and spec.tls are looked at.
func (c *Cluster) ingresses(ctx context.Context) part {
	return c.namespaced(ctx, kubernetesName, func(namespace string, t *tally) page {
		return func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
			return c.ingressPage(ctx, namespace, opts, t)
		}
	})
}

func (c *Cluster) ingressPage(ctx context.Context, namespace string, opts metav1.ListOptions, t *tally) (metav1.ListMeta, error) {
	path := "/apis/" + networkingV1 + "/ingresses"
	if namespace != "" {
		path = "/apis/" + networkingV1 + "/namespaces/" + namespace + "/ingresses"
	}
	body, err := withOptions(c.REST.Get().AbsPath(path), opts).SetHeader("Accept", runtime.ContentTypeProtobuf).Stream(ctx)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer func() { _ = body.Close() }() // read only
	var found inspect.Snapshot
	n := 0
	meta, err := readProtobufList(body, func(metav1.ListMeta) {}, func(item []byte) error {
		if n++; ctx.Err() != nil {
			return context.Cause(ctx)
		}
		one, err := wireIngress(c.Scanner.Within(ctx), item, t.word)
		take(&found, one)
		return err
	})
	if err != nil {
		return meta, err
	}
	t.take(found) // only now that the page came whole
	t.count(n)
	return meta, nil
}

// wireIngress reads what one Ingress refers to.
func wireIngress(sc *pki.Scanner, item []byte, word func([]byte) string) (inspect.Snapshot, error) {
	var object metav1.ObjectMeta
	var secrets []string
	err := eachField(item, func(field protowire.Number, v []byte) (err error) {
		switch field {
		case ingressMetadata:
			object, err = parseWireMeta(v, word)
		case ingressSpec:
			secrets, err = wireSecretNames(v)
		}
		return err
	})
	if err != nil {
		return inspect.Snapshot{}, fmt.Errorf("decode an Ingress: %w", undecoded(err))
	}
	r := objectReader{obj: objectOf(kindIngress, &object)}
	r.sc = scannerFor(sc, r.obj.Namespace)
	r.servedByIngress(secrets)
	return r.found, nil
}

// wireSecretNames are the secretNames of a spec's tls, those that are empty too.
func wireSecretNames(spec []byte) (names []string, err error) {
	err = eachField(spec, func(field protowire.Number, tls []byte) error {
		if field != specTLS {
			return nil
		}
		name := ""
		err := eachField(tls, func(field protowire.Number, v []byte) error {
			if field == tlsSecretName {
				name = string(v)
			}
			return nil
		})
		names = append(names, name)
		return err
	})
	return names, err
}

// servedByIngress notes the Secrets that an Ingress names: its controller presents them.
func (r *objectReader) servedByIngress(secrets []string) {
	for i, name := range secrets {
		r.refers(fmt.Sprintf("spec.tls[%d].secretName", i), secretAt(r.obj.Namespace, objectName{Name: name}))
	}
}
