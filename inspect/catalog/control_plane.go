package catalog

import "strings"

// Reporting says what a ControlPlaneResource's objects tell of.
type Reporting string

// What objects tell of.
const (
	ReportsVersion              Reporting = "version"          // a version is rolled out
	ReportsOperator             Reporting = "operator"         // how an operator says it is
	ReportsStaticPods           Reporting = "static pods"      // revisions of a control plane's component, master by master
	ReportsInstaller            Reporting = "installer"        // a pod that puts such a revision on a master
	ReportsPool                 Reporting = "pool"             // the operating system and its files, node by node
	ReportsNodeRemediation      Reporting = "node remediation" // machines that are not Ready are deleted or rebooted
	ReportsAutoscaling          Reporting = "scale"            // machines that are not needed, or not Ready, are deleted
	ReportsControlPlaneMachines Reporting = "masters"          // machines of masters are replaced
	ReportsBundlePublisher      Reporting = "bundles"          // an operator runs by it, and brings CAs to others
	ReportsFileWriter           Reporting = "files"            // a daemon's pod, which brings CAs to its node
	ReportsAPIService           Reporting = "nothing"          // an API that others serve
)

// ControlPlaneResource is a row: a kind of object that tells what moves nodes or static pods
// by itself, and how that is paused. Each is kube-apiserver's own or a custom
// resource: none is served by an aggregated API, which may not be available in an outage.
type ControlPlaneResource struct {
	Kind       string
	Path       string // of the list, in the API
	Reports    Reporting
	NamePrefix string // begin of its objects' names, where others of the kind are of no interest
	Effect     string // to a node that is not Ready, or that is repaired
	Doc        string // more of the Effect
	PauseBy    PauseField
	// Pause and Resume are commands for people; NAMESPACE and NAME stand for the
	// object's own. Empty: there is none. Neither touches what others asked for.
	Pause, Resume string
	Evidence
}

// PauseField is how an object is told to let nodes be: at most one is set.
type PauseField struct {
	Annotation string // its presence pauses, whatever the value
	Reasons    string // field under spec: a list; any entry pauses, and who asks removes none but their own
}

// Resource is the last part of the path: "machinehealthchecks".
func (m ControlPlaneResource) Resource() string { return m.Path[strings.LastIndexByte(m.Path, '/')+1:] }

// Command is Pause or Resume for an object.
func (m ControlPlaneResource) Command(text, namespace, name string) string {
	return strings.NewReplacer("NAMESPACE", namespace, "NAME", name).Replace(text)
}

// ControlPlaneResourceOf returns the row of a resource.
func ControlPlaneResourceOf(resource string) (ControlPlaneResource, bool) {
	for _, m := range ControlPlaneResources() {
		if m.Resource() == resource {
			return m, true
		}
	}
	return ControlPlaneResource{}, false
}

// LoadBalancerCA has the CAs of what is presented at api and api-int. kube-apiserver-operator puts it
// into OwnServerCA, of which APIServerCA is the published copy.
func LoadBalancerCA() Ref { return bundle(kasOperator, "loadbalancer-serving-ca") }

// OwnServerCA is the original of APIServerCA.
func OwnServerCA() Ref { return bundle(kasTarget, "kube-apiserver-server-ca") }

// The resources that a check asks for by name.
const (
	ClusterVersions      = "clusterversions"
	EtcdOperators        = "etcds"
	Pools                = "machineconfigpools"
	MachineHealthChecks  = "machinehealthchecks"
	NodeHealthChecks     = "nodehealthchecks"
	ClusterAutoscalers   = "clusterautoscalers"
	MachineAutoscalers   = "machineautoscalers"
	ControlPlaneMachines = "controlplanemachinesets"
)

// EtcdMembers are the conditions of the etcd operator that tell of etcd's members:
// the first is True while one is unhealthy, the second while most are healthy. Its
// other conditions tell of nodes and rollouts.
func EtcdMembers() (degraded, available string) { return "EtcdMembersDegraded", "EtcdMembersAvailable" }

