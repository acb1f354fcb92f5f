package trust

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// decide judges a claim whose roots and chain are known.
func (j *judge) decide(c *Claim) {
	now := j.timeOf(c)
	by := func(roots []*pki.Cert) *Claim {
		with := *c
		with.Roots = roots
		return &with
	}
	needed, all, err := pki.Refuses(c.Roots, c.Skipped, c.Chain,
		func(roots []*pki.Cert) bool { return j.afford(by(roots), c.Chain) },
		func(roots []*pki.Cert) error { return verify(by(roots), c.VerifiedName, now) })
	if errors.Is(err, pki.ErrCostly) {
		c.Status, c.Reason = assess.Unknown, whyCostly
		return
	}
	if err != nil {
		c.Status, c.Reason, c.Missing = assess.Fail, err.Error(), j.missingCA(c)
		c.Expired = now.After(c.Chain[0].NotAfter)
		c.needs(needed, all)
		return
	}
	c.Status = assess.Pass
	j.forecast(c, now)
}

// asLoaded leaves a claim unknown that holds by what stands in a place, where who loads it may present
// something else: it skips a certificate there, or can't read one.
func (c *Claim) asLoaded(place *pki.Content) {
	if place == nil || c.Status != assess.Pass && c.Status != assess.Warn {
		return
	}
	why := ""
	for _, b := range place.Bad {
		if why == "" && b.Index >= 0 && strings.HasSuffix(b.Type, "CERTIFICATE") {
			why = fmt.Sprintf("block %d can't be read: %s", b.Index+1, b.Reason)
		}
	}
	for _, s := range place.Skipped {
		if why == "" && s.InPEM() {
			why = fmt.Sprintf("some readers skip %s (%s): %s", foreign.QuotedName(pki.CommonName(s.Subject)), s.Fingerprint.Short(), s.Reason)
		}
	}
	if len(c.Chain) > 0 && c.Chain[0].PublicKey == "ECDSA P-224" { // a server of TLS 1.2 alone does present it
		c.unsure("the certificate of "+c.Presented.String()+" has a key on P-224, with which Go makes no handshake of TLS 1.3", "issue it with a key on P-256")
		return
	}
	if why == "" {
		return
	}
	c.unsure("which certificate is presented is unknown: of "+c.Presented.String()+", "+why, "write each block there as plain PEM: a line BEGIN CERTIFICATE, base64, a line END CERTIFICATE")
}

// besideItsKey leaves a claim unknown that holds by a Secret whose key is another certificate's: who loads
// both does not start, or presents something else.
func (j *judge) besideItsKey(c *Claim) {
	at := c.Presented
	key := j.keyBeside(at)
	if c.Status != assess.Pass && c.Status != assess.Warn || at.Kind != catalog.Secret || at.Key != "tls.crt" || key == nil || len(c.Chain) == 0 {
		return
	}
	known := false
	for _, k := range key.Content.Keys {
		if k.SPKI == c.Chain[0].SPKI {
			return
		}
		known = known || k.SPKI != (pki.Fingerprint{})
	}
	if known {
		c.unsure("which certificate is presented is unknown: the key in "+key.At.String()+" is not that of the certificate beside it", "put certificate and key of one pair there")
	}
}

// keyBeside is the tls.key of an object; nil: none was read.
func (j *judge) keyBeside(at pki.Location) *inspect.Entry {
	if j.tlsKeys == nil {
		j.tlsKeys = map[pki.Location]*inspect.Entry{}
		for i := range j.f.Entries {
			if h := &j.f.Entries[i]; h.At.Kind == catalog.Secret && h.At.Key == "tls.key" && h.At.Field == "" {
				j.tlsKeys[h.At] = h
			}
		}
	}
	at.Key = "tls.key"
	return j.tlsKeys[at]
}

// unsure makes a claim unknown.
func (c *Claim) unsure(reason, next string) {
	c.Assessment = assess.Assessment{Status: assess.Unknown, Reason: reason, Remediation: assess.Advise(next)}
	c.NextUnknown, c.Missing, c.From = false, nil, time.Time{}
}

