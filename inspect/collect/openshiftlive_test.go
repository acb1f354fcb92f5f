package collect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// openShiftAPI is a stand-in for the API server of an OpenShift that serves these
// objects, by their list's path, a few in a page.
type openShiftAPI struct {
	objects []made
	keyed   []corev1.ConfigMap
	fail    func(w http.ResponseWriter, r *http.Request) bool
	limits  chan string // of lists of MachineConfigs, where it is not nil
}

func (a *openShiftAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.fail != nil && a.fail(w, r) {
		return
	}
	path, grouped := strings.CutPrefix(r.URL.Path, "/apis/")
	var items []object
	known := false
	for _, m := range a.objects {
		group, _, _ := strings.Cut(m.path, "/")
		known = known || group == path
		list := m.path
		if !strings.Contains(path, "/namespaces/") { // of all namespaces
			if before, after, ok := strings.Cut(list, "/namespaces/"); ok {
				_, plural, _ := strings.Cut(after, "/")
				list = before + "/" + plural
			}
		}
		if list == path {
			items = append(items, m.body)
		}
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/configmaps") || strings.HasSuffix(r.URL.Path, "/secrets"):
		list := &corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}}
		for _, o := range a.keyed {
			if strings.HasSuffix(r.URL.Path, "/namespaces/"+o.Namespace+"/configmaps") && r.URL.Query().Get("fieldSelector") == "metadata.name="+o.Name {
				list.Items = append(list.Items, o)
			}
		}
		answer(w, r, http.StatusOK, list)
	case r.URL.Path == "/api/v1/namespaces":
		names := &corev1.NamespaceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}}
		for i := range 100 {
			names.Items = append(names.Items, corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%d", i)}})
		}
		names.Items = append(names.Items, corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
		answer(w, r, http.StatusOK, names)
	case grouped && known: // the group itself
		_, _ = w.Write([]byte(`{"kind":"APIGroup","apiVersion":"v1"}`))
	case len(items) == 0:
		refuse(w, r, http.StatusNotFound, metav1.StatusReasonNotFound, "")
	default:
		if a.limits != nil && strings.HasSuffix(path, "/machineconfigs") {
			a.limits <- r.URL.Query().Get("limit")
		}
		meta := object{}
		if start := r.URL.Query().Get("continue"); start == "" && len(items) > 1 {
			items, meta["continue"] = items[:1], "1"
		} else if start != "" {
			items = items[1:]
		}
		_ = json.NewEncoder(w).Encode(object{"kind": "List", "apiVersion": "v1", "metadata": meta, "items": items})
	}
}

// openShiftOnly are the plurals of OpenShift's kinds.
func openShiftOnly() []Resource {
	return slices.DeleteFunc(Resources(), func(r Resource) bool { return !strings.Contains(r.apiVersion, "openshift.io") })
}

func liveCluster(t *testing.T, api http.Handler, scope Scope) *Cluster {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.CloseClientConnections)
	if scope.Resources == nil {
		scope.Resources = openShiftOnly()
	}
	rest, err := NewREST(&rest.Config{Host: server.URL, QPS: -1, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return &Cluster{REST: rest, Scanner: pki.NewScanner(), Namespace: "own", Scope: scope}
}

// readLive reads OpenShift's kinds over the API, without following references.
func readLive(t *testing.T, api http.Handler, scope Scope) inspect.Snapshot {
	t.Helper()
	return All(t.Context(), liveCluster(t, api, scope).Sources()...)
}

func TestMachineConfigsComeInSmallPages(t *testing.T) {
	t.Parallel()
	api := &openShiftAPI{objects: ofEveryKind(), limits: make(chan string, 9)}
	s := readLive(t, api, Scope{})
	if first, second := <-api.limits, <-api.limits; first != "10" || second != "10" {
		t.Errorf("asks for %s, %s", first, second)
	}
	if got := notes(s.Reads); !strings.Contains(got, "machineconfigs 2: ") || !strings.Contains(got, "ingresscontrollers 1: ") || len(s.Reads) != 10 {
		t.Errorf("reads\n%s", got)
	}
}

func TestPlainKubernetesIsOneLine(t *testing.T) {
	t.Parallel()
	forbidden := func(w http.ResponseWriter, r *http.Request) bool { // RBAC does not know what exists
		if strings.Count(r.URL.Path, "/") > 2 {
			refuse(w, r, http.StatusForbidden, metav1.StatusReasonForbidden, "")
			return true
		}
		return false
	}
	for name, api := range map[string]*openShiftAPI{"an administrator": {}, "anybody": {fail: forbidden}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := readLive(t, api, Scope{})
			if want := "routes, controllerconfigs, machineconfigs, machineconfigpools, proxies, apiservers, images, oauths, ingresses, ingresscontrollers 0: not served by this cluster"; notes(s.Reads) != want || !s.Reads[0].Skipped || len(s.Gaps) > 0 {
				t.Errorf("reads %s, gaps %s", notes(s.Reads), reasons(s.Gaps))
			}
		})
	}
}

