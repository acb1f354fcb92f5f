package remediate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
)

// Names of refusals to have a kubelet join anew.
const (
	bootstrapCredential = "bootstrap-credential"
	clientCertificate   = "client-certificate"
	noApprover          = "approver"
)

// rejoin adds the steps by which a kubelet makes its kubeconfig anew from the bootstrap
// file. A client certificate that is of use stays: then it asks for none
// (kubernetes/kubernetes pkg/kubelet/certificate/bootstrap/bootstrap.go v1.35.4).
// Nothing is taken away before the API server accepts, asked on the node itself, what
// the kubelet will join with.
func (a APIInt) rejoin(d *draft, n *inspect.Node) error {
	bootstrap, own := catalog.KubeletKubeconfigs()[0], catalog.KubeletKubeconfigs()[1]
	if !setupOf(d.facts, n).Operators {
		return &Refusal{Name: "openshift", Node: n.Name, Reason: "a kubelet that kubeadm set up joins anew with a token that kubeadm makes", Next: "on a control plane node: kubeadm token create --print-join-command; on this node: kubeadm reset, then what that prints"}
	}
	if missingFile(d.facts, n, bootstrap) {
		return &Refusal{Name: "bootstrap-file", Node: n.Name, Reason: bootstrap + " is not there: its kubelet could not join anew", Next: "copy it from another node of the same pool, mode 0600, owner root, and try again"}
	}
	before := d.facts
	wrote, err := a.write(d, n, bootstrap)
	if err != nil {
		return err
	}
	useless, err := uselessCertificate(before, n, d.plan.Now)
	if err != nil {
		return err
	}
	var changed []string
	if wrote {
		changed = append(changed, bootstrap)
	}
	ca, unfit := ReplaceFile{On: n.Name, Path: own, CA: a.CA, known: a.known}.Diff(d.facts, d.plan.Now)
	lost := useless != "" || unfit != nil || ca != nil
	if (unfit != nil || ca != nil) && !missingFile(d.facts, n, own) {
		var old []*pki.Cert // what can't be changed may lack all
		if ca != nil {
			old = ca.File.Old
		}
		if err := a.ownerFirst(d, n, own, old); err != nil {
			return err
		}
	}
	if lost {
		if err := a.mayJoin(d, n, useless, wrote); err != nil {
			return err
		}
		steps := []Action{AskBootstrap{On: n.Name}}
		// One that has ended is left alone by the kubelet, too. The link goes first: that
		// the certificate is of no use is only told as long as the kubeconfig is there.
		cert, there := clientOf(before, n.Name), n.File(inspect.KubeletClient) != nil
		if useless != "" && there && (cert == nil || cert.NotAfter.After(n.Time(d.plan.Now))) {
			steps = append(steps, TakeAway{On: n.Name, Path: inspect.KubeletClient})
		}
		for _, s := range append(steps, TakeAway{On: n.Name, Path: own}) {
			if _, err := d.step(s); err != nil {
				return err
			}
		}
		changed = append(changed, own)
	}
	approve := NewApproveCSRs(n.Name, d.facts, d.plan.Now)
	c, err := d.step(NewRestartUnit(n.Name, changed...).before(n, approve))
	if err != nil || c == nil && !a.waitedFor(n) {
		return err
	}
	var first []Action
	if useless != "" {
		first = []Action{approve, SeeCertificate{On: n.Name, state: approve.state}}
	}
	return a.comesBack(d, n, c != nil, first...)
}

