package identity

import (
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/rootfs"
)

const (
	multusNamespace   = "openshift-multus"
	approverNamespace = "openshift-network-node-identity"
)

// MultusDaemonSet is the path in the API of what runs multus.
const MultusDaemonSet = "/apis/apps/v1/namespaces/" + multusNamespace + "/daemonsets/multus"

// multus is the configuration of cluster-network-operator: bindata/network/multus of
// 4.14 and later for the thick one, of 4.13 and earlier for the thin one. multus is the
// real one. What is not there, for want of it in the lab: OVN-Kubernetes below it,
// the init containers that copy plugins, kube-rbac-proxy.
func multus(how node.Multus) []object {
	all := []object{
		networkAttachments(),
		{
			"apiVersion": rbacGroup + "/v1", "kind": "ClusterRole", "metadata": object{"name": "multus"},
			"rules": []object{
				rule("k8s.cni.cncf.io", "get list watch", "network-attachment-definitions"),
				rule("", "get list watch", "namespaces"),
				rule("", "get list watch patch update", "pods", "pods/status"),
				rule("", "create patch update", "events"),
				rule("events.k8s.io", "create patch update", "events"),
				rule("certificates.k8s.io", "create get list watch", "certificatesigningrequests"),
			},
		},
		{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": object{"namespace": multusNamespace, "name": "multus"}},
		clusterRoleBinding("multus", "multus",
			object{"kind": "ServiceAccount", "namespace": multusNamespace, "name": "multus"},
			object{"apiGroup": rbacGroup, "kind": "Group", "name": "system:multus"}),
	}
	if how == node.MultusThin {
		return append(all, thinMultus())
	}
	return append(append(all, thickMultus()...), certificateApprover()...)
}

// rule is of RBAC; verbs have spaces between.
func rule(group, verbs string, resources ...string) object {
	return object{"apiGroups": []string{group}, "resources": resources, "verbs": strings.Fields(verbs)}
}

func networkAttachments() object {
	const group, plural = "k8s.cni.cncf.io", "network-attachment-definitions"
	anyObject := object{"type": "object"}
	return object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": plural + "." + group},
		"spec": object{
			"group": group, "scope": "Namespaced",
			"names": object{"plural": plural, "singular": "network-attachment-definition", "kind": "NetworkAttachmentDefinition", "shortNames": []string{"net-attach-def"}},
			"versions": []object{{
				"name": "v1", "served": true, "storage": true,
				"schema": object{"openAPIV3Schema": object{"type": "object", "properties": object{
					"apiVersion": object{"type": "string"}, "kind": object{"type": "string"}, "metadata": anyObject,
					"spec": object{"type": "object", "properties": object{"config": object{"type": "string"}}},
				}}},
			}},
		},
	}
}

const multusConfig = `{
    "cniVersion": "0.3.1",
    "chrootDir": "/hostroot",
    "logToStderr": true,
    "logLevel": "verbose",
    "binDir": "/var/lib/cni/bin",
    "perNodeCertificate": {
        "enabled": true,
        "bootstrapKubeconfig": "/var/lib/kubelet/kubeconfig",
        "certDir": "/etc/cni/multus/certs",
        "certDuration": "24h"
    },
    "cniConfigDir": "/host/etc/cni/net.d",
    "multusConfigFile": "auto",
    "multusAutoconfigDir": "/host/run/multus/cni/net.d",
    "namespaceIsolation": true,
    "globalNamespaces": "default,openshift-multus,openshift-sriov-network-operator,openshift-cnv",
    "readinessindicatorfile": "/host/run/multus/cni/net.d/10-ovn-kubernetes.conf",
    "daemonSocketDir": "/run/multus/socket",
    "socketDir": "/host/run/multus/socket"
}
`

