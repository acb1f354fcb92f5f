package preflight

import (
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// lacking are the CAs of a bundle that another one lacks, and that have not expired.
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
func (p Preflight) serverSide() Result {
	const operator = "kube-apiserver-operator must fix it: oc get clusteroperator kube-apiserver; oc -n openshift-kube-apiserver-operator logs deployment/kube-apiserver-operator"
	var certs [4][]*pki.Cert
	for i, ref := range []catalog.Ref{catalog.InternalLoadBalancerServing(), catalog.LoadBalancerCA(), catalog.OwnServerCA(), catalog.APIServerCA()} {
		found, why, ok := p.CertsAt(ref)
		if !ok {
			return Result{Reason: why, Next: p.Snapshot.Hints.Unread(inspect.MayGet(strings.ToLower(ref.Kind)+"s", ref.Namespace))}
		}
		certs[i] = found
	}
	leaf, signers, own, published := certs[0], certs[1], certs[2], certs[3]
	if err := pki.Verify(leaf, signers, "", p.Now); err != nil {
		return Fail(operator, "%s holds %s, which no CA in %s verifies: %v", catalog.InternalLoadBalancerServing(), pki.Named(leaf[0]), catalog.LoadBalancerCA(), err)
	}
	if missing := p.lacking(signers, own); len(missing) > 0 {
		return Fail(operator, "%s lacks %s, which is in %s", catalog.OwnServerCA(), pki.Named(missing[0]), catalog.LoadBalancerCA())
	}
	if missing := append(p.lacking(own, published), p.lacking(published, own)...); len(missing) > 0 {
		return Fail(operator, "%s and its copy %s differ in %s", catalog.OwnServerCA(), catalog.APIServerCA(), pki.Named(missing[0]))
	}
	atAPIInt := func(v inspect.Served) bool {
		return v.Server == "" || v.Server == catalog.ListenerAPIServer && v.Name == p.internalName()
	}
	return p.presented(atAPIInt, published, false,
		"look at what it loaded: oc -n openshift-kube-apiserver get pods -o wide; oc -n openshift-kube-apiserver logs -c kube-apiserver-cert-syncer POD. If its files are right and it presents another certificate, kube-apiserver-operator must restart its static pod",
		"which "+catalog.APIServerCA().String()+" does not verify",
		Result{Reason: "the certificate that control plane nodes present at api-int is unknown: none answered", Next: "on a node: " + inspect.AskReadyz(p.internalName()+":6443")})
}

// presented judges what API servers present in handshakes. Where a worker is presented another
// certificate than all others, that is no reason to stop for them: its kubeconfig, its resolver and
// its network are its own, and ca-verifies-served tells of it. What a control plane node presents, another
// one knows, or two workers, or one where no other node was asked. Where workers contradict each other
// about it, any of them may be wrong.
func (p Preflight) presented(wanted func(inspect.Served) bool, cas []*pki.Cert, anyName bool, next, why string, silence Result) Result {
	var silent, apart, workers []string
	var failed Result
	verified, asked := map[string]bool{}, map[string]bool{} // by control plane node, and from where
	right := map[string]string{}                            // by control plane node: a worker that says so, where no other node does
	wrong, says := map[string]Result{}, map[string]word{}   // by control plane node: of two workers, and the first
	for _, v := range p.Snapshot.Served {
		if !wanted(v) {
			continue
		}
		if v.Of != "" && p.ControlPlane != nil && p.worker(v.Of) { // by its own files it has an API server
			workers = append(workers, v.Of)
			continue
		}
		if len(v.Chain) == 0 {
			if v.Of != "" {
				silent = append(silent, v.Of)
			}
			continue
		}
		name := v.Name
		if anyName {
			name = ""
		}
		asked[v.Node] = true
		err := pki.Verify(v.Chain, cas, name, p.Now)
		if err == nil {
			if !p.onWorker(v.Node) {
				delete(right, v.Of)
			} else if !verified[v.Of] {
				right[v.Of] = v.Node
			}
			verified[v.Of] = true
			continue
		}
		from := v.Address
		if v.Of != "" {
			from = "the control plane node " + v.Of + " at " + v.Address
		}
		if v.Node != "" && (v.Of == "" || p.onWorker(v.Node)) {
			from += ", asked from " + v.Node + ","
		}
		fail := Fail(next, "%s presents %s, %s: %v", from, pki.Named(v.Chain[0]), why, err)
		if !p.onWorker(v.Node) {
			return fail
		}
		if apart = append(apart, v.Node); len(apart) == 1 {
			failed = fail
		}
		switch first, told := says[v.Of]; {
		case v.Of == "":
		case !told:
			says[v.Of] = word{v.Node, fail}
		case first.worker != v.Node:
			wrong[v.Of] = fail
		}
	}
	for _, master := range slices.Sorted(maps.Keys(wrong)) {
		if !verified[master] {
			return wrong[master]
		}
	}
	for _, master := range slices.Sorted(maps.Keys(says)) {
		if from := right[master]; from != "" && len(asked) > 1 {
			return says[master].against(from)
		}
	}
	var notes []string
	switch {
	case len(apart) > 0 && (len(verified) == 0 || len(says) > 0 && len(asked) == 1):
		return failed
	case len(verified) == 0:
		return silence
	case len(apart) > 0:
		notes = append(notes, "another certificate is presented to "+strings.Join(unique(apart), ", ")+": see ca-verifies-served")
	}
	if len(workers) > 0 {
		notes = append(notes, "not counted, since they are no control plane nodes: "+strings.Join(unique(workers), ", "))
	}
	if len(silent) > 0 {
		notes = append(notes, "not asked, since they did not answer: "+strings.Join(unique(silent), ", "))
	}
	return Pass("%s", strings.Join(notes, "; "))
}

// word is what a worker says that it was presented by a control plane node.
type word struct {
	worker string
	fail   Result
}

// against is the answer where a worker was presented a certificate that verifies.
func (w word) against(right string) Result {
	return Result{
		Reason: "workers contradict each other: " + w.fail.Reason + "; asked from " + right + ", it presents one that verifies",
		Next:   "the handshake of a control plane node decides: name one with --nodes, too. Or look on both workers, one of which may be compromised",
	}
}

// onWorker reports whether a node is known to be a worker.
func (p Preflight) onWorker(node string) bool {
	return slices.ContainsFunc(p.Snapshot.Nodes, func(n inspect.Node) bool { return n.Name == node && n.Role == catalog.RoleWorker })
}

// internalName is the name of api-int; empty where it is unknown.
func (p Preflight) internalName() string {
	name, _ := inspect.ServerName(catalog.NameInternal, p.Snapshot.Cluster)
	return name
}

// namedCertificate judges by the handshake: what the configuration names may be for
// other names, or not be presented.
func (p Preflight) namedCertificate() Result {
	signers, why, ok := p.CertsAt(catalog.LoadBalancerCA())
	if !ok {
		return Result{Reason: why, Next: p.Snapshot.Hints.Unread(inspect.MayGet("configmaps", catalog.LoadBalancerCA().Namespace))}
	}
	return p.presented(func(v inspect.Served) bool { return v.Server == "" }, signers, true,
		"oc get apiserver cluster -o jsonpath='{.spec.servingCerts.namedCertificates}': OpenShift does not support an entry that covers api-int: take its name out of it. If there is none, a proxy in between terminates TLS",
		"which none of the load balancer's signers issued: a user's certificate",
		Result{Reason: "the certificate that api-int presents is unknown: no node was presented one", Next: "is the API server up behind api-int?"})
}
