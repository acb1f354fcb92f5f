package rotate

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestRotateChecks: each check stops a rotation for its own reason, and no other does.
func TestRotateChecks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title, name, version string
		but                  func(*rotating)
		stops                string // such as "nodes-ready no"; empty: nothing does
		says                 string
	}{
		{"a cluster at rest", toKubelet, "4.15.3", func(*rotating) {}, "", ""},
		{"from a file nobody is asked", toKubelet, "4.15.3", func(r *rotating) { r.m = nil }, "", ""},
		{"a control plane that is hosted", toKubelet, "4.15.3", func(r *rotating) { r.s.Cluster.Topology = "External" }, "control-plane-here no", "hosted elsewhere"},
		{"an annotation that lies", toKubelet, "4.15.3", func(r *rotating) { r.annotate(toKubelet, catalog.AnnotationNotAfter, "2030-01-01T00:00:00Z") }, "annotations-agree no, chain-settled no", "says 2030-01-01"},
		{"an annotation that is gone", toKubelet, "4.15.3", func(r *rotating) { r.annotate(toKubelet, catalog.AnnotationNotAfter, "") }, "annotations-agree no, chain-settled no", "to be rotated, and was not yet"},
		{"the old type in the version that does harm", aggregator, "4.15.3", func(r *rotating) { r.put(r.rotation().Signer, "SecretTypeTLS", r.old.CertPEM) }, "signer-type no", "okd#1881"},
		{"the old type in a version that replaces the Secret by a rotation", aggregator, "4.14.3", func(r *rotating) { r.put(r.rotation().Signer, "SecretTypeTLS", r.old.CertPEM) }, "signer-type no", "a rotation deletes it"},
		{"the old type in a patch that does none", aggregator, "4.15.10", func(r *rotating) { r.put(r.rotation().Signer, "SecretTypeTLS", r.old.CertPEM) }, "", ""},
		{"the old type in a version that does none", aggregator, "4.16.3", func(r *rotating) { r.put(r.rotation().Signer, "SecretTypeTLS", r.old.CertPEM) }, "", ""},
		{"a new signer whose CA is in no bundle yet", aggregator, "4.15.3", func(r *rotating) { r.put(r.rotation().Signer, "kubernetes.io/tls", r.new.CertPEM) }, "chain-settled no", "bundle: 0 of 1 have it"},
		{"a CA that is late in one of the bundles", toKubelet, "4.15.3", func(r *rotating) {
			r.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "openshift-kube-apiserver", Name: "client-ca", Key: "ca-bundle.crt"}, "", r.new.CertPEM)
		}, "chain-settled no", "without it: ConfigMap/openshift-kube-apiserver/client-ca"},
		{"a leaf that the signer of before has signed", toKubelet, "4.15.3", func(r *rotating) {
			row := r.rotation()
			r.put(row.Signer, "kubernetes.io/tls", r.new.CertPEM)
			for _, at := range append([]catalog.Ref{row.Bundle}, r.carried()...) {
				r.put(at, "", r.old.CertPEM, r.new.CertPEM)
			}
		}, "chain-settled no", "rotated 2026-03-11 12:00:00 UTC at the earliest"},
		{"what was not read is not settled", toKubelet, "4.15.3", func(r *rotating) {
			r.take(r.rotation().Bundle)
			r.s.Reads = nil
		}, "chain-settled unknown", "not read: ConfigMap/openshift-kube-apiserver-operator/kube-apiserver-to-kubelet-client-ca"},
		{"a signer that is gone", toKubelet, "4.15.3", func(r *rotating) { r.take(r.rotation().Signer) }, "annotations-agree no, signer-type no, chain-settled no", "is not there"},
		{"the load balancer's signer before 4.16", loadBalancer, "4.15.3", func(*rotating) {}, "reaches-verifiers no", "/var/lib/kubelet/kubeconfig"},
		{"the load balancer's signer from 4.16", loadBalancer, "4.16.3", func(*rotating) {}, "", ""},
		{"the load balancer's signer of nobody knows which version", loadBalancer, "", func(*rotating) {}, "reaches-verifiers unknown", "the version of machine-config was not read"},
		{"a leaf that is signed anew soon", loadBalancer, "4.15.3", func(r *rotating) {
			r.put(catalog.InternalLoadBalancerServing(), "kubernetes.io/tls", r.old.Issue("leaf", r.at.AddDate(0, 0, -22), r.at.AddDate(0, 0, 8)).CertPEM)
		}, "reaches-verifiers no, leaf-young no", "past 70 % of its validity"},
		{"two nodes with fencing, and kubelets to be restarted", loadBalancer, "4.16.3", func(r *rotating) { r.s.Cluster.Topology = "DualReplica" }, "topology no", "pacemaker"},
		{"two nodes with fencing, and none", toKubelet, "4.16.3", func(r *rotating) { r.s.Cluster.Topology = "DualReplica" }, "", ""},
		{"an unknown topology, and kubelets to be restarted", loadBalancer, "4.16.3", func(r *rotating) { r.s.Cluster.Topology = "" }, "topology unknown", "was not read"},
		{"a leaf of a young signer", "kubelet-client", "4.15.3", func(r *rotating) {
			ca := pkitest.NewCA(toKubelet, r.at.Add(-35*time.Hour), r.at.AddDate(1, 0, 0), pkitest.KeyName("young"))
			r.put(r.rotation().Signer, "kubernetes.io/tls", ca.CertPEM)
			for _, at := range append([]catalog.Ref{r.rotation().Bundle}, r.carried()...) {
				r.put(at, "", r.old.CertPEM, ca.CertPEM)
			}
		}, "signer-age no, signer-trusted unknown", "not old enough before 2026-03-01 13:00:00 UTC"},
		{"a leaf whose signer was not read", "kubelet-client", "4.15.3", func(r *rotating) { r.take(r.rotation().Signer); r.s.Reads = nil },
			"signer-type unknown, chain-settled unknown, signer-age unknown, signer-trusted unknown", "the age of its signer is unknown: Secret/openshift-kube-apiserver-operator/kube-apiserver-to-kubelet-signer"},
		{"a leaf whose signer is gone", "kubelet-client", "4.15.3", func(r *rotating) { r.take(r.rotation().Signer) },
			"signer-type no, chain-settled no, signer-age no, signer-trusted no", "is not there"},
		{"a leaf whose verifiers were not read", "kubelet-client", "4.15.3", func(*rotating) {}, "signer-trusted unknown", "3 of 3 clients unknown: "},
		{"a leaf that is shown to people outside", "external-loadbalancer-serving-certkey", "4.15.3", func(*rotating) {}, "outside-verifiers unknown", "can't be checked from here"},
		{"a leaf whose verifiers all trust the signer", "aggregator-client", "4.15.3", func(r *rotating) {
			r.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "kube-system", Name: "extension-apiserver-authentication", Key: "requestheader-client-ca-file"}, "", r.old.CertPEM)
		}, "", ""},
		{"an operator that is degraded", toKubelet, "4.15.3", func(r *rotating) { r.m.Operators[0].Degraded = "True" }, "operators-settled no", "kube-apiserver (Available True, Progressing False, Degraded True)"},
		{"an operator that says nothing", toKubelet, "4.15.3", func(r *rotating) { r.m.Operators[0].Progressing = "" }, "operators-settled unknown", "kube-apiserver"},
		{"no operator", toKubelet, "4.15.3", func(r *rotating) { r.m.Operators = nil }, "operators-settled unknown", "there is no ClusterOperator"},
		{"an upgrade", toKubelet, "4.15.3", func(r *rotating) { r.m.Update.Progressing = "True" }, "upgrade-running no", "the cluster goes to"},
		{"a rollout", toKubelet, "4.15.3", func(r *rotating) { r.m.StaticPods[0].Masters[0].Target = 8 }, "static-pods-settled no", "is put on master-0"},
		{"a paused pool that holds it up", toKubelet, "4.12.3", func(r *rotating) { r.m.Pools[0].Paused = true }, "pools-ready no", "worker is paused; in this version its nodes get no new CA"},
		{"a paused pool that does not", toKubelet, "4.15.3", func(r *rotating) { r.m.Pools[0].Paused = true }, "pools-ready no", "nodes get the CA all the same"},
		{"a pool that is at work", toKubelet, "4.15.3", func(r *rotating) { r.m.Pools[0].Desired = "rendered-2" }, "pools-ready no", "worker is updating"},
		{"a node that is lost", toKubelet, "4.15.3", func(r *rotating) { r.m.Nodes[1].Ready = "Unknown" }, "nodes-ready no", "not Ready: worker-0"},
		{"a node that is Ready, without a heartbeat", toKubelet, "4.15.3", func(r *rotating) { r.m.Nodes[1].Heartbeat = r.at.Add(-14 * time.Minute) }, "nodes-ready no", "worker-0: no heartbeat for 14m (Lease)"},
		{"a node whose Lease may not be read", toKubelet, "4.15.3", func(r *rotating) {
			r.m.Nodes[1].Heartbeat, r.m.Nodes[1].Lease = time.Time{}, inspect.Lease{Unread: "list leases: forbidden"}
		}, "nodes-ready unknown", "worker-0: heartbeat not read: list leases: forbidden"},
		{"pools that may not be read", toKubelet, "4.15.3", func(r *rotating) {
			r.m.Gaps = []inspect.Gap{{What: catalog.Pools, Reason: "list: forbidden", Next: "ask"}}
		}, "pools-ready unknown", "forbidden"},
		{"a plain Kubernetes", toKubelet, "", func(r *rotating) { r.s.Cluster.Versions = catalog.Versions{NotOpenShift: true, Kubernetes: "v1.35.4"} }, "none", ""},
	} {
		t.Run(c.title, func(t *testing.T) {
			t.Parallel()
			signer := map[string]string{"kubelet-client": toKubelet, "external-loadbalancer-serving-certkey": loadBalancer, "aggregator-client": aggregator}[c.name]
			if signer == "" {
				signer = c.name
			}
			r := newRotating(signer, c.version)
			c.but(r)
			if c.stops == "none" {
				if _, err := FindRotatable(rotatables(inspect.NewFacts(r.s, r.at, 0)), c.name); !errors.Is(err, ErrNoSuchRotation) {
					t.Errorf("it is found: %v", err)
				}
				return
			}
			r.sameSaved(t, c.name, r.preflight(t, c.name))
			var stops, says []string
			for _, v := range r.preflight(t, c.name).Check() {
				if v.Blocks() {
					stops, says = append(stops, v.ID+" "+answerOf(v)), append(says, v.Reason)
					if v.Reason == "" || v.Remediation.Text == "" {
						t.Errorf("%s says no reason or no next step: %+v", v.ID, v)
					}
					nothing := v.ID == annotationsAgree && strings.HasSuffix(v.Reason, "is not there") // to rotate
					if v.Risk == (v.ID == "control-plane-here" || nothing) {
						t.Errorf("%s may be accepted: %t", v.ID, v.Risk)
					}
				}
			}
			if got := strings.Join(stops, ", "); got != c.stops {
				t.Errorf("stopped by %q, want %q: %q", got, c.stops, says)
			}
			if !strings.Contains(strings.Join(says, "\n"), c.says) {
				t.Errorf("says %q, want %q", says, c.says)
			}
		})
	}
}

