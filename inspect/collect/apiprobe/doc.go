// Package apiprobe has a node ask servers, with credentials that lie on it and do not leave
// it: what the API server would say to the node's kubelet if that started now, and
// whether servers accept a client certificate of a master.
//
// What a kubeconfig is made of comes from the redacted text that package gather
// read; where its secrets are is sent to the node as offsets in the file, and the
// node does nothing if the file is another one by now. probe.sh is what runs there.
// Only GET requests are made; what comes back are a status of HTTP and the
// server's one word for why.
//
// The package refuses to judge what the answers mean, and to write to a node.
package apiprobe
