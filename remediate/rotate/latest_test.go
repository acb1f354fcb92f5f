package rotate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// annotated is a cluster in which the signer's Secret is patched, as an API server does.
type annotated struct {
	*turning
	api    *metadatafake.FakeMetadataClient
	secret *metav1.PartialObjectMetadata
	race   bool // another client writes it between reading and patching
	writes int
}

func annotate(t *testing.T, world *turning) *annotated {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := &annotated{turning: world}
	c.secret = &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{
		Namespace: "openshift-kube-apiserver-operator", Name: followed, UID: "a", ResourceVersion: "7",
		Annotations: map[string]string{catalog.AnnotationNotAfter: world.old.Cert.NotAfter.UTC().Format(time.RFC3339)},
	}}
	c.api = metadatafake.NewSimpleMetadataClient(scheme, c.secret)
	remediatetest.HonorConditions(c.api, func(clienttesting.Action) { c.writes++ })
	return c
}

// put is what another client writes.
func (c *annotated) put(uid types.UID, version, notAfter string) error {
	c.secret.UID, c.secret.ResourceVersion = uid, version
	c.secret.Annotations = map[string]string{catalog.AnnotationNotAfter: notAfter}
	if notAfter == "" {
		c.secret.Annotations = nil
	}
	return c.api.Tracker().Update(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, c.secret, c.secret.Namespace)
}

func (c *annotated) Trigger(ctx context.Context, of catalog.Ref, annotation string) (action.RemoveAnnotation, error) {
	return action.PlanRotation(ctx, c.api, of, annotation, inspect.LiveHints("certrot"))
}

func (c *annotated) Apply(ctx context.Context, plan func(context.Context) (*remediate.Plan, error)) (bool, error) {
	p, err := plan(ctx)
	if err != nil {
		return false, err
	}
	if c.race {
		if err := c.put(c.secret.UID, "9", c.secret.Annotations[catalog.AnnotationNotAfter]); err != nil {
			return false, err
		}
	}
	err = p.Nodes()[0].Steps[0].Action.Apply(ctx, nil, nil)
	var before *remediate.NotAppliedError
	return !errors.As(err, &before), err
}

// TestLaterNamesArePatchedAsTheyAreNow: the rotations before it take minutes, and operators write its Secret meanwhile. It is
// the one that was displayed as long as its annotation is; else it is not begun, and the line that goes on names it.
func TestLaterNamesArePatchedAsTheyAreNow(t *testing.T) {
	const goesOn = "to go on from there:\n    certrot rotate " + followed + " c"
	for _, c := range []struct {
		title     string
		displayed string // its annotation; empty: as it is now
		but       func(c *annotated, is string) error
		says      string // empty: it is rotated
	}{
		{"as it was displayed", "", func(*annotated, string) error { return nil }, ""},
		{"another client wrote it", "", func(c *annotated, is string) error { return c.put("a", "8", is) }, ""},
		{"its owner rotated it", "2000-02-01T00:00:00Z", func(c *annotated, is string) error { return c.put("a", "8", is) }, "it changed after it was read: its annotation auth.openshift.io/certificate-not-after was 2000-02-01T00:00:00Z, and is "},
		{"it was created again", "", func(c *annotated, is string) error { return c.put("b", "8", is) }, "it changed after it was read: it was deleted, and created again"},
		{"its owner rotates it now", "", func(c *annotated, _ string) error { return c.put("a", "8", "2001-02-01T00:00:00Z") }, "it changed after it was read"},
		{"its annotation is gone", "", func(c *annotated, _ string) error { return c.put("a", "8", "") }, "its operator rotates it in any case"},
		{"another client writes it now", "", func(c *annotated, _ string) error { c.race = true; return nil }, "the object has been modified"},
	} {
		t.Run(c.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, out := runnerForTest()
				r.Resume = "certrot rotate"
				world := turn(r)
				world.signers = nil
				cluster := annotate(t, world)
				r.Cluster = cluster
				is := cluster.secret.Annotations[catalog.AnnotationNotAfter]
				if c.displayed != "" {
					if err := cluster.put("a", "7", c.displayed); err != nil {
						t.Fatal(err)
					}
				}
				p := Planned{Of: world.rotatable(t)}
				var err error
				if p.Action, err = cluster.Trigger(t.Context(), p.Of.At, p.Of.Trigger.Annotation); err != nil {
					t.Fatal(err)
				}
				if err := c.but(cluster, is); err != nil {
					t.Fatal(err)
				}
				err = r.inTurn([]Planned{{Of: Rotatable{Name: "a"}}, p, {Of: Rotatable{Name: "c"}}}, func(p Planned, later, _ bool) (bool, error) {
					if p.Of.Name != followed {
						return true, nil
					}
					_, changed, err := r.one(t.Context(), p, later, true)
					return changed, err
				})
				if c.says == "" {
					if err != nil || cluster.writes != 1 {
						t.Errorf("%d writes: %v\n%s", cluster.writes, err, out)
					}
					return
				}
				e := asError(err)
				if e == nil || e.Outcome != Stopped || cluster.writes > 0 || !strings.Contains(e.Error(), c.says) ||
					!strings.HasSuffix(e.Error(), "; done: a; not begun: "+followed+", c") || !strings.HasSuffix(e.Next, goesOn) {
					t.Errorf("%d writes: %v\n  next: %+v", cluster.writes, err, e)
				}
			})
		})
	}
}

// rotatable is what it rotates, as it is read.
func (c *turning) rotatable(t *testing.T) Rotatable {
	t.Helper()
	reading, err := c.Recheck(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	of, err := reading.Find(followed)
	if err != nil {
		t.Fatal(err)
	}
	return of
}