// PoolState is what a pool's nodes say of themselves, by annotation.
type PoolState struct{ Current, Desired, State string }

// PoolAnnotations are the keys of PoolState on a Node.
func PoolAnnotations() PoolState {
	const prefix = "machineconfiguration.openshift.io/"
	return PoolState{prefix + "currentConfig", prefix + "desiredConfig", prefix + "state"}
}

// Updating reports whether machine-config-daemon is at work on its node.
func (s PoolState) Updating() bool {
	return s.State == "Working" || s.State == "Rebooting" || s.Current != s.Desired
}

// Publishers are the operators that put bundles together, as their Deployments are called.
func Publishers() []string {
	return []string{kasOwner, "kube-controller-manager-operator", "machine-config-operator"}
}

// ConfigDaemon is machine-config-daemon, which writes files on nodes; Name is how its pods'
// names begin.
func ConfigDaemon() Ref {
	return Ref{Kind: "DaemonSet", Namespace: mcoTarget, Name: "machine-config-daemon-"}
}

// ControlPlaneResources returns every row, in the order in which they are asked for.
func ControlPlaneResources() []ControlPlaneResource {
	static := Evidence{Verified, "openshift/api operator/v1/types.go (StaticPodOperatorStatus); openshift/library-go pkg/operator/staticpod/controller/installer/installer_controller.go @ 93ac9206a"}
	operators := func(plural, kind string, ev Evidence) ControlPlaneResource {
		return ControlPlaneResource{Kind: kind, Path: "/apis/operator.openshift.io/v1/" + plural, Reports: ReportsStaticPods, Effect: "puts a new revision of static pods on control plane nodes, one after another, and waits for one that is not Ready", Evidence: ev}
	}
	installers := func(namespace string) ControlPlaneResource {
		return ControlPlaneResource{Kind: "Pod", Path: "/api/v1/namespaces/" + namespace + "/pods", Reports: ReportsInstaller, NamePrefix: "installer-", Effect: "puts a revision of static pods on a control plane node", Evidence: static}
	}
	deployments := func(namespace, effect, source string) ControlPlaneResource {
		return ControlPlaneResource{Kind: "Deployment", Path: "/apis/apps/v1/namespaces/" + namespace + "/deployments", Reports: ReportsBundlePublisher, Effect: effect, Evidence: Evidence{Verified, source}}
	}
	const rotates = "rotates certificates, and puts bundles together"
	autoscaler := Evidence{Verified, "openshift/cluster-autoscaler-operator pkg/apis/autoscaling, pkg/controller/clusterautoscaler/clusterautoscaler.go (AutoscalerArgs: no flag without spec.scaleDown), pkg/controller/machineautoscaler @ release-4.12 29a6e57c, 4.22 260ea1b5, 5.0 e48fe117; " +
		"openshift/kubernetes-autoscaler cluster-autoscaler/main.go, core/scaledown/legacy/legacy.go @ release-4.12 d16352d90, config/flags/flags.go, core/scaledown/unneeded/nodes.go @ release-4.22 521e545fb (scale-down-enabled is true by default; not Ready: 20 minutes)"}
	selfNode := Evidence{Verified, "medik8s/self-node-remediation config/crd/bases, internal/controller/owner_and_name.go @ 640aac50, controllers/selfnoderemediation_controller.go @ release-0.4 to 0.8; medik8s/node-healthcheck-operator internal/controller/resources/manager.go @ dd444329"}
	return []ControlPlaneResource{
		{
			Kind: "ClusterVersion", Path: "/apis/config.openshift.io/v1/clusterversions", Reports: ReportsVersion, Effect: "rolls out every operator, then mostly reboots the nodes of each pool that is not paused",
			Evidence: Evidence{Verified, "openshift/api config/v1/types_cluster_version.go"},
		},
		{
			Kind: "ClusterOperator", Path: "/apis/config.openshift.io/v1/clusteroperators", Reports: ReportsOperator, Effect: "says how an operator is: many are degraded by a control plane node that is not Ready",
			Evidence: Evidence{Verified, "openshift/api config/v1/types_cluster_operator.go"},
		},
		operators(EtcdOperators, "Etcd", Evidence{Verified, static.Source + "; openshift/cluster-etcd-operator pkg/operator/etcdmemberscontroller/etcdmemberscontroller.go, pkg/etcdcli/health.go @ b4786ae33"}),
		operators("kubeapiservers", "KubeAPIServer", static),
		operators("kubecontrollermanagers", "KubeControllerManager", static),
		operators("kubeschedulers", "KubeScheduler", static),
		deployments(kasOperator, rotates, kasRotation().Source+"; openshift/cluster-kube-apiserver-operator manifests/0000_20_kube-apiserver-operator_06_deployment.yaml @ c813e820b"),
		deployments(kcmOperator, rotates, kcmRepo+"pkg/operator/targetconfigcontroller/targetconfigcontroller.go and manifests/0000_25_kube-controller-manager-operator_06_deployment.yaml @ release-4.12 c3c07bebb, _08_deployment.yaml @ release-4.22 95150ed5d"),
		deployments(mcoTarget, "puts bundles together, and from 4.19 on rotates the machine config server's CA (machine-config-controller)",
			mcoRepo+"pkg/operator/sync.go; pkg/controller/certrotation @ release-4.19 1a6905d98 to release-4.22 9027c94cd, not in release-4.12 to 4.18; install/0000_80_machine-config-operator_04_deployment.yaml @ release-4.12 1d4cfffaa, 0000_80_machine-config_04_deployment.yaml @ release-4.22"),
		{
			Kind: "Pod", Path: "/api/v1/namespaces/" + mcoTarget + "/pods", Reports: ReportsFileWriter, NamePrefix: ConfigDaemon().Name, Effect: "writes CAs into files on its node",
			Evidence: Evidence{Verified, mcoRepo + "manifests/machineconfigdaemon/daemonset.yaml @ release-4.12 to 4.22"},
		},
		installers("openshift-etcd"), installers(kasTarget), installers("openshift-kube-controller-manager"), installers("openshift-kube-scheduler"),
		{
			Kind: "MachineConfigPool", Path: "/apis/machineconfiguration.openshift.io/v1/" + Pools, Reports: ReportsPool, Effect: "mostly drains and reboots its nodes, spec.maxUnavailable at once (1 by default), while an update is under way", Doc: "what has begun on a node goes on when the pool is paused",
			Pause: `oc patch machineconfigpool NAME --type merge -p '{"spec":{"paused":true}}'`, Resume: `oc patch machineconfigpool NAME --type merge -p '{"spec":{"paused":false}}'`,
			Evidence: Evidence{Verified, mcoRepo + "pkg/controller/node/status.go (Updating is True, too, while a node of the pool is not Ready), pkg/controller/node/node_controller.go (maxUnavailable, getAllCandidateMachines), pkg/daemon/constants/constants.go @ 7ff337a4f"},
		},
		{
			Kind: "MachineHealthCheck", Path: "/apis/machine.openshift.io/v1beta1/" + MachineHealthChecks, Reports: ReportsNodeRemediation, Effect: "deletes machines whose node is not Ready, or has them rebooted, while no more of them are than it allows",
			Doc:     "not Ready: as spec.unhealthyConditions and spec.nodeStartupTimeout say. With spec.remediationTemplate it makes an object of that template instead",
			PauseBy: PauseField{Annotation: "cluster.x-k8s.io/paused"},
			Pause:   "oc -n NAMESPACE annotate machinehealthcheck NAME cluster.x-k8s.io/paused=", Resume: "oc -n NAMESPACE annotate machinehealthcheck NAME cluster.x-k8s.io/paused-",
			Evidence: Evidence{Verified, "openshift/machine-api-operator pkg/controller/machinehealthcheck/machinehealthcheck_controller.go, install/0000_30_machine-api-operator_13_machinehealthcheck.yaml (the one that heeds Terminating alone) @ 951196122"},
		},
		// spec.pauseRequests has the entries of others, too. JSON Patch adds to a list that is there, and else makes it,
		// unless there is one by then. To resume, it removes the first entry if that is this one.
		{
			Kind: "NodeHealthCheck", Path: "/apis/remediation.medik8s.io/v1alpha1/" + NodeHealthChecks, Reports: ReportsNodeRemediation, Effect: "has nodes rebooted or replaced that are not Ready, once no more of them are than it allows",
			PauseBy: PauseField{Reasons: "pauseRequests"},
			Pause: `oc patch nodehealthcheck NAME --type json -p '[{"op":"add","path":"/spec/pauseRequests/-","value":"certificates are being repaired"}]'` +
				` || oc patch nodehealthcheck NAME --type json -p '[{"op":"test","path":"/spec/pauseRequests","value":null},{"op":"add","path":"/spec/pauseRequests","value":["certificates are being repaired"]}]'`,
			Resume:   `oc patch nodehealthcheck NAME --type json -p '[{"op":"test","path":"/spec/pauseRequests/0","value":"certificates are being repaired"},{"op":"remove","path":"/spec/pauseRequests/0"}]'`,
			Evidence: Evidence{Verified, "medik8s/node-healthcheck-operator api/v1alpha1/nodehealthcheck_types.go @ dd444329: what has begun goes on"},
		},
		{
			Kind: "SelfNodeRemediation", Path: "/apis/self-node-remediation.medik8s.io/v1alpha1/selfnoderemediations", Reports: ReportsNodeRemediation, Effect: "reboots a node",
			Doc:      "its Machine's, where no NodeHealthCheck owns it; else that of annotation " + AnnotationRemediatedNode + ", or that it is named after",
			Evidence: selfNode,
		},
		{
			Kind: "ClusterAutoscaler", Path: "/apis/autoscaling.openshift.io/v1/" + ClusterAutoscalers, Reports: ReportsAutoscaling, Effect: "deletes machines whose node is not Ready for long, of the sets that a MachineAutoscaler names, unless spec.scaleDown.enabled is false",
			Pause: `oc patch clusterautoscaler NAME --type merge -p '{"spec":{"scaleDown":{"enabled":false}}}'`, Resume: `oc patch clusterautoscaler NAME --type merge -p '{"spec":{"scaleDown":{"enabled":true}}}'`,
			Evidence: autoscaler,
		},
		{
			Kind: "MachineAutoscaler", Path: "/apis/autoscaling.openshift.io/v1beta1/" + MachineAutoscalers, Reports: ReportsAutoscaling, Effect: "names a set of machines to the ClusterAutoscaler",
			Evidence: autoscaler,
		},
		{
			Kind: "ControlPlaneMachineSet", Path: "/apis/machine.openshift.io/v1/" + ControlPlaneMachines, Reports: ReportsControlPlaneMachines, Effect: "replaces control plane machines that were deleted, and those that differ from it",
			Doc:      "only where spec.state is Active; those that differ only with strategy RollingUpdate",
			Evidence: Evidence{Verified, "openshift/api machine/v1/types_controlplanemachineset.go: once Active it can't be made Inactive"},
		},
		{
			Kind: "APIService", Path: "/apis/apiregistration.k8s.io/v1/apiservices", Reports: ReportsAPIService, Effect: "says which APIs that others serve are not available, as routes and projects: a request for one fails at once (503)",
			Evidence: Evidence{Verified, "kubernetes/kube-aggregator pkg/apis/apiregistration/v1/types.go; pkg/apiserver/handler_proxy.go (serviceAvailable) @ release-1.25, 1.30, 1.35 and 1.36"},
		},
	}
}
