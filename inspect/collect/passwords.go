package collect

import (
	"bytes"
	"cmp"
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

// besides are the values of one object that may be the password of a keystore
// in it: the small ones, of which those whose key says so come first
// (keystore.password, user.password beside user.p12, storepass). They are slices
// of the object itself: nothing of them is copied or kept.
type besides []beside

type beside struct{ key, value []byte }

func (b *besides) add(key, value []byte) {
	value = bytes.TrimRight(value, "\r\n") // of a file that an editor wrote
	if len(value) > 0 && len(value) <= maxPassword {
		*b = append(*b, beside{key, value})
	}
}

// passwords for the keystore under a key.
func (b besides) passwords(store []byte) [][]byte {
	stem, _, _ := bytes.Cut(store, []byte("."))
	slices.SortStableFunc(b, func(x, y beside) int {
		return cmp.Or(rank(x.key, stem)-rank(y.key, stem), bytes.Compare(x.key, y.key))
	})
	var out [][]byte
	for _, o := range b[:min(len(b), passwordsTried)] {
		out = append(out, o.value)
	}
	return out
}

// rank is lower for a key that is likelier to hold the password of a keystore
// whose own key starts with stem.
func rank(key, stem []byte) int {
	name := strings.ToLower(string(key))
	switch speaks := strings.Contains(name, "pass") || strings.Contains(name, "pwd") || strings.Contains(name, "pin"); {
	case speaks && bytes.HasPrefix(key, stem):
		return 0
	case speaks:
		return 1
	}
	return 2
}

// hasLocked reports whether a keystore stayed locked in one of these.
func hasLocked(found []inspect.Bundle) bool {
	return slices.ContainsFunc(found, func(b inspect.Bundle) bool { return len(b.Content.Locked) > 0 })
}

// unlock reads one value of an object again, if a keystore stayed locked in it,
// and puts what it then finds in the place of what was found.
func unlock(sc *pki.Scanner, found []inspect.Bundle, key, value []byte, other besides) []inspect.Bundle {
	of := func(b inspect.Bundle) bool { return b.At.Key == string(key) }
	first := slices.IndexFunc(found, of)
	if first < 0 || !slices.ContainsFunc(found, func(b inspect.Bundle) bool { return of(b) && len(b.Content.Locked) > 0 }) {
		return found
	}
	at, obj := found[first].At, found[first].Object
	var opened []inspect.Bundle
	for _, f := range sc.Unlock(value, other.passwords(key)) {
		at.Field = f.Field
		opened = append(opened, inspect.Bundle{At: at, Object: obj, Content: f.Content})
	}
	return slices.Insert(slices.DeleteFunc(found, of), first, opened...)
}
