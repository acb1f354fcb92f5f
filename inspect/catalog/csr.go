package catalog

import (
	"slices"
	"strings"
)

// The signers of kubelets' certificates.
const (
	KubeletClientSigner  = "kubernetes.io/kube-apiserver-client-kubelet"
	KubeletServingSigner = "kubernetes.io/kubelet-serving"
)

// KubeletRequester is a row: who may ask for a kubelet's certificate. Who else asks
// is no kubelet.
type KubeletRequester struct {
	Signer string
	// User asks: NODE stands for the node's name, and ?????? at the end for the six
	// letters and digits of a bootstrap token's ID.
	User  string
	Group string // which it has to be in
	// ManualApproval: where the Node is there already, no component approves it by itself.
	ManualApproval bool
	Doc            string
	In             Range
	Evidence
}

// KubeletRequesters returns every row about who asks for kubelets' certificates.
func KubeletRequesters() []KubeletRequester {
	const node = "system:node:NODE"
	const limit = "; none while over 100 more than Machines or Nodes wait, of the last hour"
	const onOpenShift = ". OpenShift approves it where its names and addresses are those of the kubelet's valid serving certificate or its Machine, else it mostly waits" + limit
	kubelet := Evidence{Verified, "kubernetes/kubernetes pkg/kubelet/certificate/kubelet.go, pkg/controller/certificates/approver/sarapprove.go @ v1.35.4; " +
		"openshift/cluster-machine-approver pkg/controller/csr_check.go and controller.go (reconcileLimits, getMaxPending) @ release-4.12 7b08a4de4 to release-4.22 a9edd695a"}
	return []KubeletRequester{
		{Signer: KubeletClientSigner, User: "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper", Group: "system:serviceaccounts:openshift-machine-config-operator", ManualApproval: true,
			Doc: "a kubelet without a valid client certificate. OpenShift approves it only without such a Node, for a Machine with that InternalDNS name, without nodeRef and not older than 2 hours" + limit,
			In:  Range{Component: "machine-config"}, Evidence: Evidence{Verified, "openshift/cluster-machine-approver pkg/controller/csr_check.go and controller.go (reconcileLimits, getMaxPending) @ release-4.12 7b08a4de4 to release-4.22 a9edd695a; openshift/machine-config-operator manifests/machineconfigserver, pkg/server/cluster_server.go (kubeconfigFromSecret), bootstrap_server.go (kubeconfigFromFile), manifests/bootstrap-pod-v2.yaml @ release-4.12 to 4.22; openshift/installer pkg/asset/tls/kubelet.go (KubeletClientCertKey)"}},
		{Signer: KubeletClientSigner, User: "system:bootstrap:??????", Group: "system:bootstrappers",
			Doc: "a kubelet without a valid client certificate, by a bootstrap token, as kubeadm join gives it",
			In:  Range{Component: Kubernetes}, Evidence: Evidence{Verified, "kubernetes/kubernetes plugin/pkg/auth/authenticator/token/bootstrap/bootstrap.go, staging/src/k8s.io/cluster-bootstrap/token/api/types.go @ v1.35.4"}},
		{Signer: KubeletClientSigner, User: node, Group: "system:nodes", Doc: "a kubelet that renews its client certificate; kube-controller-manager approves that by itself", Evidence: kubelet},
		{Signer: KubeletServingSigner, User: node, Group: "system:nodes", Doc: "a kubelet with serverTLSBootstrap; kube-controller-manager approves none" + onOpenShift, Evidence: kubelet},
	}
}

// requestApprover is a row: who approves kubelets' requests unattended, where that is
// switched on. It is announced: no release has it, so the row names no versions and decides
// nothing.
type requestApprover struct {
	Who    string
	Toggle Ref // whose Key says Value where it is on
	Value  string
	Reason string // of the condition Approved
	Doc    string
	Evidence
}