// skippedCA says of a claim that does not hold of certificates that it would if the verifier's reader
// loaded what stands in its trust anchors. Where that reader is unknown, so is the claim.
func (j *judge) skippedCA(c *Claim, of []*pki.Cert, holds func(c *Claim) bool) {
	more := *c
	more.Roots = append(slices.Clone(c.Roots), nil)
	s, all := pki.Needed(c.Skipped, of, func(with *pki.Cert) bool {
		more.Roots[len(c.Roots)] = with
		return holds(&more)
	})
	c.needs(s, all)
}

// needs says which certificate would do that the verifier's reader skips; nil: none of those that
// were tried. all: each was.
func (c *Claim) needs(s *pki.Skipped, all bool) {
	switch {
	case s == nil && !all && c.Reader == pki.ReaderUnknown:
		c.Status, c.Reason = assess.Unknown, c.Reason+"; the trust anchors contain certificates with the issuer's name that some readers skip: they are too many to try, and the reader is unknown"
	case s == nil:
	case c.Reader == pki.ReaderUnknown:
		c.Status, c.Reason = assess.Unknown, fmt.Sprintf("the trust anchors contain the certificate %s (%s), and some readers skip it: %s. The reader is unknown", foreign.QuotedName(pki.CommonName(s.Subject)), s.Fingerprint.Short(), s.Reason)
	default:
		c.Reason += "; " + s.String()
	}
}

// timeOf is the verifier's: a node's own, where its trust anchors are there.
func (j *judge) timeOf(c *Claim) time.Time {
	if len(c.Trust) > 0 && c.Edge.OnNodesWith == "" { // those are one place of several nodes
		if n, ok := j.f.Node(c.Trust[0].Node); ok {
			return n.Time(j.f.Now)
		}
	}
	return j.f.Now
}

func verify(c *Claim, name string, at time.Time) error {
	if c.Edge.ServerName == catalog.NameClient {
		return pki.VerifyClient(c.Chain, c.Roots, at)
	}
	return pki.Verify(c.Chain, c.Roots, name, at)
}

// missingCA is the CA of what is presented, where the trust anchors lack it; if they have it,
// something else is wrong.
func (j *judge) missingCA(c *Claim) *pki.Cert {
	ca := j.issuer(c)
	if ca != nil && slices.ContainsFunc(c.Roots, func(r *pki.Cert) bool { return r.Fingerprint == ca.Fingerprint }) {
		return nil
	}
	return ca
}

// What claims about tenants may cost together, beyond what ordinary chains do: 6 to 9 s. Their small
// certificates raise it no more. One tenant has half of the former.
const (
	costsAtLeast  = 400_000
	costsAtMost   = 600_000
	costsOfTenant = costsAtLeast / 2
)

// whyCostly is why a claim was not judged.
const whyCostly = "verifying it costs too much: " + pki.WhyCostly

// costsOfWorker is what claims about one worker's files may cost, beyond what ordinary chains do: 3 s.
const costsOfWorker = 200_000

// afford reports whether a chain may be verified for a claim. What tenants and workers write leaves
// nothing of the platform's and of others unjudged: only claims about them are counted.
func (j *judge) afford(c *Claim, chain []*pki.Cert) bool {
	if c.Tenant == "" {
		return j.affordWorkers(c, chain)
	}
	if more := pki.Cost(chain, c.Roots) - pki.CostOrdinary; more > 0 {
		return j.payTenant(c.Tenant, more)
	}
	return true
}

// payTenant reports whether claims about a tenant may have so much verified, and takes it.
func (j *judge) payTenant(tenant string, cost int) bool {
	if cost > j.costs || j.spentByTenant[tenant]+cost > costsOfTenant {
		return false
	}
	j.costs -= cost
	j.spentByTenant[tenant] += cost
	return true
}

// affordWorkers charges the workers that wrote the trust anchors and what is presented. One with many
// CAs of a name pays for what its CAs cost, and one that presents many for the rest.
func (j *judge) affordWorkers(c *Claim, chain []*pki.Cert) bool {
	trust, presented := j.worker(first(c.Trust)), j.worker(c.Presented)
	if trust == "" && presented == "" || len(chain) == 0 {
		return true
	}
	more := pki.Cost(chain, c.Roots) - pki.CostOrdinary
	if more <= 0 {
		return true
	}
	ofTrust := 0
	switch {
	case presented == "" || presented == trust:
		ofTrust = more
	case trust != "":
		ofTrust = min(max(pki.Cost(chain[:1], c.Roots)+pki.Cost(chain[len(chain)-1:], c.Roots)-pki.CostOrdinary, 0), more)
	}
	return j.charge(trust, ofTrust) && j.charge(presented, more-ofTrust)
}

