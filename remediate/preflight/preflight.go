package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
)

// Preflight is what is asked of a whole cluster before kubelets are restarted.
type Preflight struct {
	Snapshot     inspect.Snapshot
	ControlPlane *inspect.ControlPlaneStatus // nil: no API server could be asked
	Nodes        []string                    // whose kubelets are to be restarted
	Planned      []string                    // all nodes of the plan, where Nodes are a part of it
	Now          time.Time
	Pause        bool // what can be paused will be
	// Script: it is done by a script, on nodes that are unreachable from here.
	Script bool
	// CA are those that kubelets are to trust, and StaticPods those of kube-system; the
	// latter are asked for where no operator tells of them, see hasOperators.
	CA         []*pki.Cert
	StaticPods *inspect.PodList
	// NeedsSigner: kubelets wait for a certificate that is signed on approval. Signer is what was
	// read of what signs it; nil: no API server could be asked.
	NeedsSigner bool
	Signer      *csr.SignerVerdict
}

// Of is the preflight of facts, by the status that is among them: read just now, or kept in a
// file.
func Of(snapshot inspect.Snapshot) Preflight {
	p := Preflight{Snapshot: snapshot, Now: snapshot.Taken}
	s := snapshot.Status
	if s == nil {
		return p
	}
	p.ControlPlane, p.StaticPods = s.ControlPlane, s.StaticPods
	if s.Signers != nil {
		signer := csr.SignerOf(*s.Signers, snapshot.Hints)
		p.Signer = &signer
	}
	return p
}

// ServerSide is the check of the control plane's own trust: what it does not hold for
// is an operator's to fix.
const ServerSide = "server-side-consistent"

// The checks that are asked again while a plan is carried out.
const (
	StaticPodsSettled = "static-pods-settled"
	upgradeRunning    = "upgrade-running"
	PoolsSettled      = "pools-settled"
	remediationActive = "remediation-active"
)

// preflightCheck is one of them.
type preflightCheck struct {
	name, claim string
	risk        bool
	api         bool // only the API tells
	ask         func(Preflight) Result
}

// checks are those for a cluster whose operators tell of it, or for one without any.
func (p Preflight) checks() []preflightCheck {
	checks := plainChecks()
	if p.hasOperators() {
		checks = operatedChecks()
	}
	if p.NeedsSigner {
		checks = append(checks, preflightCheck{csr.CsrSigner, "what signs the certificates of kubelets is valid", false, true, Preflight.signer})
	}
	return checks
}

// hasOperators reports whether operators keep the cluster, or may. Where none do, StaticPods
// are to be asked for.
func (p Preflight) hasOperators() bool { return inspect.HasOperators(p.Snapshot) }

// UnreviewedVersion is the risk of writing where a version runs that was not reviewed for
// the catalog: who accepts it takes what the catalog says of the nearest one that was.
const UnreviewedVersion = "unreviewed-version"

func operatedChecks() []preflightCheck {
	return []preflightCheck{
		{ServerSide, "the control plane's own trust in the certificate that api-int presents is in order", true, true, Preflight.serverSide},
		{"named-certificate", "api-int presents the load balancer's certificate, and no user's", true, true, Preflight.namedCertificate},
		{"etcd-healthy", "etcd's members are healthy", true, true, Preflight.etcd},
		{StaticPodsSettled, "no rollout of static pods is under way", true, true, Preflight.StaticPodsSettle},
		{upgradeRunning, "no upgrade is under way", true, true, Preflight.Upgrade},
		{PoolsSettled, "no pool reboots nodes", true, true, Preflight.pools},
		{Clocks, "the clocks agree", true, false, Preflight.clocks},
		{remediationActive, "nothing deletes or reboots nodes meanwhile", true, true, Preflight.remediation},
	}
}

// NoAPI is the risk of restarting kubelets while an API server answers that can't be asked
// whether that is safe: it takes the user's credentials, or its certificate, for another's.
const NoAPI = "no-api"

// UnauthenticatedAPI is the risk of writing on the word of an API server that TLS does not
// verify.
const UnauthenticatedAPI = "unauthenticated-api"

