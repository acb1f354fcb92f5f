// Package pki finds and describes certificates in bytes: PEM of any kind and
// number, DER, base64 in text, kubeconfigs and other JSON/YAML documents.
//
// Keystores (PKCS#12, JKS, JCEKS), PKCS#7 messages and revocation lists are read,
// too.
//
// It does no IO, knows nothing of Kubernetes or OpenShift, and refuses to hold
// private keys: of a key it keeps the sha256 of its public half, which answers
// "does it match?", and nothing else. Malformed input is data (BadBlock), never
// a Go error, and never a panic.
//
// # What Scan finds
//
// A value is tried, in this order, as
//
//   - gzip, a Java keystore, DER (certificates one after another, requests, keys,
//     revocation lists, PKCS#7, PKCS#12), BER of the last two,
//   - a data: URL, base64 throughout (standard or URL alphabet, wrapped or not),
//   - a stream of JSON or YAML documents, each string of which is a value again,
//   - text, with PEM blocks and stretches of base64 in it; what base64 decodes to
//     is a value again.
//
// Values nest up to six deep. A document is read once more as text, which adds
// what its structure does not show, such as a certificate in a comment.
//
// PEM is read more tolerantly than programs do, who may want a BEGIN line to
// start a line, or can't read \n and %0A: what they skip is often what an
// incident is about. A value that is PEM, and holds a certificate that
// encoding/pem skips, gets a BadBlock beside the certificate.
//
// Of a JKS, certificates are read without its password. What is encrypted in a
// PKCS#12 is tried with usual passwords, and with those that Unlock is given; the
// rounds of key derivation have a bound, for a value and for all, whatever a file
// asks for. What is costly does not spend what is kept for the ordinary. What stays
// closed is Locked.
//
// The time that reading takes is proportional to the size of the value, what
// gzip unpacks to (at most 32 MiB) included. Where a limit cuts reading short, a
// BadBlock of type "value" says so.
package pki

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// Scanner finds certificates in values. It parses each distinct certificate,
// and reads each distinct value, once: a cluster holds the same CA bundle in
// thousands of places. It is safe for concurrent use.
type Scanner struct {
	*memory
	ctx   context.Context // ends the reading; nil: nothing does (see Within)
	small *smallness      // of those in memory
}

// memory is what was read so far, which scanners share.
type memory struct {
	mu     sync.Mutex
	certs  map[Fingerprint]*Cert
	values map[Fingerprint][]Found // by sha256 of the value; only values that hold something
	words  map[string]string       // subjects and issuers, shared
	usages map[string][]string     // usage lists, shared
	opened map[Fingerprint][]Found // by sha256 of a value, what Unlock found; nil: no one asked yet
	// trusted is what may be spent on the platform's values, tenants on those of all tenants, and writers
	// on those of one of them, by its name.
	trusted, tenants smallness
	writers          map[string]*smallness
	spare            budget             // what stays in memory of those that have little, once others took tenants.kept
	most             map[*budget]string // whose values spent most of what tenants have, once it is spent
}

// smallness is what may still be spent on values that are far smaller than what is in them, and on keystores.
type smallness struct {
	whose                               string // of whose values it is said that it was spent
	unpacked, things, certs, work, yaml budget
	kept                                budget  // bytes that stay in memory, of values of any length
	rounds                              budgets // of key derivation
	// full is in the place of each value that is read after kept was spent, of which named were named.
	full  atomic.Pointer[Content]
	named atomic.Int64
	// cut are the values that were cut short because this was spent; nil: no other's is left, so that
	// they are in memory.values.
	cut map[Fingerprint][]Found
}

// all are the budgets of a smallness.
func (s *smallness) all() []*budget {
	r := &s.rounds
	return []*budget{&s.unpacked, &s.things, &s.certs, &s.work, &s.yaml, &s.kept, &r.cheapBeside, &r.cheapUsual, &r.costlyBeside, &r.costlyUsual}
}

// fill gives each budget its share of what all values of the platform's may spend: one in so many.
func (s *smallness) fill(whose string, share, ofRounds int64) {
	s.whose, s.cut = whose, map[Fingerprint][]Found{}
	s.unpacked.left.Store(maxUnpackedMore / share)
	s.things.left.Store(maxThingsMore / share)
	s.certs.left.Store(maxCertsMore / share)
	s.work.left.Store(maxWorkMore / share)
	s.yaml.left.Store(maxYAMLMore / share)
	s.kept.left.Store(math.MaxInt64)
	s.rounds.fill(ofRounds)
}

