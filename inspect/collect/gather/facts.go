package gather

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Snapshot returns what was read as facts about the node of this name. The error is that ctx ended: what a
// node answers may take long to read.
func (r Result) Snapshot(ctx context.Context, node string) (inspect.Snapshot, error) {
	var s inspect.Snapshot
	read := inspect.Read{What: "files", Where: "node/" + node}
	hashed := 0
	for _, f := range r.Files {
		switch f.Kind {
		case KindRead:
			read.Objects++
		case KindHashed:
			hashed++
		}
	}
	if hashed > 0 {
		read.Note = fmt.Sprintf("%d files of the system's trust stores are hashed, not read", hashed)
	}
	for _, f := range r.Files {
		content := f.Content
		if f.Kind == KindLink { // readers name the link
			if target, ok := r.at(f.Target.Path); ok {
				content = target.Content
			}
		}
		if content == nil {
			continue
		}
		for _, found := range content.Found {
			at := pki.Location{Kind: pki.KindFile, Node: node, Path: f.Path, Field: found.Field}
			s.Bundles = append(s.Bundles, inspect.Bundle{At: at, Content: found.Content})
		}
	}
	for _, l := range r.Logs {
		at := pki.Location{Kind: pki.KindFile, Node: node, Path: l.Path}
		s.Exposed = append(s.Exposed, inspect.Exposed{At: at, Mode: l.Mode, Tokens: l.Tokens, Keys: l.Keys, First: l.First, Last: l.Last})
	}
	for _, l := range r.ServerLogs {
		at := pki.Location{Kind: pki.KindFile, Node: node, Path: l.Path}
		log := inspect.ServerLog{At: at, Row: catalog.ServerLogOf(l.Path).ID, From: l.From, To: l.To, LeftOut: l.LeftOut}
		for _, x := range l.Refused {
			log.Refused = append(log.Refused, inspect.Refused{Client: x.Client.String(), Reason: x.Reason, Count: x.Count, First: x.First, Last: x.Last})
		}
		s.ServerLogs = append(s.ServerLogs, log)
	}
	n, leftOut, err := r.node(ctx, node)
	if err != nil {
		return inspect.Snapshot{}, err
	}
	s.Nodes, s.Gaps = []inspect.Node{n}, leftOut
	for _, k := range s.Nodes[0].Kubeconfigs {
		for _, c := range k.Clusters {
			if c.Masked {
				s.Gaps = append(s.Gaps, inspect.Gap{What: "node/" + node, Where: foreign.Text(k.Path), Reason: "the CA of cluster " + foreign.QuotedName(c.Name) + " is not base64 of PEM certificates and nothing else, so it did not leave the node", Next: nextNode})
			}
		}
	}
	s.Reads = []inspect.Read{read}
	for _, g := range r.Gaps {
		g.What, g.Where = "node/"+node, foreign.Text(g.Where)
		s.Gaps = append(s.Gaps, g)
	}
	if more := len(s.Gaps) - maxGaps; more > 0 { // the last one hides each path of the node
		s.Gaps = append(slices.Clip(s.Gaps[:maxGaps]), inspect.Gap{What: "node/" + node, Reason: fmt.Sprintf("%d more things could not be read", more), Next: nextRoom})
	}
	s.Sort()
	return s, nil
}

