package collect

import (
	"slices"
	"sync"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// sentence is what a snapshot's file says in a whole sentence: bare where readings say it, with what others say in it
// marked (foreign.Own).
func sentence(s string) string {
	if s == "" {
		return s
	}
	return foreign.Own(s, readingsSay())
}

// readingsSay are the forms of what readings of this release, and of those before, say. A reading's sentence that is
// in none of them stands between quotation marks when it comes from a file.
var readingsSay = sync.OnceValue(func() []string { //nolint:gochecknoglobals // a constant, made when it is needed
	return slices.Concat(aroundThem(), things(), clusterSays(), filesSay(), nodesSay(), waysSay(), probesSay(), mustGatherSays(), gather.Sentences(), pki.Sentences())
})

// aroundThem are those that others are in.
func aroundThem() []string {
	return []string{
		"{own}; the API says of it: Ready is {}", "{own}; the API says of it: no heartbeat for {} (Lease), Ready is {}", "{own}; the API says of it: no heartbeat for {} (Lease)",
		"{own}; the API says of it: no heartbeat (there is no Lease)", "{own}; the API says of it: no heartbeat (the Lease was never renewed)",
		"clean up: {own}", "via local: {own}", "via exec: {own}", "via ssh: {own}", "via debug: {own}", "via command: {own}",
		"heartbeat not read: {own}", "TLS handshake from here: {own}", "TLS handshake from the node: {own}", "ask on the node: {own}", "gather program: {own}", "not read: {own}",
	}
}

// things are what is read, how much of it, and where.
func things() []string {
	return []string{
		"other secrets", "hidden secrets", "hidden configmaps", "must-gather objects", "logs of TLS servers", "logs of machine-config-daemons", "objects to compare with",
		"objects that others refer to", "API server", "API {}", "clean up", "rollout of CAs", "document {n}", "item {n} of {}", "{n} of {n}",
		"context {}", "a token", "a password", "client certificate", "a program", "no credentials", "nothing",
		"{n} files; {n} via local", "{n} files; {n} via exec", "{n} files; {n} via ssh", "{n} files; {n} via debug", "{n} files; {n} via command", "{n} files", "not served by this cluster",
		"by name: {,}", "namespace by namespace: {n} of {n} allowed", "you may not list nodes", "does not answer: {}: {}", "does not answer: {}",
		"you may not list them: {own}; to get them, ask for list on clusterversions, clusteroperators and infrastructures of config.openshift.io, as the cluster role cluster-reader has it",
		"rules that depend on OpenShift's version were not applied", "platform and topology were not read",
		"rules were applied by the cluster's version, although operators may be behind it during an upgrade", "by label: {}", "by field: {}",
		"the list took longer than the server keeps one state: its parts are of different moments",
		"--insecure-skip-tls-verify", "insecure-skip-tls-verify in the kubeconfig", "its URL is {}, without TLS", "made by test/demo for demonstration; no such cluster exists",
	}
}

// clusterSays are what is said of reading an API server, and of who is at work in a cluster.
func clusterSays() []string {
	return []string{
		"list {}: forbidden in the whole cluster and in {n} of {n} namespaces", "list {}: broke off after {n} objects (about {n} more): {own}", "list {}: broke off after {n} objects: {own}",
		"list {} named {} in all namespaces: {own}", "list leases in kube-node-lease: {own}", "list pods of all namespaces: {own}", "list {}: {own}",
		`no object named "{}" in namespace "{}"`, `no object named "{}" in any namespace`, `no object named "{}" in namespace {}`, `no object named "{}"`, "read {}: {own}", "decode {}: {own}", "no answer within {}",
		"the API server's answer is larger than {n} MiB: it was not read", "it holds no certificate", "look for {}, which others refer to: {own}",
		"{}: its data were left out: their content is unknown", "{}: {n} values are not base64, as in a redacted file: their content is unknown", "{}: 1 value is not base64, as in a redacted file: their content is unknown",
		"it heeds no condition of nodes", "it scales down, as by default", "it scales down", "it does not scale down", "state {}", "it names machines to the ClusterAutoscaler",
		"it is replacing machines: {n} of {n} are as it wants, and there are {n}", "it is at work on the node of Machine {}", "it is at work on node {}",
		"it heeds {} True", "it heeds {} False", "it heeds {} Unknown", "it heeds {} {}, {} {}, {} {}", "it heeds {} {}, {} {}", "it heeds {} {}",
		"no heartbeat for {} (Lease), Ready is {}", "no heartbeat for {} (Lease)", "no heartbeat (there is no Lease)", "no heartbeat (the Lease was never renewed)",
		"which other nodes the cluster has is unknown: no file lists them",
		"the kubeconfig has no current context", "the kubeconfig goes through a proxy, so no handshake was made",
		"no certificate was presented", "a chain of {n} certificates was presented: more than {n} are not read", "no handshake within {}", "certificate {n} of the chain: {own}",
		"neither the node nor a control plane node was read, from which it could be asked", "context deadline exceeded ({own})", "context canceled ({own})",
	}
}

// filesSay are what is said of files that were read here.
func filesSay() []string {
	return []string{
		holdsNothing, isEmpty, "is no Kubernetes object: not read", "can't be read as a Kubernetes object", "not all was read: {own}", "unpack: {own}",
		"is a link, or no file: not followed", "directories deeper than {n}: not looked into", "searched for {} in its first {} only", "{n} more like these could not be read",
		"is {n} MiB, more than the {n} MiB that are read of one file: not read", "is of cluster {}, and newer is what is of cluster {}: only that was read",
		"{n} documents before it can't be read: the others were not tried", "more than {n} of its items can't be read: the others were not tried", "decode metadata: {}",
		"is one object of {n} lines and values, more than the {n} that are parsed: not read", "is {n} MiB in one object, where API servers take 3: not read",
		"holds no Kubernetes object: it is empty", "it grew while it was read", "more than {n} files", "interrupted while reading {}",
	}
}

// mustGatherSays are what is said of a must-gather.
func mustGatherSays() []string {
	out := []string{
		"of {} {} UTC, {own}",
		"a must-gather holds none of their files: what kubelets and static pods use is not in it", "there are none in it: a must-gather holds those of some namespaces, at most",
		"a must-gather holds those of some namespaces (here {n}), and of their values only certificates",
		"searched for tokens and keys; nothing else of them is kept", "searched for clients that refuse the server's certificate; nothing else of them is kept",
		"not all was read: the archive breaks off after {own}: {own}", "{n} files", "1 file", "{n} values in {own} of {own}", "1 value in {own} of {own}", "{n} Secrets", "1 Secret", "{n} ConfigMaps", "1 ConfigMap", "{n} namespaces", "1 namespace",
		"{n} files not read: those before have {n} GiB of objects", "1 file not read: those before have {n} GiB of objects",
	}
	const hidden = " were left out of the must-gather or replaced by their length: whether keys belong to their certificates, and what else stood there, is unknown"
	out = append(out, "{own}"+hidden, "{own}"+hidden+"; of {n} of them the certificate itself")
	for _, left := range []string{
		"of an unknown time, so judged as of now", "by its timestamp file", "the newest time of its files, as there is no timestamp file",
		"the newest time in its objects, as there is no timestamp file: it is from then or later", "{n} image directories", "{n} logs and other files", "{n} log or other file", "{n} files of kinds that certrot does not read", "{n} file of kinds that certrot does not read",
		"{n} archives in it, not opened", "{n} archive in it, not opened", "{n} links and devices, not followed", "{n} link or device, not followed",
		"{n} objects found more than once and not the same: the newest copy was taken, by the must-gather's time and then by resourceVersion",
		"{n} object found more than once and not the same: the newest copy was taken, by the must-gather's time and then by resourceVersion",
	} {
		out = append(out, left+"; {own}", left)
	}
	return out
}

// nodesSay are what is said of reading a node's files, beside what the gather program says.
func nodesSay() []string {
	return []string{
		"not done after {}", "the node gives no answer within {}", "the answer of the node is not whole: {}", "the answer of the node is not understood: {}", "{n} answers to {n} questions",
		"there is nothing of that name on any node that was read", "interrupted", "the node was closed", "no way onto the node: {own}", "not allowed: {own}",
		"does not lead there: neither ssh configuration nor inventory speak of node {}", "does not lead there: this machine is {}, not node {}", "{} has no {}, by which who answers is to be verified first",
	}
}

// waysSay are what is said of the ways onto nodes.
func waysSay() []string {
	return []string{
		"no way onto node {}: {own}", "ssh to {}: {own}", "log in as {} on {}: {own}", "logged in as {}, and can't run commands: {own}", "connect to {}: {own}", "jump host {} (for {}): {own}", "jump host {}: {own}",
		"the jump host says: {own}", "dial {} from {}: {own}", "the connection to {} was closed: no answer for {}", "the connection to {} was closed: {own}", "start a command: {own}",
		"connected, and no end of the handshake within {}: sshd is there and does not answer", "no command starts within {}", "address of node {}: {own}; it can be given in an inventory file",
		"pod {}: the kubelet of {} refuses exec, because it can't ask the API server who may (it does not trust api-int, or is not trusted there): {}: {own}",
		"pod {}: the API server and the kubelet of {} do not trust each other's certificates: {}: {own}", "pod {}: the API server can't reach the kubelet of {}: {}: {own}",
		"pod {} is gone from node {}: {own}", "pod {}: the exec ended without the command's own last word, as when the kubelet restarts",
		"pod {}: no answer within {}: does the kubelet of {} run, and can the API server reach it? ssh does not need that", "pod {}: {own}",
		"outcome unknown: the command was started and its end was not seen", "too much output: more than {n} bytes",
		"local: {own}", "exec: {own}", "ssh: {own}", "debug: {own}", "command: {own}",
	}
}

// probesSay are what is said of requests that were made from nodes.
func probesSay() []string {
	return []string{
		"no kubeconfig of a kubelet was found: neither OpenShift's nor kubeadm's, and no running kubelet names one",
		"it was not among the files that were read: --node-path {}", "it could not be read", "its shape is not understood, so its text did not leave the node", "it is empty",
		`server "{}" is no https:// address`, "server {} is no https:// address", "the host of server {} is neither an IP address nor a DNS name",
		"it is no YAML: {}", "a kubelet can't load it: {}", "it has no current-context", "it has a client certificate and no key", `it has no entry "{}" in {}`, "it has no entry {} in {}",
		"it says insecure-skip-tls-verify: credentials are not sent to whoever answers", "it goes through a proxy", "the server {} is written in an unusual way",
		"it has no CA of its own, so that the node's trust store counts", "it gets its credentials from a program or a password, which is not tried",
		"the path of {} did not leave the node", "a value in line {n} is written in an unusual way", `it has several {} "{}"`, "it has several {} {}",
		"the file changed while it was read: ask again", "the token holds characters that no token has; it was not sent",
		"the node has neither curl 7.49 or newer with OpenSSL, nor openssl 1.1 or newer with timeout (there is {}): install one, or ask on the node yourself",
		"the node has neither curl 7.49 or newer with OpenSSL, nor openssl 1.1 or newer with timeout: install one, or ask on the node yourself",
		"the credentials or the CA that the file names can't be read on the node", "the name {} does not resolve on the node", "no connection from the node to {}", "{} gives no answer within {}",
		"the CA in the file does not verify the certificate that {} presents for the name {}; nothing was sent", "the CA in the file does not verify what {} shows for the name {}; nothing was sent",
		"{} closes the connection without an answer (status {n} of {})", "the TLS handshake with {} fails", "the client certificate or its key can't be used", "the CA in the file can't be used",
		"{} failed (status {n}): the server's answer is unknown",
	}
}
