//go:build linux

// Package supervisor is the process that a lab lives and dies with: process 1 of
// its own PID namespace, in its own mount, network, IPC and UTS namespaces. etcd,
// the API server, the controller manager and the scheduler are its children, and
// so are the machines that are the lab's nodes. For those it also stands in for
// what OpenShift has and the lab has not: Ignition, the machine approver.
//
// When it ends, in whatever way, the kernel ends every process in its PID
// namespace, and with the last of them go the network, the interfaces and the
// mounts. What is left are the nodes' control groups, empty: it removes them if it
// gets to, else package cgroup does it for `down`.
//
// It writes files in the lab's folder only.
package supervisor
