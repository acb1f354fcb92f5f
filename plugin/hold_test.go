package plugin

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
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
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
func (looking) Undo(context.Context, *remediate.Env, *remediate.Change) error   { return nil }

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

// TestWhoHeldTheNodes has somebody's name on a node. Their hold ends with the Lease from
// which it was taken, and anybody else's stays.
func TestWhoHeldTheNodes(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	const bob, carol = "bob@b (pid 2 of another machine), run 2", "carol@c (pid 3 of a third one), run 3"
	ca := pkitest.NewCA("any", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	n := newLiveNode(t, "worker-0")
	n.kubelet(t, ca.CertPEM, "https://127.0.0.1:1", ca)
	for _, c := range []struct {
		name    string
		lease   string // its holder
		silence time.Duration
		held    string // by whom the node is
		code    int
		says    string
	}{
		{"nobody", "", 0, "", exitFine, "Done."},
		{"the holder was silent for long", bob, 2 * time.Minute, bob, exitFine, "Done."},
		{"another one than the holder was", bob, 2 * time.Minute, carol, exitStopped, carol + " changes this node"},
		{"nobody has the Lease, and one the node", "", 0, carol, exitStopped, carol + " changes this node"},
		{"the Lease is free, and the node is held by whom an earlier run took it from", "", 0, bob, exitFine, "Done."},
		{"the holder lives", bob, 10 * time.Second, bob, exitRefused, "“" + bob + "” changes this cluster"},
	} {
		n.write(t, heldFile, "")
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
		conn := settledAPI().connect(t)
		conn.kube = kube
		var out transcript
		w := onNodes(conn, &out, n)
		seen := ""
		a := &applying{mendFlags: mendFlags{app: w.app, yes: true}, workplace: w, command: "fix-api-int", run: remediate.NewRun(time.Now()), about: func(io.Writer, *remediate.Plan) {}}
		a.plan = func(context.Context) (*remediate.Plan, error) {
			return stepsOn(looking{n.name, func() { seen = n.held(t) }}), nil
		}
		err := a.do(t.Context())
		if err != nil {
			printError(w.app.Streams, err)
		}
		if codeOf(err) != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: %v\n%s", c.name, err, out.String())
		}
		mine, after := a.holder(), ""
		if c.code != exitFine {
			mine, after = "", c.held
		}
		if seen != mine || n.held(t) != after {
			t.Errorf("%s: held by %q while it was worked on, want %q; then by %q, want %q", c.name, seen, mine, n.held(t), after)
		}
	}
}

// holdAs is somebody at work on a node.
func holdAs(t *testing.T, n liveNode, who string) error {
	t.Helper()
	node, err := nodeexec.Local{Node: n.name, Root: n.root, Chroot: true}.Dial(t.Context(), n.name)
	if err != nil {
		return err
	}
	defer func() { _ = node.Close() }()
	return host.Run{}.Hold(t.Context(), node, who, "")
}

// TestWithoutAnAPINodesAnswer has no API server that could be asked from here. A node whose
// kubelet is taken by it, asked there, is enough to go on to the next one.
func TestWithoutAnAPINodesAnswer(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	ca := pkitest.NewCA("lb", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	code := http.StatusOK
	server := liveServer(t, ca, func(w http.ResponseWriter, r *http.Request) {
		if who := r.TLS.PeerCertificates; len(who) == 0 || r.URL.Path == "/api/v1/nodes/worker-0" && who[0].Subject.CommonName != "system:node:worker-0" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		w.WriteHeader(code)
	})
	first, second := newLiveNode(t, "worker-0", "openssl"), newLiveNode(t, "worker-1")
	first.kubelet(t, ca.CertPEM, server, ca)
	second.kubelet(t, ca.CertPEM, server, ca)
	first.processes(t)

	var out transcript
	w := onNodes(nil, &out, first, second)
	begun := 0
	a := &applying{mendFlags: mendFlags{app: w.app, yes: true}, workplace: w, command: "fix-api-int", run: remediate.NewRun(time.Now()), about: func(io.Writer, *remediate.Plan) {}}
	a.plan = func(context.Context) (*remediate.Plan, error) {
		return stepsOn(action.Await{On: first.name}, looking{second.name, func() { begun++ }}), nil
	}
	err := a.do(t.Context())
	if codeOf(err) != exitIncomplete || begun != 1 || err == nil || !strings.Contains(err.Error(), "the API server answers its kubelet's own credentials, asked on the node") {
		t.Errorf("the second node was begun %d times: %v\n%s", begun, err, out.String())
	}

	code = http.StatusUnauthorized
	env := w.env("run-1", a.read)
	node, err := w.open(t.Context(), first.name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := env.Comeback(t.Context(), node)
	if err != nil || len(c.Own.Answers) == 0 || c.Own.Answers[0].Code != http.StatusUnauthorized {
		t.Errorf("a kubelet that is not taken: %+v, %v", c, err)
	}
	with := onNodes(settledAPI().connect(t), &out).env("run-1", a.read)
	if with.Heartbeat == nil {
		t.Fatal("with an API, its heartbeats are not asked for")
	}

	// A request to join is judged by what its node says, and by the API server's clock.
	if c, err := with.Comeback(t.Context(), node); err != nil || c == nil || c.Bootstrap.Path == "" {
		t.Errorf("what the node would join with: %+v, %v", c, err)
	}
	_, _ = with.Heartbeat(t.Context(), first.name) // whatever the answer is, it has a Date
	if _, _, ok := with.APIClock().Ahead(); !ok {
		t.Error("the API server's clock is unknown")
	}
}

// TestWhoHoldsTheLeaseIsAPerson: root on a bastion is everybody. The user that the API server
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
		conn := settledAPI().connect(t)
		conn.kube = kube
		conn.config.Contexts[conn.context].AuthInfo = "bob/api-example:6443"
		a := &applying{run: "run-1", workplace: &workplace{conn: conn}}
		a.person = conn.person(t.Context())
		was := nodeexec.ThisProcess().String() + ", run run-1"
		if got := a.holder(); got != was+c.want {
			t.Errorf("%s: %q, want %q", c.name, got, was+c.want)
		}
		if nodeexec.Gone(a.holder()) || !nodeexec.Gone(strings.Replace(a.holder(), fmt.Sprintf("(pid %d ", os.Getpid()), "(pid 999999999 ", 1)) {
			t.Errorf("%s: whether the process is gone is not seen in %q", c.name, a.holder())
		}
	}
}
