//go:build !unix

package nodeexec

// isAlive says whether there is a process of that number; here that is unknown.
func isAlive(int) bool { return true }
