// Package gather reads a node's certificate files in one round trip.
//
// buildProgram makes a fixed POSIX shell program and its arguments; Read runs it on a
// node and parses what it prints. Private keys, tokens and passwords never leave
// the node: which bytes may is decided there, by *.awk, and docs/gather.md says
// it in words. What a node answers is not trusted: parseOutput bounds it, checks
// lengths and checksums, and what is wrong with it becomes an error or a gap.
//
// The package refuses to write to a node, and to know how one is reached.
package gather
