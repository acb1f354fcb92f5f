package dates

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openshift/library-go/pkg/crypto"
	"github.com/openshift/library-go/pkg/operator/certrotation"
	"github.com/openshift/library-go/pkg/operator/events"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

const (
	day   = 24 * time.Hour
	cases = 4000
)

// rule is a certificate with the rule by which it is renewed, in whole seconds, as
// certificates and annotations have them.
type rule struct {
	notBefore, notAfter time.Time
	signer              time.Time // its signer's notBefore
	refresh             time.Duration
	onlyWhenExpired     bool
}

func (r rule) String() string {
	return fmt.Sprintf("%s to %s, refresh %s, signer of %s, only when expired: %v",
		r.notBefore.Format(time.RFC3339), r.notAfter.Format(time.RFC3339), r.refresh, r.signer.Format(time.RFC3339), r.onlyWhenExpired)
}

// lifetime is the rule as a row of the catalog has it.
func (r rule) lifetime() catalog.Lifetime {
	if r.onlyWhenExpired {
		return catalog.Lifetime{Renewer: "library-go"}
	}
	return catalog.Lifetime{Renewer: "library-go", Refresh: r.refresh, RenewAtPercent: 80}
}

func (r rule) annotations() map[string]string {
	return map[string]string{
		certrotation.CertificateNotBeforeAnnotation: r.notBefore.Format(time.RFC3339),
		certrotation.CertificateNotAfterAnnotation:  r.notAfter.Format(time.RFC3339),
		certrotation.CertificateIssuer:              "signer",
	}
}

// anyRule makes a rule from chance, which holds the ordinary ones (30 d, renewed at 15 d)
// and strange ones: refresh longer than the validity, a signer from after the end.
func anyRule(r *rand.Rand, born time.Time) rule {
	seconds := func(most time.Duration) time.Duration {
		return time.Duration(r.Int64N(int64(most/time.Second))) * time.Second
	}
	out := rule{notBefore: born.Add(seconds(400 * day)), onlyWhenExpired: r.IntN(5) == 0}
	validity := []time.Duration{30 * day, 60 * day, 120 * day, 365 * day, 3650 * day, seconds(4000*day) + time.Minute}[r.IntN(6)]
	out.refresh = []time.Duration{15 * day, 30 * day, 292 * day, validity / 2, validity + day, seconds(validity) + time.Second}[r.IntN(6)].Truncate(time.Second)
	out.notAfter = out.notBefore.Add(validity)
	out.signer = out.notBefore.Add(seconds(2*validity) - validity)
	return out
}

// wait moves the clock to a time, in a bubble of synctest: time.Now in library-go
// follows.
func wait(to time.Time) { time.Sleep(time.Until(to)) }

// changes asks the decision around the moment that certrot foretells: not yet, when
// it comes; one nanosecond later, yes.
func changes(t *testing.T, r rule, foretold time.Time, decide func() string) {
	t.Helper()
	wait(foretold.Add(-time.Second))
	if why := decide(); why != "" {
		t.Errorf("%s: certrot says %s, library-go a second earlier: %s", r, foretold, why)
	}
	wait(foretold)
	if why := decide(); why != "" {
		t.Errorf("%s: certrot says from %s on, library-go at that time: %s", r, foretold, why)
	}
	wait(foretold.Add(1))
	if why := decide(); why == "" {
		t.Errorf("%s: certrot says %s, library-go not", r, foretold)
	}
}

// TestTargets: EarliestReissue is when library-go rotates a leaf, to the nanosecond.
func TestTargets(t *testing.T) {
	guarded, regardless := 0, 0
	for i := range cases {
		synctest.Test(t, func(t *testing.T) {
			r := anyRule(rand.New(rand.NewPCG(1, uint64(i))), time.Now().Add(4001*day))
			foretold := r.lifetime().EarliestReissue(r.notBefore, r.notAfter, r.signer)
			young := r.signer.Add(r.refresh / 10).After(foretold)
			switch {
			case r.onlyWhenExpired:
			case foretold.Equal(r.signer.Add(r.refresh / 10)):
				guarded++
			case young && foretold.After(r.notBefore.Add(r.refresh)):
				regardless++
			}
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Annotations: r.annotations()}}
			ca := &crypto.CA{Config: &crypto.TLSCertificateConfig{Certs: []*x509.Certificate{{NotBefore: r.signer, Subject: pkix.Name{CommonName: "signer"}}}}}
			creator := &certrotation.ClientRotation{}
			changes(t, r, foretold, func() string {
				return creator.NeedNewTargetCertKeyPair(secret, ca, ca.Config.Certs, r.refresh, r.onlyWhenExpired, false)
			})
		})
	}
	if guarded < cases/50 || regardless < cases/50 {
		t.Errorf("of %d cases, the signer was too young in %d, and at 80 %% for all its youth in %d: these say too little", cases, guarded, regardless)
	}
}

// TestSigners: LatestRenewal is when library-go makes a new signer.
func TestSigners(t *testing.T) {
	for i := range cases {
		synctest.Test(t, func(t *testing.T) {
			r := anyRule(rand.New(rand.NewPCG(2, uint64(i))), time.Now().Add(4001*day))
			foretold, ok := r.lifetime().LatestRenewal(r.notBefore, r.notAfter)
			if !ok {
				t.Fatal("it renews itself")
			}
			changes(t, r, foretold, func() string { return signerDecision(t, r) })
		})
	}
}

// signerDecision is why library-go makes a new signer now; empty: it does not. It
// announces that before it makes a key, which is where the test stops it.
func signerDecision(t *testing.T, r rule) (why string) {
	secrets := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	if err := secrets.Add(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "signer", Annotations: r.annotations()}, Type: corev1.SecretTypeTLS,
	}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		switch stopped := recover().(type) {
		case nil:
		case announced:
			why = string(stopped)
		default:
			panic(stopped)
		}
	}()
	_, changed, err := certrotation.RotatedSigningCASecret{
		Namespace: "ns", Name: "signer", Validity: r.notAfter.Sub(r.notBefore), Refresh: r.refresh, RefreshOnlyWhenExpired: r.onlyWhenExpired,
		Lister: corev1listers.NewSecretLister(secrets), EventRecorder: stopper{},
	}.EnsureSigningCertKeyPair(context.Background())
	// There is no key in the Secret, which it finds out in the end.
	if changed || err == nil {
		t.Fatalf("it changed the signer (%v) without an announcement, or found a key: %v", changed, err)
	}
	return ""
}

// announced is an event's text.
type announced string

// stopper stops who announces something.
type stopper struct{ events.Recorder }

func (stopper) Eventf(_, format string, args ...any) { panic(announced(fmt.Sprintf(format, args...))) }