// thickMultus has no service account: its identity is a certificate of its own, which
// it asks for with the kubelet's.
func thickMultus() []object {
	const command = `cp -f ` + rootfs.MultusPrograms + `/multus-shim /host/opt/cni/bin/_multus-shim && mv -f /host/opt/cni/bin/_multus-shim /host/opt/cni/bin/multus-shim
exec ` + rootfs.MultusPrograms + `/multus-daemon`
	mounts := []hostFolder{
		{name: "system-cni-dir", host: "/etc/kubernetes/cni/net.d", at: "/host/etc/cni/net.d", kind: "Directory"},
		{name: "multus-cni-dir", host: "/run/multus/cni/net.d", at: "/host/run/multus/cni/net.d", kind: "Directory"},
		{name: "cnibin", host: "/var/lib/cni/bin", at: "/host/opt/cni/bin", kind: "Directory"},
		{name: "multus-socket-dir-parent", host: "/run/multus", at: "/host/run/multus", kind: "DirectoryOrCreate", follows: true},
		{name: "host-run-k8s-cni-cncf-io", host: "/run/k8s.cni.cncf.io", at: "/run/k8s.cni.cncf.io", kind: "DirectoryOrCreate"},
		{name: "host-run-netns", host: "/run/netns/", at: "/run/netns", follows: true},
		{name: "host-var-lib-cni-bin", host: "/var/lib/cni/bin", at: "/var/lib/cni/bin"},
		{name: "host-var-lib-cni-multus", host: "/var/lib/cni/multus", at: "/var/lib/cni/multus", kind: "DirectoryOrCreate"},
		{name: "host-var-lib-kubelet", host: "/var/lib/kubelet", at: "/var/lib/kubelet", follows: true},
		{name: "hostroot", host: "/", at: "/hostroot", follows: true},
		{name: "multus-conf-dir", host: "/etc/cni/multus/net.d", at: "/etc/cni/multus/net.d", kind: "DirectoryOrCreate"},
		{name: "host-run-multus-certs", host: "/etc/cni/multus/certs", at: "/etc/cni/multus/certs", kind: "DirectoryOrCreate"},
		{name: "etc-kubernetes", host: "/etc/kubernetes", at: "/etc/kubernetes"},
	}
	volumes, volumeMounts := mounted(mounts)
	volumes = append(volumes, object{"name": "multus-daemon-config", "configMap": object{
		"name": "multus-daemon-config", "items": []object{{"key": "daemon-config.json", "path": "daemon-config.json"}},
	}})
	volumeMounts = append(volumeMounts, object{"name": "multus-daemon-config", "mountPath": "/etc/cni/net.d/multus.d", "readOnly": true})
	return []object{
		{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"namespace": multusNamespace, "name": "multus-daemon-config"},
			"data": object{"daemon-config.json": multusConfig},
		},
		multusDaemons(object{
			"hostNetwork": true, "hostPID": true, "automountServiceAccountToken": false,
			"volumes": volumes,
			"containers": []object{{
				"name": "kube-multus", "image": rootfs.MultusImage,
				"command":         []string{"/bin/sh", "-ec", "--"},
				"args":            []string{command},
				"securityContext": object{"privileged": true},
				"env":             append(apiServerAddress(pki.InternalHost), ofNode("MULTUS_NODE_NAME"), ofNode("K8S_NODE")),
				"volumeMounts":    volumeMounts,
			}},
		}),
	}
}

// thinMultus writes a kubeconfig for the plugin: with its service account's token and
// the CA that pods trust, and again when they change.
func thinMultus() object {
	volumes, volumeMounts := mounted([]hostFolder{
		{name: "system-cni-dir", host: "/etc/kubernetes/cni/net.d", at: "/host/etc/cni/net.d", kind: "Directory"},
		{name: "multus-cni-dir", host: "/run/multus/cni/net.d", at: "/host/run/multus/cni/net.d", kind: "Directory"},
		{name: "cnibin", host: "/var/lib/cni/bin", at: "/host/opt/cni/bin", kind: "Directory"},
		{name: "multus-conf-dir", host: "/etc/kubernetes/cni/net.d/multus.d", at: "/host/etc/cni/multus/net.d", kind: "DirectoryOrCreate"},
	})
	return multusDaemons(object{
		"hostNetwork": true, "serviceAccountName": "multus",
		"volumes": volumes,
		"containers": []object{{
			"name": "kube-multus", "image": rootfs.MultusImage,
			"command": []string{rootfs.MultusPrograms + "/thin_entrypoint"},
			"args": []string{
				"--multus-conf-file=auto",
				"--multus-autoconfig-dir=/host/run/multus/cni/net.d",
				"--multus-kubeconfig-file-host=/etc/kubernetes/cni/net.d/multus.d/multus.kubeconfig",
				"--readiness-indicator-file=/run/multus/cni/net.d/10-ovn-kubernetes.conf",
				"--cleanup-config-on-exit=true",
				"--namespace-isolation=true",
				"--global-namespaces=default,openshift-multus,openshift-sriov-network-operator",
				"--multus-log-level=verbose",
				"--multus-log-file=/var/log/multus.log",
				"--additional-bin-dir=/var/lib/cni/bin",
			},
			"securityContext": object{"privileged": true},
			// thin_entrypoint puts the host in brackets, where Go takes nothing but IPv6 from
			// 1.25.2 on. A query in a server's address is not read.
			"env":          append(apiServerAddress(pki.InternalHost), object{"name": "KUBERNETES_SERVICE_PROTOCOL", "value": "https://" + pki.InternalHost + ":6443/?https"}),
			"volumeMounts": volumeMounts,
		}},
	})
}

