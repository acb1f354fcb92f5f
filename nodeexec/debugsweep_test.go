package nodeexec

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// What counts as left, and what another run may be working with.
func TestLeftovers(t *testing.T) {
	me := owner{machine: "m1", pid: os.Getpid()}
	const deadPID = 1 << 30
	by := func(machine string, pid int) objectMeta {
		return objectMeta{Annotations: map[string]string{debugMachine: machine, debugPID: fmt.Sprint(pid)}}
	}
	pod := func(m objectMeta, phase string, deadline int64) *podObject {
		p := &podObject{Metadata: m}
		p.Status.Phase, p.Spec.ActiveDeadlineSeconds = phase, deadline
		return p
	}
	for _, c := range []struct {
		name string
		pod  *podObject
		age  time.Duration
		left bool
	}{
		{"my own pod", pod(by("m1", me.pid), "Running", 3600), time.Minute, false},
		{"one of a process of this machine that is gone", pod(by("m1", deadPID), "Running", 3600), time.Second, true},
		{"one of a process of another machine", pod(by("m2", deadPID), "Running", 3600), time.Hour, false},
		{"one of an unknown machine", pod(by("", deadPID), "Running", 3600), time.Hour, false},
		{"one without a mark", pod(objectMeta{}, "Running", 3600), time.Hour, false},
		{"one that waits", pod(by("m2", 1), "Pending", 3600), time.Minute, false},
		{"one that waits beyond its time", pod(by("m2", 1), "Pending", 3600), time.Hour + 3*time.Minute, true},
		{"one that has ended", pod(by("m2", 1), "Failed", 3600), time.Second, true},
	} {
		if why := me.leftPod(c.pod, c.age); (why != "") != c.left {
			t.Errorf("%s: %q", c.name, why)
		}
	}
	if (owner{pid: 1}).dead(by("", deadPID)) {
		t.Error("where machines can't be told apart, a process counts as dead")
	}
}

func TestLeftNamespaces(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	api := &podAPI{}
	api.clock.Store(&now)
	me := owner{machine: "m1"}
	of := func(age time.Duration) objectMeta {
		return objectMeta{CreationTimestamp: now.Add(-age), Annotations: map[string]string{debugMachine: "m2", debugPID: "1"}}
	}
	running := podObject{Metadata: of(time.Minute)}
	running.Status.Phase, running.Spec.ActiveDeadlineSeconds = "Running", 3600
	ended := running
	ended.Status.Phase = "Succeeded"
	for _, c := range []struct {
		name string
		age  time.Duration
		pods []podObject
		left bool
	}{
		{"a new one", time.Second, nil, false},
		{"one between two pods", time.Hour, nil, false},
		{"an old one without pods", 3 * time.Hour, nil, true},
		{"an old one where a pod runs", 3 * time.Hour, []podObject{ended, running}, false},
		{"an old one whose pods have ended", 3 * time.Hour, []podObject{ended, ended}, true},
	} {
		if why := me.leftNamespace(api, of(c.age), c.pods); (why != "") != c.left {
			t.Errorf("%s: %q", c.name, why)
		}
	}
}
