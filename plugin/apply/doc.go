// Package apply has what commands share that change something: flags, the session with a cluster
// and its nodes, the plan on the screen, consent, the Lease, the journal, and undo.
package apply
