// Package preflight checks a cluster before it is changed, and again while it is.
package preflight