func multusDaemons(pod object) object {
	labels := object{"app": "multus"}
	pod["priorityClassName"] = "system-node-critical"
	pod["terminationGracePeriodSeconds"] = 10
	pod["tolerations"] = []object{{"operator": "Exists"}}
	pod["nodeSelector"] = object{"kubernetes.io/os": "linux"}
	return object{
		"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": object{"namespace": multusNamespace, "name": "multus"},
		"spec": object{"selector": object{"matchLabels": labels}, "template": object{"metadata": object{"labels": labels}, "spec": pod}},
	}
}

// certificateApprover stands in for network-node-identity, by multus' own
// cmd/cert-approver: it approves what that one's container approver does, requests for
// system:multus:NODE by nodes and by multus itself. As there, it is on masters, in the
// host's network, and trusts what pods trust.
func certificateApprover() []object {
	const name = "network-node-identity"
	labels := object{"app": name}
	return []object{
		{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": object{"namespace": approverNamespace, "name": name}},
		{
			"apiVersion": rbacGroup + "/v1", "kind": "ClusterRole", "metadata": object{"name": name},
			"rules": []object{
				rule("certificates.k8s.io", "get list watch", "certificatesigningrequests"),
				rule("certificates.k8s.io", "update", "certificatesigningrequests/approval"),
				{"apiGroups": []string{"certificates.k8s.io"}, "resources": []string{"signers"}, "resourceNames": []string{"kubernetes.io/kube-apiserver-client"}, "verbs": []string{"approve"}},
				rule("", "create patch update", "events"),
			},
		},
		clusterRoleBinding(name, name, object{"kind": "ServiceAccount", "namespace": approverNamespace, "name": name}),
		{
			"apiVersion": "apps/v1", "kind": "DaemonSet",
			"metadata": object{
				"namespace": approverNamespace, "name": name,
				"annotations": object{"lab/stand-in": "multus' own cert-approver, with the conditions of OpenShift's approver"},
			},
			"spec": object{
				"selector": object{"matchLabels": labels},
				"template": object{
					"metadata": object{"labels": labels},
					"spec": object{
						"hostNetwork": true, "serviceAccountName": name,
						"priorityClassName":             "system-node-critical",
						"terminationGracePeriodSeconds": 1,
						"tolerations":                   []object{{"operator": "Exists"}},
						"nodeSelector":                  object{"node-role.kubernetes.io/master": ""},
						"containers": []object{{
							"name": "approver", "image": rootfs.MultusImage,
							"command": []string{rootfs.MultusPrograms + "/cert-approver"},
							"env":     apiServerAddress(pki.InternalHost),
						}},
					},
				},
			},
		},
	}
}

// apiServerAddress is how the operator has pods in the host's network find api-int.
func apiServerAddress(host string) []object {
	return []object{{"name": "KUBERNETES_SERVICE_HOST", "value": host}, {"name": "KUBERNETES_SERVICE_PORT", "value": "6443"}}
}

// ofNode is an environment variable with the name of the pod's node.
func ofNode(variable string) object {
	return object{"name": variable, "valueFrom": object{"fieldRef": object{"fieldPath": "spec.nodeName"}}}
}

// hostFolder is a folder of the node in a container.
type hostFolder struct {
	name, host, at string
	kind           string // of a hostPath
	follows        bool   // what the node mounts there later is seen, too
}

func mounted(folders []hostFolder) (volumes, mounts []object) {
	for _, f := range folders {
		mount := object{"name": f.name, "mountPath": f.at}
		if f.follows {
			mount["mountPropagation"] = "HostToContainer"
		}
		volumes = append(volumes, object{"name": f.name, "hostPath": object{"path": f.host, "type": f.kind}})
		mounts = append(mounts, mount)
	}
	return volumes, mounts
}
