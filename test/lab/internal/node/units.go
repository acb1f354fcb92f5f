package node

import (
	"path"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
)

// ImagesPath is the folder of a node's archives of container images.
const ImagesPath = "/opt/lab/images"

// units are the services of a node. The lab's own begin with lab-.
func units(t *tree, n Node) {
	unit := func(name, text string, wantedBy ...string) {
		t.file(path.Join("/etc/systemd/system", name), text, 0o644)
		for _, by := range wantedBy {
			t.link(path.Join("/etc/systemd/system", by, name), "../"+name)
		}
	}
	unit("kubelet.service", kubeletUnit(n), "multi-user.target.wants")
	unit("lab-prepare.service", prepareUnit, "sysinit.target.wants")
	unit("lab-ignition.service", ignitionUnit, "kubelet.service.requires")
	unit("containerd.service.d/10-lab-images.conf", importImages)
	t.file("/etc/systemd/system.conf.d/lab.conf", shutdownLimit, 0o644)
	switch {
	case n.APIServer:
		t.link("/etc/systemd/system/multi-user.target.wants/"+path.Base(APIServerUnitPath), "../"+path.Base(APIServerUnitPath))
	case n.Master:
		unit("lab-apiserver.socket", apiserverSocket, "sockets.target.wants")
		unit("lab-apiserver.service", apiserverProxy)
	}
}

const importImages = `[Service]
ExecStartPost=/bin/sh -ec 'for archive in ` + ImagesPath + `/*.tar; do ctr --namespace k8s.io images import "$$archive"; done'
`

// shutdownLimit is how long a machine that goes down waits for what does not heed its end:
// not for 90 s, as processes 1 of the lab's containers heed none.
const shutdownLimit = `[Manager]
DefaultTimeoutStopSec=3s
`

// kubeletUnit has OpenShift's flags, save for those of its container runtime and
// for roles: a kubelet may not give itself any, so the lab labels the nodes.
func kubeletUnit(n Node) string {
	flags := []string{
		"--config=/etc/kubernetes/kubelet.conf",
		"--bootstrap-kubeconfig=" + BootstrapKubeconfig,
		"--kubeconfig=/var/lib/kubelet/kubeconfig",
		"--node-labels=node.openshift.io/os_id=${ID}",
		"--node-ip=" + n.Address,
		"--hostname-override=" + n.Name,
		"--volume-plugin-dir=/etc/kubernetes/kubelet-plugins/volume/exec",
	}
	if n.Master {
		flags = append(flags, "--register-with-taints=node-role.kubernetes.io/master=:NoSchedule")
	}
	return `[Unit]
Description=Kubernetes Kubelet
Wants=network-online.target
Requires=containerd.service
After=network-online.target containerd.service

[Service]
Type=notify
ExecStartPre=/bin/mkdir --parents /etc/kubernetes/manifests
ExecStartPre=/bin/rm -f /var/lib/kubelet/cpu_manager_state
ExecStartPre=/bin/rm -f /var/lib/kubelet/memory_manager_state
EnvironmentFile=/etc/os-release
ExecStart=/usr/bin/kubelet \
    ` + strings.Join(append(flags, "--v=2"), " \\\n    ") + `
Restart=always
RestartSec=10

[Install]
WantedBy=multi-user.target
`
}

// prepareUnit does what a machine of its own would not need. systemd-nspawn mounts
// the control group hierarchies read-only; and the kubelet insists on three
// sysctls of the kernel, which is the host's: it gets files with the values
// that it wants, and the kernel stays as it is.
const prepareUnit = `[Unit]
Description=Lab: make control groups writable, and show the kubelet its sysctls
DefaultDependencies=no
Before=sysinit.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -ec 'while read -r _ at _; do case "$$at" in /sys/fs/cgroup*) mount -o remount,rw,bind "$$at";; esac; done < /proc/mounts'
ExecStart=/bin/sh -ec 'mkdir -p /run/lab-sysctl; show() { echo "$$2" > "/run/lab-sysctl/$${1##*/}"; mount --bind "/run/lab-sysctl/$${1##*/}" "/proc/sys/$$1"; }; show kernel/panic_on_oops 1; show kernel/panic 10; show vm/overcommit_memory 1'

[Install]
WantedBy=sysinit.target
`

// ignitionUnit lets a new node wait for what Ignition would have brought. Once it
// is there, also after a reboot, there is nothing to wait for; and a restart of
// the kubelet does not come by here.
const ignitionUnit = `[Unit]
Description=Lab: wait for ` + BootstrapKubeconfig + `, as if Ignition had yet to run
Before=kubelet.service

[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=infinity
ExecStart=/bin/sh -c 'test -e /etc/.lab-ignition-done || until test -s ` + BootstrapKubeconfig + `; do sleep 0.2; done; touch /etc/.lab-ignition-done'

[Install]
RequiredBy=kubelet.service
`

// APIServerUnitPath is the unit of a master with an API server of its own. Who knows the
// API server's flags writes it.
const APIServerUnitPath = "/etc/systemd/system/lab-apiserver.service"

// PKI is where such a master has the lab's certificates: its API server takes from there
// what it does not serve, such as its client CAs.
const PKI = "/opt/lab/pki"

// APIServerUnit runs an API server with these flags, once the cluster is there.
func APIServerUnit(flags []string) string {
	return `[Unit]
Description=Lab: the API server of this master
Requires=lab-ignition.service
After=lab-ignition.service

[Service]
ExecStart=/usr/bin/kube-apiserver \
    ` + strings.Join(flags, " \\\n    ") + `
StandardOutput=append:` + APIServerLog + `
StandardError=inherit
Restart=always
RestartSec=1
# It would wait a minute for its clients, and has nothing to save.
KillSignal=SIGKILL

[Install]
WantedBy=multi-user.target
`
}

// The API server listens on every address of a master. Where that of the control plane is
// meant, its port is passed on.
const (
	apiserverSocket = `[Unit]
Description=Lab: the API server's port on this master

[Socket]
ListenStream=0.0.0.0:6443

[Install]
WantedBy=sockets.target
`
	apiserverProxy = `[Unit]
Description=Lab: pass the API server's port on to the control plane

[Service]
ExecStart=/lib/systemd/systemd-socket-proxyd ` + pki.PastBalancer + `:6443
`
)
