package nodeexec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// podAPI is the part of the API that leads onto nodes through pods. It knows no
// types but the server's errors: of a pod, a few fields matter here.
type podAPI struct {
	config *rest.Config
	rest   rest.Interface
	clock  atomic.Pointer[time.Time] // the server's, when it last answered
}

func newPodAPI(config *rest.Config) (*podAPI, error) {
	if config == nil {
		return nil, errors.New("no cluster to go through: no configuration of an API server was given")
	}
	a := &podAPI{config: rest.CopyConfig(config)}
	errorsOnly := runtime.NewScheme()
	metav1.AddToGroupVersion(errorsOnly, schema.GroupVersion{Version: "v1"})
	c := rest.CopyConfig(config)
	c.NegotiatedSerializer = serializer.NewCodecFactory(errorsOnly).WithoutConversion()
	c.ContentType = runtime.ContentTypeJSON
	c.QPS = -1 // hundreds of nodes are waited for at the same time, and the server has limits of its own
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return clockReader{next, &a.clock} })
	var err error
	a.rest, err = rest.UnversionedRESTClientFor(c)
	return a, err
}

// clockReader notes the server's time: ages of objects are by that clock.
type clockReader struct {
	next  http.RoundTripper
	clock *atomic.Pointer[time.Time]
}

func (c clockReader) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		c.clock.Store(&at)
	}
	return resp, nil
}

// age is how long ago something was when the server last answered, by its clock.
func (a *podAPI) age(t time.Time) time.Duration {
	now := a.clock.Load()
	if now == nil {
		return 0 // too new for anything
	}
	return now.Sub(t)
}

func podsPath(namespace string) string {
	if namespace == "" {
		return "/api/v1/pods"
	}
	return namespacesPath + "/" + namespace + "/pods"
}

const namespacesPath = "/api/v1/namespaces"

func (a *podAPI) get(ctx context.Context, path string, into any, params ...string) error {
	r := a.rest.Get().AbsPath(path)
	for i := 0; i+1 < len(params); i += 2 {
		r.Param(params[i], params[i+1])
	}
	body, err := raw(r.Do(ctx))
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// raw is an answer. An error is read by Error: Raw alone leaves out what it says.
func raw(r rest.Result) ([]byte, error) {
	if err := r.Error(); err != nil {
		return nil, foreign.Error(err)
	}
	body, err := r.Raw()
	return body, foreign.Error(err)
}

// create makes an object and reads what became of it.
func (a *podAPI) create(ctx context.Context, path string, object, into any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	body, err = raw(a.rest.Post().AbsPath(path).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body).Do(ctx))
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// remove deletes an object, if it is still the one with that uid; "" is any. grace
// is in seconds; negative leaves it to the object. What is not there is removed.
func (a *podAPI) remove(ctx context.Context, path, uid string, grace int) error {
	options := map[string]any{"apiVersion": "v1", "kind": "DeleteOptions"}
	if grace >= 0 {
		options["gracePeriodSeconds"] = grace
	}
	if uid != "" {
		options["preconditions"] = map[string]any{"uid": uid}
	}
	body, err := json.Marshal(options)
	if err != nil {
		return err
	}
	err = a.rest.Delete().AbsPath(path).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body).Do(ctx).Error()
	if apierrors.IsNotFound(err) || uid != "" && apierrors.IsConflict(err) {
		return nil
	}
	return foreign.Error(err)
}

// execURL is where a command in a container is asked for.
func (a *podAPI) execURL(p podRef, argv []string) *url.URL {
	r := a.rest.Post().AbsPath(podsPath(p.namespace), p.name, "exec").
		Param("container", p.container).Param("stdin", "true").Param("stdout", "true").Param("stderr", "true")
	for _, arg := range argv {
		r.Param("command", arg)
	}
	return r.URL()
}

// exec runs a command in a container, by WebSocket or, where something in between
// does not know that, by SPDY. Its error says how it ended, as far as the API
// server knows.
func (a *podAPI) exec(ctx context.Context, p podRef, argv []string, streams remotecommand.StreamOptions) error {
	return foreign.Error(a.execs(ctx, p, argv, streams))
}

func (a *podAPI) execs(ctx context.Context, p podRef, argv []string, streams remotecommand.StreamOptions) error {
	// What happens is in the error; what these libraries log besides would only
	// disturb a terminal.
	ctx = klog.NewContext(ctx, klog.Logger{})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m := &meter{stop: cancel} // the other streams may stay open
	streams.Stdout, streams.Stderr = m.counts(streams.Stdout), m.counts(streams.Stderr)
	ws, err := websocketExecutor(a.config, http.MethodGet, a.execURL(p, argv).String(), m)
	if err != nil {
		return err
	}
	err = ws.StreamWithContext(ctx, streams)
	if httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err) {
		spdy, failed := spdyExecutor(a.config, http.MethodPost, a.execURL(p, argv), m)
		if failed != nil {
			return failed
		}
		err = spdy.StreamWithContext(ctx, streams)
	}
	if cause := context.Cause(ctx); errors.Is(cause, errExecFlood) || errors.Is(cause, errExecFrame) {
		return cause // what client-go says of it is of less use
	}
	return err
}

// podRef names a container.
type podRef struct{ namespace, name, container string }

func (p podRef) String() string { return foreign.Text(p.namespace + "/" + p.name) }

func (p podRef) path() string { return podsPath(p.namespace) + "/" + p.name }

// isRBAC tells a server that does not let us from an admission plugin that does
// not want what we ask for: both answer 403. An exec has only the text.
func isRBAC(err error) bool {
	return err != nil && strings.Contains(err.Error(), ` is forbidden: User "`) && strings.Contains(err.Error(), " cannot ")
}

// NotAllowed reports whether an error of Dial says only that the user lacks a right
// at the API, beside ways that do not lead there at all: then it is the same for
// every node.
func NotAllowed(err error) bool {
	var all refusals
	if !errors.As(err, &all) {
		return isRBAC(err)
	}
	denied := false
	for _, err := range all {
		if errors.Is(err, ErrNoTransport) {
			continue
		}
		if !isRBAC(err) {
			return false
		}
		denied = true
	}
	return denied
}

// mayHaveHappened says whether a server may have done what it did not confirm.
func mayHaveHappened(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError
	}
	return !utilnet.IsConnectionRefused(err)
}

// notAllowed adds to a 403 of RBAC what would have to be allowed.
func notAllowed(err error, way, rights string) error {
	if !isRBAC(err) {
		return err
	}
	return fmt.Errorf("%w; %s needs %s: ask an administrator of the cluster, or go another way (ssh, local)", err, way, rights)
}
