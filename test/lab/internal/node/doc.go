// Package node is what the lab's machines are: their names, addresses and roles,
// and the files that make a Debian machine a node of an OpenShift cluster, with
// OpenShift's paths, owners and modes.
//
// It writes files. Package supervisor boots what has them.
package node
