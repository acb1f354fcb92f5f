package rotate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

func (c Chain) signerStage() Stage {
	at := c.Of.Rotation.Signer
	entries := entriesAt(c.Facts, at)
	s := Stage{Assessment: assess.Assessment{ID: StageSigner, Remediation: assess.Advise(causes(c.ownerDown(c.owner()), lookAtOperator(c.owner())))}}
	trigger, known := catalog.TriggerOf(at, c.Facts.Snapshot.Cluster.Versions)
	switch {
	case len(entries) == 0 && notThere(c.Facts, at) && known == catalog.Yes && trigger.Annotation == "": // its owner is unknown
		where, lead := "there", ""
		if c.Facts.Hints().OfFile() {
			where, lead = "in this file", "ask the cluster: "
		}
		s.unread(at.String() + " is not " + where + ": certrot does not rotate it")
		s.Remediation = assess.Command("oc get secrets -n "+at.Namespace, "oc get secret -n %s %s", at.Namespace, at.Name)
		s.Remediation.Text = lead + s.Remediation.Text
		return s
	case len(entries) == 0 && notThere(c.Facts, at):
		s.pending(at.String() + " is not there: " + c.owner() + " creates it again")
		return s
	case len(entries) == 0 || len(entries[0].Content.Certs) == 0:
		s.unread(at.String() + " was not read, or holds no certificate")
		s.advise(c.Facts.Hints().Unread(inspect.MayList("secrets", at.Namespace)))
		return s
	}
	ca := entries[0].Content.Certs[0]
	if problem := disagrees(entries[0]); c.Of.Trigger.Annotation != "" && problem != "" {
		s.pending(at.String() + ": " + problem)
		return s
	}
	made := fmt.Sprintf("%s, made %s", pki.Named(ca), remediate.Timestamp(ca.NotBefore))
	if text, settles := c.settling(at, ca); settles {
		s.pending(made + text)
		s.advise(settlingNext)
		s.Settling = true
		return s
	}
	s = reached(StageSigner)
	s.Reason = made
	return s
}

// settlingNext is the next step while it is not seen yet which certificate stays.
const settlingNext = nothingToDo + "each of its owners looks at it every minute"

// settling says that another certificate may still take this one's place; false: none may.
func (c Chain) settling(at catalog.Ref, cert *pki.Cert) (text string, settles bool) {
	t := c.quiet(at)
	until := cert.NotBefore.Add(t.SettleTime)
	if !c.now().Before(until) {
		return "", false
	}
	both := "may each issue one, and the last one stays"
	if t.LastStays.Holds(c.Facts.Snapshot.Cluster.Versions) == catalog.No { // then waiting is harmless
		both = "both look after it"
	}
	return fmt.Sprintf("; %s and the %s %s: it counts if it is still there %s", c.owner(), t.SecondIssuer, both, remediate.Timestamp(until)), true
}

// quiet is the row that says how old a certificate has to be to count, and who may issue it beside
// its owner; where the version that decides was not read, the one that waits longest.
func (c Chain) quiet(at catalog.Ref) (most catalog.Trigger) {
	t, known := catalog.TriggerOf(at, c.Facts.Snapshot.Cluster.Versions)
	if known == catalog.Yes {
		return t
	}
	for _, t := range catalog.Triggers() {
		if t.Secret == at && t.SettleTime > most.SettleTime {
			most = t
		}
	}
	return most
}

// now is what time it is at the API server, at the earliest: certificates are dated there.
func (c Chain) now() time.Time {
	if least, _, ok := c.Facts.Snapshot.Cluster.Clock.Ahead(); ok {
		return c.Facts.Now.Add(least)
	}
	return c.Facts.Now
}

func lookAtOperator(owner string) string {
	if owner == noOwner {
		return "check that " + owner + " runs: oc get clusteroperators"
	}
	name := strings.TrimSuffix(owner, "-operator")
	return "check that " + owner + " runs: " + foreign.Command("oc get clusteroperators", "oc get clusteroperator %[1]s; oc -n openshift-%[2]s logs deployment/%[2]s", name, owner)
}

// disagrees says how the annotations by which an owner decides differ from the
// certificate; empty: not at all.
func disagrees(h *inspect.Entry) string {
	if h.Object == nil || len(h.Content.Certs) == 0 {
		return ""
	}
	leaf := h.Content.Certs[0]
	for _, a := range []struct {
		key  string
		want time.Time
	}{{catalog.AnnotationNotAfter, leaf.NotAfter}, {catalog.AnnotationNotBefore, leaf.NotBefore}} {
		key, want := a.key, a.want
		value, ok := h.Object.Annotations[key]
		at, err := time.Parse(time.RFC3339, value)
		switch {
		case !ok:
			return "the annotation " + key + " is gone: it is to be rotated, and was not yet"
		case err != nil:
			return fmt.Sprintf("the annotation %s is %s, no time: it is to be rotated, and was not yet", key, foreign.QuotedName(fmt.Sprintf("%.40s", value)))
		case !at.Equal(want):
			return fmt.Sprintf("the annotation %s says %s, the certificate %s", key, remediate.Timestamp(at), remediate.Timestamp(want))
		}
	}
	return ""
}

