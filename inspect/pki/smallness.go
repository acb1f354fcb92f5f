package pki

import (
	"fmt"
	"io"
)

// A value of some kilobytes unpacks to megabytes, and holds hundreds of thousands of places. What
// its own length accounts for is its own; what is beyond that, all values of a run share, so that
// many such values cost no more than a few.
const (
	// unpackedPerByte and unpackedAtLeast are what a value may unpack to by itself: text and
	// certificates unpack to ten times their length at most.
	unpackedPerByte = 12
	unpackedAtLeast = 4 << 10
	maxUnpackedMore = 64 << 20 // of all values, beyond that
	// bytesPerThing and thingsAtLeast are what a value may hold by itself: no key or field takes
	// less where it is not compressed, and no certificate, request or revocation list less than
	// thingsPerCert of that.
	bytesPerThing = 12
	thingsPerCert = 16
	thingsAtLeast = 16
	maxThingsMore = 100_000 // in all places, beyond that
	maxCertsMore  = 20_000  // that are parsed, beyond that
	// bytesPerWork and workAtLeastPerValue are what verifying the self-signed certificates of a
	// value may cost by itself, in units of Cert.cost: more than the usual keys do, each of which
	// takes several hundred bytes. Keys of P-521, and of RSA above 8192 bits, cost more.
	bytesPerWork        = 8
	workAtLeastPerValue = 100
	maxWorkMore         = 600_000 // some 10 s, beyond that
	// yamlPerByte and yamlAtLeast are how many bytes of YAML are parsed of a value for its length:
	// each layer of it, and a kubeconfig once more. Parsing a megabyte takes half a second.
	yamlPerByte = 4
	yamlAtLeast = 4 << 10
	maxYAMLMore = 8 << 20 // of all values, beyond that
)

// smallness is what may still be spent on values that are far smaller than what is in them.
type smallness struct{ unpacked, things, certs, work, yaml budget }

// CutShort says why not all of a value was read; empty: all was.
func (c *Content) CutShort() string {
	for _, b := range c.Bad {
		if b.Index < 0 && b.Type == typeValue {
			return b.Reason
		}
	}
	return ""
}

// overLimit says that a certificate was not read, because others of the run took what may be spent.
type overLimit string

func (o overLimit) Error() string { return string(o) }

// parse reads a certificate for what may be spent on the value, and on all values.
func (w *walk) parse(der []byte) (*Cert, error) {
	if w.ownCerts--; w.ownCerts < 0 && !w.scanner.small.certs.take(1) {
		return nil, overLimit(fmt.Sprintf("the limit of %d certificates in compressed values of this run was reached before it: it holds others, which were not read", maxCertsMore))
	}
	return w.scanner.cert(der, w.verify)
}

// verify charges for verifying a signature.
func (w *walk) verify(cost int) error {
	more := min(cost, cost-w.ownWork)
	w.ownWork = max(w.ownWork-cost, 0)
	if more > 0 && !w.scanner.small.work.take(int64(more)) {
		return overLimit("the limit of work for self-signed certificates of this run was reached before it: it holds others, which were not read")
	}
	return nil
}

var errMuchYAML = fmt.Errorf("the limit of %d MiB of YAML in compressed values of this run was reached before it", maxYAMLMore>>20)

// payYAML charges for parsing so many bytes of YAML, and reports false if that is too much.
func (w *walk) payYAML(n int) bool {
	more := min(n, n-w.ownYAML)
	w.ownYAML = max(w.ownYAML-n, 0)
	return more <= 0 || w.scanner.small.yaml.take(int64(more))
}

func (s *smallness) fill() {
	s.unpacked.left.Store(maxUnpackedMore)
	s.things.left.Store(maxThingsMore)
	s.certs.left.Store(maxCertsMore)
	s.work.left.Store(maxWorkMore)
	s.yaml.left.Store(maxYAMLMore)
}

// keep returns what was found in a value of that length, or, where that is too much, as much of
// it as its length accounts for, and that there is more. A value is counted in each place.
func (s *smallness) keep(found []Found, length int) []Found {
	own, all := thingsAtLeast+length/bytesPerThing, 0
	for _, f := range found {
		all += f.things()
	}
	if all <= own || s.things.take(int64(all-own)) {
		return found
	}
	rest := BadBlock{Index: -1, Type: typeValue, Reason: fmt.Sprintf("the limit of %d certificates, keys and fields in compressed values of this run was reached before it: what it holds was not all read", maxThingsMore)}
	whole := &Content{}
	kept := []Found{{Content: whole}}
	for _, f := range found {
		if own -= f.things(); own < 0 {
			break
		}
		if f.Field == "" {
			*whole = *f.Content
			continue
		}
		kept = append(kept, f)
	}
	whole.Bad = append(whole.Bad[:len(whole.Bad):len(whole.Bad)], rest)
	return kept
}

// things is how many things were found in a field, and the field itself. A certificate weighs what
// it takes.
func (f *Found) things() int {
	c := f.Content
	return 1 + thingsPerCert*(len(c.Certs)+len(c.Requests)+len(c.CRLs)) + len(c.Keys) + len(c.Locked) + len(c.Bad)
}

// unpacking reads what a value unpacks to, up to what may be spent on it.
type unpacking struct {
	from io.Reader
	w    *walk
	over bool // of all values
}

func (u *unpacking) Read(p []byte) (int, error) {
	p = p[:min(len(p), u.w.unpacked)]
	if len(p) == 0 {
		return 0, io.EOF
	}
	n, err := u.from.Read(p)
	if more := n - u.w.ownUnpacked; more > 0 && !u.w.scanner.small.unpacked.take(int64(more)) {
		n, err, u.over = u.w.ownUnpacked, io.EOF, true
	}
	u.w.ownUnpacked = max(u.w.ownUnpacked-n, 0)
	u.w.unpacked -= n
	return n, err
}
