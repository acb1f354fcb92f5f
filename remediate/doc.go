// Package remediate turns facts into a Plan of small actions, proves on an
// overlay of the facts that the plan removes findings and adds none, and runs
// it: node by node, each write conditional on what was read, kept in a journal,
// verified by its effect, and stopped at the first failure.
//
// An Action looks at facts only to say what it would change (Diff), and changes
// a node only while it is as those facts said (Apply). What a run did is in two
// places: its journal on this machine, and a folder with the bytes from before
// on each node (package nodeexec/host). Either is enough to undo it.
//
// The package refuses to decide whether a plan may be run: it knows no command
// line and asks no one.
package remediate
