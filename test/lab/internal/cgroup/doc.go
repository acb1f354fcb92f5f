// Package cgroup puts the lab's machines into control groups of their own and
// removes those afterwards. It is the one thing of a lab that does not vanish with
// its namespaces: the kernel keeps a control group's folder until it is removed.
//
// The folders lie below the control groups that the lab itself is in, one in each
// hierarchy, and carry the lab's name, so that who finds one knows whose it is.
package cgroup
