package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// NodeCopies returns the bundles on nodes that are copies of objects that were read.
// Kubeconfigs are none: each is judged by what it is shown.
func (f *Facts) NodeCopies() []DerivedBundle {
	var out []DerivedBundle
	sources := map[catalog.Ref]*Entry{}
	for i := range f.Entries {
		h := &f.Entries[i]
		if h.At.Node == "" || h.Superseded || h.Use != UseTrust {
			continue
		}
		row, ok := catalog.NodeCopyOf(h.At.Path, f.Snapshot.Cluster.Versions)
		if !ok || row.Embedded || h.At.Field != "" {
			continue
		}
		source, known := sources[row.Object]
		if !known {
			source = f.At(row.Object)
			sources[row.Object] = source
		}
		if source == nil {
			continue
		}
		_, _, missing := CopyDelay(h, source)
		m := DerivedBundle{At: []pki.Location{h.At}, Certs: h.Content.Certs, Missing: missing}
		m.Skipped = skippedOf(h, func(fp pki.Fingerprint) bool {
			return slices.ContainsFunc(source.Content.Certs, func(c *pki.Cert) bool { return c.Fingerprint == fp })
		})
		if len(missing) > 0 {
			m.Sources = []string{source.At.String()}
		}
		if source.Content.CutShort() != "" {
			m.Unread = []catalog.Ref{row.Object}
		}
		out = append(out, m)
	}
	return out
}

// CopyDelay says what a copy lacks, since when, and which certificates; nothing where
// it lacks nothing. More than the source has is no harm: old CAs stay for a
// while.
func CopyDelay(h, source *Entry) (what string, since time.Time, missing []*pki.Cert) {
	if h.Use == UseIdentity {
		mine, theirs := h.Leaf(), source.Leaf()
		if mine == nil || theirs == nil || mine.Fingerprint == theirs.Fingerprint {
			return "", since, nil
		}
		return fmt.Sprintf("holds %s and not %s", CertName(mine), CertName(theirs)), theirs.NotBefore, []*pki.Cert{theirs}
	}
	var names []string
	for _, c := range source.Content.Certs {
		if !slices.ContainsFunc(h.Content.Certs, func(x *pki.Cert) bool { return x.Fingerprint == c.Fingerprint }) {
			missing = append(missing, c)
			names = append(names, CertName(c))
			if c.NotBefore.After(since) {
				since = c.NotBefore
			}
		}
	}
	if len(missing) == 0 {
		return "", since, nil
	}
	return "lacks " + strings.Join(names, ", "), since, missing
}
