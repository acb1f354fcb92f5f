// Package apiint plans the repair of trust in api-int: the CA in kubelets' kubeconfigs, restarts
// in waves, kubelets that join again, and scripts for nodes without a way to them.
package apiint
