// Package verifycmd is the command verify, with restart-safe.
package verifycmd
