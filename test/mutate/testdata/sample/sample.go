// Package sample is mutated by a test.
package sample

func same(a, b int) bool { return a == b }

func untested(a, b int) bool { return a == b }

func used(a int) int {
	b, c := 1, a
	b = c
	return b
}
