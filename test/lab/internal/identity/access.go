package identity

import "github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"

// NodeKubeconfigsPath is where the cluster has the kubeconfigs of its masters.
const NodeKubeconfigsPath = "/api/v1/namespaces/" + apiserver + "/secrets/node-kubeconfigs"

// NodeKubeconfigs is the Secret that OpenShift's operator copies to masters.
func NodeKubeconfigs(pkiDir string) (map[string]any, error) {
	texts, err := node.EmergencyKubeconfigs(pkiDir)
	if err != nil {
		return nil, err
	}
	return object{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": object{
			"namespace": apiserver, "name": "node-kubeconfigs",
			"annotations": object{"openshift.io/owning-component": owner(apiserver)},
		},
		"stringData": texts,
	}, nil
}

// recoveryClients are the service accounts by which static pods call the API server of
// their own master. The controller manager makes their tokens.
func recoveryClients() []object {
	const name = "localhost-recovery-client"
	var all []object
	for _, namespace := range []string{apiserver, controllerManager, scheduler} {
		all = append(all,
			object{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": object{"namespace": namespace, "name": name}},
			object{
				"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
				"metadata": object{
					"namespace": namespace, "name": name + "-token",
					"annotations": object{"kubernetes.io/service-account.name": name, "openshift.io/owning-component": owner(namespace)},
				},
			})
	}
	return all
}