// NewScanner returns an empty Scanner.
func NewScanner() *Scanner {
	s := &memory{
		certs:   map[Fingerprint]*Cert{},
		values:  map[Fingerprint][]Found{},
		words:   map[string]string{},
		usages:  map[string][]string{},
		writers: map[string]*smallness{},
		most:    map[*budget]string{},
	}
	s.trusted.fill("this run", 1, 1)
	s.trusted.cut = nil
	s.tenants.fill("tenants", 1, roundsOfTenants)
	s.tenants.kept.left.Store(maxKept)
	s.spare.left.Store(maxKeptOfSmall)
	return &Scanner{memory: s, small: &s.trusted}
}

// Apart returns the same scanner for the values of one of many writers, such as a tenant's namespace. What
// each spends is counted alone, and what all of them do together, so that they leave others readable: those
// of the platform, and each other's.
func (s *Scanner) Apart(namespace string) *Scanner {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.writers[namespace]
	if own == nil {
		own = &smallness{}
		own.fill("namespace "+foreign.Name(namespace), shareOfOne, roundsOfTenants*roundsOfOne)
		for i, b := range own.all() {
			b.beyond = s.tenants.all()[i]
		}
		own.kept.left.Store(maxKeptOfOne)
		own.kept.spare, own.kept.spareFrom = &s.spare, maxKeptOfOne-keptOfSmall
		s.writers[namespace] = own
	}
	return &Scanner{memory: s.memory, ctx: s.ctx, small: own}
}

// Alone returns the same scanner for the values of one writer, such as root on a worker node. What they cost
// is counted alone, so that they leave those of all others readable.
func (s *Scanner) Alone() *Scanner {
	own := &smallness{}
	own.fill("this node", 1, roundsOfTenants*roundsOfOne)
	return &Scanner{memory: s.memory, ctx: s.ctx, small: own}
}

// Within returns the same scanner for a reading that ends with ctx: what it
// remembers is shared. Of a value that is being read then, the rest is left out, and a BadBlock of
// type "value" has the cause of ctx.
func (s *Scanner) Within(ctx context.Context) *Scanner {
	return &Scanner{memory: s.memory, ctx: ctx, small: s.small}
}

// Over says why reading ended; nil: it goes on.
func (s *Scanner) Over() error {
	if s.ctx == nil || s.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("reading ended before its end: %w", context.Cause(s.ctx))
}

// Stats returns the number of distinct certificates and of distinct values with
// certificates seen so far.
func (s *Scanner) Stats() (certs, values int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.certs), len(s.values)
}

// Scan returns everything certificate-like in one value, in document order, and
// nothing when there is nothing. See the package comment for what it finds.
//
// It never fails and never panics: what is malformed is reported as a BadBlock.
// It keeps neither data nor any byte of a private key. Results are shared and
// must not be changed.
func (s *Scanner) Scan(data []byte) []Found {
	if !mayHold(data) {
		return nil
	}
	if full := s.small.full.Load(); full != nil {
		return s.unread(full)
	}
	id := FingerprintOf(data)
	s.mu.Lock()
	found, ok := s.values[id]
	if !ok {
		found, ok = s.small.cut[id]
	}
	s.mu.Unlock()
	if !ok {
		found = scan(s, data, nil)
	}
	if full := s.stay(found, !ok); full != nil {
		return s.unread(full)
	}
	if !ok {
		found = s.remember(id, found)
	}
	return s.keep(found, len(data))
}