func TestRoutesWhileTheirServerIsDown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		forbidden bool // in the whole cluster
		fail      func(http.ResponseWriter, *http.Request)
		says      string
	}{
		"503": {false, func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "service unavailable", http.StatusServiceUnavailable)
		}, "list routes: "},
		"503 in every namespace": {true, func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "service unavailable", http.StatusServiceUnavailable)
		}, "list routes: "},
		"silence":                    {false, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no answer within 10s"},
		"silence in every namespace": {true, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no answer within 10s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &openShiftAPI{objects: ofEveryKind(), fail: func(w http.ResponseWriter, r *http.Request) bool {
				switch {
				case c.forbidden && r.URL.Path == "/apis/route.openshift.io/v1/routes":
					refuse(w, r, http.StatusForbidden, metav1.StatusReasonForbidden, "")
				case strings.HasSuffix(r.URL.Path, "/routes"):
					c.fail(w, r)
				default:
					return false
				}
				return true
			}}
			began := time.Now()
			s := readLive(t, api, Scope{})
			if took := time.Since(began); took > 25*time.Second {
				t.Errorf("took %s", took)
			}
			if len(s.Gaps) != 1 || !strings.Contains(reasons(s.Gaps), c.says) || !strings.Contains(s.Gaps[0].Next, "openshift-apiserver") {
				t.Errorf("gaps %s, next %+v", reasons(s.Gaps), s.Gaps)
			}
			if got := written(t, s); !strings.Contains(got, "ControllerConfig/") || strings.Contains(got, "Route/") {
				t.Errorf("the other kinds: %s", got)
			}
		})
	}
}

func TestRoutesThatMayBeReadInSomeNamespaces(t *testing.T) {
	t.Parallel()
	s := readLive(t, &openShiftAPI{objects: ofEveryKind(), fail: func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/routes") && !strings.Contains(r.URL.Path, "/shop/") {
			refuse(w, r, http.StatusForbidden, metav1.StatusReasonForbidden, "")
			return true
		}
		return false
	}}, Scope{})
	if got := written(t, s); !strings.Contains(got, "Route/shop/front#spec.tls.certificate") || len(s.Gaps) != 1 || !strings.Contains(s.Gaps[0].Reason, "in 100 of 101 namespaces") {
		t.Errorf("read %s, gaps %s", got, reasons(s.Gaps))
	}
}

// Who works in one namespace may read its Routes, and no IngressController.
func TestOneNamespaceIsReadWithoutAskingForMore(t *testing.T) {
	t.Parallel()
	forbidden := func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "ingresscontrollers") {
			refuse(w, r, http.StatusForbidden, metav1.StatusReasonForbidden, "")
			return true
		}
		return false
	}
	namespaced := slices.DeleteFunc(openShiftOnly(), func(r Resource) bool { return !r.Namespaced })
	s := readLive(t, &openShiftAPI{objects: ofEveryKind(), fail: forbidden}, Scope{Resources: namespaced, Namespace: "shop"})
	if notes(s.Reads) != "routes 2: " || len(s.Gaps) > 0 {
		t.Errorf("reads %s, gaps %s", notes(s.Reads), reasons(s.Gaps))
	}
	s = readLive(t, &openShiftAPI{objects: ofEveryKind(), fail: forbidden}, Scope{})
	if len(s.Gaps) != 1 || s.Gaps[0].What != "ingresscontrollers" || s.Gaps[0].Where != "openshift-ingress-operator" {
		t.Errorf("gaps %s", reasons(s.Gaps))
	}
}