// mayJoin refuses what would leave a kubelet without an answer, and says what will happen.
// wrote: the plan writes the CA into the bootstrap file first.
func (a APIInt) mayJoin(d *draft, n *inspect.Node, useless string, wrote bool) error {
	if err := bootstraps(d.facts, n, wrote); err != nil {
		return err
	}
	if useless == "" {
		d.note("The kubelet on %s makes its kubeconfig anew from %s and goes on with the client certificate that it has: it asks for no other one.", n.Name, catalog.KubeletKubeconfigs()[0])
		if c := n.Comeback; c == nil || !asked(c.Own) {
			d.note("Whether the API server accepts that client certificate of %s is not known, as its own kubeconfig does not lead there. If the node does not report afterwards, the same command finds out.", n.Name)
		}
		return nil
	}
	refuse := func(reason, next string) error {
		return &Refusal{Name: noApprover, Node: n.Name, Reason: fmt.Sprintf("its kubelet will ask for a client certificate, as %s, and %s", useless, reason), Next: next}
	}
	if !a.API {
		return refuse("no API server could be asked to approve that", d.hints().UnreadRestart("repair your own access first: {} fix-kubeconfig, --api-ca-from, or --kubeconfig of a master"))
	}
	if row, ok := approvedByHand(d.facts.Cluster.Versions); ok && !a.ApproveCSRs {
		return refuse("nobody approves that: "+row.Doc, "add --approve-csrs: what is asked for is shown, and approved where it is what this kubelet asks for")
	}
	d.note("The kubelet on %s asks for a new client certificate, by %s, as %s.", n.Name, catalog.KubeletKubeconfigs()[0], useless)
	return nil
}

// approvedByHand is the row of who asks for a first certificate, where nobody approves that.
func approvedByHand(v catalog.Versions) (catalog.KubeletRequester, bool) {
	for _, r := range catalog.KubeletRequesters() {
		if r.ByHand && r.In.Holds(v) != catalog.No {
			return r, true
		}
	}
	return catalog.KubeletRequester{}, false
}

// asked reports whether the API server answered to a kubeconfig.
func asked(f inspect.ComebackFile) bool {
	return slices.ContainsFunc(f.Answers, func(a inspect.Answer) bool { return a.Code > 0 })
}

// bootstraps refuses a node whose bootstrap file does not get a certificate. untrusted:
// that its CA does not verify the server is about to be mended, and it is asked again.
func bootstraps(facts inspect.Snapshot, n *inspect.Node, untrusted bool) error {
	path := catalog.KubeletKubeconfigs()[0]
	if facts.Cluster.Versions.Plain && n.Comeback != nil {
		path = cmp.Or(n.Comeback.Bootstrap.Path, catalog.KubeadmKubeconfigs()[0])
	}
	refuse := func(reason, next string) error {
		return &Refusal{Name: bootstrapCredential, Node: n.Name, Reason: reason, Next: next}
	}
	const again = "put another token into it, on the node: oc -n openshift-machine-config-operator create token node-bootstrapper --duration=2h makes one that ends by itself; that of new nodes is in Secret openshift-machine-config-operator/node-bootstrapper-token"
	look := facts.Hints.UnreadRestart("{} verify restart-safe --nodes %s", n.Name)
	const ask = "whether %s works is not known: %s"
	c := n.Comeback
	switch {
	case c == nil:
		return refuse(fmt.Sprintf(ask, path, "it was not asked on the node"), look)
	case c.Problem != "":
		return refuse(fmt.Sprintf(ask, path, c.Problem), look)
	case c.Bootstrap.Path != path || c.Bootstrap.Absent:
		return refuse("its kubelet has no bootstrap kubeconfig "+path, "copy it from another node of the same pool, mode 0600, owner root")
	case c.Bootstrap.Refused != "":
		return refuse(path+" can't be loaded: "+c.Bootstrap.Refused, "compare it with the same file on another node")
	case c.Bootstrap.Unread != "":
		return refuse(fmt.Sprintf(ask, path, c.Bootstrap.Unread), "compare it with the same file on another node")
	case c.Bootstrap.Shows == inspect.CredentialNone:
		return refuse("there is neither a token nor a certificate in "+path, again)
	}
	if len(c.Bootstrap.Answers) > 0 {
		a := c.Bootstrap.Answers[0]
		switch {
		case a.Code == 401:
			return refuse("the API server does not accept what is in "+path+" (401 "+a.Reason+"): it has expired, or was deleted", again)
		case a.Code == 200 || a.Code == 403: // it is known
			return nil
		case a.Failure == inspect.FailedTrust && untrusted:
			return nil
		case a.Code > 0:
			return refuse(fmt.Sprintf("the API server answers %d %s to what is in %s", a.Code, a.Reason, path), "is the API server well? kubectl get --raw '/readyz?verbose'")
		}
		return refuse(fmt.Sprintf(ask, path, a.Detail), look)
	}
	return refuse(fmt.Sprintf(ask, path, "it was not asked on the node"), look)
}