// TestSafeOrder: where nodes get no CA, it is said what to do in which order, and by
// when: at 15 days of the leaf's age, and not before the signer is 1.5 days old.
func TestSafeOrder(t *testing.T) {
	t.Parallel()
	r := newRotating(loadBalancer, "4.15.3")
	next := func() string {
		for _, v := range r.preflight(t, loadBalancer).Check() {
			if v.ID == "reaches-verifiers" {
				return v.Remediation.Text
			}
		}
		return ""
	}
	got := next()
	for _, want := range []string{"(1) kubectl certrot rotate " + loadBalancer + " --accept-risk=reaches-verifiers --wait=0: rotate ", "(2) kubectl certrot rotate status " + loadBalancer + ": wait until the new CA is in all CA bundles", "(3) kubectl certrot pretrust ", "(4) kubectl certrot fix-kubeconfig: add ", "before 2026-03-11 12:00:00 UTC", "(5) kubectl certrot rotate " + loadBalancer + " --leaf ", "without --accept-risk=outside-verifiers that one is left out (exit code 3)"} {
		if !strings.Contains(got, want) {
			t.Errorf("10 days are left: %q is not in %s", want, got)
		}
	}
	// What stops a thing that is signed, whatever the steps before have done, is accepted in
	// the last line.
	_, last, _ := strings.Cut(got, "(5) ")
	last, _, _ = strings.Cut(last, ":")
	brought := []string{SignerTrusted, PodsMemory, OwnKubeconfig, "chain-settled"} // by pretrust, fix-kubeconfig, and waiting
	accepted := 0
	for _, at := range r.preflight(t, loadBalancer).leaves() {
		p := r.preflight(t, at.Name)
		p.Follows, p.SignerFirst = true, true
		for _, v := range p.Check() {
			if !v.Blocks() || v.NoAPIServer || slices.Contains(brought, v.ID) {
				continue
			}
			accepted++
			if !strings.Contains(last, "--accept-risk="+v.ID) {
				t.Errorf("%s stops at %s, and is not in the line %s", at.Name, v.ID, last)
			}
		}
	}
	if accepted != strings.Count(last, "--accept-risk=") || accepted == 0 {
		t.Errorf("%d checks stop it: %s", accepted, last)
	}
	r.put(catalog.InternalLoadBalancerServing(), "kubernetes.io/tls", r.old.Issue("leaf", r.at.AddDate(0, 0, -16), r.at.AddDate(0, 0, 14)).CertPEM)
	if got := next(); !strings.Contains(got, "before 2026-03-03 00:00:00 UTC") {
		t.Errorf("it is due, and waits for the signer's age: %s", got)
	}
}

