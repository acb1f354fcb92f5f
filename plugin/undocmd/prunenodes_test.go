package undocmd

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// TestPruneRemovesNothingThatARunUnderWayKeeps: not on the node that is worked on, and not on those that
// the run has left already.
func TestPruneRemovesNothingThatARunUnderWayKeeps(t *testing.T) {
	t.Parallel()
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	ca, more := pkitest.NewCA("lb", from, to), pkitest.NewCA("another", from, to)
	server := plugintest.LiveServer(t, ca, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	const run = "20261127-200000-1a2b3c"
	node := func(name string, edited bool) plugintest.LiveNode {
		n := plugintest.NewLiveNode(t, name, "flock")
		n.Kubelet(t, ca.CertPEM, server, ca)
		if edited {
			n.Edited(t, run, ca.CertPEM, pkitest.Bundle(ca.CertPEM, more.CertPEM))
		}
		return n
	}
	left, current, without := node("worker-0", true), node("worker-1", true), node("worker-2", false)
	names := []string{left.Name, current.Name, without.Name}
	keeps := func() (out string) {
		for _, n := range []plugintest.LiveNode{left, current, without} {
			if _, err := os.Stat(n.Root + host.DefaultFolder + "/" + run); err == nil {
				out += n.Name + " "
			}
		}
		return out
	}
	on, err := nodeexec.Local{Node: current.Name, Root: current.Root, Chroot: true}.Dial(t.Context(), current.Name)
	if err != nil {
		t.Fatal(err)
	}
	holder := nodeexec.ThisHolder().String() + ", run " + run
	if err := (host.RunFolder{ID: run}).Hold(t.Context(), on, holder, ""); err != nil {
		t.Fatal(err)
	}
	w := applytest.OnNodes(nil, io.Discard, left, current, without)
	r := removal{run: run, still: func() error { return nil }}
	_, err = r.from(t.Context(), w, names)
	var by *host.LockedError
	if !errors.As(err, &by) || by.By != holder || !strings.HasPrefix(err.Error(), "nothing was removed: ") || keeps() != "worker-0 worker-1 " || left.Held(t) != "" || current.Held(t) != holder {
		t.Fatalf("%v, kept on %s; held by %q and %q", err, keeps(), left.Held(t), current.Held(t))
	}

	// Between two nodes it holds none, and its journal grows.
	if err := (host.RunFolder{ID: run}).Release(t.Context(), on, holder); err != nil {
		t.Fatal(err)
	}
	grown := errors.New("it is under way")
	r.still = func() error { return grown }
	if _, err := r.from(t.Context(), w, names); !errors.Is(err, grown) || keeps() != "worker-0 worker-1 " || current.Held(t) != "" {
		t.Fatalf("%v, kept on %s; held by %q", err, keeps(), current.Held(t))
	}

	// A node that can't be reached keeps what it has; the others do not.
	r.still = func() error { return nil }
	if none, err := r.from(t.Context(), w, append([]string{"worker-3"}, names...)); err == nil || keeps() != "" || strings.Join(none, " ") != "worker-2" || left.Held(t)+current.Held(t) != "" {
		t.Errorf("%v, kept on %s, nothing on %q; held by %q and %q", err, keeps(), none, left.Held(t), current.Held(t))
	}
	if _, err := os.Stat(without.Root + host.DefaultFolder); err == nil {
		t.Error("a node that keeps nothing has a folder for it now")
	}
}

// TestPruneOfAJournalThatGrew since it was read: the question may have been open while the run went on.
func TestPruneOfAJournalThatGrew(t *testing.T) {
	js := aRunOf(t, remediate.Header{})
	s, err := js.Read(prunedRun)
	if err != nil {
		t.Fatal(err)
	}
	if err := grew(js, s); err != nil {
		t.Error(err)
	}
	s.Records = s.Records[1:]
	if err := grew(js, s); err == nil || !strings.Contains(err.Error(), "under way") {
		t.Error(err)
	}
}

// TestPruneLeavesTheHolderOfTheLease: a run, a rotation that changes no node, and an undo of the run.
func TestPruneLeavesTheHolderOfTheLease(t *testing.T) {
	const undo, another = "20260902-120000-1a2b3c", "20260903-120000-1a2b3c"
	const says = "it is under way: “alice@bastion (pid 1 of another), run "
	for name, c := range map[string]struct {
		holder  string
		renewed time.Duration // ago
		records []remediate.Record
		stays   bool
	}{
		"the run itself":             {prunedRun, 0, nil, true},
		"a run that changes no node": {prunedRun + ", as kubeadmin", 0, []remediate.Record{{Event: remediate.Begun, Action: "rotate secret/n/signer"}}, true},
		"an undo of it":              {undo, 0, nil, true},
		"another run":                {another, 0, nil, false},
		"it was silent for too long": {prunedRun, time.Hour, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			js := aRunOf(t, remediate.Header{Cluster: "bbbb"}, c.records...)
			for run, undoes := range map[string]string{undo: prunedRun, another: ""} {
				j, err := js.Begin(remediate.Header{Run: run, Command: "undo", Undoes: undoes, Started: time.Now()}, time.Now)
				if err := errors.Join(err, j.Close()); err != nil {
					t.Fatal(err)
				}
			}
			lease := `{"metadata":{"name":"certrot","namespace":"kube-system"},"spec":{"leaseDurationSeconds":60,"holderIdentity":"alice@bastion (pid 1 of another), run ` + c.holder + `","renewTime":"` + time.Now().Add(-c.renewed).UTC().Format("2006-01-02T15:04:05.000000Z") + `"}}`
			said, err := prunedIn(t, plugintest.SettledAPI().With("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/certrot", lease), "bbbb", prunedRun)
			if _, gone := js.Read(prunedRun); (gone == nil) != c.stays || (err != nil) != c.stays || strings.Contains(said, says+c.holder) != c.stays {
				t.Errorf("%v, its journal: %v\n%s", err, gone, said)
			}
		})
	}
}
