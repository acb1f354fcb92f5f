package csr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestOneRequestIsNotTheKubeletsForThatAlone: a token's thief asks in the name of a node, and
// no other one does. It is approved only where the node's kubelet can have asked for it. why is
// a part of why it is left to a person; empty: it is approved.
func TestOneRequestIsNotTheKubeletsForThatAlone(t *testing.T) {
	t.Parallel()
	type world struct {
		*remediatetest.Joining
		env *remediate.Env
		csr *certificatesapi.CertificateSigningRequest
		api *remediatetest.RequestsAPI
	}
	unit := func(from, to string) func(*testing.T, world) {
		return func(t *testing.T, w world) {
			text := string(w.Machine.Read(t, "/fake/shown"))
			if !strings.Contains(text, from) {
				t.Fatal(text)
			}
			w.Write(t, "/fake/shown", []byte(strings.ReplaceAll(text, from, to)))
		}
	}
	asked := func(after time.Duration) func(*testing.T, world) {
		return func(t *testing.T, w world) { w.csr.CreationTimestamp = metav1.NewTime(w.Started(t).Add(after)) }
	}
	another := func(answer certificatesapi.RequestConditionType, after time.Duration) func(*testing.T, world) {
		return func(t *testing.T, w world) {
			own := remediatetest.ClientAsking(t)
			own.CSR.Name = "csr-own"
			own.CSR.CreationTimestamp = metav1.NewTime(w.Started(t).Add(after))
			own.CSR.Status.Conditions = []certificatesapi.CertificateSigningRequestCondition{{Type: answer, Status: corev1.ConditionTrue}}
			w.api.Add(own.Made(t))
		}
	}
	otherUser := func(t *testing.T, w world) {
		other := remediatetest.ClientAsking(t)
		other.CSR.Name, other.CSR.Spec.Username = "csr-other", "system:serviceaccount:kube-system:joiner"
		other.CSR.CreationTimestamp = metav1.NewTime(w.Started(t).Add(time.Second))
		other.CSR.Status.Conditions = []certificatesapi.CertificateSigningRequestCondition{{Type: certificatesapi.CertificateDenied, Status: corev1.ConditionTrue}}
		w.api.Add(other.Made(t))
	}
	for name, c := range map[string]struct {
		change func(*testing.T, world)
		why    string
	}{
		"one by another user was denied":        {otherUser, "with different keys, 1 of them answered already"},
		"the kubelet waits":                     {func(*testing.T, world) {}, ""},
		"in the second in which it was started": {asked(0), ""},
		"from long before the start":            {asked(-time.Hour), "from before the kubelet was started"},
		"from a minute before the start":        {asked(-time.Minute), "from before the kubelet was started"},
		"the kubelet is stopped":                {unit("ActiveState=active\nSubState=running", "ActiveState=inactive\nSubState=dead"), "kubelet.service is inactive (dead)"},
		"the kubelet ends again and again":      {unit("ActiveState=active\nSubState=running", "ActiveState=activating\nSubState=auto-restart"), "kubelet.service is activating (auto-restart)"},
		"the node does not say since when":      {unit("ExecMainStartTimestamp=", "ExecMainStartTimestamp=n/a\nX="), "when the node's kubelet was started is unknown"},
		"its clock was set since": {func(t *testing.T, w world) {
			w.Write(t, "/proc/stat", []byte("btime 3600\n"))
		}, "the node's clock was set since its kubelet's start"},
		"its uptime is not told":                {func(_ *testing.T, w world) { _ = os.Remove(w.At("/proc/stat")) }, "whether the node's clock was set since its kubelet's start is unknown"},
		"the API server does not say the time":  {func(_ *testing.T, w world) { w.env.APIClock = nil }, "does not say what time it is"},
		"the node is not reached":               {func(_ *testing.T, w world) { w.env.Open = remediatetest.Nowhere }, "the node was not read: does not lead there"},
		"the token in its file is not accepted": {func(_ *testing.T, w world) { w.Token = 401 }, "401 Unauthorized"},
		"it has no bootstrap file":              {func(_ *testing.T, w world) { _ = os.Remove(w.At(remediatetest.BootstrapFile)) }, "no bootstrap kubeconfig"},
		"what it would be told was not asked":   {func(_ *testing.T, w world) { w.Comeback, w.env.RestartProbe = nil, nil }, "was not asked on the node"},
		"it works with a certificate in its memory": {func(t *testing.T, w world) {
			w.env.Heartbeat = remediatetest.HeartbeatAt(w.Started(t).Add(5 * time.Second))
		}, "the node's kubelet reports, last at "},
		"its bootstrap file is newer than its start": {func(t *testing.T, w world) {
			w.Write(t, remediatetest.BootstrapFile, w.After(remediatetest.BootstrapFile))
		}, remediatetest.BootstrapFile + " changed after its start"},
		"its Lease is of the node's future": {func(_ *testing.T, w world) {
			w.env.Heartbeat = remediatetest.HeartbeatAt(time.Now().Add(2 * time.Hour))
		}, "kubectl delete lease -n kube-node-lease worker-0"},
		"its kubeconfig has a certificate in it": {func(_ *testing.T, w world) {
			w.Comeback = nil
			w.env.RestartProbe = func(ctx context.Context, n nodeexec.Node) (*inspect.RestartProbe, error) {
				c, err := remediatetest.MayBootstrap(ctx, n)
				c.Kubeconfig = inspect.ProbedKubeconfig{Path: remediatetest.KubeletFile, Presents: inspect.CredentialCertificate, Field: "users[0].user.client-certificate-data"}
				return c, err
			}
		}, "has a client certificate at another place"},
		"it worked before its start": {func(t *testing.T, w world) {
			w.env.Heartbeat = remediatetest.HeartbeatAt(w.Started(t).Add(-time.Second))
		}, ""},
		"whether it reports is not said": {func(_ *testing.T, w world) {
			w.env.Heartbeat = func(context.Context, string) (collect.Heartbeat, error) {
				return collect.Heartbeat{}, errors.New("the server is down")
			}
		}, "whether the node's kubelet reports is unknown: the server is down"},
		"no API server says whether it reports":   {func(_ *testing.T, w world) { w.env.Heartbeat = nil }, "whether the node's kubelet reports is unknown"},
		"its own was approved, and is not signed": {another(certificatesapi.CertificateApproved, time.Second), "with different keys, 1 of them answered already"},
		"its own was denied":                      {another(certificatesapi.CertificateDenied, time.Second), "with different keys, 1 of them answered already"},
		"one was approved before its start":       {another(certificatesapi.CertificateApproved, -time.Minute), ""},
		"another one comes right before it is approved": {func(t *testing.T, w world) {
			w.api.Before = func(method, path string) *apierrors.StatusError {
				if method == http.MethodGet && strings.HasSuffix(path, "/certificatesigningrequests/csr-client") {
					w.api.Before = nil
					second := remediatetest.ClientAsking(t)
					second.CSR.Name = "csr-second"
					second.CSR.CreationTimestamp = w.csr.CreationTimestamp
					w.api.Add(second.Made(t))
				}
				return nil
			}
		}, "2 requests in this node's name, with different keys"},
		"its kubelet is stopped right before it is approved": {func(t *testing.T, w world) {
			w.api.Before = func(method, path string) *apierrors.StatusError {
				if method == http.MethodGet && strings.HasSuffix(path, "/certificatesigningrequests/csr-client") {
					w.api.Before = nil
					unit("ActiveState=active\nSubState=running", "ActiveState=inactive\nSubState=dead")(t, w)
				}
				return nil
			}
		}, "kubelet.service is inactive (dead)"},
		"it has a certificate by now, and uses it": {func(t *testing.T, w world) {
			w.Certificate(t, remediatetest.NextCert, time.Now().Add(time.Hour), w.NewKey(t))
		}, "has a client certificate until"},
	} {
		for _, step := range []string{"in its step", "among what is left over"} {
			t.Run(name+", "+step, func(t *testing.T) {
				t.Parallel()
				j := remediatetest.NewJoining(t)
				j.Lost(t)
				api := &remediatetest.RequestsAPI{Signs: true}
				env, told := remediatetest.Approvals(t, j.World, api)
				env.Heartbeat = remediatetest.HeartbeatAt(time.Time{}) // never
				made := remediatetest.ClientAsking(t).Made(t)
				api.Add(made)
				c.change(t, world{j, env, made, api})
				change := &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}
				end := NewApprovePending([]string{"worker-0"}, true, true)
				err := end.Apply(t.Context(), env, change)
				if step == "in its step" && len(api.Log) == 0 { // which comes before, and has no more to go by
					err = Approve{NodeName: "worker-0", State: newApproving()}.approve(t.Context(), env, change)
				}
				if err != nil || (len(api.Log) > 0) != (c.why == "") {
					t.Fatalf("%v, approved %q\n%s", err, api.Log, told)
				}
				if c.why == "" {
					return
				}
				left := end.Verify(t.Context(), env, change)
				next := "fix-api-int --nodes worker-0 --rebootstrap --approve-csrs"
				if strings.Contains(name, "by now") {
					next = "kubectl describe csr csr-client"
				}
				if left == nil || !strings.Contains(left.Error(), c.why) || !strings.Contains(left.Error(), next) || strings.Contains(left.Error(), "certificate approve") {
					t.Errorf("why and what to do are not said: %v", left)
				}
			})
		}
	}
}

