package apply_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient/kubeclienttest"
)

// looking is a step that changes nothing, and looks when it is its turn.
type looking struct {
	on   string
	look func()
}

func (l looking) ID() string   { return "look at " + l.on }
func (l looking) Node() string { return l.on }
func (l looking) Diff(inspect.Snapshot, time.Time) (*remediate.Change, error) {
	return &remediate.Change{Summary: "look"}, nil
}

func (l looking) Apply(context.Context, *remediate.Env, *remediate.Change) error {
	l.look()
	return nil
}
func (looking) Verify(context.Context, *remediate.Env, *remediate.Change) error { return nil }

// stepsOn is a plan of one wave, with one step for each node.
func stepsOn(actions ...remediate.Action) *remediate.Plan {
	wave := remediate.Wave{Parallel: 1}
	p := &remediate.Plan{Now: time.Now()}
	for _, a := range actions {
		wave.Nodes = append(wave.Nodes, remediate.NodePlan{Name: a.Node(), Steps: []remediate.Step{{Action: a, Change: &remediate.Change{Summary: a.ID()}}}})
		p.Basis.Nodes = append(p.Basis.Nodes, inspect.Node{Name: a.Node(), Via: "local"})
	}
	p.Waves = []remediate.Wave{wave}
	return p
}

// TestWhoHeldTheNodes has someone's name on a node. Their hold ends with the Lease from
// which it was taken, and another user's stays.
func TestWhoHeldTheNodes(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	const bob, carol = "bob@b (pid 2 of another machine), run 2", "carol@c (pid 3 of a third one), run 3"
	ca := pkitest.NewCA("any", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	n := plugintest.NewLiveNode(t, "worker-0")
	n.Kubelet(t, ca.CertPEM, "https://127.0.0.1:1", ca)
	for _, c := range []struct {
		name    string
		lease   string // its holder
		silence time.Duration
		held    string // the user by which the node is
		code    int
		says    string
	}{
		{"nobody", "", 0, "", cli.ExitFine, "Done."},
		{"the holder was silent for long", bob, 2 * time.Minute, bob, cli.ExitFine, "Done."},
		{"another one than the holder was", bob, 2 * time.Minute, carol, cli.ExitStopped, "“" + carol + "” is changing this node"},
		{"nobody has the Lease, and one the node", "", 0, carol, cli.ExitStopped, "“" + carol + "” is changing this node"},
		{"the Lease is free, and the node is held by whom an earlier run took it from", "", 0, bob, cli.ExitFine, "Done."},
		{"the holder lives", bob, 10 * time.Second, bob, cli.ExitRefused, "“" + bob + "” changes this cluster"},
	} {
		n.Write(t, plugintest.HeldFile, "")
		if c.held != "" {
			if err := holdAs(t, n, c.held); err != nil {
				t.Fatal(err)
			}
		}
		kube := fake.NewClientset()
		if c.lease != "" {
			renewed, lasts := metav1.NewMicroTime(time.Now().Add(-c.silence)), int32(60)
			kube = fake.NewClientset(&coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: remediate.LeaseNamespace, Name: remediate.LeaseName},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: &c.lease, RenewTime: &renewed, LeaseDurationSeconds: &lasts},
			})
		}
		conn := applytest.Connect(plugintest.SettledAPI(), t)
		conn.Kube = kubeclienttest.Of(kube)
		var out plugintest.Transcript
		w := applytest.OnNodes(conn, &out, n)
		seen := ""
		a := &apply.Execution{Options: apply.Options{App: w.App, Yes: true}, Session: w, Command: "fix-api-int", RunID: remediate.NewRun(time.Now()), PrintBasis: func(io.Writer, *remediate.Plan) {}}
		a.Plan = func(context.Context) (*remediate.Plan, error) {
			return stepsOn(looking{n.Name, func() { seen = n.Held(t) }}), nil
		}
		err := a.Execute(t.Context())
		if err != nil {
			cli.PrintError(w.App.Streams, err)
		}
		if cli.CodeOf(err) != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: %v\n%s", c.name, err, out.String())
		}
		mine, after := a.Holder(), ""
		if c.code != cli.ExitFine {
			mine, after = "", c.held
		}
		if seen != mine || n.Held(t) != after {
			t.Errorf("%s: held by %q while it was worked on, want %q; then by %q, want %q", c.name, seen, mine, n.Held(t), after)
		}
	}
}

// holdAs is someone at work on a node.
func holdAs(t *testing.T, n plugintest.LiveNode, who string) error {
	t.Helper()
	node, err := nodeexec.Local{Node: n.Name, Root: n.Root, Chroot: true}.Dial(t.Context(), n.Name)
	if err != nil {
		return err
	}
	defer func() { _ = node.Close() }()
	return host.RunFolder{}.Hold(t.Context(), node, who, "")
}

