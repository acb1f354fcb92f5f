package pki

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// typeValue is the type of a BadBlock that says that reading was cut short.
const typeValue = "value"

// maxBad limits how many bad blocks of one value are listed one by one.
const maxBad = 100

// maxFields limits in how many fields of one value something is found, and maxInField how many
// certificates, or keys, or the like, are in one of them: what is compressed has millions in some
// kilobytes.
const (
	maxFields  = 10_000
	maxInField = 10_000
)

// keep adds to what a field holds, up to maxInField.
func keep[T any](e *entry, have []T, more ...T) []T {
	if room := maxInField - len(have); len(more) > room {
		e.left += len(more) - room
		more = more[:room]
	}
	return append(have, more...)
}

// results collects what a value holds, by field, in document order. Most values
// hold one field, and of some there are tens of thousands: that takes no map.
type results struct {
	order  []*entry
	fields map[string]*entry // the same as order, once that is longer than fewFields
	left   int               // how often something was found in a field beyond maxFields
}

// fewFields is up to how many fields looking at each of them is as fast as a map.
const fewFields = 8

// entry is the content of one field while it is being read.
type entry struct {
	field   string
	content *Content // handed over by found
	blocks  int      // seen so far: the index of the next one
	unsaid  int      // bad blocks beyond maxBad
	left    int      // certificates, keys and the like beyond maxInField
	skips   []skip   // copies of certificates, each by itself
}

// at returns the entry of a field, at its first use a new one.
func (r *results) at(field string) *entry {
	if e, ok := r.fields[field]; ok {
		return e
	}
	if r.fields == nil {
		for _, e := range r.order {
			if e.field == field {
				return e
			}
		}
	}
	e := &entry{field: field, content: &Content{}}
	if len(r.order) >= maxFields && field != "" {
		r.left++
		return e // what goes there is lost, and said
	}
	r.order = append(r.order, e)
	switch {
	case r.fields != nil:
		r.fields[field] = e
	case len(r.order) > fewFields:
		r.fields = make(map[string]*entry, 2*len(r.order))
		for _, e := range r.order {
			r.fields[e.field] = e
		}
	}
	return e
}

