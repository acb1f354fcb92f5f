package report

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/cause"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/check"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// APIVersion and inventoryKind name the document that inspect prints
// as JSON and YAML. docs/v1alpha2.md lists the keys that v1alpha1 had under other names.
const (
	APIVersion    = "certrot/v1alpha2"
	inventoryKind = "Inventory"
)

// Inventory is what inspect answers: every certificate and bundle in scope, the
// findings, and what could not be read.
type Inventory struct {
	APIVersion     string      `json:"apiVersion"`
	Kind           string      `json:"kind"`
	Cluster        Cluster     `json:"cluster"`
	Taken          time.Time   `json:"taken"` // when the facts were read
	Now            time.Time   `json:"now"`   // the time for which they are judged
	Reads          []Read      `json:"reads"`
	Certificates   []Cert      `json:"certificates"`
	Bundles        []Bundle    `json:"bundles"`
	Requests       []Request   `json:"requests"`
	Nodes          []Node      `json:"nodes"`
	Reported       []Reported  `json:"reported"`
	References     []Reference `json:"references"`
	Exposed        []Exposed   `json:"exposed"`
	Findings       []Finding   `json:"findings"`
	Causes         []Cause     `json:"causes"`
	Gaps           []Gap       `json:"gaps"`
	noControlPlane bool
	hints          inspect.Hints
	facts          *inspect.Facts  // judged here; nil: made without any
	beside         []cause.Finding // that are not among Findings
	found          bool            // see Found
	nodesRead      string
}

// NodesRead says of how many nodes of the cluster files were read, whatever is chosen; empty: no node is
// known, or none was asked for.
func (inv *Inventory) NodesRead() string { return inv.nodesRead }

// LacksControlPlaneNodes reports whether nodes are from a file that has none with a kube-apiserver,
// though the cluster has some.
func (inv *Inventory) LacksControlPlaneNodes() bool { return inv.noControlPlane }

// Cluster says which cluster it is.
type Cluster struct {
	Server     string            `json:"server,omitempty"`
	Context    string            `json:"context,omitempty"`
	Version    string            `json:"version,omitempty"`    // OpenShift's or OKD's
	Kubernetes string            `json:"kubernetes,omitempty"` // git version
	Operators  map[string]string `json:"operators,omitempty"`
	Unreviewed string            `json:"unreviewed,omitempty"` // versions that run and were not reviewed, and what follows
	Topology   string            `json:"topology,omitempty"`
	Platform   string            `json:"platform,omitempty"`
	Internal   string            `json:"internal,omitempty"` // URL of api-int
	Created    *time.Time        `json:"created,omitempty"`
	// Unauthenticated says why another server than the API server may have answered.
	Unauthenticated string `json:"unauthenticated,omitempty"`
	Synthetic       string `json:"synthetic,omitempty"` // the facts are made up, and why
	// Read is when the facts were, and Opened when the file was that has them; zero: no file.
	Read   time.Time `json:"-"`
	Opened time.Time `json:"-"`
}

// Read says what was read.
type Read struct {
	What    string `json:"what"`
	Where   string `json:"where,omitempty"` // empty: the whole cluster
	Objects int    `json:"objects"`
	Skipped bool   `json:"skipped,omitempty"` // there is nothing to read; note says why
	Note    string `json:"note,omitempty"`
	// Remediation says how it is read all the same.
	Remediation assess.Remediation `json:"remediation,omitzero"`
}

// Cert is one certificate and every place that holds it. Its JSON form
// is certDocument's.
type Cert struct {
	*pki.Cert
	in      []*inspect.Entry // those that present it before those that trust it
	Owner   string
	Role    string
	Renewal Renewal
}

// Renewal says who renews a certificate automatically, and when.
type Renewal struct {
	By string `json:"by,omitempty"` // empty: nothing renews it, or Known is false
	// Due is when it is renewed at the latest; zero: no rule is known.
	Due time.Time `json:"due,omitzero"`
	// From is when at the earliest, where chance decides, as of a kubelet's.
	From time.Time `json:"-"`
	// Known is false where neither the catalog nor the object says whether it is renewed.
	Known bool `json:"known"`
}

// Automatic reports whether a component is known to renew the certificate.
func (r Renewal) Automatic() bool { return r.Known && r.By != "" }

