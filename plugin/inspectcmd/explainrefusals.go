package inspectcmd

import (
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
)

// refusalTopics are the names by which a change is refused that no list of checks has.
func refusalTopics() []topic {
	const (
		repair, again, docs = "Check before a repair", "Check before --rebootstrap", "fix-api-int.md"
		rotation, prune     = "Check before a rotation", "Check before rotate prune"
	)
	inAnotherWay := []string{readAgain, "{} fix-api-int --dry-run=client --nodes NODE --via ssh"}
	var out []topic
	for _, t := range []struct {
		kind, page, claim string
		help
	}{
		{repair, docs, "no other run has the Lease kube-system/certrot", help{"lease-held", "Another run changes the cluster. No risk can be accepted against that.", []string{"see who has it, and talk to them:", repairStatus}}},
		{repair, docs, "no other run changes the worker", help{remediate.NodeLocked, "It is left as it is, and others are repaired.", []string{"on the node: cat /var/lib/certrot/.held", fixAPIInt}}},
		{repair, docs, "it is known which nodes run kube-apiserver", help{"node-role", "Control plane nodes are repaired first. Which nodes these are is unknown.", []string{nodes, "name the nodes, control plane nodes first:", "{} fix-api-int --dry-run=client --nodes NODE"}}},
		{repair, docs, "OpenShift, OKD or kubeadm set the kubelets up", help{"kubelet-setup", "Other kubelets read their CA from other files.", []string{"see what kubelets trust:", "{} verify api-int"}}},
		{repair, docs, "what is written is PEM of CAs, without a key", help{"ca-usable", "Kubelets would skip it, or a private key would be on each node.", []string{"take the cluster's own CAs:", "oc -n openshift-config-managed get configmap kube-apiserver-server-ca -o yaml"}}},
		{repair, docs, "the CA that is written verifies what api-int presents", help{"ca-verifies-served", "With that CA, kubelets would not trust api-int.", []string{"see what api-int presents, and what kubelets trust:", "{} verify api-int --nodes all --via ssh"}}},
		{repair, docs, "the machine that was reached is the node", help{"node-identity", "Another machine would be changed.", []string{"compare the address with where ssh or --node-command leads:", "oc get nodes -o wide"}}},
		{repair, docs, "the kubelet's kubeconfigs were read", help{remediate.FileRead, "What would be changed is unknown.", inAnotherWay}},
		{repair, docs, "the kubeconfig can be edited as a text", help{remediate.FileShape, "certrot changes the CA alone, and leaves a file in which it can't.", []string{"compare it with the same file on another node"}}},
		{repair, docs, "nothing changed since the plan was made", help{remediate.ChangedSince, "Something else changes the same file: the plan is over.", []string{"make a new plan:", fixAPIInt}}},
		{repair, docs, "the state of the kubelet is known", help{"kubelet-known", "Whether it can be restarted is unknown.", []string{"on the node: systemctl status kubelet"}}},
		{repair, docs, "the kubelet uses the kubeconfigs of OpenShift or of kubeadm", help{"kubelet-flags", "The change would not reach this kubelet.", []string{"on the node: systemctl cat kubelet"}}},
		{repair, docs, "the plan brings no new problem, and breaks no trust edge", help{remediate.PlanProven, "Something would be worse afterwards.", []string{"please report it, with a snapshot:", "{} snapshot -o FILE"}}},
		{repair, docs, "what signs the certificates of kubelets is valid", help{csr.CsrSigner, "Requests would be approved, and no certificate would be issued.", []string{"oc get clusteroperator kube-controller-manager", "{} explain Secret/openshift-kube-controller-manager/csr-signer", "{} explain Secret/openshift-kube-controller-manager-operator/csr-signer"}}},
		{repair, docs, "the node's kubelet trusts api-int before its pods restart", help{"kubelet-trusts", "A pod that is deleted would not come back.", []string{fixAPIInt}}},
		{repair, docs, "it is known which CA the pod loaded", help{"network-memory", "Whether the pod has to restart is unknown.", inAnotherWay}},
		{repair, docs, "the node reports to the API server before its pods restart", help{"node-reports", "A pod that is deleted there would not come back.", []string{"see what its kubelet is told:", "{} verify restart-safe --nodes NODE --via ssh"}}},
		{repair, docs, "the network's pods come back on the worker", help{remediate.NetworkBack, "It is left out of the rest of the run, and others go on. More than two, or than one of ten, stop the run; so do two before one worked.", []string{"on the node: journalctl -u kubelet -n 50", fixAPIInt}}},
		{repair, docs, "the worker can be reached and read at its turn", help{remediate.NodeReached, "Nothing was done to it. It is left out of the rest of the run, and others go on. More than two, or than one of ten, stop the run; so do two before one worked.", []string{nodes, fixAPIInt}}},
		{repair, docs, "the kubelet of the worker has its certificates again", help{remediate.CertificateBack, "It is left out of the rest of the run, and others go on. More than two, or than one of ten, stop the run; so do two before one worked.", []string{"oc get csr", "on the node: journalctl -u kubelet -n 50", fixAPIInt}}},
		{again, docs, "the API server accepts the credentials with which the kubelet joins", help{csr.BootstrapCredential, "The kubelet could not join again.", []string{"put a token that is valid into the file, on the node:", "oc -n openshift-machine-config-operator create token node-bootstrapper --duration=2h"}}},
		{again, docs, "the kubeconfig with which a kubelet joins is there", help{"bootstrap-file", "The kubelet could not join again.", []string{"copy it from another node of the same pool, mode 0600, owner root"}}},
		{again, docs, "the request for a certificate is going to be approved", help{csr.NoApprover, "OpenShift approves no request where the Node exists: the kubelet would wait.", []string{"{} fix-api-int --rebootstrap --approve-csrs --dry-run=client --nodes NODE"}}},
		{again, docs, "it is known whether the kubelet has a client certificate", help{csr.ClientCertificate, "A valid one stays: whether there is one was not read.", inAnotherWay}},
		{again, docs, "OpenShift or OKD set the kubelet up", help{"openshift", "A kubelet of kubeadm joins with a token of kubeadm.", []string{"on a control plane node: kubeadm token create --print-join-command"}}},
		{"Check before undo", "undo.md", "what the file was before was read", help{"backup-read", "Without its backup, nothing is put back.", []string{"on the node: ls -lR /var/lib/certrot"}}},
		{"Risk that stops undo", "undo.md", "kubelets trust api-int with what is put back", help{remediate.BreaksTrust, "The kubelet would refuse the API server: its node becomes NotReady.", []string{"leave it as it is; which runs there were:", "{} runs"}}},
		{"Risk that stops a change", docs, "no kubelet of these nodes waits for a certificate", help{csr.RequestsPending, "With another CA, the kubelet could not fetch it. Another client may ask in the node's name.", []string{"look who asks, and deny or approve:", "oc get csr"}}},
		{rotation, "rotate.md", "the Secret has the annotation that is removed", help{"already-triggered", "Its operator rotates it in any case, or no operator manages it.", []string{rotateStatus}}},
		{rotation, "rotate.md", "the Secret exists, and its signer's, too", help{"there", "Its operator has not made it, or another cluster is read.", []string{rotateStatus, operators}}},
		{rotation, "rotate.md", "you may read and patch the Secret", help{"rbac", "A rotation removes an annotation of the Secret.", []string{"kubectl auth can-i patch secrets -A"}}},
		{prune, "rotate.md", "the signer and its bundle were read, and the bundle has the signer", help{"old-trust-read", "Which CAs are old is unknown.", []string{rotateStatus}}},
		{"Check before fix-kubeconfig", "fix-kubeconfig.md", "the current context leads to the cluster that is changed", help{"current-context", "The CA of another cluster would be changed.", []string{"oc config get-contexts"}}},
	} {
		out = append(out, topic{kind: t.kind, claim: t.claim, help: t.help, details: reference(t.page)})
	}
	return out
}