// found returns everything that is not empty. The results are used up by it.
func (r *results) found() []Found {
	if r.left > 0 {
		r.at("").badOnce(BadBlock{Index: -1, Type: typeValue, Reason: fmt.Sprintf("more than %d fields of it hold certificates or keys: the others were not read", maxFields)})
	}
	n := 0
	for _, e := range r.order {
		if !e.content.Empty() {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	list := make([]Found, 0, n) // no larger than needed: results live as long as the scanner
	for _, e := range r.order {
		if e.content.Empty() {
			continue
		}
		slices.SortStableFunc(e.content.Bad, byIndex)
		if e.unsaid > 0 {
			e.content.Bad = append(e.content.Bad, BadBlock{
				Index: -1, Type: "PEM", Reason: fmt.Sprintf("%d more blocks can't be read", e.unsaid),
			})
		}
		if e.left > 0 {
			e.badOnce(BadBlock{Index: -1, Type: typeValue, Reason: fmt.Sprintf("it holds more than %d certificates or keys: %d were left out", maxInField, e.left)})
		}
		e.content.Skipped = e.skipped()
		list = append(list, Found{Field: e.field, Content: e.content})
	}
	return list
}

// byIndex puts blocks in order, and after them what concerns the whole value.
func byIndex(a, b BadBlock) int {
	if (a.Index < 0) != (b.Index < 0) {
		return cmp.Compare(b.Index, a.Index)
	}
	return cmp.Compare(a.Index, b.Index)
}

// next counts a block and returns its index.
func (e *entry) next() int {
	e.blocks++
	return e.blocks - 1
}

func (e *entry) bad(index int, kind, reason string) {
	if len(e.content.Bad) >= maxBad {
		e.unsaid++
		return
	}
	e.content.Bad = append(e.content.Bad, BadBlock{Index: index, Type: kind, Reason: reason})
}

// badOnce notes something of the whole value, unless it is noted already.
func (e *entry) badOnce(b BadBlock) {
	if !slices.Contains(e.content.Bad, b) {
		e.content.Bad = append(e.content.Bad, b)
	}
}

// absorb takes over everything that more holds.
func (r *results) absorb(more *results) {
	r.left += more.left
	for _, from := range more.order {
		if from.content.Empty() && from.unsaid == 0 && from.blocks == 0 {
			continue
		}
		e := r.at(from.field)
		e.content.Certs = keep(e, e.content.Certs, from.content.Certs...)
		e.content.Requests = keep(e, e.content.Requests, from.content.Requests...)
		e.content.Keys = keep(e, e.content.Keys, from.content.Keys...)
		e.content.CRLs = keep(e, e.content.CRLs, from.content.CRLs...)
		e.content.Locked = keep(e, e.content.Locked, from.content.Locked...)
		for _, b := range from.content.Bad {
			if b.Index >= 0 {
				e.bad(e.blocks+b.Index, b.Type, b.Reason)
			} else {
				e.badOnce(b)
			}
		}
		e.skips = append(e.skips, from.skips...)
		e.blocks += from.blocks
		e.unsaid += from.unsaid
		e.left += from.left
	}
}

// addMissing takes over what more finds and r does not have yet, as content of
// the given field. Bad blocks are left out: what is bad in a raw reading is
// mostly fine in the right one. That reading was cut short is kept.
func (r *results) addMissing(field string, more *results) {
	seen := r.seen()
	for _, e := range more.order {
		for _, c := range e.content.Certs {
			if isNew(seen.der, c.Fingerprint) {
				to := r.at(field)
				to.content.Certs = keep(to, to.content.Certs, c)
				to.skip(c.Fingerprint, whyBeside, Readers()...)
			}
		}
		for _, k := range e.content.Keys {
			if isNew(seen.keys, k) {
				r.at(field).content.Keys = keep(r.at(field), r.at(field).content.Keys, k)
			}
		}
		for _, q := range e.content.Requests {
			if isNew(seen.requests, q.SPKI) {
				r.at(field).content.Requests = keep(r.at(field), r.at(field).content.Requests, q)
			}
		}
		for _, l := range e.content.CRLs {
			if isNew(seen.der, l.Fingerprint) {
				r.at(field).content.CRLs = keep(r.at(field), r.at(field).content.CRLs, l)
			}
		}
		for _, l := range e.content.Locked {
			if seen.lock(l) {
				r.at(field).content.Locked = keep(r.at(field), r.at(field).content.Locked, l)
			}
		}
		for _, b := range e.content.Bad {
			if b.Type == typeValue {
				r.at(field).badOnce(b)
			}
		}
	}
}

// identities are those of things found.
type identities struct {
	der      map[Fingerprint]bool // of certificates and revocation lists
	keys     map[Key]bool
	requests map[Fingerprint]bool
	locked   map[Locked]bool // mostly nil
}

// lock is isNew for what is locked.
func (ids *identities) lock(l Locked) bool {
	if ids.locked == nil {
		ids.locked = map[Locked]bool{}
	}
	return isNew(ids.locked, l)
}

// isNew adds an id, and reports whether it was not there.
func isNew[T comparable](ids map[T]bool, id T) bool {
	if ids[id] {
		return false
	}
	ids[id] = true
	return true
}

// seen returns the identities of everything found.
func (r *results) seen() identities {
	ids := identities{der: map[Fingerprint]bool{}, keys: map[Key]bool{}, requests: map[Fingerprint]bool{}}
	for _, e := range r.order {
		for _, c := range e.content.Certs {
			ids.der[c.Fingerprint] = true
		}
		for _, k := range e.content.Keys {
			ids.keys[k] = true
		}
		for _, q := range e.content.Requests {
			ids.requests[q.SPKI] = true
		}
		for _, l := range e.content.CRLs {
			ids.der[l.Fingerprint] = true
		}
		for _, l := range e.content.Locked {
			ids.lock(l)
		}
	}
	return ids
}

// A value of some kilobytes unpacks to megabytes, and holds hundreds of thousands of places. What
// its own length accounts for is its own; what is beyond that, all values of a run share, so that
// many such values cost no more than a few.
const (
	shareOfOne = 3 // of what tenants may spend together, one of them may spend one in so many
	// unpackedPerByte and unpackedAtLeast are what a value may unpack to by itself: text and
	// certificates unpack to ten times their length at most.
	unpackedPerByte = 12
	unpackedAtLeast = 4 << 10
	maxUnpackedMore = 64 << 20 // of all values, beyond that
	// bytesPerThing and thingsAtLeast are what a value may hold by itself: no key or field takes
	// less where it is not compressed, no certificate, request or list less than thingsPerCert of that.
	bytesPerThing = 12
	thingsPerCert = 16
	thingsAtLeast = 16
	maxThingsMore = 100_000 // in all places, beyond that
	maxCertsMore  = 20_000  // that are parsed, beyond that, with requests
	// maxKept is about how many bytes of memory all tenants' values may take, compressed or not, and maxKeptOfOne
	// those of one namespace. Where the others took all, those that have at most keptOfSmall take
	// from maxKeptOfSmall, which others leave to them.
	maxKept        = 500 << 20
	maxKeptOfOne   = 200 << 20
	keptOfSmall    = 5 << 20
	maxKeptOfSmall = 200 << 20
	// namedOfOne is how many values of a namespace are named that were not read because of that: each takes memory.
	namedOfOne = 100
	// elementsPerCert are those of an ordinary certificate: of one with more, each so many count as another.
	elementsPerCert = 150
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

// CutShort says why not all of a value was read; empty: all was.
func (c *Content) CutShort() string {
	for _, b := range c.Bad {
		if b.Index < 0 && b.Type == typeValue {
			return b.Reason
		}
	}
	return ""
}

// CutByOthers reports whether not all of a value was read because others were before it.
func (c *Content) CutByOthers() bool {
	return strings.HasPrefix(c.CutShort(), "the limit of memory for values of ")
}

// overLimit says that a certificate was not read, because others of the run took what may be spent.
type overLimit string

func (o overLimit) Error() string { return string(o) }

// parse reads a certificate for what may be spent on the value, and on all values.
func (w *walk) parse(der []byte) (*Cert, error) {
	if err := w.keepNames(der, "certificates"); err != nil {
		return nil, err
	}
	return w.scanner.cert(der, w.verify)
}

// keepNames charges for a certificate or a request, whose names stay in memory.
func (w *walk) keepNames(der []byte, what string) error {
	more := weight(der) - w.ownCerts
	if w.ownCerts = max(-more, 0); more > 0 && !w.scanner.small.certs.take(int64(more)) {
		whose := w.scanner.spentBy(func(s *smallness) *budget { return &s.certs }, int64(more))
		return overLimit("the limit of " + what + " in compressed values of " + whose + " was reached before it: it holds others, which were not read")
	}
	return nil
}

// weight is how many ordinary certificates one counts as.
func weight(der []byte) int { return 1 + elements(der)/elementsPerCert }

// verify charges for verifying a signature.
func (w *walk) verify(cost int) error {
	more := min(cost, cost-w.ownWork)
	w.ownWork = max(w.ownWork-cost, 0)
	if more > 0 && !w.scanner.small.work.take(int64(more)) {
		whose := w.scanner.spentBy(func(s *smallness) *budget { return &s.work }, int64(more))
		return overLimit("the limit of work for self-signed certificates of " + whose + " was reached before it: it holds others, which were not read")
	}
	return nil
}

// payYAML charges for parsing so many bytes of YAML. The error is that this is too much.
func (w *walk) payYAML(n int) error {
	more := min(n, n-w.ownYAML)
	w.ownYAML = max(w.ownYAML-n, 0)
	if more > 0 && !w.scanner.small.yaml.take(int64(more)) {
		whose := w.scanner.spentBy(func(s *smallness) *budget { return &s.yaml }, int64(more))
		return errors.New("the limit of YAML in compressed values of " + whose + " was reached before it")
	}
	return nil
}

// keep returns what was found in a value of that length, or, where that is too much, as much of
// it as its length accounts for, and that there is more. A value is counted in each place.
func (s *Scanner) keep(found []Found, length int) []Found {
	own, all := thingsAtLeast+length/bytesPerThing, 0
	for _, f := range found {
		all += f.things()
	}
	if all <= own || s.small.things.take(int64(all-own)) {
		return found
	}
	whose := s.spentBy(func(s *smallness) *budget { return &s.things }, int64(all-own))
	rest := BadBlock{Index: -1, Type: typeValue, Reason: "the limit of certificates, keys and fields in compressed values of " + whose + " was reached before it: what it holds was not all read"}
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
