package trust

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// delivered judges whether CAs have arrived where they have to be: on each node, or in an
// object. What they are to verify there is outside of the cluster, and not seen.
func (j *judge) delivered(e catalog.Edge) []Claim {
	var out []Claim
	if !placed(e.Presented) {
		for _, r := range j.f.Snapshot.References {
			if string(r.From.Kind) != e.Presented.Kind || r.From.Field != e.Presented.Key || r.Target == inspect.TargetAbsent {
				continue // reference-resolves speaks of what is not there
			}
			entries := j.entriesAt(r.To)
			if len(entries) == 0 && (r.Target == inspect.TargetUnknown || j.cutAt(r.To)) {
				out = append(out, Claim{Assessment: assess.Assessment{Status: assess.Unknown, Reason: fmt.Sprintf("%s, which %s names, was not read", r.To, r.From)}, Edge: e, Presented: r.To})
			}
			for _, h := range entries {
				out = append(out, j.deliveredTo(e, h)...)
			}
		}
		return out
	}
	for _, i := range j.presented(e.Presented, catalog.ObjectSelector{}) {
		for _, h := range j.entriesAt(i.at) {
			out = append(out, j.deliveredTo(e, h)...)
		}
	}
	return out
}

// placed reports whether it is a place of certificates; else it is a field that names
// one.
func placed(r catalog.Ref) bool { return r.Kind == catalog.ConfigMap || r.Kind == catalog.File }

// entriesAt is what an object holds, or one key of it.
func (j *judge) entriesAt(at pki.Location) []*inspect.Entry {
	return slices.DeleteFunc(j.allAt(at), func(h *inspect.Entry) bool { return len(h.Content.Certs) == 0 })
}

// cutAt reports whether not all of an object was read.
func (j *judge) cutAt(at pki.Location) bool {
	return slices.ContainsFunc(j.allAt(at), func(h *inspect.Entry) bool { return h.Content.CutShort() != "" })
}

func (j *judge) allAt(at pki.Location) []*inspect.Entry {
	var out []*inspect.Entry
	entries := j.f.Entries
	if at.Node != "" {
		entries = j.f.InFile(at.Node, at.Path)
	}
	for i := range entries {
		h := &entries[i]
		there := h.At
		there.Field = at.Field
		if at.Key == "" {
			there.Key = ""
		}
		if there == at {
			out = append(out, h)
		}
	}
	return out
}

// deliveredTo judges one source by each place where its CAs have to be.
func (j *judge) deliveredTo(e catalog.Edge, source *inspect.Entry) []Claim {
	base := Claim{Edge: e, Presented: source.At}
	if e.Trust.Kind != catalog.File {
		identities := j.presented(e.Trust, catalog.ObjectSelector{})
		if len(identities) == 0 {
			if base.Status, base.Reason = assess.Unknown, e.Trust.String()+" was not read"; j.absent(e.Trust) {
				base.Status, base.Reason = assess.Fail, "there is no "+e.Trust.String()
			}
			return []Claim{base}
		}
		base.Trust = []pki.Location{identities[0].at}
		base.Roots, base.Skipped = identities[0].content.LoadedBy(e.Reader)
		j.holdsAll(&base, source)
		return []Claim{base}
	}
	// The keys of a ConfigMap of registries are their names, with ".." for ":".
	path := strings.Replace(e.Trust.Name, "*", strings.ReplaceAll(source.At.Key, "..", ":"), 1)
	var out []Claim
	for i := range j.f.Snapshot.Nodes {
		n := &j.f.Snapshot.Nodes[i]
		file := n.File(path)
		if source.At.Node != "" && source.At.Node != n.Name || e.Optional && file == nil {
			continue
		}
		c := base
		c.Node, c.Trust = n.Name, []pki.Location{{Kind: pki.KindFile, Node: n.Name, Path: path}}
		for _, h := range j.entriesAt(c.Trust[0]) {
			c.Roots, c.Skipped = h.Content.LoadedBy(e.Reader)
		}
		loaded := c.Roots != nil || c.Skipped != nil
		switch {
		case e.Optional && !loaded && !file.Whole:
			continue // trust stores are read on demand
		case n.Via == "":
			c.Status, c.Reason = assess.Unknown, whyUnread
		case loaded:
			j.holdsAll(&c, source)
		case file == nil && j.without(n.Name, catalog.Ref{Kind: catalog.File, Name: path}):
			c.Status, c.Reason = assess.Fail, "there is no such file on the node, which has to hold what is in "+source.At.String()
		case file != nil && file.Whole:
			c.Status, c.Reason = assess.Fail, "the file holds no certificate, and has to hold what is in "+source.At.String()
		default:
			c.Status, c.Reason = assess.Unknown, "the file was not read"
		}
		out = append(out, c)
	}
	return out
}

// holdsAll judges whether the trust anchors hold all that a source holds and that is not
// over. Of another file on a node they hold the CAs alone.
func (j *judge) holdsAll(c *Claim, source *inspect.Entry) {
	var lacks []*pki.Cert
	for _, want := range source.Content.Certs {
		counts := want.NotAfter.After(j.f.Now) && (want.IsCA || source.At.Node == "")
		if counts && !slices.ContainsFunc(c.Roots, func(r *pki.Cert) bool { return r.Fingerprint == want.Fingerprint }) {
			lacks = append(lacks, want)
		}
	}
	if len(lacks) == 0 {
		c.Status = assess.Pass
		return
	}
	c.Status, c.Missing, c.Reason = assess.Fail, lacks[0], "lacks "+subjects(lacks)+" of "+source.At.String()
	j.skippedCA(c, lacks[:1], func(c *Claim) bool {
		return slices.ContainsFunc(c.Roots, func(r *pki.Cert) bool { return r.Fingerprint == lacks[0].Fingerprint })
	})
	if j.justMade(lacks) && c.Status == assess.Fail {
		c.Status = assess.Unknown // it may be under way
		c.Reason += ", made within the hour"
	}
}
