// Package snapshotcmd is the command snapshot.
package snapshotcmd
