package kubeclient_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient/kubeclienttest"
)

// recorder is an API server that notes what it is asked, and answers with one object.
type recorder struct {
	answer runtime.Object // nil: it is not there

	mu    sync.Mutex
	asked []string
}

func (a *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	a.asked = append(a.asked, fmt.Sprintf("%s %s %s %s %q", r.Method, r.URL, r.Header.Get("Accept"), r.Header.Get("Content-Type"), body))
	a.mu.Unlock()
	if a.answer == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	_ = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(a.answer, w)
}

// everything does all that a Client can, and says what came of it.
func everything(ctx context.Context, c kubeclient.Client) (out []string) {
	meta := metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}}
	note := func(what any, err error) {
		out = append(out, fmt.Sprintf("%+v, %v, not found %v", what, err, apierrors.IsNotFound(err)))
	}
	note(nil, c.Serves(ctx, "config.openshift.io/v1"))
	note(nil, c.REST().Get().AbsPath("/api/v1/services").Do(ctx).Error())
	kind(ctx, c.ConfigMaps("a"), &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"k": "v"}}, note)
	kind(ctx, c.Events("a"), &corev1.Event{ObjectMeta: meta, Reason: "r"}, note)
	kind(ctx, c.Leases("a"), &coordinationv1.Lease{ObjectMeta: meta}, note)
	kind(ctx, c.Namespaces(), &corev1.Namespace{ObjectMeta: meta}, note)
	kind(ctx, c.Nodes(), &corev1.Node{ObjectMeta: meta}, note)
	kind(ctx, c.Pods("a"), &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{NodeName: "n"}}, note)
	note(c.SigningRequests().Get(ctx, "n", metav1.GetOptions{}))
	note(c.SigningRequests().UpdateApproval(ctx, "n", &certificatesv1.CertificateSigningRequest{ObjectMeta: meta}, metav1.UpdateOptions{FieldManager: "m"}))
	note(c.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}))
	return out
}

func kind[T, L any](ctx context.Context, c kubeclient.Objects[T, L], object T, note func(any, error)) {
	uid, all := types.UID("u"), []string{metav1.DryRunAll}
	note(c.Get(ctx, "n", metav1.GetOptions{}))
	note(c.List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=n", Limit: 500, Continue: "c"}))
	note(c.Create(ctx, object, metav1.CreateOptions{DryRun: all}))
	note(c.Update(ctx, object, metav1.UpdateOptions{}))
	note(c.Patch(ctx, "n", types.MergePatchType, []byte(`{"a":1}`), metav1.PatchOptions{DryRun: all, FieldManager: "m"}))
	note(nil, c.Delete(ctx, "n", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}))
}

// TestAsksAsTheGeneratedClients: the same requests, byte for byte, and the same of each answer.
func TestAsksAsTheGeneratedClients(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]runtime.Object{
		"nothing there": nil,
		"a ConfigMap":   &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "7"}, Data: map[string]string{"ca": "x"}},
		"a Pod":         &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "i"}}}},
		"pods":          &corev1.PodList{Items: []corev1.Pod{{Spec: corev1.PodSpec{NodeName: "n"}}}},
		"a request":     &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: "s"}},
		"a Lease":       &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
		"a review":      &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: "me"}}},
		"a refusal":     &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: "no"},
		"another kind":  &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &recorder{answer: answer}
			server := httptest.NewServer(api)
			t.Cleanup(server.Close)
			config := &rest.Config{Host: server.URL, QPS: -1, UserAgent: "certrot"}
			generated, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			own, err := kubeclient.New(config)
			if err != nil {
				t.Fatal(err)
			}
			want := everything(t.Context(), kubeclienttest.Of(generated))
			wantAsked := slices.Clone(api.asked)
			api.asked = nil
			got := everything(t.Context(), own)
			if len(want) != 2+6*6+3 || len(wantAsked) != len(want) {
				t.Fatalf("%d answers to %d requests", len(want), len(wantAsked))
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%s\nis %s\nwant %s", wantAsked[i], got[i], want[i])
				}
			}
			if asked, wanted := strings.Join(api.asked, "\n"), strings.Join(wantAsked, "\n"); asked != wanted {
				t.Errorf("asked:\n%s\nwant:\n%s", asked, wanted)
			}
		})
	}
}

// TestNoClientOfWhatIsNoServer: the error is an error, before anything is asked.
func TestNoClientOfWhatIsNoServer(t *testing.T) {
	t.Parallel()
	for _, config := range []*rest.Config{{Host: "https://a b"}, {Host: "https://a", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("x")}}} {
		if c, err := kubeclient.New(config); err == nil || c != nil {
			t.Errorf("%s: %v, %v", config.Host, c, err)
		}
	}
}
