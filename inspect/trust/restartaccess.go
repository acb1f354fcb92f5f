package trust

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// JoiningNode says whether a node that is added now would join: by the edges of who
// verifies what when a node is added.
func JoiningNode(f *inspect.Facts, claims []Claim) RestartAnswer {
	out := RestartAnswer{ID: "new-node", Status: RestartNone, Why: "the catalog has no edge for nodes that are added to this kind of cluster"}
	if hosted := catalog.KeptElsewhere(catalog.InternalLoadBalancerServing(), f.Snapshot.Cluster.Topology); !f.Snapshot.Cluster.Versions.Plain && !hosted {
		out.Status, out.Why = RestartUnknown, "what new nodes are given was not read: Secrets and ConfigMaps of openshift-machine-config-operator and openshift-machine-api"
		out.Next = f.Hints().Unread(inspect.MayList("secrets", "openshift-machine-config-operator"), inspect.MayList("configmaps", "openshift-machine-config-operator"), inspect.MayList("secrets", "openshift-machine-api"))
	}
	var all []RestartAnswer
	for _, c := range claims {
		if c.Reads != catalog.ReadsAtNewNodes {
			continue
		}
		a := RestartAnswer{ID: out.ID, Status: RestartYes}
		switch c.Status {
		case Broken:
			a.Status = RestartNo
		case WillBreak:
			a.Status = RestartCaution
		case Unknown:
			if !c.Later { // now is what is asked
				a.Status = RestartUnknown
			}
		}
		if a.Status != RestartYes {
			a.Why, a.Next = c.ID+": "+c.Why, f.Hints().Next("{} verify ")+strings.ReplaceAll(string(c.Part), " ", "-")
		}
		all = append(all, a)
	}
	if len(all) == 0 {
		return out
	}
	return WorstAnswer(all...)
}

// UserAccess says whether the user's own way in would outlive an outage of the pod
// network and of log-in, and the next rotation of what the API server shows.
func UserAccess(f *inspect.Facts) RestartAnswer {
	a := f.Snapshot.Access
	out := RestartAnswer{ID: "access", Status: RestartUnknown}
	if a == nil {
		out.Why, out.Next = "your kubeconfig was not read", f.Hints().UnreadRestart("{} verify restart-safe, with it")
		return out
	}
	out.Next = "keep one: on OpenShift the installer's auth/kubeconfig, or on a master " +
		"/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/node-kubeconfigs/localhost-recovery.kubeconfig; of kubeadm /etc/kubernetes/admin.conf"
	if a.Shows != inspect.CredentialCertificate {
		out.Status, out.Why = RestartNo, "your kubeconfig shows "+cmp.Or(a.How, "nothing")+" and no client certificate: what is checked by somebody else than kube-apiserver is refused when that is down"
		return out
	}
	certs := certsAt(f, a.Certificate)
	if len(certs) == 0 {
		out.Why = "its client certificate was not read"
		return out
	}
	cert := certs[0]
	switch {
	case f.Now.After(cert.NotAfter) || f.Now.Before(cert.NotBefore):
		out.Status, out.Why = RestartNo, "its client certificate is not valid now: from "+moment(cert.NotBefore)+" to "+moment(cert.NotAfter)
		return out
	case a.CA == inspect.CAIgnored:
		out.Status, out.Why = RestartCaution, "it verifies nobody: insecure-skip-tls-verify"
		return out
	case a.CA == inspect.CASystem:
		out.Why = "it has no CA of its own: what this machine trusts counts"
		return out
	}
	i := slices.IndexFunc(f.Snapshot.Served, func(v inspect.Served) bool {
		return v.Server == catalog.ListenerOutside && v.Address == a.Server && v.Name == a.Name && v.Problem == ""
	})
	if i < 0 || a.Problem != "" {
		out.Why = cmp.Or(a.Problem, "what the API server shows you was not seen")
		return out
	}
	served := f.Snapshot.Served[i]
	var roots []*pki.Cert
	for i := range f.Entries {
		if f.Entries[i].At == a.Trust {
			loaded, _ := f.Entries[i].Content.LoadedBy(pki.ReaderGo)
			roots = append(roots, loaded...)
		}
	}
	if err := pki.Verify(served.Chain, roots, served.Name, f.Now); err != nil {
		out.Status, out.Why = RestartNo, "its CA does not verify what "+a.Server+" shows: "+err.Error()
		return out
	}
	c := Claim{Edge: catalog.Edge{Presented: origin(f, served.Chain[0])}, Chain: served.Chain, Roots: roots}
	(&judge{f: f}).forecast(&c, f.Now)
	switch {
	case c.Status == WillBreak:
		out.Status, out.Why = RestartCaution, "its CA verifies what "+a.Server+" shows now; "+c.Why
		if c.Missing != nil {
			out.Why = fmt.Sprintf("its CA verifies what %s shows now, and not what %s signs next", a.Server, foreign.Called(pki.CommonName(c.Missing.Subject)))
		}
		return out
	case c.Edge.Presented == catalog.Ref{}:
		out.Why = "its CA verifies what " + a.Server + " shows now; where that comes from was not read, and so not who signs it next"
		return out
	case c.Status == Unknown:
		out.Why = c.Why
		return out
	}
	out.Status, out.Why, out.Next = RestartYes, "its client certificate is valid until "+moment(cert.NotAfter), ""
	return out
}

// origin is the platform's object that what is shown comes from; the zero Ref where that was
// not read. Tenants have copies of what is public.
func origin(f *inspect.Facts, leaf *pki.Cert) catalog.Ref {
	for i := range f.Entries {
		h := &f.Entries[i]
		if h.Row != nil && h.Reserved() && h.At.Node == "" && len(h.Content.Certs) > 0 && h.Content.Certs[0].Fingerprint == leaf.Fingerprint {
			return h.Row.Ref
		}
	}
	return catalog.Ref{}
}
