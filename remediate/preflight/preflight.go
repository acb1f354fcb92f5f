package preflight

import (
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
	Facts     inspect.Snapshot
	Machinery *inspect.Machinery // nil: no API server could be asked
	Nodes     []string           // whose kubelets are to be restarted
	Now       time.Time
	Pause     bool // what can be paused will be
	// Script: it is done by a script, on nodes that nobody may get onto from here.
	Script bool
	// CA are those that kubelets are to trust, and StaticPods those of kube-system; the
	// latter are asked for where no operator tells of them, see Operated.
	CA         []*pki.Cert
	StaticPods *StaticPods
	// Approves: kubelets wait for a certificate that is signed on approval. Signer is what was
	// read of what signs it; nil: no API server could be asked.
	Approves bool
	Signer   *csr.SignerVerdict
}

// StaticPods are the pods in kube-system that kubelets run by files of their own.
type StaticPods struct {
	Pods []inspect.Pod
	Gap  *inspect.Gap // why they were not read; nil: they were
}

// Verdict is what a check of the preflight says.
type Verdict struct {
	Name  string // lower-kebab; what --accept-risk takes, where Risk
	Claim string // true where it holds
	Holds catalog.Answer
	// Reason says why it does not hold or is not known; of one that holds, what is
	// worth knowing, mostly nothing.
	Reason string
	Next   string
	Risk   bool // it may be accepted by name
	// Blind says that only an API server could tell, and that there is none: that
	// stops nothing, since in an outage of the API nobody could be helped else.
	Blind bool
}

// Stops reports whether nothing is to be done because of it.
func (v Verdict) Stops() bool { return v.Holds != catalog.Yes && !v.Blind }

// ServerSide is the check of the control plane's own trust: what it does not hold for
// is somebody else's to mend.
const ServerSide = "server-side-consistent"

// The checks that are asked again while a plan is carried out.
const (
	StaticPodsSettled = "static-pods-settled"
	upgradeRunning    = "upgrade-running"
	poolsSettled      = "pools-settled"
	remediationActive = "remediation-active"
)

// preflightCheck is one of them.
type preflightCheck struct {
	name, claim string
	risk        bool
	api         bool // only the API tells
	ask         func(Preflight) Finding
}

// Finding is the rest of a Verdict.
type Finding struct {
	Holds        catalog.Answer
	Reason, Next string
}

// checks are those for a cluster whose operators tell of it, or for one without any.
func (p Preflight) checks() []preflightCheck {
	checks := plainChecks()
	if p.Operated() {
		checks = operatedChecks()
	}
	if p.Approves {
		checks = append(checks, preflightCheck{csr.CsrSigner, "what signs the certificates of kubelets is valid", false, true, Preflight.signer})
	}
	return checks
}

// Operated reports whether operators keep the cluster, or may. Where none do, StaticPods
// are to be asked for.
func (p Preflight) Operated() bool { return inspect.Operated(p.Facts) }

// UnreviewedVersion is the risk of writing where a version runs that was not reviewed for
// the catalog: who accepts it takes what the catalog says of the nearest one that was.
const UnreviewedVersion = "unreviewed-version"

