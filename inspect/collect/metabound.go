package collect

import (
	"maps"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Kubernetes bounds an object's labels by its 1.5 MB alone, and its annotations by 256 KiB: 70,000 short labels
// take ten times their size in memory, of each object in which a tenant has them. So of many, some are kept.
const (
	maxLabels          = 64
	bytesOfLabels      = 16 << 10
	maxAnnotations     = 64
	bytesOfAnnotations = 256 << 10
)

// metaBound is how many labels or annotations of an object are kept. Those that rows ask for always are.
type metaBound struct {
	most, bytes int
	asked       func(key string) bool
}

func labelBound() metaBound { return metaBound{maxLabels, bytesOfLabels, catalog.AsksForLabel} }

func annotationBound() metaBound {
	return metaBound{maxAnnotations, bytesOfAnnotations, catalog.AsksForAnnotation}
}

// keep returns what is kept of them, and whether there are more: the asked ones, and others in the order of their
// names.
func (b metaBound) keep(all map[string]string) (kept map[string]string, more bool) {
	size := 0
	for k, v := range all {
		size += len(k) + len(v)
	}
	if len(all) <= b.most && size <= b.bytes {
		return all, false
	}
	kept, size = map[string]string{}, 0
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if size += len(k) + len(all[k]); b.asked(k) || size <= b.bytes && len(kept) < b.most {
			kept[k] = all[k]
		}
	}
	return kept, true
}

// charge has the namespace of an object pay for what is kept of its labels and annotations.
func charge(sc *pki.Scanner, o *inspect.Object) {
	const bytesOfEntry = 64 // of a map, about
	n := 0
	for _, kept := range []map[string]string{o.Labels, o.Annotations} {
		for k, v := range kept {
			n += len(k) + len(v) + bytesOfEntry
		}
	}
	sc.Keep(n)
}

// metaReading adds labels or annotations to a map as they are read. It keeps one too many of them, so that keep
// finds that there are more.
type metaReading struct {
	metaBound
	size int
}

// wants reports whether the next one is kept, as so many are by now.
func (r *metaReading) wants(key, value []byte, kept int) bool {
	full := kept > r.most || r.size > r.bytes
	if full {
		return r.asked(string(key))
	}
	r.size += len(key) + len(value)
	return true
}