// certDocument is how a certificate is written; see docs/output.md.
type certDocument struct {
	SHA256         pki.Fingerprint `json:"sha256"` // of the DER
	Subject        string          `json:"subject"`
	Issuer         string          `json:"issuer"`
	Serial         string          `json:"serial"` // hex
	NotBefore      time.Time       `json:"notBefore"`
	NotAfter       time.Time       `json:"notAfter"`
	IsCA           bool            `json:"isCA"`
	SelfSigned     bool            `json:"selfSigned"`
	DNSNames       []string        `json:"dnsNames,omitempty"`
	IPAddresses    []string        `json:"ipAddresses,omitempty"`
	OtherNames     []string        `json:"otherNames,omitempty"`
	Usages         []string        `json:"usages,omitempty"`
	PublicKey      string          `json:"publicKey"`
	Signature      string          `json:"signatureAlgorithm"`
	SubjectKeyID   string          `json:"subjectKeyId,omitempty"`
	AuthorityKeyID string          `json:"authorityKeyId,omitempty"`
	Locations      []pki.Location  `json:"locations"`
	Owner          string          `json:"owner,omitempty"`
	Role           string          `json:"role,omitempty"`
	Renewal        Renewal         `json:"renewal"`
}

// CertificateFields returns the names of the fields of a certificate, as json and
// yaml have them, in their order.
func CertificateFields() []string {
	var out []string
	for field := range reflect.TypeFor[certDocument]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		out = append(out, name)
	}
	return out
}

// MarshalJSON writes the certDocument: made only when it is written, since there
// may be tens of thousands.
func (c Cert) MarshalJSON() ([]byte, error) {
	return json.Marshal(certDocument{
		SHA256: c.Fingerprint, Subject: c.Subject, Issuer: c.Issuer, Serial: c.Serial, NotBefore: c.NotBefore.UTC(), NotAfter: c.NotAfter.UTC(),
		IsCA: c.IsCA, SelfSigned: c.SelfSigned, DNSNames: c.Names.DNS, IPAddresses: c.Names.IPs, OtherNames: c.Names.Others,
		Usages: c.Usages, PublicKey: c.PublicKey, Signature: c.Signature, SubjectKeyID: c.SubjectKey, AuthorityKeyID: c.IssuerKey,
		Locations: c.Locations(), Owner: c.Owner, Role: c.Role, Renewal: Renewal{By: c.Renewal.By, Due: c.Renewal.Due.UTC().Truncate(time.Second), Known: c.Renewal.Known},
	})
}

// Locations returns the places that hold the certificate: those that present it before
// those that trust it. A CA may lie in thousands, so the list is made when it is asked
// for.
func (c Cert) Locations() []pki.Location { return inspect.Locations(c.in) }

// Places is the number of Locations.
func (c Cert) Places() int { return len(c.in) }

// Name is how people call the certificate: its common name, else its subject
// or first name.
func (c Cert) Name() string {
	if cn := pki.CommonName(c.Subject); cn != "" {
		return cn
	}
	if len(c.Names.DNS) > 0 {
		return c.Names.DNS[0]
	}
	return "(no subject)"
}

// Bundle is what several places hold alike: a CA bundle, or a
// certificate with its chain.
type Bundle struct {
	Use          inspect.Use       `json:"use,omitempty"`
	Certificates []pki.Fingerprint `json:"certificates"`  // in their order
	Bad          int               `json:"bad,omitempty"` // blocks that can't be read
	PrivateKeys  int               `json:"privateKeys,omitempty"`
	Locked       int               `json:"locked,omitempty"` // keystores that no password opened
	CRLs         []CRL             `json:"revocationLists,omitempty"`
	Locations    []pki.Location    `json:"locations"`
	Owner        string            `json:"owner,omitempty"`
	Role         string            `json:"role,omitempty"`
}

// CRL is a certificate revocation list.
type CRL struct {
	SHA256         pki.Fingerprint `json:"sha256"` // of the DER
	Issuer         string          `json:"issuer"`
	ThisUpdate     time.Time       `json:"thisUpdate"`
	NextUpdate     time.Time       `json:"nextUpdate,omitzero"` // absent: it does not say
	Revoked        int             `json:"revoked"`
	AuthorityKeyID string          `json:"authorityKeyId,omitempty"`
}

