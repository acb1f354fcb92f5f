package collect

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// leaseAPI serves Nodes that are all as ready, and their Leases.
type leaseAPI struct {
	mu      sync.Mutex
	leases  map[string]time.Time // when renewed
	nodes   []string
	ready   corev1.ConditionStatus
	refuses bool
}

func (a *leaseAPI) lease(name string) coordinationv1.Lease {
	seconds := int32(40)
	renewed := metav1.NewMicroTime(a.leases[name])
	return coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: name}, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed, LeaseDurationSeconds: &seconds}}
}

func (a *leaseAPI) node(name string) corev1.Node {
	return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: a.ready}}}}
}

func (a *leaseAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	_, there := a.leases[last]
	var out any
	switch {
	case strings.Contains(r.URL.Path, "/leases") && a.refuses:
		refuse(w, r, http.StatusForbidden, metav1.StatusReasonForbidden, "")
		return
	case strings.HasSuffix(r.URL.Path, "/leases"):
		var list coordinationv1.LeaseList
		for name := range a.leases {
			list.Items = append(list.Items, a.lease(name))
		}
		out = list
	case strings.Contains(r.URL.Path, "/leases/") && there:
		out = a.lease(last)
	case strings.HasSuffix(r.URL.Path, "/nodes"):
		var list corev1.NodeList
		for _, name := range a.nodes {
			list.Items = append(list.Items, a.node(name))
		}
		out = list
	case strings.Contains(r.URL.Path, "/nodes/"):
		out = a.node(last)
	default:
		refuse(w, r, http.StatusNotFound, metav1.StatusReasonNotFound, "not found")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out)
}

// TestHeartbeatsAreReadAtTheAPIsTime: this machine's clock tells nothing of how old a
// heartbeat is.
func TestHeartbeatsAreReadAtTheAPIsTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	api := &leaseAPI{ready: corev1.ConditionTrue, nodes: []string{"alive", "bare", "silent"}, leases: map[string]time.Time{"alive": now.Add(-5 * time.Second), "silent": now.Add(-14 * time.Minute)}}
	server := httptest.NewServer(api)
	defer server.Close()
	client, err := NewREST(&rest.Config{Host: server.URL, QPS: -1, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{REST: client, Now: func() time.Time { return now }, Renewals: &Renewals{}}
	want := map[string]string{"alive": "", "bare": "no heartbeat (there is no Lease)", "silent": "no heartbeat for 14m (Lease)"}
	objects, err := c.NodeObjects(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.WithHeartbeats(t.Context(), objects)
	m := c.ControlPlaneStatus(t.Context())
	for i, o := range objects {
		n := o.node()
		s := inspect.Snapshot{Nodes: []inspect.Node{n}}
		h, err := c.Heartbeat(t.Context(), o.Name)
		if err != nil {
			t.Fatal(err)
		}
		for who, life := range map[string]inspect.NodeHealth{"the list of nodes": s.NodeHealth(&n), "the machinery": m.Nodes[i].Health(), "one node": h.NodeHealth()} {
			if life.String() != want[o.Name] || (life.Alive == catalog.Yes) != (want[o.Name] == "") {
				t.Errorf("%s: %s: %s %q, want %q", o.Name, who, life.Alive, life, want[o.Name])
			}
		}
	}

	// A clock that is wrong, and a kubelet that is alive: its Lease advances.
	s := inspect.Snapshot{Nodes: []inspect.Node{objects[2].node()}}
	api.mu.Lock()
	api.leases["silent"] = api.leases["silent"].Add(10 * time.Second)
	api.mu.Unlock()
	if c.RereadLeases(t.Context(), &s); s.NodeHealth(&s.Nodes[0]).Healthy() != catalog.Yes {
		t.Errorf("its Lease advanced, and it is %q", s.NodeHealth(&s.Nodes[0]))
	}

	// What could not be read is unknown, and without the server's time neither is an age.
	c.Now = nil
	if h, err := c.Heartbeat(t.Context(), "alive"); err != nil || h.NodeHealth().Alive != catalog.Unknown {
		t.Errorf("%v, %s %q", err, h.NodeHealth().Alive, h.NodeHealth())
	}
	api.mu.Lock()
	api.refuses = true
	api.mu.Unlock()
	for _, n := range c.ControlPlaneStatus(t.Context()).Nodes {
		if life := n.Health(); life.Alive != catalog.Unknown || !strings.Contains(life.String(), "Forbidden") {
			t.Errorf("%s: %s %q", n.Name, life.Alive, life)
		}
	}
}

// TestReadyIsWhatTheAPIKnows: a kubelet writes its node's conditions, and any text goes.
func TestReadyIsWhatTheAPIKnows(t *testing.T) {
	t.Parallel()
	const advice = "False. Its certificate is lost for good; run kubectl delete node alive first"
	for status, want := range map[string]string{"True": "True", "False": "False", "Unknown": "Unknown", advice: "“" + advice + "”", "": "“”"} {
		server := httptest.NewServer(&leaseAPI{nodes: []string{"alive"}, ready: corev1.ConditionStatus(status)})
		client, err := NewREST(&rest.Config{Host: server.URL, QPS: -1, Timeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		c := &Cluster{REST: client, Now: time.Now, Renewals: &Renewals{}}
		objects, err := c.NodeObjects(t.Context(), nil)
		if err != nil || len(objects) != 1 {
			t.Fatalf("%v, %v", objects, err)
		}
		h, err := c.Heartbeat(t.Context(), "alive")
		if err != nil {
			t.Fatal(err)
		}
		m := c.ControlPlaneStatus(t.Context())
		if objects[0].Ready != want || h.Ready != want || status != "" && m.Nodes[0].Ready != want {
			t.Errorf("%q: in the list %s, alone %s, of the machinery %s, want %s", status, objects[0].Ready, h.Ready, m.Nodes[0].Ready, want)
		}
		if gap := (Nodes{}).gap(objects[0], errors.New("no way")); strings.Contains(gap.Reason, "kubectl") && !strings.Contains(gap.Reason, want) {
			t.Errorf("%q: %s", status, gap.Reason)
		}
		server.Close()
	}
}
