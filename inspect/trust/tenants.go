package trust

import (
	"fmt"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// mostStores bounds how many stores of one tenant's namespace are compared: a ConfigMap that its
// publisher writes has one, and a tenant's own any number in one value.
const mostStores = 5

// mostCompared bounds how often what is presented is compared with stores of tenants, of all of
// them: some seconds. Copies of what the platform publishes are not among them.
const mostCompared = 5_000

// tenantOf is the namespace whose users may write trust anchors that every namespace has; empty:
// the platform writes them, in one of these places at least.
func tenantOf(e catalog.Edge, at []pki.Location) string {
	if e.Trust.Namespace != "*" || slices.ContainsFunc(at, reserved) {
		return ""
	}
	return first(at).Namespace
}

// reserved reports whether the platform writes an object. Files of workers are none: see judge.worker.
func reserved(at pki.Location) bool {
	return (&inspect.Entry{Bundle: &inspect.Bundle{At: at}}).Reserved()
}

// ofTenant says that a claim is about a tenant's namespace alone.
func (c *Claim) ofTenant(namespace string) {
	c.Tenant = namespace
	c.Edge.Impact = "calls from pods in namespace " + namespace + ", whose users may write this: nothing else of the cluster reads it"
}

// ofTenantsService says the same of a claim about what a tenant's Service presents. Any tenant
// makes a Secret that carries what others are identified by.
func (c *Claim) ofTenantsService() {
	if c.Selector != (catalog.ObjectSelector{}) && c.Tenant == "" && !reserved(c.Presented) {
		c.Tenant = c.Presented.Namespace
		c.Edge.Impact = "calls to Services of namespace " + c.Tenant + ", whose users may write this"
	}
}

// fewOfTenants leaves the stores out that are too many in a tenant's namespace. Of them there is a
// claim for each namespace: that they were not compared.
func fewOfTenants(e catalog.Edge, stores []anchors) (few []anchors, out []Claim) {
	count, beyond := map[string]int{}, map[string]int{}
	for _, a := range stores {
		tenant := tenantOf(e, a.at)
		if count[tenant]++; tenant == "" || count[tenant] <= mostStores {
			few = append(few, a)
			continue
		}
		n, ok := beyond[tenant]
		if !ok {
			n, beyond[tenant] = len(out), len(out)
			c := Claim{Edge: e}
			c.Status, c.Reason = assess.Unknown, fmt.Sprintf("more than %d CA bundles can be read from what is there: these were not compared", mostStores)
			c.ofTenant(tenant)
			out = append(out, c)
		}
		out[n].Trust = append(out[n].Trust, a.at...)
	}
	return few, out
}

// mostPresented bounds how many certificates of one tenant's namespace are judged as what its Services
// present: one value may hold thousands.
const mostPresented = 500

// mostOnWorker bounds the same of one worker's files, which are compared with the trust anchors of
// each node: a kubeconfig has one, of each of a few users.
const mostOnWorker = 20

// fewPresented leaves out what is presented in a tenant's namespace or on a worker and is too much. Of it
// there is a claim for each of these: that it was not compared. Whole values go before the fields of
// others, which are what one value has many of.
func (j *judge) fewPresented(e catalog.Edge, presented []identity) (few []identity, out []Claim) {
	count, beyond, left := map[string]int{}, map[string]int{}, map[pki.Location]bool{}
	for _, field := range []bool{false, true} {
		for _, s := range presented {
			if field != (s.at.Field != "") {
				continue
			}
			by, most, source := j.worker(s.at), mostOnWorker, "the file on "+foreign.Name(s.at.Node)
			if by == "" && e.Selector != (catalog.ObjectSelector{}) && !reserved(s.at) {
				by, most, source = s.at.Namespace, mostPresented, "this namespace's Secrets for Services"
			}
			if by == "" {
				continue
			}
			if count[by]++; count[by] <= most {
				continue
			}
			left[s.at] = true
			n, ok := beyond[by]
			if !ok {
				n, beyond[by] = len(out), len(out)
				c := Claim{Edge: e, Presented: s.at}
				c.ofTenantsService()
				out = append(out, c)
			}
			out[n].Reason = fmt.Sprintf("%d certificates can be read from %s: this one and %d more were not compared", count[by], source, count[by]-most-1)
		}
	}
	if len(left) == 0 {
		return presented, nil
	}
	return slices.DeleteFunc(slices.Clone(presented), func(s identity) bool { return left[s.at] }), out
}

// ofStore is the claim about one store of a tenant's where very many present what it is for: it
// is compared with what the platform and its own namespace present, and the worst counts.
func (j *judge) ofStore(base Claim, name string, presented []identity) Claim {
	worst, judged := base, false
	worst.Status, worst.Reason = assess.Unknown, notSeen(base.Edge)
	for _, s := range presented {
		if j.over() {
			break
		}
		if len(s.chain) == 0 || !reserved(s.at) && s.at.Namespace != base.Tenant {
			continue
		}
		if j.compared++; j.compared > mostCompared {
			if worst.Status.Wrong() {
				break
			}
			worst.Status, worst.Reason = assess.Unknown, fmt.Sprintf("other stores of tenants were compared with %d certificates before: this one was not compared with all", mostCompared)
			break
		}
		c := base
		c.Presented, c.Chain, c.VerifiedName = s.at, s.chain, name
		j.decide(&c)
		if c.asLoaded(s.content); !judged || assess.WorstFirst(c.Status, worst.Status) < 0 {
			worst, judged = c, true
		}
		if c.Status == assess.Fail {
			break
		}
	}
	return worst
}
