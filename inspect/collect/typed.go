package collect

import (
	"context"
	"fmt"

	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

func (c *Cluster) validatingWebhooks(ctx context.Context) inspect.Snapshot {
	t := &tally{what: "validatingwebhookconfigurations", observe: c.Observe}
	return c.wholeOrNamed(ctx, t, func(opts metav1.ListOptions) listing {
		return listPages(ctx, opts, func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
			list, err := c.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, opts)
			if err != nil {
				return metav1.ListMeta{}, err
			}
			for i := range list.Items {
				w := &list.Items[i]
				values := map[string][]byte{}
				for j := range w.Webhooks {
					values[caBundleField(j)] = w.Webhooks[j].ClientConfig.CABundle
				}
				t.add(bundlesOf(c.Scanner, objectOf("ValidatingWebhookConfiguration", &w.ObjectMeta), values, false))
			}
			t.count(len(list.Items))
			return list.ListMeta, nil
		})
	})
}

func (c *Cluster) mutatingWebhooks(ctx context.Context) inspect.Snapshot {
	t := &tally{what: "mutatingwebhookconfigurations", observe: c.Observe}
	return c.wholeOrNamed(ctx, t, func(opts metav1.ListOptions) listing {
		return listPages(ctx, opts, func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
			list, err := c.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, opts)
			if err != nil {
				return metav1.ListMeta{}, err
			}
			for i := range list.Items {
				w := &list.Items[i]
				values := map[string][]byte{}
				for j := range w.Webhooks {
					values[caBundleField(j)] = w.Webhooks[j].ClientConfig.CABundle
				}
				t.add(bundlesOf(c.Scanner, objectOf("MutatingWebhookConfiguration", &w.ObjectMeta), values, false))
			}
			t.count(len(list.Items))
			return list.ListMeta, nil
		})
	})
}

func caBundleField(webhook int) string {
	return fmt.Sprintf("webhooks[%d].clientConfig.caBundle", webhook)
}

func (c *Cluster) signingRequests(ctx context.Context) inspect.Snapshot {
	t := &tally{what: "certificatesigningrequests", observe: c.Observe}
	var requests []inspect.SigningRequest
	s := c.wholeOrNamed(ctx, t, func(opts metav1.ListOptions) listing {
		return listPages(ctx, opts, func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
			list, err := c.Client.CertificatesV1().CertificateSigningRequests().List(ctx, opts)
			if err != nil {
				return metav1.ListMeta{}, err
			}
			for i := range list.Items {
				r, issued := signingRequest(c.Scanner, &list.Items[i])
				requests = append(requests, r)
				t.add(issued)
			}
			t.count(len(list.Items))
			return list.ListMeta, nil
		})
	})
	s.Requests = requests
	return s
}

// signingRequest reads a CSR: the request, its condition, and the certificate
// that was issued for it.
func signingRequest(sc *pki.Scanner, csr *certificatesapi.CertificateSigningRequest) (inspect.SigningRequest, []inspect.Bundle) {
	obj := objectOf("CertificateSigningRequest", &csr.ObjectMeta)
	obj.Signer = csr.Spec.SignerName
	r := inspect.SigningRequest{
		Object: obj, Signer: csr.Spec.SignerName, Requester: csr.Spec.Username,
		Condition: inspect.Pending, Since: csr.CreationTimestamp.UTC(),
	}
	r.Request, r.Bad = requestOf(sc.Scan(csr.Spec.Request))
	for _, cond := range csr.Status.Conditions {
		if cond.Status == corev1.ConditionFalse {
			continue
		}
		at := cond.LastTransitionTime.UTC()
		switch cond.Type {
		case certificatesapi.CertificateApproved:
			if r.Condition == inspect.Pending {
				r.Condition, r.Since, r.Reason = inspect.Approved, at, cond.Message
			}
		case certificatesapi.CertificateDenied:
			r.Condition, r.Since, r.Reason = inspect.Denied, at, cond.Message
		case certificatesapi.CertificateFailed:
			r.Condition, r.Since, r.Reason = inspect.Failed, at, cond.Message
		}
	}
	if len(csr.Status.Certificate) > 0 && r.Condition == inspect.Approved {
		r.Condition = inspect.Issued
	}
	return r, bundlesOf(sc, obj, map[string][]byte{"status.certificate": csr.Status.Certificate}, false)
}

// requestOf picks the PKCS#10 request out of what was found in spec.request.
func requestOf(found []pki.Found) (*pki.Request, string) {
	for _, f := range found {
		if len(f.Content.Requests) > 0 {
			return f.Content.Requests[0], ""
		}
		if len(f.Content.Bad) > 0 {
			return nil, f.Content.Bad[0].Reason
		}
	}
	return nil, "spec.request holds no certificate request"
}
