package collect

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/check"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// ingressAPI has Ingresses, two pages of them, and Secrets; a fake, named as such.
type ingressAPI struct {
	items     []networkingv1.Ingress
	secrets   []corev1.Secret
	forbidden bool // in the whole cluster
	asked     chan string
}

func (a *ingressAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.asked <- r.URL.Path
	const path = "/apis/networking.k8s.io/v1/"
	switch r.URL.Path {
	case "/api/v1/namespaces":
		answer(w, r, http.StatusOK, &corev1.NamespaceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}, Items: []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}}})
	case "/api/v1/secrets":
		answer(w, r, http.StatusOK, &corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}, Items: a.secrets})
	case path + "ingresses", path + "namespaces/shop/ingresses":
		if a.forbidden && r.URL.Path == path+"ingresses" {
			refuse(w, r, http.StatusForbidden, metav1.StatusReasonForbidden, "")
			return
		}
		list := networkingv1.IngressList{TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "IngressList"}, Items: a.items[:1]}
		if r.URL.Query().Get("continue") == "" {
			list.Continue = "1"
		} else {
			list.Items = a.items[1:]
		}
		answer(w, r, http.StatusOK, &list)
	default:
		refuse(w, r, http.StatusNotFound, metav1.StatusReasonNotFound, "")
	}
}

func someIngresses() []networkingv1.Ingress {
	ingress := func(name string, secrets ...string) networkingv1.Ingress {
		i := networkingv1.Ingress{TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		for _, s := range secrets {
			i.Spec.TLS = append(i.Spec.TLS, networkingv1.IngressTLS{Hosts: []string{"shop.example.com"}, SecretName: s})
		}
		i.Spec.Rules = []networkingv1.IngressRule{{Host: "shop.example.com"}}
		return i
	}
	return []networkingv1.Ingress{ingress("front", "", "old-cert"), ingress("plain"), ingress("back", "missing")}
}

func arrows(references []inspect.Reference) (out []string) {
	for _, r := range references {
		out = append(out, r.From.String()+" -> "+r.To.String())
	}
	slices.Sort(out)
	return out
}

// TestASecretThatAnIngressNamesIsServed: its certificate has no names, and that was not said.
func TestASecretThatAnIngressNamesIsServed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	pair := pkitest.NewCA("ca", now.Add(-time.Hour), now.Add(time.Hour)).Issue("shop", now.Add(-time.Hour), now.Add(time.Hour))
	want := []string{"Ingress/shop/back#spec.tls[0].secretName -> Secret/shop/missing[tls.crt]", "Ingress/shop/front#spec.tls[1].secretName -> Secret/shop/old-cert[tls.crt]"}
	opaque := corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "old-cert"}, Type: "Opaque", Data: map[string][]byte{"tls.crt": pair.CertPEM}}
	said := func(t *testing.T, s inspect.Snapshot) {
		t.Helper()
		if diff := cmp.Diff(want, arrows(s.References)); diff != "" {
			t.Errorf("references (-want +got):\n%s", diff)
		}
		found := 0
		for _, f := range check.Judge(context.Background(), inspect.NewFacts(s, now, 0)) {
			if f.ID == "serving-names" && strings.Contains(f.Evidence, "serves, and names no host") {
				found++
			}
		}
		if found != 1 {
			t.Errorf("serving-names says it %d times", found)
		}
	}
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
	for name, forbidden := range map[string]bool{"over the API": false, "namespace by namespace": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &ingressAPI{items: someIngresses(), secrets: []corev1.Secret{opaque}, forbidden: forbidden, asked: make(chan string, 99)}
			c := liveCluster(t, api, Scope{Resources: kinds("secrets", "ingresses.networking.k8s.io")})
			s := c.Follow(t.Context(), All(t.Context(), c.Sources()...))
			said(t, s)
			close(api.asked)
			for path := range api.asked {
				if strings.HasSuffix(path, "/namespaces/shop/secrets") {
					t.Errorf("a Secret that no list brought is asked for alone: %s", path)
				}
			}
			if got := notes(s.Reads); !strings.Contains(got, "ingresses.networking.k8s.io 3: ") || len(s.Gaps) > 0 {
				t.Errorf("reads %s, gaps %s", got, reasons(s.Gaps))
			}
		})
	}
	var texts []string
	for _, o := range []any{opaque, someIngresses()[0], someIngresses()[1], someIngresses()[2]} {
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	t.Run("from a file", func(t *testing.T) {
		t.Parallel()
		m, ok := readObjects(pki.NewScanner(), []byte(strings.Join(texts, "---\n")))
		if !ok {
			t.Fatal("no objects")
		}
		said(t, m.Snapshot)
	})
	t.Run("from a must-gather", func(t *testing.T) {
		t.Parallel()
		said(t, readTarOf(t, "mg/image/namespaces/shop/core/secrets.yaml", list(texts[0]), "mg/image/namespaces/shop/networking.k8s.io/ingresses.yaml", list(texts[1:]...)))
	})
	t.Run("from a snapshot", func(t *testing.T) {
		t.Parallel()
		m, _ := readObjects(pki.NewScanner(), []byte(strings.Join(texts, "---\n")))
		var file bytes.Buffer
		if err := WriteSnapshot(&file, m.Snapshot); err != nil {
			t.Fatal(err)
		}
		back, err := File{Path: "-", Stdin: &file, Scanner: pki.NewScanner()}.Read()
		if err != nil {
			t.Fatal(err)
		}
		said(t, back)
	})
}