// TestRotationStages follows a new CA from place to place.
func TestRotationStages(t *testing.T) {
	t.Parallel()
	r := newRotating(aggregator, "4.15.3")
	row := r.rotation()
	extension := catalog.Ref{Kind: catalog.ConfigMap, Namespace: "kube-system", Name: "extension-apiserver-authentication", Key: "requestheader-client-ca-file"}
	r.put(extension, "", r.old.CertPEM)
	both := [][]byte{r.old.CertPEM, r.new.CertPEM}
	fresh := pkitest.NewCA("fresh", r.at.Add(59*time.Minute), r.at.AddDate(1, 0, 0), pkitest.KeyName("fresh"))
	r.at = r.at.Add(time.Hour)
	for _, step := range []struct {
		title string
		do    func()
		want  string // of signer, bundle, aggregates, trust, leaf, served, edges: y, n, ?
	}{
		{"before", func() {}, "yyyyy?y"},
		{"the annotation is removed", func() { r.annotate(aggregator, catalog.AnnotationNotAfter, "") }, "nyyyy?y"},
		{"a signer is made that may be made once more", func() { r.put(row.Signer, "kubernetes.io/tls", fresh.CertPEM) }, "nnnnnnn"},
		{"the signer is made", func() { r.put(row.Signer, "kubernetes.io/tls", r.new.CertPEM) }, "ynnnnnn"},
		{"it is in its bundle", func() { r.put(row.Bundle, "", both...) }, "yynnnnn"},
		{"and in all bundles that are made of it", func() {
			for _, at := range r.carried() {
				r.put(at, "", both...)
			}
		}, "yyynnnn"},
		{"and with everybody", func() { r.put(extension, "", both...) }, "yyyynnn"},
		{"and signs", func() {
			r.put(row.Targets[0], "kubernetes.io/tls", r.new.Issue("leaf", r.at, r.at.AddDate(0, 0, 30)).CertPEM)
		}, "yyyyy?y"},
		{"a bundle can't be read any more", func() { r.take(row.Bundle); r.s.Reads = nil }, "y??yy?y"},
	} {
		step.do()
		var got strings.Builder
		stages := r.preflight(t, aggregator).stages()
		for _, s := range stages {
			got.WriteString(map[assess.Status]string{assess.Pass: "y", assess.Warn: "n", assess.Unknown: "?"}[s.Status])
			if s.Status != assess.Pass && s.Remediation.Text == "" {
				t.Errorf("%s: %s says no next step", step.title, s.ID)
			}
		}
		if got.String() != step.want {
			t.Errorf("%s: %s, want %s: %+v", step.title, got.String(), step.want, stages)
		}
	}
}

