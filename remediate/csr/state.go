package csr

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// State is what one run of the action remembers.
type State struct {
	approved []string // names of what was approved by this run
	// bootstrapped are the approved requests of kubelets without a certificate, by node: there
	// is no second one.
	bootstrapped map[string]*Request
	// Earlier are requests from before the kubelet was restarted; nil: that was not looked at.
	Earlier     map[string]bool
	printed     map[string]bool // names, and what was said of others
	awaited     string          // what was said last of why nothing is approved yet
	servingDone bool            // a serving certificate was asked for, and approved
	// manual: one was asked for, and is left to a person.
	manual bool
	// tooMany: the requests of its kubelet were too many to be looked at, before its restart or after it: none is approved.
	tooMany bool
	// unsettled: at the last look, a request to join was not approved yet, as who else asks is awaited.
	unsettled bool
}

// NoteEarlier takes down which requests are from before a restart of a node's kubelet. Where they are too many, none
// is approved after it.
func (s *State) NoteEarlier(ctx context.Context, env *remediate.Env, node string) error {
	requests, err := PendingOf(ctx, env.Kube, RequestedNode{Name: node, Hints: env.Hints})
	if isTooMany(err) {
		s.tooMany = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("which requests are from before the restart: %w", err)
	}
	s.Earlier = map[string]bool{}
	for _, r := range requests {
		s.Earlier[r.Name] = true
	}
	return nil
}

// approve prints requests, each once, and approves the current ones.
func (s *State) approve(ctx context.Context, env *remediate.Env, c *remediate.Change, n RequestedNode, requests []*Request) error {
	node := n.Name
	s.print(env, node, requests)
	s.unsettled = false
	for _, r := range current(requests) {
		joins := r.joins(n)
		if joins && !settled(env, n) {
			s.unsettled = true
			continue
		}
		if err := s.signerValid(ctx, env, c, node); err != nil {
			return err
		}
		err := approve(ctx, env, n, r)
		if errors.Is(err, errUnsettled) {
			s.unsettled = true
			continue
		}
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			continue // someone else did something to it: it is looked at again
		}
		if err != nil {
			return err
		}
		env.Note(node, "approved "+foreign.Name(r.Name))
		s.approved = append(s.approved, r.Name)
		if joins {
			s.bootstrapped[node] = r
		}
		s.servingDone = s.servingDone || r.serving()
	}
	return nil
}

func (s *State) print(env *remediate.Env, node string, requests []*Request) {
	each, more := described(requests)
	if key := node + " has more"; more != "" && !s.printed[key] {
		s.printed[key] = true
		env.Note(node, more)
	}
	for _, r := range each {
		s.manual = s.manual || r.manual
		if !s.printed[r.Name] {
			s.printed[r.Name] = true
			env.Note(node, r.instructions())
		}
	}
}

// issued waits until what was approved has its certificate.
func (s *State) issued(ctx context.Context, env *remediate.Env) error {
	err := env.Until(ctx, issuing, func(ctx context.Context) (bool, error) {
		for _, name := range s.approved {
			csr, err := env.Kube.SigningRequests().Get(ctx, name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err): // answered, fetched and cleaned up
			case err != nil:
				return false, fmt.Errorf("read request %s: %w", foreign.Name(name), err)
			case len(csr.Status.Certificate) == 0:
				return false, fmt.Errorf("request %s is approved, and no certificate was issued: for kubernetes.io signers that is kube-controller-manager's work: does it run, and does it trust the API server?", foreign.Name(name))
			}
		}
		return true, nil
	})
	if err != nil && ctx.Err() == nil {
		return &remediate.LateEffectError{Inner: err}
	}
	return err
}

// signerValid refuses to approve a request before kube-controller-manager can sign it:
// after a failure it tries again later and later, after up to 16 minutes. After a long
// power-off kubelets ask minutes before the expired signer is renewed.
func (s *State) signerValid(ctx context.Context, env *remediate.Env, c *remediate.Change, node string) error {
	if c.Versions.NotOpenShift {
		return s.caValid(env, c, node)
	}
	if v := readSigner(ctx, env.Signer); v.Valid != catalog.Yes {
		return s.refuse(env, node, &remediate.Refusal{Name: CsrSigner, Reason: v.Reason, Next: v.Next, Cause: v.cause})
	}
	return nil
}

// refuse says once what is awaited, and that nothing is approved meanwhile.
func (s *State) refuse(env *remediate.Env, node string, why *remediate.Refusal) error {
	if text := why.Error(); s.awaited != text {
		s.awaited = text
		env.Note(node, "waiting, before anything is approved: "+text)
	}
	return &remediate.LateEffectError{Inner: fmt.Errorf("nothing was approved: %w", why)}
}

// caValid judges the file with which a kube-controller-manager without operators signs, as
// far as it was read: where it was not, that is said, and nothing is refused.
func (s *State) caValid(env *remediate.Env, c *remediate.Change, node string) error {
	switch e := expectedBy(c); {
	case e.signer == nil && s.awaited == "":
		s.awaited = "unread"
		env.Note(node, "whether the CA that signs ("+catalog.KubeadmCA+" of control plane nodes) is valid is unknown: "+cmp.Or(e.unknown, "it was not read"))
	case e.signer != nil && !e.asked.IsZero():
		if problem := WhyInvalid(collect.Signer{NotBefore: e.signer.NotBefore, NotAfter: e.signer.NotAfter, Asked: e.asked}); problem != "" {
			return s.refuse(env, node, &remediate.Refusal{Name: CsrSigner, Reason: catalog.KubeadmCA + " " + problem + ": kube-controller-manager can't sign with it", Next: "renew the cluster's CA first"})
		}
	}
	return nil
}

// arrived waits for the client certificate of a kubelet that joins, and wants it to be for
// the key that was approved: by that alone it is known who had asked.
func (s *State) arrived(ctx context.Context, env *remediate.Env, node string) (*pki.Cert, error) {
	var cert *pki.Cert
	err := env.Until(ctx, issuing, func(ctx context.Context) (bool, error) {
		snapshot, err := env.Read(ctx, node)
		if err != nil {
			return false, err
		}
		n, _ := snapshot.Node(node)
		if cert = inspect.KubeletClientCert(snapshot, node); cert == nil || cert.NotAfter.Before(n.Time(env.Now())) {
			return false, fmt.Errorf("the kubelet on %s has no new client certificate in %s yet: kubectl get csr; on the node: journalctl -u kubelet -n 50", node, inspect.KubeletClient)
		}
		return true, nil
	})
	r := s.bootstrapped[node]
	switch {
	case err != nil && ctx.Err() == nil && r != nil:
		return nil, ownLate(fmt.Errorf("%w%s", err, notArrived(ctx, env, node, r)))
	case err != nil && ctx.Err() == nil:
		return nil, ownLate(err)
	case err != nil:
		return nil, err
	case r != nil && r.key() != cert.SPKI:
		return nil, fmt.Errorf("the kubelet on %s has a certificate for the key with sha256 %s, and the approved request (%s) was for another key: another client asked in its name, and may have a certificate for system:node:%s%s", node, cert.SPKI, foreign.Name(r.Name), node, r.otherRequester(env.Hints, node))
	}
	return cert, nil
}

// ownLate is that all was done, and the node's kubelet does not do its part: its root may see to that.
func ownLate(err error) error {
	return &remediate.OwnFailureError{Inner: &remediate.LateEffectError{Inner: err}}
}
