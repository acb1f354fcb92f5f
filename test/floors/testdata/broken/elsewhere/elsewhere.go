// Package elsewhere is on no floor.
package elsewhere