func TestFindRotatable(t *testing.T) {
	t.Parallel()
	all := rotatables(inspect.NewFacts(newRotating(toKubelet, "4.15.3").s, time.Now(), 0))
	for name, want := range map[string]string{
		toKubelet:             "openshift-kube-apiserver-operator/" + toKubelet,
		"secret/" + toKubelet: "openshift-kube-apiserver-operator/" + toKubelet,
		"openshift-kube-apiserver/kubelet-client":      "openshift-kube-apiserver/kubelet-client",
		"openshift-kube-controller-manager/csr-signer": "openshift-kube-controller-manager/csr-signer",
	} {
		if r, err := FindRotatable(all, name); err != nil || r.At.Namespace+"/"+r.At.Name != want {
			t.Errorf("%s: %s, %v", name, r.At, err)
		}
	}
	of, err := FindRotatable(all, toKubelet)
	if err != nil || of.Cert() == nil {
		t.Fatalf("%v, %v", of.Cert(), err)
	}
	cn := pki.CommonName(of.Cert().Subject)
	for _, name := range []string{cn, "CN=" + cn, of.Cert().Subject} {
		if r, err := FindRotatable(all, name); err != nil || r.At != of.At {
			t.Errorf("%s: %s, %v", name, r.At, err)
		}
	}
	twice := of
	twice.At.Name = "another"
	if _, err := FindRotatable(append(slices.Clone(all), twice), "CN="+cn); err == nil || !strings.Contains(err.Error(), " or openshift-kube-apiserver-operator/another") {
		t.Errorf("a common name of two: %v", err)
	}
	if _, err := FindRotatable(all, "CN=nobody@1"); !errors.Is(err, ErrNoSuchRotation) {
		t.Errorf("a common name of none: %v", err)
	}
	if _, err := FindRotatable(all, "csr-signer"); err == nil || !strings.Contains(err.Error(), "openshift-kube-controller-manager/csr-signer or ") && !strings.Contains(err.Error(), " or openshift-kube-controller-manager/csr-signer") {
		t.Errorf("two of that name: %v", err)
	}
	if _, err := FindRotatable(all, "loadbalancer-serving-signer-key"); !errors.Is(err, ErrNoSuchRotation) {
		t.Errorf("none of that name: %v", err)
	}
	for _, r := range all {
		reason, next := r.Unmanaged()
		if managed := r.Trigger.Annotation != ""; managed != (reason == "") || !managed && next == "" {
			t.Errorf("%s: managed %t, %q, %q", r.At, managed, reason, next)
		}
	}
}