// remember keeps what was found in a value for other places that hold it.
func (s *Scanner) remember(id Fingerprint, found []Found) []Found {
	if len(found) == 0 || holdsOnlyKey(found) || s.Over() != nil {
		return found
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if earlier, ok := s.values[id]; ok {
		return earlier
	}
	values := s.values
	if s.small.cut != nil && slices.ContainsFunc(found, func(f Found) bool { return f.Content.CutShort() != "" || f.Content.lockedByLimit() }) {
		values = s.small.cut // more of it may be read elsewhere
	}
	values[id] = found
	return found
}

// Unlock is Scan for a value whose keystores Scan left locked: it tries these
// passwords on them, in their order. It keeps none of them.
//
// What it finds is shared with other places of the same value that were opened,
// but Scan does not return it: whether a place is open is decided by what lies
// there, not by what was read before.
func (s *Scanner) Unlock(data []byte, passwords [][]byte) []Found {
	full := s.small.full.Load()
	if full == nil {
		found := scan(s, data, passwords)
		if full = s.stay(found, true); full == nil {
			return s.keep(s.rememberOpened(data, found), len(data))
		}
	}
	return []Found{{Content: full}} // the place is there already
}

func (s *Scanner) rememberOpened(data []byte, found []Found) []Found {
	if s.Over() != nil {
		return found
	}
	id := FingerprintOf(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if earlier, ok := s.opened[id]; ok && slices.EqualFunc(earlier, found, isSame) {
		return earlier
	}
	if s.opened == nil {
		s.opened = map[Fingerprint][]Found{}
	}
	s.opened[id] = found
	return found
}

// isSame compares two readings of the same bytes.
func isSame(a, b Found) bool {
	return a.Field == b.Field && slices.Equal(a.Content.Certs, b.Content.Certs) && slices.Equal(a.Content.Keys, b.Content.Keys) &&
		slices.Equal(a.Content.Locked, b.Content.Locked) && len(a.Content.CRLs) == len(b.Content.CRLs)
}

// holdsOnlyKey reports that there is nothing worth remembering: a key has its own
// place and mostly no other.
func holdsOnlyKey(found []Found) bool {
	return len(found) == 1 && len(found[0].Content.Keys) == 1 && len(found[0].Content.Certs) == 0
}

// cert returns the certificate with this DER, parsed now or earlier. charge is asked before a
// signature is verified.
func (s *Scanner) cert(der []byte, charge func(cost int) error) (*Cert, error) {
	id := FingerprintOf(der)
	s.mu.Lock()
	c := s.certs[id]
	s.mu.Unlock()
	if c != nil {
		return c, nil
	}
	if err := s.Over(); err != nil {
		return nil, err
	}
	if own := s.small; own.full.Load() != nil || own.kept.left.Load() < int64(bytesOfCert+len(der)) { // parsing it costs time
		return nil, overLimit(s.spent(bytesOfCert + len(der)).CutShort())
	}
	c, err := parseCert(der, charge)
	if err != nil {
		return nil, err
	}
	if full := s.pay(c.stays); full != nil {
		return nil, overLimit(full.CutShort())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if earlier := s.certs[id]; earlier != nil {
		return earlier, nil
	}
	s.certs[id] = c
	if c.IsCA { // a leaf's subject is mostly its own
		c.Subject = s.word(c.Subject)
	}
	c.Issuer = s.word(c.Issuer)
	c.IssuerKey = s.word(c.IssuerKey)
	if len(c.Usages) > 0 {
		key := strings.Join(c.Usages, "\n")
		if _, ok := s.usages[key]; !ok {
			s.usages[key] = c.Usages
		}
		c.Usages = s.usages[key]
	}
	return c, nil
}

// word returns the one copy of a string. The caller holds the lock.
func (s *Scanner) word(w string) string {
	if one, ok := s.words[w]; ok {
		return one
	}
	s.words[w] = w
	return w
}

// budgets are the rounds of key derivation that a Scanner may still spend. They
// are apart, so that what is costly leaves what is ordinary readable, and what
// has no password leaves readable what has one.
type budgets struct{ cheapBeside, cheapUsual, costlyBeside, costlyUsual budget }

func (b *budgets) fill(share int64) {
	b.cheapBeside.left.Store(maxRoundsOfCheap / share)
	b.cheapUsual.left.Store(maxRoundsOfCheap / share)
	b.costlyBeside.left.Store(maxRoundsOfCostly / share)
	b.costlyUsual.left.Store(maxRoundsOfCostly / share)
}

// forTry returns the budget for a try.
func (b *budgets) forTry(rounds int64, beside bool) *budget {
	switch cheap := rounds <= cheapTry; {
	case cheap && beside:
		return &b.cheapBeside
	case cheap:
		return &b.cheapUsual
	case beside:
		return &b.costlyBeside
	}
	return &b.costlyUsual
}

type budget struct {
	left   atomic.Int64
	beyond *budget // of which it is a share; nil: of none
	// spare is what is taken from in place of beyond, once that has less, as long as spareFrom is left; nil: none.
	spare     *budget
	spareFrom int64
}

// take takes so much, or nothing where there is less, or less of what it is a share of.
func (b *budget) take(n int64) bool {
	left := b.left.Load()
	for n <= left && !b.left.CompareAndSwap(left, left-n) {
		left = b.left.Load()
	}
	if n > left {
		return false
	}
	if b.beyond == nil || b.beyond.take(n) || b.spare != nil && left-n >= b.spareFrom && b.spare.take(n) {
		return true
	}
	b.left.Add(n)
	return false
}

// spentBy says in whose values so much was spent that n more are not there: of a share, in those of
// its writer, else of all writers', and of these the one is named that spent most.
func (s *Scanner) spentBy(budgetOf func(*smallness) *budget, n int64) string {
	own := budgetOf(s.small)
	if own.beyond == nil || own.left.Load() < n {
		return s.small.whose
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if most, known := s.most[own.beyond]; known { // namespaces are many, and so are values
		return most
	}
	most := s.small
	for _, w := range s.writers {
		if less := budgetOf(w).left.Load() - budgetOf(most).left.Load(); less < 0 || less == 0 && w.whose < most.whose {
			most = w
		}
	}
	s.most[own.beyond] = s.tenants.whose + " (most: " + most.whose + ")"
	return s.most[own.beyond]
}
