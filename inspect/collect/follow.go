package collect

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Follow looks for what the cluster's configuration refers to and no list has
// brought: because other kinds were asked for, or because it is not there. It
// returns the snapshot with what it found, sorted.
func (c *Cluster) Follow(ctx context.Context, s inspect.Snapshot) inspect.Snapshot {
	seen := map[string]bool{}
	for i := range s.Bundles {
		seen[objectID(s.Bundles[i].At)] = true
	}
	s.References = slices.Clone(s.References)
	listedSecrets := slices.ContainsFunc(s.Reads, func(r inspect.Read) bool { return r.What == "secrets" && !r.Skipped })
	wanted := map[string][]*inspect.Reference{} // by object
	var order []string
	for i := range s.References {
		r := &s.References[i]
		id := objectID(r.To)
		switch {
		case r.To.Kind != "Secret" && r.To.Kind != "ConfigMap": // a MachineConfig, which the pool's operator answers for
		case seen[id]:
			r.Target = inspect.TargetThere
		case listedSecrets && kubernetesIngress(r.From): // what no list brought has no certificate, or is not there yet
		default:
			if wanted[id] == nil {
				order = append(order, id)
			}
			wanted[id] = append(wanted[id], r)
		}
	}
	if len(order) == 0 {
		return s
	}
	found := make([]part, len(order))
	var g errgroup.Group
	g.SetLimit(namespacesAtOnce)
	for i, id := range order {
		g.Go(func() error {
			var target inspect.Target
			target, found[i] = c.target(ctx, wanted[id][0].To)
			for _, r := range wanted[id] {
				r.Target = target
			}
			return nil
		})
	}
	_ = g.Wait() // none returns an error: what fails is a gap
	unread := func(what string) bool {
		return slices.ContainsFunc(s.Gaps, func(g inspect.Gap) bool { return g.What == what })
	}
	read := inspect.Read{What: "objects that others refer to"}
	for i := range found {
		if len(found[i].pages) > 0 {
			read.Objects++
		}
		// one that says that none of the kind may be read says this, too
		found[i].Gaps = slices.DeleteFunc(found[i].Gaps, func(g inspect.Gap) bool { return unread(g.What) })
	}
	if read.Objects > 0 {
		found[0].Reads = []inspect.Read{read}
	}
	s = merge(append([]part{{Snapshot: s}}, found...)...)
	s.Sort()
	return s
}

// kubernetesIngress reports whether a place is in an Ingress of Kubernetes' own. A cluster
// may have thousands, and what they name is not asked for one by one.
func kubernetesIngress(at pki.Location) bool { return at.Kind == kindIngress && at.Namespace != "" }

// target looks for one Secret or ConfigMap by its name.
func (c *Cluster) target(ctx context.Context, to pki.Location) (inspect.Target, part) {
	plural := "secrets"
	if to.Kind == "ConfigMap" {
		plural = "configmaps"
	}
	t := &tally{what: plural}
	opts := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", to.Name).String()}
	l := listPages(ctx, opts, c.keyedPage(to.Kind, plural, to.Namespace, t))
	switch {
	case l.err != nil && !apierrors.IsNotFound(l.err):
		g := gapOf(plural, to.Namespace, 0, l)
		g.Reason = "look for " + objectID(to) + ", which others refer to: " + l.err.Error()
		return inspect.TargetUnknown, part{Snapshot: inspect.Snapshot{Gaps: []inspect.Gap{g}}}
	case t.objects == 0:
		return inspect.TargetAbsent, part{}
	}
	return inspect.TargetThere, part{pages: t.pages}
}
