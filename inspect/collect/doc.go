// Package collect holds the only readers of the outside world that inspect has:
// a live cluster's API, the caller's kubeconfig, handshakes with servers, nodes (gather), and files (snapshots,
// must-gathers, manifests, PEM, DER, keystores). Each Source returns facts and gaps as a value; what
// fails becomes a gap and never stops the others.
//
// It writes nothing anywhere but the snapshot file it is asked for.
package collect
