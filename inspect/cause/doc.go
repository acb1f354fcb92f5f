// Package cause folds findings into the problems that they are about, by the rows of the
// catalog, for people. Exit codes and documents come from the findings themselves.
package cause
