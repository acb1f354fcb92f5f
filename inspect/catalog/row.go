package catalog

import (
	"cmp"
	"time"
)

// The kinds that rows speak of.
const (
	Secret           = "Secret"
	ConfigMap        = "ConfigMap"
	Request          = "CertificateSigningRequest"
	ControllerConfig = "ControllerConfig" // of machine-config-operator
	MachineConfig    = "MachineConfig"
	Route            = "Route"
	File             = "File" // on a node; Ref.Name is its path
)

// Ref names a place, or a family of them: a '*' in Namespace, Name or Key stands
// for any run of characters (in a file's path: any without '/').
type Ref struct {
	Kind      string
	Namespace string
	Name      string
	// Key of the Secret or ConfigMap, and the field of another kind; empty: all
	// that hold certificates.
	Key string
}

// String returns such as "Secret/openshift-etcd/etcd-peer-*[tls.crt]" or
// "File:/etc/kubernetes/kubeconfig".
func (r Ref) String() string {
	s := r.Kind + "/" + r.Namespace + "/" + r.Name
	switch {
	case r.Kind == File:
		s = File + ":" + r.Name
	case r.Namespace == "":
		s = r.Kind + "/" + r.Name
	}
	if r.Key != "" {
		s += "[" + r.Key + "]"
	}
	return s
}

// Role says what the certificates at a place are for.
type Role string

// The roles, in the field's own words.
const (
	Signer     Role = "signer"     // a CA certificate with its key
	CABundle   Role = "ca-bundle"  // trust anchors
	Serving    Role = "serving"    // presented by a server
	Client     Role = "client"     // presented by a client
	Peer       Role = "peer"       // both, between equals
	Kubeconfig Role = "kubeconfig" // a CA to trust, and a client certificate or a token
	Token      Role = "token"      // a bearer token, with the CA to trust beside it
)

// Mark says how sure a row is.
type Mark string

// The marks.
const (
	Verified   Mark = "V" // read in the source that is named
	Derived    Mark = "D" // follows from that source, not yet seen on a cluster
	Unverified Mark = "U" // told, plausible, not read
	Field      Mark = "K" // known from the field
)

// Evidence is where a row's claim comes from.
type Evidence struct {
	Mark   Mark
	Source string // repository, path and commit or branch; for people to open
}

// Place is a row: a place that holds certificates, and what is known of it.
type Place struct {
	Ref
	Role Role
	// Owner is the component that answers for it, for people, such as
	// "kube-apiserver-operator"; "user" where an administrator chooses it.
	Owner string
	// Writer is who writes it, where that is not the Owner: whose log to read when it
	// is late.
	Writer string
	// SecondWriter is who writes it, too, and when, where that is not at any time.
	SecondWriter string
	// Doc says in one sentence what it is for.
	Doc string
	// Selector, where set, takes the place of the name: the row is for any
	// object of the Kind that carries it.
	Selector ObjectSelector
	// Restart is the command after which what serves it presents a new one: it has read it at its
	// start, and is not restarted for that. Empty: it needs none, or that was not looked at.
	Restart string
	// Lifetimes are the rows about how long its certificate lives, one for each
	// range of versions. Bundles have none: they hold others' certificates.
	Lifetimes []Lifetime
	In        Range
	Evidence
}

// WrittenBy says who answers for a place, and who writes it where that is another.
func (p Place) WrittenBy() string {
	said := p.Owner
	if p.Writer != "" {
		said += ", written by " + p.Writer
	}
	if p.SecondWriter != "" {
		said += "; also written by " + p.SecondWriter
	}
	return said
}

// also is the place with its SecondWriter.
func (p Place) also(second string) Place {
	p.SecondWriter = second
	return p
}

// noComponent is the Writer of a place that is no longer written.
const noComponent = "no component"

