package collect

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// configMaps serves ConfigMaps, each with one value.
func configMaps(values ...[]byte) http.Handler {
	list := &corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}}
	for i, v := range values {
		list.Items = append(list.Items, corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: string(rune('a' + i))}, Data: map[string]string{"ca.crt": string(v)}})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r, http.StatusOK, list) })
}

func TestAnOversizedKeyInATenantsConfigMapDoesNotStopInspect(t *testing.T) {
	from := time.Unix(1.7e9, 0).UTC()
	million, _ := pkitest.Oversized("million", 1<<20, from, from.AddDate(1, 0, 0))
	server := httptest.NewServer(configMaps(million, caPEM()))
	t.Cleanup(server.Close)
	client, err := NewREST(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{REST: client, Scanner: pki.NewScanner()}
	done := make(chan inspect.Snapshot, 1)
	go func() { done <- merge(c.configMaps(t.Context())) }()
	select {
	case s := <-done:
		if len(s.Bundles) != 2 || len(s.Bundles[0].Content.Certs) != 0 || len(s.Bundles[0].Content.Bad) != 1 || len(s.Bundles[1].Content.Certs) != 1 {
			t.Errorf("%+v", s.Bundles)
		}
	case <-time.After(20 * time.Second): // a hundred times what it takes
		t.Fatal("two ConfigMaps are not read within 20 s")
	}
}

// overAfter ends a context when the server's answer was read to its end.
type overAfter struct{ end context.CancelCauseFunc }

func (o overAfter) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	configMaps(caPEM(), caPEM()).ServeHTTP(w, r)
	answered := w.Result()
	answered.Body = ending{bytes.NewReader(w.Body.Bytes()), o.end}
	return answered, nil
}

type ending struct {
	*bytes.Reader
	end context.CancelCauseFunc
}

func (e ending) Read(into []byte) (int, error) {
	defer e.end(errors.New("not done after 2m0s"))
	return e.Reader.Read(into)
}

func (e ending) WriteTo(io.Writer) (int64, error) { return 0, errors.ErrUnsupported }

func (e ending) Close() error { return nil }

func TestReadingObjectsEndsWhenItsTimeIsOver(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	client, err := NewREST(&rest.Config{Host: "http://api.example.com", QPS: -1, Transport: overAfter{cancel}})
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{REST: client, Scanner: pki.NewScanner()}
	s := merge(c.configMaps(ctx))
	if certs, _ := c.Scanner.Stats(); certs != 0 || len(s.Bundles) != 0 {
		t.Errorf("after the end, %d certificates were read: %+v", certs, s.Bundles)
	}
	if len(s.Gaps) != 1 || !strings.Contains(s.Gaps[0].Reason, "not done after 2m0s") {
		t.Errorf("gaps: %+v", s.Gaps)
	}
}

func TestReadingAFileEndsWhenItsTimeIsOver(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	s := File{Path: filepath.Join("testdata", "..", "files.go"), Scanner: pki.NewScanner()}.Collect(ctx)
	if !slices.ContainsFunc(s.Gaps, func(g inspect.Gap) bool { return strings.Contains(g.Reason, "interrupted") }) {
		t.Errorf("gaps: %+v", s.Gaps)
	}
}

// TestASnapshotOfEarlierWithAnOversizedKeyIsStillRead: earlier versions kept such.
func TestASnapshotOfEarlierWithAnOversizedKeyIsStillRead(t *testing.T) {
	from := time.Unix(1.7e9, 0).UTC()
	text, _ := pkitest.Oversized("large", 32768, from, from.AddDate(1, 0, 0))
	block, _ := pem.Decode(text)
	large := &pki.Cert{DER: block.Bytes, Fingerprint: pki.FingerprintOf(block.Bytes)}
	good, err := pki.ParseCert(pkitest.NewCA("good", from, from.AddDate(1, 0, 0)).Cert.Raw)
	if err != nil {
		t.Fatal(err)
	}
	written := inspect.Snapshot{Taken: from, Bundles: []inspect.Bundle{{At: pki.Location{Kind: "ConfigMap", Namespace: "a", Name: "b", Key: "ca.crt"}, Content: &pki.Content{Certs: []*pki.Cert{large, good}}}}}
	var file bytes.Buffer
	if err := WriteSnapshot(&file, written); err != nil {
		t.Fatal(err)
	}
	r, _, err := gunzip(&file)
	if err != nil {
		t.Fatal(err)
	}
	again, err := readSnapshot(r)
	if err != nil {
		t.Fatal(err)
	}
	if c := again.Bundles[0].Content; len(c.Certs) != 1 || c.Certs[0].Fingerprint != good.Fingerprint || len(c.Bad) != 1 || !strings.Contains(c.Bad[0].Reason, "32768 bits") {
		t.Errorf("%+v", c)
	}
}
