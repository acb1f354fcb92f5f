// Package report makes the documents that -o json and -o yaml print: of facts, and of what was
// judged of them.
package report
