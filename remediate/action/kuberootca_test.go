package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

func TestAwaitRootCA(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewFixture()
	old, now := pki.LoadedPEM(f.Sc, f.Before), f.CaOf()
	behind := func(revision int, ready string) inspect.Rollout {
		return inspect.Rollout{
			Operator: true, Source: now, Latest: 8, Masters: []inspect.Revision{{Node: "master-0", Current: revision, CA: old, Ready: ready}},
			RootCAs: []inspect.RootCA{{Namespace: "openshift-multus", CA: old}},
		}
	}
	done := inspect.Rollout{Operator: true, Source: now, Latest: 8, Masters: []inspect.Revision{{Node: "master-0", Current: 8, CA: now}}, RootCAs: []inspect.RootCA{{Namespace: "openshift-multus", CA: now}}}
	verify := func(a AwaitRootCA) (string, error) {
		api := remediatetest.NewFakeAPI()
		var said []string
		a.CA, a.Print = now, func(text string) { said = append(said, text) }
		err := a.Verify(t.Context(), api.Env, nil)
		return strings.Join(said, "\n"), err
	}
	waits := behind(7, "True")
	waits.Masters[0].Installer = "Pending"
	looks := 0
	said, err := verify(AwaitRootCA{Read: func(context.Context) (inspect.Rollout, error) {
		looks++
		switch {
		case looks == 5:
			return inspect.Rollout{}, errors.New("kube-apiserver is being rolled out")
		case looks > 400:
			return done, nil
		case looks > 200:
			return behind(7, "True"), nil
		}
		return behind(6, "True"), nil
	}})
	if err != nil || strings.Count(said, "\n") != 1 || !strings.Contains(said, "master-0 runs revision 7, whose serviceaccount-ca lacks a CA; the latest is 8") {
		t.Errorf("it goes on: %v, said\n%s", err, said)
	}
	for name, c := range map[string]struct {
		read inspect.Rollout
		want string
	}{
		"a master that is away":             {behind(7, "Unknown"), "Installer pods can't run on master-0, and the rollout to all control plane nodes waits for that. Repair it first: oc describe node master-0"},
		"nobody knows why":                  {behind(7, "True"), "forceRedeploymentReason"},
		"an installer pod waits":            {waits, "Its multus (network 4.14+) may still be outdated in memory, with only the previous CA"},
		"and how multus is restarted":       {waits, "On master-0: sudo crictl stop $(sudo crictl ps -q --label io.kubernetes.pod.namespace=openshift-multus --label io.kubernetes.container.name=kube-multus). What the operator says"},
		"and for how long it may be":        {waits, "-enddate -in /etc/cni/multus/certs/multus-client-current.pem"},
		"the operator does nothing":         {inspect.Rollout{Operator: true, Source: old, RootCAs: done.RootCAs}, "logs deployment/kube-controller-manager-operator"},
		"a plain kube-controller-manager":   {inspect.Rollout{RootCAs: behind(7, "").RootCAs}, "reads it when it starts"},
		"no namespace has kube-root-ca.crt": {inspect.Rollout{}, "there is no kube-root-ca.crt in any of the namespaces"},
	} {
		var late *remediate.LateEffectError
		if _, err := verify(AwaitRootCA{Read: func(context.Context) (inspect.Rollout, error) { return c.read, nil }}); !errors.As(err, &late) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "nothing has changed for 6m") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := verify(AwaitRootCA{Read: func(context.Context) (inspect.Rollout, error) { return done, errors.New("forbidden") }}); !remediatetest.IsUnknown(err) || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("an API that does not say: %v", err)
	}
	if _, err := verify(AwaitRootCA{}); !remediatetest.IsUnknown(err) {
		t.Errorf("without an API: %v", err)
	}

	read := func(context.Context) (inspect.Rollout, error) { return done, nil }
	for name, c := range map[string]struct {
		a    AwaitRootCA
		want bool
	}{
		"it is everywhere":        {AwaitRootCA{CA: now, Planned: done, Read: read}, false},
		"it is not":               {AwaitRootCA{CA: now, Planned: behind(7, "True"), Read: read}, true},
		"nothing was read":        {AwaitRootCA{CA: now, Read: read}, true},
		"an ended CA is left out": {AwaitRootCA{CA: append(now[:len(now):len(now)], &pki.Cert{NotAfter: remediatetest.TestNow.Add(-time.Hour)}), Planned: done, Read: read}, false},
	} {
		if got, err := c.a.Diff(f.Snapshot, remediatetest.TestNow); err != nil || (got != nil) != c.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestPatchKubeRootCA(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewFixture()
	published := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-multus", Name: "kube-root-ca.crt", ResourceVersion: "7"}, Data: map[string]string{"ca.crt": string(f.Before)}}
	api := remediatetest.NewFakeAPI(published)
	var patches []string
	// The fake takes a dry run for real.
	api.PrependReactor("patch", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		p := a.(clienttesting.PatchActionImpl)
		patches = append(patches, fmt.Sprintf("%v %s %t", p.PatchOptions.DryRun, p.PatchOptions.FieldManager, strings.Contains(string(p.GetPatch()), `"resourceVersion":"7"`)))
		if len(p.PatchOptions.DryRun) == 0 {
			return false, nil, nil
		}
		tried := published.DeepCopy()
		tried.Data["ca.crt"] = string(f.Before) + string(f.Young.CertPEM)
		return true, tried, nil
	})
	a, err := NewPatchKubeRootCA(t.Context(), api.Env.Kube, "openshift-multus", f.CaOf())
	kept := ""
	a.Keep = func(manifest []byte) error { kept = string(manifest); return nil }
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Diff(f.Snapshot, remediatetest.TestNow)
	if err != nil || c == nil || !strings.Contains(c.Summary, "add to ConfigMap/openshift-multus/kube-root-ca.crt[ca.crt]: CN=loadbalancer-serving-signer (sha256 ") {
		t.Fatal(c, err)
	}
	if err := a.Apply(t.Context(), api.Env, c); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(kept, "patch configmap kube-root-ca.crt --type merge --patch-file FILE\ndata:\n  ca.crt: |\n    -----BEGIN") || strings.Contains(kept, string(f.Young.CertPEM)) {
		t.Errorf("what is kept is %q", kept)
	}
	if want := []string{"[All] certrot true", "[] certrot true"}; !slices.Equal(patches, want) {
		t.Errorf("patches %v", patches)
	}
	if err := a.Verify(t.Context(), api.Env, c); err != nil {
		t.Errorf("nobody puts it back: %v", err)
	}
	now := func() string {
		m, err := api.CoreV1().ConfigMaps("openshift-multus").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return m.Data["ca.crt"]
	}
	if now() != string(f.Before)+string(f.Young.CertPEM) {
		t.Errorf("wrote %q", now())
	}
	if again, err := NewPatchKubeRootCA(t.Context(), api.Env.Kube, "openshift-multus", f.CaOf()); err != nil {
		t.Error(err)
	} else if c, err := again.Diff(f.Snapshot, remediatetest.TestNow); c != nil || err != nil {
		t.Errorf("a second time: %v, %v", c, err)
	}
	if err := remediatetest.PutBack(t.Context(), api.Env.Kube, "openshift-multus", "kube-root-ca.crt", []byte(kept)); err != nil || now() != string(f.Before) {
		t.Errorf("put back: %v, %q", err, now())
	}
	var bad *remediate.BadEffectError
	if err := a.Verify(t.Context(), api.Env, c); !errors.As(err, &bad) || !strings.Contains(err.Error(), "was put back within 0.0 s") || !strings.Contains(err.Error(), "serviceaccount-ca") {
		t.Errorf("put back: %v", err)
	}
	if _, err := NewPatchKubeRootCA(t.Context(), api.Env.Kube, "nowhere", f.CaOf()); err == nil {
		t.Error("a namespace that is not there")
	}
}

