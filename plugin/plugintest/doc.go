// Package plugintest has what tests of commands share: an API server that answers by path, nodes
// that are folders, and hostile texts.
package plugintest
