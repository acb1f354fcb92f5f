// Package cli has what every command needs: how the program was called, its streams, errors with
// a next step, and exit codes, which are made here only.
package cli
