package pki

import (
	"fmt"
	"strings"
	"unicode"
)

// Maps are also keyed by what they are about: a list of sessions by their tokens, a
// list of users by their keys. Such a key is a secret, and a Location is printed and
// kept. Therefore only a key that reads like a name of Kubernetes becomes part of a
// Location: what may be a key of a ConfigMap, a host with a wildcard, or the key of an
// annotation of Kubernetes' or OpenShift's own. Any other key is written as its index in
// the map, which finds the place and tells nothing, not even by a guess: with a colon, a
// slash, an @ or a space in it, it may be a user and the password.

// keyIndex begins what stands for a key that does not read like a name. A literal key
// that begins like this is written as its index too, so both can't be confused.
const keyIndex = "key:"

// KeyIndex is written in the place of a key that is not a PlainKey. It counts from 0:
// in a document, in its order; in a Secret or ConfigMap, in the order of its keys.
func KeyIndex(n int) string { return fmt.Sprintf("%s%d", keyIndex, n) }

const (
	maxKey    = 200 // characters of a key that reads like a name
	maxWord   = 40  // letters of one word in it
	maxMixed  = 24  // letters and digits of one
	maxDigits = 14  // digits in a row: those of a date and time
	// minPairs is from how many pairs of letters on it is asked whether they are usual;
	// usualPairs is how many of ten must be.
	minPairs, usualPairs = 6, 7
)

// PlainKey reports whether a key of a map reads like a name. A short word that is a
// password can't be told from a name; what is long, or mixed as a generator mixes, can.
func PlainKey(key string) bool {
	if key == "" || isHashName(key) {
		return true
	}
	if len(key) > maxKey || strings.HasPrefix(key, "eyJ") || !isKubernetesName(key) {
		return false
	}
	words := strings.FieldsFunc(key, func(r rune) bool { return !isAlnum(r) })
	pairs, usual, switches := 0, 0, 0
	for _, w := range words {
		s, ok := plainWord(w)
		if !ok {
			return false
		}
		switches += s
		if isAbbreviation(w) {
			continue
		}
		p, u := letterPairs(w)
		pairs += p
		usual += u
	}
	if switches > 6 || pairs >= minPairs && usual*10 < pairs*usualPairs {
		return false
	}
	return !hasUUID(words)
}

// isKubernetesName reports whether a key has only the characters of a name: those that
// the API server takes in a key of a ConfigMap, behind the wildcard of a host or behind
// the prefix of an annotation.
func isKubernetesName(key string) bool {
	if prefix, name, ok := strings.Cut(key, "/"); ok && isProjects(prefix) {
		key = name
	}
	key = strings.TrimPrefix(key, "*.")
	return key != "" && !strings.ContainsFunc(key, func(r rune) bool { return !isAlnum(r) && !strings.ContainsRune(".-_", r) })
}

// isProjects reports whether the prefix of an annotation is one that Kubernetes and
// OpenShift give.
func isProjects(prefix string) bool {
	for _, domain := range []string{"kubernetes.io", "k8s.io", "openshift.io"} {
		if rest, ok := strings.CutSuffix(prefix, domain); ok && (rest == "" || strings.HasSuffix(rest, ".") && isKubernetesName(rest)) {
			return true
		}
	}
	return false
}

func isAlnum(r rune) bool {
	return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// isAbbreviation detects what names are full of, hosts' above all, and what has no
// usual pairs of letters: okd, bnpp, XML. It is too short to be what a generator makes.
func isAbbreviation(w string) bool {
	return len(w) <= 7 && (w == strings.ToLower(w) || w == strings.ToUpper(w)) && !strings.ContainsFunc(w, unicode.IsDigit)
}

// isHashName detects the names by which OpenSSL finds CAs in a folder: 5ed36f99.0.
func isHashName(key string) bool {
	hash, n, ok := strings.Cut(key, ".")
	return ok && len(hash) == 8 && isHex(hash) && len(strings.TrimPrefix(n, "r")) == 1 && isHex(n[len(n)-1:])
}

func isHex(s string) bool {
	for i := range len(s) {
		if _, ok := hexDigit(s[i]); !ok {
			return false
		}
	}
	return s != ""
}

// plainWord judges a row of letters and digits. switches is how often it goes from
// letters to digits or back.
func plainWord(w string) (switches int, ok bool) {
	digits, row, humps := 0, 0, 0
	for i, r := range w {
		if !unicode.IsDigit(r) {
			row = 0
		} else if digits, row = digits+1, row+1; row > maxDigits {
			return 0, false
		}
		if i == 0 {
			continue
		}
		before := rune(w[i-1])
		if unicode.IsDigit(r) != unicode.IsDigit(before) {
			switches++
		}
		if unicode.IsLower(before) && unicode.IsUpper(r) {
			humps++
		}
	}
	letters := len(w) - digits
	switch {
	case digits == 0:
		return 0, letters <= maxWord && humps <= 2+letters/5 && !(len(w) >= 12 && isHex(w))
	case letters == 0:
		return 0, true
	case len(w) <= 5: // as Kubernetes appends to names
		return switches, true
	case len(w) > maxMixed, len(w) >= 12 && isHex(w), len(w) > 8 && switches > 2:
		return switches, false
	}
	return switches, switches <= 3 && humps+switches <= 2+len(w)/5
}

// letterPairs counts the pairs of neighbouring letters, and those of them that are
// usual in words.
func letterPairs(w string) (pairs, usual int) {
	const known = " th he in er an re nd on en at ou ed ha to or it is hi es ng as ar te se me ve of st al le ne ea ri ro li co de ra io ic el la ch ti ho ta ns il ur ca us ec ge om et ut no wo lo ma id ai ly wi ot un ow ss ee ll ac pe ni nt ce ke di fo sh da am ct em tr si so pl ir op po sp wh cl ul oo ad pr ld ay bl ie gh ab ag ev iv im bu ub be bo ap pa up ex pi sc ck ts rs rt ls ty rd fi if ig rv ey ks pt mp rn rm nc wa we su ug eg eb cr yp xt ht tp tt ps fr gr gi gn go ga ue ui ud um au av aw ov od ob oc og ol ip ia iz mi mo mu na nu ki ku vi va vo sa ya ye ys my by os rk rg rl lt lf lu lv ff ft ef ba br bi dn ds do du dr du hu hy pu qu ru tu tw ya xy ox ix ax ck sl sm sn sw sy ka af za ze zo zi np nv nf cy cu hr hs hc dc dp je js ja kr gs rc cf "
	for i := 1; i < len(w); i++ {
		a, b := rune(w[i-1]), rune(w[i])
		if !unicode.IsLetter(a) || !unicode.IsLetter(b) || unicode.IsLower(a) && unicode.IsUpper(b) {
			continue
		}
		pairs++
		if strings.Contains(known, " "+strings.ToLower(w[i-1:i+1])+" ") {
			usual++
		}
	}
	return pairs, usual
}

// hasUUID reports whether a UUID is among the words of a key.
func hasUUID(words []string) bool {
	for ; len(words) >= 5; words = words[1:] {
		found := true
		for i, n := range []int{8, 4, 4, 4, 12} {
			found = found && len(words[i]) == n && isHex(words[i])
		}
		if found {
			return true
		}
	}
	return false
}