// Risks are the names that may be accepted, those that are asked elsewhere among them.
func Risks() []string {
	var names []string
	for _, c := range append(operatedChecks(), plainChecks()...) {
		if c.risk && !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	return append(names, remediate.NoLease, NoAPI, UnauthenticatedAPI, UnreviewedVersion, MastersFirst, WorkersBack, OwnedFile, action.OwnedObject)
}

// CheckStatement is what is true where a check before a change, by its name, passes.
type CheckStatement struct{ Name, Statement string }

// CheckStatements are the checks' statements of OpenShift's clusters and of plain ones, each once.
func CheckStatements() []CheckStatement {
	var out []CheckStatement
	for _, c := range append(operatedChecks(), plainChecks()...) {
		if !slices.ContainsFunc(out, func(o CheckStatement) bool { return o.Name == c.name }) {
			out = append(out, CheckStatement{c.name, c.claim})
		}
	}
	return out
}

// Check asks everything; nothing is written.
func (p Preflight) Check() []Verdict {
	var out []Verdict
	for _, c := range p.checks() {
		f := c.ask(p)
		v := Verdict{
			Assessment: f.Assess(c.name), Claim: c.claim, Risk: c.risk,
			NoAPIServer: f.Passed == catalog.Unknown && c.api && p.ControlPlane == nil,
		}
		if c.api {
			v = v.AsOf(p.Snapshot)
		}
		out = append(out, v)
	}
	return out
}

// ServerSideVerdict is the verdict of ServerSide alone: it explains why a CA that is
// published does not verify what is presented.
func (p Preflight) ServerSideVerdict() Verdict {
	all := p.Check()
	return all[slices.IndexFunc(all, func(v Verdict) bool { return v.ID == ServerSide })]
}

// Pass is a check that passes. The text is for people; empty: there is nothing to say.
func Pass(format string, args ...any) Result {
	return Result{Passed: catalog.Yes, Reason: fmt.Sprintf(format, args...)}
}

// Fail is a check that fails, with the next step and the reason.
func Fail(next, format string, args ...any) Result {
	return Result{catalog.No, fmt.Sprintf(format, args...), next}
}

// noAPIServer is the answer where no API server could be asked, or where a file does not keep what one
// answered.
func noAPIServer(hints inspect.Hints) Result {
	if hints.OfFile() {
		return Result{Reason: "this file has no status", Next: hints.Next("check the cluster itself, or a snapshot of it: {} snapshot -o FILE")}
	}
	return Result{Reason: "no API server could be asked", Next: "look at it from a control plane node, or from a colleague's machine: what acts on nodes meanwhile is not seen from here"}
}

// Unread is the answer where one of these could not be read.
func (p Preflight) Unread(resources ...string) (Result, bool) {
	if p.ControlPlane == nil {
		return noAPIServer(p.Snapshot.Hints), true
	}
	if g, ok := p.ControlPlane.Gap(resources...); ok {
		return Result{Reason: g.Reason, Next: g.Next}, true
	}
	return Result{}, false
}

// CertsAt are the certificates in an object of the snapshot; false where it was not read,
// and why.
func (p Preflight) CertsAt(ref catalog.Ref) ([]*pki.Cert, string, bool) {
	at := pki.Location{Kind: pki.Kind(ref.Kind), Namespace: ref.Namespace, Name: ref.Name, Key: ref.Key}
	for _, b := range p.Snapshot.Bundles {
		if why := b.Content.CutShort(); b.At == at && why != "" {
			return nil, fmt.Sprintf("not all of %s was read: %s", ref, why), false
		}
		if loaded, _ := b.Content.LoadedBy(pki.ReaderGo); b.At == at && len(loaded) > 0 {
			return loaded, "", true
		}
	}
	for _, g := range p.Snapshot.Gaps {
		if strings.HasPrefix(strings.ToLower(ref.Kind), strings.TrimSuffix(g.What, "s")) && (g.Where == "" || g.Where == ref.Namespace) {
			return nil, fmt.Sprintf("%s was not read: %s", ref, g.Reason), false
		}
	}
	return nil, fmt.Sprintf("%s was not found", ref), false
}

// worker reports whether a node is known to be no control plane node: by its labels and by what
// operators say of static pods; where no operator says, by its files, if they were read. What
// pods say of a node is written by its own kubelet, and its files by root there: on a plain cluster
// with labels of control plane nodes, these alone tell of a node that is not in the plan.
func (p Preflight) worker(node string) bool {
	n, ok := p.ControlPlane.Node(node)
	if _, gap := p.ControlPlane.Gap("nodes"); gap || !ok || n.Master {
		return false
	}
	for _, s := range p.ControlPlane.StaticPods {
		if slices.ContainsFunc(s.Masters, func(m inspect.StaticPodState) bool { return m.Node == node }) {
			return false
		}
	}
	if slices.ContainsFunc(p.ControlPlane.StaticPods, func(s inspect.StaticPods) bool { return len(s.Masters) > 0 }) {
		return true
	}
	if !slices.Contains(p.Nodes, node) && !slices.Contains(p.Planned, node) && p.labelled() {
		return true
	}
	read, known := p.Snapshot.Node(node)
	return known && read.Via != "" && !inspect.RunsAPIServer(p.Snapshot, read)
}

// masters are those among the nodes that are to be changed, by their label, by what
// operators say of static pods, or by their files; false where that is unknown.
func (p Preflight) masters() ([]string, bool) {
	if p.ControlPlane == nil {
		return nil, false
	}
	if _, gap := p.ControlPlane.Gap("nodes"); gap {
		return nil, false
	}
	var out []string
	for _, name := range p.Nodes {
		n, ok := p.ControlPlane.Node(name)
		runs := slices.ContainsFunc(p.ControlPlane.StaticPods, func(s inspect.StaticPods) bool {
			return slices.ContainsFunc(s.Masters, func(m inspect.StaticPodState) bool { return m.Node == name })
		})
		if read, known := p.Snapshot.Node(name); known && inspect.RunsAPIServer(p.Snapshot, read) {
			runs = true
		}
		if ok && n.Master || runs {
			out = append(out, name)
		}
	}
	return out, true
}

// NoMaster is why a check of control plane nodes passes where none is changed.
const NoMaster = "no control plane node's kubelet is restarted"

// remediation lists what deletes or reboots nodes that are not Ready. As long as most
// have no heartbeat it may hold still, by its own limits: it begins when enough of them are
// back, on the rest.
func (p Preflight) remediation() Result {
	var resources []string
	for _, row := range catalog.ControlPlaneResources() {
		switch row.Reports {
		case catalog.ReportsNodeRemediation, catalog.ReportsAutoscaling, catalog.ReportsControlPlaneMachines:
			resources = append(resources, row.Resource())
		}
	}
	if f, ok := p.Unread(resources...); ok {
		return f
	}
	scaled := slices.ContainsFunc(p.ControlPlane.Actors, func(a inspect.Actor) bool { return a.Resource == catalog.MachineAutoscalers })
	var acts, next, notes []string
	for _, a := range p.ControlPlane.Actors {
		row, _ := catalog.ControlPlaneResourceOf(a.Resource)
		what := row.Kind + " " + action.ObjectName(a.Namespace, a.Name)
		pausable := row.PauseBy != (catalog.PauseField{})
		switch {
		case a.Active == catalog.No, a.Resource == catalog.ClusterAutoscalers && !scaled:
		case a.Paused != nil:
			notes = append(notes, what+" is paused by "+foreign.Quoted(strings.Join(a.Paused, ", ")))
		case pausable && p.Pause:
		default:
			acts = append(acts, fmt.Sprintf("%s %s (%s)", what, row.Effect, a.Why))
			if row.Pause != "" {
				next = append(next, row.Command(row.Pause, a.Namespace, a.Name))
			}
		}
	}
	if len(acts) == 0 {
		return Pass("%s", strings.Join(notes, "; "))
	}
	hint := "--pause-remediation pauses health checks for as long as this takes"
	if len(next) > 0 {
		hint += "; by hand: " + strings.Join(next, "; ")
	}
	return Fail(hint, "%s", strings.Join(acts, "; "))
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// MastersFirst is the risk to go on while it is unknown of a master whether it is
// right.
const MastersFirst = "masters-first"

// WorkersBack is the risk to restart the kubelets of workers that are Ready although some
// that were restarted before did not come back.
const WorkersBack = "workers-back"

// signer is asked before kubelets are restarted that wait for it: where it can't sign, they
// would be left without a certificate.
func (p Preflight) signer() Result {
	if !inspect.HasOperators(p.Snapshot) {
		ca, asked, unknown := csr.KubeadmSigner(p.Snapshot, p.Now)
		if ca == nil || asked.IsZero() {
			return Pass("whether %s of control plane nodes, which signs, is valid is unknown: %s", catalog.KubeadmCA, cmp.Or(unknown, "the API server does not say what time it is"))
		}
		if problem := csr.WhyInvalid(collect.Signer{NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, Asked: asked}); problem != "" {
			return Fail("renew the cluster's CA first", "%s %s: kube-controller-manager can't sign with it", catalog.KubeadmCA, problem)
		}
		return Pass("")
	}
	at := catalog.CSRSigner()
	switch {
	case p.Signer == nil && p.ControlPlane == nil:
		return noAPIServer(p.Snapshot.Hints)
	case p.Signer == nil:
		return Result{Reason: at.String() + " was not read", Next: p.Snapshot.Hints.Unread(inspect.MayGet("secret/"+at.Name, at.Namespace))}
	}
	return Result{p.Signer.Valid, p.Signer.Reason, p.Signer.Next}
}
