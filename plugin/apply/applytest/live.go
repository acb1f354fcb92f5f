package applytest

import (
	"context"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
)

// Connect gets in by a kubeconfig, as every user does.
func Connect(a plugintest.LiveAPI, t *testing.T) *connect.Connection {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: \"" + server.URL + "\"}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := &cli.ConfigFlags{KubeConfig: file}
	conn, err := connect.Connect(t.Context(), cli.App{}, flags, pki.NewScanner(), connect.ToRead)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// OnNodes is a workplace on these nodes; conn is nil where there is no API.
func OnNodes(conn *connect.Connection, out io.Writer, nodes ...plugintest.LiveNode) *apply.Session {
	w := &apply.Session{
		App: cli.App{ProgramName: "certrot", Streams: genericiooptions.IOStreams{Out: out, ErrOut: out}}, Conn: conn, Scanner: pki.NewScanner(), Close: func() error { return nil },
	}
	w.Choice.Parallel, w.Choice.Timeout, w.Choice.Served = 1, time.Minute, true
	var ways []nodeexec.Transport
	for _, n := range nodes {
		o := collect.NodeObject{Name: n.Name}
		if conn != nil {
			o.Ready, o.Role = "True", catalog.RoleWorker
			if o.Master = strings.HasPrefix(n.Name, "master"); o.Master {
				o.Role = catalog.RoleMaster
			}
		}
		w.Choice.Names, w.Objects = append(w.Choice.Names, n.Name), append(w.Objects, o)
		if n.Root != "" {
			ways = append(ways, nodeexec.Local{Node: n.Name, Root: n.Root, Chroot: true})
		}
	}
	w.Open = func(ctx context.Context, node string) (nodeexec.Node, error) {
		return nodeexec.FirstOf(ways...).Dial(ctx, node)
	}
	return w
}
