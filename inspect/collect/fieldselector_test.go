package collect

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// askedFields is an API server, named as a fake, that keeps the field selectors it is asked for.
type askedFields struct {
	mu    sync.Mutex
	asked []string
}

func (a *askedFields) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	a.mu.Lock()
	a.asked = append(a.asked, kind+" "+r.URL.Query().Get("fieldSelector"))
	a.mu.Unlock()
	switch kind {
	case "certificatesigningrequests":
		refuse(w, r, http.StatusNotFound, metav1.StatusReasonNotFound, "")
		return
	case "secrets":
		answer(w, r, http.StatusOK, &corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}})
		return
	}
	answer(w, r, http.StatusOK, &corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}})
}

// TestTheServerSelectsByFields: beside what is selected always, and for each name.
func TestTheServerSelectsByFields(t *testing.T) {
	t.Parallel()
	kinds := func(words ...string) (out []Resource) {
		for _, w := range words {
			found, err := ParseResource(w)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, found...)
		}
		return out
	}
	secrets, configMaps, requests := kinds("secrets"), kinds("cm"), kinds("csr")
	both := append(slices.Clone(secrets), configMaps...)
	for _, c := range []struct {
		name     string
		scope    Scope
		selector string
		want     []string
	}{
		{"nothing", Scope{Resources: both}, "", []string{"configmaps ", "secrets type!=helm.sh/release.v1"}},
		{"a name", Scope{Resources: both}, "metadata.name=a", []string{"configmaps metadata.name=a", "secrets metadata.name=a,type!=helm.sh/release.v1"}},
		{"a type", Scope{Resources: secrets}, "type=kubernetes.io/tls", []string{"secrets type=kubernetes.io/tls"}},
		{"an object and a field", Scope{Resources: secrets, Names: []Named{{secrets, "b"}}}, "metadata.namespace!=x", []string{"secrets metadata.namespace!=x,metadata.name=b"}},
		{"a namespace, of what has none", Scope{Resources: append(slices.Clone(secrets), requests...)}, "metadata.namespace=shop", []string{"secrets metadata.namespace=shop,type!=helm.sh/release.v1"}},
		{"another namespace, of what has none", Scope{Resources: requests}, "metadata.namespace!=shop,metadata.name!=a", []string{"certificatesigningrequests metadata.name!=a"}},
		{"another namespace alone", Scope{Resources: requests}, "metadata.namespace!=shop", []string{"certificatesigningrequests "}},
		{"objects of two kinds", Scope{Resources: both, Names: []Named{{secrets, "a"}, {configMaps, "b"}}}, "", []string{"configmaps metadata.name=b", "secrets metadata.name=a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var err error
			if c.scope.Fields, err = ParseFields(c.selector, c.scope.Resources); err != nil {
				t.Fatal(err)
			}
			api := &askedFields{}
			All(t.Context(), liveCluster(t, api, c.scope).Sources()...)
			slices.Sort(api.asked)
			if !slices.Equal(api.asked, c.want) {
				t.Errorf("asked for %q, want %q", api.asked, c.want)
			}
		})
	}
}

// TestASecretOfAFileWithoutATypeIsOpaque: an API server would have made it so.
func TestASecretOfAFileWithoutATypeIsOpaque(t *testing.T) {
	t.Parallel()
	secrets, err := ParseResource("secrets")
	if err != nil {
		t.Fatal(err)
	}
	for selector, want := range map[string]bool{"type=Opaque": true, "type!=kubernetes.io/tls": true, "type=kubernetes.io/tls": false, "metadata.name=a,metadata.namespace=shop": true, "metadata.name=b": false} {
		s := Scope{Resources: secrets}
		if s.Fields, err = ParseFields(selector, secrets); err != nil {
			t.Fatal(err)
		}
		if s.Has(pki.Location{Kind: "Secret", Namespace: "shop", Name: "a"}, &inspect.Object{Kind: "Secret", Namespace: "shop", Name: "a"}) != want {
			t.Errorf("%s: want %t", selector, want)
		}
		if s.Has(pki.Location{Kind: "Secret", Namespace: "shop", Name: "a"}, nil) {
			t.Errorf("%s: chooses what is no object", selector)
		}
	}
}
