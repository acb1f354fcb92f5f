// Package inspect holds the facts about a cluster's certificates (Snapshot) and
// judges them (Checks, Judge). Everything here is a function from values to
// values: the same Snapshot comes from a live cluster or a saved file, and the
// time is always an argument.
//
// It does no IO (inspect/collect reads, plugin prints), holds no OpenShift
// knowledge of its own (inspect/catalog does) and never sees a private key.
package inspect
