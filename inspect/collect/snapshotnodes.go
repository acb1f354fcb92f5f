package collect

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// The part of the snapshot file that is about nodes.
type (
	fileNode struct {
		Name         string            `json:"name"`
		Hostname     string            `json:"hostname,omitempty"`
		Via          string            `json:"via,omitempty"`
		Reached      string            `json:"reached,omitempty"`
		Ready        string            `json:"ready,omitempty"`
		Role         string            `json:"role,omitempty"`
		Addresses    []string          `json:"addresses,omitempty"`
		PodNetworks  []string          `json:"podNetworks,omitempty"`
		Heartbeat    time.Time         `json:"heartbeat,omitzero"`
		Lease        fileLease         `json:"lease,omitzero"`
		Clock        fileClock         `json:"clock,omitzero"`
		Kubelet      fileKubelet       `json:"kubelet,omitzero"`
		Files        []fileNodeFile    `json:"files,omitempty"`
		Kubeconfigs  []fileKubeconfig  `json:"kubeconfigs,omitempty"`
		Processes    []fileProcess     `json:"processes,omitempty"`
		AllProcesses bool              `json:"allProcesses,omitempty"`
		RestartProbe *fileRestartProbe `json:"comeback,omitempty"`
	}
	fileLease struct { // how the heartbeat was read
		Duration time.Duration `json:"durationNanoseconds,omitempty"`
		Asked    time.Time     `json:"asked,omitzero"` // by the API server's Date
		Advanced bool          `json:"advanced,omitempty"`
		Absent   bool          `json:"absent,omitempty"`
		Unread   string        `json:"unread,omitempty"`
	}
	fileProcess struct {
		Command   string    `json:"command"`
		Started   time.Time `json:"started"`
		Namespace string    `json:"namespace,omitempty"` // none, and no host: whose it is was not read
		Pod       string    `json:"pod,omitempty"`
		PodUID    string    `json:"podUID,omitempty"`
		Host      bool      `json:"host,omitempty"`
	}
	fileRestartProbe struct {
		Problem   string               `json:"problem,omitempty"`
		Own       fileProbedKubeconfig `json:"own"`
		Bootstrap fileProbedKubeconfig `json:"bootstrap"`
	}
	fileProbedKubeconfig struct {
		Path        string             `json:"path,omitempty"`
		Absent      bool               `json:"absent,omitempty"`
		Refused     string             `json:"refused,omitempty"`
		Unread      string             `json:"unread,omitempty"`
		Presents    inspect.Credential `json:"shows,omitempty"`
		Certificate string             `json:"certificate,omitempty"`
		Field       string             `json:"field,omitempty"`
		Answers     []fileAnswer       `json:"answers,omitempty"`
	}
	fileAnswer struct {
		Question inspect.Question `json:"question"`
		Server   string           `json:"server"`
		Name     string           `json:"name"`
		Address  string           `json:"address,omitempty"`
		Code     int              `json:"code,omitempty"`
		Reason   string           `json:"reason,omitempty"`
		User     string           `json:"user,omitempty"`
		Failure  inspect.Failure  `json:"failure,omitempty"`
		Detail   string           `json:"detail,omitempty"`
	}
	fileAccess struct {
		Context     string             `json:"context,omitempty"`
		Presents    inspect.Credential `json:"shows,omitempty"`
		How         string             `json:"how,omitempty"`
		CA          inspect.CAKind     `json:"ca,omitempty"`
		Certificate string             `json:"certificate,omitempty"` // a location
		Trust       string             `json:"trust,omitempty"`       // a location
		Server      string             `json:"server,omitempty"`
		Name        string             `json:"name,omitempty"`
		Problem     string             `json:"problem,omitempty"`
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
		StartedByUptime    time.Time `json:"-"` // asked of a live node alone
		Notified           time.Time `json:"running,omitzero"`
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
		Changed  time.Time       `json:"changed,omitzero"`
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
	f := fileNode{Name: n.Name, Hostname: n.Hostname, Via: n.Via, Reached: n.Reached, Ready: n.Ready, Role: n.Role, Addresses: n.Addresses, PodNetworks: n.PodNetworks, Heartbeat: n.Heartbeat, Lease: fileLease(n.Lease), Clock: fileClock(n.Clock), Kubelet: fileKubelet(n.Kubelet)}
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
	f.AllProcesses = n.AllProcesses
	for _, p := range n.Processes {
		f.Processes = append(f.Processes, fileProcess(p))
	}
	if c := n.RestartProbe; c != nil {
		f.RestartProbe = &fileRestartProbe{c.Problem, packProbedKubeconfig(c.Kubeconfig), packProbedKubeconfig(c.Bootstrap)}
	}
	return f
}

func packProbedKubeconfig(c inspect.ProbedKubeconfig) fileProbedKubeconfig {
	f := fileProbedKubeconfig{Path: c.Path, Absent: c.Absent, Refused: c.Refused, Unread: c.Unread, Presents: c.Presents, Certificate: c.Certificate, Field: c.Field}
	for _, a := range c.Answers {
		f.Answers = append(f.Answers, fileAnswer(a))
	}
	return f
}

func (f fileProbedKubeconfig) unpack() inspect.ProbedKubeconfig {
	c := inspect.ProbedKubeconfig{Path: f.Path, Absent: f.Absent, Refused: f.Refused, Unread: f.Unread, Presents: f.Presents, Certificate: f.Certificate, Field: f.Field}
	for _, a := range f.Answers {
		c.Answers = append(c.Answers, inspect.ProbeAnswer(a))
	}
	return c
}

func packAccess(a *inspect.Access) *fileAccess {
	if a == nil {
		return nil
	}
	f := fileAccess{Context: a.Context, Presents: a.Presents, How: a.How, CA: a.CA, Server: a.Server, Name: a.Name, Problem: a.Problem}
	if a.Certificate != (pki.Location{}) {
		f.Certificate = a.Certificate.String()
	}
	if a.Trust != (pki.Location{}) {
		f.Trust = a.Trust.String()
	}
	return &f
}

func (f *fileAccess) unpack() (*inspect.Access, error) {
	if f == nil {
		return nil, nil
	}
	a := inspect.Access{Context: inspect.WithoutUserinfo(f.Context), Presents: f.Presents, How: f.How, CA: f.CA, Server: f.Server, Name: f.Name, Problem: f.Problem}
	var err error
	if f.Certificate != "" {
		if a.Certificate, err = pki.ParseLocation(f.Certificate); err != nil {
			return nil, err
		}
	}
	if f.Trust != "" {
		if a.Trust, err = pki.ParseLocation(f.Trust); err != nil {
			return nil, err
		}
	}
	return &a, nil
}

func (f fileNode) unpack() inspect.Node {
	n := inspect.Node{Name: f.Name, Hostname: f.Hostname, Via: f.Via, Reached: f.Reached, Ready: f.Ready, Role: f.Role, Addresses: f.Addresses, PodNetworks: f.PodNetworks, Heartbeat: f.Heartbeat, Lease: inspect.Lease(f.Lease), Clock: inspect.Clock(f.Clock), Kubelet: inspect.Kubelet(f.Kubelet)}
	n.Files = slices.Grow(n.Files, len(f.Files))
	for _, file := range f.Files {
		n.Files = append(n.Files, inspect.NodeFile(file))
	}
	n.Kubeconfigs = f.kubeconfigs()
	n.AllProcesses = f.AllProcesses
	for _, p := range f.Processes {
		n.Processes = append(n.Processes, inspect.Process(p))
	}
	if c := f.RestartProbe; c != nil {
		n.RestartProbe = &inspect.RestartProbe{Problem: c.Problem, Kubeconfig: c.Own.unpack(), Bootstrap: c.Bootstrap.unpack()}
	}
	return n
}

// kubeconfigs are those of a node. As on a node, there is one at a path.
func (f fileNode) kubeconfigs() (out []inspect.Kubeconfig) {
	times := map[string]int{}
	for _, k := range f.Kubeconfigs {
		if times[k.Path]++; times[k.Path] == 1 {
			out = append(out, k.unpack())
		}
	}
	for i := range out {
		if n := times[out[i].Path]; n > 1 {
			out[i].Problem = cmp.Or(out[i].Problem, fmt.Sprintf("the snapshot has %d kubeconfigs of this path: the others were not looked at", n))
		}
	}
	return out
}

// unpack takes of clusters of one name the first: as client-go, which accepts no such kubeconfig, gather says that
// it can't be used.
func (f fileKubeconfig) unpack() inspect.Kubeconfig {
	k := inspect.Kubeconfig{Path: f.Path, Problem: f.Problem, Users: f.Users, Current: f.Current}
	if f.Text != "" {
		k.Text = []byte(f.Text)
	}
	names := map[string]bool{}
	for _, c := range f.Clusters {
		if !names[c.Name] {
			names[c.Name] = true
			k.Clusters = append(k.Clusters, inspect.KubeconfigCluster(c))
		}
	}
	if n := len(f.Clusters) - len(k.Clusters); n > 0 {
		k.Problem = cmp.Or(k.Problem, fmt.Sprintf("it can't be used as a kubeconfig: of %d clusters in it %d have the name of another one", len(f.Clusters), n))
	}
	return k
}

// boundNodes is an error for more nodes than any cluster has: nodes are compared with one another.
func boundNodes(s inspect.Snapshot) error {
	names, most := map[string]bool{}, max(len(s.Nodes), len(s.OtherNodes)) // of which a file may name one twice
	for n := range s.EachNode() {
		names[n.Name] = true
	}
	if s.Status != nil && s.Status.ControlPlane != nil {
		most = max(most, len(s.Status.ControlPlane.Nodes))
		for _, n := range s.Status.ControlPlane.Nodes {
			names[n.Name] = true
		}
	}
	for i := range s.Bundles {
		names[s.Bundles[i].At.Node] = true
	}
	for i := range s.Exposed {
		names[s.Exposed[i].At.Node] = true
	}
	delete(names, "")
	if most = max(most, len(names)); most > maxNodes {
		return fmt.Errorf("it names %d nodes, and no cluster has more than %d", most, maxNodes)
	}
	return nil
}
