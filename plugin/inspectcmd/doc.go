// Package inspectcmd is the commands inspect and explain.
package inspectcmd
