package collect

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAnUnparsableTimeIsNoTime: a kubelet writes its Node and its Lease, and the API server makes a year of
// five digits of what it wrote.
func TestAnUnparsableTimeIsNoTime(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"late":  `{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"10000-01-01T00:59:59Z"}]}`,
		"early": `{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"-0001-12-31T23:00:00Z"}]}`,
	} {
		var status corev1.NodeStatus
		if err := decodeWithoutUnparsableTimes([]byte(raw), &status); err != nil || len(status.Conditions) != 1 || status.Conditions[0].Status != corev1.ConditionTrue || !status.Conditions[0].LastHeartbeatTime.IsZero() {
			t.Errorf("%s: %v, %+v", name, err, status)
		}
	}
	var lease leaseObject
	if err := decodeWithoutUnparsableTimes([]byte(`{"spec":{"renewTime":"10000-01-01T00:59:59.000000Z","leaseDurationSeconds":40}}`), &lease); err != nil || lease.Spec.Seconds != 40 || !lease.Spec.RenewTime.IsZero() {
		t.Errorf("%v, %+v", err, lease)
	}
	if err := decodeWithoutUnparsableTimes([]byte(`{"spec":{"renewTime":"yesterday","leaseDurationSeconds":40}}`), &lease); err == nil {
		t.Error("what is no time at all is read")
	}
}

// TestTimesOfPodsCanBeWritten: a kubelet chooses them, and a snapshot is JSON.
func TestTimesOfPodsCanBeWritten(t *testing.T) {
	t.Parallel()
	late := metav1.Time{Time: time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -24*3600+60))}
	good := metav1.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for _, at := range []metav1.Time{late, good} {
		p := podOf(&corev1.Pod{Status: corev1.PodStatus{StartTime: &at, ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}}}}})
		if _, err := json.Marshal(p); err != nil || p.Accepted.IsZero() != (at == late) || p.Started.IsZero() != (at == late) {
			t.Errorf("%s: %+v, %v", at.Time, p, err)
		}
	}
}
