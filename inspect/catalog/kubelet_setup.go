package catalog

import "strings"

// KubeletSetup is a row: how the kubelets of clusters of one make are set up, and with
// which CAs they are to verify the API server.
type KubeletSetup struct {
	Name string // for people
	// Bootstrap is the kubeconfig with which a kubelet joins, and Kubeconfig that with which it
	// works: paths on a node, as in the flags of its unit.
	Bootstrap, Kubeconfig string
	// BootstrapDeleted: Bootstrap is deleted once the node has joined.
	BootstrapDeleted bool
	CA               Ref    // the CAs of the API server, as published
	MasterCAFile     string // a file with these CAs on masters; one '*' in it stands for anything
	CARemediation    string // what makes CA right where it does not verify what is presented
	// LocalName is a name for which each kube-apiserver presents a certificate of a signer in
	// CA, and LocalKubeconfig a kubeconfig on masters whose server is the master's own
	// kube-apiserver; empty: it listens on the port in Kubeconfig.
	LocalName, LocalKubeconfig string
	// APIServerNamespace is that of kube-apiserver's pods, of which each master has one: a
	// static one, named "kube-apiserver-" and the node.
	APIServerNamespace string
	// HasOperators: operators keep the control plane, and say how it is.
	HasOperators    bool
	OtherTrustFiles []OtherTrustFile
	In              Range
	Evidence
}

// Kubeconfigs are its kubeconfigs, in the order in which they are to be written: that to join
// with does nothing as long as the kubelet's client certificate is valid.
func (s KubeletSetup) Kubeconfigs() []string { return []string{s.Bootstrap, s.Kubeconfig} }

// OtherTrustFile is a file on nodes that is to trust the same CAs, and is no kubelet's way to the
// API server.
type OtherTrustFile struct {
	Path string
	// Masters: Yes, the row is for control plane nodes; No, for all others; Unknown, for all
	// nodes.
	Masters Tristate
	Reader  string // and when it reads the file
	// Remediation is what a person does on the node; CLUSTER stands for the cluster in a
	// kubeconfig.
	Remediation string
}

// For reports whether the row is for nodes of a role.
func (f OtherTrustFile) For(role string) bool {
	return f.Masters == Unknown || (f.Masters == Yes) == mayBeMaster(role)
}

// mayBeMaster: a node of which no role is known is taken for a control plane node, where more can
// break.
func mayBeMaster(role string) bool { return role != RoleWorker && role != RoleArbiter }

// KubeletSetups returns the rows that hold for v, or may: OpenShift's first.
func KubeletSetups(v Versions) []KubeletSetup {
	var out []KubeletSetup
	for _, s := range allKubeletSetups() {
		if s.In.Holds(v) != No {
			out = append(out, s)
		}
	}
	return out
}

func allKubeletSetups() []KubeletSetup {
	const restart = ": move its manifest out of /etc/kubernetes/manifests, and back after 20 s"
	const static = "; then restart its static pod" + restart
	const staticSigner = "; then, once --cluster-signing-cert-file names a file with one certificate, restart its static pod" + restart
	openShift, kubeadm := KubeletKubeconfigs(), KubeadmKubeconfigs()
	conf := func(name, reader, then string) OtherTrustFile {
		path := "/etc/kubernetes/" + name + ".conf"
		return OtherTrustFile{Path: path, Reader: reader, Remediation: "kubectl --kubeconfig=" + path + " config set-cluster CLUSTER --certificate-authority=" + KubeadmCA + " --embed-certs=true" + then}
	}
	return []KubeletSetup{
		{
			Name: "OpenShift", Bootstrap: openShift[0], Kubeconfig: openShift[1], CA: APIServerCA(), MasterCAFile: MasterServerCAs,
			CARemediation: "the server side must be right first: a CA in openshift-config-managed/kube-apiserver-server-ca must have signed the presented certificate. OpenShift does not support a user's own certificate for api-int (APIServer spec.servingCerts.namedCertificates)",
			LocalName:     "localhost", APIServerNamespace: kasTarget, HasOperators: true, In: Range{Component: mco},
			Evidence: Evidence{Verified, mcoRepo + "templates/{master,worker}/01-*-kubelet/_base/units/kubelet.service.yaml; openshift/cluster-kube-apiserver-operator pkg/operator/certrotationcontroller (localhost's certificate, whose signer is among the CAs for kubelets), bindata/assets/kube-apiserver/pod.yaml; kubernetes/kubernetes pkg/kubelet/config/common.go (generatePodName)"},
		},
		{
			Name: "kubeadm", Bootstrap: kubeadm[0], Kubeconfig: kubeadm[1], BootstrapDeleted: true, CA: RootCAOf("kube-system"), MasterCAFile: KubeadmCA,
			CARemediation: "the server side must be right first: while a CA is replaced, kube-root-ca.crt must have the old and the new one. On each control plane node " + appendOnMasters + ". Or give the CAs with --ca-file",
			LocalName:     string(nameServiceNetwork), LocalKubeconfig: "/etc/kubernetes/controller-manager.conf", APIServerNamespace: "kube-system", In: Range{Component: Kubernetes},
			OtherTrustFiles: []OtherTrustFile{
				{Path: KubeadmCA, Masters: No, Reader: kubeletReads, Remediation: "append the CA"},
				{
					Path: KubeadmCA, Masters: Yes, Remediation: appendOnMasters,
					Reader: kubeletReads + "; kube-apiserver verifies its clients with it, at once; kube-controller-manager publishes it as it was at its start (--root-ca-file), and signs requests with it, at once (--cluster-signing-cert-file): only with one certificate in it",
				},
				conf("controller-manager", "kube-controller-manager reads it when it starts", staticSigner),
				conf("scheduler", "kube-scheduler reads it when it starts", static),
				conf("admin", "administrators and kubeadm use it", ""),
				conf("super-admin", "administrators use it where nothing else lets them in; from 1.29 on, on the node where kubeadm init ran, or the upgrade to 1.29", ""),
			},
			Evidence: Evidence{Verified, kubeadmRepo + "constants/constants.go, phases/kubeconfig/kubeconfig.go, phases/controlplane/manifests.go, cmd/phases/join/kubelet.go, util/pkiutil/pki_helpers.go (names in apiserver.crt) v1.35.4; kubernetes/release cmd/krel/templates/latest/kubeadm/10-kubeadm.conf; " +
				"kubernetes/kubernetes cmd/kube-controller-manager/app/certificates.go (readCA of --root-ca-file), pkg/controller/certificates/signer/ca_provider.go (setCA) v1.35.4; kubernetes/apiserver pkg/server/options/authentication.go (NewDynamicCAContentFromFile of --client-ca-file) v0.35.4"},
		},
	}
}

