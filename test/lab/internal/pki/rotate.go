package pki

import (
	"fmt"
	"os"
	"time"
)

// RotateLoadBalancerSigner writes into a folder what OpenShift's operator makes of
// the certificates in dir when it rotates LoadBalancerSigner: the next generation
// of it, InternalServing signed by that, for the same names, and each bundle that
// the signer is in with the new one first. dir itself stays as it is.
func RotateLoadBalancerSigner(dir, into string, now time.Time) error {
	m := minter{dir: into, now: now, signers: map[string]*pair{}}
	next := signer{
		name: LoadBalancerSigner, cn: mintedName("openshift-kube-apiserver-operator", LoadBalancerSigner, now), validity: 10 * year,
	}
	if err := m.signer(next); err != nil {
		return fmt.Errorf("mint the next %s: %w", LoadBalancerSigner, err)
	}
	for _, l := range leaves() {
		if l.name != InternalServing {
			continue
		}
		if err := m.leaf(l); err != nil {
			return fmt.Errorf("mint the next %s: %w", l.name, err)
		}
	}
	for _, name := range BundlesWith(LoadBalancerSigner) {
		before, err := os.ReadFile(BundleFile(dir, name))
		if err != nil {
			return fmt.Errorf("add the next %s to bundle %s: %w", LoadBalancerSigner, name, err)
		}
		all := append(append([]byte{}, m.signers[LoadBalancerSigner].pem...), before...)
		if err := os.WriteFile(BundleFile(into, name), all, 0o644); err != nil {
			return fmt.Errorf("add the next %s to bundle %s: %w", LoadBalancerSigner, name, err)
		}
	}
	return nil
}