// node returns what is known of the node beside its certificates, and which kubeconfigs were left out.
func (r Result) node(ctx context.Context, name string) (n inspect.Node, leftOut []inspect.Gap, err error) {
	n = inspect.Node{Name: name, Hostname: r.Node.Hostname, Clock: inspect.Clock{Before: r.Node.Clock.Before, After: r.Node.Clock.After}}
	for _, u := range r.Node.Units {
		if u.Name == "kubelet.service" && u.Loaded {
			n.Kubelet.Active, n.Kubelet.Sub, n.Kubelet.Started = u.Active, u.Sub, u.Started
			if u.Notifies {
				n.Kubelet.Notified = u.Since
			}
		}
	}
	n.Kubelet.StartedByUptime, n.AllProcesses = r.Node.Began, r.Node.AllProcesses
	for _, p := range r.Node.Processes {
		n.Processes = append(n.Processes, inspect.Process(p))
	}
	slices.SortFunc(n.Processes, func(a, b inspect.Process) int {
		return cmp.Or(strings.Compare(a.Command, b.Command), a.Started.Compare(b.Started))
	})
	r.configured(&n.Kubelet)
	r.overridden(&n.Kubelet)
	all := kubeconfigs{read: map[*Content]kubeconfig{}}
	for _, f := range r.Files {
		if ctx.Err() != nil {
			return n, nil, fmt.Errorf("read the kubeconfigs of the node: %w", context.Cause(ctx))
		}
		file := inspect.NodeFile{
			Path: f.Path, Mode: f.Meta.Mode, UID: f.Meta.Owner.UID, GID: f.Meta.Owner.GID, Label: f.Meta.Label,
			Size: f.Meta.Size, Modified: f.Meta.ModTime, Changed: f.Meta.Changed, SHA256: f.SHA256, Link: f.Target.Text, Target: f.Target.Path,
		}
		switch {
		case f.Kind == KindLink:
			if target, ok := r.at(f.Target.Path); ok {
				file.Whole = target.whole()
			}
			n.Files = append(n.Files, file)
			continue
		case f.Kind != KindRead || f.Content == nil:
			continue
		}
		k := all.add(f.Content)
		if k.leftOut != "" {
			leftOut = append(leftOut, inspect.Gap{What: "node/" + name, Where: foreign.Text(f.Path), Reason: "not read as a kubeconfig: " + k.leftOut, Next: nextRoom})
		}
		if k.is {
			k.Path = f.Path
			if r.Texts {
				k.Text = f.Content.Text
			}
			n.Kubeconfigs = append(n.Kubeconfigs, k.Kubeconfig)
		}
		file.Secret = k.secret || len(f.Content.Keys) > 0 || slices.ContainsFunc(f.Content.Found, func(x pki.Found) bool { return len(x.Content.Keys) > 0 })
		file.Whole = f.whole() && k.leftOut == ""
		_, copied := catalog.NodeCopyOf(f.Path, catalog.Versions{}) // one that holds nothing is a fact
		if file.Secret || k.is || k.leftOut != "" || copied || len(f.Content.Found) > 0 {
			n.Files = append(n.Files, file)
		}
	}
	return n, append(leftOut, withoutTexts(&n)...), nil
}

// whole reports whether everything in the file was read.
func (f File) whole() bool {
	return f.Kind == KindRead && f.Content != nil && len(f.Content.Notes) == 0
}

// document is as much of a kubeconfig as says how it is put together. Secrets
// are there as runs of x.
type document struct {
	problem string
	Current string `yaml:"current-context"`
	Kind    string `yaml:"kind"`

	Clusters []struct {
		Name    string `yaml:"name"`
		Cluster struct {
			Server   string `yaml:"server"`
			File     string `yaml:"certificate-authority"`
			Data     string `yaml:"certificate-authority-data"`
			Insecure bool   `yaml:"insecure-skip-tls-verify"`
			TLSName  string `yaml:"tls-server-name"`
		} `yaml:"cluster"`
	} `yaml:"clusters"`
	Contexts []struct {
		Name    string `yaml:"name"`
		Context struct {
			Cluster string `yaml:"cluster"`
		} `yaml:"context"`
	} `yaml:"contexts"`
	Users []struct {
		User map[string]yaml.Node `yaml:"user"`
	} `yaml:"users"`
}

// maxPieces is what a node's configuration may consist of. Package yaml compares each key of a
// mapping with all others.
const maxPieces = 20_000

// decode reads a redacted text. Keys that were overwritten are left out first: two
// of the same length look alike, which YAML does not allow.
func decode(text []byte, into any) error {
	if n := pki.Pieces(text); n > maxPieces {
		return fmt.Errorf("it has %d lines and values, more than the %d that are read", n, maxPieces)
	}
	root, err := pki.ParseYAML(text)
	if err != nil {
		return err
	}
	prune(root)
	return root.Decode(into)
}

func prune(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		var kept []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if key := n.Content[i].Value; key == "" || strings.Trim(key, "x") != "" {
				kept = append(kept, n.Content[i], n.Content[i+1])
			}
		}
		n.Content = kept
	}
	for _, child := range n.Content {
		prune(child)
	}
}

