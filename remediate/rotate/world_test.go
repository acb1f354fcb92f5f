package rotate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

const followed = "aggregator-client-signer"

// turning is a cluster in which a signer is rotated; what happens in it has a time, in
// seconds after the begin.
type turning struct {
	sc      *pki.Scanner
	began   time.Time
	old     *pkitest.Authority
	signers map[int]*pkitest.Authority // by when each comes
	bundles int                        // when the last signer is in all bundles, and with all who verify
	leaf    int                        // when it has signed
	unread  func(after int) bool       // whether who verifies can't be read
	mute    func(after int) bool       // whether what it signs can't be read
	down    func(after int) bool       // whether nothing can be read
	blind   bool                       // bundles can't be read
	hold    time.Duration              // how long reading takes
	reads   int
	tracker *tracker
	leaves  map[*pkitest.Authority][]byte
}

// Read is what is read now.
func (c *turning) Read(context.Context, func(*inspect.Snapshot) bool) (Reading, error) {
	time.Sleep(c.hold)
	c.reads++
	now := collect.Now()
	after := int(now.Sub(c.began).Seconds())
	if c.down != nil && c.down(after) {
		return Reading{}, errors.New("the API server is not there")
	}
	i := slices.IndexFunc(catalog.Rotations(), func(r catalog.Rotation) bool { return r.Signer.Name == followed })
	row := catalog.Rotations()[i]
	s := inspect.Snapshot{Taken: now, Cluster: inspect.Cluster{Versions: catalog.Versions{Cluster: "4.16.3"}}}
	put := func(at catalog.Ref, pem ...[]byte) {
		for _, f := range c.sc.Scan(pkitest.Bundle(pem...)) {
			first := f.Content.Certs[0]
			s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.Kind(at.Kind), Namespace: at.Namespace, Name: at.Name, Key: at.Key}, Content: f.Content,
				Object: &inspect.Object{Kind: pki.Kind(at.Kind), Namespace: at.Namespace, Name: at.Name, Type: "kubernetes.io/tls", Annotations: map[string]string{
					catalog.AnnotationNotBefore: first.NotBefore.Format(time.RFC3339), catalog.AnnotationNotAfter: first.NotAfter.Format(time.RFC3339)}}})
		}
	}
	signer, bundle := c.old, [][]byte{c.old.CertPEM}
	for _, at := range slices.Sorted(maps.Keys(c.signers)) {
		if at > after {
			break
		}
		if signer = c.signers[at]; after >= c.bundles {
			bundle = append(bundle, signer.CertPEM)
		}
	}
	put(row.Signer, signer.CertPEM)
	places := []catalog.Ref{row.Bundle}
	for _, a := range catalog.DownstreamAggregates(row.Bundle, s.Cluster.Versions) {
		if a.Selector == (catalog.ObjectSelector{}) {
			places = append(places, a.Target)
		}
	}
	if c.unread == nil || !c.unread(after) {
		places = append(places, catalog.Ref{Kind: catalog.ConfigMap, Namespace: "kube-system", Name: "extension-apiserver-authentication", Key: "requestheader-client-ca-file"})
	}
	for _, at := range places {
		if !c.blind {
			put(at, bundle...)
		}
	}
	by, made := c.old, c.began.AddDate(0, 0, -5)
	if after >= c.leaf {
		by, made = signer, c.began
	}
	if c.leaves[by] == nil {
		c.leaves[by] = by.Issue("leaf", made, made.AddDate(0, 0, 30)).CertPEM
	}
	if c.mute == nil || !c.mute(after) {
		put(row.Targets[0], c.leaves[by])
	}
	s.Sort()
	return NewReading(context.Background(), inspect.NewFacts(s, now, 0)), nil
}

// Recheck is what is read now.
func (c *turning) Recheck(ctx context.Context) (Reading, error) { return c.Read(ctx, nil) }

// Trigger, Removal and Apply are not what is tested with it.
func (*turning) Trigger(context.Context, catalog.Ref, string) (action.RemoveAnnotation, error) {
	return action.RemoveAnnotation{}, errors.New("not tried")
}

func (*turning) Removal(context.Context, catalog.Ref, []OldCA) (PruneBundle, error) {
	return PruneBundle{}, errors.New("not tried")
}

func (*turning) Apply(context.Context, func(context.Context) (*remediate.Plan, error)) (bool, error) {
	return false, errors.New("not applied")
}

// turn begins: one signer after 5 s, in all bundles after 30 s, which signs nothing.
func turn(r *Runner) *turning {
	began := collect.Now()
	c := &turning{sc: pki.NewScanner(), began: began, bundles: 30, leaf: 1 << 30, hold: time.Second, leaves: map[*pkitest.Authority][]byte{}}
	c.old = pkitest.NewCA("old", began.AddDate(0, -1, 0), began.AddDate(1, 0, 0))
	c.signers = map[int]*pkitest.Authority{5: c.signer("new", 5)}
	at := catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-kube-apiserver-operator", Name: followed, Key: "tls.crt"}
	i := slices.IndexFunc(catalog.Rotations(), func(r catalog.Rotation) bool { return r.Signer == at })
	of := Rotatable{At: at, Name: followed, Rotation: catalog.Rotations()[i]}
	r.Cluster = c
	c.tracker = r.track(of, c.sc.Scan(c.old.CertPEM)[0].Content.Certs[0])
	return c
}

func (c *turning) signer(name string, after int) *pkitest.Authority {
	return pkitest.NewCA(name, c.began.Add(time.Duration(after)*time.Second), c.began.AddDate(1, 0, 0), pkitest.KeyName(name))
}

// told is an Observer that keeps what it was told, a line each.
type told struct{ bytes.Buffer }

func (o *told) Stage(of string, s Stage, after time.Duration) {
	fmt.Fprintf(o, "%s, after %s: %s %s: %s\n", of, after, s.Status, s.ID, s.Reason)
}

func (o *told) Judged(string, Planned, []Stage, time.Time) {}

func (o *told) Waiting(leaf string, blocked []preflight.Verdict) {
	fmt.Fprintf(o, "waiting, before %s: %s\n", leaf, (&preflight.Blocked{Checks: blocked}).Error())
}

func (o *told) Triggering(leaf Planned, _ *pki.Cert) { fmt.Fprintf(o, "triggering %s\n", leaf.Of.Name) }

func (o *told) Rotated(p Planned) { fmt.Fprintf(o, "rotated %s\n", p.Of.Name) }

func (o *told) Concluded(p Progress) error {
	for _, s := range p.Stages {
		fmt.Fprintf(o, "in the end: %s %s: %s\n", s.Status, s.ID, s.Reason)
	}
	return nil
}

// keep keeps an error and its next step with what was told.
func (o *told) keep(err error) {
	if e := asError(err); e != nil {
		fmt.Fprintf(o, "error: %v\n  next: %s\n", e, e.Next)
	}
}

func runnerForTest() (*Runner, *told) {
	out := &told{}
	return &Runner{Observer: out, Hints: inspect.LiveHints("certrot"), Wait: 4 * time.Minute, Resume: "certrot rotate --leaf"}, out
}

// done is the outcome of no error.
const done Outcome = -1

func came(err error) Outcome {
	if e := asError(err); e != nil {
		return e.Outcome
	}
	return done
}
