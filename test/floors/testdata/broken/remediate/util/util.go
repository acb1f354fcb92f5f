// Package util has a bit of everything.
package util
