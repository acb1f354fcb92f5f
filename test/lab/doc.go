//go:build linux

// Command lab brings up, enters and removes the project's lab: a real Kubernetes
// control plane that carries an OpenShift cluster's identity and certificates, and
// whole machines as its nodes, on one Linux machine, in namespaces that vanish with
// it. See docs/lab.md.
//
//	go run ./test/lab up|down|status
//	go run ./test/lab run CMD…
//	go run ./test/lab reboot|cut NODE
//	go run ./test/lab incident [signer|leaf|reconnect [NODE…]]
//	go run ./test/lab heal
//
// This package decides what happens in which order and talks to the user. What
// the lab is made of lies in internal; package labtest is for tests that need it.
package main
