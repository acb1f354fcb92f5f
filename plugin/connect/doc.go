// Package connect goes from flags to clients: kubeconfigs, sources of facts, ways onto nodes.
package connect