// Request is a CertificateSigningRequest.
type Request struct {
	Name      string            `json:"name"`
	Signer    string            `json:"signer"`
	Requester string            `json:"requester"`
	Condition inspect.Condition `json:"condition"`
	Since     time.Time         `json:"since"`
	Subject   string            `json:"subject,omitempty"`
	DNSNames  []string          `json:"dnsNames,omitempty"`
	IPs       []string          `json:"ipAddresses,omitempty"`
}

// Reported is what a controller says of a certificate.
type Reported struct {
	Location  pki.Location `json:"location"`
	Bundle    string       `json:"bundle"`
	Subject   string       `json:"subject"`
	Signer    string       `json:"signer,omitempty"`
	NotBefore time.Time    `json:"notBefore,omitzero"`
	NotAfter  time.Time    `json:"notAfter,omitzero"`
}

// Reference is a field that names another object.
type Reference struct {
	From   pki.Location   `json:"from"`
	To     pki.Location   `json:"to"`
	Target inspect.Target `json:"target,omitempty"` // absent: unknown
}

// Exposed is a log with a user's token or key in it.
type Exposed struct {
	Location pki.Location `json:"location"`
	Mode     string       `json:"mode,omitempty"` // of a file on a node, in octal
	Tokens   int          `json:"tokens"`         // lines
	Keys     int          `json:"keys"`
	First    time.Time    `json:"first,omitzero"`
	Last     time.Time    `json:"last,omitzero"`
}

// Finding is a claim that does not hold.
type Finding struct {
	assess.Assessment
	Title        string            `json:"title"` // the claim
	Locations    []pki.Location    `json:"locations,omitempty"`
	Certificates []pki.Fingerprint `json:"certificates,omitempty"`
}

// Gap is something in scope that could not be read.
type Gap struct {
	What        string             `json:"what"`
	Where       string             `json:"where,omitempty"`
	Reason      string             `json:"reason"`
	Remediation assess.Remediation `json:"remediation,omitzero"`
}

// GapOf is how a gap is written.
func GapOf(g inspect.Gap) Gap { return Gap{g.What, g.Where, g.Reason, assess.Advise(g.Next)} }

// Filter chooses what of the facts is reported. The zero Filter is everything.
type Filter struct {
	// Place chooses by place and object; nil: all.
	Place func(pki.Location, *inspect.Object) bool
	// Cert chooses certificates; nil: all. With it, findings that are not about
	// a chosen certificate are left out.
	Cert func(*pki.Cert) bool
	// Owner chooses certificates by Cert.Owner, empty where none is
	// known; nil: all. It goes with findings as Cert does.
	Owner func(string) bool
}

// someCerts reports whether the filter chooses among certificates.
func (fi Filter) someCerts() bool { return fi.Cert != nil || fi.Owner != nil }

func (fi Filter) place(at pki.Location, o *inspect.Object) bool {
	return fi.Place == nil || fi.Place(at, o)
}

// following is the filter that also chooses what the places that it chooses refer
// to.
func (fi Filter) following(references []inspect.Reference) Filter {
	chosen := map[pki.Location]bool{}
	for _, r := range references {
		if r.To.Kind != inspect.KindMachineConfig && fi.place(r.From, nil) {
			chosen[inspect.ObjectAt(r.To)] = true
		}
	}
	if choose := fi.Place; choose != nil && len(chosen) > 0 {
		fi.Place = func(at pki.Location, o *inspect.Object) bool { return choose(at, o) || chosen[inspect.ObjectAt(at)] }
	}
	return fi
}