// TestARequestThatIsNotTheKubeletsHoldsUpNoNode: the one of a node whose kubelet is stopped is
// left, that of the next one is approved.
func TestARequestThatIsNotTheKubeletsHoldsUpNoNode(t *testing.T) {
	t.Parallel()
	w := remediatetest.NewWorld(t, "worker-0", "worker-1")
	api := &remediatetest.RequestsAPI{Signs: true}
	env, told := remediatetest.Approvals(t, w, api)
	api.Nodes["worker-1"] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}
	for name := range w.Machines {
		a := remediatetest.ClientAsking(t)
		a.CSR.Name, a.Asks.Subject.CommonName = "csr-"+name, "system:node:"+name
		api.Add(a.Made(t))
	}
	open := env.Open
	env.Open = func(ctx context.Context, name string) (nodeexec.Node, error) {
		if name == "worker-0" {
			return remediatetest.Nowhere(ctx, name)
		}
		return open(ctx, name)
	}
	a := NewApprovePending([]string{"worker-0", "worker-1"}, true, true)
	if err := a.Apply(t.Context(), env, &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}); err != nil || !slices.Equal(api.Log, []string{"csr-worker-1"}) {
		t.Errorf("%v, approved %q\n%s", err, api.Log, told)
	}
}

// TestTheStartOfAKubeletByTheAPIServersClock: the node's clock, the API server's and this
// machine's differ.
func TestTheStartOfAKubeletByTheAPIServersClock(t *testing.T) {
	t.Parallel()
	ahead := func(d time.Duration) inspect.Clock {
		return inspect.Clock{Sent: remediatetest.TestNow, Before: remediatetest.TestNow.Add(d), After: remediatetest.TestNow.Add(d), Received: remediatetest.TestNow}
	}
	for _, c := range []struct {
		node, api time.Duration // ahead of this machine's clock
		asked     time.Duration // after the start of the kubelet
		approved  bool
	}{
		{0, 0, time.Second, true},
		{0, 0, -10 * time.Second, false},
		{2 * time.Hour, 0, time.Second, true},
		{2 * time.Hour, 0, -10 * time.Second, false},
		{-2 * time.Hour, 0, time.Second, true},
		{-2 * time.Hour, 0, -10 * time.Second, false},
		{0, 2 * time.Hour, time.Second, true},
		{0, 2 * time.Hour, -10 * time.Second, false},
		{time.Hour, -time.Hour, time.Second, true},
		{time.Hour, -time.Hour, -10 * time.Second, false},
	} {
		t.Run(fmt.Sprintf("node %s, API %s, asked %s", c.node, c.api, c.asked), func(t *testing.T) {
			t.Parallel()
			started := remediatetest.TestNow.Add(-time.Hour) // by this machine's clock
			snapshot := inspect.Snapshot{Nodes: []inspect.Node{{Name: "worker-0", Via: "ssh", Clock: ahead(c.node), Kubelet: inspect.Kubelet{Active: "active", Sub: "running", Started: started.Add(c.node), StartedByUptime: started.Add(c.node)}}}}
			csr := remediatetest.ClientAsking(t).Made(t)
			csr.CreationTimestamp = metav1.NewTime(started.Add(c.asked + c.api))
			if err := kubeletStateOf(snapshot, "worker-0", ahead(c.api)).madeRequest(csr); (err == nil) != c.approved {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestACopyKeepsNoKubeletFromItsCertificate: who reads a request can make it again, for the same key, by
// an API server whose clock differs. Which one is the kubelet's can't be told, and a certificate is of use
// to who has its key alone.
func TestACopyKeepsNoKubeletFromItsCertificate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		copied string
		later  time.Duration // than the kubelet's
		user   string
	}{
		"in the same second":                          {"csr-a", 0, ""},
		"in the same second, listed later":            {"csr-z", 0, ""},
		"in the same second, by another token":        {"csr-a", 0, "system:bootstrap:fedcba"},
		"two seconds later":                           {"csr-a", 2 * time.Second, ""},
		"two seconds later, listed later":             {"csr-z", 2 * time.Second, ""},
		"by a clock that is behind":                   {"csr-a", -2 * time.Second, ""},
		"by a clock that is behind, listed later":     {"csr-z", -2 * time.Second, ""},
		"by a clock that is behind, by another token": {"csr-z", -2 * time.Second, "system:bootstrap:fedcba"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := remediatetest.NewJoining(t)
			j.Lost(t)
			api := &remediatetest.RequestsAPI{Signs: true}
			env, told := remediatetest.Approvals(t, j.World, api)
			env.Heartbeat = remediatetest.HeartbeatAt(time.Time{})
			version, own := catalog.Versions{Cluster: "4.15.0"}, remediatetest.ClientAsking(t)
			if c.user != "" {
				version = catalog.Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}
				own.CSR.Spec.Username, own.CSR.Spec.Groups = "system:bootstrap:abcdef", []string{"system:bootstrappers"}
			}
			made := own.Made(t)
			made.Name = "csr-kubelet"
			copied := made.DeepCopy()
			copied.Name, copied.Spec.Username = c.copied, cmp.Or(c.user, made.Spec.Username)
			copied.CreationTimestamp = metav1.NewTime(made.CreationTimestamp.Add(c.later))
			api.Add(copied)
			api.Add(made)
			slices.SortFunc(api.Requests, func(a, b *certificatesapi.CertificateSigningRequest) int { return strings.Compare(a.Name, b.Name) }) // as an API server lists them
			end := NewApprovePending([]string{"worker-0"}, true, true)
			if err := end.Apply(t.Context(), env, &remediate.Change{Versions: version}); err != nil || len(api.Log) != 2 || !slices.Contains(api.Log, "csr-kubelet") {
				t.Errorf("%v, approved %q\n%s", err, api.Log, told)
			}
		})
	}
}

// TestAnotherRequestForTheKeyIsNotOffered: who holds a bootstrap token asks twice with a key,
// once for what a kubelet asks for. That was approved: nothing leads to the other one, and who
// asked is told all the same.
func TestAnotherRequestForTheKeyIsNotOffered(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*remediatetest.Asking){
		"for an administrator": func(a *remediatetest.Asking) {
			a.Asks.Subject.Organization, a.CSR.Spec.SignerName = []string{"system:cluster-admins"}, "kubernetes.io/kube-apiserver-client"
		},
		"for a server": func(a *remediatetest.Asking) { a.CSR.Spec.Usages = append(a.CSR.Spec.Usages, "server auth") },
	} {
		j := remediatetest.NewJoining(t)
		j.Lost(t)
		api := &remediatetest.RequestsAPI{Signs: true}
		env, told := remediatetest.Approvals(t, j.World, api)
		env.Heartbeat = remediatetest.HeartbeatAt(time.Time{})
		own := remediatetest.ClientAsking(t)
		other := *own
		change(&other)
		other.CSR.Name = "csr-other"
		second := other.Made(t)
		second.CreationTimestamp = metav1.NewTime(own.CSR.CreationTimestamp.Add(2 * time.Second))
		first := own.Made(t)
		api.Add(first)
		api.Add(second)
		end, c := NewApprovePending([]string{"worker-0"}, true, true), &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}
		if err := end.Apply(t.Context(), env, c); err != nil || !slices.Equal(api.Log, []string{first.Name}) {
			t.Fatalf("%s: %v, approved %q\n%s", name, err, api.Log, told)
		}
		env.EffectTimeout = time.Second
		err := end.Verify(t.Context(), env, c)
		if err == nil || strings.Contains(err.Error(), "certificate approve") || !strings.Contains(err.Error(), "Replace the bootstrap token first") || !strings.Contains(err.Error(), "Request csr-other is pending, for the same key") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
