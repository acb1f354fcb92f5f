package collect

import (
	"context"
	"fmt"

	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

func (c *Cluster) signingRequests(ctx context.Context) part {
	t := &tally{what: "certificatesigningrequests", observe: c.Observe}
	var requests []inspect.SigningRequest
	c = c.within(ctx)
	s := c.wholeOrNamed(ctx, t, func(opts metav1.ListOptions) listing {
		type found struct {
			request inspect.SigningRequest
			issued  []inspect.Bundle
		}
		read := keptPage(c.REST, requestsPath, keptOfRequest(), func(csr *certificatesapi.CertificateSigningRequest) (f found) {
			f.request, f.issued = signingRequest(c.Scanner, csr)
			return f
		}, func(f found) {
			requests = append(requests, f.request)
			t.add(f.issued)
			t.count(1)
		})
		return listPages(ctx, opts, func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
			opts.Limit = min(opts.Limit, jsonPageSize)
			return read(ctx, opts)
		})
	})
	s.Requests = requests
	return s
}

// keptOfRequest is what signingRequest reads.
func keptOfRequest() keptFields {
	return keptFields{
		requestMetadata: {metaName: nil, metaCreated: nil, metaLabels: nil, metaAnnotations: nil},
		requestSpec:     {requestText: nil, requestUsername: nil, requestSigner: nil},
		requestStatus: {
			requestConditions: {conditionType: nil, conditionState: nil, conditionMessage: nil, conditionSince: nil},
			requestsIssued:    nil,
		},
	}
}

// signingRequest reads a CSR: the request, its condition, and the certificate
// that was issued for it.
func signingRequest(sc *pki.Scanner, csr *certificatesapi.CertificateSigningRequest) (inspect.SigningRequest, []inspect.Bundle) {
	obj := objectOf("CertificateSigningRequest", &csr.ObjectMeta)
	obj.Signer = csr.Spec.SignerName
	obj.Annotations = nil // no row asks for them, and a kubelet makes as many requests as it likes
	r := inspect.SigningRequest{
		Object: obj, Signer: csr.Spec.SignerName, Requester: csr.Spec.Username,
		Condition: inspect.Pending, Since: utc(csr.CreationTimestamp.Time),
	}
	r.Request, r.Bad = requestOf(csr.Spec.Request)
	for _, cond := range csr.Status.Conditions {
		if cond.Status == corev1.ConditionFalse {
			continue
		}
		at := utc(cond.LastTransitionTime.Time)
		switch cond.Type {
		case certificatesapi.CertificateApproved:
			if r.Condition == inspect.Pending {
				r.Condition, r.Since, r.Reason = inspect.Approved, at, foreign.Text(cond.Message)
			}
		case certificatesapi.CertificateDenied:
			r.Condition, r.Since, r.Reason = inspect.Denied, at, foreign.Text(cond.Message)
		case certificatesapi.CertificateFailed:
			r.Condition, r.Since, r.Reason = inspect.Failed, at, foreign.Text(cond.Message)
		}
	}
	if len(csr.Status.Certificate) > 0 && r.Condition == inspect.Approved {
		r.Condition = inspect.Issued
	}
	return r, bundlesOf(sc, obj, map[string][]byte{"status.certificate": csr.Status.Certificate}, false)
}

// requestOf reads the PKCS#10 request that the signer reads.
func requestOf(text []byte) (r *pki.Request, bad string) {
	if len(text) > pki.MaxRequest {
		return nil, fmt.Sprintf("spec.request was not read: it has %d bytes", len(text))
	}
	der, bad := pki.RequestBlock(text)
	if der == nil {
		return nil, "spec.request " + bad
	}
	r, err := pki.ParseRequest(der)
	if err != nil {
		return nil, err.Error()
	}
	if bad != "" {
		bad = "spec.request " + bad
	}
	return r, bad
}