// requestApprovers returns every row about who approves unattended once it is switched on.
func requestApprovers() []requestApprover {
	return []requestApprover{{
		Who: "kube-controller-manager's cert-recovery-controller", Toggle: Ref{Kind: ConfigMap, Namespace: userConfig, Name: "node-client-cert-recovery", Key: "enabled"}, Value: "true", Reason: "KCMRecoveryApprove",
		Doc:      "off unless switched on: requests by the node-bootstrapper of a Node whose Lease is 5 minutes old or older; then the serving requests of those nodes",
		Evidence: Evidence{Unverified, kcmRepo + "pkg/cmd/recoverycontroller/kubeletclientcsrapprover.go @ d7f570a9f, nodecertrecovery.go @ f03b06618: commits that no release branch has; release-4.0 to 5.1 and main @ 4e72164b8 lack it"},
	}}
}

// RequesterOf reports whether a user may ask this signer for a node's certificate, and
// if so, in which group it has to be. It is Unknown where the version that decides
// is unknown.
func RequesterOf(signer, user, node string, v Versions) (KubeletRequester, Tristate) {
	answer, unknown := No, KubeletRequester{}
	for _, r := range KubeletRequesters() {
		if r.Signer != signer || !r.matches(user, node) {
			continue
		}
		switch r.In.Holds(v) {
		case Yes:
			return r, Yes
		case Unknown:
			answer, unknown = Unknown, r
		}
	}
	return unknown, answer
}

func (r KubeletRequester) matches(user, node string) bool {
	const id = "??????"
	stem, token := strings.CutSuffix(r.User, id)
	if !token {
		return user == strings.ReplaceAll(r.User, "NODE", node)
	}
	rest, ok := strings.CutPrefix(user, stem)
	return ok && len(rest) == len(id) && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// kubeletUsage is a row: which usages a kubelet asks for, all of them and no other.
type kubeletUsage struct {
	Signer string
	Usages []string // sorted
	Doc    string
	In     Range
	Evidence
}

// kubeletUsages returns every row about usages that kubelets ask for.
func kubeletUsages() []kubeletUsage {
	const with, without = "up to 1.26, and with an RSA key", "from 1.27 on with any key but RSA"
	src := Evidence{Verified, "kubernetes/kubernetes pkg/apis/certificates/helpers.go @ 7b20471d8: its approver takes both"}
	return []kubeletUsage{
		{Signer: KubeletClientSigner, Usages: []string{"client auth", "digital signature", "key encipherment"}, Doc: with, Evidence: src},
		{Signer: KubeletClientSigner, Usages: []string{"client auth", "digital signature"}, Doc: without, Evidence: src},
		{Signer: KubeletServingSigner, Usages: []string{"digital signature", "key encipherment", "server auth"}, Doc: with, Evidence: src},
		{Signer: KubeletServingSigner, Usages: []string{"digital signature", "server auth"}, Doc: without, Evidence: src},
	}
}

// IsKubeletUsage reports whether kubelets ask this signer for these usages.
func IsKubeletUsage(signer string, usages []string) bool {
	usages = slices.Clone(usages)
	slices.Sort(usages)
	return slices.ContainsFunc(kubeletUsages(), func(u kubeletUsage) bool { return u.Signer == signer && slices.Equal(u.Usages, usages) })
}

// guestMachine is a row: a platform whose Machines repeat the addresses that the guest reports of itself. Root on a
// machine chooses them there, as it does in its Node.
type guestMachine struct {
	Platform string
	In       Range
	Evidence
}

func guestMachines() []guestMachine {
	return []guestMachine{
		{Platform: "VSphere", Evidence: Evidence{Verified, "openshift/machine-api-operator pkg/controller/vsphere/reconciler.go @ 00cfb34f: guest.net, reported by vm-tools"}},
	}
}

// GuestWritesMachine reports whether a Machine's addresses on a platform (Infrastructure.status.platformStatus.type) are
// what the machine says of itself.
func GuestWritesMachine(platform string) bool {
	return slices.ContainsFunc(guestMachines(), func(g guestMachine) bool { return g.Platform == platform })
}
