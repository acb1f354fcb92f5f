package csr

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// CsrSigner is the check of what signs certificate requests.
const CsrSigner = "csr-signer"

// SignerVerdict says whether what signs certificate requests is valid.
type SignerVerdict struct {
	Valid        catalog.Tristate
	Reason, Next string
	cause        error
}

// SignerOf judges what was read of what signs certificate requests. hints are those of the
// facts that it is among.
func SignerOf(read inspect.SignersRead, hints inspect.Hints) SignerVerdict {
	return judgeSigner(hints, func(of catalog.Ref) (collect.Signer, error) {
		one := read.Source
		if of == catalog.CSRSigner() {
			one = read.Signer
		}
		if one.Unread != "" {
			return collect.Signer{}, errors.New(one.Unread)
		}
		return collect.Signer{NotBefore: one.NotBefore, NotAfter: one.NotAfter, Asked: one.Asked}, nil
	})
}

// readSigner reads what signs certificate requests where operators keep it, and judges it by
// the API server's time. read is nil where no API server can be asked.
func readSigner(ctx context.Context, read func(context.Context, catalog.Ref) (collect.Signer, error)) SignerVerdict {
	if read == nil {
		return judgeSigner(inspect.Hints{}, nil)
	}
	return judgeSigner(inspect.Hints{}, func(of catalog.Ref) (collect.Signer, error) { return read(ctx, of) })
}

func judgeSigner(hints inspect.Hints, read func(catalog.Ref) (collect.Signer, error)) SignerVerdict {
	at := catalog.CSRSigner()
	access := hints.Unread(inspect.MayGet("secret/"+at.Name, at.Namespace))
	if read == nil {
		return SignerVerdict{Reason: fmt.Sprintf("%s was not read", at), Next: access}
	}
	signer, err := read(at)
	if err != nil {
		return SignerVerdict{Reason: foreign.Prose(err.Error()), Next: access, cause: err}
	}
	problem := WhyInvalid(signer)
	if problem == "" {
		return SignerVerdict{Valid: catalog.Yes}
	}
	renewed := ""
	source := catalog.CSRSignerSource()
	if original, err := read(source); err == nil && WhyInvalid(original) == "" {
		renewed = fmt.Sprintf("; %s is renewed, and is copied there", source)
	}
	v := SignerVerdict{Valid: catalog.No, Reason: fmt.Sprintf("%s %s%s: kube-controller-manager can't sign with it", at, problem, renewed),
		Next: foreign.Command("", "oc get clusteroperator kube-controller-manager; oc get secret -n %s %s -o jsonpath='{.metadata.annotations}'", at.Namespace, at.Name)}
	if signer.Asked.IsZero() {
		v.Valid = catalog.Unknown
	}
	return v
}

// WhyInvalid says why a certificate does not sign now, by the API server's time; empty: it does.
func WhyInvalid(s collect.Signer) string {
	switch {
	case s.Asked.IsZero():
		return "may have expired: the API server does not say what time it is"
	case s.Asked.Before(s.NotBefore):
		return "is not valid before " + remediate.Timestamp(s.NotBefore)
	case !s.Asked.Before(s.NotAfter):
		return "expired " + remediate.Timestamp(s.NotAfter)
	}
	return ""
}

// KubeadmSigner is the CA of a cluster without operators, where it was read on a control plane node, and
// what time it is at the API server; zero: unknown. unknown is why the CA that signs is unknown: of
// several in that file none may, as kube-controller-manager signs with a file of one alone. Workers have
// that file, too, and sign nothing with it: theirs may be stale. Labels tell control plane nodes, which no
// kubelet may give itself; files may be left of one that became a worker.
func KubeadmSigner(snapshot inspect.Snapshot, now time.Time) (ca *pki.Cert, asked time.Time, unknown string) {
	if least, most, ok := snapshot.Cluster.Clock.Ahead(); ok {
		asked = now.Add((least + most) / 2)
	}
	for _, b := range snapshot.Bundles {
		if b.At.Kind != pki.KindFile || b.At.Path != catalog.KubeadmCA || len(b.Content.Certs) == 0 {
			continue
		}
		if n, ok := snapshot.Node(b.At.Node); !ok || n.Role != catalog.RoleMaster {
			continue
		}
		if n := len(b.Content.Certs); n > 1 {
			return nil, asked, fmt.Sprintf("on %s it has %d certificates, and kube-controller-manager signs with a file of one", foreign.Name(b.At.Node), n)
		}
		if ca == nil || b.Content.Certs[0].NotAfter.Before(ca.NotAfter) {
			ca = b.Content.Certs[0]
		}
	}
	if ca == nil {
		unknown = "it was not read"
	}
	return ca, asked, unknown
}
