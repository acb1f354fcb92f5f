// Package e2e holds tests that run the built program as a user does: against the
// lab's real API server, through its kubectl and oc, on pipes and terminals.
//
// The first test that needs it plants objects of every kind that certrot reads
// into the lab, in namespaces of its own; all tests share them, and TestMain
// removes them. What the program says is compared with what the lab's kubectl
// says, read by an oracle that knows nothing of certrot's own packages.
package e2e
