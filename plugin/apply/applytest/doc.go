// Package applytest has sessions with nodes that are folders of this machine.
package applytest
