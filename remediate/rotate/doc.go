// Package rotate finds what can be rotated, checks whether it may be, and follows the new CA to
// all who verify by it.
package rotate
