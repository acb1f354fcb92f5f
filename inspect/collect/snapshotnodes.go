package collect

import (
	"io/fs"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// The part of the snapshot file that is about nodes.
type (
	fileNode struct {
		Name        string           `json:"name"`
		Hostname    string           `json:"hostname,omitempty"`
		Via         string           `json:"via,omitempty"`
		Ready       string           `json:"ready,omitempty"`
		Addresses   []string         `json:"addresses,omitempty"`
		PodNetworks []string         `json:"podNetworks,omitempty"`
		Heartbeat   time.Time        `json:"heartbeat,omitzero"`
		Clock       fileClock        `json:"clock,omitzero"`
		Kubelet     fileKubelet      `json:"kubelet,omitzero"`
		Files       []fileNodeFile   `json:"files,omitempty"`
		Kubeconfigs []fileKubeconfig `json:"kubeconfigs,omitempty"`
		Processes   []fileProcess    `json:"processes,omitempty"`
	}
	fileProcess struct {
		Command string    `json:"command"`
		Started time.Time `json:"started"`
	}
	fileClock struct {
		Sent     time.Time `json:"sent,omitzero"`
		Before   time.Time `json:"before,omitzero"`
		After    time.Time `json:"after,omitzero"`
		Received time.Time `json:"received,omitzero"`
	}
	fileKubelet struct {
		Active             string    `json:"active,omitempty"`
		Sub                string    `json:"sub,omitempty"`
		Started            time.Time `json:"started,omitzero"`
		Running            time.Time `json:"running,omitzero"`
		RotateCertificates *bool     `json:"rotateCertificates,omitempty"`
		ServerTLSBootstrap *bool     `json:"serverTLSBootstrap,omitempty"`
		ClientCAFile       string    `json:"clientCAFile,omitempty"`
		Authorization      string    `json:"authorization,omitempty"`
		Anonymous          *bool     `json:"anonymous,omitempty"`
		BootstrapConfig    string    `json:"bootstrapKubeconfig,omitempty"`
		Kubeconfig         string    `json:"kubeconfig,omitempty"`
	}
	fileNodeFile struct {
		Path     string          `json:"path"`
		Mode     fs.FileMode     `json:"mode"` // Go's io/fs bits
		UID      int             `json:"uid"`
		GID      int             `json:"gid"`
		Label    string          `json:"label,omitempty"`
		Size     int64           `json:"size"`
		Modified time.Time       `json:"modified"`
		SHA256   pki.Fingerprint `json:"sha256,omitzero"`
		Link     string          `json:"link,omitempty"`
		Target   string          `json:"target,omitempty"`
		Whole    bool            `json:"whole,omitempty"`
		Secret   bool            `json:"secret,omitempty"`
	}
	fileKubeconfig struct {
		Path     string                  `json:"path"`
		Problem  string                  `json:"problem,omitempty"`
		Clusters []fileKubeconfigCluster `json:"clusters,omitempty"`
		Users    int                     `json:"users"`
		Current  string                  `json:"current,omitempty"`
		Text     string                  `json:"text,omitempty"` // redacted
	}
	fileKubeconfigCluster struct {
		Name     string `json:"name"`
		Server   string `json:"server"`
		CAFile   string `json:"caFile,omitempty"`
		CAData   bool   `json:"caData,omitempty"`
		Field    string `json:"field,omitempty"`
		Insecure bool   `json:"insecure,omitempty"`
		// tls-server-name
		ServerName string `json:"serverName,omitempty"`
		Masked     bool   `json:"masked,omitempty"`
	}
)

func packNode(n inspect.Node) fileNode {
	f := fileNode{Name: n.Name, Hostname: n.Hostname, Via: n.Via, Ready: n.Ready, Addresses: n.Addresses, PodNetworks: n.PodNetworks, Heartbeat: n.Heartbeat, Clock: fileClock(n.Clock), Kubelet: fileKubelet(n.Kubelet)}
	for _, file := range n.Files {
		f.Files = append(f.Files, fileNodeFile(file))
	}
	for _, k := range n.Kubeconfigs {
		fk := fileKubeconfig{Path: k.Path, Problem: k.Problem, Users: k.Users, Current: k.Current, Text: string(k.Text)}
		for _, c := range k.Clusters {
			fk.Clusters = append(fk.Clusters, fileKubeconfigCluster(c))
		}
		f.Kubeconfigs = append(f.Kubeconfigs, fk)
	}
	for _, p := range n.Processes {
		f.Processes = append(f.Processes, fileProcess(p))
	}
	return f
}

func (f fileNode) unpack() inspect.Node {
	n := inspect.Node{Name: f.Name, Hostname: f.Hostname, Via: f.Via, Ready: f.Ready, Addresses: f.Addresses, PodNetworks: f.PodNetworks, Heartbeat: f.Heartbeat, Clock: inspect.Clock(f.Clock), Kubelet: inspect.Kubelet(f.Kubelet)}
	for _, file := range f.Files {
		n.Files = append(n.Files, inspect.NodeFile(file))
	}
	for _, k := range f.Kubeconfigs {
		nk := inspect.Kubeconfig{Path: k.Path, Problem: k.Problem, Users: k.Users, Current: k.Current}
		if k.Text != "" {
			nk.Text = []byte(k.Text)
		}
		for _, c := range k.Clusters {
			nk.Clusters = append(nk.Clusters, inspect.KubeconfigCluster(c))
		}
		n.Kubeconfigs = append(n.Kubeconfigs, nk)
	}
	for _, p := range f.Processes {
		n.Processes = append(n.Processes, inspect.Process(p))
	}
	return n
}