// uselessCertificate says why a kubelet can't go on with its client certificate; empty
// where it can, as far as is known.
func uselessCertificate(facts inspect.Snapshot, n *inspect.Node, now time.Time) (string, error) {
	cert := clientOf(facts, n.Name)
	switch {
	case cert == nil && unreadClient(facts, n) != "":
		return "", &Refusal{Name: clientCertificate, Node: n.Name, Reason: "whether its kubelet has a client certificate is not known: " + unreadClient(facts, n), Next: "on the node: " + foreign.Command("", "ls -l %s", inspect.KubeletClient)}
	case cert == nil:
		return "there is none in " + inspect.KubeletClient, nil
	case cert.NotAfter.Before(n.Time(now)):
		return "that in " + inspect.KubeletClient + " ended " + cert.NotAfter.UTC().Format(time.RFC3339), nil
	}
	if c := n.Comeback; c != nil && c.Own.Certificate == inspect.KubeletClient && slices.ContainsFunc(c.Own.Answers, func(a inspect.Answer) bool { return a.Code == 401 }) {
		return "the API server does not accept that in " + inspect.KubeletClient + " (401), which is valid until " + cert.NotAfter.UTC().Format(time.RFC3339), nil
	}
	return "", nil
}

// clientOf is a kubelet's client certificate as it was read; nil: none was.
func clientOf(facts inspect.Snapshot, node string) *pki.Cert {
	for _, b := range facts.Bundles {
		if b.At.Node == node && b.At.Path == inspect.KubeletClient && len(b.Content.Certs) > 0 {
			return b.Content.Certs[0]
		}
	}
	return nil
}

// unreadClient says why it is not known whether a kubelet whose client certificate was not
// read has one; empty where there is none.
func unreadClient(facts inspect.Snapshot, n *inspect.Node) string {
	if g, unread := unreadAt(facts, n, inspect.KubeletClient); unread {
		return cmp.Or(g.Reason, "it was not read")
	}
	return ""
}

// AskBootstrap asks the API server on a node, by the bootstrap kubeconfig and with what is
// in it, which does not leave the node, whether it is accepted.
type AskBootstrap struct{ On string }

// ID is such as "ask worker-0:/etc/kubernetes/kubeconfig".
func (a AskBootstrap) ID() string { return "ask " + a.On + ":" + catalog.KubeletKubeconfigs()[0] }

// Node is the node.
func (a AskBootstrap) Node() string { return a.On }

// Diff is always to be done: an answer from before is none.
func (a AskBootstrap) Diff(facts inspect.Snapshot, _ time.Time) (*Change, error) {
	return &Change{Summary: "ask the API server, on the node, whether it accepts what is in " + catalog.KubeletKubeconfigs()[0], versions: facts.Cluster.Versions}, nil
}

// Apply does nothing.
func (a AskBootstrap) Apply(context.Context, *Env, *Change) error { return nil }

// Verify asks.
func (a AskBootstrap) Verify(ctx context.Context, env *Env, c *Change) error {
	facts, err := env.Read(ctx, a.On)
	if err != nil {
		return err
	}
	n, ok := facts.Node(a.On)
	if !ok {
		return fmt.Errorf("node %s was not read", a.On)
	}
	return bootstraps(facts, n, false)
}

// Undo does nothing.
func (a AskBootstrap) Undo(context.Context, *Env, *Change) error { return nil }

// TakeAway takes a file away from its name, or a symbolic link, whose end stays. What it
// was is in the run's folder on the node.
type TakeAway struct{ On, Path string }

