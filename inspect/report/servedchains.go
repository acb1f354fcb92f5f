package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// servedKind names the document that inspect HOST:PORT prints as JSON and YAML, of the API version of
// inspect's (docs/output.md).
const servedKind = "ServedChains"

// ServedChains is what servers present, and who in the cluster trusts it.
type ServedChains struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Cluster    Cluster       `json:"cluster"` // empty: none was read
	Taken      time.Time     `json:"taken"`
	Now        time.Time     `json:"now"`
	Servers    []ServedChain `json:"servers"`  // as they were asked for
	Findings   []Finding     `json:"findings"` // of inspect's checks, about what the servers present
	Gaps       []Gap         `json:"gaps"`
}

// ServedChain is what one server presents.
type ServedChain struct {
	Address string `json:"address"`                 // host:port
	Remote  string `json:"remoteAddress,omitempty"` // IP:port that answered
	Name    string `json:"serverName"`              // that its certificate has to be for
	SNI     string `json:"sni,omitempty"`           // absent: none is sent for an IP address
	TLS     string `json:"tlsVersion,omitempty"`
	// WantsClient: it asks for a client certificate. None was sent.
	WantsClient  bool                `json:"clientCertificateRequested,omitempty"`
	Certificates []Cert              `json:"certificates"`                  // the chain, the leaf first
	NotRead      int                 `json:"certificatesNotRead,omitempty"` // presented after those
	Checks       []assess.Assessment `json:"checks"`
	Stored       []pki.Location      `json:"stored"`              // places in the cluster that hold the leaf
	TrustedBy    []pki.Location      `json:"trustedBy"`           // places of CA bundles that verify the chain
	NotJudged    []pki.Location      `json:"notJudged,omitempty"` // places of those that cost too much
	Clients      []VerificationClaim `json:"clients"`             // of the catalog, that connect to this address
}

// The checks of a ServedChain, in this order.
const (
	ServedHandshake = "served-handshake"
	ServedName      = "served-name"
	ServedInItself  = "served-chain"
	ServedTrust     = "served-trust"
	ServedClients   = "served-clients"
)

// ServedClaim is what a check of a ServedChain claims, for people.
type ServedClaim struct{ ID, Statement, Doc string }

// ServedClaims are those of all checks of a ServedChain.
func ServedClaims() []ServedClaim {
	return []ServedClaim{
		{ServedHandshake, "the server presents a chain, and all of it was read", "One TLS handshake is made with it, from this machine, by TLS 1.2 or 1.3. Where it fails, what was tried and what it answered is the reason."},
		{ServedName, "the leaf of the chain is valid for the name that the server is asked by", "Clients that connect by a name that is not in the certificate refuse it. An IP address has to be among its IP addresses."},
		{ServedInItself, "the chain verifies in itself", "Each certificate on the way from the leaf to the end of the chain verifies the one before, and is valid now. The end is a root, or its CA is not in the chain: then clients have to have that CA."},
		{ServedTrust, "CA bundles in the cluster verify the chain", "Each CA bundle and kubeconfig that was read is tried, as a server's client does. None is no fault where no client of the cluster connects to the server."},
		{ServedClients, "the clients that connect to this address trust the chain", "Of api-int, those that the catalog knows; of any other address, those whose kubeconfig on a node names it. Each is judged as verify does, by what the server presented to this machine."},
	}
}

// Check returns the check of that ID; nil: it was not made.
func (c *ServedChain) Check(id string) *assess.Assessment {
	for i := range c.Checks {
		if c.Checks[i].ID == id {
			return &c.Checks[i]
		}
	}
	return nil
}

// NewServedChains judges what servers presented, by facts of which it is a part (AddHandshakes). unread
// says why no cluster was read; nil: one was.
func NewServedChains(ctx context.Context, f *inspect.Facts, all []inspect.Handshake, unread *inspect.Gap) ServedChains {
	presented := func(at pki.Location, _ *inspect.Object) bool { return at.Kind == inspect.KindServer }
	inv := NewInventory(ctx, f, Filter{Place: presented})
	out := ServedChains{APIVersion: APIVersion, Kind: servedKind, Cluster: inv.Cluster, Taken: inv.Taken, Now: inv.Now, Servers: []ServedChain{}, Findings: inv.Findings, Gaps: inv.Gaps}
	certs := map[pki.Fingerprint]Cert{}
	for _, c := range inv.Certificates {
		certs[c.Fingerprint] = c
	}
	for _, h := range all {
		c := ServedChain{
			Address: h.HostPort, Remote: h.Remote, Name: h.Name, SNI: h.SNI(), TLS: h.TLS, WantsClient: h.WantsClient, NotRead: h.NotRead,
			Certificates: []Cert{}, Stored: []pki.Location{}, TrustedBy: []pki.Location{}, Clients: []VerificationClaim{},
		}
		if len(h.Chain) == 0 {
			c.add(ServedHandshake, whole(h))
		} else {
			for _, cert := range h.Chain {
				c.Certificates = append(c.Certificates, certs[cert.Fingerprint])
			}
			c.judge(ctx, f, h, out.Findings, unread)
		}
		out.Servers = append(out.Servers, c)
	}
	return out
}

