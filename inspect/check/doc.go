// Package check judges facts place by place. A Check is a claim and a function that finds where
// it does not hold.
package check
