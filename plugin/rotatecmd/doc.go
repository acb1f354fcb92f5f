// Package rotatecmd is the command rotate, its list, its status and prune.
package rotatecmd
