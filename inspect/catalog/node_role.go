package catalog

// What a node is for.
const (
	RoleMaster  = "master"  // it runs kube-apiserver; it may run what workers do, too
	RoleArbiter = "arbiter" // it runs etcd, and no kube-apiserver
	RoleWorker  = "worker"
)

// RoleOf returns what a node with these labels is for (openshift/api
// config/v1/types_infrastructure.go: HighlyAvailableArbiter).
func RoleOf(labels map[string]string) string {
	if IsMaster(labels) {
		return RoleMaster
	}
	if _, ok := labels["node-role.kubernetes.io/arbiter"]; ok {
		return RoleArbiter
	}
	return RoleWorker
}

// IsMaster reports whether a node with these labels runs kube-apiserver.
func IsMaster(labels map[string]string) bool {
	_, now := labels["node-role.kubernetes.io/control-plane"]
	_, before := labels["node-role.kubernetes.io/master"] // up to 4.11 alone
	return now || before
}
