// Package inspect holds the facts about a cluster's certificates: a Snapshot of what was
// read, and Facts, which is a Snapshot with a time and with what the catalog knows of each
// place. The same Snapshot comes from a live cluster or a saved file, and the time is always
// an argument.
//
// It does no IO (inspect/collect reads, plugin prints), holds no OpenShift knowledge of its
// own (inspect/catalog does) and never sees a private key. Packages beside it judge the
// facts: check by place, trust by pairs of client and server. report makes documents.
package inspect
