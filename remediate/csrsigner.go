package remediate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// signerValid refuses to approve a request before kube-controller-manager can sign it:
// after a failure it tries again later and later, after up to 16 minutes. After a long
// power-off kubelets ask minutes before the expired signer is renewed.
func (s *approving) signerValid(ctx context.Context, env *Env, c *Change, node string) error {
	if c.versions.Plain {
		return s.caValid(env, c, node)
	}
	at := catalog.CSRSigner()
	if env.Signer == nil {
		return s.refuse(env, node, fmt.Errorf("csr-signer: %s was not read", at))
	}
	signer, err := env.Signer(ctx, at)
	if err != nil {
		return s.refuse(env, node, fmt.Errorf("csr-signer: %w\n  next: kubectl auth can-i get secret/%s -n %s", err, at.Name, at.Namespace))
	}
	problem := invalid(signer)
	if problem == "" {
		return nil
	}
	renewed := ""
	source := catalog.CSRSignerSource()
	if original, err := env.Signer(ctx, source); err == nil && invalid(original) == "" {
		renewed = fmt.Sprintf("; %s is renewed, and is copied there", source)
	}
	return s.refuse(env, node, fmt.Errorf("csr-signer: %s %s%s: kube-controller-manager can't sign with it\n  next: oc get clusteroperator kube-controller-manager; oc get secret -n %s %s -o jsonpath='{.metadata.annotations}'", at, problem, renewed, at.Namespace, at.Name))
}

// invalid says why a certificate does not sign now, by the API server's time; empty: it does.
func invalid(s collect.Signer) string {
	switch {
	case s.Asked.IsZero():
		return "may have expired: the API server does not say what time it is"
	case s.Asked.Before(s.NotBefore):
		return "is not valid before " + clock(s.NotBefore)
	case !s.Asked.Before(s.NotAfter):
		return "expired " + clock(s.NotAfter)
	}
	return ""
}

// refuse says once what is awaited, and that nothing is approved meanwhile.
func (s *approving) refuse(env *Env, node string, why error) error {
	if text := why.Error(); s.awaited != text {
		s.awaited = text
		env.tell(node, "waiting, before anything is approved: "+text)
	}
	return &Late{fmt.Errorf("nothing was approved: %w", why)}
}

// caValid judges the file with which a kube-controller-manager without operators signs, as
// far as it was read: where it was not, that is said, and nothing is refused.
func (s *approving) caValid(env *Env, c *Change, node string) error {
	switch {
	case c.signer == nil && s.awaited == "":
		s.awaited = "unread"
		env.tell(node, "whether the CA that signs ("+catalog.KubeadmCA+" of control plane nodes) is valid is unknown: it was not read")
	case c.signer != nil && !c.signerAsked.IsZero():
		if problem := invalid(collect.Signer{NotBefore: c.signer.NotBefore, NotAfter: c.signer.NotAfter, Asked: c.signerAsked}); problem != "" {
			return s.refuse(env, node, errors.New("csr-signer: "+catalog.KubeadmCA+" "+problem+": kube-controller-manager can't sign with it\n  next: renew the cluster's CA first"))
		}
	}
	return nil
}

// plainSigner is the CA of a cluster without operators, where it was read on a node, and
// what time it is at the API server; zero: not known.
func plainSigner(facts inspect.Snapshot, now time.Time) (ca *pki.Cert, asked time.Time) {
	if least, most, ok := facts.Cluster.Clock.Ahead(); ok {
		asked = now.Add((least + most) / 2)
	}
	for _, b := range facts.Bundles {
		if b.At.Kind == pki.KindFile && b.At.Path == catalog.KubeadmCA && len(b.Content.Certs) > 0 && (ca == nil || b.Content.Certs[0].NotAfter.Before(ca.NotAfter)) {
			ca = b.Content.Certs[0]
		}
	}
	return ca, asked
}