// TestWithoutAnAPINodesAnswer has no API server that could be asked from here. A node whose
// kubelet is taken by it, asked there, is enough to go on to the next one.
func TestWithoutAnAPINodesAnswer(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	ca := pkitest.NewCA("lb", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	code := http.StatusOK
	server := plugintest.LiveServer(t, ca, func(w http.ResponseWriter, r *http.Request) {
		if who := r.TLS.PeerCertificates; len(who) == 0 || r.URL.Path == "/api/v1/nodes/worker-0" && who[0].Subject.CommonName != "system:node:worker-0" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		w.WriteHeader(code)
	})
	first, second := plugintest.NewLiveNode(t, "worker-0", "openssl"), plugintest.NewLiveNode(t, "worker-1")
	first.Kubelet(t, ca.CertPEM, server, ca)
	second.Kubelet(t, ca.CertPEM, server, ca)
	first.Processes(t)

	var out plugintest.Transcript
	w := applytest.OnNodes(nil, &out, first, second)
	begun := 0
	a := &apply.Execution{Options: apply.Options{App: w.App, Yes: true}, Session: w, Command: "fix-api-int", RunID: remediate.NewRun(time.Now()), PrintBasis: func(io.Writer, *remediate.Plan) {}}
	a.Plan = func(context.Context) (*remediate.Plan, error) {
		return stepsOn(action.AwaitNode{NodeName: first.Name}, looking{second.Name, func() { begun++ }}), nil
	}
	err := a.Execute(t.Context())
	if cli.CodeOf(err) != cli.ExitIncomplete || begun != 1 || err == nil || !strings.Contains(err.Error(), "the API server answers its kubelet's own credentials, asked on the node") {
		t.Errorf("the second node was begun %d times: %v\n%s", begun, err, out.String())
	}

	code = http.StatusUnauthorized
	env := w.Env("run-1", a.Read)
	node, err := w.Open(t.Context(), first.Name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := env.RestartProbe(t.Context(), node)
	if err != nil || len(c.Kubeconfig.Answers) == 0 || c.Kubeconfig.Answers[0].Code != http.StatusUnauthorized {
		t.Errorf("a kubelet that is not taken: %+v, %v", c, err)
	}
	with := applytest.OnNodes(applytest.Connect(plugintest.SettledAPI(), t), &out).Env("run-1", a.Read)
	if with.Heartbeat == nil {
		t.Fatal("with an API, its heartbeats are not asked for")
	}

	// A request to join is judged by what its node says, and by the API server's clock.
	if c, err := with.RestartProbe(t.Context(), node); err != nil || c == nil || c.Bootstrap.Path == "" {
		t.Errorf("what the node would join with: %+v, %v", c, err)
	}
	_, _ = with.Heartbeat(t.Context(), first.Name) // whatever the answer is, it has a Date
	if _, _, ok := with.APIClock().Ahead(); !ok {
		t.Error("the API server's clock is unknown")
	}
}

// TestWhoHoldsTheLeaseIsAPerson: many users are root on a bastion. The user that the API server
// knows is named, else the user of the kubeconfig; older binaries still see whether the
// process is gone.
func TestWhoHoldsTheLeaseIsAPerson(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, answers, want string
		fails               bool
	}{
		{"the API server tells", "alice", ", as alice", false},
		{"it does not tell", "", ", as bob/api-example:6443", false},
		{"it refuses", "", ", as bob/api-example:6443", true},
		{"a name with what a terminal obeys", "eve\x1b[2J\nroot (pid 1 of x)", ", as eve?[2J?root ?pid 1 of x?", false},
	} {
		kube := fake.NewClientset()
		kube.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
			if c.fails {
				return true, nil, errors.New("no such resource")
			}
			return true, &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: c.answers}}}, nil
		})
		conn := applytest.Connect(plugintest.SettledAPI(), t)
		conn.Kube = kubeclienttest.Of(kube)
		conn.Config.Contexts[conn.Context].AuthInfo = "bob/api-example:6443"
		a := &apply.Execution{RunID: "run-1", Session: &apply.Session{Conn: conn}}
		a.User = conn.CurrentUser(t.Context())
		was := nodeexec.ThisHolder().String() + ", run run-1"
		if got := a.Holder(); got != was+c.want {
			t.Errorf("%s: %q, want %q", c.name, got, was+c.want)
		}
		if nodeexec.Gone(a.Holder()) || !nodeexec.Gone(strings.Replace(a.Holder(), fmt.Sprintf("(pid %d ", os.Getpid()), "(pid 999999999 ", 1)) {
			t.Errorf("%s: whether the process is gone is not seen in %q", c.name, a.Holder())
		}
	}
}
