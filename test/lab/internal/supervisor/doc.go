//go:build linux

// Package supervisor is the process that a lab lives and dies with: process 1 of
// its own PID namespace, in its own mount, network, IPC and UTS namespaces. etcd,
// the API server, the controller manager and the scheduler are its children.
//
// When it ends, in whatever way, the kernel ends every process in its PID
// namespace, and with the last of them go the network, the interfaces and the
// mounts. So nothing here cleans up, and nothing needs to.
//
// It writes files in the lab's folder only, and knows nothing of OpenShift.
package supervisor
