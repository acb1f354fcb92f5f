package collect

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// The snapshot file is gzipped JSON, described in docs/snapshot.md. Certificates
// are stored once, as DER; what several places share is stored once too. The
// types here are the file's, apart from inspect's, so that a change there does
// not change files silently.
const (
	// SnapshotAPIVersion is the version of the snapshot file.
	SnapshotAPIVersion = "certrot/v1alpha1"
	// SnapshotKind is the kind of the snapshot file.
	SnapshotKind = "Snapshot"
	// maxSnapshot bounds a snapshot's size when unpacked, and maxElements what it
	// may list: many times what the largest clusters need, and little enough for
	// memory.
	maxSnapshot = 256 << 20
	maxElements = 2_000_000
)

type snapshotFile struct {
	APIVersion   string          `json:"apiVersion"`
	Kind         string          `json:"kind"`
	Taken        time.Time       `json:"taken"`
	Cluster      fileCluster     `json:"cluster"`
	Certificates [][]byte        `json:"certificates"` // DER
	Contents     []fileContent   `json:"contents"`
	Objects      []fileObject    `json:"objects"`
	Bundles      []fileBundle    `json:"bundles"`
	Requests     []fileRequest   `json:"requests,omitempty"`
	Nodes        []fileNode      `json:"nodes,omitempty"`
	Unasked      []fileNode      `json:"unasked,omitempty"`
	Served       []fileServed    `json:"served,omitempty"`
	Reported     []fileReported  `json:"reported,omitempty"`
	References   []fileReference `json:"references,omitempty"`
	Exposed      []fileExposed   `json:"exposed,omitempty"`
	ServerLogs   []fileServerLog `json:"serverLogs,omitempty"`
	Reads        []fileRead      `json:"reads"`
	Gaps         []fileGap       `json:"gaps,omitempty"`
	Listed       []fileListed    `json:"listed,omitempty"`
	Access       *fileAccess     `json:"access,omitempty"`
	// Outlined says that of files on nodes it is known what blocks stayed there, and so
	// what readers load. Older versions did not know.
	Outlined bool `json:"outlined,omitempty"`
}

type fileCluster struct {
	ID         string            `json:"id,omitempty"`
	Server     string            `json:"server,omitempty"`
	Context    string            `json:"context,omitempty"`
	Version    string            `json:"version,omitempty"`
	Kubernetes string            `json:"kubernetes,omitempty"`
	Plain      bool              `json:"plain,omitempty"` // known to be no OpenShift
	Operators  map[string]string `json:"operators,omitempty"`
	Topology   string            `json:"topology,omitempty"`
	Platform   string            `json:"platform,omitempty"`
	Internal   string            `json:"internal,omitempty"`
	External   string            `json:"external,omitempty"`
	Addresses  string            `json:"ownAddresses,omitempty"` // "yes", "no"
	Kubeadm    string            `json:"kubeadm,omitempty"`      // "yes", "no"
	Created    time.Time         `json:"created,omitzero"`
	Born       string            `json:"born,omitempty"`
	Clock      fileClock         `json:"clock,omitzero"`
	// Unauthenticated says why the API server was not authenticated.
	Unauthenticated string `json:"unauthenticated,omitempty"`
	Synthetic       string `json:"synthetic,omitempty"`
}

type fileContent struct {
	Certificates []int          `json:"certificates,omitempty"` // indices
	Requests     []*pki.Request `json:"requests,omitempty"`
	Keys         []fileKey      `json:"keys,omitempty"`
	CRLs         []fileCRL      `json:"crls,omitempty"`
	Locked       []fileLocked   `json:"locked,omitempty"`
	Bad          []fileBad      `json:"bad,omitempty"`
	Skipped      []fileSkipped  `json:"skipped,omitempty"` // certificates that some readers don't load
}

type fileSkipped struct {
	Certificate int          `json:"certificate"` // index
	By          []pki.Reader `json:"by"`
	Reason      string       `json:"reason"`
}

type fileKey struct {
	SPKI      pki.Fingerprint `json:"spki"` // sha256 of the public half
	Algorithm string          `json:"algorithm"`
	Encrypted bool            `json:"encrypted,omitempty"`
}

type fileCRL struct {
	Fingerprint pki.Fingerprint `json:"sha256"` // of the DER
	Issuer      string          `json:"issuer"`
	IssuerKey   string          `json:"issuerKey,omitempty"`
	ThisUpdate  time.Time       `json:"thisUpdate"`
	NextUpdate  time.Time       `json:"nextUpdate,omitzero"`
	Revoked     int             `json:"revoked"`
}

