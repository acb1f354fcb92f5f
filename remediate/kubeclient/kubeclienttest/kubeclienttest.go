// Package kubeclienttest makes a kubeclient.Client of one of client-go's clientsets, its fake ones above
// all. It decides nothing itself.
package kubeclienttest

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient"
)

// Of asks what the clientset asks.
func Of(set kubernetes.Interface) kubeclient.Client { return client{set} }

type client struct{ set kubernetes.Interface }

func (c client) REST() rest.Interface { return c.set.CoreV1().RESTClient() }

func (c client) Serves(_ context.Context, groupVersion string) error {
	_, err := c.set.Discovery().ServerResourcesForGroupVersion(groupVersion)
	return err
}

func (c client) ConfigMaps(namespace string) kubeclient.Objects[*corev1.ConfigMap, *corev1.ConfigMapList] {
	return c.set.CoreV1().ConfigMaps(namespace)
}

func (c client) Events(namespace string) kubeclient.Objects[*corev1.Event, *corev1.EventList] {
	return c.set.CoreV1().Events(namespace)
}

func (c client) Leases(namespace string) kubeclient.Objects[*coordinationv1.Lease, *coordinationv1.LeaseList] {
	return c.set.CoordinationV1().Leases(namespace)
}

func (c client) Namespaces() kubeclient.Objects[*corev1.Namespace, *corev1.NamespaceList] {
	return c.set.CoreV1().Namespaces()
}

func (c client) Nodes() kubeclient.Objects[*corev1.Node, *corev1.NodeList] {
	return c.set.CoreV1().Nodes()
}

func (c client) Pods(namespace string) kubeclient.Objects[*corev1.Pod, *corev1.PodList] {
	return c.set.CoreV1().Pods(namespace)
}

func (c client) SigningRequests() kubeclient.SigningRequests {
	return c.set.CertificatesV1().CertificateSigningRequests()
}

func (c client) SelfSubjectReviews() kubeclient.SelfSubjectReviews {
	return c.set.AuthenticationV1().SelfSubjectReviews()
}
