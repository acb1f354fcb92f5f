package trust

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// JoiningNode says whether a node that is added now would join: by the edges of who
// verifies what when a node is added.
func JoiningNode(f *inspect.Facts, claims []Claim) RestartAnswer {
	out := RestartAnswer{Assessment: assess.Assessment{ID: newNode, Status: assess.Pass, Subject: "a node that is added", Reason: "no check is known for nodes that are added to this kind of cluster"}, NotNeeded: true}
	if hosted := catalog.InHostingCluster(catalog.InternalLoadBalancerServing(), f.Snapshot.Cluster.Topology); !f.Snapshot.Cluster.Versions.NotOpenShift && !hosted {
		out.NotNeeded, out.Status, out.Reason = false, assess.Unknown, "what new nodes are given was not read: Secrets and ConfigMaps of openshift-machine-config-operator and openshift-machine-api"
		out.Remediation = assess.Advise(f.Hints().Unread(inspect.MayList("secrets", "openshift-machine-config-operator"), inspect.MayList("configmaps", "openshift-machine-config-operator"), inspect.MayList("secrets", "openshift-machine-api")))
	}
	var all []RestartAnswer
	var edges []string
	for _, c := range claims {
		if c.Reload != catalog.ReloadByNewNodes {
			continue
		}
		a := RestartAnswer{Assessment: assess.Assessment{ID: out.ID, Status: c.Status, Subject: out.Subject}}
		if c.Status == assess.Unknown && c.NextUnknown { // now is what is asked
			a.Status = assess.Pass
		}
		if a.Status != assess.Pass {
			a.Severity, a.Reason = severityOf(a.Status), c.Edge.ID+": "+c.Because()
			a.Remediation = assess.FixedCommand(f.Hints().Next("{} verify ") + strings.ReplaceAll(string(c.Part), " ", "-"))
		}
		all, edges = append(all, a), append(edges, c.Edge.ID)
	}
	if len(all) == 0 {
		return out
	}
	worst := worstAnswer(all...)
	if worst.Status == assess.Pass {
		worst.Reason = "it trusts the servers that it joins by (" + strings.Join(slices.Compact(edges), ", ") + ")"
		if f.Hints().OfFile() && !joinsAccepted(&f.Snapshot) { // a file proves a no
			worst.Status, worst.Remediation = assess.Unknown, assess.Advise(f.Hints().UnreadRestart(""))
			worst.Reason += "; whether its bootstrap token is accepted and its CSRs are approved is unknown"
		}
	}
	return worst
}

// joinsAccepted reports whether the API server accepted what a kubelet of some control plane node joins with: a refusal
// proves nothing of what a new node is given, and root on a worker says what it likes. What it answers to a kubelet's own
// certificate says nothing of a node that has none yet.
func joinsAccepted(s *inspect.Snapshot) bool {
	return slices.ContainsFunc(s.Nodes, func(n inspect.Node) bool {
		if n.Role != catalog.RoleMaster || n.RestartProbe == nil || n.RestartProbe.Problem != "" || n.RestartProbe.Bootstrap.Presents == inspect.CredentialNone {
			return false
		}
		a, asked := answer(&n.RestartProbe.Bootstrap, inspect.AskAPI)
		return asked && (a.Code >= 200 && a.Code < 300 || a.Code == 403) // 403: known, and not allowed to read this
	})
}

// UserAccess says whether the user's own way in would outlive an outage of the pod
// network and of log-in, and the next rotation of what the API server presents.
func UserAccess(f *inspect.Facts) RestartAnswer {
	out := userAccess(f)
	out.ID, out.Subject = access, "your kubeconfig"
	out.Severity = min(severityOf(out.Status), assess.Warning) // an outage of one user is none of the cluster
	return out
}

func userAccess(f *inspect.Facts) (out RestartAnswer) {
	a := f.Snapshot.Access
	if a == nil {
		out.Reason, out.Remediation = "your kubeconfig was not read", assess.Advise(f.Hints().UnreadRestart("{} verify restart-safe, with it"))
		return out
	}
	out.Remediation = assess.Advise("keep one: on OpenShift the installer's auth/kubeconfig, or on a control plane node " +
		"/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/node-kubeconfigs/localhost-recovery.kubeconfig; of kubeadm /etc/kubernetes/admin.conf")
	if a.Presents != inspect.CredentialCertificate {
		out.Status, out.Reason = assess.Fail, "your kubeconfig presents "+cmp.Or(a.How, "nothing")+" and no client certificate: a credential that another server than kube-apiserver checks is refused when that server is down"
		return out
	}
	certs := certsAt(f, a.Certificate)
	if len(certs) == 0 {
		out.Reason = "its client certificate was not read"
		return out
	}
	cert := certs[0]
	switch {
	case f.Now.After(cert.NotAfter) || f.Now.Before(cert.NotBefore):
		out.Status, out.Reason = assess.Fail, "its client certificate is not valid now: from "+moment(cert.NotBefore)+" to "+moment(cert.NotAfter)
		return out
	case a.CA == inspect.CAIgnored:
		out.Status, out.Reason = assess.Warn, "it does not verify the server's certificate: insecure-skip-tls-verify"
		return out
	case a.CA == inspect.CASystem:
		out.Reason = "it has no CA of its own: what this machine trusts counts"
		return out
	}
	i := slices.IndexFunc(f.Snapshot.Served, func(v inspect.Served) bool {
		return v.Server == catalog.ListenerUserKubeconfig && v.Address == a.Server && v.Name == a.Name && v.Problem == ""
	})
	if i < 0 || a.Problem != "" {
		out.Reason = cmp.Or(a.Problem, "the certificate that the API server presents to you was not seen")
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
		out.Status, out.Reason = assess.Fail, "its CA does not verify the certificate that "+a.Server+" presents: "+err.Error()
		return out
	}
	c := Claim{Edge: catalog.Edge{Presented: origin(f, served.Chain[0])}, Assessment: assess.Assessment{Status: assess.Pass}, Chain: served.Chain, Roots: roots}
	newJudge(f).forecast(&c, f.Now)
	switch {
	case c.Status == assess.Warn:
		out.Status, out.Reason = assess.Warn, "its CA verifies the certificate that "+a.Server+" presents now; "+c.Reason
		if c.Missing != nil {
			out.Reason = fmt.Sprintf("its CA verifies the certificate that %s presents now, and not the next one, which %s signs", a.Server, foreign.QuotedName(pki.CommonName(c.Missing.Subject)))
		}
		return out
	case c.Edge.Presented == catalog.Ref{}:
		out.Reason = "its CA verifies the certificate that " + a.Server + " presents now; its object was not read, so its next signer is unknown"
		return out
	case c.Status == assess.Unknown:
		out.Reason = c.Reason
		return out
	}
	out.Status, out.Reason, out.Remediation = assess.Pass, "its client certificate is valid until "+moment(cert.NotAfter), assess.Remediation{}
	return out
}

// origin is the platform's object that what is presented comes from; the zero Ref where that was
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
