// Package undocmd is the commands undo and runs.
package undocmd
