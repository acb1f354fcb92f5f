package rejoin

import (
	"cmp"
	"context"
	_ "embed" // the program is a shell script
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

//go:embed rejoin.sh
var program string

// patience is for one request: to find the server, to connect, and for its answer.
const patience = 10 * time.Second

// Ask asks on a node, of which r was read, for the kubelet of the Node object of
// that name. What can't be asked is said in the answer.
func Ask(ctx context.Context, node gather.Runner, r gather.Result, kubelet inspect.Kubelet, name string) *inspect.Comeback {
	var c inspect.Comeback
	bootstrap, own, ok := paths(r, kubelet)
	if !ok {
		c.Problem = "no kubeconfig of a kubelet was found: neither OpenShift's nor kubeadm's, and no running kubelet names one"
		return &c
	}
	q := questions{r: r}
	c.Own.Path, c.Bootstrap.Path = own, bootstrap
	resource := url.PathEscape(name)
	q.file(&c.Own, question{inspect.AskNode, "/api/v1/nodes/" + resource},
		question{inspect.AskLease, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/" + resource})
	q.file(&c.Bootstrap, question{inspect.AskAPI, "/api"})
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
	to   []*inspect.ComebackFile
}

// file reads a kubeconfig, and asks these questions if it can be used.
func (q *questions) file(f *inspect.ComebackFile, asked ...question) {
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
		f.Unread = "it was not among the files that were read: --node-path " + f.Path
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
	f.Shows, f.Certificate, f.Field = c.shows, c.certFile, c.certField
	switch {
	case errors.Is(err, errUnread):
		f.Unread = err.Error()
		return
	case err != nil:
		f.Refused = err.Error()
		return
	}
	token := c.token
	if c.cert != none {
		token = none
	}
	for _, a := range asked {
		q.argv = append(q.argv, file.Path, file.SHA256.String(), c.host, c.port, c.name, c.path+a.path, c.ca, c.cert, c.key, token)
		q.to = append(q.to, f)
		f.Answers = append(f.Answers, inspect.Answer{Question: a.what, Server: net.JoinHostPort(c.host, c.port), Name: c.name})
	}
}

// read reports whether a path was to be read, so that a file that is not there was
// seen to be missing.
func (q *questions) read(at string) bool {
	above := func(p string) bool { return p != "" && strings.HasPrefix(at, strings.TrimSuffix(p, "/")+"/") }
	return slices.ContainsFunc(q.r.Asked, func(p string) bool { return path.Clean(p) == at || above(p) }) &&
		!slices.ContainsFunc(q.r.Gaps, func(g inspect.Gap) bool { return g.Where == at || above(g.Where) })
}

// run asks, and puts each answer where it belongs.
func (q *questions) run(ctx context.Context, node gather.Runner) error {
	var argv []string
	if root := node.Path("/"); root != "/" { // with the node's own tools, and its own names
		argv = []string{"chroot", root}
	}
	argv = append(argv, "/bin/sh", "-s", "--", strconv.Itoa(int(patience/time.Second)))
	limit := time.Duration(len(q.to))*(patience+time.Second) + 30*time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the node gives no answer within %s", limit))
	defer cancel()
	out, err := node.Run(ctx, strings.NewReader(program), append(argv, q.argv...)...)
	var failed *nodeexec.RunError
	if errors.As(err, &failed) { // what it was told helps nobody
		brief := *failed
		brief.Argv = []string{"rejoin.sh"}
		err = &brief
	}
	if err != nil {
		return fmt.Errorf("ask on the node: %w", err)
	}
	lines, tool, err := answers(string(out))
	if err != nil {
		return fmt.Errorf("ask on the node: %w", err)
	}
	next := map[*inspect.ComebackFile]int{}
	for i, f := range q.to {
		a := &f.Answers[next[f]]
		next[f]++
		if i >= len(lines) {
			return fmt.Errorf("ask on the node: %d answers to %d questions", len(lines), len(q.to))
		}
		lines[i].into(a, tool)
	}
	return nil
}

// line is one answer as the node tells it.
type line struct {
	exit, code      int
	address, reason string
}

// answers reads what rejoin.sh prints. What a node answers is not trusted.
func answers(out string) (lines []line, tool string, err error) {
	rest, ok := strings.CutPrefix(out, "certrot-rejoin 1\n")
	rest, whole := strings.CutSuffix(rest, "\nend\n")
	if !ok || !whole {
		return nil, "", fmt.Errorf("the answer of the node is not whole: %.200q", out)
	}
	form := regexp.MustCompile(`^answer (\d{1,3}) (\d{1,3}) ([0-9a-fA-F.:]{2,45}|-) ([A-Za-z]{1,40}|-)$`)
	for i, text := range strings.Split(rest, "\n") {
		if i == 0 {
			tool, ok = strings.CutPrefix(text, "tool ")
			if !ok || len(tool) > 500 {
				return nil, "", fmt.Errorf("the answer of the node is not understood: %.200q", text)
			}
			continue
		}
		m := form.FindStringSubmatch(text)
		if m == nil {
			return nil, "", fmt.Errorf("the answer of the node is not understood: %.200q", text)
		}
		var l line
		l.exit, _ = strconv.Atoi(m[1]) // digits, by the pattern
		l.code, _ = strconv.Atoi(m[2])
		l.address, l.reason = strings.Trim(m[3], "-"), strings.Trim(m[4], "-")
		lines = append(lines, l)
	}
	return lines, tool, nil
}

// The statuses of rejoin.sh's own; the others are curl's.
const (
	exitChanged = 201
	exitOdd     = 202
	exitNoTool  = 203
	exitNoFile  = 204
)

// into says what an answer means for a request.
func (l line) into(a *inspect.Answer, tool string) {
	a.Address, a.Code, a.Reason = l.address, l.code, l.reason
	if l.code > 0 {
		return
	}
	a.Failure, a.Detail = l.failure(a, tool)
}

func (l line) failure(a *inspect.Answer, tool string) (inspect.Failure, string) {
	host, _, _ := net.SplitHostPort(a.Server) // it was joined here
	switch l.exit {
	case exitChanged:
		return inspect.FailedChanged, "the file changed while it was read: ask again"
	case exitOdd:
		return inspect.FailedTool, "the token holds characters that no token has; it was not sent"
	case exitNoTool:
		had := ""
		if version := strings.TrimSpace(strings.TrimPrefix(tool, "none")); version != "" && version != "lacking" {
			had = " (there is " + version + ")"
		}
		return inspect.FailedTool, "the node has neither curl 7.49 or newer with OpenSSL, nor openssl 1.1 or newer with timeout" + had + ": install one, or ask on the node yourself"
	case exitNoFile:
		return inspect.FailedTool, "the credentials or the CA that the file names can't be read on the node"
	case 5, 6:
		return inspect.FailedResolve, "the name " + host + " does not resolve on the node"
	case 7:
		return inspect.FailedConnect, "no connection from the node to " + a.Server
	case 28:
		return inspect.FailedTime, fmt.Sprintf("%s gives no answer within %s", a.Server, patience)
	case 51, 60:
		return inspect.FailedTrust, "the CA in the file does not verify what " + a.Server + " shows for the name " + a.Name + "; nothing was sent"
	case 8, 16, 18, 52, 55, 56, 92: // curl's words for a connection that ends too early
		return inspect.FailedAnswer, fmt.Sprintf("%s ends the connection without an answer (status %d of %s)", a.Server, l.exit, tool)
	case 35:
		return inspect.FailedTLS, "the TLS handshake with " + a.Server + " fails"
	case 58:
		return inspect.FailedTool, "the client certificate or its key can't be used"
	case 77:
		return inspect.FailedTool, "the CA in the file can't be used"
	}
	return inspect.FailedTool, fmt.Sprintf("%s did not do it (status %d): what the server would say is not known", tool, l.exit)
}
