// Package cobra stands in for the real one.
package cobra
