package csr

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestABootstrapFileIsAsTheKubeletReadIt: what the API server says to a file proves nothing of a kubelet
// that was started before the file came there, also where it has an old time, as cp -p gives it. It is the
// file with which this kubelet joins.
func TestABootstrapFileIsAsTheKubeletReadIt(t *testing.T) {
	t.Parallel()
	for path, v := range map[string]catalog.Versions{
		remediatetest.BootstrapFile:        {Cluster: "4.15.0"},
		catalog.KubeadmKubeconfigs()[0]:    {NotOpenShift: true, Kubernetes: "v1.31.0"},
		"/etc/kubernetes/another.kubeconf": {NotOpenShift: true, Kubernetes: "v1.31.0"}, // of which nothing was read
	} {
		for name, c := range map[string]struct {
			modified, changed time.Duration // after the start of the kubelet
			approved          bool
		}{
			"written before the start":                  {-time.Hour, -time.Hour, true},
			"written before it, and relabelled at boot": {-time.Hour, -time.Minute, true},
			"written in the second of it":               {0, 0, true},
			"written after it":                          {time.Minute, time.Minute, false},
			"copied there after it, with its time":      {-time.Hour, time.Minute, false},
		} {
			t.Run(path+" "+name, func(t *testing.T) {
				t.Parallel()
				j := remediatetest.NewJoining(t)
				j.Lost(t)
				api := &remediatetest.RequestsAPI{Signs: true}
				env, told := remediatetest.Approvals(t, j.World, api)
				env.Heartbeat = remediatetest.HeartbeatAt(time.Time{})
				asks := remediatetest.ClientAsking(t)
				if v.NotOpenShift {
					asks.CSR.Spec.Username, asks.CSR.Spec.Groups = "system:bootstrap:abcdef", []string{"system:bootstrappers"}
				}
				api.Add(asks.Made(t))
				j.Write(t, path, j.After(remediatetest.BootstrapFile))
				modified := j.Started(t).Add(c.modified)
				if err := os.Chtimes(j.At(path), modified, modified); err != nil {
					t.Fatal(err)
				}
				j.InodeChanged = map[string]time.Time{path: j.Started(t).Add(c.changed)}
				j.Comeback = nil
				env.RestartProbe = func(context.Context, nodeexec.Node) (*inspect.RestartProbe, error) {
					return &inspect.RestartProbe{Bootstrap: inspect.ProbedKubeconfig{Path: path, Presents: inspect.CredentialToken, Answers: []inspect.ProbeAnswer{{Code: 200}}}}, nil
				}
				end, change := NewApprovePending([]string{"worker-0"}, true, true), &remediate.Change{Versions: v}
				why, unread := path+" changed after its start", strings.HasSuffix(path, "another.kubeconf")
				if unread {
					why = "when " + path + " was changed was not read"
				}
				if err := end.Apply(t.Context(), env, change); err != nil || (len(api.Log) > 0) != (c.approved && !unread) {
					t.Fatalf("%v, approved %q\n%s", err, api.Log, told)
				}
				if len(api.Log) > 0 {
					return
				}
				if left := end.Verify(t.Context(), env, change); left == nil || !strings.Contains(left.Error(), why) || strings.Contains(left.Error(), "certificate approve") {
					t.Errorf("why is not said: %v", left)
				}
			})
		}
	}
}

// TestABootstrapFileBehindALink: the link is as old as where it leads.
func TestABootstrapFileBehindALink(t *testing.T) {
	t.Parallel()
	started := remediatetest.TestNow.Add(-time.Hour)
	old, young := started.Add(-time.Hour), started.Add(time.Minute)
	for name, c := range map[string]struct {
		link   time.Time
		target *inspect.NodeFile
		why    string
	}{
		"both are old":          {old, &inspect.NodeFile{Path: "/etc/kubernetes/kubeconfig-1", Modified: old}, ""},
		"the link is younger":   {young, &inspect.NodeFile{Path: "/etc/kubernetes/kubeconfig-1", Modified: old}, remediatetest.BootstrapFile + " changed after its start"},
		"the file is younger":   {old, &inspect.NodeFile{Path: "/etc/kubernetes/kubeconfig-1", Modified: young}, "/etc/kubernetes/kubeconfig-1 changed after its start"},
		"the file was not read": {old, nil, "when /etc/kubernetes/kubeconfig-1 was changed was not read"},
	} {
		n := &inspect.Node{Kubelet: inspect.Kubelet{Started: started}, Files: []inspect.NodeFile{{Path: remediatetest.BootstrapFile, Modified: c.link, Link: "kubeconfig-1", Target: "/etc/kubernetes/kubeconfig-1"}}}
		if c.target != nil {
			n.Files = append(n.Files, *c.target)
		}
		if why := bootstrapSince(n, remediatetest.BootstrapFile); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q, want %q", name, why, c.why)
		}
	}
}
