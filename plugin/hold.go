package plugin

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// holder says who changes a cluster, and its nodes. What comes first is read by others:
// nodeexec.Gone.
func (a *applying) holder() string {
	text := nodeexec.ThisProcess().String() + ", run " + a.run
	if a.person != "" {
		text += ", as " + a.person
	}
	return text
}

// person is the user whose credentials are used, by the API server, else by the
// kubeconfig: of root on a bastion it is not known who that is.
func (c *connection) person(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, personTime)
	defer cancel()
	name := ""
	review, err := c.kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err == nil {
		name = review.Status.UserInfo.Username
	}
	if of := c.config.Contexts[c.context]; name == "" && of != nil {
		name = of.AuthInfo
	}
	// It goes into one line that others read, and is not to pass for their part of it.
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == '(' || r == ')' {
			return '?'
		}
		return r
	}, name)
	if runes := []rune(name); len(runes) > maxPerson {
		name = string(runes[:maxPerson]) + "…"
	}
	return name
}

const (
	personTime = 5 * time.Second
	maxPerson  = 100
)

// hold takes the Lease of the cluster, and keeps it until release: two who repair the
// same cluster must not restart two masters at once. The context ends when the Lease is
// lost. Without an API there is no Lease: then nodes alone know who is at work there.
func (a *applying) hold(ctx context.Context) (held context.Context, release func(), err error) {
	w := a.workplace
	if w.conn == nil {
		return ctx, func() {}, nil
	}
	if a.person == "" {
		a.person = w.conn.person(ctx)
	}
	env := w.env(a.run, a.read)
	lease := remediate.Lease{Kube: w.conn.kube, Holder: a.holder(), Sleep: env.Sleep, Now: w.conn.clock.now}
	lapsed, err := lease.Take(ctx)
	if lapsed != "" {
		a.lapsed = lapsed
	}
	if err != nil {
		var r *remediate.Refusal
		if errors.As(err, &r) && r.Risk && a.noLease {
			a.say("\nAccepted by name: %s: %s\n", r.Name, clean(r.Reason))
			return ctx, func() {}, nil
		}
		if errors.As(err, &r) && r.Risk {
			r.Next += "; or, if you know that nobody else is at work: --accept-risk=" + r.Name
		}
		return nil, nil, refused(err)
	}
	held, done := lease.Keep(ctx)
	return held, func() {
		if err := done(); err != nil {
			warn(a.app.Streams, "", err)
		}
	}, nil
}

// atServer is what time it is at the API server, by its Date; zero: it did not say.
func (c *apiClock) atServer() time.Time {
	if _, _, ok := c.reading().Ahead(); !ok {
		return time.Time{}
	}
	return c.now()
}

// now is what time it is at the API server, as near as it is known: two machines whose
// clocks differ agree on it.
func (c *apiClock) now() time.Time {
	now := collect.Taken()
	if least, most, ok := c.reading().Ahead(); ok {
		now = now.Add((least + most) / 2)
	}
	return now
}
