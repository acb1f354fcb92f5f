package bench

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// load is what a cluster holds. The first secrets hold a certificate each, with a
// key of its own; so do the first config maps. Most of the former are of type
// kubernetes.io/tls, every tenth is any Secret. All others hold other things.
type load struct{ namespaces, secrets, configMaps, certificates, bundles int }

// distinct is how many certificates are made for it.
func (l load) distinct() int { return l.certificates + l.bundles }

// populate makes of a cluster that holds before one that holds l.
func populate(b testing.TB, kubeconfig string, before, l load) {
	b.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		b.Fatal(err)
	}
	config.QPS = -1
	config.ContentType = runtime.ContentTypeProtobuf
	p := populator{
		client: kubernetes.NewForConfigOrDie(config).CoreV1(), before: before, load: l,
		ca:   pkitest.NewCA("bench CA", time.Now().AddDate(-1, 0, 0).Truncate(24*time.Hour), time.Now().AddDate(9, 0, 0).Truncate(24*time.Hour)),
		from: time.Now().AddDate(0, -1, 0).Truncate(24 * time.Hour), to: time.Now().AddDate(1, 0, 0).Truncate(24 * time.Hour),
	}
	began := time.Now()
	for _, kind := range []struct {
		n    int
		make func(ctx context.Context, i int) error
	}{{l.namespaces, p.namespace}, {l.secrets, p.secret}, {l.configMaps - l.namespaces, p.configMap}} {
		g, ctx := errgroup.WithContext(b.Context())
		g.SetLimit(32)
		for i := range kind.n {
			g.Go(func() error { return kind.make(ctx, i) })
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	p.waitForRoots(b)
	b.Logf("filled with %+v in %v", l, time.Since(began).Round(time.Second))
}

type populator struct {
	client       typedcorev1.CoreV1Interface
	before, load load
	ca           *pkitest.Authority
	from, to     time.Time
}

func (p populator) in(i int) string { return fmt.Sprintf("bench-%04d", i%p.load.namespaces) }

func (p populator) issue(name string) pkitest.Pair {
	return p.ca.Issue(name, p.from, p.to, pkitest.DNS(name))
}

func (p populator) namespace(ctx context.Context, i int) error {
	if i < p.before.namespaces {
		return nil
	}
	_, err := p.client.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.in(i)}}, metav1.CreateOptions{})
	return err
}

func (p populator) secret(ctx context.Context, i int) error {
	holds, held := i < p.load.certificates, i < p.before.certificates
	if i < p.before.secrets && holds == held {
		return nil
	}
	secrets := p.client.Secrets(p.in(i))
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("secret-%d", i)}}
	switch {
	case !holds:
		s.Data = map[string][]byte{"password": fmt.Appendf(nil, "%d", i), "config": filler(i, 2000)}
	case i%10 == 9:
		leaf := p.issue(fmt.Sprintf("host-%d.example.com", i))
		s.Data = map[string][]byte{"server.pem": append(leaf.CertPEM, p.ca.CertPEM...), "server.key": leaf.KeyPEM}
	default:
		leaf := p.issue(fmt.Sprintf("host-%d.example.com", i))
		s.Type = corev1.SecretTypeTLS
		s.Data = map[string][]byte{"tls.crt": leaf.CertPEM, "tls.key": leaf.KeyPEM, "ca.crt": p.ca.CertPEM}
	}
	if i < p.before.secrets { // the type of a Secret can't be changed
		if err := secrets.Delete(ctx, s.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	_, err := secrets.Create(ctx, s, metav1.CreateOptions{})
	return err
}

func (p populator) configMap(ctx context.Context, i int) error {
	holds, held, there := i < p.load.bundles, i < p.before.bundles, i < p.before.configMaps-p.before.namespaces
	if there && holds == held {
		return nil
	}
	configMaps := p.client.ConfigMaps(p.in(i))
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("config-%d", i)}, Data: map[string]string{"settings.yaml": "a: b\n", "readme": string(filler(i, 1500))}}
	if holds {
		m.Data["trusted.pem"] = string(p.issue(fmt.Sprintf("peer-%d.example.com", i)).CertPEM)
	}
	if there {
		_, err := configMaps.Update(ctx, m, metav1.UpdateOptions{})
		return err
	}
	_, err := configMaps.Create(ctx, m, metav1.CreateOptions{})
	return err
}

// waitForRoots waits until every namespace has its kube-root-ca.crt: the
// controller that makes them makes some twenty a second.
func (p populator) waitForRoots(b testing.TB) {
	b.Helper()
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		list, err := p.client.ConfigMaps("").List(b.Context(), metav1.ListOptions{FieldSelector: "metadata.name=kube-root-ca.crt", ResourceVersion: "0"})
		if err != nil {
			b.Fatal(err)
		}
		if len(list.Items) >= p.load.namespaces {
			return
		}
	}
	b.Fatal("not every namespace got its kube-root-ca.crt")
}

// filler is text that packs about as well as configuration does.
func filler(seed, n int) []byte {
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	raw := make([]byte, n/2)
	_, _ = random.Read(raw)
	return []byte(hex.EncodeToString(raw))
}
