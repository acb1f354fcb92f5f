// Package floors holds the architecture as tests: which package may import
// which, who may touch the world, who may end the process.
//
// It reads what `go list` says of the packages and parses their files; it runs
// nothing of them.
package floors
