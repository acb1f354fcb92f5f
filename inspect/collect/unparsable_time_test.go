package collect

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
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
