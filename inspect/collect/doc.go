// Package collect holds the only readers of the outside world that inspect has:
// a live cluster's API, the caller's kubeconfig, and files (saved snapshots,
// manifests, PEM, DER). Each Source returns facts and gaps as a value; what
// fails becomes a gap and never stops the others.
//
// It writes nothing anywhere but the snapshot file it is asked for.
package collect
