// Package reporttest holds the documents of -o json and -o yaml to their published schemas, and to
// the page that tells what became of each key of certrot/v1alpha1.
package reporttest
