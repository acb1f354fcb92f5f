// Package action has the single steps of repairs: each changes one file, unit or object, or
// waits for an effect.
package action