// Lifetime returns the row that says how long a certificate lives here, in the
// versions that run. No: no row is known for them. Unknown: there are rows, and
// the version that decides between them is unknown. Where it is the patch version alone
// that is unknown, the answer spans the rows of its minor.
func (p Place) Lifetime(v Versions) (Lifetime, Tristate) {
	answer := No
	var spanned []Lifetime
	for _, l := range p.Lifetimes {
		switch l.In.Holds(v) {
		case Yes:
			return l, Yes
		case Unknown:
			answer = Unknown
			if l.In.minorHolds(v) == Yes {
				spanned = append(spanned, l)
			}
		}
	}
	if len(spanned) == 0 {
		return Lifetime{}, answer
	}
	return span(spanned), Yes
}

// span is the lifetime that has the least and the greatest refresh of these, and lives as long as
// the longest.
func span(of []Lifetime) Lifetime {
	out := of[0]
	from := out.earliest().Refresh
	for _, l := range of[1:] {
		from = min(from, l.earliest().Refresh)
		out.Refresh, out.Validity = max(out.Refresh, l.Refresh), max(out.Validity, l.Validity)
		out.Doc, out.Detail = cmp.Or(out.Doc, l.Doc), cmp.Or(out.Detail, l.Detail)
	}
	if from < out.Refresh {
		out.RefreshFrom = from
	}
	return out
}

// ObjectSelector selects an object by what it carries instead of by its name.
// All that is set must be there.
type ObjectSelector struct {
	Annotation      string // key that is present
	OtherAnnotation string // or this one in its place
	Label           string // key that is present
	Value           string // which the annotation, in any case, or the label must have; empty: any
	Type            string // of the Secret
	Signer          string // signerName of the CertificateSigningRequest
}

// Lifetime is a row: how long a certificate lives, and when it is renewed. A
// short-lived certificate that renews itself and is near its end is no alarm;
// one that is past its renewal is.
type Lifetime struct {
	// Validity with which it is made now; zero: another component's choice. The
	// first one, made by the installer, may differ.
	Validity time.Duration
	// Refresh is the age at which it is renewed, and RenewAtPercent the percentage of
	// its validity: whichever comes first. Zero: that rule does not apply.
	Refresh        time.Duration
	RenewAtPercent int
	// RenewFromPercent is the least percentage where chance decides, and RenewAtPercent the greatest;
	// zero: RenewAtPercent it is.
	RenewFromPercent int
	// RefreshFrom is the least Refresh where the patch versions of a minor differ, and Refresh
	// the greatest: which patch version brought the change is unknown. Zero: Refresh it is.
	RefreshFrom time.Duration
	// Renewer says who renews it; empty: no component does by itself.
	Renewer string
	// Doc says what people must know beyond the numbers; mostly empty.
	Doc string
	// Detail goes on where Doc ends, which stands in titles.
	Detail string
	In     Range
	Evidence
}

// SelfRotating reports whether it is renewed without a user.
func (l Lifetime) SelfRotating() bool { return l.Renewer != "" }

// LatestRenewal returns when a certificate with these dates is due for renewal; false
// where it does not renew itself. A target is allowed to be late by a tenth of
// its Refresh (1.5 days of 15) when its signer was just made.
func (l Lifetime) LatestRenewal(notBefore, notAfter time.Time) (time.Time, bool) {
	if !l.SelfRotating() {
		return time.Time{}, false
	}
	due := notAfter
	if l.Refresh > 0 && notBefore.Add(l.Refresh).Before(due) {
		due = notBefore.Add(l.Refresh)
	}
	if l.RenewAtPercent > 0 {
		if at := notBefore.Add(notAfter.Sub(notBefore) / 100 * time.Duration(l.RenewAtPercent)); at.Before(due) {
			due = at
		}
	}
	return due, true
}

// EarliestRenewal returns when a certificate with these dates is renewed at the earliest:
// where chance or the patch version decides, that is before LatestRenewal says. False where it
// does not renew itself.
func (l Lifetime) EarliestRenewal(notBefore, notAfter time.Time) (time.Time, bool) {
	return l.earliest().LatestRenewal(notBefore, notAfter)
}

