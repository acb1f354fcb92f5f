package catalog

import (
	"testing"
	"time"
)

func TestSignerNamed(t *testing.T) {
	for cn, want := range map[string]struct {
		ok, first bool
		made      time.Time
	}{
		"kube-apiserver-lb-signer": {true, true, time.Time{}},
		"openshift-kube-apiserver-operator_loadbalancer-serving-signer@1706713320":  {true, false, time.Date(2024, 1, 31, 15, 2, 0, 0, time.UTC)},
		"openshift-kube-apiserver-operator_loadbalancer-serving-signer@":            {},
		"openshift-kube-apiserver-operator_loadbalancer-serving-signer@1706713320x": {},
		"openshift-kube-apiserver-operator_localhost-serving-signer@1706713320":     {},
		"kube-apiserver-lb-signer@1706713320":                                       {},
		"":                                                                          {},
	} {
		got, made, ok := SignerNamed(cn)
		if ok != want.ok || got.ByInstaller != want.first || !made.Equal(want.made) {
			t.Errorf("%q: %v %v %s", cn, ok, got.ByInstaller, made)
		}
	}
}
