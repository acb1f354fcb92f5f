package apiprobe

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
)

// ProbeRestart asks on a node, of which r was read, for the kubelet of the Node object of
// that name. What can't be asked is said in the answer.
func ProbeRestart(ctx context.Context, node gather.Runner, r gather.Result, kubelet inspect.Kubelet, name string) *inspect.RestartProbe {
	var c inspect.RestartProbe
	bootstrap, own, ok := paths(r, kubelet)
	if !ok {
		c.Problem = "no kubeconfig of a kubelet was found: neither OpenShift's nor kubeadm's, and no running kubelet names one"
		return &c
	}
	q := questions{r: r}
	c.Kubeconfig.Path, c.Bootstrap.Path = own, bootstrap
	resource := url.PathEscape(name)
	lease := question{inspect.AskLease, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/" + resource}
	q.file(&c.Kubeconfig, question{inspect.AskNode, "/api/v1/nodes/" + resource}, lease)
	q.file(&c.Bootstrap, question{inspect.AskAPI, "/api"}, lease)
	if len(q.argv) == 0 {
		return &c
	}
	if err := q.run(ctx, node); err != nil {
		c.Problem = err.Error()
	}
	return &c
}

// paths returns the kubeconfigs of a node's kubelet: those that it was started
// with, else those that are there. Without a bootstrap kubeconfig that is empty.
func paths(r gather.Result, k inspect.Kubelet) (bootstrap, own string, ok bool) {
	if k.Kubeconfig != "" {
		return k.BootstrapConfig, k.Kubeconfig, true
	}
	for _, known := range [][]string{catalog.KubeletKubeconfigs(), catalog.KubeadmKubeconfigs()} {
		if slices.ContainsFunc(known, func(p string) bool { _, there := r.File(p); return there }) {
			return cmp.Or(k.BootstrapConfig, known[0]), known[1], true
		}
	}
	return "", "", false
}

// question is one GET.
type question struct {
	what inspect.Question
	path string
}

// questions are those for one node, and where their answers go.
type questions struct {
	r    gather.Result
	argv []string
	to   []*inspect.ProbedKubeconfig
}

// file reads a kubeconfig, and asks these questions if it can be used.
func (q *questions) file(f *inspect.ProbedKubeconfig, asked ...question) {
	if f.Path == "" {
		f.Absent = true
		return
	}
	file, ok := q.r.File(f.Path)
	switch {
	case !ok && q.read(f.Path):
		f.Absent = true
		return
	case !ok:
		f.Unread = "it was not among the files that were read: --node-path " + foreign.Name(f.Path)
		return
	case file.Content == nil:
		f.Unread = "it could not be read"
		return
	case file.Content.Text == nil:
		f.Unread = "its shape is not understood, so its text did not leave the node"
		if file.Meta.Size == 0 {
			f.Unread, f.Refused = "", "it is empty"
		}
		return
	}
	c, err := parse(file.Content.Text, f.Path)
	f.Presents, f.Certificate, f.Field = c.presents, c.certFile, c.certField
	switch {
	case errors.Is(err, errUnread):
		f.Unread = foreign.Prose(err.Error()) // names in it are marked
		return
	case err != nil:
		f.Refused = foreign.Prose(err.Error())
		return
	}
	token := c.token
	if c.cert != none {
		token = none
	}
	for _, a := range asked {
		q.argv = append(q.argv, file.Path, file.SHA256.String(), c.host, c.port, c.name, c.path+a.path, c.ca, c.cert, c.key, token)
		q.to = append(q.to, f)
		f.Answers = append(f.Answers, inspect.ProbeAnswer{Question: a.what, Server: net.JoinHostPort(c.host, c.port), Name: c.name})
	}
}

// read reports whether a path was to be read, so that a file that is not there was
// seen to be missing.
func (q *questions) read(at string) bool {
	above := func(p string) bool { return p != "" && strings.HasPrefix(at, strings.TrimSuffix(p, "/")+"/") }
	return !q.r.Stopped && slices.ContainsFunc(q.r.Asked, func(p string) bool { return path.Clean(p) == at || above(p) }) &&
		!slices.ContainsFunc(q.r.Gaps, func(g inspect.Gap) bool { return g.Where == at || above(g.Where) })
}

// run asks, and puts each answer where it belongs.
func (q *questions) run(ctx context.Context, node gather.Runner) error {
	lines, tool, err := run(ctx, node, q.argv)
	if err != nil {
		return err
	}
	next := map[*inspect.ProbedKubeconfig]int{}
	for i, f := range q.to {
		lines[i].into(&f.Answers[next[f]], tool)
		next[f]++
	}
	return nil
}
