// Package pki mints the lab's certificates: the signers, leaves and CA bundles
// of an OpenShift cluster, under the names that OpenShift gives them, each
// signer a CA of its own as there.
//
// It owns which CA signs which certificate and for how long. It does not know
// which component reads which file (package supervisor) nor which object carries
// it in the cluster (package identity).
package pki
