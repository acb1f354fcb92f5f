//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestServersShowWhatIsHeld asks real servers: of a healthy cluster, after api-int's
// certificate was rotated, and where the API server does not follow its Secret.
func TestServersShowWhatIsHeld(t *testing.T) {
	f := fixes(t)
	f.shows(t, time.Now(), "pass", "")
	f.lab.Incident(t, "leaf")
	f.shows(t, time.Now(), "pass", "")

	// What the Secret held before goes back into the API server's files, not into the
	// Secret. The end of the incident puts all of it right.
	const pair = "internal-loadbalancer-serving-certkey"
	for _, end := range []string{".key", ".crt"} {
		old, err := os.ReadFile(filepath.Join(f.lab.Dir, "incident", "original", pair+end))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(f.lab.Dir, "pki", pair+end), old, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.shows(t, time.Now(), "unknown", "run it again") // it is new: a reload takes time
	f.shows(t, time.Now().Add(time.Hour), "fail", "the server has not read it")
}

// shows wants every handshake to have presented what is held, except for api-int: that
// its Secret holds what it presents is to have this status, for this reason, at this
// time. Read again from a snapshot, it is all the same.
func (f *fixing) shows(t *testing.T, now time.Time, internal, why string) {
	t.Helper()
	type claim struct{ ID, Node, Name, Status, Reason, Evidence, Server string }
	judge := func(args ...string) []claim {
		r := f.inLab(t, append([]string{"verify", "-o", "json", "--now", now.UTC().Format(time.RFC3339), "api-int", "control-plane", "nodes", "access"}, args...)...)
		var report struct{ Claims []claim }
		if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
			t.Fatalf("%v:\n%s", err, r.said())
		}
		return report.Claims
	}
	file := filepath.Join(t.TempDir(), "lab.certrot")
	nodes := []string{"--nodes", "all", "--via", "ssh"}
	status := func(claims []claim) string {
		for _, c := range claims {
			if c.ID == "masters-show-secrets" && c.Name == "api-int.lab.test" {
				return c.Status
			}
		}
		return "not there"
	}
	live := judge(nodes...)
	for begun := time.Now(); status(live) != internal && time.Since(begun) < 2*time.Minute; { // the API server looks at its files now and then
		time.Sleep(2 * time.Second)
		live = judge(nodes...)
	}
	ends(t, f.inLab(t, append([]string{"snapshot", "-o", file}, nodes...)...), 0)
	for from, claims := range map[string][]claim{"the cluster": live, "a snapshot": judge("--from", file)} {
		n := map[string]int{}
		for _, c := range claims {
			switch c.ID {
			case "masters-show-secrets", "api-int-shows-secret", "access-shows-secret", "kubelets-show-file", "apiserver-kubelet-serving":
			default:
				continue
			}
			n[c.ID]++
			want := "pass"
			if c.Name == "api-int.lab.test" {
				want = internal
				if c.ID == "masters-show-secrets" && !strings.Contains(c.Reason+"; "+c.Evidence, why) {
					t.Errorf("from %s: does not say %q: %s; %s", from, why, c.Reason, c.Evidence)
				}
			}
			if c.Status != want || c.Server == "" {
				t.Errorf("from %s: %s of %q for %q at %q: %s (%s), want %s", from, c.ID, c.Node, c.Name, c.Server, c.Status, c.Reason, want)
			}
		}
		all, masters := len(f.lab.Nodes()), len(f.lab.Nodes())-len(f.lab.Workers())
		if n["masters-show-secrets"] != 5*masters || n["api-int-shows-secret"] != all || n["kubelets-show-file"] != all || n["apiserver-kubelet-serving"] != all || n["access-shows-secret"] != 2 {
			t.Errorf("from %s: %v, of %d nodes", from, n, all)
		}
	}
}
