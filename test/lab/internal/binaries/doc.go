// Package binaries builds the lab's components (Kubernetes, etcd, OpenShift's
// CRDs) from the module in test/lab/components, once, into a cache outside of
// the checkout, and finds them there ever after.
//
// It decides by contents alone: the folder's name is the hash of everything that
// the build depends on. A warm look-up runs no other program.
package binaries
