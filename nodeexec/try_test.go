package nodeexec_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

type refusing struct {
	name string
	err  error
}

func (r refusing) Name() string { return r.name }
func (r refusing) Dial(context.Context, string) (nodeexec.Node, error) {
	return nil, r.err
}

func TestTryTakesTheFirstWayThatWorks(t *testing.T) {
	way := nodeexec.FirstOf(nodeexec.Local{Node: "other"}, refusing{"exec", errors.New("kubelet says no")}, nodeexec.Local{Node: "node-1"}, refusing{"late", nil})
	if n := open(t, way, "node-1"); n.Name() != "node-1" || nodeexec.Via(n) != "local" {
		t.Errorf("onto %s via %s", n.Name(), nodeexec.Via(n))
	}
	if way.Name() != "local, exec, local, late" {
		t.Error(way.Name())
	}
}

func TestNotAllowedIsAllThatIsSaid(t *testing.T) {
	rbac := refusing{"exec", errors.New(`pods is forbidden: User "a" cannot list resource "pods"`)}
	here := nodeexec.Local{Node: "laptop"}
	for _, c := range []struct {
		ways []nodeexec.Transport
		want bool
	}{
		{[]nodeexec.Transport{here, rbac}, true},
		{[]nodeexec.Transport{rbac, refusing{"ssh", errors.New("host key HAS CHANGED")}}, false},
		{[]nodeexec.Transport{here}, false},
	} {
		if _, err := nodeexec.FirstOf(c.ways...).Dial(t.Context(), "node-1"); nodeexec.NotAllowed(err) != c.want {
			t.Errorf("%v: not allowed is %v", err, !c.want)
		}
	}
}

func TestTryTellsOfEachWayWhyNot(t *testing.T) {
	no := errors.New("kubelet says no")
	_, err := nodeexec.FirstOf(nodeexec.Local{Node: "laptop"}, refusing{"exec", no}).Dial(t.Context(), "node-1")
	want := "no way onto node node-1: local: does not lead there: this machine is laptop, not node node-1; exec: kubelet says no"
	if err == nil || err.Error() != want || !errors.Is(err, no) {
		t.Errorf("%v\nwant %s", err, want)
	}
	if nodeexec.IsNoTransport(err) {
		t.Error("a way that was tried in vain counts as none")
	}
	if _, err := nodeexec.FirstOf(nodeexec.Local{Node: "laptop"}).Dial(t.Context(), "node-1"); !nodeexec.IsNoTransport(err) {
		t.Errorf("%v is no way at all", err)
	}
	if _, err := nodeexec.FirstOf().Dial(t.Context(), "node-1"); err == nil || !strings.Contains(err.Error(), "no transport") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = nodeexec.FirstOf(refusing{"ssh", ctx.Err()}, refusing{"debug", errors.New("asked in vain")}).Dial(ctx, "node-1")
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "vain") {
		t.Errorf("after the end of its context, it goes on: %v", err)
	}
}
