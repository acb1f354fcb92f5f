// Command cert-rotation has OpenShift's own code keep certificates in the lab: the
// rotation controllers, bundle combining and copying of
// github.com/openshift/library-go, with the names, namespaces and validities of
// cluster-kube-apiserver-operator and cluster-kube-controller-manager-operator.
// What is here is their configuration and the program around them: no certificate is
// made and no bundle is put together by code of the lab. It is a module of its own so
// that the versions which library-go asks for change nothing in Kubernetes'.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/certrotation"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourcehelper"
	"github.com/openshift/library-go/pkg/operator/resourcesynccontroller"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cert-rotation:", err)
		os.Exit(1)
	}
}

// run keeps certificates until it gets a signal to end.
func run(args []string) error {
	flags := flag.NewFlagSet("cert-rotation", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "the kubeconfig of the administrator")
	settled := flags.String("settled-file", "", "the file to write when there is nothing left to do for the first time")
	klog.InitFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 100, 200 // it is its API server's only operator
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	k := newKeeper(client)
	controllers, err := k.controllers()
	if err != nil {
		return err
	}
	k.informers.Start(ctx.Done())
	k.informers.WaitForCacheSync(ctx.Done())
	if err := k.settle(ctx, controllers); err != nil {
		return err
	}
	if err := os.WriteFile(*settled, nil, 0o644); err != nil {
		return fmt.Errorf("say that all is settled: %w", err)
	}
	for _, c := range controllers {
		go c.Run(ctx, 1)
	}
	<-ctx.Done()
	return nil
}

// keeper is what controllers share.
type keeper struct {
	client    kubernetes.Interface
	informers v1helpers.KubeInformersForNamespaces
	recorder  recorder
}

func newKeeper(client kubernetes.Interface) keeper {
	return keeper{client, v1helpers.NewKubeInformersForNamespaces(client, namespaces()...), recorder{
		Recorder: events.NewLoggingEventRecorder("cert-rotation", clock.RealClock{}),
		written:  &atomic.Int64{},
	}}
}

