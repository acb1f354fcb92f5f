package collect

import (
	"bytes"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

const (
	// maxPassword limits what is taken for a password.
	maxPassword = 256
	// passwordsTried limits how many are tried of one object: each costs the key
	// derivation of the keystore.
	passwordsTried = 12
)

// passwordCandidates are the values of one object that may be the password of a keystore
// in it: the small ones, of which those whose key says so come first
// (keystore.password, user.password beside user.p12, storepass). They are slices
// of the object itself: nothing of them is copied or kept.
type passwordCandidates struct {
	speaking, others []passwordCandidate // the keys of the former speak of passwords
	sorted           bool                // each by key
}

type passwordCandidate struct{ key, value []byte }

func (b *passwordCandidates) add(key, value []byte) {
	value = bytes.TrimRight(value, "\r\n") // of a file that an editor wrote
	switch {
	case len(value) == 0 || len(value) > maxPassword:
	case speaksOfPasswords(key):
		b.speaking = append(b.speaking, passwordCandidate{key, value})
	default:
		b.others = append(b.others, passwordCandidate{key, value})
	}
}

func (b *passwordCandidates) empty() bool { return len(b.speaking)+len(b.others) == 0 }

// passwords for the keystore under a key: those first that speak, and start as its own key does.
func (b *passwordCandidates) passwords(store []byte) [][]byte {
	byKey := func(x, y passwordCandidate) int { return bytes.Compare(x.key, y.key) }
	if !b.sorted { // once: an object may hold thousands of keystores
		slices.SortStableFunc(b.speaking, byKey)
		slices.SortStableFunc(b.others, byKey)
		b.sorted = true
	}
	stem, _, _ := bytes.Cut(store, []byte("."))
	from, _ := slices.BinarySearchFunc(b.speaking, passwordCandidate{key: stem}, byKey)
	to := from
	var out [][]byte
	take := func(some []passwordCandidate) {
		for _, o := range some[:min(len(some), passwordsTried-len(out))] {
			out = append(out, o.value)
		}
	}
	for to < len(b.speaking) && to-from < passwordsTried && bytes.HasPrefix(b.speaking[to].key, stem) {
		to++
	}
	take(b.speaking[from:to])
	take(b.speaking[:from])
	take(b.speaking[to:])
	take(b.others)
	return out
}

// speaksOfPasswords reports whether a key says that its value is one.
func speaksOfPasswords(key []byte) bool {
	name := strings.ToLower(string(key))
	return strings.Contains(name, "pass") || strings.Contains(name, "pwd") || strings.Contains(name, "pin")
}

// hasLocked reports whether a keystore stayed locked in one of these.
func hasLocked(found []inspect.Bundle) bool {
	return slices.ContainsFunc(found, func(b inspect.Bundle) bool { return len(b.Content.Locked) > 0 })
}

// unlocking reads the values of one object again in which a keystore stayed locked, and puts what
// it then finds in the place of what was found.
type unlocking struct {
	sc     *pki.Scanner
	found  []inspect.Bundle
	other  passwordCandidates
	locked map[string]int              // by key: the first of what was found there
	opened map[string][]inspect.Bundle // by key
}

func newUnlocking(sc *pki.Scanner, found []inspect.Bundle, other passwordCandidates) *unlocking {
	u := &unlocking{sc, found, other, map[string]int{}, map[string][]inspect.Bundle{}}
	first := map[string]int{}
	for i, b := range found {
		if _, ok := first[b.At.Key]; !ok {
			first[b.At.Key] = i
		}
		if len(b.Content.Locked) > 0 {
			u.locked[b.At.Key] = first[b.At.Key]
		}
	}
	return u
}

// value reads one value again, if that is to be.
func (u *unlocking) value(key, value []byte) {
	first, ok := u.locked[string(key)]
	if !ok {
		return
	}
	at, obj := u.found[first].At, u.found[first].Object
	opened := []inspect.Bundle{}
	for _, f := range u.sc.Unlock(value, u.other.passwords(key)) {
		at.Field = f.Field
		opened = append(opened, inspect.Bundle{At: at, Object: obj, Content: f.Content})
	}
	u.opened[at.Key] = opened
	if !hasLocked(opened) {
		delete(u.locked, at.Key)
	}
}

// all is what was found, and opened.
func (u *unlocking) all() []inspect.Bundle {
	out := make([]inspect.Bundle, 0, len(u.found))
	for _, b := range u.found {
		opened, ok := u.opened[b.At.Key]
		if !ok {
			out = append(out, b)
			continue
		}
		out = append(out, opened...)
		u.opened[b.At.Key] = nil // once
	}
	return out
}
