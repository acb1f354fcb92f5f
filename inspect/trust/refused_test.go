package trust

import (
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

func TestRefused(t *testing.T) {
	const bad = "bad certificate"
	log := func(node string, ends time.Duration, refused ...inspect.Refused) inspect.ServerLog {
		at := pki.Location{Kind: pki.KindFile, Node: node, Path: "/var/log/pods/x/0.log"}
		return inspect.ServerLog{At: at, Row: "apiserver-refused", From: noon.Add(-10 * time.Hour), To: noon.Add(-ends), Refused: refused}
	}
	by := func(client string, n int, ago time.Duration) inspect.Refused {
		return inspect.Refused{Client: client, Reason: bad, Count: n, First: noon.Add(-9 * time.Hour), Last: noon.Add(-ago)}
	}
	type claim struct {
		status Status
		node   string
		whose  string
		count  int
	}
	for name, c := range map[string]struct {
		logs []inspect.ServerLog
		want []claim
	}{
		"no log was read": {nil, nil},
		"nobody refuses":  {[]inspect.ServerLog{log("m1", 0), log("m2", time.Minute)}, nil},
		"a node, at two masters": {
			[]inspect.ServerLog{log("m1", 0, by("10.0.0.7", 3, time.Minute)), log("m2", 0, by("10.0.0.7", 4, 2*time.Minute))},
			[]claim{{Broken, "w1", "w1, or a pod on it", 7}},
		},
		"a pod":     {[]inspect.ServerLog{log("m1", 0, by("10.128.2.9", 1, 0))}, []claim{{Broken, "", "a pod on w1", 1}}},
		"IPv6":      {[]inspect.ServerLog{log("m1", 0, by("fd00::7", 1, 0))}, []claim{{Broken, "w1", "w1, or a pod on it", 1}}},
		"localhost": {[]inspect.ServerLog{log("m1", 0, by("::1", 1, 0))}, []claim{{Broken, "", "somebody on the server's own node", 1}}},
		"somebody outside": {
			[]inspect.ServerLog{log("m1", 0, by("203.0.113.9", 2, 0), by("10.0.0.7", 1, 0))},
			[]claim{{Unknown, "", "", 2}, {Broken, "w1", "w1, or a pod on it", 1}},
		},
		"not any more":           {[]inspect.ServerLog{log("m1", 0, by("10.0.0.7", 50, 16*time.Minute))}, nil},
		"the log ended before":   {[]inspect.ServerLog{log("m1", 2*time.Hour, by("10.0.0.7", 50, 2*time.Hour))}, []claim{{Unknown, "", "", 0}}},
		"an old log beside it":   {[]inspect.ServerLog{log("m1", 2*time.Hour, by("10.0.0.7", 50, 2*time.Hour)), log("m1", 0)}, nil},
		"a log without any time": {[]inspect.ServerLog{{Row: "apiserver-refused", Refused: []inspect.Refused{{Client: "10.0.0.7", Reason: bad, Count: 1}}}}, []claim{{Unknown, "", "", 0}}},
		"a log of another row":   {[]inspect.ServerLog{{Row: "gone", To: noon}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(catalog.Versions{Cluster: "4.15.3"})
			w.s.Nodes = []inspect.Node{{Name: "m1"}, {Name: "w1", Addresses: []string{"10.0.0.7", "fd00::7", "w1.example.com"}, PodNetworks: []string{"10.128.2.0/23"}}}
			w.s.ServerLogs = c.logs
			got := w.judge("apiserver-refused")
			if len(got) != len(c.want) {
				t.Fatalf("want %d claims, got %+v", len(c.want), got)
			}
			for i, want := range c.want {
				g := claim{status: got[i].Status, node: got[i].Node}
				if s := got[i].Seen; s != nil {
					g.whose, g.count = s.Whose, s.Count
				}
				if g != want {
					t.Errorf("claim %d: %+v, want %+v", i, g, want)
				}
				if (got[i].Status == Holds) != (got[i].Why == "") || len(got[i].Logs) == 0 {
					t.Errorf("claim %d: why %q, logs %v", i, got[i].Why, got[i].Logs)
				}
			}
		})
	}
}

// TestRefusedByQuietServers: the machine config server writes when machines come.
func TestRefusedByQuietServers(t *testing.T) {
	for _, c := range []struct {
		ago  time.Duration
		want Status
	}{{5 * time.Minute, Broken}, {3 * time.Hour, Holds}} {
		w := newWorld(catalog.Versions{Cluster: "4.15.3"})
		w.s.Nodes[0].Addresses = []string{"10.0.0.7"}
		w.s.ServerLogs = []inspect.ServerLog{{Row: "config-server-refused", To: noon.Add(-c.ago), Refused: []inspect.Refused{{Client: "10.0.0.7", Reason: "bad certificate", Count: 1, Last: noon.Add(-c.ago)}}}}
		if got := w.judge("config-server-refused"); len(got) != 1 || got[0].Status != c.want {
			t.Errorf("refused %s ago: %+v", c.ago, got)
		}
	}
}
