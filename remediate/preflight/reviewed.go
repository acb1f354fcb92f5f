package preflight

import (
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
)

// Reviewed asks whether the catalog was reviewed for the version that runs. Where an API server was
// asked and the version can't be read, that is unknown, and blocks as well.
func Reviewed(c inspect.Cluster) Verdict {
	v := Verdict{Assessment: assess.Assessment{ID: UnreviewedVersion, Status: assess.Pass}, Risk: true}
	if out := c.Versions.WhyUnreviewed(); out != "" {
		v.Status, v.Reason, v.Remediation = assess.Fail, out, assess.Advise("use a release of certrot that reviewed this version")
	} else if out := UnreadVersion(c); out != "" {
		v.Status, v.Reason, v.Remediation = assess.Unknown, out, assess.FixedCommand("oc get clusterversion,clusteroperators")
	}
	return v
}

// UnreadVersion says why the version of a cluster is unknown whose API server was asked;
// empty: it is known, or no API server answered, and files on nodes are all there is.
func UnreadVersion(c inspect.Cluster) string {
	if c.Server == "" {
		return ""
	}
	return c.Versions.WhyUnread()
}
