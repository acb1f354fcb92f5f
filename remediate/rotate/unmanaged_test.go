package rotate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// TestARiskIsOfferedOnlyWhereItHelps: of a version that was not reviewed, what is offered
// leads on, and what would lead on is offered.
func TestARiskIsOfferedOnlyWhereItHelps(t *testing.T) {
	t.Parallel()
	offered, withheld := 0, 0
	for _, version := range []string{"4.8.0", inspecttest.NextVersion(t) + ".1", "5.9.0"} {
		s := newRotating(toKubelet, version).s
		s.Cluster.Versions.Operators = nil
		asked := rotatables(inspect.NewFacts(s, time.Now(), 0))
		s.Cluster.Versions.UnreviewedAccepted = true
		accepted := rotatables(inspect.NewFacts(s, time.Now(), 0))
		after := func(r Rotatable) bool {
			for _, a := range accepted {
				if a.At == r.At {
					reason, _ := a.Unmanaged()
					return reason == ""
				}
			}
			return false
		}
		for _, r := range asked {
			reason, next := r.Unmanaged()
			if reason == "" {
				continue
			}
			offers, helps := strings.Contains(next, "--accept-risk="+preflight.UnreviewedVersion), after(r)
			if offers != helps {
				t.Errorf("%s: %s/%s: %s: offered %t, helps %t: %s", version, r.At.Namespace, r.At.Name, reason, offers, helps, next)
			}
			if helps {
				offered++
			} else {
				withheld++
			}
		}
	}
	if offered == 0 || withheld == 0 {
		t.Errorf("offered %d times, withheld %d times: one of them is not tested", offered, withheld)
	}
}

// TestAbsentSigner: of a signer that certrot does not rotate, nothing says that it comes back.
func TestAbsentSigner(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signer     string
		file       bool
		want, next string
	}{
		{"etcd-signer", true, "unknown: Secret/openshift-config/etcd-signer[tls.crt] is not in this file: certrot does not rotate it", "ask the cluster: oc get secret -n openshift-config etcd-signer"},
		{"etcd-signer", false, "unknown: Secret/openshift-config/etcd-signer[tls.crt] is not there: certrot does not rotate it", "oc get secret -n openshift-config etcd-signer"},
		{toKubelet, true, "warn: Secret/openshift-kube-apiserver-operator/" + toKubelet + "[tls.crt] is not there: kube-apiserver-operator creates it again", "check that kube-apiserver-operator runs"},
	} {
		r := newRotating(toKubelet, "4.15.3")
		r.take(r.rotation().Signer)
		if c.file {
			r.s.Advise(inspect.FileHints("", "--from a"))
		}
		f := inspect.NewFacts(r.s, r.at, 0)
		all := rotatables(f)
		of := all[slices.IndexFunc(all, func(x Rotatable) bool { return x.At.Name == c.signer })]
		s := Chain{Facts: f, Of: of}.signerStage()
		if got := s.Status.String() + ": " + s.Reason; got != c.want || !strings.HasPrefix(s.Remediation.Text, c.next) {
			t.Errorf("%s, of a file %t: %s (next: %s)", c.signer, c.file, got, s.Remediation.Text)
		}
		if s.Status == assess.Unknown && s.Remediation.Command != "oc get secret -n openshift-config etcd-signer" {
			t.Errorf("%s: next: %q", c.signer, s.Remediation.Command)
		}
	}
}
