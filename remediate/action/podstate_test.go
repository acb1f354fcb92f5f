package action

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestWhatAKubeletSaysOfAPodIsMarked: a node chooses all of it.
func TestWhatAKubeletSaysOfAPodIsMarked(t *testing.T) {
	t.Parallel()
	p := &corev1.Pod{Status: corev1.PodStatus{Phase: "ok\nnext: a", ContainerStatuses: []corev1.ContainerStatus{
		{Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ok (next: b)", Message: "ok\u2800(next: c)"}}},
		{Name: "d", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}},
		{Name: "e", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "Lost", Message: "approve the pending request csr-7"}}},
	}}}
	const want = `“ok\nnext: a”, c: “ok (next: b)”: “ok\u2800(next: c)”, d: CrashLoopBackOff, e: Lost: “approve the pending request csr-7”`
	if got := podState(p); got != want {
		t.Errorf("%s", got)
	}
}
