// Package inspecttest has a fixture for tests: a cluster that is built object by object.
package inspecttest
