package dates

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	certificates "k8s.io/api/certificates/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/certificate"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// held is a store with one certificate, as a kubelet has it on disk.
type held struct{ cert *tls.Certificate }

func (h held) Current() (*tls.Certificate, error) { return h.cert, nil }
func (h held) Update(_, _ []byte) (*tls.Certificate, error) {
	return nil, errors.New("nothing is issued here")
}

// TestKubeletCertificates: client-go's certificate manager, which kubelets, multus
// and ovnkube-node use, asks for the next certificate between EarliestRenewal
// and LatestRenewal, and makes use of that whole span.
func TestKubeletCertificates(t *testing.T) {
	// It slows errors down by a clock of the whole process, which knows of no bubbles.
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	for _, name := range []string{"/var/lib/kubelet/pki/kubelet-client-*.pem", "/etc/cni/multus/certs/multus-client-*.pem"} {
		life, answer := catalog.LifetimeOf(catalog.Ref{Kind: catalog.File, Name: name}, catalog.Versions{Cluster: "4.20.1"})
		if answer != catalog.Yes {
			t.Fatalf("%s has no lifetime", name)
		}
		const managers = 1000
		least, most := 1.0, 0.0
		for range managers {
			synctest.Test(t, func(t *testing.T) {
				leaf := &x509.Certificate{NotBefore: time.Now(), NotAfter: time.Now().Add(life.Validity)}
				asked := make(chan time.Time, 1)
				m, err := certificate.NewManager(&certificate.Config{
					Template: &x509.CertificateRequest{}, SignerName: certificates.KubeAPIServerClientKubeletSignerName,
					Usages:           []certificates.KeyUsage{certificates.UsageClientAuth},
					CertificateStore: held{&tls.Certificate{Leaf: leaf}},
					ClientsetFn: func(*tls.Certificate) (kubernetes.Interface, error) {
						select {
						case asked <- time.Now():
						default:
						}
						return nil, errors.New("no API server here")
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				m.Start()
				at := <-asked
				m.Stop()
				from, _ := life.EarliestRenewal(leaf.NotBefore, leaf.NotAfter)
				by, _ := life.LatestRenewal(leaf.NotBefore, leaf.NotAfter)
				if at.Before(from) || at.After(by) {
					t.Errorf("%s: asked at %s, certrot says %s to %s", name, at, from, by)
				}
				share := float64(at.Sub(from)) / float64(by.Sub(from))
				least, most = min(least, share), max(most, share)
			})
		}
		if least > 0.02 || most < 0.98 {
			t.Errorf("%s: of the span that certrot says, %d managers use %.2f to %.2f", name, managers, least, most)
		}
	}
}