func (c *ServedChain) add(id string, a assess.Assessment) {
	a.ID, a.Subject = id, c.Address
	c.Checks = append(c.Checks, a)
}

func (c *ServedChain) judge(ctx context.Context, f *inspect.Facts, h inspect.Handshake, findings []Finding, unread *inspect.Gap) {
	c.add(ServedHandshake, whole(h))
	c.add(ServedName, forName(h))
	c.add(ServedInItself, inItself(h, findings, f.Now))
	if unread != nil {
		c.add(ServedTrust, assess.Assessment{Status: assess.Unknown, Reason: "no cluster was read: " + unread.Reason, Remediation: assess.Advise(unread.Next)})
		return
	}
	for _, stored := range f.Certs {
		if stored.Fingerprint != h.Chain[0].Fingerprint {
			continue
		}
		for _, at := range inspect.Locations(stored.Entries) {
			if at.Kind != inspect.KindServer {
				c.Stored = append(c.Stored, at)
			}
		}
	}
	by, unjudged := trust.TrustedBy(ctx, f, h)
	slices.SortStableFunc(by, func(a, b pki.Location) int { return cmp.Compare(nearness(a), nearness(b)) })
	c.TrustedBy, c.NotJudged = append(c.TrustedBy, by...), unjudged
	c.add(ServedTrust, c.trust(h, len(f.Snapshot.Gaps) > 0))
	if claims, known := trust.Clients(ctx, f, h); known {
		for _, claim := range claims {
			c.Clients = append(c.Clients, entry(claim))
		}
		c.add(ServedClients, c.clients())
	}
}

// whole says whether a chain was read, all of it.
func whole(h inspect.Handshake) assess.Assessment {
	if h.Problem == "" {
		return assess.Assessment{Status: assess.Pass}
	}
	return assess.Assessment{Status: assess.Unknown, Reason: h.Problem, Remediation: assess.Remediation{Text: h.Next, Command: h.Command}}
}

// forName says whether the leaf is valid for the name that was asked for.
func forName(h inspect.Handshake) assess.Assessment {
	leaf, err := h.Chain[0].X509()
	if err == nil {
		err = leaf.VerifyHostname(h.Name)
	}
	if err == nil {
		return assess.Assessment{Status: assess.Pass}
	}
	return assess.Assessment{
		Status: assess.Warn, Severity: assess.Warning, Reason: "the certificate is not valid for " + foreign.QuotedName(h.Name), Impact: "clients that connect by this name refuse it",
		Evidence: foreign.Error(err).Error(), Remediation: assess.Advise("connect by one of its names, or have it issued for this one, too"),
	}
}

// inItself says where the chain leads, and whether each certificate on the way verifies the one before.
func inItself(h inspect.Handshake, findings []Finding, now time.Time) assess.Assessment {
	for _, f := range findings {
		if f.ID == "serving-chain" && slices.Contains(f.Locations, h.At()) {
			return f.Assessment
		}
	}
	top, err := topOf(h.Chain, now)
	a := assess.Assessment{Status: assess.Pass}
	switch {
	case err != nil && h.NotRead > 0:
		return assess.Assessment{Status: assess.Unknown, Reason: "whether the chain verifies in itself is unknown: not all of it was read"}
	case err != nil:
		return assess.Assessment{
			Status: assess.Warn, Severity: assess.Warning, Reason: "the chain does not verify in itself", Impact: "clients refuse it", Evidence: foreign.Error(err).Error(),
			Remediation: assess.Advise("have the server present its certificate first, then the intermediates up to the root, all of them valid"),
		}
	case top.SelfSigned && top == h.Chain[0]:
		a.Reason = "the certificate is self-signed: it is its own root"
	case top.SelfSigned:
		a.Reason = "it leads to its root, " + inspect.CertName(top)
	default:
		a.Reason = "it leads up to a CA that is not in the chain: " + foreign.QuotedName(pki.CommonName(top.Issuer))
	}
	return a
}

