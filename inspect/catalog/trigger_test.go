package catalog

import (
	"slices"
	"strings"
	"testing"
)

// TestEveryRotationHasOneTrigger: for each version, what a signer is and what it signs
// says how it is rotated, once.
func TestEveryRotationHasOneTrigger(t *testing.T) {
	t.Parallel()
	for title, v := range goldenVersions() {
		for _, r := range Rotations() {
			if v.NotOpenShift || r.In.Holds(v) != Yes {
				continue
			}
			for _, of := range append([]Ref{r.Signer}, r.Targets...) {
				if of.Kind != Secret {
					continue
				}
				row, known := TriggerOf(of, v)
				if known != Yes || row.Doc == "" {
					t.Errorf("%s: how %s is made again: %s", title, of, known)
				}
				if owned := r.Signer.Namespace == kasOperator; owned != (row.Annotation != "") && r.Signer.Namespace != kcmOperator {
					t.Errorf("%s: %s: annotation %q", title, of, row.Annotation)
				}
			}
		}
	}
	rows := Triggers()
	for i, a := range rows {
		for _, b := range rows[i+1:] {
			if a.Secret == b.Secret && a.In.overlaps(b.In) {
				t.Errorf("%s: two triggers hold for the same version: %s and %s", a.Secret, a.In, b.In)
			}
		}
	}
}

// TestWhatIsNotTriggeredSaysWhatPeopleDo: by the version, and who does it.
func TestWhatIsNotTriggeredSaysWhatPeopleDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of            Ref
		version, says string
	}{
		{secret(userConfig, "etcd-signer"), "4.15.1", "no operator renews it"},
		{secret(userConfig, "etcd-signer"), "4.16.1", "copy openshift-etcd/etcd-signer, which all members trust already, over this"},
		{secret(userConfig, "etcd-metric-signer"), "4.16.1", "near its own end"},
		{secret(userConfig, "etcd-metric-signer"), "4.16.1", "oc get secret etcd-metric-signer -n openshift-etcd -o json"},
		// A node's missing certificates are signed at once, and with them all others.
		{secret(etcdTarget, "etcd-signer"), "4.17.1", "unless a control plane node is added meanwhile"},
		{secret(etcdTarget, "etcd-metric-signer"), "4.22.1", "Add no control plane node before the rollouts are over"},
		{secret(etcdTarget, "etcd-signer"), "4.17.1", "oc delete secret -n openshift-etcd etcd-signer"},
		{secret(etcdTarget, "etcd-metric-signer"), "4.22.1", "oc delete secret -n openshift-etcd etcd-metric-signer"},
		{secret(etcdTarget, "etcd-peer-master-0"), "4.22.1", "rotates it by itself"},
		{secret(serviceCATarget, "signing-key"), "4.12.1", "without that bridge"},
		{secret("openshift-ingress", "router-certs-default"), "4.22.1", "a router's Pod does not start"},
		{secret(mcoTarget, "machine-config-server-ca"), "4.19.1", "when machine-config-controller starts"},
		{secret(nodeIdentity, "network-node-identity-ca"), "4.14.1", "and with OVN-Kubernetes of a node's status"},
		{secret(kcmTarget, "csr-signer"), "4.15.1", "the cert-recovery-controller beside kube-controller-manager"},
		{secret(mcoTarget, "machine-config-server-ca"), "4.18.1", "no operator renews it"},
		{secret(mcoTarget, "machine-config-server-tls"), "4.12.1", "regenerate-machine-config-server-serving-cert"},
		{secret(mcoTarget, "machine-config-server-ca"), "4.19.1", "regenerate-machine-config-server-serving-cert"},
		// What oc's command made, or an operator, it makes no second time.
		{secret(mcoTarget, "machine-config-server-ca"), "4.18.1", "machine-config-server-ca machine-config-server-tls auth.openshift.io/certificate-not-after-"},
		{secret(mcoTarget, "machine-config-server-tls"), "4.22.1", "machine-config-server-ca machine-config-server-tls auth.openshift.io/certificate-not-after-"},
	} {
		row, known := TriggerOf(c.of, Versions{Cluster: c.version})
		if known != Yes || row.Annotation != "" || row.Mark != Verified || !strings.Contains(row.Doc, c.says) {
			t.Errorf("%s in %s: %s, %q, %s: %s", c.of, c.version, known, row.Annotation, row.Mark, row.Doc)
		}
	}
}

func TestRotatedNames(t *testing.T) {
	t.Parallel()
	names := RotatableNames()
	for _, want := range []string{"kube-apiserver-to-kubelet-signer", "loadbalancer-serving-signer", "internal-loadbalancer-serving-certkey", "csr-signer-signer", kcmOperator + "/csr-signer"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not among %s", want, names)
		}
	}
	if slices.Contains(names, "signing-key") || slices.Contains(names, "router-ca") {
		t.Errorf("what is not triggered is among %s", names)
	}
}

// Once upgraded to 4.14 each node has OVN databases of its own, which use no certificates.
func TestWhatDependsOnTheNetworksCertificates(t *testing.T) {
	for _, c := range []struct{ name, version, want string }{
		{"ovn-ca", "4.13.3", "nothing here: the network of every node depends on it"},
		{"ovn-cert", "4.14.3", "during the upgrade from 4.13 the network of every node depends on it, and no component uses ovn-cert after that"},
		{"ovn-ca", "4.15.3", "no component reads ovn-cert"},
		{"ovn-cert", "4.22.3", "no component reads ovn-cert"},
		{"signer-ca", "4.15.3", "where IPsec is on"},
	} {
		row, known := TriggerOf(secret(ovnTarget, c.name), Versions{Cluster: c.version})
		if known != Yes || !strings.Contains(row.Doc, c.want) {
			t.Errorf("%s in %s: %v, %s", c.name, c.version, known, row.Doc)
		}
	}
}