// KubeadmCA is on all nodes of kubeadm's: the cluster's CA, and while that is replaced, the
// old and the new one.
const KubeadmCA = "/etc/kubernetes/pki/ca.crt"

const kubeletReads = "the kubelet verifies kube-apiserver's client certificate with it, at once when it changes"

// appendOnMasters is how KubeadmCA gets a second CA on a control plane node. kubeadm gives the same
// file to --cluster-signing-cert-file: with two certificates in it kube-controller-manager signs no
// request ("expected 1 certificate, found 2"), and once restarted it does not start. Without ca.key
// the flag is empty. The copy is where the static pod has the folder mounted.
const appendOnMasters = "first give --cluster-signing-cert-file a file of its own, else kube-controller-manager signs nothing, and does not start again: openssl x509 -in " + KubeadmCA + " -out /etc/kubernetes/pki/ca-signing.crt (the first CA in it, which must be that of ca.key), " +
	"and name that file in --cluster-signing-cert-file in /etc/kubernetes/manifests/kube-controller-manager.yaml. Then append the CA to " + KubeadmCA + ", and restart kube-controller-manager's static pod: move its manifest out of /etc/kubernetes/manifests, and back after 20 s. kubeadm upgrade puts the flag back"

// AppendCA is what a person does so that a file on a node of a role has more CAs.
func AppendCA(path, role string) string {
	if path == KubeadmCA && mayBeMaster(role) {
		return appendOnMasters
	}
	return "append the CAs to " + path
}

// Distribution is a row: a make of Kubernetes whose kubelets neither OpenShift nor kubeadm
// set up.
type Distribution struct {
	Name string
	Mark string // in the version that the API server says
	Doc  string // what keeps the kubelets' trust there
	Next string // what to do
	Evidence
}

// DistributionOf returns the row of a cluster; false where none is known to fit.
func DistributionOf(v Versions) (Distribution, bool) {
	if v.openShift() {
		return Distribution{}, false
	}
	for _, d := range distributions() {
		if strings.Contains(v.Kubernetes, d.Mark) {
			return d, true
		}
	}
	return Distribution{}, false
}

// distributions returns every row.
func distributions() []Distribution {
	managed := func(name, mark, next, source string) Distribution {
		return Distribution{Name: name, Mark: mark, Doc: "its control plane and its CA are the provider's, and nodes get the CA when they are made", Next: next, Evidence: Evidence{Field, source}}
	}
	return []Distribution{
		{Name: "k3s", Mark: "+k3s", Doc: "its agent rewrites the kubelet's kubeconfig, from its server's CA, whenever it starts", Next: "on a server: k3s certificate rotate-ca --path=DIRECTORY, which has the new CAs; then restart k3s on all servers, then on the agents, then pods: docs.k3s.io/cli/certificate, also about --force and tokens", Evidence: Evidence{Verified, "k3s-io/k3s pkg/agent/config/config.go @ 001a6d94f; docs.k3s.io/cli/certificate"}},
		{Name: "RKE2", Mark: "+rke2", Doc: "its agent rewrites the kubelet's kubeconfig, from its server's CA, whenever it starts", Next: "rke2 certificate rotate-ca on a server, then restart rke2 on all servers, then on the agents: docs.rke2.io/security/certificates", Evidence: Evidence{Verified, "rancher/rke2 pkg/cli/cmds/cert.go and scripts/version.sh @ 6ce1a8019, and k3s's agent; docs.rke2.io/security/certificates"}},
		{Name: "k0s", Mark: "+k0s", Doc: "its worker runs the kubelet, with files of its own", Next: "see docs.k0sproject.io about its CA", Evidence: Evidence{Verified, "k0sproject/k0s pkg/component/worker/kubelet.go and docs/custom-ca.md @ dff90cee9; docs.k0sproject.io/stable/custom-ca"}},
		managed("EKS", "-eks-", "replace the nodes: a new one gets the cluster's CA", "docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html"),
		managed("GKE", "-gke.", "gcloud container clusters update CLUSTER --start-credential-rotation; wait until GKE has recreated all nodes; give clients the new CA and address (gcloud container clusters get-credentials); then --complete-credential-rotation", "docs.cloud.google.com/kubernetes-engine/docs/how-to/credential-rotation"),
	}
}

// KubeletUnit is the kubelet's service, on OpenShift and elsewhere.
const KubeletUnit = "kubelet.service"