// mostTops bounds how many ends of a chain are tried: a server chooses names and keys.
const mostTops = 20

// topOf is the certificate at the end of a chain with which all before it verify: a root, or one whose
// CA is not in the chain. After a rotation, CAs of one name may follow each other.
func topOf(chain []*pki.Cert, now time.Time) (*pki.Cert, error) {
	subjects := map[string]bool{}
	for _, c := range chain {
		subjects[c.Subject] = true
	}
	err := errors.New("no certificate is at its end")
	tried := 0
	for _, c := range chain {
		if !c.SelfSigned && subjects[c.Issuer] {
			continue
		}
		if tried++; tried > mostTops {
			break
		}
		if err = pki.VerifyChain(chain, []*pki.Cert{c}, now); err == nil {
			return c, nil
		}
	}
	return nil, err
}

// trust says whether anything in the cluster trusts the chain.
func (c *ServedChain) trust(h inspect.Handshake, gaps bool) assess.Assessment {
	top := h.Chain[len(h.Chain)-1]
	switch {
	case len(c.TrustedBy) > 0:
		return assess.Assessment{Status: assess.Pass}
	case h.NotRead > 0:
		return assess.Assessment{Status: assess.Unknown, Reason: "no CA bundle verifies the certificates that were read, and not all were"}
	case len(c.NotJudged) > 0:
		return assess.Assessment{Status: assess.Unknown, Reason: "verifying the chain costs too much: " + pki.WhyCostly}
	case gaps:
		return assess.Assessment{Status: assess.Unknown, Reason: "no CA bundle that was read verifies it, and not all could be read"}
	}
	return assess.Assessment{
		Status: assess.StatusOf(assess.Info), Severity: assess.Info, Reason: "no CA bundle that was read verifies it",
		Evidence: "its topmost certificate was issued by " + foreign.QuotedName(pki.CommonName(top.Issuer)),
	}
}

// clients is the worst of the claims.
func (c *ServedChain) clients() assess.Assessment {
	if len(c.Clients) == 0 {
		return assess.Assessment{Status: assess.Unknown, Reason: "none of its clients was read"}
	}
	n := map[assess.Status]int{}
	var a assess.Assessment
	for i := range c.Clients {
		one := &c.Clients[i]
		n[one.Status]++
		if i == 0 || assess.WorstFirst(one.Status, a.Status) < 0 {
			a.Status, a.Severity = one.Status, one.Severity
		}
	}
	switch {
	case n[assess.Fail] > 0:
		a.Reason = fmt.Sprintf("%d of its %d known clients do not trust it", n[assess.Fail], len(c.Clients))
	case n[assess.Warn] > 0:
		a.Reason = fmt.Sprintf("%d of its %d known clients will not trust its next certificate", n[assess.Warn], len(c.Clients))
	case n[assess.Unknown] > 0:
		a.Reason = fmt.Sprintf("of %d of its %d known clients it is unknown", n[assess.Unknown], len(c.Clients))
	}
	return a
}

// nearness orders places for people: their own kubeconfig, the platform's objects, nodes, tenants.
func nearness(at pki.Location) int {
	switch {
	case at.Kind == pki.KindFile && at.Node == "":
		return 0
	case at.Kind == pki.KindFile:
		return 2
	case at.Namespace == "" || catalog.ReservedNamespace(at.Namespace):
		return 1
	}
	return 3
}

// AtLeast leaves out findings below a severity.
func (d *ServedChains) AtLeast(least assess.Severity) *ServedChains {
	out := *d
	out.Findings = []Finding{}
	for _, f := range d.Findings {
		if f.Severity >= least {
			out.Findings = append(out.Findings, f)
		}
	}
	return &out
}

// Worst returns the highest severity among findings and checks; false without any.
func (d *ServedChains) Worst() (assess.Severity, bool) {
	inv := Inventory{Findings: d.Findings}
	worst, found := inv.Worst()
	for i := range d.Servers {
		for _, c := range d.Servers[i].Checks {
			if c.Status.Wrong() {
				worst, found = max(worst, c.Severity), true
			}
		}
	}
	return worst, found
}

// Unread reports whether something is unknown.
func (d *ServedChains) Unread() bool {
	return len(d.Gaps) > 0 || slices.ContainsFunc(d.Servers, func(c ServedChain) bool {
		return slices.ContainsFunc(c.Checks, func(a assess.Assessment) bool { return a.Status == assess.Unknown })
	})
}

// Read reports whether any server presented a chain.
func (d *ServedChains) Read() bool {
	return slices.ContainsFunc(d.Servers, func(c ServedChain) bool { return len(c.Certificates) > 0 })
}
