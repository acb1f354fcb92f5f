package rotate

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// Left is what is still to be done of a rotation that goes on to what the signer signs.
type Left struct {
	// Signer: it is to be made anew. Why says why it is not, where it is not.
	Signer bool
	Why    string
	// Leaves are those that the signer's newest certificate has not signed, or of which
	// that was not read; all that are there where it is to come.
	Leaves []Rotatable
}

// justMade is how young a signer is that the same command may have had made, before it
// was interrupted: a day and a half, a tenth of the time after which most of what it signs
// is renewed, for which its owner has new CAs come to everybody (library-go
// pkg/operator/certrotation/target.go, needNewTargetCertKeyPair).
const justMade = 36 * time.Hour

// left tells what is left to do, by the certificates alone: so it goes on wherever it was
// interrupted, and makes no second signer.
func (c Chain) left(all []Rotatable) (l Left) {
	ca := c.signer()
	// What the signer signs, as far as it is there: a leaf that was named is none of these.
	var there []Rotatable
	var old, unread []string
	for _, at := range c.leaves() {
		entries := entriesAt(c.Facts, at)
		read := len(entries) > 0 && len(entries[0].Content.Certs) > 0
		if !read && notThere(c.Facts, at) {
			continue // its owner makes it when it needs it, by the signer of then
		}
		there = append(there, among(all, at)...)
		switch {
		case !read:
			unread = append(unread, at.String())
		case ca != nil && signed(entries[0].Content.Certs[0], ca) && !rotatable(c.Facts, c.Of.Rotation, at).Triggered():
			continue
		default:
			old = append(old, at.Name)
		}
		l.Leaves = append(l.Leaves, among(all, at)...)
	}
	defer func() { l.Leaves = outsideLast(l.Leaves) }()
	entries := entriesAt(c.Facts, c.Of.Rotation.Signer)
	switch {
	case ca == nil:
		l.Signer = true // the checks say what was not read
	case entries[0].Object != nil && !timeIn(entries[0].Object.Annotations, catalog.AnnotationNotAfter):
		l.Why = "its annotation is gone, so its operator rotates it in any case"
		l.Leaves = there
	case len(old) > 0:
		l.Why = fmt.Sprintf("it was made %s, and has not signed all that it signs yet", remediate.Timestamp(ca.NotBefore))
	case len(unread) > 0:
		l.Why = fmt.Sprintf("it was made %s, and whether it has signed all that it signs is unknown: %s was not read", remediate.Timestamp(ca.NotBefore), few(unread))
	case c.now().Sub(ca.NotBefore) < justMade:
		l.Why = fmt.Sprintf("it was made %s, less than %d hours ago, and has signed all that it signs", remediate.Timestamp(ca.NotBefore), int(justMade.Hours()))
	default:
		l.Signer, l.Leaves = true, there
	}
	return l
}

// outsideLast puts what only people from outside verify behind what the cluster does:
// whether they trust the signer can't be seen, and nobody else is to wait for it.
func outsideLast(leaves []Rotatable) []Rotatable {
	out := slices.Clone(leaves)
	slices.SortStableFunc(out, func(a, b Rotatable) int {
		switch outsideA, outsideB := catalog.IsExternalServingCert(a.At), catalog.IsExternalServingCert(b.At); {
		case outsideA == outsideB:
			return 0
		case outsideB:
			return -1
		}
		return 1
	})
	return out
}

// Triggered reports whether its owner is to make it anew already, as its annotation is gone,
// and has not done so yet.
func (r Rotatable) Triggered() bool {
	return r.Trigger.Annotation != "" && r.Entry != nil && r.Entry.Object != nil && !timeIn(r.Entry.Object.Annotations, r.Trigger.Annotation)
}

func among(all []Rotatable, at catalog.Ref) []Rotatable {
	i := slices.IndexFunc(all, func(r Rotatable) bool { return r.At == at })
	if i < 0 {
		return nil
	}
	return all[i : i+1]
}

func timeIn(annotations map[string]string, key string) bool {
	_, err := time.Parse(time.RFC3339, annotations[key])
	return err == nil
}
