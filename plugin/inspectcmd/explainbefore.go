package inspectcmd

import (
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

const (
	rotateDryRun = "{} rotate NAME --dry-run=client"
	rotateStatus = "{} rotate status NAME"
	repairStatus = "{} fix-api-int status"
	withNodes    = "{} rotate NAME --nodes all --via ssh --dry-run=client"
	pauseChecks  = "{} fix-api-int --pause-remediation --dry-run=client"
	pools        = "oc get machineconfigpools"
	nodes        = "oc get nodes"
)

// beforeHelp is that of the checks before a repair and before a rotation.
func beforeHelp() []help {
	return []help{
		{preflight.ServerSide, "Nodes would get a CA that does not verify what api-int presents.", []string{"kube-apiserver-operator must repair the link that the check names:", "oc get clusteroperator kube-apiserver"}},
		{"named-certificate", "A user's certificate for api-int is not supported: no CA that operators keep verifies it.", []string{"give the named certificates their names, without api-int:", "oc edit apiserver cluster"}},
		{"etcd-healthy", "Restarting the kubelet of a control plane node could cost etcd its quorum.", []string{"oc get clusteroperator etcd"}},
		{preflight.StaticPodsSettled, "A control plane node may be down already: with the next restart the API server could be down.", []string{"wait until it is through:", "oc get clusteroperators kube-apiserver kube-controller-manager kube-scheduler etcd"}},
		{"upgrade-running", "The upgrade restarts nodes and operators at the same time.", []string{"wait until it is through:", "oc get clusterversion"}},
		{"pools-settled", "Nodes that reboot meanwhile are not repaired.", []string{"wait until no pool updates:", pools}},
		{"clocks", "To a node whose clock is behind, new certificates are not valid yet.", []string{"on the node: chronyc tracking; timedatectl"}},
		{"remediation-active", "A health check may delete or reboot nodes while they are repaired.", []string{pauseChecks}},
		{"control-plane-here", "The signers of a hosted control plane are in another cluster.", []string{"rotate there, as its documentation says"}},
		{"annotations-agree", "The owner decides by these annotations: it may be rotating already, or rotate too late.", []string{rotateStatus}},
		{"signer-type", "Up to OpenShift 4.15.9, and in OKD 4.15, a rotation deletes such a signer and creates another one: clients do not trust it yet.", []string{rotateDryRun}},
		{"chain-settled", "A second rotation before the first is through can leave clients without the CA that signs.", []string{"wait until it is through:", rotateStatus}},
		{rotate.ReachesVerifiers, "Kubelets keep the previous CA. Once the new one signs api-int's certificate, they fail at the next reconnect.", []string{"rotate refuses while a node does not trust the current signer: repair that first:", fixAPIInt, "once all nodes trust it, the refusal has the safe order, with its deadline:", rotateDryRun, "or upgrade to 4.16, which brings the CA to nodes"}},
		{"leaf-young", "A certificate that the signer signs is due soon: the new CA would sign it before nodes have that CA.", []string{"rotate that certificate first; the dry run names it:", rotateDryRun}},
		{"signer-age", "A new signer may not have reached every client: those refuse what it signs.", []string{"wait: what it signs rotates automatically. How far it is:", rotateStatus}},
		{rotate.SignerTrusted, "Clients that do not trust the signer refuse the new certificate.", []string{"see which clients:", "{} verify --nodes all --via ssh", readNodes, withNodes}},
		{rotate.OutsideVerifiers, "Kubeconfigs outside the cluster can't be read: those without the CA lose access.", []string{"on each machine with a kubeconfig, first:", "{} fix-kubeconfig --dry-run"}},
		{rotate.PodsMemory, "A pod that loaded only the previous CA refuses the new certificate until it restarts.", []string{"restart the pods that the dry run names:", rotateDryRun}},
		{rotate.OwnKubeconfig, "You lose access yourself: your kubeconfig does not trust the new certificate.", []string{"{} fix-kubeconfig --dry-run"}},
		{"topology", "The new CA restarts kubelets where that is not safe.", []string{rotateDryRun}},
		{"operators-settled", "An operator that is not well may not bring the CA to its clients.", []string{operators}},
		{"pools-ready", "Nodes of a pool that is paused, updating or degraded may not get the CA.", []string{pools}},
		{"nodes-ready", "Nodes without a heartbeat do not get the CA.", []string{nodes, repairStatus}},
		{preflight.UnreviewedVersion, "What the catalog says of other versions may be wrong for this one.", []string{"use a release of certrot that reviewed this version"}},
	}
}

// riskTopics are what else stops a command and can be accepted by its name.
func riskTopics() []topic {
	const kind = "Risk that stops a change"
	return []topic{
		{kind: kind, claim: "the Lease kube-system/certrot, which keeps a second run off, can be written", help: help{remediate.NoLease, "Another run could change the same nodes at the same time.", []string{"see that no other run is under way; then accept it: --accept-risk=" + remediate.NoLease}}},
		{kind: kind, claim: "TLS verifies the API server", help: help{preflight.UnauthenticatedAPI, "Another server may answer: its CAs could be written to nodes.", []string{"use an https:// URL and a CA, without insecure-skip-tls-verify"}}},
		{kind: kind, claim: "the API server that answers can be read", help: help{preflight.NoAPI, "An x509 error or a refused token is no outage: nodes would be changed without the checks.", []string{"use a kubeconfig with a client certificate, and the CA:", "{} fix-api-int --ca-file FILE --dry-run=client"}}},
		{kind: kind, claim: "control plane nodes are repaired before workers", help: help{preflight.MastersFirst, "Workers could be repaired while the control plane is not.", []string{fixAPIInt}}},
		{kind: kind, claim: "repaired workers are Ready before the next one is begun", help: help{preflight.WorkersBack, "More workers could be unavailable at once.", []string{repairStatus}}},
		{kind: kind, claim: "machine-config-daemon had its time to write the file (4.16 and later)", help: help{preflight.OwnedFile, "machine-config-daemon may write the file at the same time.", []string{"wait ten minutes, or look at the daemon:", "oc -n openshift-machine-config-operator get pods -o wide"}}},
		{kind: kind, claim: "the ConfigMap belongs to a controller that works", help: help{action.OwnedObject, "kube-controller-manager puts the ConfigMap back while it works.", []string{"repair kube-controller-manager instead:", "{} verify control-plane"}}},
		{kind: kind, claim: "everything was read that may need an old CA", help: help{rotate.AllRead, "A certificate that was not read may need the CA that is removed.", []string{"{} rotate prune NAME --nodes all --via ssh --dry-run=client"}}},
		{kind: kind, claim: "all values of tenants were read that may need an old CA", help: help{rotate.TenantsRead, "A certificate in a tenant's value may need the CA that is removed.", []string{"look at the values that the refusal names"}}},
		{kind: kind, claim: "no tenant holds a certificate of an old CA", help: help{rotate.TenantsHold, "Clients refuse the tenant's server. With a leaked key, anyone signs such a certificate.", []string{"look which server presents it, and replace its certificate"}}},
		{kind: kind, claim: "what the signer signed is older than an hour", help: help{rotate.JustSigned, "A process may still use the previous certificate.", []string{"wait an hour"}}},
	}
}

// controlPlane is what screens call the stage of static pods.
const controlPlane = "control-plane"

// stageTopics are the stages of a rotation, in their order.
func stageTopics() []topic {
	const kind = "Stage of a rotation"
	status := []string{rotateStatus}
	return []topic{
		{kind: kind, claim: "the signer has a new CA certificate, and keeps it", help: help{rotate.StageSigner, "Its operator makes the new CA. It counts when it is two minutes old: two processes may each make one, and the last one stays.", append(status, operators)}},
		{kind: kind, claim: "the new CA is in the CA bundle of its signer", help: help{rotate.StageBundle, "Operators publish the new CA beside the previous one.", append(status, operators)}},
		{kind: kind, claim: "the new CA is in all CA bundles that are made from that one", help: help{rotate.StageAggregates, "Operators copy the CA bundle into others, such as kube-root-ca.crt of each namespace.", append(status, operators)}},
		{kind: kind, claim: "the static pods of the control plane load the new CA", alias: catalog.FlowMasters, help: help{controlPlane, "kube-apiserver, kube-controller-manager and kube-scheduler restart one node after another, or reload a file.", append(status, "oc get clusteroperators kube-apiserver kube-controller-manager kube-scheduler")}},
		{kind: kind, claim: "nodes get the new CA", help: help{catalog.FlowNodes, "machine-config-daemon writes the CA into files on nodes. Some versions do not deliver each CA.", append(status, pools)}},
		{kind: kind, claim: "all clients trust the new CA", help: help{rotate.StageTrust, "Every client that verifies what the signer signs trusts it, now and once the new CA signs. Until then, let it sign nothing.", []string{"{} rotate status NAME --nodes all --via ssh", "{} verify --nodes all --via ssh"}}},
		{kind: kind, claim: "the new CA signs what the signer signs", help: help{rotate.StageLeaf, "It follows automatically, up to 15 days later.", []string{rotateStatus, "now, once all clients trust the new CA:", "{} rotate NAME --leaf --nodes all --via ssh --dry-run=client"}}},
		{kind: kind, claim: "servers present what the new CA signed", help: help{rotate.StageServed, "Servers load the new certificate within minutes. It is seen in handshakes; what clients present stays unknown.", []string{"{} rotate status NAME --nodes all --via ssh", "{} verify --nodes all --via ssh"}}},
		{kind: kind, claim: "every pair of client and server about it verifies", help: help{rotate.StageEdges, "The last stage: all checks of verify about what the signer signs pass.", []string{"{} verify --nodes all --via ssh"}}},
	}
}