// ID is such as "take-away worker-0:/var/lib/kubelet/kubeconfig".
func (a TakeAway) ID() string { return "take-away " + a.On + ":" + a.Path }

// Node is the node.
func (a TakeAway) Node() string { return a.On }

// Diff finds the file.
func (a TakeAway) Diff(facts inspect.Snapshot, now time.Time) (*Change, error) {
	n, ok := facts.Node(a.On)
	if !ok || n.Via == "" {
		return nil, &Refusal{Name: fileRead, Node: a.On, Reason: "the node was not read", Next: "see what is unknown"}
	}
	file := n.File(a.Path)
	switch {
	case file == nil && missingFile(facts, n, a.Path):
		return nil, nil //nolint:nilnil // so already, as Action says
	case file == nil || file.Link == "" && file.SHA256 == (pki.Fingerprint{}):
		return nil, &Refusal{Name: fileRead, Node: a.On, Reason: a.Path + ": it could not be read", Next: "on the node: " + foreign.Command("", "ls -l %s", a.Path)}
	}
	f := &FileChange{Path: a.Path, SHA256: file.SHA256, Taken: true, Link: file.Link}
	for _, k := range n.Kubeconfigs {
		if k.Path == a.Path {
			f.Before = k.Text
		}
	}
	c := &Change{Summary: "take " + a.Path + " away", File: f, Deltas: []inspect.Delta{inspect.FileTaken{Node: a.On, Path: a.Path}}}
	switch {
	case f.Link != "":
		f.SHA256, f.Before = pki.Fingerprint{}, leading(f.Link)
		c.Summary += ", a link: " + foreign.Text(f.Link) + " stays"
	case a.Path == catalog.KubeletKubeconfigs()[1]:
		c.Summary += ": the kubelet makes it anew, from " + catalog.KubeletKubeconfigs()[0]
		at := n.Time(now)
		if after := n.Kubelet.Started.Add(time.Minute); at.Before(after) {
			at = after
		}
		c.Deltas = []inspect.Delta{inspect.KubeconfigCopied{Node: a.On, From: catalog.KubeletKubeconfigs()[0], To: a.Path, At: at}}
	}
	return c, nil
}

// leading is a link as a diff shows it.
func leading(target string) []byte { return fmt.Appendln(nil, "a link to", foreign.Text(target)) }

