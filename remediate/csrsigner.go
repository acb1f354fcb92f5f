package remediate

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
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
	if v := JudgeSigner(ctx, env.Signer); v.Holds != catalog.Yes {
		return s.refuse(env, node, &Refusal{Name: csrSigner, Reason: v.Reason, Next: v.Next, cause: v.cause})
	}
	return nil
}

// csrSigner is the check of what signs certificate requests.
const csrSigner = "csr-signer"

// SignerVerdict says whether what signs certificate requests is valid.
type SignerVerdict struct {
	Holds        catalog.Answer
	Reason, Next string
	cause        error
}

// JudgeSigner reads what signs certificate requests where operators keep it, and judges it by
// the API server's time. read is nil where no API server can be asked.
func JudgeSigner(ctx context.Context, read func(context.Context, catalog.Ref) (collect.Signer, error)) SignerVerdict {
	at := catalog.CSRSigner()
	access := inspect.Hints{}.Unread(inspect.MayGet("secret/"+at.Name, at.Namespace))
	if read == nil {
		return SignerVerdict{Reason: fmt.Sprintf("%s was not read", at), Next: access}
	}
	signer, err := read(ctx, at)
	if err != nil {
		return SignerVerdict{Reason: foreign.Prose(err.Error()), Next: access, cause: err}
	}
	problem := invalid(signer)
	if problem == "" {
		return SignerVerdict{Holds: catalog.Yes}
	}
	renewed := ""
	source := catalog.CSRSignerSource()
	if original, err := read(ctx, source); err == nil && invalid(original) == "" {
		renewed = fmt.Sprintf("; %s is renewed, and is copied there", source)
	}
	v := SignerVerdict{Holds: catalog.No, Reason: fmt.Sprintf("%s %s%s: kube-controller-manager can't sign with it", at, problem, renewed),
		Next: foreign.Command("", "oc get clusteroperator kube-controller-manager; oc get secret -n %s %s -o jsonpath='{.metadata.annotations}'", at.Namespace, at.Name)}
	if signer.Asked.IsZero() {
		v.Holds = catalog.Unknown
	}
	return v
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
func (s *approving) refuse(env *Env, node string, why *Refusal) error {
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
			return s.refuse(env, node, &Refusal{Name: csrSigner, Reason: catalog.KubeadmCA + " " + problem + ": kube-controller-manager can't sign with it", Next: "renew the cluster's CA first"})
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
