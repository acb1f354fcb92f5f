package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// load is what a cluster holds. certificates are distinct, each with a key of
// its own, the first ones in Secrets; the other objects hold other things.
type load struct{ namespaces, secrets, configMaps, certificates int }

// populate makes the objects, those that exist already being kept.
func populate(b testing.TB, kubeconfig string, l load) {
	b.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		b.Fatal(err)
	}
	config.QPS = -1
	client := kubernetes.NewForConfigOrDie(config).CoreV1()
	ctx := context.Background()
	ca := pkitest.NewCA("bench CA", time.Now().AddDate(-1, 0, 0), time.Now().AddDate(9, 0, 0))
	var g errgroup.Group
	g.SetLimit(16)
	each := func(n int, make func(i int) error) {
		for i := range n {
			g.Go(func() error {
				if err := make(i); err != nil && !apierrors.IsAlreadyExists(err) {
					return err
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	namespace := func(i int) string { return fmt.Sprintf("bench-%03d", i%l.namespaces) }
	each(l.namespaces, func(i int) error {
		_, err := client.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace(i)}}, metav1.CreateOptions{})
		return err
	})
	each(l.secrets, func(i int) error {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace(i)}}
		s.Name, s.Data = fmt.Sprintf("plain-%d", i), map[string][]byte{"password": fmt.Appendf(nil, "%d", i), "config": make([]byte, 2000)}
		if i < l.certificates {
			name := fmt.Sprintf("host-%d.example.com", i)
			p := ca.Issue(name, time.Now().AddDate(0, -1, 0).Truncate(24*time.Hour), time.Now().AddDate(1, 0, 0).Truncate(24*time.Hour), pkitest.DNS(name))
			s.Name, s.Type = fmt.Sprintf("tls-%d", i), corev1.SecretTypeTLS
			s.Data = map[string][]byte{"tls.crt": p.CertPEM, "tls.key": p.KeyPEM, "ca.crt": ca.CertPEM}
			if err := client.Secrets(s.Namespace).Delete(ctx, fmt.Sprintf("plain-%d", i), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		_, err := client.Secrets(s.Namespace).Create(ctx, s, metav1.CreateOptions{})
		return err
	})
	each(l.configMaps-l.namespaces, func(i int) error { // the other ones are kube-root-ca.crt
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace(i), Name: fmt.Sprintf("config-%d", i)}, Data: map[string]string{"settings.yaml": "a: b\n", "readme": string(make([]byte, 1500))}}
		_, err := client.ConfigMaps(m.Namespace).Create(ctx, m, metav1.CreateOptions{})
		return err
	})
}