// Apply takes it away, as it was shown.
func (a TakeAway) Apply(ctx context.Context, env *Env, c *Change) error {
	take := func() error {
		n, err := env.onto(ctx, a.On)
		if err != nil {
			return err
		}
		if c.File.Link != "" {
			_, err = host.Run{ID: env.Run}.TakeLink(ctx, n, a.Path, c.File.Link)
		} else {
			_, err = host.Run{ID: env.Run}.Take(ctx, n, a.Path, c.File.SHA256)
		}
		return err
	}
	err := take()
	if errors.Is(err, nodeexec.ErrUnknownOutcome) { // what it took away already stays so
		env.drop(a.On)
		again := take()
		if again != nil { // the first time may have done it
			again = fmt.Errorf("%w; and once more: %w", err, again)
		}
		err = again
	}
	if errors.Is(err, host.ErrChanged) {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return err
}

// Verify looks whether nothing has the name, and whether the way back is kept.
func (a TakeAway) Verify(ctx context.Context, env *Env, _ *Change) error {
	now, entry, err := env.look(ctx, a.On, a.Path)
	switch {
	case err != nil:
		return err
	case entry == nil || !entry.Taken:
		return fmt.Errorf("%s on %s is not among what run %s took away", a.Path, a.On, env.Run)
	case now.Kind != host.Absent:
		return fmt.Errorf("%s on %s: %w: something has its name again", a.Path, a.On, ErrChanged)
	}
	return nil
}

// Undo puts it back.
func (a TakeAway) Undo(ctx context.Context, env *Env, c *Change) error {
	return putBack(ctx, env, a.On, a.Path, c.File.Link != "", nil)
}

// putBack puts back what was taken away. over is what has its name by now; nil: nothing.
func putBack(ctx context.Context, env *Env, node, path string, link bool, over *FileChange) error {
	n, err := env.onto(ctx, node)
	if err != nil {
		return err
	}
	run := host.Run{ID: env.Run}
	switch {
	case link && over != nil:
		_, err = run.RestoreLink(ctx, n, path, over.Link)
	case link:
		_, err = run.RestoreLink(ctx, n, path, "")
	case over != nil && over.SHA256 != (pki.Fingerprint{}):
		_, err = run.RestoreOver(ctx, n, path, over.SHA256)
	default:
		_, err = run.Restore(ctx, n, path)
	}
	if errors.Is(err, host.ErrChanged) {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return err // where its end was not seen, doing it again is harmless
}

// SeeCertificate waits for the client certificate of a kubelet that asked for one, and
// wants it to be for the key that was approved.
type SeeCertificate struct {
	On    string
	state *approving
}

// ID is such as "see-certificate worker-0".
func (a SeeCertificate) ID() string { return "see-certificate " + a.On }

// Node is the node.
func (a SeeCertificate) Node() string { return a.On }

// Diff is to be done where there is no certificate that has not ended.
func (a SeeCertificate) Diff(facts inspect.Snapshot, now time.Time) (*Change, error) {
	n, ok := facts.Node(a.On)
	if !ok {
		return nil, &Refusal{Name: fileRead, Node: a.On, Reason: "the node was not read", Next: "see what is unknown"}
	}
	if cert := clientOf(facts, a.On); cert != nil && cert.NotAfter.After(n.Time(now)) && a.state.joined[a.On] == nil {
		return nil, nil //nolint:nilnil // so already, as Action says
	}
	return &Change{Summary: "wait for the kubelet's new client certificate"}, nil
}

// Apply does nothing.
func (a SeeCertificate) Apply(context.Context, *Env, *Change) error { return nil }

// Verify looks for it on the node.
func (a SeeCertificate) Verify(ctx context.Context, env *Env, _ *Change) error {
	cert, err := a.state.arrived(ctx, env, a.On)
	if err != nil {
		return err
	}
	env.tell(a.On, fmt.Sprintf("client certificate %s until %s, sha256 %s", pki.Foreign(cert.Subject), cert.NotAfter.UTC().Format(time.RFC3339), cert.Fingerprint))
	return nil
}

// arrived waits for the client certificate of a kubelet that joins, and wants it to be for
// the key that was approved: by that alone it is known who had asked.
func (s *approving) arrived(ctx context.Context, env *Env, node string) (*pki.Cert, error) {
	var cert *pki.Cert
	err := env.until(ctx, issuing, func(ctx context.Context) (bool, error) {
		facts, err := env.Read(ctx, node)
		if err != nil {
			return false, err
		}
		n, _ := facts.Node(node)
		if cert = clientOf(facts, node); cert == nil || cert.NotAfter.Before(n.Time(env.Now())) {
			return false, fmt.Errorf("the kubelet on %s has no new client certificate in %s yet: kubectl get csr; on the node: journalctl -u kubelet -n 50", node, inspect.KubeletClient)
		}
		return true, nil
	})
	r := s.joined[node]
	switch {
	case err != nil && ctx.Err() == nil && r != nil:
		return nil, &Late{fmt.Errorf("%w%s", err, notArrived(ctx, env, node, r))}
	case err != nil && ctx.Err() == nil:
		return nil, &Late{err}
	case err != nil:
		return nil, err
	case r != nil && pki.FingerprintOf(r.asks.RawSubjectPublicKeyInfo) != cert.SPKI:
		return nil, fmt.Errorf("the kubelet on %s has a certificate for the key with sha256 %s, and what was approved (%s) was for another one: somebody else asked in its name, and may have a certificate for system:node:%s%s", node, cert.SPKI, foreign.Name(r.Name), node, r.stranger(env.Hints, node))
	}
	return cert, nil
}

// Undo does nothing: a certificate that was issued can't be called back.
func (a SeeCertificate) Undo(context.Context, *Env, *Change) error { return nil }
