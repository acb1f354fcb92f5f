package identity

import (
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
)

// crdFiles are the kinds that say what the cluster is or that carry or refer to
// certificates, by the names of their manifests.
func crdFiles() []string {
	return []string{
		"*_clusteroperators.crd.yaml",
		"*_clusterversions-Default.crd.yaml",
		"*_config-operator_01_apiservers-Default.crd.yaml",
		"*_config-operator_01_authentications-Default.crd.yaml",
		"*_config-operator_01_dnses.crd.yaml",
		"*_config-operator_01_featuregates.crd.yaml",
		"*_config-operator_01_images.crd.yaml",
		"*_config-operator_01_infrastructures-Default.crd.yaml",
		"*_config-operator_01_ingresses.crd.yaml",
		"*_config-operator_01_networks.crd.yaml",
		"*_config-operator_01_oauths.crd.yaml",
		"*_config-operator_01_proxies.crd.yaml",
		"*_controllerconfigs-Default.crd.yaml",
		"*_machineconfignodes-Default.crd.yaml",
		"*_machineconfigpools-Default.crd.yaml",
		"*_machineconfigs.crd.yaml",
		"*_machineconfigurations-Default.crd.yaml",
		"*_authentication_01_authentications.crd.yaml",
		"*_etcds-Default.crd.yaml",
		"*_ingresscontrollers.crd.yaml",
		"*_kubeapiservers-Default.crd.yaml",
		"*_kubecontrollermanagers.crd.yaml",
		"*_kubeschedulers.crd.yaml",
		"*_network_01_networks.crd.yaml",
		"*_openshiftapiservers.crd.yaml",
		"*_servicecas.crd.yaml",
		"routes.crd.yaml",
	}
}

func namespaces() []object {
	var all []object
	for _, name := range []string{
		"openshift-apiserver",
		"openshift-authentication",
		"openshift-cluster-machine-approver",
		"openshift-cluster-version",
		"openshift-config",
		"openshift-config-managed",
		"openshift-etcd",
		"openshift-etcd-operator",
		"openshift-ingress",
		"openshift-ingress-operator",
		"openshift-kube-apiserver",
		"openshift-kube-apiserver-operator",
		"openshift-kube-controller-manager",
		"openshift-kube-controller-manager-operator",
		"openshift-kube-scheduler",
		"openshift-kube-scheduler-operator",
		"openshift-machine-api",
		"openshift-machine-config-operator",
		"openshift-multus",
		"openshift-network-node-identity", // in 4.12 and 4.13, too, where nothing asks for it
		"openshift-network-operator",
		"openshift-ovn-kubernetes",
		"openshift-service-ca",
		"openshift-service-ca-operator",
	} {
		all = append(all, object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name}})
	}
	return all
}

// kubeletAccess lets the API server into the kubelets as what its certificate
// says it is. It is no member of system:masters, so a kubelet has to ask for it,
// which is what fails first when a kubelet loses its trust in the API server.
func kubeletAccess() object {
	const group = "rbac.authorization.k8s.io"
	return object{
		"apiVersion": group + "/v1", "kind": "ClusterRoleBinding",
		"metadata": object{"name": "system:openshift:kube-apiserver:kubelet-api-admin"},
		"roleRef":  object{"apiGroup": group, "kind": "ClusterRole", "name": "system:kubelet-api-admin"},
		"subjects": []object{{"apiGroup": group, "kind": "User", "name": "system:kube-apiserver"}},
	}
}

// clusterResources are the cluster's description of itself, which has these masters.
func clusterResources(version string, masters []string, now time.Time) []object {
	at := now.UTC().Format(time.RFC3339)
	release := object{"version": version, "image": "localhost/lab/release:" + version}
	topology := "SingleReplica"
	if len(masters) > 1 {
		topology = "HighlyAvailable"
	}
	all := []object{
		config("ClusterVersion", "version",
			object{"clusterID": "c0ffee00-1ab0-4000-8000-000000000001", "channel": ""},
			object{
				"observedGeneration": 1, "versionHash": "lab", "availableUpdates": nil, "desired": release,
				"history": []object{{
					"state": "Completed", "version": version, "image": release["image"], "verified": false,
					"startedTime": at, "completionTime": at,
				}},
				"conditions": conditions(at, "Available", "Progressing", "Failing"),
			}),
		config("Infrastructure", "cluster",
			object{"platformSpec": object{"type": "None"}},
			object{
				"infrastructureName": "lab", "platform": "None", "platformStatus": object{"type": "None"},
				"apiServerURL": "https://" + pki.ExternalHost + ":6443", "apiServerInternalURI": "https://" + pki.InternalHost + ":6443",
				"etcdDiscoveryDomain": "", "cpuPartitioning": "None",
				"controlPlaneTopology": topology, "infrastructureTopology": topology,
			}),
		config("APIServer", "cluster", object{"audit": object{"profile": "Default"}}, nil),
		config("Proxy", "cluster", object{"trustedCA": object{"name": ""}}, nil),
		config("Image", "cluster", object{}, nil),
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "machine-config", "network"} {
		all = append(all, config("ClusterOperator", name, object{}, object{
			"versions":   []object{{"name": "operator", "version": version}},
			"conditions": conditions(at, "Available", "Progressing", "Degraded"),
		}))
	}
	return append(all, staticPodOperators(masters, at)...)
}

// staticPodOperators are where operators say which revision of a component is on which
// master, and etcd's how its members are. No operator runs here, so there are none.
func staticPodOperators(masters []string, at string) []object {
	var all, statuses []object
	for _, m := range masters {
		statuses = append(statuses, object{"nodeName": m})
	}
	for _, kind := range []string{"Etcd", "KubeAPIServer", "KubeControllerManager", "KubeScheduler"} {
		status := object{"nodeStatuses": statuses}
		if kind == "Etcd" {
			status["conditions"] = conditions(at, "EtcdMembersAvailable", "EtcdMembersDegraded")
		}
		all = append(all, object{
			"apiVersion": "operator.openshift.io/v1", "kind": kind, "metadata": object{"name": "cluster"},
			"spec": object{"managementState": "Managed"}, "status": status,
		})
	}
	return all
}

func config(kind, name string, spec, status object) object {
	o := object{"apiVersion": "config.openshift.io/v1", "kind": kind, "metadata": object{"name": name}, "spec": spec}
	if status != nil {
		o["status"] = status
	}
	return o
}

// conditions are those of something that is well: the first True, others False.
func conditions(at string, types ...string) []object {
	var all []object
	for i, t := range types {
		status := "False"
		if i == 0 {
			status = "True"
		}
		all = append(all, object{"type": t, "status": status, "lastTransitionTime": at, "reason": "AsPlanted", "message": "planted by the lab"})
	}
	return all
}