func operatedChecks() []preflightCheck {
	return []preflightCheck{
		{ServerSide, "the control plane's own trust in what api-int shows is in order", true, true, Preflight.serverSide},
		{"named-certificate", "api-int shows the load balancer's certificate, and no user's", true, true, Preflight.namedCertificate},
		{"etcd-healthy", "etcd's members are healthy", true, true, Preflight.etcd},
		{StaticPodsSettled, "no rollout of static pods is under way", true, true, Preflight.StaticPodsSettle},
		{upgradeRunning, "no upgrade is under way", true, true, Preflight.Upgrade},
		{poolsSettled, "no pool reboots nodes", true, true, Preflight.pools},
		{"clocks", "the clocks agree", true, false, Preflight.clocks},
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

// Check asks everything; nothing is written.
func (p Preflight) Check() []Verdict {
	var out []Verdict
	for _, c := range p.checks() {
		f := c.ask(p)
		out = append(out, Verdict{
			Name: c.name, Claim: c.claim, Holds: f.Holds, Reason: f.Reason, Next: f.Next, Risk: c.risk,
			Blind: f.Holds == catalog.Unknown && c.api && p.Machinery == nil,
		})
	}
	return out
}

// ServerSideVerdict is that of ServerSide alone: it explains why a CA that is
// published does not verify what is shown.
func (p Preflight) ServerSideVerdict() Verdict {
	all := p.Check()
	return all[slices.IndexFunc(all, func(v Verdict) bool { return v.Name == ServerSide })]
}

// Fine is a check that passes. The text is for people; empty: there is nothing to say.
func Fine(format string, args ...any) Finding {
	return Finding{Holds: catalog.Yes, Reason: fmt.Sprintf(format, args...)}
}

// Fails is a check that fails, with the next step and the reason.
func Fails(next, format string, args ...any) Finding {
	return Finding{catalog.No, fmt.Sprintf(format, args...), next}
}

// blind is the answer where no API server could be asked.
func blind(hints inspect.Hints) Finding {
	return Finding{Reason: "no API server could be asked", Next: hints.Live("look at it from a master, or from a colleague's machine: what acts on nodes meanwhile is not seen from here")}
}

// Unread is the answer where one of these could not be read.
func (p Preflight) Unread(resources ...string) (Finding, bool) {
	if p.Machinery == nil {
		return blind(p.Facts.Hints), true
	}
	if g, ok := p.Machinery.Gap(resources...); ok {
		return Finding{Reason: g.Reason, Next: g.Next}, true
	}
	return Finding{}, false
}

// Held is what an object of the snapshot holds; false where it was not read, and why.
func (p Preflight) Held(ref catalog.Ref) ([]*pki.Cert, string, bool) {
	at := pki.Location{Kind: pki.Kind(ref.Kind), Namespace: ref.Namespace, Name: ref.Name, Key: ref.Key}
	for _, b := range p.Facts.Bundles {
		if loaded, _ := b.Content.LoadedBy(pki.ReaderGo); b.At == at && len(loaded) > 0 {
			return loaded, "", true
		}
	}
	for _, g := range p.Facts.Gaps {
		if strings.HasPrefix(strings.ToLower(ref.Kind), strings.TrimSuffix(g.What, "s")) && (g.Where == "" || g.Where == ref.Namespace) {
			return nil, fmt.Sprintf("%s was not read: %s", ref, g.Reason), false
		}
	}
	return nil, fmt.Sprintf("%s was not found", ref), false
}

// lacking are the CAs of a bundle that another one lacks, and that have not ended.
func (p Preflight) lacking(from, in []*pki.Cert) []*pki.Cert {
	var out []*pki.Cert
	for _, c := range from {
		if c.NotAfter.After(p.Now) && !slices.ContainsFunc(in, func(x *pki.Cert) bool { return x.Fingerprint == c.Fingerprint }) {
			out = append(out, c)
		}
	}
	return out
}

// serverSide follows the trust from the leaf to what kubelets are given: each link is
// some operator's, and no kubelet is to be told anything before all of them hold.
func (p Preflight) serverSide() Finding {
	const operator = "kube-apiserver-operator must mend it: oc get clusteroperator kube-apiserver; oc -n openshift-kube-apiserver-operator logs deployment/kube-apiserver-operator"
	var certs [4][]*pki.Cert
	for i, ref := range []catalog.Ref{catalog.InternalLoadBalancerServing(), catalog.LoadBalancerCA(), catalog.OwnServerCA(), catalog.APIServerCA()} {
		found, why, ok := p.Held(ref)
		if !ok {
			return Finding{Reason: why, Next: p.Facts.Hints.Unread(inspect.MayGet(strings.ToLower(ref.Kind)+"s", ref.Namespace))}
		}
		certs[i] = found
	}
	leaf, signers, own, published := certs[0], certs[1], certs[2], certs[3]
	if err := pki.Verify(leaf, signers, "", p.Now); err != nil {
		return Fails(operator, "%s holds %s, which no CA in %s verifies: %v", catalog.InternalLoadBalancerServing(), pki.Named(leaf[0]), catalog.LoadBalancerCA(), err)
	}
	if missing := p.lacking(signers, own); len(missing) > 0 {
		return Fails(operator, "%s lacks %s, which is in %s", catalog.OwnServerCA(), pki.Named(missing[0]), catalog.LoadBalancerCA())
	}
	if missing := append(p.lacking(own, published), p.lacking(published, own)...); len(missing) > 0 {
		return Fails(operator, "%s and its copy %s differ in %s", catalog.OwnServerCA(), catalog.APIServerCA(), pki.Named(missing[0]))
	}
	var silent []string
	shown := 0
	for _, v := range p.Facts.Served {
		if v.Server != "" && v.Server != catalog.ListenerAPIServer || v.Server == catalog.ListenerAPIServer && v.Name != p.internalName() {
			continue
		}
		from := v.Address
		if v.Of != "" {
			from = "the master " + v.Of + " at " + v.Address
		}
		if len(v.Chain) == 0 {
			if v.Of != "" {
				silent = append(silent, v.Of)
			}
			continue
		}
		shown++
		if err := pki.Verify(v.Chain, published, v.Name, p.Now); err != nil {
			return Fails("look at what it loaded: oc -n openshift-kube-apiserver get pods -o wide; oc -n openshift-kube-apiserver logs -c kube-apiserver-cert-syncer POD. Where its files are right and it shows another certificate, its static pod is to be restarted by kube-apiserver-operator",
				"%s shows %s, which %s does not verify: %v", from, pki.Named(v.Chain[0]), catalog.APIServerCA(), err)
		}
	}
	switch {
	case shown == 0:
		return Finding{Reason: "what masters show at api-int is not known: none answered", Next: "on a node: curl -kv https://" + p.internalName() + ":6443/readyz"}
	case len(silent) > 0:
		return Fine("not asked, since they did not answer: %s", strings.Join(unique(silent), ", "))
	}
	return Fine("")
}

// internalName is the name of api-int; empty where it is not known.
func (p Preflight) internalName() string {
	name, _ := inspect.ServerName(catalog.NameInternal, p.Facts.Cluster)
	return name
}

// namedCertificate judges by the handshake: what the configuration names may be for
// other names, or not be shown.
func (p Preflight) namedCertificate() Finding {
	signers, why, ok := p.Held(catalog.LoadBalancerCA())
	if !ok {
		return Finding{Reason: why, Next: p.Facts.Hints.Unread(inspect.MayGet("configmaps", catalog.LoadBalancerCA().Namespace))}
	}
	shown := 0
	for _, v := range p.Facts.Served {
		if v.Server != "" || len(v.Chain) == 0 {
			continue
		}
		shown++
		if err := pki.Verify(v.Chain, signers, "", p.Now); err != nil {
			return Fails("oc get apiserver cluster -o jsonpath='{.spec.servingCerts.namedCertificates}': an entry that covers api-int is not supported by OpenShift: take its name out of it. If there is none, something between ends TLS",
				"%s shows %s, issued by %s, which is none of the load balancer's signers: a user's certificate", v.Address, pki.Named(v.Chain[0]), pki.Foreign(v.Chain[0].Issuer))
		}
	}
	if shown == 0 {
		return Finding{Reason: "what is shown at api-int is not known: no node was shown anything", Next: "is the API server up behind api-int?"}
	}
	return Fine("")
}

// worker reports whether a node is known to be no control plane node: by its labels, by what
// operators say of static pods, and by its files as far as they were read. What pods say of
// a node is written by its own kubelet.
func (p Preflight) worker(node string) bool {
	n, ok := p.Machinery.Node(node)
	if _, gap := p.Machinery.Gap("nodes"); gap || !ok || n.Master {
		return false
	}
	for _, s := range p.Machinery.StaticPods {
		if slices.ContainsFunc(s.Masters, func(m inspect.StaticPodState) bool { return m.Node == node }) {
			return false
		}
	}
	read, known := p.Facts.Node(node)
	return !known || !inspect.RunsAPIServer(p.Facts, read)
}

// masters are those among the nodes that are to be changed, by their label, by what
// operators say of static pods, or by their files; false where it is not known which are.
func (p Preflight) masters() ([]string, bool) {
	if p.Machinery == nil {
		return nil, false
	}
	if _, gap := p.Machinery.Gap("nodes"); gap {
		return nil, false
	}
	var out []string
	for _, name := range p.Nodes {
		n, ok := p.Machinery.Node(name)
		runs := slices.ContainsFunc(p.Machinery.StaticPods, func(s inspect.StaticPods) bool {
			return slices.ContainsFunc(s.Masters, func(m inspect.StaticPodState) bool { return m.Node == name })
		})
		if read, known := p.Facts.Node(name); known && inspect.RunsAPIServer(p.Facts, read) {
			runs = true
		}
		if ok && n.Master || runs {
			out = append(out, name)
		}
	}
	return out, true
}

// NoMaster is why a check of control plane nodes passes where none is changed.
const NoMaster = "no master's kubelet is restarted"

// etcd asks the operator's conditions about members, which it sees by calling them.
// Those about nodes and installers are True in the incident itself. A member may be
// down because of its kubelet alone, which then is what must come back.
func (p Preflight) etcd() Finding {
	if f, ok := p.Unread(catalog.EtcdOperators, "nodes"); ok {
		return f
	}
	if masters, ok := p.masters(); ok && len(masters) == 0 {
		return Fine(NoMaster)
	}
	const look = "oc get etcd cluster -o yaml; oc -n openshift-etcd rsh -c etcdctl etcd-MASTER etcdctl endpoint health --cluster"
	i := slices.IndexFunc(p.Machinery.StaticPods, func(s inspect.StaticPods) bool { return s.Resource == catalog.EtcdOperators })
	if i < 0 {
		return Finding{Reason: "there is no Etcd object that would tell of etcd's members", Next: look}
	}
	s := p.Machinery.StaticPods[i]
	degraded, available := catalog.EtcdMembers()
	message := s.Messages[degraded]
	switch {
	case s.Conditions[available] == "False":
		return Fails(look, "etcd has no quorum: %s", s.Messages[available])
	case s.Conditions[degraded] == "" || s.Conditions[degraded] == "Unknown":
		return Finding{Reason: "the etcd operator does not say how etcd's members are", Next: look}
	case s.Conditions[degraded] == "False":
		return Fine("")
	}
	// "2 of 3 members are available, master-1 is unhealthy"
	parts := strings.Split(message, ", ")
	for _, part := range parts[1:] {
		member, _, _ := strings.Cut(part, " ")
		if !p.Machinery.Lost(member) {
			return Fails(look, "%s", message)
		}
	}
	if len(parts) == 1 {
		return Fails(look, "%s", message)
	}
	return Fine("%s: on masters that are lost, whose kubelets are to bring it back", message)
}

// StaticPodsSettle lets a rollout be that waits for a master that is not Ready: it can't go
// on before that master's kubelet is right. One that goes on by itself is waited for.
func (p Preflight) StaticPodsSettle() Finding {
	resources := []string{"nodes", "pods"}
	for _, row := range catalog.Machineries() {
		if row.Moves == catalog.MovesStaticPods {
			resources = append(resources, row.Resource())
		}
	}
	if f, ok := p.Unread(resources...); ok {
		return f
	}
	if masters, ok := p.masters(); ok && len(masters) == 0 {
		return Fine(NoMaster)
	}
	if len(p.Machinery.StaticPods) == 0 {
		return Finding{Reason: "there is no operator that would tell of static pods", Next: "oc get etcd,kubeapiserver,kubecontrollermanager,kubescheduler cluster"}
	}
	const wait = "wait for its end: oc get kubeapiserver,kubecontrollermanager,kubescheduler,etcd cluster -o yaml"
	var stuck []string
	for _, i := range p.Machinery.Installers {
		if p.worker(i.Node) { // operators put none there; a kubelet can make a pod of that name on its own node
			continue
		}
		if !p.Machinery.Lost(i.Node) {
			return Fails(wait, "pod %s/%s puts a revision on %s, and has not finished (%s)", i.Namespace, i.Name, OrNobody(i.Node), foreign.Name(i.Phase))
		}
		stuck = append(stuck, fmt.Sprintf("pod %s/%s waits for %s", i.Namespace, i.Name, i.Node))
	}
	for _, s := range p.Machinery.StaticPods {
		var moving, behind, lost []string
		for _, m := range s.Masters {
			switch {
			case m.Target != 0 && m.Target != m.Current && p.Machinery.Lost(m.Node):
				lost = append(lost, m.Node)
			case m.Target != 0 && m.Target != m.Current:
				moving = append(moving, m.Node)
			case m.Current < s.Latest && p.Machinery.Lost(m.Node):
				lost = append(lost, m.Node)
			case m.Current < s.Latest:
				behind = append(behind, m.Node)
			}
		}
		switch {
		case len(moving) > 0:
			return Fails(wait, "%s: revision %d is put on %s", s.Resource, s.Latest, strings.Join(moving, ", "))
		case len(behind) > 0 && len(lost) == 0:
			return Fails(wait, "%s: revision %d is to be put on %s", s.Resource, s.Latest, strings.Join(behind, ", "))
		case len(lost) > 0:
			stuck = append(stuck, fmt.Sprintf("revision %d of %s waits for %s", s.Latest, s.Resource, strings.Join(lost, ", ")))
		}
	}
	if len(stuck) > 0 {
		return Fine("a rollout waits for masters that are lost, and goes on once they are: %s", strings.Join(stuck, "; "))
	}
	return Fine("")
}

// OrNobody is a node for people.
func OrNobody(node string) string {
	if node == "" {
		return "no node yet"
	}
	return node
}

// Upgrade reads Progressing, which ClusterVersion sets while it goes to another
// version alone: operators that are degraded in the incident make it Failing.
func (p Preflight) Upgrade() Finding {
	if f, ok := p.Unread(catalog.ClusterVersions); ok {
		return f
	}
	u := p.Machinery.Update
	switch u.Progressing {
	case "False":
		return Fine("")
	case "True":
		stuck := ""
		if u.Failing != "" {
			stuck = "; it does not get on: " + u.Failing
		}
		return Fails("wait for its end: oc adm upgrade. Where it waits for the very nodes that are to be mended, pause the pools, so that it reboots nobody meanwhile (oc patch machineconfigpool worker --type merge -p '{\"spec\":{\"paused\":true}}'), and accept this by name",
			"the cluster goes to %s: %s%s", u.Desired, u.Message, stuck)
	}
	return Finding{Reason: "ClusterVersion does not say whether an upgrade is under way", Next: "oc get clusterversion version -o yaml"}
}

// pools goes by what nodes are to have, and not by the condition Updating, which is
// True for every pool with a node that is not Ready.
func (p Preflight) pools() Finding {
	if f, ok := p.Unread(catalog.Pools, "nodes"); ok {
		return f
	}
	row, _ := catalog.MachineryOf(catalog.Pools)
	open := slices.DeleteFunc(slices.Clone(p.Machinery.Pools), func(pool inspect.Pool) bool { return pool.Paused })
	for _, pool := range open {
		if pool.Current != pool.Wanted && pool.Machines > 0 {
			return Fails("wait for its end, or pause it: "+row.Command(row.Pause, "", pool.Name),
				"pool %s goes from %s to %s, with a reboot of each of its %d nodes (%d are done)", pool.Name, pool.Current, pool.Wanted, pool.Machines, pool.Updated)
		}
	}
	var notes []string
	for _, n := range p.Machinery.Nodes {
		if !n.Config.MovesNode() {
			continue
		}
		if !p.Machinery.Lost(n.Name) {
			return Fails("wait until it is done: "+foreign.Command(inspect.NodeNames, "oc get node %s -o yaml | grep machineconfiguration", n.Name), "machine-config-daemon is at work on %s (%s, from %s to %s)", n.Name, foreign.Name(n.Config.State), foreign.Name(n.Config.Current), foreign.Name(n.Config.Desired))
		}
		notes = append(notes, fmt.Sprintf("machine-config-daemon goes on with its work on %s once it is back (%s)", n.Name, foreign.Name(n.Config.State)))
	}
	for _, pool := range p.Machinery.Pools {
		switch {
		case pool.Paused:
			notes = append(notes, "pool "+pool.Name+" is paused, and stays so")
		case pool.Degraded == "True":
			notes = append(notes, "pool "+pool.Name+" is degraded; that reboots nobody")
		}
	}
	return Fine("%s", strings.Join(notes, "; "))
}

// MaxSkew is what clocks may differ by. What is signed in the incident is valid from
// about the moment of its making: a node that is behind takes it for not yet valid.
const MaxSkew = time.Minute

func (p Preflight) clocks() Finding {
	next := func(node string) string {
		return "on " + node + ": chronyc tracking; systemctl status chronyd; timedatectl"
	}
	from, to, told := p.Facts.Cluster.Clock.Ahead()
	for _, name := range p.Nodes {
		n, ok := p.Facts.Node(name)
		if p.Script && (!ok || n.Via == "") {
			continue // whoever runs it there sees what it says of what is shown, by that clock
		}
		if !ok {
			return Finding{Reason: "the clock of " + name + " was not read", Next: next(name)}
		}
		least, most, ok := n.Clock.Ahead()
		if !ok {
			return Finding{Reason: "the clock of " + name + " was not read", Next: next(name)}
		}
		whom := "this machine's"
		if told {
			least, most, whom = least-to, most-from, "the API server's"
		}
		if least > MaxSkew || most < -MaxSkew {
			return Fails(next(name), "the clock of %s is %s %s", name, Skew(least, most), whom)
		}
	}
	return Fine("")
}

// Skew says how far clocks are apart.
func Skew(least, most time.Duration) string {
	if least > 0 {
		return least.Round(time.Second).String() + " ahead of"
	}
	return (-most).Round(time.Second).String() + " behind"
}

// remediation lists what deletes or reboots nodes that are not Ready. As long as most
// are lost it may hold still, by its own limits: it begins when enough of them are
// back, on the rest.
func (p Preflight) remediation() Finding {
	var resources []string
	for _, row := range catalog.Machineries() {
		switch row.Moves {
		case catalog.MovesLost, catalog.MovesScale, catalog.MovesMasters:
			resources = append(resources, row.Resource())
		}
	}
	if f, ok := p.Unread(resources...); ok {
		return f
	}
	scaled := slices.ContainsFunc(p.Machinery.Actors, func(a inspect.Actor) bool { return a.Resource == catalog.MachineAutoscalers })
	var acts, next, notes []string
	for _, a := range p.Machinery.Actors {
		row, _ := catalog.MachineryOf(a.Resource)
		what := row.Kind + " " + action.ObjectName(a.Namespace, a.Name)
		pausable := row.Paused != (catalog.Pausing{})
		switch {
		case a.Acts == catalog.No, a.Resource == catalog.ClusterAutoscalers && !scaled:
		case a.Paused != nil:
			notes = append(notes, what+" is paused by "+foreign.Quoted(strings.Join(a.Paused, ", ")))
		case pausable && p.Pause:
		default:
			acts = append(acts, fmt.Sprintf("%s %s (%s)", what, row.Does, a.Why))
			if row.Pause != "" {
				next = append(next, row.Command(row.Pause, a.Namespace, a.Name))
			}
		}
	}
	if len(acts) == 0 {
		return Fine("%s", strings.Join(notes, "; "))
	}
	hint := "--pause-remediation pauses health checks for as long as this takes"
	if len(next) > 0 {
		hint += "; by hand: " + strings.Join(next, "; ")
	}
	return Fails(hint, "%s", strings.Join(acts, "; "))
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// MastersFirst is the risk to go on while it is not known of each master that it is
// right.
const MastersFirst = "masters-first"

// WorkersBack is the risk to restart the kubelets of workers that are Ready although some
// that were restarted before did not come back.
const WorkersBack = "workers-back"

// signer is asked before kubelets are restarted that wait for it: where it can't sign, they
// would be left without a certificate.
func (p Preflight) signer() Finding {
	if !inspect.Operated(p.Facts) {
		ca, asked := csr.PlainSigner(p.Facts, p.Now)
		if ca == nil || asked.IsZero() {
			return Fine("whether %s of control plane nodes, which signs, is valid is unknown: it was not read", catalog.KubeadmCA)
		}
		if problem := csr.Invalid(collect.Signer{NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, Asked: asked}); problem != "" {
			return Fails("renew the cluster's CA first", "%s %s: kube-controller-manager can't sign with it", catalog.KubeadmCA, problem)
		}
		return Fine("")
	}
	if p.Signer == nil {
		return blind(p.Facts.Hints)
	}
	return Finding{p.Signer.Holds, p.Signer.Reason, p.Signer.Next}
}