// NewInventory judges the facts and reports what the filter chooses. What is
// judged is always everything that was read, unless ctx is done before.
func NewInventory(ctx context.Context, f *inspect.Facts, fi Filter) Inventory {
	s := &f.Snapshot
	fi = fi.following(s.References)
	inv := Inventory{
		APIVersion: APIVersion, Kind: inventoryKind, Taken: s.Taken, Now: f.Now, Cluster: ClusterOf(s.Cluster),
		Reads: []Read{}, Certificates: []Cert{}, Bundles: []Bundle{},
		Requests: []Request{}, Nodes: []Node{}, Reported: []Reported{}, References: []Reference{}, Exposed: []Exposed{}, Findings: []Finding{}, Gaps: []Gap{}, hints: s.Hints, facts: f,
	}
	for _, r := range s.Reads {
		inv.Reads = append(inv.Reads, Read{r.What, r.Where, r.Objects, r.Skipped, r.Note, assess.Advise(r.Next)})
	}
	if inv.noControlPlane = s.LacksControlPlane(); inv.noControlPlane {
		inv.Reads = append(inv.Reads, Read{What: "control plane nodes", Skipped: true, Note: "the file has none: what is on them is unknown", Remediation: assess.Advise(s.Hints.UnreadNodes(""))})
	}
	for _, g := range append(slices.Clip(s.Gaps), check.Locked(f, fi.place)...) {
		inv.Gaps = append(inv.Gaps, GapOf(g))
	}
	inv.Certificates = make([]Cert, 0, len(f.Certs))
	chosen := map[pki.Fingerprint]bool{}
	for _, c := range f.Certs {
		if entry, ok := certEntry(f, c, fi); ok {
			inv.Certificates = append(inv.Certificates, entry)
			chosen[c.Fingerprint] = true
		}
	}
	slices.SortStableFunc(inv.Certificates, func(a, b Cert) int { return a.NotAfter.Compare(b.NotAfter) })
	inv.Bundles = append(inv.Bundles, bundleEntries(f, fi, chosen)...)
	for _, r := range s.Requests {
		if !fi.someCerts() && fi.place(pki.Location{Kind: r.Object.Kind, Name: r.Object.Name}, r.Object) {
			inv.Requests = append(inv.Requests, requestEntry(r))
		}
	}
	inv.Nodes = append(inv.Nodes, nodeEntries(f.Within(ctx), fi)...)
	inv.nodesRead = nodesRead(s)
	for _, r := range s.Reported {
		if fi.Cert == nil && fi.place(r.At, nil) {
			inv.Reported = append(inv.Reported, Reported{r.At, r.Bundle, r.Subject, r.Signer, r.NotBefore, r.NotAfter})
		}
	}
	for _, r := range s.References {
		if fi.Cert == nil && fi.place(r.From, nil) {
			inv.References = append(inv.References, Reference(r))
		}
	}
	for _, e := range s.Exposed {
		if fi.Cert == nil && fi.place(e.At, nil) {
			entry := Exposed{Location: e.At, Tokens: e.Tokens, Keys: e.Keys, First: e.First, Last: e.Last}
			if e.Mode != 0 {
				entry.Mode = fmt.Sprintf("%04o", e.Mode.Perm())
			}
			inv.Exposed = append(inv.Exposed, entry)
		}
	}
	objects := map[pki.Location]*inspect.Object{}
	for i := range s.Bundles {
		if fi.Place == nil {
			break // not asked for
		}
		if o := s.Bundles[i].Object; o != nil {
			objects[o.At()] = o
		}
	}
	for _, r := range s.Requests {
		objects[r.Object.At()] = r.Object
	}
	for _, found := range check.Judge(ctx, f) {
		if entry, ok := findingEntry(found, fi, objects, chosen); ok {
			inv.Findings = append(inv.Findings, entry)
		} else {
			inv.beside = append(inv.beside, cause.Finding{Assessment: found.Assessment, At: found.At, Beside: true})
		}
	}
	inv.Causes = inv.causes()
	return inv
}

// ClusterOf is how a cluster is written.
func ClusterOf(c inspect.Cluster) Cluster {
	out := Cluster{
		Server: c.Server, Context: c.Context, Version: c.Versions.Cluster, Kubernetes: c.Versions.Kubernetes,
		Operators: c.Versions.Operators, Unreviewed: c.Versions.WhyUnreviewed(), Topology: c.Topology, Platform: c.Platform, Internal: c.Internal, Unauthenticated: c.Unauthenticated, Synthetic: c.Synthetic,
		Read: c.Read, Opened: c.Opened,
	}
	if !c.Created.IsZero() {
		out.Created = &c.Created
	}
	return out
}

// Worst returns the highest severity among the findings; false without any.
func (inv *Inventory) Worst() (assess.Severity, bool) {
	worst, any := assess.Info, false
	for _, f := range inv.Findings {
		worst, any = max(worst, f.Severity), true
	}
	return worst, any
}
