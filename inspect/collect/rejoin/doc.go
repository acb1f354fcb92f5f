// Package rejoin asks, on a node, what the API server would say to its kubelet if
// it started now: with the kubelet's own kubeconfigs and credentials, which do not
// leave the node.
//
// What a kubeconfig is made of comes from the redacted text that package gather
// read; where its secrets are is sent to the node as offsets in the file, and the
// node does nothing if the file is another one by now. rejoin.sh is what runs
// there. Only GET requests are made; what comes back are a status of HTTP and the
// server's one word for why.
//
// The package refuses to judge what the answers mean, and to write to a node.
package rejoin
