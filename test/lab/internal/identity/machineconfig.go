package identity

import "github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/rootfs"

const (
	machineConfigNamespace = "openshift-machine-config-operator"
	rbacGroup              = "rbac.authorization.k8s.io"
)

// machineConfig is what lets machines join the cluster and keep their
// certificates, as the machine config operator has it: a token that is in every
// node's first kubeconfig, the right to ask for certificates with it, and the
// controller manager's permission to approve a node's renewal of its own.
func machineConfig() []object {
	const bootstrapper = "node-bootstrapper"
	account := object{"kind": "ServiceAccount", "namespace": machineConfigNamespace, "name": bootstrapper}
	return []object{
		{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": object{"namespace": machineConfigNamespace, "name": bootstrapper}},
		{
			"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
			"metadata": object{
				"namespace": machineConfigNamespace, "name": bootstrapper + "-token",
				"annotations": object{"kubernetes.io/service-account.name": bootstrapper},
			},
		},
		clusterRoleBinding("system-bootstrap-node-bootstrapper", "system:node-bootstrapper", account),
		clusterRoleBinding("system-bootstrap-node-renewal", "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
			object{"apiGroup": rbacGroup, "kind": "Group", "name": "system:nodes"}),
		{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": object{"namespace": machineConfigNamespace, "name": "machine-config-daemon"}},
	}
}

func clusterRoleBinding(name, role string, subjects ...object) object {
	return object{
		"apiVersion": rbacGroup + "/v1", "kind": "ClusterRoleBinding",
		"metadata": object{"name": name},
		"roleRef":  object{"apiGroup": rbacGroup, "kind": "ClusterRole", "name": role},
		"subjects": subjects,
	}
}

// machineConfigDaemon stands in for OpenShift's: a privileged pod on every node
// that has the node's root at /rootfs. It is there to be reached, by exec, and
// does nothing: no machine is configured by it.
func machineConfigDaemon() object {
	const name = "machine-config-daemon"
	labels := object{"k8s-app": name}
	return object{
		"apiVersion": "apps/v1", "kind": "DaemonSet",
		"metadata": object{
			"namespace": machineConfigNamespace, "name": name,
			"annotations": object{"lab/stand-in": "does nothing; has the node's root at /rootfs, as OpenShift's has"},
		},
		"spec": object{
			"selector": object{"matchLabels": labels},
			"template": object{
				"metadata": object{"labels": labels},
				"spec": object{
					"hostNetwork": true, "hostPID": true,
					"serviceAccountName":            name,
					"priorityClassName":             "system-node-critical",
					"terminationGracePeriodSeconds": 1,
					"tolerations":                   []object{{"operator": "Exists"}},
					"nodeSelector":                  object{"kubernetes.io/os": "linux"},
					"containers": []object{{
						"name": name, "image": rootfs.ToolsImage,
						"command":         []string{"sh", "-c", "echo a stand-in for machine-config-daemon: does nothing; exec sleep 2147483647"},
						"securityContext": object{"privileged": true},
						"volumeMounts":    []object{{"name": "rootfs", "mountPath": "/rootfs", "mountPropagation": "HostToContainer"}},
					}},
					"volumes": []object{{"name": "rootfs", "hostPath": object{"path": "/"}}},
				},
			},
		},
	}
}