func (c Chain) bundleStage(cas []*pki.Cert) Stage {
	s := c.placesStage(StageBundle, []catalog.Ref{c.Of.Rotation.Bundle}, cas)
	if s.Status == assess.Warn {
		s.advise(causes(c.ownerDown(c.owner()), lookAtOperator(c.owner())))
	}
	return s
}

func (c Chain) aggregatesStage(cas []*pki.Cert) Stage {
	var places []catalog.Ref
	for _, a := range catalog.DownstreamAggregates(c.Of.Rotation.Bundle, c.Facts.Snapshot.Cluster.Versions) {
		if a.Selector == (catalog.ObjectSelector{}) {
			places = append(places, a.Target)
		}
	}
	if len(places) == 0 {
		s := reached(StageAggregates)
		s.Reason = "no other bundle is made of it"
		return s
	}
	s := c.placesStage(StageAggregates, places, cas)
	if s.Status == assess.Warn {
		s.advise(causes(c.publishersDown(), "its publisher is to bring it there: oc get clusteroperators kube-apiserver kube-controller-manager kube-scheduler machine-config. kube-root-ca.crt follows a new revision of kube-controller-manager, which waits for control plane nodes that are not Ready"))
	}
	return s
}

// placesStage asks whether CAs are in all of these places. What is known not to be
// there can't have them, and nothing verifies by it. Users may write what is in their own
// namespaces, so that its publisher leaves it: a place there holds no rotation up, and is told.
func (c Chain) placesStage(name string, places []catalog.Ref, cas []*pki.Cert) Stage {
	s := reached(name)
	has, all := 0, 0
	var lack, unread, tenants []string
	for _, at := range places {
		found := false
		for _, h := range entriesAt(c.Facts, at) {
			if h.Use != inspect.UseTrust || h.Superseded || h.Revision > 0 {
				continue
			}
			found = found || h.Reserved()
			loaded, _ := h.Content.LoadedBy(pki.ReaderUnknown) // by any reader
			switch holds := !slices.ContainsFunc(cas, func(ca *pki.Cert) bool { return !hasCert(loaded, ca) }); {
			case holds:
				all, has = all+1, has+1
			case h.Reserved():
				all++
				lack = append(lack, h.At.String())
			default:
				tenants = append(tenants, h.At.String())
			}
		}
		if !found && !notThere(c.Facts, at) {
			unread = append(unread, at.String())
		}
	}
	switch {
	case len(lack) > 0:
		s.pending(fmt.Sprintf("%d of %d have it; without it: %s", has, all, few(lack)))
		s.count(has, all, lateOf(lack, ""))
	case len(unread) > 0:
		s.unread(fmt.Sprintf("%d of %d that were read have it; not read: %s", has, all, few(unread)))
		s.count(has, all+len(unread), lateOf(unread, "not read"))
		s.advise(c.Facts.Hints().Unread(inspect.MayList("configmaps", ""), inspect.MayList("secrets", "")))
	case all == 0:
		s.pending(few(refNames(places)) + ": not there")
		s.count(0, len(places), lateOf(refNames(places), "not there"))
	case all == 1:
		s.Reason = places[0].String() + " has it"
		s.count(1, 1, nil)
	default:
		s.Reason = fmt.Sprintf("all %d have it", all)
		s.count(all, all, nil)
	}
	if len(tenants) > 0 {
		s.Reason += "; without it, in namespaces whose users may write it: " + few(tenants)
	}
	return s
}

// lateOf are those that are late for one reason; for an empty one, for that which stands behind a
// name, in parentheses.
func lateOf(names []string, reason string) []Late {
	out := make([]Late, len(names))
	for i, name := range names {
		out[i] = Late{name, reason}
		if who, why, ok := strings.Cut(strings.TrimSuffix(name, ")"), " ("); ok && reason == "" && strings.HasSuffix(name, ")") {
			out[i] = Late{who, why}
		}
	}
	return out
}

func refNames(refs []catalog.Ref) []string {
	var out []string
	for _, r := range refs {
		out = append(out, r.String())
	}
	return out
}

// few names some places, as long as they are few.
func few(names []string) string {
	const most = 4
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// fewLate names those that are late, as long as they are few, and why: once for those that share it.
func fewLate(late []Late) string {
	const most = 4
	named, text, verifier := late[:min(most, len(late))], "", ""
	for i, l := range named {
		who, node, on := cutLast(l.Name, " on ")
		switch {
		case i > 0 && on && who == verifier: // the same client on another node
			text += ", " + node
		case i > 0:
			text += "; " + l.Name
		default:
			text = l.Name
		}
		verifier = ""
		switch {
		case i+1 < len(named) && named[i+1].Reason == l.Reason:
			verifier = who
		case l.Reason != "":
			text += " (" + l.Reason + ")"
		}
	}
	if more := len(late) - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// cutLast cuts a text at the last of a separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
