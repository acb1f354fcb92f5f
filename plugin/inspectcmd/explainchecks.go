package inspectcmd

// help is what a topic means for the cluster, and what to do about it.
type help struct {
	name, means string
	// todo are steps: what begins with "{} " (this program), "oc " or "kubectl " is a command.
	todo []string
}

const (
	inspectDetails = "{} inspect --details"
	inspectNodes   = "{} inspect nodes --via ssh"
	fixAPIInt      = "{} fix-api-int --dry-run=client"
	listExpiring   = "{} inspect --expiring-within 30d"
	operators      = "oc get clusteroperators"
)

// checkHelp is that of the checks of inspect.
func checkHelp() []help {
	return []help{
		{"api-ca-delivered", "A kubelet without that CA works until it reconnects. Then its node is NotReady.", []string{fixAPIInt}},
		{"certificate-expired", "Every client that verifies the certificate refuses it.", []string{inspectDetails, "where an operator renews it, find out why it did not:", operators}},
		{"certificate-not-yet-valid", "Every client refuses the certificate until it is valid. Mostly a clock is wrong.", []string{"compare the clocks:", inspectNodes}},
		{"certificate-expiring", "Nothing renews the certificate automatically: on the day it expires, its clients refuse it.", []string{listExpiring, "have its owner issue a new one"}},
		{"rotation-overdue", "The owner of the certificate is not working: on the day it expires, there is an outage.", []string{"look at its operator, and at the operator's log:", operators}},
		{"rotation-annotations", "Operators decide by these annotations alone: the certificate rotates too late, or at once.", []string{inspectDetails, "before you rotate anything:", "{} rotate --list"}},
		{"node-file-current", "The node still uses an old certificate or CA. If it is api-int's CA, its kubelet fails at the next reconnect.", []string{inspectNodes, fixAPIInt}},
		{"api-trusted", "The kubelet refuses the API server at its next reconnect. Then its node is NotReady.", []string{"{} verify api-int --nodes all --via ssh", fixAPIInt}},
		{"kubelet-loaded", "The kubelet still trusts what its file contained at its start.", []string{"would the kubelet come back? Then restart it; its pods keep running:", "{} verify restart-safe --nodes all --via ssh", fixAPIInt}},
		{"kubelet-runs", "A kubelet that does not run starts no pods. Its node is NotReady.", []string{"on the node: systemctl status kubelet; journalctl -u kubelet", fixAPIInt}},
		{"kubelet-current", "At its next start the component has no certificate.", []string{inspectNodes, "on the node: point the link at the newest NAME-DATE.pem"}},
		{"kubelet-rotates", "The kubelet's certificate expires without a new one. Then its node is NotReady.", []string{"set rotateCertificates: true in the kubelet's configuration"}},
		{"kubeconfig-sound", "A client with this file can't connect, or machine-config-daemon updates the wrong cluster in it.", []string{inspectNodes, "correct the file on the node"}},
		{"file-private", "Other users of the node can read a key or a token, or change which CAs it trusts.", []string{"on the node: chown root:root FILE; chmod 600 for keys and tokens, chmod go-w for other files"}},
		{"token-in-logs", "Anyone who can read the log can join a machine to the cluster.", []string{"upgrade first, or the new token is printed, too; then replace the token, in the order below"}},
		{"clock-skew", "With a wrong clock good certificates are refused: they seem expired, or not yet valid.", []string{"on the node: chronyc tracking; timedatectl"}},
		{"certificate-outlives-ca", "The certificate is refused on the day its CA expires, though its own dates look good.", []string{listExpiring, "have the CA renewed, and the certificate issued again"}},
		{"serving-names", "Clients refuse the server: they ignore the common name.", []string{"have the certificate issued with the names and addresses that clients use"}},
		{"serving-usage", "Clients refuse the server: the certificate may not be used to serve.", []string{"have the certificate issued with the usage server auth"}},
		{"serving-chain", "Clients that trust only the root refuse the server.", []string{"write the value again: the certificate first, then the intermediates up to the root"}},
		{"secret-ca-verifies", "Clients that use this ca.crt refuse the server.", []string{"find out which of both is outdated, and have the issuer write the Secret again"}},
		{"strong-keys", "Current clients refuse the certificate: its key or signature is too weak.", []string{"have it issued again with RSA of 2048 bits or more, or P-256, and SHA-256"}},
		{"signer-type", "Operators of 4.15.0 to 4.15.9 and of OKD 4.15 delete such a signer and create another one, which rotates its CA unintentionally. Up to 4.14, only a rotation does that.", []string{"before an upgrade to 4.15, and before a rotation:", "{} rotate --list"}},
		{"key-matches", "The server fails to start, or its TLS handshakes fail.", []string{"write certificate and key again, from the same source"}},
		{"key-in-place", "The key is readable by far more people than a Secret: treat it as compromised.", []string{"remove it there, and replace the certificate with one of a new key"}},
		{"pem-readable", "Clients skip what they can't read: a CA that seems to be in a bundle is not.", []string{"write the value again from its source"}},
		{"crl-current", "A server that uses an expired list refuses all certificates of that CA.", []string{"put the CA's current revocation list there"}},
		{"bundle-expired-ca", "Nothing fails, but the bundle hides which CAs are trusted.", []string{"operators drop it at the next rotation; remove it from a bundle that you keep"}},
		{"bundle-duplicate", "Nothing fails yet: something appends without looking, until the object is too large.", []string{"find what writes the bundle, and write it once more without the copy"}},
		{"bundle-not-ca", "The certificate issues nothing. Some clients accept it for itself alone.", []string{"nothing where it is intended; else replace it with its CA"}},
		{"bundle-complete", "Clients that use the bundle refuse what the missing CA signed.", []string{"never edit a copy; in the first hour after a rotation, wait. Then look at the operator that copies:", operators}},
		{"copies-agree", "Pods of that namespace refuse the API server or services.", []string{"look at the operators of the publisher, and at whether the copy is immutable:", operators}},
		{"ca-names", "A client with the other CA of that name refuses the certificate.", []string{"give both CAs to its clients, or have one of them renamed"}},
		{"issuer-seen", "Clients trust the certificate by something that is not in the cluster, or do not trust it.", []string{"find out which clients verify it, and by what"}},
		{"reference-resolves", "What the configuration names is missing: the component uses another certificate, or none.", []string{"create the object, or correct the name"}},
		{"mco-reports-agree", "The machine-config-controller is behind or does not run: nodes do not get new CAs.", []string{"kubectl -n openshift-machine-config-operator logs deploy/machine-config-controller"}},
		{"called-trusted", "The API server refuses the call: objects can't be written, or an API is gone.", []string{"have the CA of the Service's certificate put into caBundle:", "{} verify control-plane"}},
		{"csr-answered", "A kubelet or a component waits for its next certificate.", []string{"look at requester and names before you approve:", "oc get csr", "oc describe csr NAME", "oc adm certificate approve NAME"}},
	}
}
