package preflight

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

func TestPreflightOfPlainClusters(t *testing.T) {
	t.Parallel()
	pod := func(name, node string, ready bool) inspect.Pod {
		return inspect.Pod{Namespace: "kube-system", Name: name, Node: node, OwnerKind: "Node", OwnerName: node, Phase: "Running", Ready: ready}
	}
	for name, c := range map[string]struct {
		check  string
		holds  catalog.Tristate
		says   string
		change func(p *Preflight, f *remediatetest.Fixture)
	}{
		"all is well":                  {"etcd-healthy", catalog.Yes, "", func(*Preflight, *remediatetest.Fixture) {}},
		"static pods are ready":        {"static-pods-settled", catalog.Yes, "", func(*Preflight, *remediatetest.Fixture) {}},
		"servers show what is trusted": {ServerSide, catalog.Yes, "", func(*Preflight, *remediatetest.Fixture) {}},
		"etcd of a lost master": {"etcd-healthy", catalog.Yes, "etcd-master-1", func(p *Preflight, _ *remediatetest.Fixture) {
			p.StaticPods.Pods[1].Ready = false
		}},
		"a pod of etcd's name that a worker's kubelet made": {"etcd-healthy", catalog.Yes, "no control plane nodes: etcd-worker-0", func(p *Preflight, _ *remediatetest.Fixture) {
			p.ControlPlane.Nodes[3].Ready = "True"
			p.StaticPods.Pods = append(p.StaticPods.Pods, pod("etcd-worker-0", "worker-0", false))
		}},
		"a worker's static pod": {"static-pods-settled", catalog.Yes, "no control plane nodes: kube-vip-worker-0", func(p *Preflight, _ *remediatetest.Fixture) {
			p.ControlPlane.Nodes[3].Ready = "True"
			p.StaticPods.Pods = append(p.StaticPods.Pods, pod("kube-vip-worker-0", "worker-0", false))
		}},
		"etcd of a node without a label that was not read": {"etcd-healthy", catalog.No, "etcd-worker-0 on worker-0 is not ready", func(p *Preflight, f *remediatetest.Fixture) {
			p.ControlPlane.Nodes[3].Ready = "True"
			f.Unread("worker-0")
			p.Snapshot = f.Snapshot
			p.StaticPods.Pods = append(p.StaticPods.Pods, pod("etcd-worker-0", "worker-0", false))
		}},
		"etcd of a node with a kube-apiserver's files and no label": {"etcd-healthy", catalog.No, "etcd-worker-0 on worker-0 is not ready", func(p *Preflight, f *remediatetest.Fixture) {
			p.ControlPlane.Nodes[3].Ready = "True"
			f.Bundles = append(f.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: "worker-0", Path: "/etc/kubernetes/pki/apiserver.crt"}})
			p.Snapshot = f.Snapshot
			p.StaticPods.Pods = append(p.StaticPods.Pods, pod("etcd-worker-0", "worker-0", false))
		}},
		"etcd of a worker that is not to be changed, and was not read": {"etcd-healthy", catalog.Yes, "no control plane nodes: etcd-worker-9", func(p *Preflight, _ *remediatetest.Fixture) {
			p.ControlPlane.Nodes = append(p.ControlPlane.Nodes, inspect.NodeState{Name: "worker-9", Ready: "True"})
			p.StaticPods.Pods = append(p.StaticPods.Pods, pod("etcd-worker-9", "worker-9", false))
		}},
		"a static pod of a worker that is not to be changed, with a kube-apiserver's files": {"static-pods-settled", catalog.Yes, "no control plane nodes: x-worker-0", func(p *Preflight, f *remediatetest.Fixture) {
			p.Nodes, p.ControlPlane.Nodes[3].Ready = []string{"master-0"}, "True"
			f.Pem("worker-0", "/etc/kubernetes/pki/apiserver.crt", f.Young.CertPEM)
			p.Snapshot = f.Snapshot
			p.StaticPods.Pods = append(p.StaticPods.Pods, pod("x-worker-0", "worker-0", false))
		}},
		"what a worker presents that is not to be changed, with a kube-apiserver's files": {ServerSide, catalog.Yes, "worker-0", func(p *Preflight, f *remediatetest.Fixture) {
			p.Nodes = []string{"master-0"}
			f.Pem("worker-0", "/etc/kubernetes/pki/apiserver.crt", f.Young.CertPEM)
			leaf := f.Old.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost))
			p.CA, p.Snapshot = p.CA[:1], f.Snapshot
			p.Snapshot.Served = append(p.Snapshot.Served, inspect.Served{Of: "worker-0", Address: "10.0.0.9:6443", Name: remediatetest.APIIntHost, Server: catalog.ListenerAPIServer, Chain: pki.LoadedPEM(f.Sc, leaf.CertPEM)})
		}},
		"etcd of a node that is not to be changed, where no node has a label": {"etcd-healthy", catalog.No, "etcd-worker-9 on worker-9 is not ready", func(p *Preflight, f *remediatetest.Fixture) {
			for i := range p.ControlPlane.Nodes {
				p.ControlPlane.Nodes[i].Master = false
			}
			f.Pem("master-0", "/etc/kubernetes/pki/apiserver.crt", f.Young.CertPEM)
			p.Snapshot = f.Snapshot
			p.ControlPlane.Nodes = append(p.ControlPlane.Nodes, inspect.NodeState{Name: "worker-9", Ready: "True"})
			p.StaticPods.Pods = append(p.StaticPods.Pods, pod("etcd-worker-9", "worker-9", false))
		}},
		"etcd of a node that is gone": {"etcd-healthy", catalog.No, "etcd-worker-9 on worker-9 is not ready", func(p *Preflight, _ *remediatetest.Fixture) {
			p.StaticPods.Pods = append(p.StaticPods.Pods, pod("etcd-worker-9", "worker-9", false))
		}},
		"etcd of a master that is Ready": {"etcd-healthy", catalog.No, "etcd-master-0 on master-0 is not ready", func(p *Preflight, _ *remediatetest.Fixture) {
			p.StaticPods.Pods[0].Ready = false
		}},
		"a manager of a master that is Ready": {"static-pods-settled", catalog.No, "kube-controller-manager-master-0", func(p *Preflight, _ *remediatetest.Fixture) {
			p.StaticPods.Pods[2].Ready = false
		}},
		"a pod of a DaemonSet is no static one": {"static-pods-settled", catalog.Yes, "", func(p *Preflight, _ *remediatetest.Fixture) {
			proxy := pod("kube-proxy-abcde", "master-0", false)
			proxy.OwnerKind = "DaemonSet"
			p.StaticPods.Pods = append(p.StaticPods.Pods, proxy)
		}},
		"etcd elsewhere": {"etcd-healthy", catalog.Yes, "elsewhere", func(p *Preflight, _ *remediatetest.Fixture) { p.StaticPods.Pods = p.StaticPods.Pods[2:] }},
		"workers alone": {"etcd-healthy", catalog.Yes, "no control plane node's kubelet", func(p *Preflight, _ *remediatetest.Fixture) {
			p.StaticPods.Pods[0].Ready, p.Nodes = false, []string{"worker-0"}
		}},
		"pods that may not be read": {"etcd-healthy", catalog.Unknown, "forbidden", func(p *Preflight, _ *remediatetest.Fixture) {
			p.StaticPods = &inspect.PodList{Gap: &inspect.Gap{Reason: "list pods: forbidden"}}
		}},
		"pods that were not asked for": {"static-pods-settled", catalog.Unknown, "not asked for", func(p *Preflight, _ *remediatetest.Fixture) { p.StaticPods = nil }},
		"no API":                       {"etcd-healthy", catalog.Unknown, "no API server", func(p *Preflight, _ *remediatetest.Fixture) { p.ControlPlane = nil }},
		"one master shows the certificate of another CA": {ServerSide, catalog.No, "master-1 at 10.0.0.2:6443 presents", func(p *Preflight, f *remediatetest.Fixture) {
			leaf := f.Old.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost))
			p.CA = p.CA[:1]
			p.Snapshot.Served = append(p.Snapshot.Served, inspect.Served{Of: "master-1", Address: "10.0.0.2:6443", Name: remediatetest.APIIntHost, Server: catalog.ListenerAPIServer, Chain: pki.LoadedPEM(f.Sc, leaf.CertPEM)})
		}},
		"a master that does not answer": {ServerSide, catalog.Yes, "master-1", func(p *Preflight, _ *remediatetest.Fixture) {
			p.Snapshot.Served = append(p.Snapshot.Served, inspect.Served{Of: "master-1", Address: "10.0.0.2:6443", Name: remediatetest.APIIntHost, Server: catalog.ListenerAPIServer})
		}},
		"no server answered": {ServerSide, catalog.Unknown, "none answered", func(p *Preflight, _ *remediatetest.Fixture) { p.Snapshot.Served = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names := []string{"master-0", "master-1", "worker-0"}
			f := remediatetest.KubeadmFixture(names...)
			p := quiet(names...)
			p.Snapshot, p.CA = f.Snapshot, pki.LoadedPEM(f.Sc, pkitest.Bundle(f.Young.CertPEM, f.Old.CertPEM))
			p.ControlPlane.StaticPods, p.ControlPlane.Pools, p.ControlPlane.Update = nil, nil, inspect.Update{}
			p.StaticPods = &inspect.PodList{Pods: []inspect.Pod{pod("etcd-master-0", "master-0", true), pod("etcd-master-1", "master-1", true), pod("kube-controller-manager-master-0", "master-0", true)}}
			c.change(p, f)
			sameSaved(t, name, *p, nil)
			verdicts := p.Check()
			i := slices.IndexFunc(verdicts, func(v Verdict) bool { return v.ID == c.check })
			if i < 0 {
				t.Fatalf("%s was not asked: %+v", c.check, verdicts)
			}
			if v := verdicts[i]; v.Status != (Result{Passed: c.holds}).Assess("").Status || !strings.Contains(v.Reason, c.says) || c.holds == catalog.Yes && c.says == "" && v.Reason != "" {
				t.Errorf("%+v", v)
			}
			for _, v := range verdicts {
				if v.ID == "pools-settled" || v.ID == "named-certificate" {
					t.Errorf("%s is asked of a plain cluster", v.ID)
				}
			}
		})
	}
}