// settle has every controller do what there is to do, until that is nothing.
func (k keeper) settle(ctx context.Context, controllers []factory.Controller) error {
	const calm = 3 // rounds; caches follow what is written with a delay
	for quiet := 0; quiet < calm; {
		written, failed := k.recorder.written.Load(), false
		for _, c := range controllers {
			// As the operators do it when they are to run once: without a status to report.
			once := context.WithValue(ctx, certrotation.RunOnceContextKey, true)
			if err := c.Sync(once, factory.NewSyncContext(c.Name(), k.recorder)); err != nil {
				klog.Infof("not settled yet: %s: %v", c.Name(), err)
				failed = true
			}
		}
		quiet++
		if failed || k.recorder.written.Load() != written {
			quiet = 0
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

func (k keeper) controllers() ([]factory.Controller, error) {
	var all []factory.Controller
	for _, r := range rotators() {
		all = append(all, k.rotation(r))
	}
	copies, err := k.copies()
	if err != nil {
		return nil, err
	}
	return append(all, k.combining(), copies), nil
}

func (k keeper) rotation(r rotator) factory.Controller {
	owned := certrotation.AdditionalAnnotations{JiraComponent: "kube-apiserver"}
	signer := k.informers.InformersFor(r.family.signer.Namespace).Core().V1().Secrets()
	bundle := k.informers.InformersFor(r.family.bundle.Namespace).Core().V1().ConfigMaps()
	target := k.informers.InformersFor(r.target.Namespace).Core().V1().Secrets()
	return certrotation.NewCertRotationController(r.name,
		certrotation.RotatedSigningCASecret{
			Namespace: r.family.signer.Namespace, Name: r.family.signer.Name,
			Validity: r.family.lifetime.validity, Refresh: r.family.lifetime.refresh, AdditionalAnnotations: owned,
			Informer: signer, Lister: signer.Lister(), Client: k.client.CoreV1(), EventRecorder: k.recorder,
		},
		certrotation.CABundleConfigMap{
			Namespace: r.family.bundle.Namespace, Name: r.family.bundle.Name, AdditionalAnnotations: owned,
			Informer: bundle, Lister: bundle.Lister(), Client: k.client.CoreV1(), EventRecorder: k.recorder,
		},
		certrotation.RotatedSelfSignedCertKeySecret{
			Namespace: r.target.Namespace, Name: r.target.Name,
			Validity: r.lifetime.validity, Refresh: r.lifetime.refresh, AdditionalAnnotations: owned, CertCreator: r.creator,
			Informer: target, Lister: target.Lister(), Client: k.client.CoreV1(), EventRecorder: k.recorder,
		},
		k.recorder, logged{})
}

// copies is the operators' controller that copies. What it asks for first is the
// state of its operator, which the lab has no object of: managed.
func (k keeper) copies() (factory.Controller, error) {
	managed := v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{ManagementState: operatorv1.Managed}, &operatorv1.OperatorStatus{}, nil)
	c := resourcesynccontroller.NewResourceSyncController("lab", managed, k.informers,
		v1helpers.CachedSecretGetter(k.client.CoreV1(), k.informers), v1helpers.CachedConfigMapGetter(k.client.CoreV1(), k.informers), k.recorder)
	for _, d := range copiedConfigMaps() {
		if err := c.SyncConfigMap(d.to, d.from); err != nil {
			return nil, fmt.Errorf("copy ConfigMap %s/%s: %w", d.from.Namespace, d.from.Name, err)
		}
	}
	for _, d := range copiedSecrets() {
		if err := c.SyncSecret(d.to, d.from); err != nil {
			return nil, fmt.Errorf("copy Secret %s/%s: %w", d.from.Namespace, d.from.Name, err)
		}
	}
	return c, nil
}

// combining is the part of the operators' controllers of targets' configuration that
// makes aggregates.
func (k keeper) combining() factory.Controller {
	var informers []factory.Informer
	for _, n := range namespaces() {
		informers = append(informers, k.informers.InformersFor(n).Core().V1().ConfigMaps().Informer())
	}
	return factory.New().ResyncEvery(time.Minute).WithInformers(informers...).WithSync(func(ctx context.Context, _ factory.SyncContext) error {
		var errs []error
		for _, a := range aggregates() {
			if err := k.combine(ctx, a); err != nil {
				errs = append(errs, fmt.Errorf("combine ConfigMap %s/%s: %w", a.into.Namespace, a.into.Name, err))
			}
		}
		return errors.Join(errs...)
	}).ToController("TargetConfigController", k.recorder)
}

func (k keeper) combine(ctx context.Context, a aggregate) error {
	before, err := k.informers.ConfigMapLister().ConfigMaps(a.into.Namespace).Get(a.into.Name)
	if err != nil {
		return err // the lab has planted them all
	}
	wanted, change, err := resourcesynccontroller.CombineCABundleConfigMapsOptimistically(before, k.informers.ConfigMapLister(),
		certrotation.AdditionalAnnotations{JiraComponent: a.owner}, a.parts...)
	if err != nil || !change {
		return err
	}
	after, err := k.client.CoreV1().ConfigMaps(a.into.Namespace).Update(ctx, wanted, metav1.UpdateOptions{})
	resourcehelper.ReportUpdateEvent(k.recorder, after, err)
	return err
}

// logged is where controllers report to: the lab has no object for their state.
type logged struct{}

func (logged) Report(_ context.Context, controller string, err error) (bool, error) {
	if err != nil {
		klog.Infof("%s: %v", controller, err)
	}
	return false, nil
}

// recorder counts what is written, which is all that is reported as an event.
type recorder struct {
	events.Recorder
	written *atomic.Int64
}

func (r recorder) Eventf(reason, format string, args ...any) {
	r.written.Add(1)
	r.Recorder.Eventf(reason, format, args...)
}

func (r recorder) WithComponentSuffix(suffix string) events.Recorder {
	return recorder{r.Recorder.WithComponentSuffix(suffix), r.written}
}