// worker is who pays for a file of a worker's; empty: another wrote the place.
func (j *judge) worker(at pki.Location) string {
	if by := j.f.WrittenIn(at); inspect.PaidByNode(by) {
		return by
	}
	return ""
}

// charge reports whether a worker may have so much verified, and takes it. Empty is none.
func (j *judge) charge(worker string, cost int) bool {
	if worker == "" || cost <= 0 {
		return true
	}
	if j.spentByWorker[worker]+cost > costsOfWorker {
		return false
	}
	j.spentByWorker[worker] += cost
	return true
}

// mostCommands is how many nodes have a command of their own; with more of them, NODE stands in it.
const mostCommands = 3

// conclude says what follows from the status, in the catalog's words.
func (c *Claim) conclude(hints inspect.Hints) {
	// Of the catalog's own text, before anything of the cluster's is put in.
	if c.Status == assess.Warn && c.Edge.Ahead != "" {
		c.Edge.Remediation, c.Edge.RestartedPods = c.Edge.Ahead, ""
	}
	runs, files := assess.IsCommand(c.Edge.Remediation), ""
	if c.Status == assess.Fail && c.Expired { // whatever the client trusts
		c.Edge.Remediation, c.Edge.RestartedPods = "{} inspect --expired", ""
		runs, files = true, hints.From()
	}
	if c.Status == assess.Fail && c.Edge.Remediation == "" { // what fails has a next step
		c.Edge.Remediation, runs = foreign.Command("", "{} explain %s", c.Edge.ID), true
	}
	c.Edge.Remediation = hints.Next(c.Edge.Remediation) + files
	c.Assessment.ID, c.Subject = c.Edge.ID, c.subject()
	switch c.Status {
	case assess.Fail:
		c.Severity = assess.Critical
	case assess.Warn:
		c.Severity = assess.Warning
	default:
		return
	}
	c.Assessment.Impact = c.Edge.Impact
	if c.Edge.Remediation != "" {
		if c.Advice = assess.Advise(c.Edge.Remediation); runs {
			c.Advice = assess.FixedCommand(c.Edge.Remediation)
		}
		c.Assessment.Remediation = c.RemediationOn(c.Node)
	}
}

// RemediationOn is Advice for some nodes, in their order, with what has to be restarted after it.
func (c Claim) RemediationOn(nodes ...string) assess.Remediation {
	r := onNodes(c.Advice, nodes)
	pods, ok := catalog.PodsRestartedFor(c.Edge)
	if !ok || r.Command == "" {
		return r
	}
	named := make([]string, len(nodes))
	for i, n := range nodes {
		named[i] = foreign.Name(n)
	}
	then := "only once its kubelet's kubeconfig is repaired, restart the " + pods.DaemonSet + " pod on " + strings.Join(named, ", ")
	if !strings.Contains(r.Command, "--nodes") {
		then += ", unless fix-api-int did"
	}
	var commands []string
	for _, n := range nodes {
		commands = append(commands, strings.ReplaceAll(pods.DeletePodCommand(), "NODE", n))
	}
	if len(nodes) > mostCommands {
		commands = []string{pods.DeletePodCommand()}
	}
	return r.Followed(then, commands...)
}

// onNodes puts nodes into a remediation in which NODE stands for them.
func onNodes(r assess.Remediation, nodes []string) assess.Remediation {
	if len(nodes) == 1 {
		return r.For(nodes[0])
	}
	names, fit := foreign.Commas(nodes), foreign.Fit(foreign.Commas(nodes))
	r.Text = assess.Replace(r.Text, "--nodes NODE", foreign.Command("", "--nodes %s", names))
	if r.Command = assess.Replace(r.Command, "--nodes NODE", "--nodes "+strings.Join(nodes, ",")); !fit {
		r.Command = ""
	}
	if assess.Replace(r.Text, "NODE", "") != r.Text {
		r.Text += "; for each NODE of " + strings.Join(nodes, ",")
	}
	return r
}