// TestSchedulersLever: a new revision of kube-scheduler brings what its source has, and
// helps where it is the one that is behind.
func TestSchedulersLever(t *testing.T) {
	t.Parallel()
	f := remediatetest.RepairedFixture("master-0")
	ca := f.CaOf()
	r := inspect.Rollout{Operator: true, Source: ca, Latest: 3, Masters: []inspect.Revision{{Node: "master-0", Current: 3, CA: ca, Ready: "True"}}, Scheduler: &inspect.Revisions{Latest: 4}}
	for _, c := range []struct {
		source, held []*pki.Cert
		says         string
		not          string
	}{
		{nil, nil, "kube-scheduler's serviceaccount-ca is put together by its operator", "kubecontrollermanager"},
		{ca, nil, "oc patch kubescheduler cluster", "kubecontrollermanager"},
		{ca, ca, "oc patch kubecontrollermanager cluster", "kubescheduler"}, // it is kube-root-ca.crt that is waited for
	} {
		r.Scheduler.Source, r.Scheduler.Masters = c.source, []inspect.Revision{{Node: "master-0", Current: 3, CA: c.held, Ready: "True"}}
		if got := rolloutHint(r, ca); !strings.Contains(got, c.says) || strings.Contains(got, c.not) {
			t.Errorf("source %d, held %d: %s", len(c.source), len(c.held), got)
		}
	}
	r.Masters[0].CA, r.Scheduler.Masters[0].CA = []*pki.Cert{}, nil
	if got := rolloutHint(r, ca); !strings.Contains(got, "oc patch kubecontrollermanager cluster") {
		t.Errorf("kube-controller-manager is behind, too: %s", got)
	}
}
