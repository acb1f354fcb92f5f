package collect

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// The snapshot file is gzipped JSON, described in docs/snapshot.md. Certificates
// are stored once, as DER; what several places share is stored once too. The
// types here are the file's, apart from inspect's, so that a change there does
// not change files silently.
const (
	// snapshotAPIVersion is the version of the snapshot file that is written.
	snapshotAPIVersion = "certrot/v1alpha2"
	// snapshotV1 is that of files without a status, which are read too.
	snapshotV1 = "certrot/v1alpha1"
	// snapshotKind is the kind of the snapshot file.
	snapshotKind = "Snapshot"
	// maxSnapshot bounds a snapshot's size when unpacked, and maxElements each list; all lists together are
	// bounded by boundsOfSnapshots.
	maxSnapshot = 256 << 20
	maxElements = 2_000_000
	maxNodes    = 10_000 // twice what Kubernetes supports in one cluster
	// maxThings bounds what all places hold together, counted in each: two bundles of the 150 CAs of
	// a system in each of 10,000 namespaces are 3 million.
	maxThings = 4_000_000
)

// ErrCutOff is the error of a snapshot of which the end is missing.
var ErrCutOff = errors.New("it is cut off")

type snapshotFile struct {
	APIVersion   string          `json:"apiVersion"`
	Kind         string          `json:"kind"`
	Taken        time.Time       `json:"taken"`
	Cluster      fileCluster     `json:"cluster"`
	Certificates [][]byte        `json:"certificates"` // DER
	Contents     []fileContent   `json:"contents"`
	Objects      []fileObject    `json:"objects"`
	MoreLabels   []int           `json:"moreLabels,omitempty"` // indices of objects not all of whose labels are there
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
	Status       *fileStatus     `json:"status,omitempty"` // since v1alpha2
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
	At            string                `json:"at"`
	Object        *int                  `json:"object,omitempty"` // index
	Content       int32                 `json:"content"`          // index
	FailurePolicy inspect.FailurePolicy `json:"failurePolicy,omitempty"`
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
	LeftOut bool          `json:"leftOut,omitempty"`
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
	return writeSnapshot(w, s, boundsOfSnapshots())
}

func writeSnapshot(w io.Writer, s inspect.Snapshot, bounds snapshotBounds) error {
	if err := boundNodes(s); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if err := boundThings(s.Bundles); err != nil {
		return fmt.Errorf("the snapshot would be one that no certrot reads: %w; most of them are in: %s", err, mostThings(s.Bundles))
	}
	zw, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	count := &countedJSON{to: zw, bounds: bounds}
	bounded := &boundedWriter{to: count, left: bounds.size}
	f := packSnapshot(s)
	switch err := json.NewEncoder(bounded).Encode(f); {
	case bounded.left < 0:
		return fmt.Errorf("the snapshot would have more than %d bytes unpacked, which no certrot reads; most bytes are of: %s", bounds.size, mostBytes(s.Bundles, f))
	case count.err != nil:
		return fmt.Errorf("the snapshot would be one that no certrot reads: %w; most bytes are of: %s", count.err, mostBytes(s.Bundles, f))
	case err != nil:
		return fmt.Errorf("encode snapshot: %w", err)
	}
	return zw.Close()
}

// boundedWriter writes no more than a reader takes.
type boundedWriter struct {
	to   io.Writer
	left int
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, io.ErrShortWrite
	}
	return b.to.Write(p)
}

// readSnapshot reads what WriteSnapshot wrote, unpacked already.
func readSnapshot(r io.Reader) (inspect.Snapshot, error) {
	return readSnapshotWithin(r, boundsOfSnapshots())
}

func readSnapshotWithin(r io.Reader, bounds snapshotBounds) (inspect.Snapshot, error) {
	var f snapshotFile
	limited := &io.LimitedReader{R: &countedJSON{from: r, bounds: bounds}, N: int64(bounds.size)}
	if err := f.decode(json.NewDecoder(limited)); err != nil {
		if limited.N <= 0 {
			return inspect.Snapshot{}, fmt.Errorf("snapshot is larger than %d bytes unpacked", bounds.size)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return inspect.Snapshot{}, fmt.Errorf("decode snapshot: %w", ErrCutOff)
		}
		return inspect.Snapshot{}, fmt.Errorf("decode snapshot: %w", untimed(err))
	}
	switch {
	case f.Kind == snapshotKind && f.APIVersion == snapshotAPIVersion:
	case f.Kind == snapshotKind && f.APIVersion == snapshotV1:
		f.Status = nil // that version has none, whatever the file says
	default:
		return inspect.Snapshot{}, fmt.Errorf("file is a %q of version %q; this certrot reads %q of versions %q and %q", f.Kind, f.APIVersion, snapshotKind, snapshotV1, snapshotAPIVersion)
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
		case "moreLabels":
			f.MoreLabels, err = readJSONItems[int](dec, maxElements)
		case "bundles":
			f.Bundles, err = readJSONItems[fileBundle](dec, maxElements)
		case "requests":
			f.Requests, err = readJSONItems[fileRequest](dec, maxElements)
		case "nodes":
			f.Nodes, err = readJSONItems[fileNode](dec, maxNodes)
		case "unasked":
			f.Unasked, err = readJSONItems[fileNode](dec, maxNodes)
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
		case "status":
			err = dec.Decode(&f.Status)
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
