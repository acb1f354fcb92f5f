package collect

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestATenantsLabelsTakeNoMemory: an object may have tens of thousands. From a list or as JSON, the same are kept,
// and those that rows ask for are, wherever they stand.
func TestATenantsLabelsTakeNoMemory(t *testing.T) {
	t.Parallel()
	const many = 20_000
	meta := metav1.ObjectMeta{Namespace: "team", Name: "ca", Labels: map[string]string{"zz/last": "x", catalog.LabelManagedType: catalog.ManagedCABundle}, Annotations: map[string]string{catalog.AnnotationServiceName: "web"}}
	for i := range many {
		meta.Labels[fmt.Sprintf("a%05d", i)] = ""
		if i < many/10 {
			meta.Annotations[fmt.Sprintf("cert-manager.io/a%05d", i)] = ""
		}
	}
	item, err := (&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"ca.crt": string(pkitest.NewCA("ca", time.Unix(1.7e9, 0), time.Unix(1.8e9, 0)).CertPEM)}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	c, list := &Cluster{Scanner: pki.NewScanner()}, &tally{}
	if err := c.scanItem("ConfigMap", item, list); err != nil || len(list.page) != 1 {
		t.Fatalf("%v: %v", list.page, err)
	}
	o := list.page[0].Object
	if decoded := objectOf("ConfigMap", &meta); !reflect.DeepEqual(o, decoded) {
		t.Errorf("of a list %+v, else %+v", o, decoded)
	}
	if len(o.Labels) > maxLabels+1 || len(o.Annotations) > maxAnnotations+1 || len(list.words) > maxLabels+maxAnnotations+10 || !o.MoreLabels {
		t.Errorf("%d labels, %d annotations, %d words are kept; more: %t", len(o.Labels), len(o.Annotations), len(list.words), o.MoreLabels)
	}
	if o.Labels[catalog.LabelManagedType] != catalog.ManagedCABundle || o.Annotations[catalog.AnnotationServiceName] != "web" {
		t.Errorf("what rows ask for is not kept: %v, %v", o.Labels, o.Annotations)
	}
	for selector, want := range map[string]bool{"zz/last=x": true, "a00001=": true, "a00001=y": false, "a00001": true, "a00001,zz/last": true, "a00001=y,zz/last": false, "!a00001": false} {
		parsed, err := labels.Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		if got := (Scope{Selector: parsed}).Has(list.page[0].At, o); got != want {
			t.Errorf("-l %s: %t", selector, got)
		}
	}
	again := saved(t, inspect.Snapshot{Bundles: list.page})
	if len(again.Bundles) != 1 || !maps.Equal(again.Bundles[0].Object.Labels, o.Labels) || !again.Bundles[0].Object.MoreLabels {
		t.Errorf("from a snapshot: %+v", again.Bundles)
	}
}

// TestATenantPaysForAnnotations: what rows ask for is kept however long it is, and each object of a namespace may
// have a quarter of a megabyte of it. Then others of that namespace are left out by name, from a list or a file.
func TestATenantPaysForAnnotations(t *testing.T) {
	t.Parallel()
	cert := pkitest.NewCA("ca", time.Unix(1.7e9, 0), time.Unix(1.8e9, 0)).CertPEM
	long := strings.Repeat("x", 250<<10)
	c, list, files := &Cluster{Scanner: pki.NewScanner()}, &tally{}, pki.NewScanner()
	left := map[string]int{}
	for i := range 1200 {
		for _, namespace := range []string{"team", "kube-system"} {
			meta := metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("ca-%d", i), Annotations: map[string]string{catalog.AnnotationServiceName: long}}
			item, err := (&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"ca.crt": string(cert)}}).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.scanItem("ConfigMap", item, list); err != nil {
				t.Fatal(err)
			}
			of := bundlesOf(files, objectOf("ConfigMap", &meta), map[string][]byte{"ca.crt": cert}, true)
			for from, found := range map[string][]inspect.Bundle{"list": list.page, "file": of} {
				for _, b := range found {
					if len(b.Content.Certs) > 0 {
						left[from+" "+namespace]++
					}
				}
			}
			list.page = nil
		}
	}
	for from, want := range map[string]int{"list team": 819, "file team": 819, "list kube-system": 1200, "file kube-system": 1200} {
		if got := left[from]; got < want-10 || got > want {
			t.Errorf("%s: %d were read, want about %d", from, got, want)
		}
	}
}