// earliest is the lifetime with the least of what chance or the patch version decides.
func (l Lifetime) earliest() Lifetime {
	if l.RenewFromPercent > 0 {
		l.RenewAtPercent = l.RenewFromPercent
	}
	if l.RefreshFrom > 0 {
		l.Refresh = l.RefreshFrom
	}
	return l
}

// EarliestReissue returns when a leaf with these dates is signed again at the earliest,
// by a signer that is valid since then: at its refresh time, but not before the
// signer is older than a tenth of the refresh period; and in any case at its share
// of validity, however new the signer is (library-go
// pkg/operator/certrotation/target.go, needNewTargetCertKeyPair). Zero where it is
// not renewed by itself.
func (l Lifetime) EarliestReissue(notBefore, notAfter, signerNotBefore time.Time) time.Time {
	if !l.SelfRotating() {
		return time.Time{}
	}
	if l.RefreshFrom > 0 {
		l.Refresh = l.RefreshFrom
	}
	at := notAfter
	if l.Refresh > 0 {
		due, trusted := notBefore.Add(l.Refresh), signerNotBefore.Add(l.Refresh/10)
		if due.Before(trusted) {
			due = trusted
		}
		if due.Before(at) {
			at = due
		}
	}
	if l.RenewAtPercent > 0 {
		if due := notBefore.Add(notAfter.Sub(notBefore) / 100 * time.Duration(l.RenewAtPercent)); due.Before(at) {
			at = due
		}
	}
	return at
}

// Relation says how an Aggregate's target follows from its parts.
type Relation string

// The relations. A part that does not exist contributes nothing.
const (
	// Union: contains every unexpired certificate of each part.
	Union Relation = "union"
	// Copy: the one part, certificate by certificate.
	Copy Relation = "copy"
	// FirstCopy: a copy of the first part that exists.
	FirstCopy Relation = "copy of the first that exists"
)

// Aggregate is a row: what one bundle must contain of others.
type Aggregate struct {
	Target Ref
	// Selector, where set, takes the place of the Target's name: any bundle of that Kind
	// in an object that carries it, and with the Key where there is one.
	Selector ObjectSelector
	Parts    []Ref
	Relation Relation
	Doc      string // parts that have no name of their own, and when nothing is written
	In       Range
	Evidence
}

// Lengths that rows are written in. A year is 365 days, as in the operators'
// own code.
const (
	day  = 24 * time.Hour
	year = 365 * day
)

// since is the range of a component's versions from a minor on.
func since(component string, from Minor) Range { return Range{Component: component, From: from} }

// between is the range of a component's versions from a minor to another.
func between(component string, from, to Minor) Range {
	return Range{Component: component, From: from, To: to}
}

// secret is the place of a certificate with its key.
func secret(namespace, name string) Ref {
	return Ref{Kind: Secret, Namespace: namespace, Name: name, Key: "tls.crt"}
}

// bundle is the place of a bundle in the key that OpenShift's operators use.
func bundle(namespace, name string) Ref {
	return Ref{Kind: ConfigMap, Namespace: namespace, Name: name, Key: "ca-bundle.crt"}
}

// file is a place on a node.
func file(path string) Ref { return Ref{Kind: File, Name: path} }

// expiresWithSigner is said of what library-go's certificate rotation signs where a signer may have
// less left than the validity (pkg/operator/certrotation/target.go, setTargetCertKeyPairSecret).
const expiresWithSigner = "never beyond the end of its signer"

// with is the lifetime with what people must know of it.
func (l Lifetime) with(doc string) Lifetime {
	l.Doc = doc
	return l
}

// rotated is the lifetime of what library-go's certificate rotation renews: at
// the age of refresh, and in any case at 80 % of the validity (library-go
// pkg/operator/certrotation/signer.go and target.go @ 93ac9206a).
func rotated(renewer string, validity, refresh time.Duration, in Range, e Evidence) Lifetime {
	return Lifetime{Validity: validity, Refresh: refresh, RenewAtPercent: 80, Renewer: renewer, In: in, Evidence: e}
}