// document reads a content as kubeconfig; false where it is none.
func (c *Content) document() (document, bool) {
	var d document
	if c.Text == nil {
		return d, false
	}
	if err := decode(c.Text, &d); err != nil {
		if !strings.Contains(string(c.Text), "clusters") {
			return d, false
		}
		return document{problem: "it can't be read as a kubeconfig: " + foreign.Text(strings.TrimPrefix(err.Error(), "yaml: "))}, true
	}
	is := d.Kind != "KubeletConfiguration" && (d.Kind == "Config" || d.Clusters != nil || d.Users != nil)
	if is {
		if err := pki.UnusableKubeconfig(c.Text); err != nil {
			d.problem = "it can't be used as a kubeconfig: " + foreign.Prose(err.Error())
		}
	}
	return d, is
}

// kubeconfig returns the shape, and whether there is something in it that
// no one else may read.
func (d document) kubeconfig() (k inspect.Kubeconfig, secret bool) {
	k = inspect.Kubeconfig{Problem: d.problem, Users: len(d.Users)}
	for i, c := range d.Clusters {
		k.Clusters = append(k.Clusters, inspect.KubeconfigCluster{
			Name: c.Name, Server: inspect.ServerURL(c.Cluster.Server), CAFile: c.Cluster.File, CAData: c.Cluster.Data != "",
			Field: fmt.Sprintf("clusters[%d].cluster.certificate-authority-data", i), Insecure: c.Cluster.Insecure, ServerName: c.Cluster.TLSName,
			Masked: c.Cluster.Data != "" && strings.Trim(c.Cluster.Data, "x!") == "",
		})
	}
	for _, c := range d.Contexts {
		if c.Name == d.Current {
			k.Current = c.Context.Cluster
		}
	}
	for _, u := range d.Users {
		for _, field := range []string{"token", "password", "client-key-data"} {
			if value, ok := u.User[field]; ok && value.Value != "" {
				secret = true
			}
		}
	}
	return k, secret || d.problem != ""
}

// configured reads the kubelet's flags and the configuration file they name.
func (r Result) configured(k *inspect.Kubelet) {
	at := "/var/lib/kubelet/config.yaml" // kubeadm's; OpenShift's is always named
	for _, f := range r.Node.Flags {
		switch {
		case !f.Disclosed:
		case f.Name == "config":
			at = f.Value
		case f.Name == "bootstrap-kubeconfig":
			k.BootstrapConfig = f.Value
		case f.Name == "kubeconfig":
			k.Kubeconfig = f.Value
		}
	}
	f, ok := r.File(at)
	if !ok || f.Content == nil || f.Content.Text == nil {
		return
	}
	var c struct {
		Rotate         *bool `yaml:"rotateCertificates"`
		Bootstrap      *bool `yaml:"serverTLSBootstrap"`
		Authentication struct {
			X509 struct {
				File string `yaml:"clientCAFile"`
			} `yaml:"x509"`
			Anonymous struct {
				Enabled *bool `yaml:"enabled"`
			} `yaml:"anonymous"`
		} `yaml:"authentication"`
		Authorization struct {
			Mode string `yaml:"mode"`
		} `yaml:"authorization"`
	}
	if err := decode(f.Content.Text, &c); err != nil {
		return // its certificates are found all the same; a value that is not told is not judged
	}
	k.RotateCertificates, k.ServerTLSBootstrap = c.Rotate, c.Bootstrap
	k.ClientCAFile, k.Anonymous, k.Authorization = c.Authentication.X509.File, c.Authentication.Anonymous.Enabled, c.Authorization.Mode
}

// overridden takes over what flags say: they go before the configuration.
func (r Result) overridden(k *inspect.Kubelet) {
	for _, f := range r.Node.Flags {
		if !f.Disclosed {
			continue
		}
		on, err := strconv.ParseBool(f.Value)
		switch {
		case f.Name == "client-ca-file":
			k.ClientCAFile = f.Value
		case f.Name == "authorization-mode":
			k.Authorization = f.Value
		case err != nil:
		case f.Name == "rotate-certificates":
			k.RotateCertificates = &on
		case f.Name == "rotate-server-certificates":
			k.ServerTLSBootstrap = &on
		case f.Name == "anonymous-auth":
			k.Anonymous = &on
		}
	}
}
