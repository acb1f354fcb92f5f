// Package api stands in for the real one.
package api