// TestATenantPaysForReferences: an Ingress may name a hundred thousand Secrets, and each name takes memory. Those that
// are left out are named, of the list and of the file alike, and those of the platform are all kept.
func TestATenantPaysForReferences(t *testing.T) {
	t.Parallel()
	const each, ingresses = 20_000, 3
	ingress := networkingv1.Ingress{Spec: networkingv1.IngressSpec{TLS: make([]networkingv1.IngressTLS, each)}}
	for i := range ingress.Spec.TLS {
		ingress.Spec.TLS[i].SecretName = fmt.Sprintf("s%d", i)
	}
	list, file := pki.NewScanner(), pki.NewScanner()
	for _, sc := range []*pki.Scanner{list, file} {
		sc.Apart("team").Keep(180 << 20) // of 200
	}
	kept, named := map[string]int{}, map[string]int{}
	for i := range ingresses {
		for _, namespace := range []string{"team", "openshift-console"} {
			ingress.Namespace, ingress.Name = namespace, fmt.Sprintf("web-%d", i)
			item, err := ingress.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(&ingress)
			if err != nil {
				t.Fatal(err)
			}
			of := map[string]inspect.Snapshot{}
			if of["list"], err = wireIngress(list, item, func(b []byte) string { return string(b) }); err != nil {
				t.Fatal(err)
			}
			if of["file"], _, err = readOpenShift(file, networkingV1, objectOf(kindIngress, &ingress.ObjectMeta), raw); err != nil {
				t.Fatal(err)
			}
			for from, s := range of {
				kept[from+" "+namespace] += len(s.References)
				for _, b := range s.Bundles {
					if why := b.Content.CutShort(); strings.Contains(why, "the limit of memory for values of namespace team") && strings.HasPrefix(b.At.Field, "spec.tls[") {
						named[from+" "+namespace]++
					}
				}
			}
		}
	}
	for from, want := range map[string]int{"list team": 40_000, "file team": 40_000, "list openshift-console": each * ingresses, "file openshift-console": each * ingresses} {
		if got := kept[from]; got < want*9/10 || got > want*11/10 || strings.HasSuffix(from, "console") && got != want {
			t.Errorf("%s: %d were kept, want about %d", from, got, want)
		}
		if got := named[from]; (got > 0) != strings.HasSuffix(from, "team") || got == ingresses {
			t.Errorf("%s: %d are named as left out", from, got)
		}
	}
}

// TestEachFieldOfARouteIsPaid: the field of its key is read as the others are, from its namespace's share.
func TestEachFieldOfARouteIsPaid(t *testing.T) {
	t.Parallel()
	cert := string(pkitest.NewCA("ca", time.Unix(1.7e9, 0), time.Unix(1.8e9, 0)).CertPEM)
	for _, field := range []string{"certificate", "key", "caCertificate", "destinationCACertificate"} {
		raw, err := json.Marshal(map[string]any{"spec": map[string]any{"tls": map[string]any{field: cert}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, spent := range []bool{false, true} {
			sc := pki.NewScanner()
			if spent {
				sc.Apart("team").Keep(1 << 30)
			}
			s, _, err := readOpenShift(sc, routeV1, objectOf("Route", &metav1.ObjectMeta{Namespace: "team", Name: "web"}), raw)
			if err != nil || len(s.Bundles) != 1 {
				t.Fatalf("%s: %+v: %v", field, s.Bundles, err)
			}
			if b := s.Bundles[0]; (len(b.Content.Certs) == 1) == spent || (b.Content.CutShort() != "") != spent {
				t.Errorf("%s, the memory is spent: %t: %d certificates are read, %q", field, spent, len(b.Content.Certs), b.Content.CutShort())
			}
		}
	}
}

// TestASnapshotsMoreLabels are of its objects.
func TestASnapshotsMoreLabels(t *testing.T) {
	t.Parallel()
	for _, i := range []string{"-1", "0"} {
		if _, err := readSnapshot(strings.NewReader(`{"apiVersion":"certrot/v1alpha2","kind":"Snapshot","objects":[],"moreLabels":[` + i + `]}`)); err == nil || !strings.Contains(err.Error(), "moreLabels") {
			t.Errorf("%s: %v", i, err)
		}
	}
}

// TestUsualLabelsAreAllKept, in a snapshot too: a selector may ask for each of them.
func TestUsualLabelsAreAllKept(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{Name: "ca", Labels: map[string]string{}}
	for i := range maxLabels {
		meta.Labels[fmt.Sprintf("example.com/label-%d", i)] = strings.Repeat("x", 63)
	}
	if o := objectOf("ConfigMap", &meta); o.MoreLabels || !maps.Equal(o.Labels, meta.Labels) {
		t.Errorf("%+v", o)
	}
	meta.Labels = map[string]string{"long": strings.Repeat("x", bytesOfLabels), "short": "y"}
	if o := objectOf("ConfigMap", &meta); !o.MoreLabels || len(o.Labels) > 1 {
		t.Errorf("a long one is kept: %d, %t", len(o.Labels), o.MoreLabels)
	}
}
