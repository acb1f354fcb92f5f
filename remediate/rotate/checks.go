package rotate

import (
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// Preflight is what is asked before something is rotated.
type Preflight struct {
	Chain
	Now time.Time
	// Follows: it is rotated because its signer was. Then trust that is seen counts,
	// however new the signer is, and nothing else does.
	Follows bool
	// SignerFirst: its signer is rotated before. What signs now tells nothing then.
	SignerFirst bool
	// Network are the pods that dial api-int, and the CAs that they are given; nil: they
	// were not read, and Unread says why, for people.
	Network *action.NetworkRestarts
	Unread  string
}

// rotateCheck is one of them.
type rotateCheck struct {
	name, claim string
	risk        bool
	api         bool // only the API tells
	ask         func(Preflight) preflight.Result
}

func rotateChecks() []rotateCheck {
	return []rotateCheck{
		{"control-plane-here", "the control plane runs in this cluster", false, false, Preflight.here},
		{annotationsAgree, "the annotations by which the owner decides agree with the certificate", true, false, Preflight.annotations},
		{"signer-type", "this version's operators can replace the signer in place", true, false, Preflight.signerType},
		{chainSettled, "no rotation of the same chain is under way", true, false, Preflight.chain},
		{ReachesVerifiers, "this version brings a new CA to all clients that use it", true, false, Preflight.reaches},
		{"leaf-young", "nothing is about to be signed by the new CA before nodes can be given it", true, false, Preflight.leafAge},
		{"signer-age", "its signer is old enough to have reached every client", true, false, Preflight.age},
		{SignerTrusted, "every client trusts its signer", true, false, Preflight.trusted},
		{OutsideVerifiers, "only the cluster verifies it", true, false, Preflight.outside},
		{PodsMemory, "no client that verifies it has only the previous CA loaded", true, false, Preflight.memory},
		{OwnKubeconfig, "your own kubeconfig trusts the signer of the certificate that the API presents to you", true, false, Preflight.own},
		{"topology", "kubelets may be restarted, where a new CA has them restarted", true, false, Preflight.topology},
		{operatorsSettled, "the operators are well, and at rest", true, true, Preflight.operators},
		{"upgrade-running", "no upgrade is under way", true, true, Preflight.upgrade},
		{preflight.StaticPodsSettled, "no rollout of static pods is under way", true, true, Preflight.staticPods},
		{poolsReady, "no pool is paused, updating or degraded", true, true, Preflight.pools},
		{nodesReady, "all nodes are Ready and send heartbeats", true, true, Preflight.nodes},
		{preflight.UnreviewedVersion, "the versions that run were reviewed for the catalog", true, false, Preflight.reviewed},
	}
}

// CheckStatements are the statements of the checks before a rotation.
func CheckStatements() []preflight.CheckStatement {
	var out []preflight.CheckStatement
	for _, c := range rotateChecks() {
		out = append(out, preflight.CheckStatement{Name: c.name, Statement: c.claim})
	}
	return out
}

// SignerTrusted is the check that every verifier trusts the certificate that signs.
const SignerTrusted = "signer-trusted"

// ReachesVerifiers is the check that the owners of what verifies bring a new CA there.
const ReachesVerifiers = "reaches-verifiers"

// OutsideVerifiers is the check that nothing verifies it that can't be seen.
const OutsideVerifiers = "outside-verifiers"

// PodsMemory is the check that no pod loaded only the previous CA.
const PodsMemory = "pods-memory"

// OwnKubeconfig is the check that the caller is not shut out.
const OwnKubeconfig = "own-kubeconfig"

// Checks that others ask for by name.
const (
	annotationsAgree = "annotations-agree"
	chainSettled     = "chain-settled"
	operatorsSettled = "operators-settled"
	poolsReady       = "pools-ready"
	nodesReady       = "nodes-ready"
)

// Risks are the names that may be accepted.
func Risks() []string {
	var names []string
	for _, c := range rotateChecks() {
		if c.risk {
			names = append(names, c.name)
		}
	}
	return append(names, remediate.NoLease, preflight.UnauthenticatedAPI)
}

// Check asks everything; nothing is written.
func (p Preflight) Check() []preflight.Verdict {
	var out []preflight.Verdict
	for _, c := range rotateChecks() {
		f := c.ask(p)
		v := preflight.Verdict{
			Assessment: f.Assess(c.name), Claim: c.claim, Risk: c.risk && !p.decides(c.name),
			NoAPIServer: f.Passed == catalog.Unknown && c.api && p.ControlPlane == nil,
		}
		if c.api || c.name == PodsMemory && p.Network != nil {
			v = v.AsOf(p.Facts.Snapshot)
		}
		out = append(out, v)
	}
	return out
}

// decides reports whether what fails a check, which else is a risk, leaves nothing to rotate: no Secret, or a signer that
// is followed and not trusted.
func (p Preflight) decides(check string) bool {
	switch check {
	case SignerTrusted:
		return p.Follows
	case annotationsAgree:
		return p.Of.Cert() == nil && notThere(p.Facts, p.Of.At)
	}
	return false
}

// Unmanaged says why no operator rotates something here; empty: one does.
func (r Rotatable) Unmanaged() (reason, next string) {
	switch {
	case r.Known == catalog.Unknown && len(r.versions.UnreviewedMinors()) > 0:
		next = "use a release of certrot that reviewed this version"
		if r.managedIfAccepted() {
			next += "; or take the nearest one's way: --accept-risk=" + preflight.UnreviewedVersion
		}
		return "how it is rotated depends on the version: " + r.versions.WhyUndecided(), next
	case r.Known == catalog.Unknown:
		return "how it is rotated depends on a version that was not read", "oc get clusterversion,clusteroperators"
	case r.Known == catalog.No:
		return "the catalog has no supported way to rotate it in this version", r.hints.Next("{} inspect says whose it is")
	case r.Trigger.Annotation == "":
		return "certrot does not rotate it", r.Trigger.Doc
	}
	return "", ""
}

// Unrotated reports whether certrot is known not to rotate it, where it is known who does, or that
// nothing does.
func (r Rotatable) Unrotated() bool { return r.Known == catalog.Yes && r.Trigger.Annotation == "" }

// managedIfAccepted reports whether certrot would rotate it where the nearest version's way
// is accepted.
func (r Rotatable) managedIfAccepted() bool {
	v := r.versions
	v.UnreviewedAccepted = true
	trigger, known := catalog.TriggerOf(r.At, v)
	return known == catalog.Yes && trigger.Annotation != ""
}

func (c Chain) hints() inspect.Hints { return c.Facts.Hints() }

// unreadPods is the next step where it was not read since when pods run.
func (p Preflight) unreadPods() string {
	return p.hints().Unread(inspect.MayList("pods", p.dialling()[0].Namespace)) + p.hints().Live("; docs/permissions.md (network pods) says what else is read")
}

func (p Preflight) versions() catalog.Versions { return p.Facts.Snapshot.Cluster.Versions }

// reviewed asks whether the catalog's rows are known to hold for what runs.
func (p Preflight) reviewed() preflight.Result {
	if out := p.versions().WhyUnreviewed(); out != "" {
		return preflight.Fail("use a release of certrot that reviewed this version", "%s", out)
	}
	return preflight.Pass("")
}

// here refuses clusters whose control plane is kept in another one.
func (p Preflight) here() preflight.Result {
	if topology := p.Facts.Snapshot.Cluster.Topology; catalog.InHostingCluster(p.Of.At, topology) {
		row, _ := catalog.TopologyOf(topology)
		return preflight.Fail(row.Next, "the topology is %s: %s", topology, row.Doc)
	}
	if p.versions().NotOpenShift {
		return preflight.Fail("where kubeadm made them: kubeadm certs renew", "this is no OpenShift: no operator rotates it")
	}
	return preflight.Pass("")
}

func (p Preflight) annotations() preflight.Result {
	next := foreign.Command("", "oc get secret -n %s %s -o jsonpath='{.metadata.annotations}'", p.Of.At.Namespace, p.Of.At.Name)
	if p.Of.Cert() == nil {
		if notThere(p.Facts, p.Of.At) {
			return preflight.Fail(lookAtOperator(p.owner()), "%s is not there", p.Of.At)
		}
		return preflight.Result{Reason: p.Of.At.String() + " was not read", Next: p.hints().Unread(inspect.MayGet("secrets", p.Of.At.Namespace))}
	}
	if problem := disagrees(p.Of.Entry); problem != "" {
		return preflight.Fail(next, "%s: %s", p.Of.At, problem)
	}
	return preflight.Pass("")
}

// gone is that a signer is known not to be there, which is more than that it was not read.
func (p Preflight) gone() (preflight.Result, bool) {
	at := p.Of.Rotation.Signer
	return preflight.Fail(lookAtOperator(p.owner()), "%s is not there", at), len(entriesAt(p.Facts, at)) == 0 && notThere(p.Facts, at)
}

func (p Preflight) signerType() preflight.Result {
	if f, gone := p.gone(); gone {
		return f
	}
	entries := entriesAt(p.Facts, p.Of.Rotation.Signer)
	if len(entries) == 0 || entries[0].Object == nil {
		return preflight.Result{Reason: "the type of " + p.Of.Rotation.Signer.String() + " was not read", Next: p.hints().Unread(inspect.MayGet("secrets", p.Of.Rotation.Signer.Namespace))}
	}
	const right = "kubernetes.io/tls"
	if entries[0].Object.Type == "" {
		return preflight.Result{Reason: "the type of " + p.Of.Rotation.Signer.String() + " is not told", Next: foreign.Command("", "oc get secret -n %s %s -o jsonpath='{.type}'", p.Of.Rotation.Signer.Namespace, p.Of.Rotation.Signer.Name)}
	}
	row, known := catalog.SignerTypeOf(entries[0].Object.Type, p.versions())
	if known == catalog.No && entries[0].Object.Type != right { // operators ask for nothing else than whether it is the right one
		row, known = catalog.SignerTypeOf("SecretTypeTLS", p.versions())
	}
	switch {
	case known == catalog.Unknown:
		return preflight.Result{Reason: fmt.Sprintf("the Secret's type is %s, and what this version does with it is unknown", foreign.QuotedName(entries[0].Object.Type)), Next: "oc get clusteroperator kube-apiserver"}
	case known == catalog.Yes && (row.NeedsAction || row.ReplacedByRotation):
		return preflight.Fail(row.Next, "the Secret's type is %s: %s", foreign.QuotedName(entries[0].Object.Type), row.Doc)
	case known == catalog.Yes:
		return preflight.Pass("the Secret's type is %s: %s", foreign.QuotedName(entries[0].Object.Type), row.Doc)
	}
	return preflight.Pass("")
}

func (p Preflight) chain() preflight.Result {
	if f, gone := p.gone(); gone {
		return f
	}
	if p.Of.Cert() == nil {
		return preflight.Result{Reason: "what signs now was not read", Next: p.hints().Unread(inspect.MayList("secrets", ""), inspect.MayList("configmaps", ""))}
	}
	switch s := p.settled(); s.Status {
	case assess.Warn:
		return preflight.Fail(p.hints().Next("wait until it is through: {} rotate status %s", p.Of.Name), "%s: %s", s.ID, s.Reason)
	case assess.Unknown:
		return preflight.Result{Reason: s.ID + ": " + s.Reason, Next: s.Remediation.Text}
	}
	return preflight.Pass("")
}

// age refuses what is signed by a signer that may still be on its way to some.
func (p Preflight) age() preflight.Result {
	if p.Of.Signer() || p.Follows {
		return preflight.Pass("")
	}
	if f, gone := p.gone(); gone {
		return f
	}
	ca, at := p.signer(), p.Of.Rotation.Signer
	if ca == nil {
		return preflight.Result{Reason: "the age of its signer is unknown: " + at.String() + " was not read", Next: p.hints().Unread(inspect.MayGet("secrets", at.Namespace))}
	}
	life, known := catalog.LifetimeOf(p.Of.At, p.versions())
	switch old := ca.NotBefore.Add(life.Refresh / 10); {
	case known != catalog.Yes:
		return preflight.Result{Reason: "the time after which it is renewed in this version is unknown, and so is the age that its signer needs", Next: "oc get clusterversion,clusteroperators; its signer was made " + remediate.Timestamp(ca.NotBefore)}
	case p.Now.Before(old):
		return preflight.Fail("wait until then: what it signs follows by itself", "its signer was made %s, and is not old enough before %s to be trusted everywhere: a tenth of the time after which this is renewed",
			remediate.Timestamp(ca.NotBefore), remediate.Timestamp(old))
	}
	return preflight.Pass("")
}

// outside says of what only people's kubeconfigs verify that these can't be seen.
func (p Preflight) outside() preflight.Result {
	if p.Of.Signer() || !catalog.IsExternalServingCert(p.Of.At) {
		return preflight.Pass("")
	}
	return preflight.Result{
		Reason: "external clients verify it: their kubeconfigs can't be checked from here, and those that lack the CA lose access",
		Next:   p.hints().Next("its operator rotates it later; to do it now, give them the CA first, on each machine: {} fix-kubeconfig"),
	}
}