type fileLocked struct {
	Format string `json:"format"`
	Reason string `json:"reason"`
}

type fileBad struct {
	Index  int    `json:"index"`
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

type fileObject struct {
	Kind        pki.Kind          `json:"kind"`
	Namespace   string            `json:"namespace,omitempty"`
	Name        string            `json:"name"`
	Type        string            `json:"type,omitempty"`
	Signer      string            `json:"signer,omitempty"`
	Created     time.Time         `json:"created,omitzero"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type fileBundle struct {
	At      string `json:"at"`
	Object  *int   `json:"object,omitempty"` // index
	Content int    `json:"content"`          // index
}

type fileRequest struct {
	Object    int               `json:"object"` // index
	Signer    string            `json:"signer"`
	Requester string            `json:"requester"`
	Condition inspect.Condition `json:"condition"`
	Since     time.Time         `json:"since"`
	Reason    string            `json:"reason,omitempty"`
	Request   *pki.Request      `json:"request,omitempty"`
	Bad       string            `json:"bad,omitempty"`
}

type fileServed struct {
	Node    string `json:"node"`
	Address string `json:"address"`
	Name    string `json:"name"`
	Chain   []int  `json:"chain"` // indices
	Server  string `json:"server,omitempty"`
	Of      string `json:"of,omitempty"`
	Problem string `json:"problem,omitempty"`
}

type fileReported struct {
	At        string    `json:"at"`
	Bundle    string    `json:"bundle"`
	Subject   string    `json:"subject"`
	Signer    string    `json:"signer,omitempty"`
	NotBefore time.Time `json:"notBefore,omitzero"`
	NotAfter  time.Time `json:"notAfter,omitzero"`
}

type fileReference struct {
	From   string         `json:"from"`
	To     string         `json:"to"`
	Target inspect.Target `json:"target,omitempty"`
}

type fileExposed struct {
	At     string      `json:"at"`
	Mode   fs.FileMode `json:"mode,omitempty"` // Go's io/fs bits
	Tokens int         `json:"tokens,omitempty"`
	Keys   int         `json:"keys,omitempty"`
	First  time.Time   `json:"first,omitzero"`
	Last   time.Time   `json:"last,omitzero"`
}

type fileServerLog struct {
	At      string        `json:"at"`
	Row     string        `json:"row"`
	From    time.Time     `json:"from,omitzero"`
	To      time.Time     `json:"to,omitzero"`
	Refused []fileRefused `json:"refused,omitempty"`
}

type fileRefused struct {
	Client string    `json:"client"`
	Reason string    `json:"reason"`
	Count  int       `json:"count"`
	First  time.Time `json:"first,omitzero"`
	Last   time.Time `json:"last,omitzero"`
}

type fileRead struct {
	What    string `json:"what"`
	Where   string `json:"where,omitempty"`
	Objects int    `json:"objects"`
	Skipped bool   `json:"skipped,omitempty"`
	Note    string `json:"note,omitempty"`
}

// fact is the note without the next step that earlier releases added to it.
func (r fileRead) fact() string {
	if !r.Skipped || r.What != "nodes" {
		return r.Note
	}
	for _, step := range []string{"; try --", "; name them with --", "; run it as root"} {
		if note, _, ok := strings.Cut(r.Note, step); ok {
			return note
		}
	}
	return r.Note
}

type fileGap struct {
	What   string `json:"what"`
	Where  string `json:"where,omitempty"`
	Reason string `json:"reason"`
	Next   string `json:"next,omitempty"`
}

type fileListed struct {
	Kind      pki.Kind `json:"kind"`
	Namespace string   `json:"namespace"`
}

// WriteSnapshot writes a snapshot file. The same snapshot gives the same bytes.
func WriteSnapshot(w io.Writer, s inspect.Snapshot) error {
	zw, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(zw).Encode(packSnapshot(s)); err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	return zw.Close()
}

// ReadSnapshot reads what WriteSnapshot wrote, unpacked already.
func ReadSnapshot(r io.Reader) (inspect.Snapshot, error) {
	var f snapshotFile
	limited := &io.LimitedReader{R: r, N: maxSnapshot}
	if err := f.decode(json.NewDecoder(limited)); err != nil {
		if limited.N <= 0 {
			return inspect.Snapshot{}, fmt.Errorf("snapshot is larger than %d bytes unpacked", maxSnapshot)
		}
		return inspect.Snapshot{}, fmt.Errorf("decode snapshot: %w", untimed(err))
	}
	if f.Kind != SnapshotKind || f.APIVersion != SnapshotAPIVersion {
		return inspect.Snapshot{}, fmt.Errorf("file is a %q of version %q; this certrot reads %q of version %q", f.Kind, f.APIVersion, SnapshotKind, SnapshotAPIVersion)
	}
	markSentences(reflect.ValueOf(&f))
	return unpackSnapshot(&f)
}

// decode reads the document field by field, so that its lists can be bounded.
func (f *snapshotFile) decode(dec *json.Decoder) error {
	if err := expect(dec, '{'); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		switch key {
		case "apiVersion":
			err = dec.Decode(&f.APIVersion)
		case "kind":
			err = dec.Decode(&f.Kind)
		case "taken":
			err = dec.Decode(&f.Taken)
		case "cluster":
			err = dec.Decode(&f.Cluster)
		case "certificates":
			f.Certificates, err = readJSONItems[[]byte](dec, maxElements)
		case "contents":
			f.Contents, err = readJSONItems[fileContent](dec, maxElements)
		case "objects":
			f.Objects, err = readJSONItems[fileObject](dec, maxElements)
		case "bundles":
			f.Bundles, err = readJSONItems[fileBundle](dec, maxElements)
		case "requests":
			f.Requests, err = readJSONItems[fileRequest](dec, maxElements)
		case "nodes":
			f.Nodes, err = readJSONItems[fileNode](dec, maxElements)
		case "unasked":
			f.Unasked, err = readJSONItems[fileNode](dec, maxElements)
		case "served":
			f.Served, err = readJSONItems[fileServed](dec, maxElements)
		case "reported":
			f.Reported, err = readJSONItems[fileReported](dec, maxElements)
		case "references":
			f.References, err = readJSONItems[fileReference](dec, maxElements)
		case "exposed":
			f.Exposed, err = readJSONItems[fileExposed](dec, maxElements)
		case "serverLogs":
			f.ServerLogs, err = readJSONItems[fileServerLog](dec, maxElements)
		case "reads":
			f.Reads, err = readJSONItems[fileRead](dec, maxElements)
		case "gaps":
			f.Gaps, err = readJSONItems[fileGap](dec, maxElements)
		case "listed":
			f.Listed, err = readJSONItems[fileListed](dec, maxElements)
		case "access":
			err = dec.Decode(&f.Access)
		case "outlined":
			err = dec.Decode(&f.Outlined)
		default: // a field of a later version that only adds
			var skipped json.RawMessage
			err = dec.Decode(&skipped)
		}
		if err != nil {
			return inField(key, err)
		}
	}
	return expect(dec, '}')
}

func packSnapshot(s inspect.Snapshot) *snapshotFile {
	f := &snapshotFile{
		APIVersion: SnapshotAPIVersion, Kind: SnapshotKind, Taken: s.Taken, Outlined: true,
		Cluster: fileCluster{
			ID: s.Cluster.ID, Server: s.Cluster.Server, Context: s.Cluster.Context, Version: s.Cluster.Versions.Cluster,
			Kubernetes: s.Cluster.Versions.Kubernetes, Plain: s.Cluster.Versions.Plain, Operators: s.Cluster.Versions.Operators,
			Topology: s.Cluster.Topology, Platform: s.Cluster.Platform, Internal: s.Cluster.Internal, External: s.Cluster.External, Created: s.Cluster.Created, Born: s.Cluster.Born, Clock: fileClock(s.Cluster.Clock), Unauthenticated: s.Cluster.Unauthenticated, Synthetic: s.Cluster.Synthetic,
		},
		Certificates: [][]byte{}, Contents: []fileContent{}, Objects: []fileObject{}, Bundles: []fileBundle{}, Reads: []fileRead{},
	}
	if s.Cluster.OwnAddresses != catalog.Unknown {
		f.Cluster.Addresses = s.Cluster.OwnAddresses.String()
	}
	if s.Cluster.Kubeadm != catalog.Unknown {
		f.Cluster.Kubeadm = s.Cluster.Kubeadm.String()
	}
	p := packer{file: f, certs: map[pki.Fingerprint]int{}, contents: map[*pki.Content]int{}, objects: map[*inspect.Object]int{}}
	for _, b := range s.Bundles {
		fb := fileBundle{At: b.At.String(), Content: p.content(b.Content)}
		if b.Object != nil {
			i := p.object(b.Object)
			fb.Object = &i
		}
		f.Bundles = append(f.Bundles, fb)
	}
	for _, r := range s.Requests {
		f.Requests = append(f.Requests, fileRequest{p.object(r.Object), r.Signer, r.Requester, r.Condition, r.Since, r.Reason, r.Request, r.Bad})
	}
	for _, n := range s.Nodes {
		f.Nodes = append(f.Nodes, packNode(n))
	}
	for _, n := range s.Unasked {
		f.Unasked = append(f.Unasked, packNode(n))
	}
	for _, served := range s.Served {
		fs := fileServed{Node: served.Node, Address: served.Address, Name: served.Name, Chain: []int{}, Server: served.Server, Of: served.Of, Problem: served.Problem}
		for _, c := range served.Chain {
			fs.Chain = append(fs.Chain, p.cert(c))
		}
		f.Served = append(f.Served, fs)
	}
	for _, r := range s.Reported {
		f.Reported = append(f.Reported, fileReported{r.At.String(), r.Bundle, r.Subject, r.Signer, r.NotBefore, r.NotAfter})
	}
	for _, r := range s.References {
		f.References = append(f.References, fileReference{r.From.String(), r.To.String(), r.Target})
	}
	for _, e := range s.Exposed {
		f.Exposed = append(f.Exposed, fileExposed{e.At.String(), e.Mode, e.Tokens, e.Keys, e.First, e.Last})
	}
	for _, l := range s.ServerLogs {
		fl := fileServerLog{At: l.At.String(), Row: l.Row, From: l.From, To: l.To}
		for _, r := range l.Refused {
			fl.Refused = append(fl.Refused, fileRefused(r))
		}
		f.ServerLogs = append(f.ServerLogs, fl)
	}
	for _, l := range s.Listed {
		f.Listed = append(f.Listed, fileListed(l))
	}
	for _, r := range s.Reads {
		f.Reads = append(f.Reads, fileRead{What: r.What, Where: r.Where, Objects: r.Objects, Skipped: r.Skipped, Note: r.Note})
	}
	for _, g := range s.Gaps {
		f.Gaps = append(f.Gaps, fileGap(g))
	}
	f.Access = packAccess(s.Access)
	return f
}

// packer gives each shared value its index.
type packer struct {
	file     *snapshotFile
	certs    map[pki.Fingerprint]int
	contents map[*pki.Content]int
	objects  map[*inspect.Object]int
}

func (p *packer) cert(c *pki.Cert) int {
	i, ok := p.certs[c.Fingerprint]
	if !ok {
		i = len(p.file.Certificates)
		p.certs[c.Fingerprint] = i
		p.file.Certificates = append(p.file.Certificates, c.DER)
	}
	return i
}

func (p *packer) content(c *pki.Content) int {
	if i, ok := p.contents[c]; ok {
		return i
	}
	fc := fileContent{Requests: c.Requests}
	for _, cert := range c.Certs {
		fc.Certificates = append(fc.Certificates, p.cert(cert))
	}
	for _, k := range c.Keys {
		fc.Keys = append(fc.Keys, fileKey(k))
	}
	for _, l := range c.CRLs {
		fc.CRLs = append(fc.CRLs, fileCRL(*l))
	}
	for _, l := range c.Locked {
		fc.Locked = append(fc.Locked, fileLocked(l))
	}
	for _, b := range c.Bad {
		fc.Bad = append(fc.Bad, fileBad(b))
	}
	for _, s := range c.Skipped {
		fc.Skipped = append(fc.Skipped, fileSkipped{p.cert(s.Cert), s.By, s.Reason})
	}
	i := len(p.file.Contents)
	p.contents[c] = i
	p.file.Contents = append(p.file.Contents, fc)
	return i
}

func (p *packer) object(o *inspect.Object) int {
	i, ok := p.objects[o]
	if !ok {
		i = len(p.file.Objects)
		p.objects[o] = i
		p.file.Objects = append(p.file.Objects, fileObject(*o))
	}
	return i
}

func unpackSnapshot(f *snapshotFile) (inspect.Snapshot, error) {
	s := inspect.Snapshot{
		Taken: f.Taken,
		Cluster: inspect.Cluster{
			ID: f.Cluster.ID, Server: inspect.ServerURL(f.Cluster.Server), Context: inspect.WithoutUserinfo(f.Cluster.Context),
			Versions: catalog.Versions{Cluster: f.Cluster.Version, Kubernetes: f.Cluster.Kubernetes, Plain: f.Cluster.Plain, Operators: f.Cluster.Operators},
			Topology: f.Cluster.Topology, Platform: f.Cluster.Platform, Internal: inspect.ServerURL(f.Cluster.Internal), External: inspect.ServerURL(f.Cluster.External), Created: f.Cluster.Created, Born: f.Cluster.Born, Clock: inspect.Clock(f.Cluster.Clock), Unauthenticated: cmp.Or(f.Cluster.Unauthenticated, inspect.WithoutTLS(f.Cluster.Server)), Synthetic: f.Cluster.Synthetic,
		},
	}
	for _, a := range []catalog.Answer{catalog.No, catalog.Yes} {
		if f.Cluster.Addresses == a.String() {
			s.Cluster.OwnAddresses = a
		}
		if f.Cluster.Kubeadm == a.String() {
			s.Cluster.Kubeadm = a
		}
	}
	certs, tooLarge := make([]*pki.Cert, len(f.Certificates)), map[int]string{}
	for i, der := range f.Certificates {
		c, err := pki.ParseCert(der)
		var large pki.TooLarge
		if errors.As(err, &large) { // written by a version that read such
			tooLarge[i] = large.Error()
			continue
		}
		if err != nil {
			return s, fmt.Errorf("snapshot: certificate %d: %w", i, err)
		}
		certs[i] = c
	}
	contents, err := unpackContents(f.Contents, certs, tooLarge)
	if err != nil {
		return s, err
	}
	objects := make([]*inspect.Object, len(f.Objects))
	for i, o := range f.Objects {
		obj := inspect.Object(o)
		objects[i] = &obj
	}
	for i, b := range f.Bundles {
		at, err := pki.ParseLocation(b.At)
		if err != nil {
			return s, fmt.Errorf("snapshot: bundle %d: %w", i, err)
		}
		if b.Content < 0 || b.Content >= len(contents) || (b.Object != nil && (*b.Object < 0 || *b.Object >= len(objects))) {
			return s, fmt.Errorf("snapshot: bundle %d (%s) refers to what is not in the file", i, at)
		}
		nb := inspect.Bundle{At: at, Content: contents[b.Content]}
		if b.Object != nil {
			nb.Object = objects[*b.Object]
		}
		if !f.Outlined && at.Node != "" && at.Field == "" {
			nb.Content = unoutlined(nb.Content)
		}
		s.Bundles = append(s.Bundles, nb)
	}
	for i, r := range f.Requests {
		if r.Object < 0 || r.Object >= len(objects) {
			return s, fmt.Errorf("snapshot: request %d refers to what is not in the file", i)
		}
		s.Requests = append(s.Requests, inspect.SigningRequest{
			Object: objects[r.Object], Signer: r.Signer, Requester: r.Requester, Condition: r.Condition,
			Since: r.Since, Reason: r.Reason, Request: r.Request, Bad: r.Bad,
		})
	}
	for _, n := range f.Nodes {
		s.Nodes = append(s.Nodes, n.unpack())
	}
	for _, n := range f.Unasked {
		s.Unasked = append(s.Unasked, n.unpack())
	}
	for i, served := range f.Served {
		chain := inspect.Served{Node: served.Node, Address: served.Address, Name: served.Name, Server: served.Server, Of: served.Of, Problem: served.Problem}
		for _, n := range served.Chain {
			if n < 0 || n >= len(certs) {
				return s, fmt.Errorf("snapshot: served chain %d refers to what is not in the file", i)
			}
			if tooLarge[n] != "" {
				return s, fmt.Errorf("snapshot: served chain %d: certificate %d: %s", i, n, tooLarge[n])
			}
			chain.Chain = append(chain.Chain, certs[n])
		}
		if len(chain.Chain) == 0 && chain.Problem == "" {
			return s, fmt.Errorf("snapshot: handshake %d has neither a chain nor a reason why not", i)
		}
		s.Served = append(s.Served, chain)
	}
	for i, r := range f.Reported {
		at, err := pki.ParseLocation(r.At)
		if err != nil {
			return s, fmt.Errorf("snapshot: report %d: %w", i, err)
		}
		s.Reported = append(s.Reported, inspect.Reported{At: at, Bundle: r.Bundle, Subject: r.Subject, Signer: r.Signer, NotBefore: r.NotBefore, NotAfter: r.NotAfter})
	}
	for i, r := range f.References {
		from, err := pki.ParseLocation(r.From)
		to, err2 := pki.ParseLocation(r.To)
		if err := errors.Join(err, err2); err != nil {
			return s, fmt.Errorf("snapshot: reference %d: %w", i, err)
		}
		s.References = append(s.References, inspect.Reference{From: from, To: to, Target: r.Target})
	}
	for i, e := range f.Exposed {
		at, err := pki.ParseLocation(e.At)
		if err != nil {
			return s, fmt.Errorf("snapshot: log %d: %w", i, err)
		}
		s.Exposed = append(s.Exposed, inspect.Exposed{At: at, Mode: e.Mode, Tokens: e.Tokens, Keys: e.Keys, First: e.First, Last: e.Last})
	}
	for i, l := range f.ServerLogs {
		at, err := pki.ParseLocation(l.At)
		if err != nil {
			return s, fmt.Errorf("snapshot: server log %d: %w", i, err)
		}
		log := inspect.ServerLog{At: at, Row: l.Row, From: l.From, To: l.To}
		for _, r := range l.Refused {
			if _, err := netip.ParseAddr(r.Client); err != nil {
				return s, fmt.Errorf("snapshot: server log %d: %w", i, err)
			}
			log.Refused = append(log.Refused, inspect.Refused(r))
		}
		s.ServerLogs = append(s.ServerLogs, log)
	}
	for _, l := range f.Listed {
		s.Listed = append(s.Listed, inspect.Listed(l))
	}
	for _, r := range f.Reads {
		s.Reads = append(s.Reads, inspect.Read{What: r.What, Where: r.Where, Objects: r.Objects, Skipped: r.Skipped, Note: sentence(r.fact())})
	}
	for _, g := range f.Gaps { // its next step was for who took the file, and for the cluster of then
		s.Gaps = append(s.Gaps, inspect.Gap{What: g.What, Where: g.Where, Reason: g.Reason})
	}
	if s.Access, err = f.Access.unpack(); err != nil {
		return s, fmt.Errorf("snapshot: access: %w", err)
	}
	return s, nil
}

// unoutlined is a file on a node of which it is not known what stayed there beside its
// certificates: OpenSSL may load none of them.
func unoutlined(c *pki.Content) *pki.Content {
	const why = "the snapshot is from an older certrot, which does not say what stands beside it in the file"
	_, skipped := c.LoadedBy(pki.ReaderOpenSSL)
	known := map[pki.Fingerprint]bool{}
	for _, s := range skipped {
		known[s.Fingerprint] = true
	}
	out := *c
	out.Skipped = slices.Clone(c.Skipped)
	for _, cert := range c.Certs {
		if !known[cert.Fingerprint] {
			out.Skipped = append(out.Skipped, pki.Skipped{Cert: cert, By: []pki.Reader{pki.ReaderOpenSSL}, Reason: why})
		}
	}
	return &out
}

func unpackContents(packed []fileContent, certs []*pki.Cert, tooLarge map[int]string) ([]*pki.Content, error) {
	out := make([]*pki.Content, len(packed))
	for i, fc := range packed {
		c := &pki.Content{Requests: fc.Requests}
		for _, n := range fc.Certificates {
			if n < 0 || n >= len(certs) {
				return nil, fmt.Errorf("snapshot: content %d refers to certificate %d of %d", i, n, len(certs))
			}
			if why := tooLarge[n]; why != "" {
				c.Bad = append(c.Bad, pki.BadBlock{Index: -1, Type: "CERTIFICATE", Reason: why})
				continue
			}
			c.Certs = append(c.Certs, certs[n])
		}
		for _, k := range fc.Keys {
			c.Keys = append(c.Keys, pki.Key(k))
		}
		for _, l := range fc.CRLs {
			list := pki.CRL(l)
			c.CRLs = append(c.CRLs, &list)
		}
		for _, l := range fc.Locked {
			c.Locked = append(c.Locked, pki.Locked(l))
		}
		for _, b := range fc.Bad {
			c.Bad = append(c.Bad, pki.BadBlock(b))
		}
		for _, s := range fc.Skipped {
			if s.Certificate < 0 || s.Certificate >= len(certs) {
				return nil, fmt.Errorf("snapshot: content %d refers to certificate %d of %d", i, s.Certificate, len(certs))
			}
			if tooLarge[s.Certificate] != "" {
				continue // it is among the bad blocks
			}
			c.Skipped = append(c.Skipped, pki.Skipped{Cert: certs[s.Certificate], By: s.By, Reason: s.Reason})
		}
		out[i] = c
	}
	return out, nil
}
