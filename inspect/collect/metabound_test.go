package collect

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
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