// TestRotateShutsNobodyOut: what the API presents to the caller is not signed by what the
// caller's own kubeconfig does not trust.
func TestRotateShutsNobodyOut(t *testing.T) {
	t.Parallel()
	const shown = "external-loadbalancer-serving-certkey"
	for title, c := range map[string]struct {
		but  func(*rotating)
		want string
	}{
		"it lacks the CA":   {func(*rotating) {}, "no: your kubeconfig does not trust CN=loadbalancer-serving-signer"},
		"it has the CA":     {func(r *rotating) { r.kubeconfig(r.old.CertPEM) }, "yes: "},
		"it has another CA": {func(r *rotating) { r.kubeconfig(r.new.CertPEM) }, "no: "},
		"it names none":     {func(r *rotating) { r.take(catalog.Ref{Kind: string(pki.KindFile)}) }, "unknown: your kubeconfig names no CA for api.example.com"},
		"another server":    {func(r *rotating) { r.s.Cluster.Server = "https://elsewhere:6443" }, "yes: "},
		"by an address and a name": {func(r *rotating) {
			r.s.Cluster.Server = "https://192.0.2.10:6443"
			for _, name := range []string{"api.example.com", "api-int.example.com"} { // tls-server-name, and what is asked besides
				r.s.Served = append(r.s.Served, inspect.Served{Server: catalog.ListenerUserKubeconfig, Address: "192.0.2.10:6443", Name: name, Problem: "no answer"})
			}
		}, "no: your kubeconfig does not trust CN=loadbalancer-serving-signer"},
		"facts from somebody else's file": {func(r *rotating) { r.s.Reads = nil }, "yes: "},
	} {
		r := newRotating(loadBalancer, "4.16.3")
		r.s.Cluster.Server = "https://api.example.com:6443"
		r.s.Reads = append(r.s.Reads, inspect.Read{What: "kubeconfig"})
		r.put(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-kube-apiserver", Name: shown, Key: "tls.crt"}, "kubernetes.io/tls",
			r.old.Issue("api", r.at.AddDate(0, 0, -5), r.at.AddDate(0, 0, 25), pkitest.DNS("api.example.com")).CertPEM)
		r.kubeconfig(pkitest.NewCA("before", r.at.AddDate(-1, 0, 0), r.at.AddDate(1, 0, 0)).CertPEM)
		c.but(r)
		f := r.preflight(t, shown).own()
		if got := f.Passed.String() + ": " + f.Reason; !strings.HasPrefix(got, c.want) || f.Passed != catalog.Yes && f.Next == "" {
			t.Errorf("%s: %s", title, got)
		}
	}
}
